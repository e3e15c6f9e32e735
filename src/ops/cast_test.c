// Tests of Cast, AddN and BroadcastGradientArgs.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void test_cast(void **state)
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
        {"Cast", "DstT=uint8", "float[3] 255.5 256 -1", "uint8[3] 255 0 0"},
        {"Cast", "DstT=int8", "int64[2] 127 128", "int8[2] 127 -128"},
        {"Cast", "DstT=int32", "uint16[1] 65535", "int32[1] 65535"},
        {"Cast", "DstT=float", "float[2] 1 2", "float[2] 1 2"},
        {"Cast", "DstT=int32", "float[0,2]", "int32[0,2]"},
    };
    OP_TEST_VALUES(cases);
    static const op_grad_case gradients[] = {{"Cast", "DstT=double", "double[2] 1 2"}};
    OP_TEST_GRADIENTS(gradients);
}

static void test_add_n(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"AddN", NULL, "float[2] 1 2; float[2] 10 20; float[2] 100 200", "float[2] 111 222"},
        {"AddN", NULL, "int64[] 5", "int64[] 5"},
        {"AddN", NULL, "double[2,2] 1 2 3 4; double[2,2] 1 1 1 1", "double[2,2] 2 3 4 5"},
        {"AddN", NULL, "float[5000] 1; float[5000] 2; float[5000] 3", "float[5000] 6"},
        {"AddN", NULL, "float[2] 1 2; float[3] 1 2 3",
         "InvalidArgument: must have the same size and shape. Input 0: [2] != input 1: [3]"},
    };
    OP_TEST_VALUES(cases);
    static const op_grad_case gradients[] = {{"AddN", NULL, "double[2] 1 2; double[2] 3 4; double[2] 5 6"}};
    OP_TEST_GRADIENTS(gradients);
}

static void test_broadcast_gradient_args(void **state)
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
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cast),
        cmocka_unit_test(test_add_n),
        cmocka_unit_test(test_broadcast_gradient_args),
    };
    return BD_RUN_TESTS(tests);
}
