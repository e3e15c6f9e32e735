// Tests of trees of tf.contrib.tensor_forest: reading and writing them, growing, and predicting. Values are
// those of TensorFlow 1.15.
#include "base/account.h"
#include "base/random.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "graph/node_resolve.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include "proto/pack.h"
#include "proto/text_format.h"
#include "tensorflow/contrib/decision_trees/proto/generic_tree_model.pb-c.h"
#include "tensorflow/contrib/tensor_forest/proto/fertile_stats.pb-c.h"
#include "tensorflow/contrib/tensor_forest/proto/tensor_forest_params.pb-c.h"

static const ProtobufCMessageDescriptor *const model_type = &tensorflow__decision_trees__model__descriptor;
static const ProtobufCMessageDescriptor *const stats_type =
    &tensorflow__tensorforest__fertile_stats__descriptor;

// ---- Messages as text ----

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

// The same as op_test.h writes strings.
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

static char *escaped(const char *text)
{
    bd_strbuf out = {0};
    for (; *text; text++)
        bd_strbuf_appendf(&out, "\\x%02x", (unsigned char)*text);
    return bd_strbuf_take(&out);
}

// A tree, its statistics, and the ops on them.
typedef struct forest {
    op_live *live;
    braid_out tree, stats;
    bd_bytes params;
    braid_op *create, *create_stats, *serialize, *serialize_stats, *deserialize, *deserialize_stats, *size,
        *traverse, *predict, *update, *process, *grow, *finalize, *usage;
} forest;

#define DENSE_SPEC                                                                                           \
    "dense_features_size: 2 dense: [{name: x original_type: 0 size: 1}{name: y original_type: 1 size: 1}] "  \
    "sparse: []"

// A node over the handles and placeholders of the types in `letters`: t tree, h statistics, i int32, f
// float, l int64, s string.
static braid_op *use(const forest *f, const char *op, const char *attrs, const char *letters)
{
    braid_out inputs[20];
    int count = 0;
    for (; *letters; letters++)
        inputs[count++] = *letters == 't'   ? f->tree
                          : *letters == 'h' ? f->stats
                                            : op_live_placeholder(f->live, *letters == 'i'   ? BRAID_INT32
                                                                           : *letters == 'f' ? BRAID_FLOAT
                                                                           : *letters == 'l' ? BRAID_INT64
                                                                                             : BRAID_STRING);
    braid_op *node = op_test_node(f->live->graph, op, attrs, inputs, count);
    BD_STATUS(st);
    if (braid_graph_status(f->live->graph, st)) fail_msg("%s", braid_status_message(st));
    if (bd_node_attr(node, "params")) bd_node_attr_slot(node, "params")->s = f->params;
    return node;
}

static forest new_forest(const char *params, const char *spec)
{
    forest f = {.live = op_live_new()};
    char *text = escaped(spec);
    const char only_params[] = "params=x"; // wire_of's bytes may have zeros, which attrs as text may not
    char *attrs = bd_asprintf("params=x; input_spec=%s", *text ? text : "x");
    char *with_seed = bd_asprintf("%s; random_seed=3", attrs);
    f.params = wire_of(&tensorflow__tensorforest__tensor_forest_params__descriptor, params);
    f.tree.op = op_test_node(f.live->graph, "DecisionTreeResourceHandleOp", "shared_name=e", NULL, 0);
    f.stats.op = op_test_node(f.live->graph, "FertileStatsResourceHandleOp", "shared_name=e", NULL, 0);
    f.create = use(&f, "CreateTreeVariable", only_params, "ts");
    f.create_stats = use(&f, "CreateFertileStatsVariable", only_params, "hs");
    f.serialize = use(&f, "TreeSerialize", NULL, "t");
    f.serialize_stats = use(&f, "FertileStatsSerialize", only_params, "h");
    f.deserialize = use(&f, "TreeDeserialize", only_params, "ts");
    f.deserialize_stats = use(&f, "FertileStatsDeserialize", only_params, "hs");
    f.size = use(&f, "TreeSize", NULL, "t");
    f.traverse = use(&f, "TraverseTreeV4", attrs, "tflfl");
    f.predict = use(&f, "TreePredictionsV4", attrs, "tflfl");
    f.update = use(&f, "UpdateModelV4", only_params, "tiff");
    f.process = use(&f, "ProcessInputV4", with_seed, "thflflffi");
    f.grow = use(&f, "GrowTreeV4", only_params, "thi");
    f.finalize = use(&f, "FinalizeTree", only_params, "th");
    f.usage = use(&f, "FeatureUsageCounts", only_params, "t");
    bd_free(text);
    bd_free(attrs);
    bd_free(with_seed);
    return f;
}

static void free_forest(forest *f)
{
    op_live_free(f->live);
    bd_free((void *)f->params.data);
}

#define RUN(NODE, FEEDS, WANT) op_live_run(f.live, NODE, FEEDS, WANT)

static forest new_empty_forest(const char *params, const char *spec)
{
    forest f = new_forest(params, spec);
    RUN(f.create, "string[] ''", "");
    RUN(f.create_stats, "string[] ''", "");
    return f;
}

