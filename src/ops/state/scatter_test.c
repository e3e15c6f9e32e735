// Tests of updates of parts of tensors: the Scatter and ScatterNd ops, GatherNd, ResourceGather and
// SparseToDense.
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

static void rows_of_references_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ScatterAdd",
         .inputs = "ref float[3,2] 1 2 3 4 5 6; int32[2] 2 0; float[2,2] 10 20 30 40",
         .want = "float[3,2] 31 42 3 4 15 26",
         .after = "float[3,2] 31 42 3 4 15 26"},
        {.op = "ScatterAdd",
         .attrs = "use_locking=true",
         .inputs = "ref int64[2] 1 2; int64[3] 1 1 0; int64[3] 10 20 30",
         .want = "int64[2] 31 32",
         .after = "int64[2] 31 32"},
        {.op = "ScatterSub",
         .inputs = "ref float[3] 1 2 3; int32[] 1; float[] 5",
         .want = "float[3] 1 -3 3",
         .after = "float[3] 1 -3 3"},
        {.op = "ScatterSub",
         .inputs = "ref double[2,2] 1 2 3 4; int32[1] 1; double[] 1",
         .want = "double[2,2] 1 2 2 3",
         .after = "double[2,2] 1 2 2 3"},
        {.op = "ScatterUpdate",
         .inputs = "ref int32[3] 1 2 3; int32[2,1] 0 2; int32[2,1] 7 8",
         .want = "int32[3] 7 2 8",
         .after = "int32[3] 7 2 8"},
        {.op = "ScatterUpdate",
         .attrs = "use_locking=false",
         .inputs = "ref bool[2] true true; int32[1] 0; bool[1] false",
         .want = "bool[2] false true",
         .after = "bool[2] false true"},
        {.op = "ScatterUpdate", .inputs = "ref float[3] 1 2 3; int32[0]; float[0]", .want = "float[3] 1 2 3"},
        {.op = "ScatterMul",
         .inputs = "ref float[3] 1 2 3; int64[2] 2 0; float[2] 10 20",
         .want = "float[3] 20 2 30",
         .after = "float[3] 20 2 30"},
        {.op = "ScatterDiv",
         .inputs = "ref int32[3] 7 -8 -2147483648; int32[3] 0 1 2; int32[3] 2 3 -1",
         .want = "int32[3] 3 -2 -2147483648"},
        {.op = "ScatterDiv", .inputs = "ref float[2] 7 8; int32[1] 0; float[] 0", .want = "float[2] inf 8"},
        {.op = "ScatterMin",
         .inputs = "ref double[3] 1 2 3; int32[2] 0 2; double[2] 5 -5",
         .want = "double[3] 1 2 -5"},
        {.op = "ScatterMax",
         .inputs = "ref double[3] 1 2 3; int32[2] 0 2; double[2] 5 -5",
         .want = "double[3] 5 2 3"},
    };
    OP_TEST_VALUES(cases);
}

static void rows_of_resources_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ResourceScatterAdd",
         .inputs = "var float[3,2] 1 2 3 4 5 6; int32[2] 2 0; float[2,2] 10 20 30 40",
         .want = "",
         .after = "float[3,2] 31 42 3 4 15 26"},
        {.op = "ResourceScatterSub",
         .inputs = "var int64[2] 1 2; int64[2] 1 1; int64[] 10",
         .want = "",
         .after = "int64[2] 1 -18"},
        {.op = "ResourceScatterMul",
         .inputs = "var float[2] 1 2; int32[] 1; float[] 3",
         .want = "",
         .after = "float[2] 1 6"},
        {.op = "ResourceScatterDiv",
         .inputs = "var float[2] 1 2; int32[] 1; float[] 4",
         .want = "",
         .after = "float[2] 1 0.5"},
        {.op = "ResourceScatterMin",
         .inputs = "var int32[2] 1 2; int32[] 1; int32[] -4",
         .want = "",
         .after = "int32[2] 1 -4"},
        {.op = "ResourceScatterMax",
         .inputs = "var int32[2] 1 2; int32[] 1; int32[] 4",
         .want = "",
         .after = "int32[2] 1 4"},
        {.op = "ResourceScatterUpdate",
         .inputs = "var bool[2] true true; int32[] 1; bool[] false",
         .want = "",
         .after = "bool[2] true false"},
    };
    OP_TEST_VALUES(cases);
}

