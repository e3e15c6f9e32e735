// Tests of reductions, cumulative ops, ArgMax and ArgMin.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void sum_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Sum", NULL, "float[2,3] 1 2 3 4 5 6; int32[1] 0", "float[3] 5 7 9"},
        {"Sum", NULL, "float[2,3] 1 2 3 4 5 6; int32[1] 1", "float[2] 6 15"},
        {"Sum", NULL, "float[2,3] 1 2 3 4 5 6; int32[2] 0 1", "float[] 21"},
        {"Sum", NULL, "float[1,2,1,1,1,1,1,1,1,2] 1 2 3 4; int32[1] 9", "float[1,2,1,1,1,1,1,1,1] 3 7"},
        {"Sum", NULL, "float[2,3] 1 2 3 4 5 6; int32[] -1", "float[2] 6 15"},
        {"Sum", "keep_dims=true", "float[2,3] 1 2 3 4 5 6; int64[1] 1", "float[2,1] 6 15"},
        {"Sum", "keep_dims=true", "float[2,3] 1 2 3 4 5 6; int32[2] 1 0", "float[1,1] 21"},
        {"Sum", NULL, "float[2,3] 1 2 3 4 5 6; int32[0]", "float[2,3] 1 2 3 4 5 6"},
        {"Sum", NULL, "float[1,3] 1 2 3; int32[1] 0", "float[3] 1 2 3"},
        {"Sum", NULL, "float[] 4; int32[0]", "float[] 4"},
        {"Sum", NULL, "int32[2,2,2] 1 2 3 4 5 6 7 8; int32[1] 1", "int32[2,2] 4 6 12 14"},
        {"Sum", NULL, "int32[2,2,2] 1 2 3 4 5 6 7 8; int32[2] 0 2", "int32[2] 14 22"},
        {"Sum", NULL, "int64[2,2,2] 1 2 3 4 5 6 7 8; int32[2] 0 1", "int64[2] 16 20"},
        {"Sum", "keep_dims=true", "double[2,1,2,3] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] 0 2",
         "double[1,1,1,3] 22 26 30"},
        {"Sum", NULL, "double[2,2,2,2] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; int32[2] 1 3",
         "double[2,2] 14 22 46 54"},
        {"Sum", NULL, "float[0,3]; int32[1] 0", "float[3] 0 0 0"},
        {"Sum", NULL, "float[3,0]; int32[1] 0", "float[0]"},
        {"Sum", NULL, "float[1000] 0.1; int32[1] 0", "float[] 100"},
        {"Sum", NULL, "float[100,7] 0.1; int32[1] 0", "float[7] 10"},
        {"Sum", NULL, "float[7,100] 0.1; int32[1] 1", "float[7] 10"},
        {"Sum", NULL, "float[70000] 0.1; int32[1] 0", "float[] 7000"},
    };
    OP_TEST_VALUES(cases);
}

static void mean_and_product(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Mean", NULL, "float[2,3] 1 2 3 4 5 6; int32[1] 0", "float[3] 2.5 3.5 4.5"},
        {"Mean", NULL, "double[4] 1 2 3 5; int32[1] 0", "double[] 2.75"},
        {"Mean", NULL, "int32[4] 1 2 3 5; int32[1] 0", "int32[] 2"},
        {"Mean", NULL, "float[0,2]; int32[1] 0", "float[2] nan nan"},
        {"Mean", NULL, "int64[0]; int32[1] 0", "int64[] 0"},
        {"Prod", NULL, "float[2,2] 1 2 3 4; int32[1] 1", "float[2] 2 12"},
        {"Prod", NULL, "int32[3] 2 3 4; int32[1] 0", "int32[] 24"},
        {"Prod", NULL, "int32[0]; int32[1] 0", "int32[] 1"},
    };
    OP_TEST_VALUES(cases);
}

static void extremes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Max", NULL, "float[2,3] 1 9 3 -4 -5 -6; int32[1] 1", "float[2] 9 -4"},
        {"Max", NULL, "float[100] -3; int32[1] 0", "float[] -3"},
        {"Max", NULL, "float[0]; int32[1] 0", "float[] -inf"},
        {"Max", NULL, "int32[2,2] 1 9 3 4; int32[1] 0", "int32[2] 3 9"},
        {"Min", NULL, "double[2,3] 1 9 3 -4 -5 -6; int32[1] 1", "double[2] 1 -6"},
        {"Min", NULL, "int64[2] 5 -7; int32[1] 0", "int64[] -7"},
        {"Min", NULL, "int64[0]; int32[1] 0", "int64[] 9223372036854775807"},
    };
    OP_TEST_VALUES(cases);
}