static void set(const forest *f, braid_op *node, const ProtobufCMessageDescriptor *type, const char *text,
                const char *want)
{
    char *bytes = bytes_of(type, text), *feeds = bd_asprintf("string[] %s", bytes);
    op_live_run(f->live, node, feeds, want);
    bd_free(bytes);
    bd_free(feeds);
}

// Expects that output `i` of the node is the message; an element of it is enough.
static void expect(const forest *f, braid_op *node, const char *feeds, int i,
                   const ProtobufCMessageDescriptor *type, const char *text)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    op_execution *e = op_live_start(f->live, node, feeds);
    op_execution_wait(e);
    assert_ok(&e->ctx.status);
    const bd_string *s = &bd_tensor_str(&e->ctx.outputs[i].tensor)[0];
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

#define NONE "; int64[0]; float[0]; int64[0]" // no sparse features
#define BATCH "float[8,2] 1 0 2 1 3 0 4 1 5 0 6 1 7 2 8 2"
#define LABELS "float[8] 0 0 1 0 1 1 1 1"
#define COMMON                                                                                               \
    "num_outputs: 2 num_features: 2 max_nodes: 7 checkpoint_stats: true split_after_samples { "              \
    "constant_value: 3 } num_splits_to_consider { constant_value: 2 } "
#define SPARSE "leaf_type: MODEL_SPARSE_CLASSIFICATION stats_type: STATS_SPARSE_GINI "
#define FIXED_OF(SIZE)                                                                                       \
    "leaf_type: MODEL_SPARSE_CLASSIFICATION stats_type: STATS_FIXED_SIZE_SPARSE_GINI "                       \
    "num_classes_to_track: " #SIZE " "
#define FIXED FIXED_OF(2)
#define SPLITS(N) "num_splits_to_consider { constant_value: " #N " } "
#define REGRESSION                                                                                           \
    "leaf_type: MODEL_REGRESSION stats_type: STATS_LEAST_SQUARES_REGRESSION is_regression: true "

#define ID(I) "node_id { value: " #I " } "
#define CHILDREN(L, R) "left_child_id { value: " #L " } right_child_id { value: " #R " } "
#define MATCHES(VALUE)                                                                                       \
    "custom_left_child_test { type_url: "                                                                    \
    "'type.googleapis.com/tensorflow.decision_trees.MatchingValuesTest' value: "                             \
    "'\\n\\005\\n\\003\\n\\0011\\022\\005\\r" VALUE "' } "
#define ZERO "\\000\\000\\000\\000"
#define TEST(FEATURE, THRESHOLD)                                                                             \
    "inequality_left_child_test { feature_id { id { value: '" #FEATURE                                       \
    "' } } threshold { float_value: " #THRESHOLD " } } "
#define SPLIT(L, R, TEST) "binary_node { " CHILDREN(L, R) TEST "} "
#define FLOAT(V) "value { float_value: " #V " } "
#define LEAF(A, B) "leaf { vector { " FLOAT(A) FLOAT(B) "} } "
#define ENTRY(KEY, V) "sparse_value { key: " #KEY " " FLOAT(V) "} "
#define NODE(...) "nodes { " __VA_ARGS__ "} "
#define TREE(...) "decision_tree { " __VA_ARGS__ "} "

// ---- Reading and writing ----

static void a_tree_is_created_once(void **state)
{
    (void)state;
    forest f = new_forest(COMMON, DENSE_SPEC);
    braid_op *is_there = use(&f, "TreeIsInitializedOp", NULL, "t");
    RUN(is_there, "", "bool[] false");
    RUN(f.size, "", "NotFound: ");
    RUN(f.serialize, "", "NotFound: ");
    RUN(f.deserialize, "string[] ''", "NotFound: ");
    RUN(f.usage, "", "NotFound: ");
    RUN(f.create, "string[] rubbish", "InvalidArgument: Unable to parse tree config");
    RUN(f.create, "string[0]", "InvalidArgument: Tree config must be a scalar.");
    RUN(f.create, "string[] ''", "");
    RUN(is_there, "", "bool[] true");
    expect(&f, f.serialize, "", 0, model_type, TREE(NODE("leaf { vector { value { } value { } } } ")));
    RUN(f.deserialize, "string[] rubbish", "InvalidArgument: Unable to parse tree config");
    RUN(f.deserialize, "string[0]", "InvalidArgument: Tree config must be a scalar.");
    set(&f, f.deserialize, model_type,
        TREE(NODE(SPLIT(1, 2, TEST(0, 1))) NODE(ID(1) LEAF(1, 2)) NODE(ID(2) LEAF(3, 4))), "");
    RUN(f.create, "string[] ''", "");
    RUN(f.size, "", "int32[] 3");
    f.tree.op = f.stats.op;
    RUN(use(&f, "TreeIsInitializedOp", NULL, "t"), "", "InvalidArgument: ");
    free_forest(&f);
}

