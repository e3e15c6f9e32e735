// Tests of DepthwiseConv2dNative and its gradients. Values were computed from the definition by a separate
// program.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define IMAGE "float[1,3,3,2] -5 2 -2 5 1 -3 4 0 -4 3 -1 -5 2 -2 5 1 -3 4"
#define FILTER "float[2,2,2,2] -3 2 0 -2 3 1 -1 -3 2 0 -2 3 1 -1 -3 2"

#define EXPLICIT "strides=[1,1,1,1]; padding=EXPLICIT; explicit_paddings=[0,0,1,0,1,0,0,0]"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DepthwiseConv2dNative", "strides=[1,1,1,1]; padding=VALID", IMAGE "; " FILTER,
         "float[1,2,2,4] 13 -8 -14 -13 0 -2 12 -2 -15 -1 -2 -13 16 -6 -9 20"},
        {"DepthwiseConv2dNative", "strides=[1,2,2,1]; padding=SAME", IMAGE "; " FILTER,
         "float[1,2,2,4] 13 -8 -14 -13 -5 2 10 -9 9 9 -1 1 9 -6 0 -8"},
        {"DepthwiseConv2dNative", "strides=[1,1,1,1]; padding=VALID; data_format=NCHW",
         "float[1,2,3,3] -5 -2 1 4 -4 -1 2 5 -3 2 5 -3 0 3 -5 -2 1 4; " FILTER,
         "float[1,4,2,2] 13 0 -15 16 -8 -2 -1 -6 -14 12 -2 -9 -13 -2 -13 20"},
        {"DepthwiseConv2dNative", "strides=[1,1,1,1]; padding=VALID", IMAGE "; float[2,2,3,1] 1",
         "InvalidArgument: input and filter must have the same depth: 2 vs 3"},
        {"DepthwiseConv2dNativeBackpropInput", "strides=[1,1,1,1]; padding=VALID",
         "int32[4] 1 2 2 1; float[2,2,1,2] 1 2 3 4 5 6 7 8; float[1,1,1,2] 10 1",
         "float[1,2,2,1] 12 34 56 78"},
        {"DepthwiseConv2dNativeBackpropFilter", "strides=[1,1,1,1]; padding=VALID",
         "float[1,2,2,1] 1 2 3 4; int32[4] 2 2 1 2; float[1,1,1,2] 10 1",
         "float[2,2,1,2] 10 1 20 2 30 3 40 4"},
        {"DepthwiseConv2dNative", EXPLICIT, "float[1,2,2,1] 1 2 3 4; float[2,2,1,1] 1",
         "float[1,2,2,1] 1 3 4 10"},
        {"DepthwiseConv2dNative", "strides=[1,1,1,1]; padding=EXPLICIT; explicit_paddings=[1,0]",
         "float[1,2,2,1] 1; float[2,2,1,1] 1",
         "InvalidArgument: explicit_paddings attribute must contain 8 values"},
        {"DepthwiseConv2dNative", "strides=[1,1,1,1]; padding=VALID", "float[1,2,2,0]; float[1,1,0,2]",
         "float[1,2,2,0]"},
        {"DepthwiseConv2dNativeBackpropFilter", "strides=[1,1,1,1]; padding=VALID",
         "float[1,2,2,1] 1 2 3 4; int32[4] 2 2 1 2; float[1,1,1,3] 10 1 1",
         "InvalidArgument: Size of out_backprop"},
        {.op = "DepthwiseConv2dNative",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[0,3,3,2]; float[2,2,2,2] 1",
         .want = "float[0,2,2,4]"},
        {.op = "DepthwiseConv2dNativeBackpropFilter",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[0,3,3,2]; int32[4] 2 2 2 2; float[0,2,2,4]",
         .want = "float[2,2,2,2] 0"},
        {.op = "DepthwiseConv2dNativeBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[4] 0 3 3 2; float[2,2,2,2] 1; float[0,2,2,4]",
         .want = "float[0,3,3,2]"},
        {.op = "DepthwiseConv2dNative",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[] 1; float[1,1,1,1] 1",
         .want = "InvalidArgument: input must be 4-dimensional"},
        {.op = "DepthwiseConv2dNativeBackpropFilter",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,1,1,1] 1; int32[] 1; float[1,1,1,1] 1",
         .want = "InvalidArgument: filter_sizes must be"},
        {.op = "DepthwiseConv2dNativeBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[] 1; float[1,1,1,1] 1; float[1,1,1,1] 1",
         .want = "InvalidArgument: input_sizes must be"},
        {.op = "DepthwiseConv2dNativeBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[4] 1 3 3 1; float[2,2,1,1] 1; float[1,3,3,1] 1",
         .want = "InvalidArgument: Size of out_backprop"},
        {.op = "DepthwiseConv2dNative",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "half[1,1,2,1] 0x4000 0x4200; half[1,1,1,2] 0x4400 0xbc00",
         .want = "half[1,1,2,2] 0x4800 0xc000 0x4a00 0xc200"},
        {.op = "DepthwiseConv2dNativeBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[4] 1 1 2 1; half[1,1,1,2] 0x4400 0xbc00; half[1,1,2,2] 0x3c00 0x4000 0x4200 0x4400",
         .want = "half[1,1,2,1] 0x4000 0x4800"},
        {.op = "DepthwiseConv2dNativeBackpropFilter",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "half[1,1,2,1] 0x4000 0x4200; int32[4] 1 1 1 2; half[1,1,2,2] 0x3c00 0x4000 0x4200 0x4400",
         .want = "half[1,1,1,2] 0x4980 0x4c00"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"DepthwiseConv2dNative", "strides=[1,2,2,1]; padding=SAME", "[?,5,6,3]; [2,2,3,4]", "[?,3,3,12]"},
        {"DepthwiseConv2dNative", "strides=[1,1,1,1]; padding=VALID", "[2,5,6,3]; [2,2,?,4]", "[2,4,5,?]"},
        {"DepthwiseConv2dNative", "strides=[1,1,1,1]; padding=VALID", "[2,5,6,3]; [2,2,2,4]",
         "InvalidArgument: "},
        {"DepthwiseConv2dNativeBackpropInput", "strides=[1,1,1,1]; padding=VALID", "int32[4] 1 2 3 4; ?; ?",
         "[1,2,3,4]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"DepthwiseConv2dNative", "strides=[1,1,1,1]; padding=SAME",
         "double[1,2,3,2] 1 -2 3 0.5 1 -1 2 0.25 1 1 -3 2; double[2,2,2,1] 1 2 -1 0.5 1 -2 3 1"},
        {"DepthwiseConv2dNative", EXPLICIT, "double[1,2,2,1] 1 2 3 4; double[2,2,1,1] 1 2 -1 0.5"},
        {"DepthwiseConv2dNative", "strides=[1,2,2,1]; padding=VALID",
         "double[1,2,3,1] 1 -2 3 0.5 1 -1; double[2,2,1,2] 1 2 -1 0.5 1 -2 3 1"},
        {"DepthwiseConv2dNativeBackpropInput", "strides=[1,1,1,1]; padding=VALID",
         "int32[4] 1 2 3 1; double[2,2,1,2] 1 2 -1 0.5 1 -2 3 1; double[1,1,2,2] 1 -1 2 3"},
        {"DepthwiseConv2dNativeBackpropFilter", "strides=[1,1,1,1]; padding=VALID",
         "double[1,2,3,1] 1 -2 3 0.5 1 -1; int32[4] 2 2 1 2; double[1,1,2,2] 1 -1 2 3"},
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
