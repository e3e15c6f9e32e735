// What ops on sets of elements and on rows promise: Unique, ListDiff, SegmentSum, AccumulateNV2.
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
         .want = "InvalidArgument: Segment id -1 out of range [0, 1)"},
        {.op = "SegmentSum",
         .inputs = "float[2] 1; int32[3] 0 0 0",
         .want = "InvalidArgument: same size as dimension 0"},
        {.op = "SegmentSum",
         .inputs = "float[2] 1; int64[2] 0 9223372036854775807",
         .want = "InvalidArgument: segment ids must be >= 0"},

        {"SegmentMean", NULL, "float[4,2] 1 2 3 4 5 6 7 9; int64[4] 0 0 2 2", "float[3,2] 2 3 0 0 6 7.5"},
        {"SegmentMean", NULL, "int32[2] 1 4; int32[2] 0 0", "int32[1] 2"},
        {"SegmentProd", NULL, "double[3] 2 3 4; int32[3] 0 0 2", "double[3] 6 1 4"},
        {"SegmentMin", NULL, "int64[4] 5 -3 7 2; int32[4] 0 0 2 2", "int64[3] -3 0 2"},
        {"SegmentMax", NULL, "float[4] -5 -3 7 2; int32[4] 0 0 2 2", "float[3] -3 0 7"},
        {"SegmentMax", NULL, "float[2] 1; int32[2] 1 0", "InvalidArgument: segment ids are not increasing"},
        {"UnsortedSegmentProd", NULL, "float[4] 2 3 4 5; int32[4] 2 0 2 -1; int32[] 3", "float[3] 3 1 8"},
        {"UnsortedSegmentMin", NULL, "int32[3] 5 -3 7; int64[3] 1 1 1; int32[] 2", "int32[2] 2147483647 -3"},
        {"UnsortedSegmentMax", NULL, "double[3] 5 -3 7; int64[3] 1 1 1; int32[] 2",
         "double[2] -1.7976931348623157e308 7"},
        {"UnsortedSegmentMax", NULL, "float[2] 5 -3; int32[2] 0 1; int32[] 1",
         "InvalidArgument: segment_ids[1] = 1 is out of range [0, 1)"},
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
        {"AccumulateNV2", "shape=[2,3]", "?; [2,3]", "[2,3]"},
    };
    OP_TEST_SHAPES(cases);
}

static void test_gradients(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {.op = "SegmentSum", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 0 0 2"},
        {.op = "SegmentMean", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 0 0 1"},
        {.op = "SegmentMin", .inputs = "double[3,2] 1 2 3 -4 5 6; int32[3] 0 0 1"},
        {.op = "SegmentMax", .inputs = "double[3,2] 1 2 3 -4 5 6; int32[3] 0 0 1"},
        {.op = "UnsortedSegmentMax", .inputs = "double[3,2] 1 2 3 -4 5 6; int32[3] 1 0 1; int32[] 2"},
        {.op = "UnsortedSegmentMin", .inputs = "double[4] 1 5 3 2; int32[4] 1 0 1 0; int32[] 2"},
        {.op = "UnsortedSegmentProd", .inputs = "double[3,2] 2 3 0 5 4 0; int32[3] 1 0 1; int32[] 2"},
        {.op = "SparseSegmentSum", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[3] 0 0 1"},
        // Of rows that are dropped there is none.
        {.op = "UnsortedSegmentSum", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 2 -1 0; int32[] 3"},
        {.op = "UnsortedSegmentSum", .inputs = "double[2,2] 1 2 3 4; int64[2,2] 1 -1 -5 1; int32[] 2"},
        {.op = "UnsortedSegmentMax", .inputs = "double[4,2] 1 2 0 -4 5 6 3 7; int32[4] 1 -1 1 0; int32[] 2"},
        {.op = "UnsortedSegmentMin", .inputs = "double[4] 1 5 0 2; int32[4] 1 0 -1 0; int32[] 2"},
        {.op = "UnsortedSegmentProd", .inputs = "double[4] 2 3 0 5; int32[4] 1 0 -1 1; int32[] 2"},
        {.op = "UnsortedSegmentSum", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[] 3"},
        {.op = "AccumulateNV2", .attrs = "shape=[2]", .inputs = "double[2] 1 2; double[2] 3 4"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_gradients),
    };
    return BD_RUN_TESTS(tests);
}
