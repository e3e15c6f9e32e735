// Tests of Unique, UniqueV2, UniqueWithCounts and ListDiff. Values are numpy's (unique) or follow from the
// definition.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
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
        {"UniqueWithCounts", NULL, "int32[9] 1 1 2 4 4 4 7 8 8",
         "int32[5] 1 2 4 7 8; int32[9] 0 0 1 2 2 2 3 4 4; int32[5] 2 1 3 1 2"},
        {"UniqueWithCounts", "out_idx=int64", "string[3] b a b",
         "string[2] b a; int64[3] 0 1 0; int64[2] 2 1"},
        {"UniqueWithCounts", NULL, "float[0]", "float[0]; int32[0]; int32[0]"},
        {"UniqueWithCounts", NULL, "float[1,1] 1", "InvalidArgument: unique expects a 1D vector."},
        {"UniqueWithCounts", NULL, "float[] 1", "InvalidArgument: unique expects a 1D vector."},
        {"UniqueWithCountsV2", NULL, "int32[0,2]; int64[1] 0", "int32[0,2]; int32[0]; int32[0]"},
        {"UniqueWithCountsV2", "out_idx=int64", "double[0]; int64[0]", "double[0]; int64[0]; int64[0]"},
        {"UniqueWithCountsV2", NULL, "int32[2,2] 1; int64[0]",
         "InvalidArgument: unique expects a 1D vector."},
        {"UniqueWithCountsV2", NULL, "int32[] 1; int64[0]", "InvalidArgument: unique expects a 1D vector."},
        {"UniqueWithCountsV2", NULL, "int32[2] 1; int64[] 0", "InvalidArgument: axis expects a 1D vector."},
        {"UniqueWithCountsV2", NULL, "int32[2] 1; int64[2] 0 1",
         "InvalidArgument: axis does not support input tensors larger than 1 elements"},
        {"UniqueWithCountsV2", NULL, "int32[2] 1; int64[1] 1",
         "InvalidArgument: axis has to be between [0, 1)"},
        {"UniqueV2", NULL, "int32[3,3] 1 0 0 1 0 0 2 0 0; int64[1] 0",
         "int32[2,3] 1 0 0 2 0 0; int32[3] 0 0 1"},
        {"UniqueV2", NULL, "int32[3,3] 1 0 0 1 0 0 2 0 0; int32[1] -1",
         "int32[3,2] 1 0 1 0 2 0; int32[3] 0 1 1"},
        {"UniqueV2", NULL, "float[3] 2 2 nan; int64[0]", "float[2] 2 nan; int32[3] 0 0 1"},
        {"UniqueV2", NULL, "float[2,2] 0 nan -0 nan; int64[1] 1", "float[2,2] 0 nan -0 nan; int32[2] 0 1"},
        {"UniqueV2", NULL, "int32[2,0]; int64[1] 0", "int32[1,0]; int32[2] 0 0"},
        {"UniqueV2", NULL, "int32[0,2]; int64[1] 0", "int32[0,2]; int32[0]"},
        {"UniqueV2", NULL, "int32[2,2] 1; int64[0]", "InvalidArgument: unique expects a 1D vector."},
        {"UniqueV2", NULL, "int32[2] 1; int64[1] 1", "InvalidArgument: "},
        {"UniqueV2", NULL, "int32[2] 1; int64[2] 0 1", "InvalidArgument: "},
        {"UniqueV2", NULL, "int32[2] 1; int64[] 0", "InvalidArgument: "},
        {"UniqueWithCountsV2", NULL, "string[2,2] a b a b; int64[1] 0",
         "string[1,2] a b; int32[2] 0 0; int32[1] 2"},
        {"UniqueWithCountsV2", NULL, "int64[2,1,3] 5 6 5 7 8 7; int32[1] 2",
         "int64[2,1,2] 5 6 7 8; int32[3] 0 1 0; int32[2] 2 1"},
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
        {"UniqueWithCounts", NULL, "[4]", "[?]; [4]; [?]"},
        {"UniqueV2", NULL, "[4,5]; int64[1] 1", "[4,?]; [5]"},
        {"UniqueV2", NULL, "[4,5]; int64[1]", "[?,?]; [?]"},
        {"UniqueV2", NULL, "[4,5]; int64[1] 2", "InvalidArgument: "},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
