// Tests of quotients and products without NaN, Xlogy, Atan2, NextAfter, bitwise ops, ClipByValue and
// LeakyRelu. Values are numpy's, or follow from the definition.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void pairs_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DivNoNan", NULL, "float[4] 1 -6 0 inf; float[4] 2 0 0 0", "float[4] 0.5 0 0 0"},
        {"DivNoNan", NULL, "double[2,1] 6 -3; double[2] 3 0", "double[2,2] 2 0 -1 0"},
        {"DivNoNan", NULL, "float[1] nan; float[2] 1 0", "float[2] nan 0"},
        {"DivNoNan", NULL, "float[0]; float[]  3", "float[0]"},
        {"DivNoNan", NULL, "float[2] 1; float[3] 1", "InvalidArgument: Incompatible shapes: [2] vs. [3]"},
        {"MulNoNan", NULL, "float[4] 3 inf nan -inf; float[4] 2 0 0 -1", "float[4] 6 0 0 inf"},
        {"MulNoNan", NULL, "double[2] inf 2; double[] 0", "double[2] 0 0"},
        {"Xdivy", NULL, "double[4] 0 0 1 3; double[4] 0 nan 0 1.5", "double[4] 0 0 inf 2"},
        {"Xlogy", NULL, "double[4] 0.5 -2 0 0; double[4] 3 0.25 0 nan",
         "double[4] 0.5493061443340549 2.772588722239781 0 0"},
        {"Xlogy", NULL, "float[2] 1 0; float[] 0", "float[2] -inf 0"},
        // numpy: the logarithm rounded to half, times x
        {"Xlogy", NULL, "half[4] 0x4300 0xc500 0x4f80 0; half[4] 0x4300 0x4400 0x4000 0",
         "half[4] 0x4463 0xc6ef 0x4d33 0"},
        {"DivNoNan", NULL, "complex64[2] 4+2j 1j; complex64[2] 2j 0", "complex64[2] 1-2j 0"},
        {"MulNoNan", NULL, "complex128[2] 4+2j 1j; complex128[1] 2j", "complex128[2] -4+8j -2"},
        {"Xdivy", NULL, "complex128[2] 4+2j 0; complex128[2] 2j 0", "complex128[2] 1-2j 0"},
        {"Xlog1py", NULL, "double[3] 0 2 3; double[3] -1 -0.5 2",
         "double[3] 0 -1.3862943611198906 3.295836866004329"},
        {"Xlog1py", NULL, "float[2,1] 0 1; float[2] 1 nan", "float[2,2] 0 0 0.6931472 nan"},
        {"Xlog1py", NULL, "complex128[2] 2 0; complex128[2] 1j -1",
         "complex128[2] 0.6931471805599453+1.5707963267948966j 0"},
        {"Xlog1py", NULL, "complex64[1] 1j; complex64[1] 1e-9", "complex64[1] 1e-9j"},
        {"Xlogy", NULL, "complex128[2] 2 0; complex128[2] 1j 0", "complex128[2] 3.141592653589793j 0"},
        {"Atan2", NULL, "double[4] 1 -2.5 0 3; double[4] 0.5 4 -1 -7.25",
         "double[4] 1.1071487177940904 -0.5585993153435624 3.141592653589793 2.7492525093742772"},
        {"Atan2", NULL, "float[2,1] 0 1; float[2] 1 -1", "float[2,2] 0 3.14159265 0.785398163 2.35619449"},
        {"NextAfter", NULL, "double[4] 1 -1 0 2; double[4] 2 -2 1 2",
         "double[4] 0x1.0000000000001p+0 -0x1.0000000000001p+0 0x1p-1074 2"},
        {"NextAfter", NULL, "float[3] 1 0 nan; float[3] 0 -1 1", "float[3] 0x1.fffffep-1 -0x1p-149 nan"},
        {"ApproximateEqual", NULL, "float[4] 1 1 inf nan; float[4] 1.000001 1.1 inf nan",
         "bool[4] true false false false"},
        {"ApproximateEqual", "tolerance=2", "int32[4] 1 5 -7 -2147483648; int32[4] 3 2 -7 2147483647",
         "bool[4] true false true true"},
        {"ApproximateEqual", "tolerance=inf", "int32[2] 1 7; int32[2] 3 7", "bool[2] true true"},
        {"ApproximateEqual", "tolerance=1e30", "int64[2] 1 7; int64[2] 3 7", "bool[2] true true"},
        {"ApproximateEqual", "tolerance=-1e30", "int64[2] 1 7; int64[2] 3 7", "bool[2] false false"},
        {"ApproximateEqual", "tolerance=nan", "int32[2] 1 7; int32[2] 3 7", "bool[2] false false"},
        {"ApproximateEqual", "tolerance=0.5", "double[2] 1 1; double[2] 1.5 0.25", "bool[2] true false"},
        {"ApproximateEqual", NULL, "int64[0]; int64[0]", "bool[0]"},
        {"ApproximateEqual", NULL, "float[2] 1; float[] 1", "InvalidArgument: of the same shape"},
    };
    OP_TEST_VALUES(cases);
}

