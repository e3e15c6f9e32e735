// Tests of ensembles of trees: reading and writing them, predicting, and growing.
#include "base/account.h"
#include "base/random.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "graph/node_resolve.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include "proto/pack.h"
#include "proto/text_format.h"
#include "tensorflow/contrib/boosted_trees/proto/learner.pb-c.h"
#include "tensorflow/contrib/boosted_trees/proto/split_info.pb-c.h"
#include "tensorflow/contrib/boosted_trees/proto/tree_config.pb-c.h"

static const ProtobufCMessageDescriptor *const ensemble_type =
    &tensorflow__boosted_trees__trees__decision_tree_ensemble_config__descriptor;
static const ProtobufCMessageDescriptor *const split_type =
    &tensorflow__boosted_trees__learner__split_info__descriptor;
static const ProtobufCMessageDescriptor *const layer_type =
    &tensorflow__boosted_trees__learner__oblivious_split_info__descriptor;

// The bytes of a message in text format; the caller frees them.
static bd_bytes wire_of(const ProtobufCMessageDescriptor *type, const char *text)
{
    BD_STATUS(st);
    bd_message wire;
    bd_message_init(&wire);
    if (bd_text_format_to_wire(type, text, strlen(text), &wire, st)) fail_msg("%s", braid_status_message(st));
    char *bytes = bd_malloc(wire.bytes + 1);
    bd_message_gather(&wire, bytes);
    const size_t len = wire.bytes;
    bd_message_fini(&wire);
    return (bd_bytes){bytes, len};
}

// The same as op_test.h writes strings; the caller frees it.
static char *bytes_of(const ProtobufCMessageDescriptor *type, const char *text)
{
    bd_strbuf out = {0};
    const bd_bytes wire = wire_of(type, text);
    for (size_t i = 0; i < wire.len; i++)
        bd_strbuf_appendf(&out, "\\x%02x", (unsigned char)wire.data[i]);
    if (wire.len == 0) bd_strbuf_appendf(&out, "''");
    bd_free((void *)wire.data);
    return bd_strbuf_take(&out);
}

// An ensemble and the ops on it.
typedef struct trees {
    op_live *live;
    braid_out handle;
    bd_bytes learner;
    braid_op *create, *is_there, *stamp, *save, *restore, *used, *stats, *predict, *verbose, *partition,
        *center, *grow;
} trees;

// A node over the handle and placeholders of the types in `letters`: l int64, s string, f float, i int32.
static braid_op *use(const trees *t, const char *op, const char *attrs, const char *letters)
{
    braid_out inputs[20] = {t->handle};
    int count = 1;
    for (; *letters; letters++)
        inputs[count++] = op_live_placeholder(t->live, *letters == 'l'   ? BRAID_INT64
                                                       : *letters == 's' ? BRAID_STRING
                                                       : *letters == 'i' ? BRAID_INT32
                                                                         : BRAID_FLOAT);
    braid_op *node = op_test_node(t->live->graph, op, attrs, inputs, count);
    BD_STATUS(st);
    if (braid_graph_status(t->live->graph, st)) fail_msg("%s", braid_status_message(st));
    if (bd_node_attr(node, "learner_config")) bd_node_attr_slot(node, "learner_config")->s = t->learner;
    return node;
}

#define COUNTS "num_dense_float_features=1; num_sparse_float_features=1; num_sparse_int_features=1"
#define PREDICT                                                                                              \
    "learner_config=x; " COUNTS                                                                              \
    "; apply_dropout=true; apply_averaging=true; center_bias=false; reduce_dim=true"

static trees new_trees(const char *learner)
{
    trees t = {.live = op_live_new()};
    t.learner = wire_of(&tensorflow__boosted_trees__learner__learner_config__descriptor, learner);
    t.handle.op =
        op_test_node(t.live->graph, "DecisionTreeEnsembleResourceHandleOp", "shared_name=e", NULL, 0);
    t.create = use(&t, "CreateTreeEnsembleVariable", NULL, "ls");
    t.is_there = use(&t, "TreeEnsembleIsInitializedOp", NULL, "");
    t.stamp = use(&t, "TreeEnsembleStampToken", NULL, "");
    t.save = use(&t, "TreeEnsembleSerialize", NULL, "");
    t.restore = use(&t, "TreeEnsembleDeserialize", NULL, "ls");
    t.used = use(&t, "TreeEnsembleUsedHandlers", "num_all_handlers=3", "l");
    t.stats = use(&t, "TreeEnsembleStats", NULL, "l");
    t.predict = use(&t, "GradientTreesPrediction", PREDICT, "lflfllll");
    t.verbose = use(&t, "GradientTreesPredictionVerbose", PREDICT, "lflfllll");
    t.partition = use(&t, "GradientTreesPartitionExamples", COUNTS, "flfllll");
    t.center = use(&t, "CenterTreeEnsembleBias", "learner_config=x", "llf");
    t.grow = use(&t, "GrowTreeEnsemble", "learner_config=x; num_handlers=1; center_bias=false", "llfliiifs");
    return t;
}

