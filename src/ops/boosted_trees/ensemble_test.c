// Tests of ensembles of boosted trees: reading and writing them, growing, pruning, centering and predicting.
// Values are those of TensorFlow 1.15.
#include "base/random.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "ops/boosted_trees/ensemble.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include "proto/pack.h"
#include "proto/text_format.h"
#include "tensorflow/core/kernels/boosted_trees/boosted_trees.pb-c.h"

typedef struct trees {
    op_live *live;
    braid_out handle;
    braid_op *create, *deserialize, *serialize, *states;
} trees;

// A node over the handle and placeholders of the types in `letters`: i int32, f float, l int64, s string.
static braid_op *use(const trees *t, const char *op, const char *attrs, const char *letters)
{
    braid_out inputs[20] = {t->handle};
    int count = 1;
    for (; *letters; letters++)
        inputs[count++] = op_live_placeholder(t->live, *letters == 'i'   ? BRAID_INT32
                                                       : *letters == 'f' ? BRAID_FLOAT
                                                       : *letters == 'l' ? BRAID_INT64
                                                                         : BRAID_STRING);
    braid_op *node = op_test_node(t->live->graph, op, attrs, inputs, count);
    BD_STATUS(st);
    if (braid_graph_status(t->live->graph, st)) fail_msg("%s", braid_status_message(st));
    return node;
}

#define RUN(NODE, FEEDS, WANT) op_live_run(t.live, NODE, FEEDS, WANT)

static trees new_trees(void)
{
    trees t = {.live = op_live_new()};
    t.handle.op =
        op_test_node(t.live->graph, "BoostedTreesEnsembleResourceHandleOp", "shared_name=e", NULL, 0);
    t.create = use(&t, "BoostedTreesCreateEnsemble", NULL, "ls");
    t.deserialize = use(&t, "BoostedTreesDeserializeEnsemble", NULL, "ls");
    t.serialize = use(&t, "BoostedTreesSerializeEnsemble", NULL, "");
    t.states = use(&t, "BoostedTreesGetEnsembleStates", NULL, "");
    return t;
}

static trees new_empty_trees(void)
{
    trees t = new_trees();
    RUN(t.create, "int64[] 0; string[] ''", "");
    return t;
}

static const ProtobufCMessageDescriptor *const type = &tensorflow__boosted_trees__tree_ensemble__descriptor;

// A stamp and a message in text format as feeds; the caller frees it.
static char *feeds_of(int stamp, const char *text)
{
    BD_STATUS(st);
    bd_message wire;
    bd_strbuf out = {0};
    bd_message_init(&wire);
    if (bd_text_format_to_wire(type, text, strlen(text), &wire, st)) fail_msg("%s", braid_status_message(st));
    uint8_t *bytes = bd_malloc(wire.bytes);
    bd_message_gather(&wire, bytes);
    bd_strbuf_appendf(&out, "int64[] %d; string[] %s", stamp, wire.bytes ? "" : "''");
    for (size_t i = 0; i < wire.bytes; i++)
        bd_strbuf_appendf(&out, "\\x%02x", bytes[i]);
    bd_free(bytes);
    bd_message_fini(&wire);
    return bd_strbuf_take(&out);
}

static void set_trees(const trees *t, const char *text, const char *want)
{
    char *feeds = feeds_of(1, text);
    op_live_run(t->live, t->deserialize, feeds, want);
    bd_free(feeds);
}

static void expect_trees(const trees *t, const char *text)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    op_execution *e = op_live_start(t->live, t->serialize, "");
    op_execution_wait(e);
    assert_ok(&e->ctx.status);
    const bd_string *s = &bd_tensor_str(&e->ctx.outputs[1].tensor)[0];
    ProtobufCMessage *want, *got = bd_proto_unpack(type, s->data, s->len, arena, st);
    assert_ok(st);
    if (bd_text_format_parse(type, text, strlen(text), &want, st)) fail_msg("%s", braid_status_message(st));
    char *got_text = bd_text_format_print(got), *want_text = bd_text_format_print(want);
    assert_string_equal(got_text, want_text);
    bd_free(got_text);
    bd_free(want_text);
    protobuf_c_message_free_unpacked(want, NULL);
    op_execution_free(e);
}

// ---- Reading and writing ----