static void rows_refused_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ScatterAdd",
         .inputs = "ref float[3] 1 2 3; int32[2] 0 3; float[2] 1 1",
         .want = "InvalidArgument: indices[1] = 3 is not in [0, 3)"},
        {.op = "ScatterAdd",
         .inputs = "ref float[3] 1 2 3; int32[1] -1; float[1] 1",
         .want = "InvalidArgument: indices[0] = -1 is not in [0, 3)",
         .after = "float[3] 1 2 3"},
        {.op = "ScatterAdd",
         .inputs = "ref float[3,2] 1; int32[1] 0; float[2] 1",
         .want = "InvalidArgument: Must have updates.shape = indices.shape + params.shape[1:]"},
        {.op = "ScatterAdd",
         .inputs = "ref float[] 1; int32[] 0; float[] 1",
         .want = "InvalidArgument: params must be at least 1-D, got shape []"},
        {.op = "ScatterAdd",
         .inputs = "ref float[3]; int32[1] 0; float[1] 1",
         .want = "FailedPrecondition: Attempting to use uninitialized value"},
        {.op = "ScatterDiv",
         .inputs = "ref int64[2] 7 8; int32[2] 0 1; int64[2] 2 0",
         .want = "InvalidArgument: Integer division by zero",
         .after = "int64[2] 7 8"},
        {.op = "ResourceScatterAdd",
         .inputs = "var float[3]; int32[1] 0; float[1] 1",
         .want = "FailedPrecondition: Attempting to use uninitialized value"},
        {.op = "ResourceScatterAdd",
         .inputs = "var float[3] 1 2 3; int32[1] 3; float[1] 1",
         .want = "InvalidArgument: indices[0] = 3 is not in [0, 3)",
         .after = "float[3] 1 2 3"},
    };
    OP_TEST_VALUES(cases);
}

static void words_and_truth_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // Truth values are joined by "or"; strings are put behind each other.
        {"ScatterNd", NULL, "int32[4,1] 4 3 3 1; bool[4] true true false false; int32[1] 5",
         "bool[5] false false false true true"},
        {"ScatterNdNonAliasingAdd", NULL, "bool[3] true false false; int32[2,1] 0 2; bool[2] false true",
         "bool[3] true false true"},
        {"ResourceScatterNdAdd", NULL, "var bool[2] true false; int32[2,1] 0 1; bool[2] false true", "",
         "bool[2] true true"},
        {"ResourceScatterNdSub", NULL, "var bool[2] true false; int32[2,1] 0 1; bool[2] true false", "",
         "bool[2] false false"},
        {"ScatterNd", NULL, "int32[4,1] 4 3 3 1; string[4] a b c one; int32[1] 5",
         "string[5] '' one '' bc a"},
        {"ScatterNd", NULL, "int32[2,1] 1 1; string[2,2] a b c d; int32[2] 2 2", "string[2,2] '' '' ac bd"},
        {"ScatterNd", NULL, "int32[1,1] 2; string[1] a; int32[1] 2",
         "InvalidArgument: does not index into shape [2]"},
        {"ScatterNd", NULL, "int32[1,1] 0; string[2] a b; int32[1] 2", "InvalidArgument: "},
        {"ScatterUpdate", NULL, "ref string[3] a b c; int32[2] 2 0; string[2] x y", "string[3] y b x",
         "string[3] y b x"},
        {"ScatterUpdate", "use_locking=false", "ref string[2,2] a b c d; int32[] 1; string[2] x y",
         "string[2,2] a b x y"},
        {"ResourceScatterUpdate", NULL, "var string[2] a b; int32[1] 1; string[1] x", "", "string[2] a x"},
    };
    OP_TEST_VALUES(cases);
}

