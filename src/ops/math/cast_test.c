// Tests of Cast, AddN and BroadcastGradientArgs.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void cast_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Cast", "DstT=int32", "float[4] 1.9 -1.9 0 3e9", "int32[4] 1 -1 0 -2147483648"},
        {"Cast", "DstT=int32", "float[2] nan -inf", "int32[2] -2147483648"},
        {"Cast", "DstT=int64", "double[3] 1e18 -2.5 1e19",
         "int64[3] 1000000000000000000 -2 -9223372036854775808"},
        {"Cast", "DstT=float", "int64[2] 3 -16777217", "float[2] 3 -16777216"},
        {"Cast", "DstT=double", "float[2] 0.5 inf", "double[2] 0.5 inf"},
        {"Cast", "DstT=float", "double[2] 0.1 1e300", "float[2] 0.1 inf"},
        {"Cast", "DstT=bool", "float[3] 0 0.5 -1", "bool[3] false true true"},
        {"Cast", "DstT=bool", "int32[2] 256 0", "bool[2] true false"},
        {"Cast", "DstT=float", "bool[2] true false", "float[2] 1 0"},
        {"Cast", "DstT=int64", "bool[2] true false", "int64[2] 1 0"},
        {"Cast", "DstT=uint8", "int32[3] 255 256 -1", "uint8[3] 255 0 255"},
        // Out of range values: the results of numpy on x86, which are TensorFlow's too.
        {"Cast", "DstT=uint8", "float[7] 255.5 256 -1 300 3e9 nan -inf", "uint8[7] 255 0 255 44 0 0 0"},
        {"Cast", "DstT=int8", "double[5] 127.9 128 -129 200 1e19", "int8[5] 127 -128 127 -56 0"},
        {"Cast", "DstT=uint16", "half[2] 0xbc00 0x7c00", "uint16[2] 65535 0"},
        {"Cast", "DstT=uint32", "float[3] -1 4294967296 8589934592", "uint32[3] 4294967295 0 0"},
        {"Cast", "DstT=uint64", "double[5] -1 0x1p63 0x1.8p63 0x1p64 nan",
         "uint64[5] 18446744073709551615 9223372036854775808 13835058055282163712 0 9223372036854775808"},
        {"Cast", "DstT=int8", "int64[2] 127 128", "int8[2] 127 -128"},
        {"Cast", "DstT=int32", "uint16[1] 65535", "int32[1] 65535"},
        {"Cast", "DstT=float", "float[2] 1 2", "float[2] 1 2"},
        {"Cast", "DstT=int32", "float[0,2]", "int32[0,2]"},
        // IEEE 754: round to nearest, ties to even; 2^-14 is the least normal half, 2^-24 the least subnormal
        // half.
        {"Cast", "DstT=half", "float[6] 1 -2 65504 65519.9 65520 nan",
         "half[6] 0x3c00 0xc000 0x7bff 0x7bff 0x7c00 0x7e00"},
        {"Cast", "DstT=half", "float[5] 0x1p-14 0x1p-24 0x1p-25 0x1.8p-24 -0x1.8p-25",
         "half[5] 0x0400 0x0001 0x0000 0x0002 0x8001"},
        {"Cast", "DstT=half", "double[3] 0x1.002p0 0x1.006p0 0x1.003p0", "half[3] 0x3c00 0x3c02 0x3c01"},
        {"Cast", "DstT=float", "half[4] 0x3555 0x7c00 0x0001 0x83ff",
         "float[4] 0x1.554p-2 inf 0x1p-24 -0x1.ff8p-15"},
        {"Cast", "DstT=int32", "half[2] 0xc1ff 0x7bff", "int32[2] -2 65504"},
        {"Cast", "DstT=bfloat16", "float[5] 1 0x1.01p0 0x1.03p0 0x1.fffp127 -inf",
         "bfloat16[5] 0x3f80 0x3f80 0x3f82 0x7f80 0xff80"},
        {"Cast", "DstT=float", "bfloat16[2] 0x4049 0xff80", "float[2] 3.140625 -inf"},
        {"Cast", "DstT=half", "bfloat16[2] 0x3f80 0x7f7f", "half[2] 0x3c00 0x7c00"},
        {"Cast", "DstT=bfloat16", "int64[2] 257 -3", "bfloat16[2] 0x4380 0xc040"},
    };
    OP_TEST_VALUES(cases);
    static const op_grad_case gradients[] = {{"Cast", "DstT=double", "double[2] 1 2"}};
    OP_TEST_GRADIENTS(gradients);
}