static void free_trees(trees *t)
{
    op_live_free(t->live);
    bd_free((void *)t->learner.data);
}

#define RUN(NODE, FEEDS, WANT) op_live_run(t.live, NODE, FEEDS, WANT)

static void set(const trees *t, const char *text, const char *want)
{
    char *bytes = bytes_of(ensemble_type, text), *feeds = bd_asprintf("int64[] 0; string[] %s", bytes);
    op_live_run(t->live, t->restore, feeds, want);
    bd_free(bytes);
    bd_free(feeds);
}

static void expect(const trees *t, int64_t stamp, const char *text)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    op_execution *e = op_live_start(t->live, t->save, "");
    op_execution_wait(e);
    assert_ok(&e->ctx.status);
    assert_int_equal(bd_tensor_i64(&e->ctx.outputs[0].tensor)[0], stamp);
    const bd_string *s = &bd_tensor_str(&e->ctx.outputs[1].tensor)[0];
    ProtobufCMessage *want, *got = bd_proto_unpack(ensemble_type, s->data, s->len, arena, st);
    assert_ok(st);
    if (bd_text_format_parse(ensemble_type, text, strlen(text), &want, st))
        fail_msg("%s", braid_status_message(st));
    char *got_text = bd_text_format_print(got), *want_text = bd_text_format_print(want);
    assert_string_equal(got_text, want_text);
    bd_free(got_text);
    bd_free(want_text);
    protobuf_c_message_free_unpacked(want, NULL);
    op_execution_free(e);
}

// Offers one split of a partition, with stamps 0 and 1.
static void grow(const trees *t, int weak, int depth, float gain, int partition,
                 const ProtobufCMessageDescriptor *type, const char *text, const char *want)
{
    char *bytes = bytes_of(type, text);
    char *feeds =
        bd_asprintf("int64[] 0; int64[] 1; float[] 0.5; int64[] 3; int32[] %d; int32[] %d; int32[1] "
                    "%d; float[1] %g; string[1] %s",
                    depth, weak, partition, (double)gain, bytes);
    op_live_run(t->live, t->grow, feeds, want);
    bd_free(bytes);
    bd_free(feeds);
}

#define LEAF(V) "vector { value: " #V " } "
#define NODE(...) "nodes { " __VA_ARGS__ "} "
#define NODE_LEAF(V) NODE("leaf { " LEAF(V) "} ")
#define TREES(...) "trees { " __VA_ARGS__ "} "
#define WEIGHTED(W, LAYERS, FINAL)                                                                           \
    "tree_weights: " #W " tree_metadata { num_layers_grown: " #LAYERS " is_finalized: " #FINAL " } "
#define FLOAT_SPLIT(L, R)                                                                                    \
    "dense_float_binary_split { feature_column: 0 threshold: 2 left_id: " #L " right_id: " #R " } "
#define LEARNER "num_classes: 2 "
// Rows: 1 and 3; the first has a sparse float 5, the second ids 7 and 8.
#define EXAMPLES                                                                                             \
    "float[2,1] 1 3; int64[1,2] 0 0; float[1] 5; int64[2] 2 1; int64[2,2] 1 0 1 1; int64[2] 7 8; int64[2] 2 2"
#define NO_EXAMPLES "float[0,1]; int64[0,2]; float[0]; int64[2] 0 1; int64[0,2]; int64[0]; int64[2] 0 2"

static void an_ensemble_is_created_once(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER);
    RUN(t.is_there, "", "bool[] false");
    RUN(t.stamp, "", "NotFound: ");
    RUN(t.save, "", "NotFound: ");
    RUN(t.create, "int64[] 3; string[] rubbish", "InvalidArgument: Unable to parse tree ensemble config");
    RUN(t.create, "int64[] 3; string[0]", "InvalidArgument: tree_ensemble_config must be a scalar");
    RUN(t.create, "int64[2] 3; string[] ''", "InvalidArgument: stamp_token must be a scalar");
    RUN(t.create, "int64[] 3; string[] ''", "");
    RUN(t.create, "int64[] 4; string[] ''", "");
    RUN(t.is_there, "", "bool[] true");
    RUN(t.stamp, "", "int64[] 3");
    RUN(t.restore, "int64[] 4; string[] rubbish", "InvalidArgument: Unable to parse tree ensemble config");
    RUN(t.restore, "int64[] 4; string[2] a", "InvalidArgument: tree_ensemble_config must be a scalar");
    RUN(t.restore, "int64[0]; string[] ''", "InvalidArgument: stamp_token must be a scalar");
    expect(&t, 3, "");
    RUN(t.used, "int64[] 4", "InvalidArgument: stamp_token is 4, but the stamp of the ensemble is 3");
    RUN(t.used, "int64[0]", "InvalidArgument: stamp_token must be a scalar");
    RUN(t.used, "int64[2] 3", "InvalidArgument: stamp_token must be a scalar");
    RUN(t.stats, "int64[0]", "InvalidArgument: stamp_token must be a scalar");
    RUN(t.stats, "int64[] 3", "int64[] 0; int64[] 0; int64[] 0; int64[] 0; int64[] 0; int64[] 0");
    t.handle.op = op_test_node(t.live->graph, "QuantileStreamResourceHandleOp", "shared_name=e", NULL, 0);
    RUN(use(&t, "TreeEnsembleIsInitializedOp", NULL, ""), "", "InvalidArgument: ");
    free_trees(&t);
}