// Max and Min ignore NaN, as Eigen's MaxReducer and MinReducer do.
static void extremes_of_nan_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Max", NULL, "float[3] nan 1 3; int32[1] 0", "float[] 3"},
        {"Max", NULL, "float[2] nan nan; int32[1] 0", "float[] -inf"},
        {"Min", NULL, "double[2,2] nan 1 nan nan; int32[1] 1", "double[2] 1 inf"},
        {"Max", NULL, "float[2,40] nan; int32[1] 0", "float[40] -inf"},
        {"Min", NULL, "half[3] 0x7e00 0x3c00 0x4000; int32[1] 0", "half[] 0x3c00"},
    };
    OP_TEST_VALUES(cases);
}

static void all_and_any_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"All", NULL, "bool[2,2] true true true false; int32[1] 1", "bool[2] true false"},
        {"All", NULL, "bool[0]; int32[1] 0", "bool[] true"},
        {"Any", NULL, "bool[2,2] false true false false; int32[1] 1", "bool[2] true false"},
        {"Any", NULL, "bool[0]; int32[1] 0", "bool[] false"},
        {"All", NULL, "bool[100] true; int32[1] 0", "bool[] true"},
        {"All", NULL, "float[2] 1; int32[1] 0",
         "InvalidArgument: was passed float from Placeholder:0 incompatible with expected bool"},
        {"Any", NULL, "float[2] 1; int32[1] 0",
         "InvalidArgument: was passed float from Placeholder:0 incompatible with expected bool"},
    };
    OP_TEST_VALUES(cases);
}

static void scalars_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Sum", NULL, "float[] 3; int32[0]", "float[] 3"},
        {"Prod", NULL, "float[] 3; int32[0]", "float[] 3"},
        {"Mean", NULL, "float[] 3; int32[0]", "float[] 3"},
        {"Max", NULL, "float[] 3; int32[0]", "float[] 3"},
        {"Min", NULL, "float[] 3; int32[0]", "float[] 3"},
        {"All", NULL, "bool[] true; int32[0]", "bool[] true"},
        {"Any", NULL, "bool[] true; int32[0]", "bool[] true"},
    };
    OP_TEST_VALUES(cases);
}

static void axes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Mean", NULL, "float[2] 1; int32[1] 1",
         "InvalidArgument: Invalid reduction dimension (1 for input with 1 dimension(s)"},
        {"Mean", NULL, "int8[2] 1; int64[1] -2",
         "InvalidArgument: Invalid reduction dimension (-2 for input with 1 dimension(s)"},
        {"Prod", NULL, "int32[2] 1; int32[1] 1",
         "InvalidArgument: Invalid reduction dimension (1 for input with 1 dimension(s)"},
        {"Prod", NULL, "int32[2] 1; int32[] 0", "int32[] 1"},
        {"Max", NULL, "int32[2] 1; int32[1] 1",
         "InvalidArgument: Invalid reduction dimension (1 for input with 1 dimension(s)"},
        {"Max", NULL, "int32[2] 1; int32[] 0", "int32[] 1"},
        {"Min", NULL, "int32[2] 1; int32[1] 1",
         "InvalidArgument: Invalid reduction dimension (1 for input with 1 dimension(s)"},
        {"Min", NULL, "int32[2] 1; int32[] 0", "int32[] 1"},
        {"All", NULL, "bool[2] true; int32[1] 1",
         "InvalidArgument: Invalid reduction dimension (1 for input with 1 dimension(s)"},
        {"All", NULL, "bool[2] true; int32[] 0", "bool[] true"},
        {"Any", NULL, "bool[2] true; int32[1] 1",
         "InvalidArgument: Invalid reduction dimension (1 for input with 1 dimension(s)"},
        {"Any", NULL, "bool[2] true; int32[] 0", "bool[] true"},
        {"Mean", NULL, "double[2] 1 2; int32[] 0", "double[] 1.5"},
        {"Sum", NULL, "float[2,2] 1; int32[1] 2", "InvalidArgument: Invalid reduction dimension"},
        {"Sum", NULL, "float[2,2] 1; int32[1] -3", "InvalidArgument: Invalid reduction dimension"},
        // An axis may be named twice.
        {"Mean", NULL, "float[2,2] 1 2 3 4; int32[2] 1 -1", "float[2] 1.5 3.5"},
        {"Sum", "keep_dims=true", "int32[2,2] 1 2 3 4; int64[3] 0 0 -2", "int32[1,2] 4 6"},
        {"All", NULL, "bool[2] true false; int32[2] 0 0", "bool[] false"},
    };
    OP_TEST_VALUES(cases);
}