static void an_ensemble_is_created_once(void **state)
{
    (void)state;
    trees t = new_trees();
    braid_op *is_there = use(&t, "IsBoostedTreesEnsembleInitialized", NULL, "");
    RUN(is_there, "", "bool[] false");
    RUN(t.states, "", "NotFound: ");
    RUN(t.serialize, "", "NotFound: ");
    RUN(t.deserialize, "int64[] 1; string[] ''", "NotFound: ");
    RUN(t.create, "int64[] 1; string[] rubbish", "InvalidArgument: Unable to parse tree ensemble proto");
    RUN(t.create, "int64[0]; string[] ''", "InvalidArgument: stamp_token must be a scalar");
    RUN(is_there, "", "bool[] false");
    RUN(t.create, "int64[] 1; string[] ''", "");
    RUN(t.create, "int64[] 2; string[] ''", "");
    RUN(is_there, "", "bool[] true");
    RUN(t.states, "", "int64[] 1; int32[] 0; int32[] 0; int32[] 0; int32[2] 0 1");
    RUN(t.serialize, "", "int64[] 1; string[] ''");
    RUN(t.deserialize, "int64[] 7; string[0]", "InvalidArgument: tree_ensemble_serialized must be a scalar");
    RUN(t.deserialize, "int64[] 7; string[] rubbish", "InvalidArgument: Unable to parse tree ensemble proto");
    RUN(t.states, "", "int64[] 1; int32[] 0; int32[] 0; int32[] 0; int32[2] 0 1");
    t.handle = (braid_out){
        op_test_node(t.live->graph, "BoostedTreesQuantileStreamResourceHandleOp", "shared_name=e", NULL, 0),
        0};
    RUN(use(&t, "IsBoostedTreesEnsembleInitialized", NULL, ""), "", "InvalidArgument: ");
    op_live_free(t.live);
}

#define SPLIT(FEATURE, LEFT, RIGHT)                                                                          \
    "nodes { bucketized_split { feature_id: " #FEATURE " threshold: 2 left_id: " #LEFT " right_id: " #RIGHT  \
    " } metadata { gain: 1 original_leaf { scalar: 0.25 } } } "
#define LEAF(VALUE) "nodes { leaf { scalar: " #VALUE " } } "
#define ONE "tree_weights: 1 tree_metadata { num_layers_grown: 1 is_finalized: true } "

static void an_ensemble_is_what_was_serialized(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "trees { " SPLIT(0, 1, 2) LEAF(0.5) LEAF(-1) "} " ONE,
        "trees { " SPLIT(3, 2, 1) LEAF(0) SPLIT(1, 3, 4) LEAF(1) LEAF(
            2) "} trees { nodes { leaf { } } } "
               "tree_weights: [0.5, 1] "
               "tree_metadata { num_layers_grown: 2 is_finalized: true post_pruned_nodes_meta { new_node_id: 1 logit_change: 0.5 } } "
               "tree_metadata { } "
               "growing_metadata { num_trees_attempted: 2 num_layers_attempted: 3 last_layer_node_start: 0 last_layer_node_end: 1 }",
        "trees { nodes { categorical_split { feature_id: 1 value: 5 dimension_id: 2 left_id: 1 right_id: 2 } } nodes { } "
        "nodes { leaf { vector { value: [1, 2] } } metadata { gain: 2 original_leaf { vector { value: 3 } } } } } " ONE,
        "trees { nodes { bucketized_split { dimension_id: 1 default_direction: DEFAULT_RIGHT left_id: 1 right_id: 2 } } " LEAF(
            1) LEAF(2) "} " ONE,
    };
    trees t = new_empty_trees();
    for (size_t i = 0; i < BD_COUNTOF(texts); i++) {
        set_trees(&t, texts[i], "");
        expect_trees(&t, texts[i]);
    }
    RUN(t.states, "", "int64[] 1; int32[] 1; int32[] 1; int32[] 0; int32[2] 0 1");
    op_live_free(t.live);
}

