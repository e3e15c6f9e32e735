// Tests of Unique, ListDiff, SparseSegmentSum and AccumulateNV2.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void sets_follow_the_definition(void **state)
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
        {.op = "Unique", .inputs = "int32[] 1", .want = "InvalidArgument: unique expects a 1D vector."},

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

static void sums_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseSegmentSum", NULL, "float[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[3] 0 0 1",
         "float[2,2] 6 8 5 6"},
        {"SparseSegmentSum", NULL, "float[3] 1 2 3; int64[1] 3; int32[1] 0",
         "InvalidArgument: indices[0] == 3 out of range [0, 3)"},
        {"SparseSegmentSum", NULL, "float[3] 1 2 3; int64[2] 1; int32[1] 0",
         "InvalidArgument: segment_ids and indices should have same size."},

        {.op = "AccumulateNV2",
         .attrs = "shape=[2]",
         .inputs = "float[2] 1 2; float[2] 3 4; float[2] 5 6",
         .want = "float[2] 9 12"},
        {"AccumulateNV2", "shape=[]", "float[] 1; float[] 3", "float[] 4"},
        {"AccumulateNV2", "shape=[2,0]", "int32[2,0]; int32[2,0]", "int32[2,0]"},
        {"AccumulateNV2", "shape=[2]", "float[2] 1; float[3] 1",
         "InvalidArgument: must have the same size and shape"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Unique", NULL, "int32[4]", "[?]; [4]"},
        {"ListDiff", NULL, "int32[4]; int32[2]", "[?]; [?]"},
        {"ListDiff", NULL, "int32[4]; int32[]", "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"AccumulateNV2", "shape=[2,3]", "?; [2,3]", "[2,3]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {.op = "SparseSegmentSum", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[3] 0 0 1"},
        {.op = "AccumulateNV2", .attrs = "shape=[2]", .inputs = "double[2] 1 2; double[2] 3 4"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_follow_the_definition),
        cmocka_unit_test(sums_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
