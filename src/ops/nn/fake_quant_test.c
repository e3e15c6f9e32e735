// Tests of FakeQuantWithMinMax* and QuantizeAndDequantize*. Values computed with numpy from the definitions.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void fake_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"FakeQuantWithMinMaxArgs", NULL, "float[10] -7 -6 -1.3 0 0.02 0.03 2.5 5.9 6 8",
         "float[10] -6.02352953 -5.97647047 -1.3176471 0 0 0.0470588244 2.49411774 5.88235283 5.97647047 5.97647047"},
        {"FakeQuantWithMinMaxArgs", "min=-0.1; max=0.7; num_bits=3",
         "float[2,5] -1.75 -1.5 -0.325 0 0.005 0.0075 0.625 1.475 1.5 2",
         "float[2,5] -0.114285715 -0.114285715 -0.114285715 0 0 0 0.571428597 0.685714304 0.685714304 0.685714304"},
        {"FakeQuantWithMinMaxArgs", "min=-1; max=1.75; num_bits=4; narrow_range=true",
         "float[10] -7 -6 -1.3 0 0.02 0.03 2.5 5.9 6 8",
         "float[10] -0.982142806 -0.982142806 -0.982142806 0 0 0 1.76785707 1.76785707 1.76785707 1.76785707"},
        {"FakeQuantWithMinMaxArgs", "min=1; max=3; num_bits=16", "float[4] 0 1.5 2.00001 4",
         "float[4] 0 1.49999237 2 2"},
        {"FakeQuantWithMinMaxArgs", "min=-3; max=-1; num_bits=2", "float[4] -4 -1.9 -0.6 4",
         "float[4] -2 -2 -0.666666687 0"},
        {"FakeQuantWithMinMaxVars", NULL,
         "float[10] -7 -6 -1.3 0 0.02 0.03 2.5 5.9 6 8; float[] -2; float[] 5",
         "float[10] -2.00392151 -2.00392151 -1.29019606 0 0.0274509806 0.0274509806 2.49803925 4.99607849 4.99607849 4.99607849"},
        {"FakeQuantWithMinMaxVarsPerChannel", "num_bits=4",
         "float[4,3] -7 0.0199999996 0.0299999993 -6 0.0299999993 2.5 -1.29999995 2.5 5.9000001 0 5.9000001 6; float[3] -2 0 -4; float[3] 5 3 4",
         "float[4,3] -1.86666667 0 0 -1.86666667 0 2.66666675 -1.39999998 2.60000014 4.26666689 0 3 4.26666689"},
        {"FakeQuantWithMinMaxArgsGradient", "min=-2; max=5",
         "float[10] 1 2 3 4 5 6 7 8 9 10; float[10] -7 -6 -1.3 0 0.02 0.03 2.5 5.9 6 8",
         "float[10] 0 0 3 4 5 6 7 0 0 0"},
        {"FakeQuantWithMinMaxVarsGradient", NULL,
         "float[10] 1 2 3 4 5 6 7 8 9 10; float[10] -7 -6 -1.3 0 0.02 0.03 2.5 5.9 6 8; float[] -2; float[] 5",
         "float[10] 0 0 3 4 5 6 7 0 0 0; float[] 3; float[] 27"},
        {"FakeQuantWithMinMaxVarsPerChannelGradient", NULL,
         "float[4,3] 1 2 3 4 5 6 7 8 9 10 11 12; float[4,3] -7 0.0199999996 0.0299999993 -6 0.0299999993 2.5 -1.29999995 2.5 5.9000001 0 5.9000001 6; float[3] -2 0 -4; float[3] 5 3 4",
         "float[4,3] 0 2 3 0 5 6 7 8 0 10 0 0; float[3] 5 0 0; float[3] 0 11 21"},
        {"FakeQuantWithMinMaxArgs", NULL, "float[2] nan inf", "float[2] nan 5.97647095"},
        {"FakeQuantWithMinMaxArgs", NULL, "float[0,3]", "float[0,3]"},
        {"FakeQuantWithMinMaxArgs", NULL, "float[] 2.5", "float[] 2.49411774"},
        {"FakeQuantWithMinMaxArgsGradient", "min=-2; max=5", "float[] 3; float[] -1.3", "float[] 3"},
        {"FakeQuantWithMinMaxArgsGradient", "min=-2; max=5", "float[2,0]; float[2,0]", "float[2,0]"},
        {"FakeQuantWithMinMaxVars", NULL, "float[] 2.5; float[] -2; float[] 5", "float[] 2.49803925"},
        {"FakeQuantWithMinMaxVars", NULL, "float[2,0]; float[] -2; float[] 5", "float[2,0]"},
        {"FakeQuantWithMinMaxVarsGradient", NULL, "float[] 3; float[] 6; float[] -2; float[] 5",
         "float[] 0; float[] 0; float[] 3"},
        {"FakeQuantWithMinMaxVarsGradient", NULL, "float[0]; float[0]; float[] -2; float[] 5",
         "float[0]; float[] 0; float[] 0"},
        {"FakeQuantWithMinMaxVars", NULL, "float[2] 1 -1; float[] 0; float[] 0", "float[2] 0"},
        {"FakeQuantWithMinMaxVarsGradient", NULL, "float[2] 1 2; float[2] 1 -1; float[] 0; float[] 0",
         "float[2] 1 2; float[] 0; float[] 0"},
        {"FakeQuantWithMinMaxVarsPerChannel", NULL, "float[2] 1 -1; float[2] 0 -2; float[2] 0 2",
         "float[2] 0 -1.00392163"},
        {"FakeQuantWithMinMaxVarsPerChannel", NULL, "float[0,2]; float[2] 0 -2; float[2] 0 2", "float[0,2]"},
        {"FakeQuantWithMinMaxVarsPerChannelGradient", NULL, "float[2,0]; float[2,0]; float[0]; float[0]",
         "float[2,0]; float[0]; float[0]"},
    };
    OP_TEST_VALUES(cases);
}