static void ensembles_that_are_no_trees_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"trees { " SPLIT(0, 1, 2) LEAF(1) "} " ONE,
         "InvalidArgument: Node 0 of tree 0 has child 2, but the tree has 2 nodes"},
        {"trees { " SPLIT(0, 1, -5) LEAF(1) "} " ONE, "InvalidArgument: has child -5"},
        {"trees { " SPLIT(0, 1, 0) LEAF(1) "} " ONE,
         "InvalidArgument: Node 0 of tree 0 is the root and the child of another one"},
        {"trees { " SPLIT(0, 1, 1) LEAF(1) "} " ONE,
         "InvalidArgument: Node 1 of tree 0 is the child of two nodes"},
        {"trees { " SPLIT(0, 1, 2) SPLIT(0, 3, 2) LEAF(1) LEAF(1) "} " ONE,
         "InvalidArgument: the child of two nodes"},
        {"trees { " LEAF(1) SPLIT(0, 2, 3) SPLIT(0, 1, 4) LEAF(1) LEAF(1) "} " ONE,
         "InvalidArgument: Nodes of tree 0 are below themselves"},
        {"trees { } " ONE, "InvalidArgument: Tree 0 has no nodes"},
        {"trees { " LEAF(1) "} ", "InvalidArgument: The tree ensemble has 1 trees, but 0 tree_weights"},
        {ONE, "InvalidArgument: The tree ensemble has 0 trees, but 1 tree_weights and 1 tree_metadata"},
        {"trees { " LEAF(1) "} tree_weights: 1 tree_metadata { post_pruned_nodes_meta { new_node_id: 1 } }",
         "InvalidArgument: Node 0 of tree 0 was pruned into node 1"},
        {"trees { nodes { dense_split { } } } " ONE, "Unimplemented: dense split"},
        {"trees { nodes { leaf { sparse_vector { } } } } " ONE, "Unimplemented: sparse vector"},
    };
    trees t = new_empty_trees();
    for (size_t i = 0; i < BD_COUNTOF(rows); i++)
        set_trees(&t, rows[i].text, rows[i].want);
    RUN(t.states, "", "int64[] 0; int32[] 0; int32[] 0; int32[] 0; int32[2] 0 1");
    set_trees(&t, "trees { " LEAF(1) "} tree_weights: 1", ""); // metadata may be left out
    op_live_free(t.live);
}

// Follows a row of zeros or of large values from each node.
static void walk(const bd_tree *t, int32_t value)
{
    const int32_t values[4] = {value, value, value, value};
    const bd_tree_feature features[2] = {{values, 4}, {values, 1}};
    for (size_t from = 0; from < t->nodes.len; from++) {
        size_t steps = 0;
        int32_t node = (int32_t)from;
        while (node >= 0 && !bd_tree_is_leaf(t, node)) {
            node = bd_tree_next(t, node, features, 2, 0);
            assert_true(node < (int32_t)t->nodes.len && ++steps <= t->nodes.len);
        }
    }
}

// What is read of bytes that were changed at random can be walked through, pruned and grown, or is refused.
static void any_bytes_are_an_ensemble_or_an_error(void **state)
{
    (void)state;
    static const char text[] =
        "trees { " SPLIT(0, 1, 2) LEAF(0.5) SPLIT(1, 3, 4) LEAF(2) SPLIT(0, 5, 6) LEAF(4) LEAF(1) "} " ONE;
    BD_STATUS(st);
    bd_message wire;
    bd_message_init(&wire);
    assert_int_equal(bd_text_format_to_wire(type, text, strlen(text), &wire, st), BRAID_OK);
    uint8_t bytes[512], changed[512];
    assert_true(wire.bytes <= sizeof bytes);
    bd_message_gather(&wire, bytes);
    bd_rng rng = bd_rng_init(11);
    int read = 0;
    for (int i = 0; i < 20000; i++) {
        memcpy(changed, bytes, wire.bytes);
        for (uint64_t k = bd_rng_next(&rng) % 3; k < 3; k++)
            changed[bd_rng_next(&rng) % wire.bytes] =
                (uint8_t)(bd_rng_next(&rng) % 2 ? bd_rng_next(&rng) % 8 : bd_rng_next(&rng));
        bd_forest f = {0};
        BD_STATUS(why);
        if (bd_forest_read(&f, changed, wire.bytes, why)) continue;
        read++;
        for (size_t t = 0; t < f.trees.len; t++) {
            walk(&f.trees.items[t], 0);
            walk(&f.trees.items[t], INT32_MAX);
            bd_tree_prune(&f.trees.items[t]);
            walk(&f.trees.items[t], 0);
            if (bd_tree_can_split(&f.trees.items[t], 0))
                bd_tree_split_leaf(&f.trees.items[t], &(bd_tree_split){.kind = BD_TREE_BUCKETIZED});
        }
        bd_forest_fini(&f);
    }
    assert_true(read > 100);
    bd_message_fini(&wire);
}

// ---- Growing ----

#define UPDATE "BoostedTreesUpdateEnsemble"
// feature_ids, node_ids, gains, thresholds, left and right contributions, max_depth, learning_rate
#define CANDIDATES(IDS, NODES, GAINS, THRESHOLDS, LEFT, RIGHT, DEPTH)                                        \
    IDS "; " NODES "; " GAINS "; " THRESHOLDS "; " LEFT "; " RIGHT "; int32[] " #DEPTH "; float[] 0.5"
#define ROOT(GAIN)                                                                                           \
    CANDIDATES("int32[1] 4", "int32[1] 0", "float[1] " #GAIN, "int32[1] 3", "float[1,1] 2", "float[1,1] -2", \
               2)