static void an_ensemble_is_what_was_serialized(void **state)
{
    (void)state;
    static const char *const texts[] = {
        TREES(NODE(FLOAT_SPLIT(1, 2) "node_metadata { gain: 1.5 original_leaf { } } ") NODE_LEAF(1)
                  NODE_LEAF(2)) WEIGHTED(0.5, 1, false),
        TREES(NODE(
            "sparse_float_binary_split_default_left { split { feature_column: 1 threshold: -1 left_id: 1 "
            "right_id: 2 dimension_id: 3 } } ")
                  NODE("leaf { sparse_vector { index: [2, -1] value: [1, 2] } } ") NODE("leaf { } ")),
        TREES(
            NODE("categorical_id_binary_split { feature_column: 1 feature_id: -5 left_id: 1 right_id: 2 } ")),
        TREES(NODE(
            "categorical_id_set_membership_binary_split { feature_column: 1 feature_ids: [1, 300] left_id: "
            "1 right_id: 2 } ") NODE("sparse_float_binary_split_default_right { split { left_id: 2 } } ")),
        TREES(NODE(
            "oblivious_dense_float_binary_split { feature_column: 1 threshold: 3 } node_metadata { gain: 1 "
            "original_oblivious_leaves { } original_oblivious_leaves { " LEAF(3) "} } ")
                  NODE("oblivious_categorical_id_binary_split { feature_column: 1 feature_id: 3 } ")),
        "trees { } tree_weights: [1, 2] growing_metadata { num_trees_attempted: 3 num_layers_attempted: 9 "
        "used_handler_ids: [1, 2] } ",
        TREES(NODE("")),
    };
    trees t = new_trees(LEARNER);
    RUN(t.create, "int64[] 0; string[] ''", "");
    for (size_t i = 0; i < BD_COUNTOF(texts); i++) {
        set(&t, texts[i], "");
        expect(&t, 0, texts[i]);
    }
    set(&t, TREES(NODE("leaf { sparse_vector { index: 1 } } ")),
        "InvalidArgument: Unable to parse tree ensemble config: A sparse leaf has 1 indices and 0 values");
    set(&t, "growing_metadata { used_handler_ids: [0, 2] } ", "");
    RUN(t.used, "int64[] 0", "int64[] 2; bool[3] true false true");
    set(&t, "growing_metadata { used_handler_ids: [2, 0] } ", "");
    RUN(t.used, "int64[] 0", "int64[] 2; bool[3] false false true");
    free_trees(&t);
}

static void trees_add_up_their_leaves(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER);
    RUN(t.create, "int64[] 0; string[] ''", "");
    RUN(t.predict, "int64[] 0; " EXAMPLES, "float[2,1] 0; float[2,0]");
    RUN(t.partition, EXAMPLES, "int32[2] 0");
    set(&t,
        TREES(NODE(FLOAT_SPLIT(1, 2)) NODE_LEAF(1) NODE_LEAF(2)) WEIGHTED(0.5, 1, true) TREES(
            NODE("sparse_float_binary_split_default_right { split { threshold: 6 left_id: 1 right_id: 2 } } ")
                NODE_LEAF(10) NODE_LEAF(20)) WEIGHTED(1, 1, true)
            TREES(NODE(
                "categorical_id_set_membership_binary_split { feature_ids: [8, 9] left_id: 1 right_id: 2 } ")
                      NODE_LEAF(100) NODE("leaf { sparse_vector { index: 0 value: 200 } } "))
                WEIGHTED(1, 1, true)
                    TREES(NODE("oblivious_dense_float_binary_split { threshold: 2 } ")
                              NODE("oblivious_categorical_id_binary_split { feature_id: 7 } ") NODE_LEAF(1000)
                                  NODE_LEAF(2000) NODE_LEAF(3000) NODE_LEAF(4000)) WEIGHTED(1, 2, false),
        "");
    RUN(t.predict, "int64[] 0; " EXAMPLES, "float[2,1] 2210.5 3121; float[2,0]");
    RUN(t.verbose, "int64[] 0; " EXAMPLES, "float[2,1] 2210.5 3121; float[2,0]; int32[2,4] 1 1 2 3 2 2 1 4");
    RUN(t.partition, EXAMPLES, "int32[2] 3 4");
    RUN(t.predict, "int64[] 0; " NO_EXAMPLES, "float[0,1]; float[2,0]");
    RUN(t.verbose, "int64[] 0; " NO_EXAMPLES, "float[0,1]; float[2,0]; int32[0,4]");
    RUN(t.partition, NO_EXAMPLES, "int32[0]");
    RUN(t.stats, "int64[] 0", "int64[] 3; int64[] 5; int64[] 4; int64[] 2; int64[] 0; int64[] 0");
    free_trees(&t);
}