// The examples of TensorFlow's documentation of tf.scatter_nd and tf.scatter_nd_add, and others.
static void scattered_slices_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ScatterNd", NULL, "int32[4,1] 4 3 1 7; int32[4] 9 10 11 12; int32[1] 8",
         "int32[8] 0 11 0 10 9 0 0 12"},
        {"ScatterNd", NULL, "int64[2,1] 0 0; float[2,2] 1 2 3 4; int64[2] 2 2", "float[2,2] 4 6 0 0"},
        {"ScatterNd", NULL, "int32[1,0]; float[1,2] 1 2; int32[1] 2", "float[2] 1 2"},
        {"ScatterNd", NULL, "int32[1,2] 0 2; float[1] 1; int32[2] 2 2",
         "InvalidArgument: indices[0] = [0, 2] does not index into shape [2,2]"},
        {"ScatterNd", NULL, "int32[1,3] 0; float[1] 1; int32[2] 2 2", "InvalidArgument: "},
        {"ScatterNd", NULL, "int32[1,1] 0; float[1] 1; int32[2] 2 2", "InvalidArgument: "},
        {"ScatterNd", NULL, "int32[1,1] 0; float[1] 1; int32[1] -1", "InvalidArgument: "},
        {"ScatterNdNonAliasingAdd", NULL, "int32[8] 1 2 3 4 5 6 7 8; int32[4,1] 4 3 1 7; int32[4] 9 10 11 12",
         "int32[8] 1 13 3 14 14 6 7 20"},
        {"ScatterNdAdd", NULL, "ref int32[8] 1 2 3 4 5 6 7 8; int32[4,1] 4 3 1 7; int32[4] 9 10 11 12",
         "int32[8] 1 13 3 14 14 6 7 20", "int32[8] 1 13 3 14 14 6 7 20"},
        {"ScatterNdSub", "use_locking=true", "ref float[2,2] 1 2 3 4; int64[2,2] 0 1 1 0; float[2] 10 20",
         "float[2,2] 1 -8 -17 4", "float[2,2] 1 -8 -17 4"},
        {"ScatterNdUpdate", NULL, "ref bool[2,2] false; int32[1,2] 1 0; bool[1] true",
         "bool[2,2] false false true false"},
        {"ResourceScatterNdAdd", "bad_indices_policy=IGNORE",
         "var float[3] 1 2 3; int32[3,1] 3 1 -1; float[3] 10 20 30", "", "float[3] 1 22 3"},
        {"ScatterNdUpdate", "bad_indices_policy=IGNORE", "ref int32[2] 1 2; int32[2,1] 2 0; int32[2] 10 20",
         "int32[2] 20 2", "int32[2] 20 2"},
        {"ScatterNd", "bad_indices_policy=IGNORE", "int32[2,1] 4 0; float[2] 1 2; int32[1] 3",
         "float[3] 2 0 0"},
        {"ScatterNdMax", NULL, "ref float[3] 1 2 3; int32[3,1] 0 2 0; float[3] 5 1 4", "float[3] 5 2 3",
         "float[3] 5 2 3"},
        {"ScatterNdMin", NULL, "ref int64[3] 1 2 3; int32[3,1] 0 2 0; int64[3] 5 1 4", "int64[3] 1 2 1",
         "int64[3] 1 2 1"},
        {"ResourceScatterNdMax", NULL, "var uint8[2,2] 1 2 3 4; int64[1,1] 1; uint8[1,2] 2 200", "",
         "uint8[2,2] 1 2 3 200"},
        {"ResourceScatterNdMin", "bad_indices_policy=IGNORE",
         "var double[2] 1 2; int32[2,1] 1 2; double[2] -1 -1", "", "double[2] 1 -1"},
        {"ResourceScatterNdAdd", NULL, "var float[2,2] 1 2 3 4; int32[1,1] 1; float[1,2] 10 20", "",
         "float[2,2] 1 2 13 24"},
        {"ResourceScatterNdSub", NULL, "var float[2] 1 2; int32[1,1] 1; float[1] 10", "", "float[2] 1 -8"},
        {"ResourceScatterNdUpdate", NULL, "var int64[2,1] 1 2; int32[1,1] 1; int64[1,1] 7", "",
         "int64[2,1] 1 7"},
    };
    OP_TEST_VALUES(cases);
}