static void leaves_are_split_until_a_tree_is_deep_enough(void **state)
{
    (void)state;
    trees t = new_empty_trees();
    braid_op *update = use(&t, UPDATE, "pruning_mode=0; num_features=1", "iififfif");
    braid_op *none = use(&t, UPDATE, "pruning_mode=0; num_features=0", "iif");
    RUN(none, "int32[0]; int32[] 2; float[] 1", "");
    RUN(t.states, "", "int64[] 1; int32[] 1; int32[] 0; int32[] 1; int32[2] 0 1");
    RUN(update, ROOT(1), "");
    RUN(t.states, "", "int64[] 2; int32[] 1; int32[] 0; int32[] 2; int32[2] 1 3");
    RUN(update,
        CANDIDATES("int32[1] 1", "int32[2] 1 2", "float[2] -1 3", "int32[2] 0 7", "float[2,1] 1 2",
                   "float[2,1] 3 4", 2),
        "");
    RUN(t.states, "", "int64[] 3; int32[] 2; int32[] 1; int32[] 3; int32[2] 0 1");
    expect_trees(
        &t,
        "trees { nodes { bucketized_split { feature_id: 4 threshold: 3 left_id: 1 right_id: 2 } metadata { gain: 1 } } "
        "nodes { bucketized_split { feature_id: 1 left_id: 3 right_id: 4 } metadata { gain: -1 original_leaf { scalar: 1 } } } "
        "nodes { bucketized_split { feature_id: 1 threshold: 7 left_id: 5 right_id: 6 } metadata { gain: 3 original_leaf "
        "{ scalar: -1 } } } " LEAF(1.5) LEAF(2.5) LEAF(0) LEAF(
            1) "} trees { nodes { leaf { } } } "
               "tree_weights: [1, 1] tree_metadata { num_layers_grown: 2 is_finalized: true } tree_metadata { } "
               "growing_metadata { num_trees_attempted: 2 num_layers_attempted: 3 last_layer_node_end: 1 }");
    op_live_free(t.live);
}

static void the_feature_that_gains_most_splits(void **state)
{
    (void)state;
    trees t = new_empty_trees();
    braid_op *update = use(&t, UPDATE, "pruning_mode=0; num_features=3", "iiiifffiiiffffffif");
    // features 7 and 2 gain the same: the lower one splits
    RUN(update,
        "int32[3] 7 2 1; int32[1] 0; int32[1] 0; int32[1] 0; float[1] 2; float[1] 2; float[1] 1; int32[1] 1; int32[1] 2; "
        "int32[1] 3; float[1,1] 1; float[1,1] 2; float[1,1] 3; float[1,1] 4; float[1,1] 5; float[1,1] 6; int32[] 3; float[] 1",
        "");
    expect_trees(
        &t,
        "trees { nodes { bucketized_split { feature_id: 2 threshold: 2 left_id: 1 right_id: 2 } metadata { "
        "gain: 2 } } " LEAF(2) LEAF(
            5) "} tree_weights: 1 tree_metadata { num_layers_grown: 1 } "
               "growing_metadata { num_trees_attempted: 1 num_layers_attempted: 1 last_layer_node_start: 1 "
               "last_layer_node_end: 3 }");
    op_live_free(t.live);
}