static void statistics_are_created_once(void **state)
{
    (void)state;
    forest f = new_forest(COMMON, DENSE_SPEC);
    braid_op *is_there = use(&f, "FertileStatsIsInitializedOp", NULL, "h");
    RUN(is_there, "", "bool[] false");
    RUN(f.serialize_stats, "", "NotFound: ");
    RUN(f.deserialize_stats, "string[] ''", "NotFound: ");
    RUN(f.create_stats, "string[] rubbish", "InvalidArgument: Unable to parse stats config");
    RUN(f.create_stats, "string[0]", "InvalidArgument: Stats config must be a scalar.");
    RUN(f.create_stats, "string[] ''", "");
    RUN(f.create_stats, "string[] ''", "");
    RUN(is_there, "", "bool[] true");
    RUN(f.deserialize_stats, "string[0]", "InvalidArgument: Stats config must be a scalar.");
    expect(&f, f.serialize_stats, "", 0, stats_type,
           "node_to_slot { post_init_leaf_stats { classification { dense_counts { " FLOAT(0)
               FLOAT(0) "} } } }");
    f.stats.op = f.tree.op;
    RUN(use(&f, "FertileStatsIsInitializedOp", NULL, "h"), "", "InvalidArgument: ");
    free_forest(&f);
}

#define LEAVES NODE(ID(1) LEAF(1, 2)) NODE(ID(2) LEAF(3, 4))

static void a_tree_is_what_was_serialized(void **state)
{
    (void)state;
    static const char *const texts[] = {
        TREE(NODE(ID(0) SPLIT(2, 1, TEST(1, -0.5))) LEAVES),
        TREE(NODE("binary_node { " CHILDREN(1, 2) "default_direction: RIGHT " MATCHES(ZERO) "} ") LEAVES),
        TREE(NODE(SPLIT(
            1, 2,
            "inequality_left_child_test { oblique { features { id { value: '0' } } features { id { "
            "value: '1' } } weights: [1, -1] } type: GREATER_THAN threshold { float_value: 2 } } ")) LEAVES),
        TREE(NODE("leaf { sparse_vector { " ENTRY(-1, 2)
                      ENTRY(7, 1) "sparse_value { key: 9 value { } } } } ")),
        TREE(NODE("leaf { } ")),
    };
    forest f = new_empty_forest(COMMON, DENSE_SPEC);
    for (size_t i = 0; i < BD_COUNTOF(texts); i++) {
        set(&f, f.deserialize, model_type, texts[i], "");
        expect(&f, f.serialize, "", 0, model_type, texts[i]);
    }
    free_forest(&f);
}

static void trees_that_no_way_ends_in_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {TREE(NODE(SPLIT(1, 3, TEST(0, 1))) LEAVES), "InvalidArgument: Node 0 of 3 has child 3"},
        {TREE(NODE(SPLIT(1, -2, TEST(0, 1))) LEAVES), "InvalidArgument: Node 0 of 3 has child -2"},
        {TREE(NODE(SPLIT(0, 1, TEST(0, 1))) LEAVES), "InvalidArgument: Node 0 of 3 has child 0"},
        {TREE(NODE(SPLIT(1, 2, TEST(0, 1))) NODE(LEAF(1, 2)) NODE(LEAF(1, 2))),
         "InvalidArgument: Node 1 of the tree has node_id 0"},
        {TREE(NODE("binary_node { " TEST(0, 1) "} ")), "InvalidArgument: Node 0 of 1 has child 0"},
        {TREE(NODE("")), "InvalidArgument: Node 0 is neither a leaf nor a split"},
        {TREE(NODE("custom_node_type { } ")), "Unimplemented: Node 0 of the tree is of a type of its own"},
        {TREE(NODE(SPLIT(1, 2, "")) LEAVES), "InvalidArgument: A split has no test"},
        {TREE(NODE(SPLIT(1, 2, TEST(x, 1))) LEAVES), "InvalidArgument: Invalid feature ID: [x]"},
        {TREE(NODE(SPLIT(1, 2, TEST(99999999999, 1))) LEAVES), "InvalidArgument: Invalid feature ID"},
        {TREE(NODE(SPLIT(1, 2, "inequality_left_child_test { } ")) LEAVES),
         "InvalidArgument: Invalid feature ID: []"},
        {TREE(NODE(SPLIT(1, 2, "inequality_left_child_test { oblique { weights: 1 } } ")) LEAVES),
         "InvalidArgument: An oblique test has 0 features and 1 weights"},
        {TREE(NODE(SPLIT(1, 2, "custom_left_child_test { type_url: 'x' } ")) LEAVES),
         "Unimplemented: Unknown split test: x"},
        {TREE(NODE("leaf { vector { value { double_value: 1 } } } ")),
         "Unimplemented: The tree has a value that is not a float_value"},
        {"ensemble { } ", "Unimplemented: The tree config is a model other than a decision_tree"},
    };
    forest f = new_empty_forest(COMMON, DENSE_SPEC);
    for (size_t i = 0; i < BD_COUNTOF(rows); i++)
        set(&f, f.deserialize, model_type, rows[i].text, rows[i].want);
    RUN(f.size, "", "int32[] 1");
    free_forest(&f);
}