static void malformed_trees_and_examples_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        TREES(NODE(FLOAT_SPLIT(0, 0)) NODE_LEAF(1)), // a circle
        TREES(NODE(FLOAT_SPLIT(1, 9)) NODE_LEAF(1)),
        TREES(NODE(FLOAT_SPLIT(-1, 1)) NODE_LEAF(1)),
        TREES(""),
        TREES(NODE("")),
        TREES(NODE("leaf { } ")),
        TREES(NODE("leaf { vector { value: [1, 2] } } ")),
        TREES(NODE("leaf { sparse_vector { index: 7 value: 1 } } ")),
        TREES(NODE("leaf { sparse_vector { index: -1 value: 1 } } ")),
        TREES(NODE("dense_float_binary_split { feature_column: 4 left_id: 1 right_id: 1 } ") NODE_LEAF(1)),
        TREES(NODE("categorical_id_binary_split { feature_column: -1 left_id: 1 right_id: 1 } ")
                  NODE_LEAF(1)),
        TREES(NODE("oblivious_dense_float_binary_split { threshold: 9 } ")),
        TREES(NODE("oblivious_dense_float_binary_split { threshold: 0 } ") NODE_LEAF(1)),
    };
    static const struct {
        const char *feeds, *want;
    } rows[] = {
        {"float[2] 1 3; int64[1,2] 0 0; float[1] 5; int64[2] 2 1; int64[0,2]; int64[0]; int64[2] 2 2",
         "InvalidArgument: Dense float feature must be a matrix"},
        {"float[2,2] 1 3 1 1; int64[1,2] 0 0; float[1] 5; int64[2] 2 1; int64[0,2]; int64[0]; int64[2] 2 2",
         "InvalidArgument: Dense float features may not be multivalent"},
        {"float[2,1] 1 3; int64[1,2] 0 0; float[1] 5; int64[2] 3 1; int64[0,2]; int64[0]; int64[2] 2 2",
         "InvalidArgument: Sparse float feature shape incompatible with batch size."},
        {"float[2,1] 1 3; int64[1,2] 0 0; float[2] 5; int64[2] 2 1; int64[0,2]; int64[0]; int64[2] 2 2",
         "InvalidArgument: Sparse float feature has 2 values, but indices of 1"},
        {"float[2,1] 1 3; int64[1,2] 0 0; float[1] 5; int64[2] 2 1; int64[0,3]; int64[0]; int64[2] 2 2",
         "InvalidArgument: Sparse int feature indices must be a matrix of two columns"},
        {"float[2,1] 1 3; int64[1,2] 0 0; float[1] 5; int64[2] 2 1; int64[0,2]; int64[0]; int64[3] 2 2 1",
         "InvalidArgument: Sparse int feature column must be two-dimensional."},
        {"float[] 1; int64[] 0; float[] 5; int64[] 2; int64[] 0; int64[] 0; int64[] 1",
         "InvalidArgument: Dense float feature must be a matrix"},
    };
    trees t = new_trees(LEARNER);
    RUN(t.create, "int64[] 0; string[] ''", "");
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        char *feeds = bd_asprintf("int64[] 0; %s", rows[i].feeds);
        RUN(t.predict, feeds, rows[i].want);
        RUN(t.verbose, feeds, rows[i].want);
        RUN(t.partition, rows[i].feeds, rows[i].want);
        bd_free(feeds);
    }
    RUN(t.predict, "int64[2] 0; " EXAMPLES, "InvalidArgument: seed must be a scalar");
    RUN(t.verbose, "int64[0]; " EXAMPLES, "InvalidArgument: seed must be a scalar");
    for (size_t i = 0; i < BD_COUNTOF(texts); i++) {
        char *text = bd_asprintf("%s tree_weights: 1 tree_metadata { }", texts[i]);
        set(&t, text, "");
        RUN(t.predict, "int64[] 0; " EXAMPLES, "InvalidArgument: Invalid tree");
        bd_free(text);
    }
    set(&t, TREES(NODE_LEAF(1)), "");
    RUN(t.predict, "int64[] 0; " EXAMPLES, "InvalidArgument: The ensemble has 1 trees, but 0 tree_weights");
    free_trees(&t);
}