static void types_of_splits_are_those_of_their_names(void **state)
{
    (void)state;
    trees t = new_empty_trees();
    braid_op *update = use(&t, "BoostedTreesUpdateEnsembleV2", "num_features=1", "iiififfsifi");
    RUN(update,
        "int32[1] 4; int32[1] 1; int32[1] 0; float[1] 1; int32[1] 3; float[1,1] 2; float[1,1] -2; string[1] "
        "INEQUALITY_DEFAULT_RIGHT; int32[] 3; float[] 1; int32[] 0",
        "");
    RUN(update,
        "int32[1] 4; int32[2] 2 0; int32[2] 1 2; float[2] 1 1; int32[2] 3 0; float[2,1] 2 0; float[2,1] -2 0; string[2] "
        "EQUALITY_DEFAULT_RIGHT INEQUALITY_DEFAULT_LEFT; int32[] 3; float[] 1; int32[] 0",
        "");
    expect_trees(
        &t,
        "trees { nodes { bucketized_split { feature_id: 4 threshold: 3 dimension_id: 1 default_direction: "
        "DEFAULT_RIGHT left_id: 1 right_id: 2 } metadata { gain: 1 } } nodes { categorical_split { feature_id: 4 "
        "value: 3 dimension_id: 2 left_id: 3 right_id: 4 } metadata { gain: 1 original_leaf { scalar: 2 } } } "
        "nodes { bucketized_split { feature_id: 4 left_id: 5 right_id: 6 } metadata { gain: 1 original_leaf { "
        "scalar: -2 } } } " LEAF(4) LEAF(0) LEAF(-2) LEAF(
            -2) "} tree_weights: 1 tree_metadata { "
                "num_layers_grown: 2 } growing_metadata { num_trees_attempted: 1 num_layers_attempted: 2 "
                "last_layer_node_start: 3 last_layer_node_end: 7 }");
    RUN(update,
        "int32[1] 4; int32[1] 1; int32[1] 3; float[1] 1; int32[1] 3; float[1,1] 2; float[1,1] -2; string[1] sideways; "
        "int32[] 3; float[] 1; int32[] 0",
        "InvalidArgument: split_types has 'sideways', which is no type of split");
    RUN(update,
        "int32[1] 4; int32[0]; int32[0]; float[0]; int32[0]; float[0,1]; float[0,1]; string[0]; int32[] 3; float[] 1; "
        "int32[1] 0",
        "InvalidArgument: pruning_mode must be a scalar");
    RUN(update,
        "int32[1] 4; int32[] 1; int32[1] 3; float[1] 1; int32[1] 3; float[1,1] 2; float[1,1] -2; string[1] x; int32[] 3; "
        "float[] 1; int32[] 0",
        "InvalidArgument: dimension_ids of feature 0 have shape [] for 1 node_ids");
    op_live_free(t.live);
}

static void updates_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    trees t = new_empty_trees();
    braid_op *update = use(&t, UPDATE, "pruning_mode=0; num_features=1", "iififfif");
    RUN(update, ROOT(1), "");
#define ONE_CANDIDATE(IDS, NODE)                                                                             \
    CANDIDATES(IDS, "int32[1] " NODE, "float[1] 1", "int32[1] 3", "float[1,1] 2", "float[1,1] -2", 2)
    RUN(update, ONE_CANDIDATE("int32[1] 4", "0"), "InvalidArgument: Node 0 cannot be split");
    RUN(update, ONE_CANDIDATE("int32[1] 4", "3"),
        "InvalidArgument: Node 3 cannot be split: the tree has 3 nodes");
    RUN(update, ONE_CANDIDATE("int32[1] 4", "-1"), "InvalidArgument: Node -1 cannot be split");
    RUN(update, ONE_CANDIDATE("int32[1] -4", "1"), "InvalidArgument: Feature -4");
    RUN(update, ONE_CANDIDATE("int32[2] 4", "1"),
        "InvalidArgument: feature_ids has 2 elements for 1 features");
    RUN(update,
        CANDIDATES("int32[1] 4", "int32[] 1", "float[1] 1", "int32[1] 3", "float[1,1] 2", "float[1,1] -2", 2),
        "InvalidArgument: ");
    RUN(update,
        CANDIDATES("int32[1] 4", "int32[2] 1", "float[1] 1", "int32[2] 3", "float[2,1] 2", "float[2,1] -2",
                   2),
        "InvalidArgument: gains of feature 0 have shape [1] for 2 node_ids");
    RUN(update,
        CANDIDATES("int32[1] 4", "int32[1] 1", "float[1] 1", "int32[1] 3", "float[1,2] 2", "float[1,1] -2",
                   2),
        "InvalidArgument: left_node_contribs of feature 0 have shape [1,2]");
    RUN(update, CANDIDATES("int32[1] 4", "int32[0]", "float[0]", "int32[0]", "float[0,1]", "float[0,1]", 2),
        "");
    RUN(t.states, "", "int64[] 2; int32[] 1; int32[] 0; int32[] 2; int32[2] 1 3");
    op_live_free(t.live);
}

static void splits_that_lose_are_not_made_with_pre_pruning(void **state)
{
    (void)state;
    trees t = new_empty_trees();
    braid_op *update = use(&t, UPDATE, "pruning_mode=1; num_features=1", "iififfif");
    RUN(update, ROOT(-1), "");
    RUN(t.states, "", "int64[] 1; int32[] 1; int32[] 0; int32[] 1; int32[2] 0 1");
    RUN(update, ROOT(0), "");
    RUN(t.states, "", "int64[] 2; int32[] 1; int32[] 0; int32[] 2; int32[2] 1 3");
    op_live_free(t.live);
}

