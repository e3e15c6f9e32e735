// Tests of ops for narrow types: integers of 8 and 16 bits, which wrap around, and half and bfloat16. Values
// are numpy's; for functions such as Exp, those of float64 rounded to half.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void integers_element_by_element_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Add", NULL, "uint8[2] 250 7; uint8[2] 10 1", "uint8[2] 4 8"},
        {"AddV2", NULL, "int8[2] 127 -128; int8[2] 1 -1", "int8[2] -128 127"},
        {"Sub", NULL, "uint8[2] 1 200; uint8[2] 2 100", "uint8[2] 255 100"},
        {"Sub", NULL, "uint16[2] 0 5; uint16[] 1", "uint16[2] 65535 4"},
        {"Mul", NULL, "int16[2] 300 -5; int16[2] 300 7", "int16[2] 24464 -35"},
        {"Mul", NULL, "uint16[2] 65535 3; uint16[2] 65535 5", "uint16[2] 1 15"},
        {"Div", NULL, "int8[3] 7 -7 -128; int8[3] 2 2 -1", "int8[3] 3 -3 -128"},
        {"FloorDiv", NULL, "int8[3] 7 -7 -128; int8[3] 2 2 -1", "int8[3] 3 -4 -128"},
        {"TruncateDiv", NULL, "int16[2] 7 -7; int16[2] -2 2", "int16[2] -3 -3"},
        {"FloorDiv", NULL, "uint8[2] 200 9; uint8[2] 7 2", "uint8[2] 28 4"},
        {"Less", NULL, "uint8[2] 200 1; uint8[2] 100 2", "bool[2] false true"},
        {"Greater", NULL, "int8[2] -1 1; int8[2] 1 -1", "bool[2] false true"},
        {"LessEqual", NULL, "int16[2] -300 2; int16[2] -300 1", "bool[2] true false"},
        {"GreaterEqual", NULL, "uint16[2] 65535 2; uint16[2] 1 3", "bool[2] true false"},
        {"Equal", NULL, "uint8[2] 1 2; uint8[2] 1 3", "bool[2] true false"},
        {"NotEqual", NULL, "int16[2] -1 2; int16[2] -1 3", "bool[2] false true"},
        {"Relu", NULL, "int8[3] -3 0 5", "int8[3] 0 0 5"},
        {"Relu6", NULL, "uint8[3] 3 7 200", "uint8[3] 3 6 6"},
        {"Relu6", NULL, "int16[3] -3 3 300", "int16[3] 0 3 6"},
        {"ReluGrad", NULL, "int8[3] 1 2 3; int8[3] -1 0 1", "int8[3] 0 0 3"},
        {"Relu6Grad", NULL, "uint8[3] 1 2 3; uint8[3] 0 3 6", "uint8[3] 0 2 0"},
        {"AddN", "N=3", "uint8[2] 200 1; uint8[2] 100 2; uint8[2] 1 3", "uint8[2] 45 6"},
        {"BiasAdd", NULL, "int8[1,2] 127 1; int8[2] 1 1", "int8[1,2] -128 2"},
        {"Add", NULL, "uint8[0]; uint8[1] 1", "uint8[0]"},
        {"Div", NULL, "uint8[2] 1 2; uint8[2] 1 0", "InvalidArgument: Integer division by zero"},
        {"FloorDiv", NULL, "int16[2] 1 2; int16[] 0", "InvalidArgument: Integer division by zero"},
        {"Add", NULL, "int8[2] 1; int8[3] 1", "InvalidArgument: Incompatible shapes: [2] vs. [3]"},
        {"RealDiv", NULL, "int8[1] 1; int8[1] 1",
         "NotFound: No OpKernel was registered to support Op 'RealDiv'"},
    };
    OP_TEST_VALUES(cases);
}

static void integers_along_axes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Sum", NULL, "uint8[2,3] 200 100 50 255 1 1; int32[1] 0", "uint8[3] 199 101 51"},
        {"Sum", NULL, "int8[3] -100 -100 -101; int32[1] 0", "int8[] -45"},
        {"Prod", NULL, "uint8[2,3] 200 100 50 255 1 1; int32[1] 0", "uint8[3] 56 100 50"},
        {"Max", NULL, "uint8[2,3] 200 100 50 255 1 1; int32[1] 1", "uint8[2] 200 255"},
        {"Min", NULL, "int16[3] 200 -300 50; int32[1] 0", "int16[] -300"},
        // The mean does not overflow.
        {"Mean", NULL, "uint8[2,3] 200 100 50 255 1 1; int32[2] 0 1", "uint8[] 101"},
        {"Mean", NULL, "int8[3] -100 -100 -101; int32[1] 0", "int8[] -100"},
        {"Mean", NULL, "int32[3] 2147483647 2147483647 2147483645; int32[1] 0", "int32[] 2147483646"},
        {"Mean", NULL, "int32[0]; int32[1] 0", "int32[] 0"},
        {"Mean", "keep_dims=true", "int32[2,2] 2147483647 1 2147483647 4; int32[1] 0",
         "int32[1,2] 2147483647 2"},
        // Of no elements: the least or the greatest value of the type.
        {"Max", NULL, "int8[0]; int32[1] 0", "int8[] -128"},
        {"Min", NULL, "int8[0]; int32[1] 0", "int8[] 127"},
        {"Max", NULL, "int16[0]; int32[1] 0", "int16[] -32768"},
        {"Min", NULL, "uint16[0]; int32[1] 0", "uint16[] 65535"},
        {"Max", NULL, "uint8[0]; int32[1] 0", "uint8[] 0"},
        {"Sum", NULL, "uint8[0]; int32[1] 0", "uint8[] 0"},
        {"ArgMax", NULL, "uint8[3] 3 200 200; int32[] 0", "int64[] 1"},
        {"ArgMin", "output_type=int32", "int8[3] 3 -4 100; int32[] 0", "int32[] 1"},
        {"Cumsum", NULL, "uint8[3] 200 100 1; int32[] 0", "uint8[3] 200 44 45"},
        {"Cumprod", NULL, "int8[3] 100 2 3; int32[] 0", "int8[3] 100 -56 88"},
        {"Sum", NULL, "int8[2] 1 2; int32[1] 1",
         "InvalidArgument: Invalid reduction dimension (1 for input with 1"},
    };
    OP_TEST_VALUES(cases);
}