// The examples of tf.gather_nd, and others.
static void gathered_slices_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"GatherNd", NULL, "string[2,2] a b c d; int32[2,2] 0 0 1 1", "string[2] a d"},
        {"GatherNd", NULL, "float[2,2] 1 2 3 4; int64[2,1] 1 0", "float[2,2] 3 4 1 2"},
        {"GatherNd", NULL, "float[2,2,2] 1 2 3 4 5 6 7 8; int32[2,1,2] 0 1 1 0", "float[2,1,2] 3 4 5 6"},
        {"GatherNd", NULL, "float[2] 1 2; int32[0,1]", "float[0]"},
        {"GatherNd", "bad_indices_policy=IGNORE", "float[2,2] 1 2 3 4; int32[3,1] 1 5 -1",
         "float[3,2] 3 4 0 0 0 0"},
        {"GatherNd", "bad_indices_policy=IGNORE", "string[2] a b; int64[2,1] 1 2", "string[2] b ''"},
        {"GatherNd", "bad_indices_policy=ERROR", "float[2] 1 2; int32[1,1] 2",
         "InvalidArgument: indices[0] = [2]"},
        {"GatherNd", "bad_indices_policy=SKIP", "float[2] 1 2; int32[1,1] 0",
         "InvalidArgument: Unknown bad_indices_policy 'SKIP'"},
        {"GatherNd", NULL, "uint8[3] 1 2 200; int16[2,1] 2 0", "uint8[2] 200 1"},
        {"GatherV2", NULL, "string[3] a b c; int16[2] 2 0; int32[] 0", "string[2] c a"},
        {"GatherNd", NULL, "float[2] 1 2; int32[1,1] 2",
         "InvalidArgument: indices[0] = [2] does not index into param shape [2]"},
        {"GatherNd", NULL, "float[2] 1 2; int32[] 1", "InvalidArgument: "},
        {"ResourceGather", "dtype=float", "var float[3,2] 1 2 3 4 5 6; int32[2,1] 2 0",
         "float[2,1,2] 5 6 1 2", "float[3,2] 1 2 3 4 5 6"},
        {"ResourceGather", "dtype=float", "var float[3,2] 1 2 3 4 5 6; int32[] 1", "float[2] 3 4"},
        {"ResourceGather", "dtype=float", "var float[3,2] 1 2 3 4 5 6; int32[0]", "float[0,2]"},
        {"ResourceGather", "dtype=float", "var float[3,2] 1 2 3 4 5 6; int64[1] 3",
         "InvalidArgument: indices[0] = 3 is not in [0, 3)"},
        {"ResourceGather", "dtype=float", "var float[3,2]; int64[1] 3",
         "FailedPrecondition: uninitialized value"},
    };
    OP_TEST_VALUES(cases);
}

static void sparse_to_dense_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseToDense", NULL, "int32[] 2; int32[1] 4; float[] 7; float[] 0", "float[4] 0 0 7 0"},
        {"SparseToDense", NULL, "int32[0,2]; int32[2] 2 1; float[0]; float[] 1", "float[2,1] 1 1"},
        {"SparseToDense", NULL, "int32[0,2]; int32[2] 0 3; bool[0]; bool[] true", "bool[0,3]"},
        {"SparseToDense", NULL, "int64[0]; int64[1] 2; uint8[] 5; uint8[] 1", "uint8[2] 1 1"},
        {"SparseToDense", NULL, "int64[2] 0 3; int64[1] 4; string[2] a b; string[] ''",
         "string[4] a '' '' b"},
        {"SparseToDense", NULL, "int32[2,2] 0 1 1 0; int32[2] 2 2; int32[] 1; int32[] -1",
         "int32[2,2] -1 1 1 -1"},
        {"SparseToDense", NULL, "int32[2] 3 0; int32[1] 4; float[2] 1 2; float[] 0",
         "InvalidArgument: indices[1] = [0] is out of order"},
        {"SparseToDense", NULL, "int32[2] 3 3; int32[1] 4; float[2] 1 2; float[] 0",
         "InvalidArgument: indices[1] = [3] is repeated"},
        {"SparseToDense", "validate_indices=false", "int32[2] 3 0; int32[1] 4; float[2] 1 2; float[] 0",
         "float[4] 2 0 0 1"},
        {"SparseToDense", NULL, "int32[1] 4; int32[1] 4; float[1] 1; float[] 0",
         "InvalidArgument: indices[0] = [4] is out of bounds: need 0 <= index < [4]"},
        {"SparseToDense", NULL, "int32[2,1] 0 1; int32[2] 4 4; float[2] 1; float[] 0", "InvalidArgument: "},
        {"SparseToDense", NULL, "int32[2] 0 1; int32[1] 4; float[3] 1; float[] 0", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"ScatterAdd", NULL, "ref float[4,3]; int32[2]; [2,3]", "[4,3]"},
        {"ScatterAdd", NULL, "ref float[4,3]; int32[2]; [2,4]",
         "InvalidArgument: Shapes must be equal, but are [2,4] and [2,3]"},
        {"ResourceScatterAdd", NULL, "var float[4,3]; int32[2]; [2,4]",
         "InvalidArgument: Shapes must be equal, but are [2,4] and [2,3]"},
        {"ScatterNdAdd", NULL, "ref float[4,3]; int32[5,1]; [5,?]", "[4,3]"},
        {"ScatterNdAdd", NULL, "ref float[4,3]; int32[5,1]; [5,4]", "InvalidArgument: "},
        {"ScatterNdAdd", NULL, "ref float[4,3]; int32[5,3]; ?", "[4,3]"},
        {"ScatterNd", NULL, "int32[5,1]; [5,3]; int32[2] 4 3", "[4,3]"},
        {"ScatterNd", NULL, "int32?; ?; int32[2]", "[?,?]"},
        {"ScatterNd", NULL, "int32[5,1]; [5,2]; int32[2] 4 3", "InvalidArgument: "},
        {"ScatterNdNonAliasingAdd", NULL, "[4,3]; int32[5,2]; [5]", "[4,3]"},
        {"GatherNd", NULL, "[4,?,6]; int32[?,7,1]", "[?,7,?,6]"},
        {"GatherNd", NULL, "[4,5]; int32[2,3]", "InvalidArgument: "},
        {"GatherNd", NULL, "[4,5]; int32[2,?]", "?"},
        {"ResourceGather", "dtype=float", "var float[4,5]; int32[2]", "[2,5]"},
        {"SparseToDense", NULL, "int32[2,2]; int32[2] 4 3; []; []", "[4,3]"},
        {"SparseToDense", NULL, "int64?; int64[3]; []; []", "[?,?,?]"},
        {"SparseToDense", NULL, "int32[2,2]; int32[]; []; []", "InvalidArgument: "},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"GatherNd", NULL, "double[3,2] 1 2 3 4 5 6; int32[3,1] 2 0 2"},
        {"ScatterNd", NULL, "int32[3,1] 2 0 2; double[3,2] 1 2 3 4 5 6; int32[2] 3 2"},
        {"ScatterNdNonAliasingAdd", NULL, "double[3,2] 1 2 3 4 5 6; int64[2,2] 2 0 2 0; double[2] 7 8"},
        {"SparseToDense", NULL, "int32[2,2] 0 1 1 0; int32[2] 2 2; double[2] 3 4; double[] -1"},
        {"SparseToDense", NULL, "int32[2] 0 3; int32[1] 4; double[2] 3 4; double[] -1"},
        {"SparseToDense", NULL, "int64[2] 0 3; int64[1] 4; double[2] 3 1; double[] -1"},
        {"SparseToDense", NULL, "int32[] 2; int32[1] 4; double[] 3; double[] -1"},
    };
    OP_TEST_GRADIENTS(cases);
}