static void splits_that_lose_are_removed_with_post_pruning(void **state)
{
    (void)state;
    trees t = new_empty_trees();
    braid_op *update = use(&t, UPDATE, "pruning_mode=2; num_features=1", "iififfif");
    RUN(update, ROOT(1), "");
    RUN(update,
        CANDIDATES("int32[1] 1", "int32[2] 1 2", "float[2] -1 3", "int32[2] 0 7", "float[2,1] 1 2",
                   "float[2,1] 3 4", 2),
        "");
    expect_trees(
        &t,
        "trees { nodes { bucketized_split { feature_id: 4 threshold: 3 left_id: 1 right_id: 2 } metadata { gain: "
        "1 } } " LEAF(
            1) "nodes { bucketized_split { feature_id: 1 threshold: 7 left_id: 3 right_id: 4 } metadata { "
               "gain: 3 original_leaf { scalar: -1 } } } " LEAF(0) LEAF(
                   1) "} trees { nodes { leaf { } } } "
                      "tree_weights: [1, 1] tree_metadata { num_layers_grown: 2 is_finalized: true "
                      "post_pruned_nodes_meta { logit_change: 0 } post_pruned_nodes_meta { new_node_id: 1 logit_change: 0 } "
                      "post_pruned_nodes_meta { new_node_id: 2 logit_change: 0 } post_pruned_nodes_meta { new_node_id: 1 "
                      "logit_change: -0.5 } post_pruned_nodes_meta { new_node_id: 1 logit_change: -1.5 } "
                      "post_pruned_nodes_meta { new_node_id: 3 logit_change: 0 } post_pruned_nodes_meta { new_node_id: 4 "
                      "logit_change: 0 } } tree_metadata { } growing_metadata { num_trees_attempted: 1 num_layers_attempted: 2 "
                      "last_layer_node_end: 1 }");
    // An example that had been in node 4 is in node 1 now, and goes on to the new tree.
    braid_op *go_on =
        use(&t, "BoostedTreesTrainingPredict", "num_bucketized_features=1; logits_dimension=1", "iii");
    RUN(go_on, "int32[2] 0 0; int32[2] 4 6; int32[2] 0 9", "float[2,1] -1.5 0; int32[2] 1 1; int32[2] 0 0");
    RUN(go_on, "int32[1] 0; int32[1] 7; int32[1] 0", "InvalidArgument: Row 0 cannot pass the trees");
    op_live_free(t.live);
}

static void the_bias_is_that_of_all_examples(void **state)
{
    (void)state;
    trees t = new_empty_trees();
    braid_op *center = use(&t, "BoostedTreesCenterBias", NULL, "ffff");
    RUN(center, "float[1,1] -3; float[1,1] 1; float[] 0; float[] 0.5", "bool[] true");
    RUN(center, "float[1,1] 1; float[1,1] 1; float[] 0.5; float[] 0", "bool[] true");
    RUN(center, "float[1,1] -0.01; float[1,1] 1; float[] 0; float[] 0", "bool[] false");
    expect_trees(&t, "trees { " LEAF(1.51) "} tree_weights: 1 tree_metadata { }");
    RUN(t.states, "", "int64[] 3; int32[] 1; int32[] 0; int32[] 0; int32[2] 0 1");
    RUN(center, "float[0,1]; float[0,1]; float[] 0; float[] 0",
        "InvalidArgument: mean_gradients must be one number");
    RUN(center, "float[1,1] 0; float[1,1] 0; float[1] 0; float[] 0", "InvalidArgument: l1 must be a scalar");
    set_trees(&t, "trees { " SPLIT(0, 1, 2) LEAF(0.5) LEAF(-1) "} " ONE, "");
    RUN(center, "float[1,1] -3; float[1,1] 1; float[] 0; float[] 0", "FailedPrecondition: has been split");
    op_live_free(t.live);
}

// ---- Predicting ----

#define TWO_TREES                                                                                            \
    "trees { " SPLIT(0, 1, 2) LEAF(0.5) SPLIT(1, 3, 4) LEAF(2) LEAF(4) "} trees { " LEAF(                    \
        10) "} "                                                                                             \
            "tree_weights: [1, 0.5] tree_metadata { num_layers_grown: 2 is_finalized: true } tree_metadata { }"