static void fake_errors_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"FakeQuantWithMinMaxArgs", "min=1; max=1", "float[1] 1",
         "InvalidArgument: min has to be smaller than max, was: 1 >= 1"},
        {"FakeQuantWithMinMaxArgs", "num_bits=1", "float[1] 1",
         "InvalidArgument: num_bits must be between 2 and 16, inclusive"},
        {"FakeQuantWithMinMaxVars", "num_bits=17", "float[1] 1; float[] 0; float[] 1",
         "InvalidArgument: num_bits must be between 2 and 16, inclusive"},
        {"FakeQuantWithMinMaxArgsGradient", NULL, "float[2] 1; float[3] 1",
         "InvalidArgument: gradient and input must be the same size"},
        {"FakeQuantWithMinMaxVarsGradient", NULL, "float[2] 1; float[3] 1; float[] 0; float[] 1",
         "InvalidArgument: gradient and input must be the same size"},
        {"FakeQuantWithMinMaxVars", NULL, "float[1] 1; float[1] 0; float[] 1",
         "InvalidArgument: `min` must be rank 0 but is rank 1"},
        {"FakeQuantWithMinMaxVarsPerChannel", NULL, "float[1,2] 1; float[3] 0; float[2] 1",
         "InvalidArgument: min has incorrect size, expected 2 was 3"},
        {"FakeQuantWithMinMaxVarsPerChannel", NULL, "float[1,2] 1; float[2] 0; float[3] 1",
         "InvalidArgument: max has incorrect size, expected 2 was 3"},
        {"FakeQuantWithMinMaxVarsPerChannel", NULL, "float[] 1; float[1] 0; float[1] 1",
         "InvalidArgument: a scalar"},
        {"FakeQuantWithMinMaxVarsPerChannel", NULL, "float[1] 1; float[] 0; float[1] 1",
         "InvalidArgument: `min` must be rank 1 but is rank 0"},
        {"FakeQuantWithMinMaxVarsPerChannelGradient", NULL, "float[] 1; float[] 1; float[1] 0; float[1] 1",
         "InvalidArgument: a scalar"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"FakeQuantWithMinMaxVars", NULL, "[2,?]; []; []", "[2,?]"},
        {"FakeQuantWithMinMaxVars", NULL, "[2,?]; [1]; []",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"FakeQuantWithMinMaxVarsGradient", NULL, "[2,?]; [?,3]; []; []", "[2,3]; []; []"},
        {"FakeQuantWithMinMaxVarsPerChannel", NULL, "[2,3]; [?]; [3]", "[2,3]"},
        {"FakeQuantWithMinMaxVarsPerChannel", NULL, "[2,3]; [4]; [3]",
         "InvalidArgument: Dimensions must be equal, but are 3 and 4"},
        {"FakeQuantWithMinMaxVarsPerChannelGradient", NULL, "[2,?]; ?; [?]; [3]", "[2,?]; [3]; [3]"},
        {"FakeQuantWithMinMaxVarsPerChannelGradient", NULL, "[1,2,3,4,5]; ?; [?]; [?]",
         "InvalidArgument: Shape must be at most rank 4 but is rank 5"},
    };
    OP_TEST_SHAPES(shapes);
}