// Bytes that a valid message becomes by a few changes.
static void any_bytes_are_a_tree_or_an_error(void **state)
{
    (void)state;
    forest f = new_empty_forest(COMMON FIXED, DENSE_SPEC);
    bd_rng rng = bd_rng_init(7);
    const char *texts[] = {
        TREE(NODE(SPLIT(1, 2, TEST(0, 1))) LEAVES),
        "node_to_slot { candidates { split { " TEST(0, 1) "} left_stats { classification { sparse_counts { " ENTRY(
            1, 2) "} } } } "
                  "node_id: 3 post_init_leaf_stats { weight_sum: 2 } depth: 2 }"};
    for (int i = 0; i < 4000; i++) {
        BD_STATUS(st);
        bd_message wire;
        bd_strbuf feeds = {0};
        const int k = i % 2;
        bd_message_init(&wire);
        bd_text_format_to_wire(k ? stats_type : model_type, texts[k], strlen(texts[k]), &wire, st);
        uint8_t bytes[512];
        bd_message_gather(&wire, bytes);
        for (uint64_t n = bd_rng_below(&rng, 4); n > 0; n--)
            bytes[bd_rng_below(&rng, wire.bytes)] = (uint8_t)bd_rng_next(&rng);
        bd_strbuf_appendf(&feeds, "string[] ");
        for (size_t b = 0; b < wire.bytes; b++)
            bd_strbuf_appendf(&feeds, "\\x%02x", bytes[b]);
        char *text = bd_strbuf_take(&feeds);
        op_execution *e = op_live_start(f.live, k ? f.deserialize_stats : f.deserialize, text);
        op_execution_wait(e);
        op_execution_free(e);
        bd_free(text);
        bd_message_fini(&wire);
        e = op_live_start(f.live, f.traverse, BATCH NONE);
        op_execution_wait(e);
        op_execution_free(e);
    }
    free_forest(&f);
}

// ---- Growing ----

// Trains three times by the batch; `leaves` and `finished` are those of each time.
static void train(const forest *f, const char *labels, const char *const leaves[3],
                  const char *const finished[3])
{
    for (int i = 0; i < 3; i++) {
        char *update = bd_asprintf("%s; %s; float[0]", leaves[i], labels);
        char *process = bd_asprintf(BATCH NONE "; %s; float[0]; %s", labels, leaves[i]);
        op_live_run(f->live, f->traverse, BATCH NONE, leaves[i]);
        op_live_run(f->live, f->update, update, "");
        op_live_run(f->live, f->process, process, finished[i]);
        op_live_run(f->live, f->grow, finished[i], "");
        bd_free(update);
        bd_free(process);
    }
}

static const char *const leaves_of_classes[] = {"int32[8] 0", "int32[8] 1 2 1 2 1 2 2 2",
                                                "int32[8] 1 2 1 2 1 2 2 2"};
static const char *const finished_of_classes[] = {"int32[1] 0", "int32[0]", "int32[2] 1 2"};

#define GROWN                                                                                                \
    NODE(SPLIT(1, 2, MATCHES(ZERO)))                                                                         \
    NODE(ID(1) SPLIT(3, 4, TEST(0, 3))) NODE(ID(2) SPLIT(5, 6, TEST(0, 2)))

static void the_purest_candidate_splits_a_leaf(void **state)
{
    (void)state;
    forest f = new_empty_forest(COMMON, DENSE_SPEC);
    train(&f, LABELS, leaves_of_classes, finished_of_classes);
    expect(&f, f.serialize, "", 0, model_type,
           TREE(GROWN NODE(ID(3) LEAF(1, 1)) NODE(ID(4) LEAF(0, 2)) NODE(ID(5) LEAF(1, 0))
                    NODE(ID(6) LEAF(1, 6))));
    RUN(f.usage, "", "int32[2] 2 1");
    RUN(f.predict, "float[3,2] 1 0 2 1 4 1" NONE,
        "float[3,2] 0.5 0.5 1 0 0.142857149 0.857142866; string[0]");
    RUN(f.grow, "int32[1] 3", ""); // the tree has max_nodes nodes
    RUN(f.size, "", "int32[] 7");
    free_forest(&f);
    f = new_empty_forest(COMMON "inference_tree_paths: true", DENSE_SPEC);
    train(&f, LABELS, leaves_of_classes, finished_of_classes);
    expect(&f, f.predict, BATCH NONE, 1, &tensorflow__tensorforest__tree_path__descriptor,
           "nodes_visited { " SPLIT(1, 2, MATCHES(ZERO)) "} nodes_visited { " ID(1)
               SPLIT(3, 4, TEST(0, 3)) "} nodes_visited { " ID(3) LEAF(1, 1) "} ");
    free_forest(&f);
    f = new_empty_forest(COMMON, DENSE_SPEC);
    RUN(f.predict, "float[1,2] 1 0" NONE, "float[1,2] 0 0; string[0]");
    RUN(f.predict, "float[0,2]" NONE, "float[0,2]; string[0]");
    RUN(f.predict, "float[] 1" NONE, "float[0,2]; string[0]");
    RUN(f.traverse, "float[] 1" NONE, "int32[0]");
    free_forest(&f);
}