static void bits_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BitwiseAnd", NULL, "int32[3] 12 -1 7; int32[3] 10 255 -8", "int32[3] 8 255 0"},
        {"BitwiseAnd", NULL, "uint8[2,1] 255 15; uint8[2] 240 60", "uint8[2,2] 240 60 0 12"},
        {"BitwiseOr", NULL, "int64[2] 12 4294967296; int64[] 3", "int64[2] 15 4294967299"},
        {"BitwiseOr", NULL, "uint64[1] 9223372036854775808; uint64[1] 1", "uint64[1] 9223372036854775809"},
        {"BitwiseXor", NULL, "int16[2] 12 -1; int16[2] 10 1", "int16[2] 6 -2"},
        {"BitwiseXor", NULL, "uint32[2] 4294967295 1; uint32[2] 1 1", "uint32[2] 4294967294 0"},
        {"BitwiseXor", NULL, "int8[2] 1; int8[3] 1", "InvalidArgument: Incompatible shapes"},
        // Shift counts beyond the bits of the type are limited to the last bit.
        {"LeftShift", NULL, "int32[5] 1 -1 3 1 1; int32[5] 3 4 -2 31 40",
         "int32[5] 8 -16 3 -2147483648 -2147483648"},
        {"LeftShift", NULL, "uint8[3] 255 1 1; uint8[3] 4 7 200", "uint8[3] 240 128 128"},
        {"RightShift", NULL, "int32[4] -16 16 -1 5; int32[4] 2 2 100 -3", "int32[4] -4 4 -1 5"},
        {"RightShift", NULL, "uint16[2] 65535 8; uint16[] 3", "uint16[2] 8191 1"},
        {"Invert", NULL, "int8[3] 0 -1 5", "int8[3] -1 0 -6"},
        {"Invert", NULL, "uint16[2] 0 65535", "uint16[2] 65535 0"},
        {"PopulationCount", NULL, "int32[4] 0 1 -1 255", "uint8[4] 0 1 32 8"},
        {"PopulationCount", NULL, "int8[2] -1 3", "uint8[2] 8 2"},
        {"PopulationCount", NULL, "uint64[] 18446744073709551615", "uint8[] 64"},
        {"PopulationCount", NULL, "int64[0,2]", "uint8[0,2]"},
    };
    OP_TEST_VALUES(cases);
}