// With TensorFlow's random numbers: seed 123 drops trees 1 and 4 of five.
static void trees_are_dropped_and_averaged(void **state)
{
    (void)state;
    trees t = new_trees(
        LEARNER "learning_rate_tuner { dropout { dropout_probability: 1 } } growing_mode: WHOLE_TREE");
    RUN(t.create, "int64[] 0; string[] ''", "");
    set(&t, TREES(NODE_LEAF(1)) WEIGHTED(0.5, 1, true) TREES(NODE_LEAF(2)) WEIGHTED(1, 1, false), "");
    RUN(t.predict, "int64[] 5; " EXAMPLES, "float[2,1] 0; float[2,2] 0 1 0.5 1");
    set(&t,
        TREES(NODE_LEAF(1)) WEIGHTED(0.5, 1, true) TREES(NODE_LEAF(2))
            WEIGHTED(1, 1, false) "growing_metadata { } ",
        "");
    RUN(t.predict, "int64[] 5; " EXAMPLES, "float[2,1] 0; float[2,1] 0 0.5");
    free_trees(&t);
    t = new_trees(LEARNER "averaging_config { average_last_n_trees: 2 }");
    RUN(t.create, "int64[] 0; string[] ''", "");
    set(&t,
        TREES(NODE_LEAF(1)) WEIGHTED(1, 1, true) TREES(NODE_LEAF(10)) WEIGHTED(1, 1, true)
            TREES(NODE_LEAF(100)) WEIGHTED(1, 1, true),
        "");
    RUN(t.predict, "int64[] 5; " EXAMPLES, "float[2,1] 61; float[2,0]");
    free_trees(&t);
}

static void a_bias_is_centered(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER);
    RUN(t.create, "int64[] 0; string[] ''", "");
    RUN(t.center, "int64[] 0; int64[] 0; float[1] 1", "InvalidArgument: next_stamp_token must differ");
    RUN(t.center, "int64[] 5; int64[] 6; float[1] 1", "InvalidArgument: stamp_token is 5");
    RUN(t.center, "int64[] 0; int64[] 1; float[] 1", "InvalidArgument: delta_updates must be a vector");
    RUN(t.center, "int64[] 0; int64[] 1; float[1] 0.5", "bool[] true");
    RUN(t.center, "int64[] 1; int64[] 2; float[1] 0.001", "bool[] false");
    RUN(t.center, "int64[] 2; int64[] 3; float[0]", "InvalidArgument: The first tree is no bias of 0 logits");
    expect(&t, 2,
           TREES(NODE_LEAF(0.501)) "tree_weights: 1 tree_metadata { num_layers_grown: 1 is_finalized: true } "
                                   "growing_metadata { num_trees_attempted: 1 num_layers_attempted: 1 } ");
    set(&t, TREES("") WEIGHTED(1, 1, true) TREES("") WEIGHTED(1, 1, true), "");
    RUN(t.center, "int64[] 0; int64[] 3; float[1] 1", "InvalidArgument: Unable to center bias");
    free_trees(&t);
}

#define SPLIT(L, R)                                                                                          \
    "split_node { " FLOAT_SPLIT(0, 0) "} left_child { " LEAF(L) "} right_child { " LEAF(R) "} "

static void a_layer_is_added(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER "pruning_mode: PRE_PRUNE growing_mode: LAYER_BY_LAYER constraints { "
                                "max_number_of_unique_feature_columns: 3 }");
    RUN(t.create, "int64[] 0; string[] ''", "");
    grow(&t, 0, 2, -1, 0, split_type, SPLIT(1, 2), ""); // pruned
    expect(&t, 1, "growing_metadata { num_trees_attempted: 1 num_layers_attempted: 1 } ");
    set(&t, "", "");
    grow(&t, 0, 2, 3, 0, split_type, SPLIT(1, 2), "");
    expect(
        &t, 1,
        TREES(NODE(FLOAT_SPLIT(1, 2) "node_metadata { gain: 3 } ") NODE_LEAF(1) NODE_LEAF(
            2)) "tree_weights: 0.5 tree_metadata { num_tree_weight_updates: 1 num_layers_grown: 1 } "
                "growing_metadata { num_trees_attempted: 1 num_layers_attempted: 1 used_handler_ids: 0 } ");
    set(&t, TREES(NODE(FLOAT_SPLIT(1, 2)) NODE_LEAF(1) NODE_LEAF(2)) WEIGHTED(0.5, 1, false), "");
    grow(&t, 0, 2, 3, 2, split_type, SPLIT(10, 20), "");
    expect(&t, 1,
           TREES(NODE(FLOAT_SPLIT(1, 2)) NODE_LEAF(1) NODE(FLOAT_SPLIT(3, 4) "node_metadata { gain: 3 } ")
                     NODE_LEAF(12) NODE_LEAF(22))
               WEIGHTED(0.5, 2, true) "growing_metadata { num_layers_attempted: 1 used_handler_ids: 0 } ");
    free_trees(&t);
}