// The gradient of the whole variable, from that of the rows that were read.
static void the_gradient_of_a_gather_is_scattered(void **state)
{
    (void)state;
    BD_STATUS(st);
    op_live *l = op_live_new();
    braid_op_desc *d = braid_op_begin(l->graph, "VarHandleOp", "v");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(3, 2));
    braid_out v = braid_op_end_out(d), fed[3], grad;
    const braid_dtype types[3] = {BRAID_FLOAT, BRAID_INT32, BRAID_FLOAT};
    for (int i = 0; i < 3; i++) {
        d = braid_op_begin(l->graph, "Placeholder", NULL);
        braid_op_attr_type(d, "dtype", types[i]);
        if (i == 1) braid_op_attr_shape(d, "shape", BRAID_SHAPE(3)); // otherwise it is requested twice
        fed[i] = braid_op_end_out(d);
    }
    braid_op *assign = op_test_node(l->graph, "AssignVariableOp", NULL, (braid_out[]){v, fed[0]}, 2);
    braid_out rows = {op_test_node(l->graph, "ResourceGather", "dtype=float", (braid_out[]){v, fed[1]}, 2),
                      0};
    braid_gradients(l->graph, &rows, 1, &v, 1, &fed[2], &grad);
    assert_int_equal(braid_graph_status(l->graph, st), BRAID_OK);
    op_live_run(l, assign, "float[3,2] 0", "");
    op_live_run(l, grad.op, "float[3,2] 1 2 3 4 5 6; int32[3] 2 0 2", "float[3,2] 3 4 0 0 6 8");
    op_live_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_references_follow_the_definition),
        cmocka_unit_test(rows_of_resources_follow_the_definition),
        cmocka_unit_test(rows_refused_follows_its_definition),
        cmocka_unit_test(words_and_truth_follow_the_definition),
        cmocka_unit_test(scattered_slices_follow_the_definition),
        cmocka_unit_test(gathered_slices_follow_the_definition),
        cmocka_unit_test(sparse_to_dense_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(the_gradient_of_a_gather_is_scattered),
    };
    return BD_RUN_TESTS(tests);
}