static void cast_types_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // Truncate clears the last bits of the significand before the conversion. Numbers below the least
        // normal half are still rounded.
        {"Cast", "DstT=half; Truncate=true", "float[5] 0x1.006p0 -1.9999999 inf nan 65519",
         "half[5] 0x3c01 0xbfff 0x7c00 0x7e00 0x7bff"},
        {"Cast", "DstT=half", "float[2] 0x1.006p0 -1.9999999", "half[2] 0x3c02 0xc000"},
        {"Cast", "DstT=bfloat16; Truncate=true", "float[3] -1.9999999 0x1.fffp127 0x1.03p0",
         "bfloat16[3] 0xbfff 0x7f7f 0x3f81"},
        {"Cast", "DstT=float; Truncate=true", "double[3] 0x1.000003p0 -0x1.ffffffp0 3",
         "float[3] 0x1.000002p0 -0x1.fffffep0 3"},
        {"Cast", "DstT=complex64; Truncate=true", "double[1] 0x1.000003p0", "complex64[1] 1.00000012"},
        {"Cast", "DstT=int32; Truncate=true", "float[2] 1.75 -1.75", "int32[2] 1 -1"},
        {"Cast", "DstT=double; Truncate=true", "float[1] 0.1", "double[1] 0x1.99999ap-4"},
        {"Cast", "DstT=half; Truncate=true", "float[0,3]", "half[0,3]"},
        {"Cast", "DstT=half; Truncate=true", "float[3000] 0x1.006p0", "half[3000] 0x3c01"},
        // Quantized types are cast as their integers; each type can be cast to itself.
        {"Cast", "DstT=float", "qint8[2] -128 127", "float[2] -128 127"},
        {"Cast", "DstT=quint8", "float[2] 250.5 3", "quint8[2] 250 3"},
        {"Cast", "DstT=qint32", "qint8[2] -128 127", "qint32[2] -128 127"},
        {"Cast", "DstT=string", "string[2] a b", "string[2] a b"},
        {"Cast", "DstT=float", "string[1] a", "Unimplemented: Cast string to float is not supported"},
    };
    OP_TEST_VALUES(cases);
}

static void add_n_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"AddN", NULL, "float[2] 1 2; float[2] 10 20; float[2] 100 200", "float[2] 111 222"},
        {"AddN", NULL, "int64[] 5", "int64[] 5"},
        {"AddN", NULL, "float[0,2]; float[0,2]", "float[0,2]"},
        {"AddN", NULL, "half[] 0x3c00; half[] 0x4000", "half[] 0x4200"},
        {"AddN", NULL, "bfloat16[1] 0x3f80; bfloat16[1] 0x3b80; bfloat16[1] 0x3b80", "bfloat16[1] 0x3f81"},
        {"AddN", NULL, "double[2,2] 1 2 3 4; double[2,2] 1 1 1 1", "double[2,2] 2 3 4 5"},
        {"AddN", NULL, "float[5000] 1; float[5000] 2; float[5000] 3", "float[5000] 6"},
        {"AddN", NULL, "float[2] 1 2; float[3] 1 2 3",
         "InvalidArgument: must have the same size and shape. Input 0: [2] != input 1: [3]"},
    };
    OP_TEST_VALUES(cases);
    static const op_grad_case gradients[] = {{"AddN", NULL, "double[2] 1 2; double[2] 3 4; double[2] 5 6"}};
    OP_TEST_GRADIENTS(gradients);
}

static void broadcast_gradient_args_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BroadcastGradientArgs", NULL, "int32[2] 2 3; int32[1] 3", "int32[0]; int32[1] 0"},
        {"BroadcastGradientArgs", NULL, "int32[2] 2 1; int32[2] 1 3", "int32[1] 1; int32[1] 0"},
        {"BroadcastGradientArgs", NULL, "int64[0]; int64[2] 4 5", "int64[2] 0 1; int64[0]"},
        {"BroadcastGradientArgs", NULL, "int32[2] 2 1; int32[2] 2 1", "int32[0]; int32[0]"},
        {"BroadcastGradientArgs", NULL, "int32[3] 2 1 4; int32[2] 1 1", "int32[1] 1; int32[3] 0 1 2"},
        {"BroadcastGradientArgs", NULL, "int32[1] 2; int32[1] 3",
         "InvalidArgument: Incompatible shapes: [2] vs. [3]"},
        {"BroadcastGradientArgs", NULL, "int32[] 2; int32[1] 3",
         "InvalidArgument: In[0] must be a vector.[]"},
        {"BroadcastGradientArgs", NULL, "int32[1] 2; int32[] 3",
         "InvalidArgument: In[1] must be a vector.[]"},
        {"BroadcastGradientArgs", NULL, "int32[0]; int32[0]", "int32[0]; int32[0]"},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cast_follows_its_definition),
        cmocka_unit_test(cast_types_follow_the_definition),
        cmocka_unit_test(add_n_follows_its_definition),
        cmocka_unit_test(broadcast_gradient_args_follow_the_definition),
    };
    return BD_RUN_TESTS(tests);
}
