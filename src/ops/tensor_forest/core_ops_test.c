// Tests of the TensorForest ops.
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include "proto/text_format.h"
#include "tensorflow/core/kernels/boosted_trees/boosted_trees.pb-c.h"

typedef struct forest {
    op_live *live;
    braid_out tree;
    braid_op *create, *deserialize, *serialize, *size, *predict;
} forest;

// A node over the handle and a placeholder.
static braid_op *use(const forest *f, const char *op, const char *attrs, braid_dtype dtype)
{
    braid_out inputs[2] = {f->tree};
    if (dtype) inputs[1] = op_live_placeholder(f->live, dtype);
    return op_test_node(f->live->graph, op, attrs, inputs, dtype ? 2 : 1);
}

static forest new_forest(void)
{
    forest f = {.live = op_live_new()};
    f.tree.op = op_test_node(f.live->graph, "TensorForestTreeResourceHandleOp", "shared_name=e", NULL, 0);
    f.create = use(&f, "TensorForestCreateTreeVariable", NULL, BRAID_STRING);
    f.deserialize = use(&f, "TensorForestTreeDeserialize", NULL, BRAID_STRING);
    f.serialize = use(&f, "TensorForestTreeSerialize", NULL, BRAID_INVALID);
    f.size = use(&f, "TensorForestTreeSize", NULL, BRAID_INVALID);
    f.predict = use(&f, "TensorForestTreePredict", "logits_dimension=2", BRAID_FLOAT);
    return f;
}

#define RUN(NODE, FEEDS, WANT) op_live_run(f.live, NODE, FEEDS, WANT)

// A tree in text format as a feed; the caller frees it.
static char *feed_of(const char *text)
{
    BD_STATUS(st);
    bd_message wire;
    bd_strbuf out = {0};
    bd_message_init(&wire);
    if (bd_text_format_to_wire(&tensorflow__boosted_trees__tree__descriptor, text, strlen(text), &wire, st))
        fail_msg("%s", braid_status_message(st));
    uint8_t *bytes = bd_malloc(wire.bytes + 1);
    bd_message_gather(&wire, bytes);
    bd_strbuf_appendf(&out, "string[] %s", wire.bytes ? "" : "''");
    for (size_t i = 0; i < wire.bytes; i++)
        bd_strbuf_appendf(&out, "\\x%02x", bytes[i]);
    bd_free(bytes);
    bd_message_fini(&wire);
    return bd_strbuf_take(&out);
}

#define SPLIT(FEATURE, LEFT, RIGHT)                                                                          \
    "nodes { dense_split { feature_id: " #FEATURE " threshold: 2 left_id: " #LEFT " right_id: " #RIGHT " } } "
#define LEAF(A, B) "nodes { leaf { vector { value: [" #A ", " #B "] } } } "

static void a_tree_predicts_by_its_leaves(void **state)
{
    (void)state;
    forest f = new_forest();
    braid_op *is_there = use(&f, "TensorForestTreeIsInitializedOp", NULL, BRAID_INVALID);
    char *feed = feed_of(SPLIT(1, 1, 2) LEAF(1, 2) SPLIT(0, 3, 4) LEAF(3, 4) LEAF(5, 6));
    RUN(is_there, "", "bool[] false");
    RUN(f.size, "", "NotFound: ");
    RUN(f.serialize, "", "NotFound: ");
    RUN(f.deserialize, feed, "NotFound: ");
    RUN(f.predict, "float[1,2] 0", "NotFound: ");
    RUN(f.create, "string[] ''", "");
    RUN(is_there, "", "bool[] true");
    RUN(f.size, "", "int32[] 0");
    RUN(f.predict, "float[1,2] 7", "float[1,2] 0");
    RUN(f.create, feed, "");
    RUN(f.size, "", "int32[] 0");
    RUN(f.deserialize, feed, "");
    RUN(f.size, "", "int32[] 5");
    RUN(f.serialize, "", feed);
    RUN(f.predict, "float[4,2] 0 2 2 3 2.5 3 9 -1", "float[4,2] 1 2 3 4 5 6 1 2");
    RUN(f.predict, "float[0,2]", "float[0,2]");
    RUN(f.predict, "float[1,1] 0", "InvalidArgument: Row 0 cannot pass the tree");
    RUN(f.predict, "float[] 0", "InvalidArgument: dense_features must be a matrix");
    RUN(use(&f, "TensorForestTreePredict", "logits_dimension=3", BRAID_FLOAT), "float[1,2] 0",
        "InvalidArgument: Row 0 cannot pass the tree");
    RUN(use(&f, "TensorForestTreePredict", "logits_dimension=0", BRAID_FLOAT), "float[1,2] 0",
        "InvalidArgument: logits_dimension must be positive");
    BD_STATUS(st);
    const bd_kernel *kernel;
    bd_kernel_find(f.predict, "CPU", &kernel, st);
    assert_true(kernel->flags & BD_KERNEL_INTERRUPTIBLE); // it changes no tree
    bd_free(feed);
    f.tree.op = op_test_node(f.live->graph, "DecisionTreeResourceHandleOp", "shared_name=e", NULL, 0);
    RUN(use(&f, "TensorForestTreeIsInitializedOp", NULL, BRAID_INVALID), "", "InvalidArgument: ");
    op_live_free(f.live);
}

static void trees_that_no_way_ends_in_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {SPLIT(0, 1, 2) LEAF(1, 2), "InvalidArgument: Node 0 of 2 has children 1 and 2"},
        {SPLIT(0, 0, 1) LEAF(1, 2), "InvalidArgument: Node 0 of 2 has children 0 and 1"},
        {SPLIT(0, 1, -1) LEAF(1, 2), "InvalidArgument: Node 0 of 2 has children 1 and -1"},
        {"nodes { bucketized_split { } } ", "InvalidArgument: Node 0 of the tree is neither"},
        {"nodes { } ", "InvalidArgument: Node 0 of the tree is neither"},
    };
    forest f = new_forest();
    RUN(f.create, "string[] rubbish", "InvalidArgument: Unable to parse tree config: ");
    RUN(f.create, "string[0]", "InvalidArgument: Tree config must be a scalar.");
    RUN(f.create, "string[] ''", "");
    RUN(f.deserialize, "string[0]", "InvalidArgument: Tree config must be a scalar.");
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        char *feed = feed_of(rows[i].text);
        RUN(f.deserialize, feed, rows[i].want);
        bd_free(feed);
    }
    RUN(f.size, "", "int32[] 0");
    op_live_free(f.live);
}

static void shapes_follow_from_inputs(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"TensorForestTreePredict", "logits_dimension=3", "var float[2]; [5,2]", "[5,3]"},
        {"TensorForestTreePredict", "logits_dimension=3", "var float[2]; ?", "[?,3]"},
        {"TensorForestTreePredict", "logits_dimension=3", "var float[2]; [5]",
         "InvalidArgument: Shape must be rank 2 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_predicts_by_its_leaves),
        cmocka_unit_test(trees_that_no_way_ends_in_are_refused),
        cmocka_unit_test(shapes_follow_from_inputs),
    };
    return BD_RUN_TESTS(tests);
}