static void logits_are_the_sum_of_leaves(void **state)
{
    (void)state;
    trees t = new_empty_trees();
    braid_op *predict = use(&t, "BoostedTreesPredict", "num_bucketized_features=2; logits_dimension=1", "ii");
    RUN(predict, "int32[2] 0 1; int32[2] 0 1", "float[2,1] 0 0");
    set_trees(&t, TWO_TREES, "");
    RUN(predict, "int32[3] 2 3 3; int32[3] 9 2 3", "float[3,1] 5.5 7 9");
    RUN(predict, "int32[3,1] 2 3 3; int32[3,2] 9 0 2 0 3 0", "float[3,1] 5.5 7 9");
    RUN(predict, "int32[0]; int32[0]", "float[0,1]");
    RUN(predict, "int32[1] 0; int32[2] 0",
        "InvalidArgument: Bucketized feature 1 has 2 rows, feature 0 has 1");
    RUN(predict, "int32[] 0; int32[] 0",
        "InvalidArgument: Bucketized feature 0 must be a vector or a matrix");
    RUN(predict, "int32[1] 5; int32[1,0]", "InvalidArgument: Row 0 cannot pass the trees");
    RUN(use(&t, "BoostedTreesPredict", "num_bucketized_features=1; logits_dimension=1", "i"), "int32[2] 0 3",
        "InvalidArgument: Row 1 cannot pass the trees");
    RUN(use(&t, "BoostedTreesPredict", "num_bucketized_features=1; logits_dimension=2", "i"), "int32[1] 0",
        "InvalidArgument: Row 0 cannot pass the trees");
    RUN(use(&t, "BoostedTreesPredict", "num_bucketized_features=1; logits_dimension=0", "i"), "int32[1] 0",
        "InvalidArgument: logits_dimension must be positive");
    set_trees(
        &t,
        "trees { nodes { categorical_split { feature_id: 0 value: 5 dimension_id: 1 left_id: 1 right_id: 2 } } " LEAF(
            1) LEAF(2) "} " ONE,
        "");
    RUN(use(&t, "BoostedTreesPredict", "num_bucketized_features=1; logits_dimension=1", "i"),
        "int32[2,2] 5 4 4 5", "float[2,1] 2 1");
    set_trees(&t, "trees { nodes { } } " ONE, "");
    RUN(predict, "int32[1] 0; int32[1] 0", "InvalidArgument: Row 0 cannot pass the trees");
    set_trees(&t,
              "trees { nodes { bucketized_split { feature_id: -1 left_id: 1 right_id: 2 } } " LEAF(1)
                  LEAF(2) "} " ONE,
              "");
    RUN(predict, "int32[1] 0; int32[1] 0", "InvalidArgument: Row 0 cannot pass the trees");
    op_live_free(t.live);
}

static void leaves_may_have_several_logits(void **state)
{
    (void)state;
    trees t = new_empty_trees();
    set_trees(
        &t,
        "trees { nodes { bucketized_split { threshold: 2 left_id: 1 right_id: 2 } metadata { original_leaf { vector { "
        "value: [1, 2] } } } } nodes { leaf { vector { value: [0.5, 0.75] } } } nodes { leaf { vector { value: [3, 4] } } } } " ONE,
        "");
    RUN(use(&t, "BoostedTreesPredict", "num_bucketized_features=1; logits_dimension=2", "i"), "int32[2] 2 3",
        "float[2,2] 0.5 0.75 3 4");
    braid_op *go_on =
        use(&t, "BoostedTreesTrainingPredict", "num_bucketized_features=1; logits_dimension=2", "iii");
    RUN(go_on, "int32[2] 0; int32[2] -1 0; int32[2] 2 3",
        "float[2,2] 0.5 0.75 2 2; int32[2] 0; int32[2] 1 2");
    RUN(use(&t, UPDATE, "pruning_mode=0; num_features=1", "iififfif"), ONE_CANDIDATE("int32[1] 4", "1"),
        "InvalidArgument: Node 1 cannot be split");
    op_live_free(t.live);
}

static void training_goes_on_from_where_examples_are(void **state)
{
    (void)state;
    trees t = new_empty_trees();
    braid_op *go_on =
        use(&t, "BoostedTreesTrainingPredict", "num_bucketized_features=2; logits_dimension=1", "iiii");
    RUN(go_on, "int32[2] 0 3; int32[2] -1 7; int32[2] 0; int32[2] 0",
        "float[2,1] 0; int32[2] 0 3; int32[2] 0");
    set_trees(&t, TWO_TREES, "");
    // from the root; from node 2, which was a leaf of 0.25; from a leaf that is one yet; from the second tree
    RUN(go_on, "int32[4] 0 0 0 1; int32[4] -1 2 1 0; int32[4] 3 3 0 3; int32[4] 2 3 0 9",
        "float[4,1] 7 8.75 5 0; int32[4] 1; int32[4] 0");
    RUN(go_on, "int32[0]; int32[0]; int32[0]; int32[0]", "float[0,1]; int32[0]; int32[0]");
    RUN(go_on, "int32[1] 2; int32[1] 0; int32[1] 0; int32[1] 0",
        "InvalidArgument: Row 0 cannot pass the trees");
    RUN(go_on, "int32[1] -1; int32[1] -1; int32[1] 0; int32[1] 0",
        "InvalidArgument: Row 0 cannot pass the trees");
    RUN(go_on, "int32[1] 0; int32[1] 5; int32[1] 0; int32[1] 0",
        "InvalidArgument: Row 0 cannot pass the trees");
    RUN(go_on, "int32[2] 0; int32[1] 0; int32[1] 0; int32[1] 0",
        "InvalidArgument: cached_tree_ids has 2 elements for 1 rows");
    RUN(go_on, "int32[] 0; int32[1] 0; int32[1] 0; int32[1] 0",
        "InvalidArgument: cached_tree_ids must be a vector");
    op_live_free(t.live);
}