// 0x3c00 is 1 in half, 0x3f80 in bfloat16.
static void floats_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Add", NULL, "half[3] 0x3e00 0xc000 0x7bff; half[3] 0x2e66 0x4200 0x7bff",
         "half[3] 0x3e66 0x3c00 0x7c00"},
        {"Mul", NULL, "half[2] 0x3e00 0xc000; half[2] 0x2e66 0x4200", "half[2] 0x30cc 0xc600"},
        {"RealDiv", NULL, "half[2] 0x3e00 0xc000; half[2] 0x2e66 0x4200", "half[2] 0x4b80 0xb955"},
        {"Maximum", NULL, "half[2] 0x3e00 0xc000; half[2] 0x2e66 0x4200", "half[2] 0x3e00 0x4200"},
        {"Less", NULL, "half[2] 0x3e00 0xc000; half[2] 0x2e66 0x4200", "bool[2] false true"},
        {"IsNan", NULL, "half[2] 0x7e00 0x3c00", "bool[2] true false"},
        {"Exp", NULL, "half[3] 0x2e66 0x3c00 0x4600", "half[3] 0x3c6c 0x4170 0x5e4e"},
        {"Sqrt", NULL, "half[3] 0x2e66 0x3c00 0x4600", "half[3] 0x350f 0x3c00 0x40e6"},
        {"Tanh", NULL, "half[3] 0x2e66 0x3c00 0x4600", "half[3] 0x2e61 0x3a18 0x3c00"},
        {"Sigmoid", NULL, "half[3] 0x2e66 0x3c00 0x4600", "half[3] 0x3833 0x39d9 0x3bfb"},
        {"Relu", NULL, "half[2] 0xbc00 0x4000", "half[2] 0 0x4000"},
        {"Softmax", NULL, "half[1,3] 0x2e66 0x3c00 0x4600", "half[1,3] 0x198f 0x1ed6 0x3bed"},
        {"AddN", "N=2", "half[3] 0x2e66 0x3c00 0x4600; half[3] 0x2e66 0x3c00 0x4600",
         "half[3] 0x3266 0x4000 0x4a00"},
        // The sum is rounded once at the end: rounding after each addition would stop at 2048.
        {"Sum", NULL, "half[3000] 0x3c00; int32[1] 0", "half[] 0x69dc"},
        {"Mean", NULL, "half[3] 0x3c00 0x4000 0x4400; int32[1] 0", "half[] 0x40ab"},
        {"Max", NULL, "half[0]; int32[1] 0", "half[] 0xfc00"},
        {"ArgMax", NULL, "half[3] 0x2e66 0x3c00 0x4600; int32[] 0", "int64[] 2"},
        {"Add", NULL, "bfloat16[2] 0x3f80 0x4000; bfloat16[] 0x3f80", "bfloat16[2] 0x4000 0x4040"},
        {"Add", NULL, "bfloat16[1] 0x3f80; bfloat16[1] 0x3b80",
         "bfloat16[1] 0x3f80"}, // 1 + 2^-8 is rounded to even
        {"Mean", NULL, "bfloat16[2] 0x3f80 0x4000; int32[1] 0", "bfloat16[] 0x3fc0"},
        {"Equal", NULL, "bfloat16[2] 0x3f80 0x7fc0; bfloat16[2] 0x3f80 0x7fc0", "bool[2] true false"},
    };
    OP_TEST_VALUES(cases);
}

