// What ops on sets of elements and on rows promise: Unique, ListDiff, SegmentSum, the Scatter ops, AccumulateNV2.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void test_sets(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The example of TensorFlow's documentation of tf.unique.
        {.op = "Unique",
         .inputs = "int32[9] 1 1 2 4 4 4 7 8 8",
         .want = "int32[5] 1 2 4 7 8; int32[9] 0 0 1 2 2 2 3 4 4"},
        {.op = "Unique",
         .attrs = "out_idx=int64",
         .inputs = "string[5] b '' a b ''",
         .want = "string[3] b '' a; int64[5] 0 1 2 0 1"},
        {.op = "Unique", .inputs = "float[4] 0 -0 nan nan", .want = "float[3] 0 nan nan; int32[4] 0 0 1 2"},
        {.op = "Unique", .inputs = "int64[0]", .want = "int64[0]; int32[0]"},
        {.op = "Unique", .inputs = "int32[2,1] 1", .want = "InvalidArgument: unique expects a 1D vector."},

        // The example of TensorFlow's documentation of tf.setdiff1d.
        {.op = "ListDiff",
         .inputs = "int32[6] 1 2 3 4 5 6; int32[3] 1 3 5",
         .want = "int32[3] 2 4 6; int32[3] 1 3 5"},
        {.op = "ListDiff", .inputs = "string[3] a b a; string[1] b", .want = "string[2] a a; int32[2] 0 2"},
        {.op = "ListDiff",
         .inputs = "double[3] 0 nan 1; double[3] -0 nan 2",
         .want = "double[2] nan 1; int32[2] 1 2"},
        {.op = "ListDiff", .inputs = "int32[0]; int32[1] 1", .want = "int32[0]; int32[0]"},
        {.op = "ListDiff",
         .inputs = "int32[1] 1; int32[] 1",
         .want = "InvalidArgument: y should be a 1D vector."},
    };
    OP_TEST_VALUES(cases);
}

static void test_sums(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "SegmentSum",
         .inputs = "float[3,2] 1 2 3 4 5 6; int32[3] 0 0 2",
         .want = "float[3,2] 4 6 0 0 5 6"},
        {.op = "SegmentSum", .inputs = "int64[3] 1 2 3; int64[3] 1 1 1", .want = "int64[2] 0 6"},
        {.op = "SegmentSum", .inputs = "float[0,2]; int32[0]", .want = "float[0,2]"},
        {.op = "SegmentSum",
         .inputs = "float[2] 1; int32[2] 1 0",
         .want = "InvalidArgument: segment ids are not increasing"},
        {.op = "SegmentSum",
         .inputs = "float[2] 1; int32[2] -1 0",
         .want = "InvalidArgument: segment ids must be >= 0"},
        {.op = "SegmentSum",
         .inputs = "float[2] 1; int32[3] 0 0 0",
         .want = "InvalidArgument: same size as dimension 0"},
        {.op = "SegmentSum",
         .inputs = "float[2] 1; int64[2] 0 9223372036854775807",
         .want = "InvalidArgument: segment ids must be >= 0"},

        {.op = "AccumulateNV2",
         .attrs = "shape=[2]",
         .inputs = "float[2] 1 2; float[2] 3 4; float[2] 5 6",
         .want = "float[2] 9 12"},
    };
    OP_TEST_VALUES(cases);
}

static void test_scatter(void **state)
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
    };
    OP_TEST_VALUES(cases);
}

static void test_shapes(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Unique", NULL, "int32[4]", "[?]; [4]"},
        {"ListDiff", NULL, "int32[4]; int32[2]", "[?]; [?]"},
        {"ListDiff", NULL, "int32[4]; int32[]", "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"SegmentSum", NULL, "[4,3]; int32[4]", "[?,3]"},
        {"SegmentSum", NULL, "[4,3]; int32[]", "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"ScatterAdd", NULL, "ref float[4,3]; int32[2]; [2,3]", "[4,3]"},
        {"ScatterAdd", NULL, "ref float[4,3]; int32[2]; [2,4]",
         "InvalidArgument: Shapes must be equal, but are [2,4] and [2,3]"},
        {"AccumulateNV2", "shape=[2,3]", "?; [2,3]", "[2,3]"},
    };
    OP_TEST_SHAPES(cases);
}

static void test_gradients(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {.op = "SegmentSum", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 0 0 2"},
        {.op = "UnsortedSegmentSum", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[] 3"},
        {.op = "AccumulateNV2", .attrs = "shape=[2]", .inputs = "double[2] 1 2; double[2] 3 4"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),   cmocka_unit_test(test_sums),      cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_shapes), cmocka_unit_test(test_gradients),
    };
    return BD_RUN_TESTS(tests);
}