static void a_tree_that_gains_nothing_is_pruned(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER "pruning_mode: POST_PRUNE growing_mode: LAYER_BY_LAYER");
    RUN(t.create, "int64[] 0; string[] ''", "");
    grow(&t, 0, 1, -1, 0, split_type, SPLIT(1, 2), "");
    expect(&t, 1, "growing_metadata { num_trees_attempted: 1 num_layers_attempted: 1 } ");
    set(&t,
        TREES(NODE(FLOAT_SPLIT(1, 2) "node_metadata { gain: 1 original_leaf { } } ") NODE_LEAF(1)
                  NODE_LEAF(2)) WEIGHTED(0.5, 1, false),
        "");
    grow(&t, 0, 2, -1, 1, split_type, SPLIT(10, 20), "");
    expect(&t, 1,
           TREES(NODE(FLOAT_SPLIT(1, 2) "node_metadata { gain: 1 } ") NODE_LEAF(1) NODE_LEAF(2))
               WEIGHTED(0.5, 2, true) "growing_metadata { num_layers_attempted: 1 } ");
    free_trees(&t);
}

static void a_dropped_tree_shares_its_weight(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER
                        "pruning_mode: PRE_PRUNE learning_rate_tuner { dropout { dropout_probability: 1 } }");
    RUN(t.create, "int64[] 0; string[] ''", "");
    set(&t, TREES(NODE_LEAF(1)) WEIGHTED(1, 1, true), "");
    grow(&t, 0, 1, 3, 0, split_type, SPLIT(1, 2), "");
    expect(
        &t, 1,
        TREES(NODE_LEAF(1)) TREES(NODE(FLOAT_SPLIT(1, 2) "node_metadata { gain: 3 } ") NODE_LEAF(1) NODE_LEAF(
            2)) "tree_weights: [0.5, 0.5] tree_metadata { num_tree_weight_updates: 1 num_layers_grown: 1 "
                "is_finalized: true } tree_metadata { num_tree_weight_updates: 2 num_layers_grown: 1 is_finalized: "
                "true } growing_metadata { num_trees_attempted: 1 num_layers_attempted: 1 } ");
    free_trees(&t);
}

#define LAYER_SPLIT "oblivious_dense_float_binary_split { threshold: 2 } "

static void a_layer_is_split_as_a_whole(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER "pruning_mode: PRE_PRUNE");
    RUN(t.create, "int64[] 0; string[] ''", "");
    set(&t, TREES(NODE(LAYER_SPLIT) NODE_LEAF(1) NODE_LEAF(2)) WEIGHTED(1, 1, false), "");
    grow(&t, 1, 3, 4, 0, layer_type,
         "split_node { " LAYER_SPLIT
         "} children { " LEAF(10) "} children { " LEAF(20) "} children_parent_id: 2 ",
         "");
    expect(
        &t, 1,
        TREES(NODE(LAYER_SPLIT) NODE(LAYER_SPLIT "node_metadata { gain: 4 original_oblivious_leaves { " LEAF(
            1) "} original_oblivious_leaves { " LEAF(2) "} } ") NODE_LEAF(1) NODE_LEAF(1) NODE_LEAF(12)
                  NODE_LEAF(22)) WEIGHTED(1, 2, false) "growing_metadata { num_layers_attempted: 1 } ");
    free_trees(&t);
}