static void an_example_s_way_explains_its_logit(void **state)
{
    (void)state;
    trees t = new_empty_trees();
    braid_op *explain =
        use(&t, "BoostedTreesExampleDebugOutputs", "num_bucketized_features=2; logits_dimension=1", "ii");
    RUN(explain, "int32[1] 0; int32[1] 0", "FailedPrecondition: has no trees");
    set_trees(&t, TWO_TREES, "");
    // features 0 and 1; logits 0.25, 0.25 and 4; then feature 0, and logits 0.25 and 0.5
    RUN(explain, "int32[2] 3 0; int32[2] 3 0",
        "string[2] \\x0a\\x02\\x00\\x01\\x12\\x0c\\x00\\x00\\x80\\x3e\\x00\\x00\\x80\\x3e\\x00\\x00\\x80\\x40 "
        "\\x0a\\x01\\x00\\x12\\x08\\x00\\x00\\x80\\x3e\\x00\\x00\\x00\\x3f");
    RUN(explain, "int32[0]; int32[0]", "string[0]");
    RUN(explain, "int32[] 0; int32[] 0",
        "InvalidArgument: Bucketized feature 0 must be a vector or a matrix");
    RUN(use(&t, "BoostedTreesExampleDebugOutputs", "num_bucketized_features=1; logits_dimension=1", "i"),
        "int32[1] 3", "InvalidArgument: Row 0 cannot pass the trees");
    op_live_free(t.live);
}

static void shapes_follow_from_attrs_and_inputs(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"BoostedTreesEnsembleResourceHandleOp", NULL, "", "[]"},
        {"BoostedTreesGetEnsembleStates", NULL, "resource[]", "[]; []; []; []; [2]"},
        {"BoostedTreesPredict", "num_bucketized_features=2; logits_dimension=3",
         "resource[]; int32[?]; int32[4,2]", "[4,3]"},
        {"BoostedTreesPredict", "num_bucketized_features=2; logits_dimension=1",
         "resource[]; int32[3]; int32[4]", "InvalidArgument: Dimensions must be equal, but are 3 and 4"},
        {"BoostedTreesTrainingPredict", "num_bucketized_features=1; logits_dimension=1",
         "resource[]; int32[?]; int32[5]; int32[?]", "[5,1]; [5]; [5]"},
        {"BoostedTreesExampleDebugOutputs", "num_bucketized_features=1; logits_dimension=1",
         "resource[]; int32[6]", "[6]"},
        {UPDATE, "pruning_mode=0; num_features=1",
         "resource[]; int32[2]; int32[?]; [?]; int32[?]; [?,1]; [?,1]; int32[]; []",
         "InvalidArgument: feature_ids must have shape [1]"},
        {"BoostedTreesCenterBias", NULL, "resource[]; [?,1]; [?,1]; []; []", "[]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ensemble_is_created_once),
        cmocka_unit_test(an_ensemble_is_what_was_serialized),
        cmocka_unit_test(ensembles_that_are_no_trees_are_refused),
        cmocka_unit_test(any_bytes_are_an_ensemble_or_an_error),
        cmocka_unit_test(leaves_are_split_until_a_tree_is_deep_enough),
        cmocka_unit_test(the_feature_that_gains_most_splits),
        cmocka_unit_test(types_of_splits_are_those_of_their_names),
        cmocka_unit_test(updates_that_do_not_fit_are_refused),
        cmocka_unit_test(splits_that_lose_are_not_made_with_pre_pruning),
        cmocka_unit_test(splits_that_lose_are_removed_with_post_pruning),
        cmocka_unit_test(the_bias_is_that_of_all_examples),
        cmocka_unit_test(logits_are_the_sum_of_leaves),
        cmocka_unit_test(leaves_may_have_several_logits),
        cmocka_unit_test(training_goes_on_from_where_examples_are),
        cmocka_unit_test(an_example_s_way_explains_its_logit),
        cmocka_unit_test(shapes_follow_from_attrs_and_inputs),
    };
    return BD_RUN_TESTS(tests);
}