static void sparse_counts_grow_the_same_tree(void **state)
{
    (void)state;
    static const char *const params[] = {COMMON SPARSE, COMMON FIXED};
    for (size_t i = 0; i < BD_COUNTOF(params); i++) {
        forest f = new_empty_forest(params[i], DENSE_SPEC);
        train(&f, LABELS, leaves_of_classes, finished_of_classes);
        expect(&f, f.serialize, "", 0, model_type,
               TREE(GROWN NODE(ID(3) "leaf { sparse_vector { " ENTRY(0, 1) ENTRY(1, 1) "} } ")
                        NODE(ID(4) "leaf { sparse_vector { " ENTRY(1, 2) "} } ")
                            NODE(ID(5) "leaf { sparse_vector { " ENTRY(0, 1) "} } ")
                                NODE(ID(6) "leaf { sparse_vector { " ENTRY(0, 1) ENTRY(1, 6) "} } ")));
        free_forest(&f);
    }
}

#define SUMS(A, B) "mean_output { " FLOAT(A) FLOAT(B) "} "
#define SQUARES(A, B) "mean_output_squares { " FLOAT(A) FLOAT(B) "} "
#define NOTHING "regression { " SUMS(0, 0) SQUARES(0, 0) "} "
#define TWO_TARGETS "float[8,2] 0 10 0 10 1 9 0 10 1 9 1 9 1 9 1 9"

static void the_least_variance_splits_a_leaf_of_a_regression(void **state)
{
    (void)state;
    static const char *const leaves[] = {"int32[8] 0", "int32[8] 1 2 1 2 1 2 2 2",
                                         "int32[8] 1 3 1 3 1 3 4 4"};
    static const char *const finished[] = {"int32[1] 0", "int32[1] 2", "int32[1] 1"};
    static const char stats[] = "node_to_slot { candidates { split { " MATCHES(
        "\\000\\000\\200?") "} left_stats { regression { " SUMS(1, 9)
        SQUARES(1, 81) "} weight_sum: 1 } } candidates { split { " TEST(
            0, 4) "} left_stats { " NOTHING "} } node_id: 3 post_init_leaf_stats { regression { " SUMS(1, 9)
            SQUARES(
                1,
                81) "} weight_sum: 1 } depth: "
                    "2 } node_to_slot { candidates { split { " TEST(
                        0,
                        7) "} left_stats { " NOTHING
                           "} } candidates { split { " MATCHES(
                               "\\000\\000\\000@") "} left_stats { " NOTHING
                                                   "} } node_id: 4 post_init_leaf_stats { " NOTHING
                                                   "} depth: 2 } node_to_slot { node_id: 5 post_init_leaf_stats { " NOTHING
                                                   "} depth: 2 } node_to_slot { node_id: 6 post_init_leaf_stats { " NOTHING
                                                   "} depth: 2 }";
    forest f = new_empty_forest(COMMON REGRESSION, DENSE_SPEC);
    train(&f, TWO_TARGETS, leaves, finished);
    RUN(f.predict, "float[3,2] 1 0 2 1 5 0" NONE, "float[3,2] 0.5 9.5 1 9 1 9; string[0]");
    expect(&f, f.serialize_stats, "", 0, stats_type, stats);
    set(&f, f.deserialize_stats, stats_type, stats, "");
    expect(&f, f.serialize_stats, "", 0, stats_type, stats);
    RUN(f.finalize, "", "");
    free_forest(&f);
}

static void sparse_features_split_leaves(void **state)
{
    (void)state;
    forest f = new_empty_forest(
        COMMON, "dense_features_size: 0 dense: [] sparse: [{name: x original_type: 0 size: -1}]");
#define SPARSE_BATCH "float[0]; int64[6,2] 0 5 1 5 3 5 4 5 5 5 6 5; float[6] 1 2 3 4 5 6; int64[2] 7 9"
    // The first and the second example make candidates, and the others are counted.
    RUN(f.process, SPARSE_BATCH "; float[7] 0 0 1 0 1 1 1; float[0]; int32[7] 0", "int32[1] 0");
    RUN(f.grow, "int32[1] 0", "");
    expect(&f, f.serialize, "", 0, model_type,
           TREE(NODE(SPLIT(1, 2, TEST(5, 1))) NODE(ID(1) LEAF(0, 1)) NODE(ID(2) LEAF(1, 3))));
    RUN(f.traverse, SPARSE_BATCH, "int32[7] 1 2 1 2 2 2 2");
    RUN(f.traverse, "float[0]; int64[0,2]; float[0]; int64[2] 2 9", "int32[2] 1 1"); // all are 0
    RUN(f.traverse, "float[1,2] 0 0" NONE,
        "InvalidArgument: Example 0 comes to a node of the tree that tests");
    free_forest(&f);
}

// ---- Errors ----