static void places_of_extremes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ArgMax", NULL, "float[2,3] 1 9 3 7 5 7; int32[] 1", "int64[2] 1 0"},
        {"ArgMax", "output_type=uint16", "float[2,3] 1 9 3 7 5 7; int16[] 1", "uint16[2] 1 0"},
        {"ArgMax", "output_type=int16", "int64[2,3] 1 9 3 7 5 7; int32[] 1", "int16[2] 1 0"},
        {"ArgMax", NULL, "float[2,3] 1 9 3 7 5 7; int32[] 0", "int64[3] 1 0 1"},
        {"ArgMax", "output_type=int32", "int32[3] 1 9 3; int64[] -1", "int32[] 1"},
        {"ArgMin", NULL, "double[2,3] 1 9 3 7 5 7; int32[] -1", "int64[2] 0 1"},
        {"ArgMin", NULL, "int64[2,2] 5 2 3 4; int32[] 0", "int64[2] 1 0"},
        {"ArgMax", NULL, "float[0,3]; int32[] 1", "int64[0]"},
        {"ArgMax", NULL, "float[3,0]; int32[] 1",
         "InvalidArgument: Reduction axis 1 is empty in shape [3,0]"},
        {"ArgMax", NULL, "float[2] 1 2; int32[] 1",
         "InvalidArgument: Expected dimension in the range [-1, 1), but got 1"},
        {"ArgMin", NULL, "int32[2,0]; int32[] 0", "int64[0]"},
        {"ArgMin", NULL, "half[0]; int32[] 0", "InvalidArgument: Reduction axis 0 is empty in shape [0]"},
        {"ArgMin", NULL, "float[] 1; int32[] 0",
         "InvalidArgument: Expected dimension in the range [0, 0), but got 0"},
        {"ArgMax", NULL, "float[] 1; int32[] 0",
         "InvalidArgument: Expected dimension in the range [0, 0), but got 0"},
        {"ArgMin", NULL, "float[2] 1; int32[1] 0",
         "InvalidArgument: dim must be a scalar, but received tensor of shape: [1]"},
        {"ArgMax", NULL, "float[2] 1; int32[0]",
         "InvalidArgument: dim must be a scalar, but received tensor of shape: [0]"},
        {"ArgMax", NULL, "float[4] nan 1 nan 3; int32[] 0", "int64[] 3"},
        {"ArgMin", NULL, "double[4] nan 1 nan 3; int32[] 0", "int64[] 1"},
        {"ArgMax", NULL, "float[2] nan nan; int32[] 0", "int64[] 0"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Sum", NULL, "[2,3]; int32[1] 0", "[3]"},
        {"Sum", "keep_dims=true", "[2,?]; int32[1] 0", "[1,?]"},
        {"Sum", NULL, "[2,3]; int32[1]", "?"},
        {"Sum", "keep_dims=true", "[2,3]; int32[1]", "[?,?]"},
        {"Mean", NULL, "?; int32[1] 0", "?"},
        {"Sum", NULL, "[2,3]; int32[2,1] 0 1", "InvalidArgument: Shape must be at most rank 1 but is rank 2"},
        {"Sum", NULL, "[2,3]; int32[1] 2",
         "InvalidArgument: Invalid reduction dimension 2 for input with 2 dimensions"},
        {"ArgMax", NULL, "[2,3,4]; int32[] 1", "[2,4]"},
        {"ArgMax", NULL, "[2,3,4]; int32[] -3", "[3,4]"},
        {"ArgMax", NULL, "[2,3,4]; int32[]", "[?,?]"},
        {"ArgMax", NULL, "[2,3]; int32[] 2", "InvalidArgument: Dimension (2) must be in the range [-2, 2)"},
        {"ArgMax", NULL, "[2,3]; int32[1]", "InvalidArgument: Shape must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

// The examples of TensorFlow's documentation of tf.cumsum and tf.cumprod.
static void cumulative_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Cumsum", NULL, "float[3] 1 2 4; int32[] 0", "float[3] 1 3 7"},
        {"Cumsum", "exclusive=true", "float[3] 1 2 4; int32[] 0", "float[3] 0 1 3"},
        {"Cumsum", "reverse=true", "float[3] 1 2 4; int32[] 0", "float[3] 7 6 4"},
        {"Cumsum", "exclusive=true; reverse=true", "float[3] 1 2 4; int32[] 0", "float[3] 6 4 0"},
        {"Cumprod", NULL, "double[3] 2 3 5; int64[] -1", "double[3] 2 6 30"},
        {"Cumprod", "exclusive=true", "double[3] 2 3 5; int64[] 0", "double[3] 1 2 6"},
        {"Cumprod", "exclusive=true; reverse=true", "int64[3] 2 3 5; int32[] 0", "int64[3] 15 5 1"},
        {"Cumsum", NULL, "int32[2,2,2] 1 2 3 4 5 6 7 8; int32[] 1", "int32[2,2,2] 1 2 4 6 5 6 12 14"},
        {"Cumsum", NULL, "int32[2] 2147483647 1; int32[] 0", "int32[2] 2147483647 -2147483648"},
        {"Cumsum", NULL, "float[2,0]; int32[] 0", "float[2,0]"},
        {"Cumprod", NULL, "double[0,2]; int32[] 1", "double[0,2]"},
        {"Cumsum", NULL, "float[] 1; int32[] 0",
         "InvalidArgument: ScanOp: Expected scan axis in the range [0, 0), but got 0"},
        {"Cumsum", NULL, "float[2] 1; int32[0]", "InvalidArgument: ScanOp: axis must be a scalar, not [0]"},
        {"Cumprod", NULL, "float[] 1; int32[] -1",
         "InvalidArgument: ScanOp: Expected scan axis in the range [0, 0), but got -1"},
        {"Cumsum", NULL, "float[2] 1; int32[] 1",
         "InvalidArgument: ScanOp: Expected scan axis in the range [-1, 1), but got 1"},
        {"Cumprod", NULL, "float[2] 1; int32[1] 0",
         "InvalidArgument: ScanOp: axis must be a scalar, not [1]"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"Cumsum", NULL, "[2,?]; int32[]", "[2,?]"},
        {"Cumsum", NULL, "[2,?]; int32[] 2", "[2,?]"}, // the axis is checked by the kernel
    };
    OP_TEST_SHAPES(shapes);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Sum", NULL, "double[2,3] 1 2 3 4 5 6; int32[1] 0"},
        {"Sum", NULL, "double[2,3] 1 2 3 4 5 6; int32[1] -1"},
        {"Sum", NULL, "double[2,3] 1 2 3 4 5 6; int32[2] 0 1"},
        {"Sum", "keep_dims=true", "double[2,2,2] 1 2 3 4 5 6 7 8; int64[2] 0 2"},
        {"Sum", NULL, "double[3] 1 2 3; int32[] 0"},
        {"Mean", NULL, "double[2,3] 1 2 3 4 5 6; int32[1] 0"},
        {"Mean", NULL, "double[2,3] 1 2 3 4 5 6; int32[2] 0 1"},
        {"Mean", NULL, "double[2,3] 1 2 3 4 5 6; int32[3] 0 -2 0"},
        {"Sum", NULL, "double[2,3] 1 2 3 4 5 6; int32[2] 1 1"},
        {"Max", NULL, "double[2,3] 1 9 3 -4 -5 -6; int32[1] 1"},
        {"Min", NULL, "double[2,3] 1 9 3 -4 -5 -6; int32[1] 0"},
        {"Prod", NULL, "double[2,3] 1 2 3 4 5 6; int32[1] 1"},
        {"Prod", NULL, "double[2,3] 1 0 3 0 0 6; int32[2] 0 -1"},
        {"Prod", "keep_dims=true", "double[2,2,2] 1 2 3 4 5 0 7 8; int64[2] 0 2"},
        {"Prod", NULL, "double[3] 1 2 3; int32[] 0"},
        {"Cumsum", NULL, "double[2,3] 1 2 3 4 5 6; int32[] 0"},
        {"Cumsum", "exclusive=true; reverse=true", "double[2,3] 1 2 3 4 5 6; int64[] -1"},
        {"Cumprod", NULL, "double[2,3] 1 2 3 4 5 6; int32[] 1"},
        {"Cumprod", "exclusive=true", "double[4] 1 2 3 4; int32[] 0"},
        {"Cumprod", "reverse=true", "double[2,2,2] 1 2 3 4 5 6 7 8; int32[] 1"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum_follows_its_definition),
        cmocka_unit_test(mean_and_product),
        cmocka_unit_test(extremes_follow_the_definition),
        cmocka_unit_test(extremes_of_nan_follows_its_definition),
        cmocka_unit_test(all_and_any_follow_the_definition),
        cmocka_unit_test(scalars_follow_the_definition),
        cmocka_unit_test(axes_follow_the_definition),
        cmocka_unit_test(places_of_extremes_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(cumulative_follows_its_definition),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