static void splits_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER "pruning_mode: PRE_PRUNE");
    const char *tree = TREES(NODE(FLOAT_SPLIT(1, 2)) NODE_LEAF(1) NODE_LEAF(2)) WEIGHTED(0.5, 1, false);
    RUN(t.create, "int64[] 0; string[] ''", "");
    set(&t, tree, "");
    grow(&t, 0, 3, 1, 9, split_type, SPLIT(1, 2), "InvalidArgument: Invalid node 9 to split.");
    grow(&t, 0, 3, 1, -1, split_type, SPLIT(1, 2), "InvalidArgument: Invalid node -1 to split.");
    grow(&t, 0, 3, 1, 0, split_type, SPLIT(1, 2),
         "InvalidArgument: Unexpected node type to split 2 for node_id 0");
    grow(&t, 0, 3, 1, 1, split_type,
         "split_node { " LAYER_SPLIT "} left_child { " LEAF(1) "} right_child { " LEAF(2) "} ",
         "InvalidArgument: A split of type 7 does not have two children");
    grow(&t, 0, 3, 1, 1, split_type,
         "split_node { " FLOAT_SPLIT(
             0, 0) "} left_child { sparse_vector { index: 1 value: 1 } } right_child { " LEAF(2) "} ",
         "InvalidArgument: A leaf of kind 1 with 1 values cannot be split");
    grow(&t, 1, 3, 1, 0, layer_type,
         "split_node { " LAYER_SPLIT
         "} children { " LEAF(1) "} children { " LEAF(2) "} children_parent_id: 0 ",
         "InvalidArgument: The tree is not oblivious");
    grow(&t, 1, 3, 1, 0, layer_type, "children { " LEAF(1) "} children { " LEAF(2) "} ",
         "InvalidArgument: An oblivious split has 2 children of 0 parents");
    RUN(t.grow,
        "int64[] 0; int64[] 1; float[] 1; int64[] 3; int32[] 1; int32[] 0; int32[1] 0; float[1] 1; string[1] rubbish",
        "InvalidArgument: Unable to parse split info");
    RUN(t.grow,
        "int64[] 0; int64[] 1; float[] 1; int64[] 3; int32[] 1; int32[] 0; int32[2] 0; float[1] 1; string[1] ''",
        "InvalidArgument: Inconsistent partition Ids and gains tensors");
    RUN(t.grow,
        "int64[] 0; int64[] 1; float[] 1; int64[] 3; int32[] 1; int32[] 1; int32[0]; float[0]; string[0]",
        "InvalidArgument: Gains size must be one for oblivious weak learner");
    RUN(t.grow,
        "int64[] 0; int64[] 1; float[] 1; int64[] 3; int32[] 1; int32[] 0; int32[] 0; float[] 0; string[] ''",
        "InvalidArgument: partition_ids must be a vector");
    expect(&t, 0, tree);
    free_trees(&t);
}

static void splits_of_layers_and_of_nodes_are_not_mixed(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER);
    const char *tree = TREES(NODE(LAYER_SPLIT) NODE_LEAF(1) NODE_LEAF(2)) WEIGHTED(1, 1, false);
    RUN(t.create, "int64[] 0; string[] ''", "");
    set(&t, tree, "");
    grow(&t, 1, 3, 1, 0, layer_type,
         "split_node { " FLOAT_SPLIT(1, 2) "} children { " LEAF(1) "} children { " LEAF(
             2) "} children_parent_id: 1 ",
         "InvalidArgument: A split of type 2 does not split a layer");
    grow(&t, 1, 3, 1, 0, layer_type,
         "split_node { " LAYER_SPLIT
         "} children { " LEAF(1) "} children { " LEAF(2) "} children_parent_id: 0 ",
         "InvalidArgument: An oblivious split has parent 0");
    expect(&t, 0, tree);
    free_trees(&t);
}

static void dropout_without_a_probability_changes_nothing(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER "learning_rate_tuner { dropout { dropout_probability: 2 } }");
    RUN(t.create, "int64[] 0; string[] ''", "");
    grow(&t, 0, 1, 3, 0, split_type, SPLIT(1, 2), "InvalidArgument: Dropout probability must be in [0,1]");
    expect(&t, 0, "");
    free_trees(&t);
}

static void numbers_of_layers_stay_numbers(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER "pruning_mode: PRE_PRUNE");
    RUN(t.create, "int64[] 0; string[] ''", "");
    set(&t, TREES(NODE_LEAF(1)) WEIGHTED(1, 2147483647, false), "");
    grow(&t, 0, 3, 3, 0, split_type, SPLIT(1, 2), "");
    expect(&t, 1,
           TREES(NODE(FLOAT_SPLIT(1, 2) "node_metadata { gain: 3 } ") NODE_LEAF(2) NODE_LEAF(3))
               WEIGHTED(1, 2147483647, true) "growing_metadata { num_layers_attempted: 1 } ");
    free_trees(&t);
}

// None of the many indices of the parent is among those of the left child. Quadratic time would be 10 s.
static void large_sparse_leaves_take_linear_time(void **state)
{
    (void)state;
    enum {
        ENTRIES = 200000
    };
    trees t = new_trees(LEARNER "pruning_mode: PRE_PRUNE");
    bd_strbuf parent = {0}, children = {0};
    for (int i = 0; i < ENTRIES; i++) {
        bd_strbuf_appendf(&parent, "index: %d value: 1 ", i);
        bd_strbuf_appendf(&children, "index: %d value: 1 ", i + ENTRIES);
    }
    char *tree =
        bd_asprintf(TREES(NODE("leaf { sparse_vector { %s } } ")) WEIGHTED(1, 0, false), parent.data);
    char *split =
        bd_asprintf("split_node { " FLOAT_SPLIT(
                        1, 2) "} left_child { sparse_vector { %s } } "
                              "right_child { sparse_vector { index: 7 value: 2 index: 8 value: 1 } } ",
                    children.data);
    RUN(t.create, "int64[] 0; string[] ''", "");
    set(&t, tree, "");
    const int64_t begin = bd_thread_time_ns();
    grow(&t, 0, 1, 3, 0, split_type, split, "");
    assert_true(bd_thread_time_ns() - begin < INT64_C(5000000000));
    bd_free(tree);
    bd_free(split);
    bd_strbuf_fini(&parent);
    bd_strbuf_fini(&children);
    free_trees(&t);
}