static void inputs_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    forest f = new_empty_forest(COMMON, DENSE_SPEC);
#define PROCESS(DATA, LABELS, LEAVES, WANT) RUN(f.process, DATA "; " LABELS "; float[0]; " LEAVES, WANT)
    PROCESS("float[1,2] 1 0" NONE, "float[1] 2", "int32[1] 0", "InvalidArgument: Got label 2, but");
    PROCESS("float[1,2] 1 0" NONE, "float[1] nan", "int32[1] 0", "InvalidArgument: Got label nan, but");
    PROCESS("float[1,2] 1 0" NONE, "float[] 1", "int32[1] 0",
            "InvalidArgument: input_labels must be a vector or a matrix");
    PROCESS("float[1,2] 1 0" NONE, "float[2] 1 1", "int32[1] 0",
            "InvalidArgument: There are 2 labels for 1 examples");
    PROCESS("float[1,2] 1 0" NONE, "float[1] 1", "int32[2] 0", "InvalidArgument: There are 2 leaf_ids");
    PROCESS("float[1,2] 1 0" NONE, "float[1] 1", "int32[1] -1", "InvalidArgument: leaf_ids has -1");
    PROCESS("float[1,2] 1 0" NONE, "float[1] 1", "int32[1] 9", "int32[0]");
    PROCESS("float[0,2]" NONE, "float[0]", "int32[0]", "int32[0]");
    RUN(f.update, "int32[1] 5; float[1] 0; float[0]", "InvalidArgument: leaf_ids has 5");
    RUN(f.update, "int32[] 0; float[1] 0; float[0]", "InvalidArgument: leaf_ids must be a vector");
    RUN(f.update, "int32[0]; float[0]; float[0]", "");
    RUN(f.update, "int32[1] 0; float[1] 1; float[] 0.5", "");
    RUN(f.grow, "int32[] 0", "InvalidArgument: finished_nodes must be a vector");
    RUN(f.grow, "int32[1] 3", "InvalidArgument: finished_nodes has 3");
    RUN(f.traverse, "float[0]; int64[1,1] 0; float[1] 1; int64[1] 1",
        "InvalidArgument: sparse_input_indices has shape [1,1]");
    RUN(f.traverse, "float[0]; int64[1,2] 0 0; float[] 1; int64[1] 1",
        "InvalidArgument: sparse_input_values must be a vector");
    RUN(f.traverse, "float[0]; int64[1,2] 0 0; float[1] 1; int64[2] -1 2",
        "InvalidArgument: sparse_input_shape has -1 rows");
    RUN(f.finalize, "", "Unimplemented: FinalizeTreeOp is disabled for now.");
    set(&f, f.deserialize, model_type, TREE(NODE(SPLIT(1, 2, TEST(2, 1))) LEAVES), "");
    RUN(f.usage, "", "InvalidArgument: The tree tests feature 2, but num_features is 2");
    set(&f, f.deserialize, model_type, TREE(NODE("leaf { vector { " FLOAT(1) "} } ")), "");
    RUN(f.predict, BATCH NONE, "InvalidArgument: Leaf 0 of the tree has no values for 2 outputs");
    RUN(f.update, "int32[1] 0; float[1] 1; float[0]", "InvalidArgument: Leaf 0 of the tree has no count");
    free_forest(&f);
    f = new_empty_forest("num_outputs: 2 split_after_samples { constant_value: 3 } num_splits_to_consider { "
                         "constant_value: 2 } num_features: 0",
                         DENSE_SPEC);
    RUN(f.usage, "", "int32[0]");
    free_forest(&f);
}

static void statistics_that_do_not_fit_are_refused(void **state)
{
    (void)state;
#define SLOT(...) "node_to_slot { " __VA_ARGS__ " }"
#define COUNTS(...) "classification { dense_counts { " __VA_ARGS__ " } } "
    static const struct {
        const char *text, *want;
    } rows[] = {
        {SLOT("node_id: -1"), "InvalidArgument: There are statistics of node -1"},
        {SLOT("post_init_leaf_stats { }"),
         "InvalidArgument: do not have as many values as there are outputs"},
        {SLOT("post_init_leaf_stats { " COUNTS(FLOAT(1)) "}"), "InvalidArgument: do not have as many values"},
        {SLOT("post_init_leaf_stats { " COUNTS(FLOAT(1) FLOAT(1)) "} candidates { }"),
         "InvalidArgument: have a candidate without a split"},
        {SLOT("post_init_leaf_stats { " COUNTS(FLOAT(1) FLOAT(1)) "} candidates { split { } }"),
         "InvalidArgument: A split has no test"},
        {SLOT("post_init_leaf_stats { " COUNTS(FLOAT(1) FLOAT(1)) "} candidates { split { " TEST(0, 1) "} }"),
         "InvalidArgument: do not have as many values"},
    };
    forest f = new_empty_forest(COMMON, DENSE_SPEC);
    for (size_t i = 0; i < BD_COUNTOF(rows); i++)
        set(&f, f.deserialize_stats, stats_type, rows[i].text, rows[i].want);
    free_forest(&f);
}

