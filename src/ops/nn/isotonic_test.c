// Tests of IsotonicRegression. Values computed with numpy by the min-max formula: y[i] is the minimum over a
// <= i of the maximum over b >= i of the mean of x[a..b].
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"IsotonicRegression", "output_dtype=double",
         "double[3,9] 4.75 2.625 -3 4.125 -4 2.75 -1.625 -1.25 5 -4.125 4.5 -3.125 1.625 5 -1.625 0.5 4.625 4.375 3.125 0.875 -1.25 -2.75 -3.875 0.125 2.75 -4.875 -3",
         "double[3,9] 4.75 2.625 0.5625 0.5625 0.17499999999999999 0.17499999999999999 0.17499999999999999 0.17499999999999999 0.17499999999999999 1.3055555555555556 1.3055555555555556 1.3055555555555556 1.3055555555555556 1.3055555555555556 1.3055555555555556 1.3055555555555556 1.3055555555555556 1.3055555555555556 3.125 0.875 -1 -1 -1 -1 -1 -3.9375 -3.9375; int32[3,9] 0 1 2 2 3 3 3 3 3 0 0 0 0 0 0 0 0 0 0 1 2 2 2 2 2 3 3"},
        {"IsotonicRegression", NULL,
         "float[1,2,6] 4.75 -4.375 2.25 -5 5 -4.5 -0.5 1.375 -1.625 -1.125 -4.75 3.5",
         "float[1,2,6] 4.75 -0.53125 -0.53125 -0.53125 -0.53125 -4.5 0.4375 0.4375 -1 -1 -1 -1; int32[1,2,6] 0 1 1 1 1 2 0 0 1 1 1 1"},
        {"IsotonicRegression", "output_dtype=double", "int32[2,7] -16 5 -10 11 0 16 9 15 -10 19 -1 -6 -13 9",
         "double[2,7] 2.1428571428571428 2.1428571428571428 2.1428571428571428 2.1428571428571428 2.1428571428571428 2.1428571428571428 2.1428571428571428 15 4.5 4.5 -1 -3.3333333333333335 -3.3333333333333335 -3.3333333333333335; int32[2,7] 0 0 0 0 0 0 0 0 1 1 2 3 3 3"},
        {"IsotonicRegression", NULL, "int8[8] -14 9 -2 4 -12 -10 12 3",
         "float[8] -0.75 -0.75 -0.75 -0.75 -1.75 -1.75 -1.75 -1.75; int32[8] 0 0 0 0 1 1 1 1"},
        {"IsotonicRegression", "output_dtype=half", "half[3] 0x3c00 0x4200 0x4000",
         "half[3] 0x4000; int32[3] 0 0 1"},
        // Equal neighbors are not pooled.
        {"IsotonicRegression", NULL, "float[4] 2 2 1 1", "float[4] 2 2 1 1; int32[4] 0 1 2 3"},
        {"IsotonicRegression", NULL, "float[] 3", "float[] 3; int32[] 0"},
        {"IsotonicRegression", NULL, "float[0]", "float[0]; int32[0]"},
        {"IsotonicRegression", NULL, "float[4000000000,0]", "float[4000000000,0]; int32[4000000000,0]"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"IsotonicRegression", "output_dtype=int32", "float[2] 1 2", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"IsotonicRegression", NULL, "[?,3]", "[?,3]; [?,3]"},
        {"IsotonicRegression", NULL, "?", "?; ?"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"IsotonicRegression", "output_dtype=double", "double[2,4] 3 1 2 -1 1 2 4 3"},
        {"IsotonicRegression", "output_dtype=double", "double[5] 4 1 2 7 -1"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