static void sparse_leaves_are_merged_by_index(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER "pruning_mode: PRE_PRUNE");
    RUN(t.create, "int64[] 0; string[] ''", "");
    set(&t, TREES(NODE("leaf { sparse_vector { index: [3, 1] value: [1, 2] } } ")) WEIGHTED(1, 1, false), "");
    grow(&t, 0, 2, 3, 0, split_type,
         "split_node { " FLOAT_SPLIT(0, 0) "} left_child { sparse_vector { index: [1, 5] value: [10, 20] } } "
                                           "right_child { sparse_vector { index: 3 value: 30 } } ",
         "");
    expect(&t, 1,
           TREES(NODE(FLOAT_SPLIT(1, 2) "node_metadata { gain: 3 } ")
                     NODE("leaf { sparse_vector { index: [1, 5, 3] value: [12, 20, 1] } } ")
                         NODE("leaf { sparse_vector { index: [3, 1] value: [31, 2] } } "))
               WEIGHTED(1, 2, true) "growing_metadata { num_layers_attempted: 1 } ");
    free_trees(&t);
}

// Bytes that a valid message becomes by a few changes.
static void any_bytes_are_an_ensemble_or_an_error(void **state)
{
    (void)state;
    trees t = new_trees(LEARNER "pruning_mode: POST_PRUNE");
    RUN(t.create, "int64[] 0; string[] ''", "");
    bd_rng rng = bd_rng_init(7);
    const bd_bytes wire =
        wire_of(ensemble_type,
                TREES(NODE(FLOAT_SPLIT(1, 2) "node_metadata { gain: -1 original_leaf { " LEAF(1) "} } ")
                          NODE_LEAF(1) NODE("oblivious_dense_float_binary_split { threshold: 1 } ")
                              NODE("leaf { sparse_vector { index: 0 value: 1 } } ") NODE_LEAF(3))
                    WEIGHTED(0.5, 1, false) "growing_metadata { used_handler_ids: [1, 2] } ");
    char *split = bytes_of(split_type, SPLIT(1, 2));
    for (int i = 0; i < 4000; i++) {
        bd_strbuf feeds = {0};
        uint8_t bytes[512];
        memcpy(bytes, wire.data, wire.len);
        for (uint64_t n = bd_rng_below(&rng, 4); n > 0; n--)
            bytes[bd_rng_below(&rng, wire.len)] = (uint8_t)bd_rng_next(&rng);
        bd_strbuf_appendf(&feeds, "int64[] 0; string[] ");
        for (size_t b = 0; b < wire.len; b++)
            bd_strbuf_appendf(&feeds, "\\x%02x", bytes[b]);
        char *text = bd_strbuf_take(&feeds);
        op_execution *e = op_live_start(t.live, t.restore, text);
        op_execution_wait(e);
        op_execution_free(e);
        bd_free(text);
        e = op_live_start(t.live, t.verbose, "int64[] 0; " EXAMPLES);
        op_execution_wait(e);
        op_execution_free(e);
        text = bd_asprintf("int64[] 0; int64[] 1; float[] 1; int64[] 3; int32[] 2; int32[] %d; int32[1] %d; "
                           "float[1] 1; string[1] %s",
                           i % 2, i % 5, split);
        e = op_live_start(t.live, t.grow, text);
        op_execution_wait(e);
        op_execution_free(e);
        bd_free(text);
        RUN(t.save, "", "*; *");
    }
    bd_free(split);
    bd_free((void *)wire.data);
    free_trees(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ensemble_is_created_once),
        cmocka_unit_test(an_ensemble_is_what_was_serialized),
        cmocka_unit_test(trees_add_up_their_leaves),
        cmocka_unit_test(malformed_trees_and_examples_are_refused),
        cmocka_unit_test(trees_are_dropped_and_averaged),
        cmocka_unit_test(a_bias_is_centered),
        cmocka_unit_test(a_layer_is_added),
        cmocka_unit_test(a_tree_that_gains_nothing_is_pruned),
        cmocka_unit_test(a_dropped_tree_shares_its_weight),
        cmocka_unit_test(a_layer_is_split_as_a_whole),
        cmocka_unit_test(splits_that_do_not_fit_are_refused),
        cmocka_unit_test(splits_of_layers_and_of_nodes_are_not_mixed),
        cmocka_unit_test(dropout_without_a_probability_changes_nothing),
        cmocka_unit_test(numbers_of_layers_stay_numbers),
        cmocka_unit_test(sparse_leaves_are_merged_by_index),
        cmocka_unit_test(large_sparse_leaves_take_linear_time),
        cmocka_unit_test(any_bytes_are_an_ensemble_or_an_error),
    };
    return BD_RUN_TESTS(tests);
}