static void settings_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *params, *want;
    } rows[] = {
        {"", "InvalidArgument: num_outputs must be in [1, 16777216], got 0"},
        {"num_outputs: -3", "InvalidArgument: num_outputs must be in"},
        {COMMON "leaf_type: MODEL_REGRESSION",
         "InvalidArgument: Leaves of type 2 cannot be made of statistics of type 0"},
        {COMMON "stats_type: STATS_SPARSE_THEN_DENSE_GINI", "InvalidArgument: Unknown grow stats type: 3"},
        {COMMON "collection_type: GRAPH_RUNNER_COLLECTION", "Unimplemented: GRAPH_RUNNER_COLLECTION"},
        {"num_outputs: 2 split_after_samples { constant_value: 3 }",
         "InvalidArgument: unknown parameter type: num_splits_to_consider is not given"},
        {COMMON "finish_type { type: SPLIT_FINISH_DOMINATE_HOEFFDING }",
         "InvalidArgument: dominate_fraction and min_split_samples required for early-finish strategy."},
        {COMMON
         "finish_type { type: SPLIT_FINISH_DOMINATE_HOEFFDING check_every_steps { constant_value: 0 } } "
         "dominate_fraction { constant_value: 0.5 } min_split_samples { constant_value: 1 }",
         "InvalidArgument: finish_type.check_every_steps must be positive"},
        {COMMON "pruning_type { type: SPLIT_PRUNE_HOEFFDING prune_every_samples { constant_value: 1 } } "
                "dominate_fraction { constant_value: 1.5 }",
         "InvalidArgument: Invalid dominate fraction 1.5"},
        {COMMON "leaf_type: MODEL_SPARSE_CLASSIFICATION stats_type: STATS_FIXED_SIZE_SPARSE_GINI",
         "InvalidArgument: num_classes_to_track must be positive, got 0"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        forest f = new_forest(rows[i].params, DENSE_SPEC);
        RUN(f.create_stats, "string[] ''", rows[i].want);
        free_forest(&f);
    }
    static const char *const specs[] = {
        "",
        "dense_features_size: 2",
        "dense_features_size: 2 dense: [{name: x}] sparse: []",
        "dense_features_size: 2 dense: [{name: x original_type: 0 size: 1}] sparse: []",
        "dense_features_size: 1 dense: [{name: x original_type: 7 size: 1}] sparse: []",
        "dense_features_size: 99999999999 dense: [] sparse: []",
    };
    for (size_t i = 0; i < BD_COUNTOF(specs); i++) {
        forest f = new_empty_forest(COMMON, specs[i]);
        RUN(f.traverse, BATCH NONE, "InvalidArgument: input_spec");
        free_forest(&f);
    }
}

static void only_kernels_that_change_no_tree_can_be_interrupted(void **state)
{
    (void)state;
    forest f = new_forest(COMMON, DENSE_SPEC);
    const braid_op *nodes[] = {f.traverse, f.predict, f.process, f.grow, f.update};
    for (size_t i = 0; i < BD_COUNTOF(nodes); i++) {
        BD_STATUS(st);
        const bd_kernel *kernel;
        bd_kernel_find(nodes[i], "CPU", &kernel, st);
        assert_ok(st);
        assert_int_equal((kernel->flags & BD_KERNEL_INTERRUPTIBLE) != 0, i < 2);
    }
    free_forest(&f);
}

// Without a search in each table it takes minutes.
static void the_time_for_statistics_of_many_classes_is_not_quadratic(void **state)
{
    (void)state;
    enum {
        CLASSES = 1 << 18
    };
    forest f = new_empty_forest(FIXED_OF(262144) "num_outputs: 524288 use_running_stats_method: true "
                                                 "split_after_samples { constant_value: 3 } " SPLITS(1),
                                DENSE_SPEC);
    bd_strbuf text = {0};
    bd_strbuf_append(&text, "node_to_slot { post_init_leaf_stats { } candidates { split { " TEST(
                                0, 1) "} left_stats { classification { sparse_counts { ");
    for (int i = 0; i < CLASSES; i++)
        bd_strbuf_appendf(&text, "sparse_value { key: %d } ", i);
    bd_strbuf_append(&text, "} } } } }");
    const int64_t before = bd_thread_time_ns();
    set(&f, f.deserialize_stats, stats_type, bd_strbuf_str(&text), "");
    assert_true(bd_thread_time_ns() - before < INT64_C(30000000000));
    bd_strbuf_fini(&text);
    free_forest(&f);
}

static void the_time_for_dropping_candidates_is_not_quadratic(void **state)
{
    (void)state;
    forest f = new_empty_forest(
        SPARSE "num_outputs: 2 split_after_samples { constant_value: 1000000 } pruning_type { type: "
               "SPLIT_PRUNE_HALF prune_every_samples { constant_value: 1 } } " SPLITS(400000),
        DENSE_SPEC);
    RUN(f.process, "float[400000,2] 1" NONE "; float[400000] 1; float[0]; int32[400000] 0", "int32[0]");
    const int64_t before = bd_thread_time_ns();
    RUN(f.process, "float[1,2] 1" NONE "; float[1] 1; float[0]; int32[1] 0", "int32[0]");
    assert_true(bd_thread_time_ns() - before < INT64_C(15000000000));
    free_forest(&f);
}