static void bounds_and_slopes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ClipByValue", NULL, "float[5] -3 0.5 9 nan inf; float[] -1; float[] 2", "float[5] -1 0.5 2 nan 2"},
        {"ClipByValue", NULL, "int32[2,2] 1 2 3 4; int32[2,2] 2 0 0 0; int32[2,2] 3 3 1 5",
         "int32[2,2] 2 2 1 4"},
        {"ClipByValue", NULL, "int64[3] 1 5 9; int64[] 2; int64[3] 9 3 4", "int64[3] 2 3 4"},
        {"ClipByValue", NULL, "uint8[3] 1 5 9; uint8[3] 0 6 7; uint8[] 8", "uint8[3] 1 6 8"},
        {"ClipByValue", NULL, "double[2] 1 5; double[] 3; double[] 2", "double[2] 3 3"},
        {"ClipByValue", NULL, "float[0,2]; float[] 0; float[] 1", "float[0,2]"},
        {"ClipByValue", NULL, "double[] 5; double[] 0; double[] 1", "double[] 1"},
        {"ClipByValue", NULL, "half[3] 0xbc00 0x3c00 0x4400; half[] 0; half[] 0x4000",
         "half[3] 0 0x3c00 0x4000"},
        {"ClipByValue", NULL, "float[2] 1; float[1] 0; float[] 1",
         "InvalidArgument: must be either of the same shape as input, or a scalar"},
        {"LeakyRelu", NULL, "float[4] -1 0 2 nan", "float[4] -0.2 0 2 nan"},
        {"LeakyRelu", NULL, "half[2] 0xc200 0xc700", "half[2] 0xb8cc 0xbd99"}, // alpha is rounded to half
        {"LeakyRelu", "alpha=3", "double[2] -1 2", "double[2] -3 2"},
        {"LeakyReluGrad", NULL, "float[3] 5 6 7; float[3] -1 0 2", "float[3] 1 1.2 7"},
        {"LeakyReluGrad", "alpha=0.5", "double[2] 4 8; double[2] 1 -1", "double[2] 4 4"},
        {"LeakyReluGrad", NULL, "float[2] 1; float[3] 1", "InvalidArgument: g and a must be the same size"},
        {"Selu", NULL, "double[4] -2 -0.5 0 1.5",
         "double[4] -1.5201664685956948 -0.6917581878028713 0 1.57605148103322"},
        {"SeluGrad", NULL, "float[2] 2 2; float[2] -1 1", "float[2] 1.5161987 2.101402"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"DivNoNan", NULL, "[2,1]; [3]", "[2,3]"},
        {"Atan2", NULL, "[2]; [3]", "InvalidArgument: "},
        {"ApproximateEqual", NULL, "[2,?]; [?,3]", "[2,3]"},
        {"ApproximateEqual", NULL, "[2]; [3]", "InvalidArgument: "},
        {"Xlog1py", NULL, "[2,1]; [3]", "[2,3]"},
        {"Xlog1py", NULL, "[2]; [3]", "InvalidArgument: Dimensions must be equal, but are 2 and 3"},
        {"BitwiseAnd", NULL, "int32[2,1]; int32[?]", "[2,?]"},
        {"PopulationCount", NULL, "int32[2,?]", "[2,?]"},
        {"ClipByValue", NULL, "[2,?]; []; []", "[2,?]"},
        {"LeakyReluGrad", NULL, "[2]; [3]", "InvalidArgument: "},
        {"Selu", NULL, "[2,?]", "[2,?]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"DivNoNan", NULL, "double[2,1] 6 -3; double[2] 3 2"},
        {"MulNoNan", NULL, "double[2,1] 6 -3; double[2] 3 2"},
        {"Xdivy", NULL, "double[2,1] 6 -3; double[2] 3 2"},
        {"Xlogy", NULL, "double[2,1] 6 -3; double[2] 3 2"},
        {"Xlog1py", NULL, "double[2,1] 6 -3; double[2] 3 2"},
        {"Xlog1py", NULL, "complex128[2] 4+2j 1j; complex128[1] 2-1j"},
        {"DivNoNan", NULL, "complex128[2] 4+2j 1j; complex128[1] 2-1j"},
        {"MulNoNan", NULL, "complex128[2] 4+2j 1j; complex128[1] 2-1j"},
        {"Xdivy", NULL, "complex128[2] 4+2j 1j; complex128[1] 2-1j"},
        {"Xlogy", NULL, "complex128[2] 4+2j 1j; complex128[1] 2-1j"},
        {"Atan2", NULL, "double[2,1] 6 -3; double[2] 3 2"},
        {"ClipByValue", NULL, "double[4] -3 0.5 9 1; double[] -1; double[] 2"},
        {"ClipByValue", NULL, "double[3] -3 0.5 9; double[3] 0 0 10; double[3] 1 1 12"},
        {"LeakyRelu", NULL, "double[3] -1 0.5 2"},
        {"LeakyReluGrad", NULL, "double[3] 4 5 6; double[3] -1 0.5 2"},
        {"Selu", NULL, "double[3] -1 0.5 -2"},
        {"SeluGrad", NULL, "double[3] 4 5 6; double[3] -1 0.5 2"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_follow_the_definition),
        cmocka_unit_test(bits_follow_the_definition),
        cmocka_unit_test(bounds_and_slopes_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