static void quantize_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizeAndDequantizeV2", NULL, "float[7] -1 -0.5 0 0.3 0.8 0.555 0.50390625; float[] 0; float[] 0",
         "float[7] -1 -0.5 0 0.296875 0.796875 0.5546875 0.5"},
        {"QuantizeAndDequantizeV2", "range_given=true; num_bits=4",
         "float[7] -1 -0.5 0 0.3 0.8 0.555 0.50390625; float[] -0.7; float[] 0.5",
         "float[7] -0.699999988 -0.524999976 0 0.262499988 0.612500012 0.524999976 0.524999976"},
        {"QuantizeAndDequantizeV2", "range_given=true; num_bits=4; narrow_range=true; round_mode=HALF_UP",
         "float[7] -1 -0.5 0 0.3 0.8 0.555 0.50390625; float[] -0.5; float[] 0.9",
         "float[7] -0.899999976 -0.514285684 0 0.257142842 0.771428525 0.514285684 0.514285684"},
        {"QuantizeAndDequantizeV2", "range_given=true; signed_input=false; num_bits=3; round_mode=HALF_UP",
         "double[4] -1 0.10000000000000001 0.25 0.90000000000000002; double[] 0; double[] 0.7",
         "double[4] 0 0.099999999999999992 0.29999999999999999 0.69999999999999996"},
        {"QuantizeAndDequantizeV3", "range_given=false",
         "float[7] -1 -0.5 0 0.3 0.8 0.555 0.50390625; float[] 0; float[] 0; int32[] 5",
         "float[7] -1 -0.5 0 0.3125 0.8125 0.5625 0.5"},
        {"QuantizeAndDequantize", "range_given=true; input_min=-2; input_max=1; num_bits=6",
         "float[7] -1 -0.5 0 0.3 0.8 0.555 0.50390625", "float[7] -1 -0.5 0 0.3125 0.8125 0.5625 0.5"},
        {"QuantizeAndDequantizeV4", "range_given=true; axis=1; num_bits=4",
         "float[2,2] -1 0.3 0.4 2.2; float[2] -1 -3; float[2] 0.5 1", "float[2,2] -1 0.375 0.375 2.25"},
        {"QuantizeAndDequantizeV4", "axis=0; num_bits=4", "float[2,2] -1 0.3 0.4 2.2; float[2] 0; float[2] 0",
         "float[2,2] -1 0.25 0.314285725 2.20000005"},
        {"QuantizeAndDequantizeV2", NULL, "float[0,2]; float[] 0; float[] 0", "float[0,2]"},
        {"QuantizeAndDequantize", "range_given=true; input_min=-2; input_max=1; num_bits=6", "float[] 0.3",
         "float[] 0.3125"},
        {"QuantizeAndDequantize", NULL, "double[0,2]", "double[0,2]"},
        {"QuantizeAndDequantizeV3", NULL, "float[0]; float[] 0; float[] 1; int32[] 8", "float[0]"},
        {"QuantizeAndDequantizeV3", "range_given=false", "float[] -1; float[] 0; float[] 0; int32[] 5",
         "float[] -1"},
        {"QuantizeAndDequantizeV4", "axis=1", "float[0,2]; float[2] 0; float[2] 1", "float[0,2]"},
        {"QuantizeAndDequantizeV4", "axis=0", "float[1000000000000,0]; float[1] 0; float[1] 0",
         "float[1000000000000,0]"},
        {"QuantizeAndDequantizeV4", "num_bits=4", "float[] -1; float[] 0; float[] 0", "float[] -1"},
        // NaN is ignored when the range is computed, and stays NaN.
        {"QuantizeAndDequantizeV2", NULL, "float[3] nan -1 0.3; float[] 0; float[] 0",
         "float[3] nan -1 0.296875"},
        {"QuantizeAndDequantizeV2", "range_given=true", "float[1] 1; float[] 2; float[] 1",
         "InvalidArgument: Invalid range: input_min 2 > input_max 1"},
        {"QuantizeAndDequantize", "range_given=true; input_min=2; input_max=1", "float[1] 1",
         "InvalidArgument: Invalid range: input_min 2 > input_max 1"},
        {"QuantizeAndDequantizeV2", "num_bits=62", "float[1] 1; float[] 2; float[] 1",
         "InvalidArgument: num_bits is out of range: 62 with signed_input_ 1"},
        {"QuantizeAndDequantizeV3", NULL, "float[1] 1; float[] 0; float[] 1; int32[] 0",
         "InvalidArgument: num_bits is out of range: 0"},
        {"QuantizeAndDequantizeV4", "axis=1", "float[1] 1; float[1] 0; float[1] 1",
         "InvalidArgument: Axis requested is larger than input dimensions. Axis: 1 Input Dimensions: 1"},
        {"QuantizeAndDequantizeV4", "axis=-2", "float[1] 1; float[1] 0; float[1] 1",
         "InvalidArgument: Axis must be at least -1"},
        {"QuantizeAndDequantizeV4", "axis=0; range_given=true", "float[2] 1; float[3] 0; float[2] 1",
         "InvalidArgument: input_min has incorrect size"},
        {"QuantizeAndDequantizeV4Grad", NULL,
         "double[4] 1 2 3 4; double[4] -2 0 1 3; double[] -1; double[] 1",
         "double[4] 0 2 3 0; double[] 0; double[] 0"},
        {"QuantizeAndDequantizeV4Grad", "axis=1",
         "float[2,2] 1 2 3 4; float[2,2] -2 0 1 3; float[2] -1 -1; float[2] 1 2",
         "float[2,2] 0 2 3 0; float[2] 0; float[2] 0"},
        {"QuantizeAndDequantizeV4Grad", NULL, "float[1] 1; float[2] 1; float[] 0; float[] 1",
         "InvalidArgument: gradient and input must be the same size"},
        {"QuantizeAndDequantizeV4Grad", "axis=1", "float[0,2]; float[0,2]; float[2] -1 -1; float[2] 1 2",
         "float[0,2]; float[2] 0; float[2] 0"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"QuantizeAndDequantizeV2", NULL, "[2,?]; []; ?", "[2,?]"},
        {"QuantizeAndDequantizeV3", NULL, "[2,?]; []; ?; int32[1]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"QuantizeAndDequantizeV4", "axis=0", "[2,?]; [2]; ?", "[2,?]"},
        {"QuantizeAndDequantizeV4Grad", "axis=0", "[2,?]; [?,3]; [2]; ?", "[2,3]; [2]; [2]"},
    };
    OP_TEST_SHAPES(shapes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fake_follows_its_definition),
        cmocka_unit_test(fake_errors_follow_the_definition),
        cmocka_unit_test(quantize_follows_its_definition),
    };
    return BD_RUN_TESTS(tests);
}