// Few bytes of a client make a tree of many outputs.
static void outputs_count_against_the_memory_of_their_client(void **state)
{
    (void)state;
#define MANY "num_outputs: 1000000 num_features: 2 max_nodes: 7 split_after_samples { constant_value: 3 } "
    bd_account *account = bd_account_new("alice", 25000000, 0);
    const bd_account_turn turn = bd_account_enter(account);
    forest f = new_empty_forest(MANY SPLITS(1), DENSE_SPEC);                       // 16 MB, and 4 MB
    RUN(f.process, BATCH NONE "; " LABELS "; float[0]; int32[8] 0", "int32[1] 0"); // 4 MB: a candidate
    RUN(f.grow, "int32[1] 0", "ResourceExhausted: The tree would take 48");
    RUN(f.size, "", "int32[] 1");
    RUN(f.deserialize, "string[] ''", "ResourceExhausted: The tree would take 16");
    RUN(f.deserialize_stats, "string[] ''", "ResourceExhausted: The statistics of a leaf would take 4000000");
    free_forest(&f);
    f = new_empty_forest(MANY SPLITS(3), DENSE_SPEC);
    RUN(f.process, BATCH NONE "; " LABELS "; float[0]; int32[8] 0",
        "ResourceExhausted: The statistics of a leaf would take 12000000");
    free_forest(&f);
    assert_true(bd_account_take(account, 25000000)); // they are gone
    bd_account_give(account, 25000000);
    bd_account_leave(turn);
    bd_account_unref(account);
}

// ---- Leaves that finish early, and candidates that are dropped ----

#define CANDIDATE(FEATURE, A, B)                                                                             \
    "candidates { split { " TEST(FEATURE, 0) "} left_stats { " COUNTS(FLOAT(A) FLOAT(B)) "} } "
// 100 examples of each class, with these on the left of a candidate of feature 0. Feature 1 tells nothing.
#define COUNTED(A, B)                                                                                        \
    SLOT(CANDIDATE(0, A, B) CANDIDATE(1, 50, 50) "post_init_leaf_stats { weight_sum: 200 " COUNTS(           \
        FLOAT(100) FLOAT(100)) "} ")
#define EARLY                                                                                                \
    "num_outputs: 2 num_splits_to_consider { constant_value: 2 } split_after_samples { constant_value: "     \
    "1000000 } dominate_fraction { constant_value: 0.999 } min_split_samples { constant_value: 4 } "

static void a_clear_candidate_finishes_a_leaf_early(void **state)
{
    (void)state;
    static const char *const params[] = {
        EARLY "finish_type { type: SPLIT_FINISH_DOMINATE_HOEFFDING check_every_steps { constant_value: 4 } }",
        EARLY
        "finish_type { type: SPLIT_FINISH_DOMINATE_BOOTSTRAP check_every_steps { constant_value: 4 } }"};
    for (size_t i = 0; i < BD_COUNTOF(params); i++) {
        forest f = new_empty_forest(params[i], DENSE_SPEC);
        set(&f, f.deserialize_stats, stats_type, COUNTED(100, 0), "");
        RUN(f.process, "float[1,2] 0 0" NONE "; float[1] 0; float[0]; int32[1] 0", "int32[1] 0");
        set(&f, f.deserialize_stats, stats_type, COUNTED(51, 50), "");
        RUN(f.process, "float[1,2] 0 0" NONE "; float[1] 0; float[0]; int32[1] 0", "int32[0]");
        free_forest(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_is_created_once),
        cmocka_unit_test(statistics_are_created_once),
        cmocka_unit_test(a_tree_is_what_was_serialized),
        cmocka_unit_test(trees_that_no_way_ends_in_are_refused),
        cmocka_unit_test(any_bytes_are_a_tree_or_an_error),
        cmocka_unit_test(the_purest_candidate_splits_a_leaf),
        cmocka_unit_test(sparse_counts_grow_the_same_tree),
        cmocka_unit_test(the_least_variance_splits_a_leaf_of_a_regression),
        cmocka_unit_test(sparse_features_split_leaves),
        cmocka_unit_test(inputs_that_do_not_fit_are_refused),
        cmocka_unit_test(statistics_that_do_not_fit_are_refused),
        cmocka_unit_test(settings_that_do_not_fit_are_refused),
        cmocka_unit_test(only_kernels_that_change_no_tree_can_be_interrupted),
        cmocka_unit_test(the_time_for_statistics_of_many_classes_is_not_quadratic),
        cmocka_unit_test(the_time_for_dropping_candidates_is_not_quadratic),
        cmocka_unit_test(outputs_count_against_the_memory_of_their_client),
        cmocka_unit_test(a_clear_candidate_finishes_a_leaf_early),
    };
    return BD_RUN_TESTS(tests);
}
