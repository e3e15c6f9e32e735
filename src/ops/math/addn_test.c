// Tests of AccumulateNV2. Values follow from the definition.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
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
        {"AccumulateNV2", "shape=[2,3]", "?; [2,3]", "[2,3]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {.op = "AccumulateNV2", .attrs = "shape=[2]", .inputs = "double[2] 1 2; double[2] 3 4"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