static void other_kernels_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatMul", NULL, "half[2,2] 0x3c00 0x4000 0x4200 0x4400; half[2,2] 0x3800 0xbc00 0x4000 0x2e66",
         "half[2,2] 0x4480 0xba66 0x48c0 0xc133"},
        {"SegmentSum", NULL, "uint8[3] 200 100 1; int32[3] 0 0 1", "uint8[2] 44 1"},
        {"UnsortedSegmentMax", NULL, "int8[2] 5 7; int32[2] 2 2; int32[] 3", "int8[3] -128 -128 7"},
        {"UnsortedSegmentMin", NULL, "uint16[1] 5; int32[1] 0; int32[] 2", "uint16[2] 5 65535"},
        {"UnsortedSegmentMax", NULL, "half[1] 0x3c00; int32[1] 0; int32[] 2", "half[2] 0x3c00 0xfbff"},
        {"UnsortedSegmentMin", NULL, "bfloat16[1] 0x3f80; int32[1] 0; int32[] 2",
         "bfloat16[2] 0x3f80 0x7f7f"},
        {"TopKV2", NULL, "uint8[4] 3 200 7 200; int32[] 2", "uint8[2] 200 200; int32[2] 1 3"},
        {"Where", NULL, "half[4] 0 0x8000 0x3c00 0x7e00", "int64[2,1] 2 3"},
        {"UniqueWithCounts", NULL, "bfloat16[3] 0x3f80 0x4000 0x3f80",
         "bfloat16[2] 0x3f80 0x4000; int32[3] 0 1 0; int32[2] 2 1"},
        {"Unique", NULL, "half[3] 0x3c00 0x4000 0x3c00", "half[2] 0x3c00 0x4000; int32[3] 0 1 0"},
        {"MaxPool", "ksize=[1,2,2,1]; strides=[1,1,1,1]; padding=VALID",
         "half[1,2,2,1] 0x3c00 0x4000 0xbc00 0x3800", "half[1,1,1,1] 0x4000"},
        {"Conv2D", "strides=[1,1,1,1]; padding=VALID",
         "half[1,2,2,1] 0x3c00 0x4000 0xbc00 0x3800; half[2,2,1,1] 0x3c00", "half[1,1,1,1] 0x4100"},
    };
    OP_TEST_VALUES(cases);
}

static void updates_of_variables_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "AssignAdd",
         .inputs = "ref half[2] 0x3c00 0x4000; half[2] 0x3800 0xc000",
         .want = "half[2] 0x3e00 0",
         .after = "half[2] 0x3e00 0"},
        {.op = "AssignSubVariableOp",
         .inputs = "var bfloat16[1] 0x4040; bfloat16[1] 0x3f80",
         .want = "",
         .after = "bfloat16[1] 0x4000"},
        {.op = "ScatterDiv",
         .inputs = "ref half[2] 0x3c00 0x4000; int32[1] 0; half[1] 0",
         .want = "half[2] 0x7c00 0x4000"},
        {.op = "ScatterMax",
         .inputs = "ref half[2] 0xbc00 0x4000; int32[1] 0; half[1] 0x3800",
         .want = "half[2] 0x3800 0x4000"},
        {.op = "ScatterUpdate",
         .inputs = "ref half[2] 0xbc00 0x4000; int32[1] 0; half[1] 0x3800",
         .want = "half[2] 0x3800 0x4000"},
        {.op = "ScatterMul",
         .inputs = "ref bfloat16[2] 0x4000 0x4000; int32[1] 1; bfloat16[1] 0x4040",
         .want = "bfloat16[2] 0x4000 0x40c0"},
        {.op = "ApplyGradientDescent",
         .inputs = "ref half[3] 0x3c00 0xc000 0x4200; half[] 0x2e66; half[3] 0x4000 0x3800 0xbc00",
         .want = "half[3] 0x3a66 0xc01a 0x4233",
         .after = "half[3] 0x3a66 0xc01a 0x4233"},
        {.op = "ApplyMomentum",
         .inputs = "ref half[3] 0x3c00 0xc000 0x4200; ref half[3] 0x3800 0x3c00 0x4000; half[] 0x2e66; "
                   "half[3] 0x4000 0x3800 0xbc00; half[] 0x3b33",
         .want = "half[3] 0x3a0a 0xc048 0x41d7",
         .after = "half[3] 0x3a0a 0xc048 0x41d7; half[3] 0x40e6 0x3d9a 0x3a66"},
        {.op = "ResourceSparseApplyMomentum",
         .inputs = "var half[3,1] 0x3c00 0 0xc000; var half[3,1] 0x3800 0 0x3c00; half[] 0x2e66; "
                   "half[2,1] 0x4000 0x3800; int32[2] 0 2; half[] 0x3b33",
         .want = "",
         .after = "half[3,1] 0x3a0a 0 0xc048; half[3,1] 0x40e6 0 0x3d9a"},
        // More elements than one conversion block: 1 - 0.5 * 1.
        {.op = "ApplyGradientDescent",
         .inputs = "ref bfloat16[1300] 0x3f80; bfloat16[] 0x3f00; bfloat16[1300] 0x3f80",
         .want = "bfloat16[1300] 0x3f00",
         .after = "bfloat16[1300] 0x3f00"},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_element_by_element_follows_its_definition),
        cmocka_unit_test(integers_along_axes_follow_the_definition),
        cmocka_unit_test(floats_follow_the_definition),
        cmocka_unit_test(other_kernels_follow_the_definition),
        cmocka_unit_test(updates_of_variables_follow_the_definition),
    };
    return BD_RUN_TESTS(tests);
}
