// Tests of element-wise ops of one argument. Values are those of the C library in double.
#include "ops/testing/op_test.h"
// cmocka requires these headers first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void values(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Neg", NULL, "float[3] 1 -2 0", "float[3] -1 2 -0"},
        {"Neg", NULL, "int32[2] -2147483648 5", "int32[2] -2147483648 -5"},
        {"Neg", NULL, "int64[] 7", "int64[] -7"},
        {"Abs", NULL, "float[4] -1.5 2 -inf nan", "float[4] 1.5 2 inf nan"},
        {"Abs", NULL, "int64[2] -3 4", "int64[2] 3 4"},
        {"Abs", NULL, "int8[3] -3 4 -128", "int8[3] 3 4 -128"},
        {"Abs", NULL, "int16[2] -300 4", "int16[2] 300 4"},
        {"Sign", NULL, "float[4] -3 0 2 inf", "float[4] -1 0 1 1"},
        {"Sign", NULL, "int32[3] -7 0 7", "int32[3] -1 0 1"},
        {"Square", NULL, "float[2,2] 1 2 -3 0.5", "float[2,2] 1 4 9 0.25"},
        {"Square", NULL, "int32[2] -4 100000", "int32[2] 16 1410065408"},
        {"Sqrt", NULL, "float[4] 4 2 0 -1", "float[4] 2 1.41421356 0 nan"},
        {"Rsqrt", NULL, "float[3] 4 2 0", "float[3] 0.5 0.707106781 inf"},
        {"Reciprocal", NULL, "float[3] 4 -0.5 0", "float[3] 0.25 -2 inf"},
        {"Inv", NULL, "double[2] 3 -8", "double[2] 0.3333333333333333 -0.125"},
        {"Exp", NULL, "float[6] 0 1 -1 88 -inf 100",
         "float[6] 1 2.718281828 0.36787944117 1.6516362549940018e38 0 inf"},
        {"Exp", NULL, "float[2] nan -100", "float[2] nan 3.783505853677006e-44"},
        {"Exp", NULL, "double[2] 0.5 -20", "double[2] 1.6487212707001282 2.061153622438558e-09"},
        {"Expm1", NULL, "float[3] 0 1e-6 1", "float[3] 0 1.0000005e-6 1.718281828459045"},
        {"Log", NULL, "float[6] 1 2.718281828 0 -1 inf 1e-40", "float[6] 0 1 -inf nan inf -92.1034037"},
        {"Log", NULL, "double[2] 10 0.001", "double[2] 2.302585092994046 -6.907755278982137"},
        {"Log1p", NULL, "float[5] 0 1e-6 1 -1 -2", "float[5] 0 9.999995e-7 0.69314718 -inf nan"},
        {"Sin", NULL, "float[3] 0 1 -2", "float[3] 0 0.8414709848 -0.9092974268"},
        {"Cos", NULL, "float[3] 0 1 -2", "float[3] 1 0.5403023059 -0.4161468365"},
        {"Floor", NULL, "float[4] 1.5 -1.5 2 -0.25", "float[4] 1 -2 2 -1"},
        {"Ceil", NULL, "float[4] 1.5 -1.5 2 0.25", "float[4] 2 -1 2 1"},
        {"Round", NULL, "float[6] 0.5 1.5 2.5 -0.5 -1.5 2.4", "float[6] 0 2 2 0 -2 2"},
        {"Round", NULL, "int32[2] -3 3", "int32[2] -3 3"},
        {"Rint", NULL, "double[3] 0.5 1.5 -2.6", "double[3] 0 2 -3"},
        {"IsNan", NULL, "float[4] 1 nan inf -inf", "bool[4] false true false false"},
        {"IsInf", NULL, "double[4] 1 nan inf -inf", "bool[4] false false true true"},
        {"IsFinite", NULL, "float[4] 1 nan inf -inf", "bool[4] true false false false"},
        {"LogicalNot", NULL, "bool[2] true false", "bool[2] false true"},
        {"SqrtGrad", NULL, "float[2] 2 4; float[2] 1 3", "float[2] 0.25 0.375"},
        {"RsqrtGrad", NULL, "float[2] 2 0.5; float[2] 1 3", "float[2] -4 -0.1875"},
        {"ReciprocalGrad", NULL, "float[2] 2 -0.5; float[2] 1 3", "float[2] -4 -0.75"},
        {"InvGrad", NULL, "double[1] 3; double[1] 2", "double[1] -18"},
        // Empty tensors, and sizes that leave remainders in the vector loops.
        {"Exp", NULL, "float[0,3]", "float[0,3]"},
        {"Neg", NULL, "int32[0]", "int32[0]"},
        {"Exp", NULL, "float[37] 0.5", "float[37] 1.6487212707"},
        {"Log", NULL, "float[3,11] 2", "float[3,11] 0.69314718056"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Neg", NULL, "[2,?]", "[2,?]"},
        {"Exp", NULL, "?", "?"},
        {"IsNan", NULL, "[3]", "[3]"},
        {"SqrtGrad", NULL, "[?,3];[2,?]", "[?,3]"}, // as in TensorFlow, the shape of the first input
    };
    OP_TEST_SHAPES(cases);
}

static void gradients(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Neg", NULL, "double[3] 1 -2 0.5", NULL},
        {"Abs", NULL, "double[3] 1 -2 0.5", NULL},
        {"Sign", NULL, "double[3] 1 -2 0.5", NULL},
        {"Square", NULL, "double[2,2] 1 -2 0.5 3", NULL},
        {"Sqrt", NULL, "double[3] 1 2 0.5", NULL},
        {"SqrtGrad", NULL, "double[3] 1 2 0.5; double[3] 2 -1 3", NULL},
        {"Rsqrt", NULL, "double[3] 1 2 0.5", NULL},
        {"RsqrtGrad", NULL, "double[3] 1 2 0.5; double[3] 2 -1 3", NULL},
        {"Reciprocal", NULL, "double[3] 1 -2 0.5", NULL},
        {"Inv", NULL, "double[3] 1 -2 0.5", NULL},
        {"ReciprocalGrad", NULL, "double[3] 1 2 0.5; double[3] 2 -1 3", NULL},
        {"InvGrad", NULL, "double[2] 1 2; double[2] 2 -1", NULL},
        {"Exp", NULL, "double[3] 1 -2 0", NULL},
        {"Expm1", NULL, "double[3] 1 -2 0", NULL},
        {"Log", NULL, "double[3] 1 2 0.25", NULL},
        {"Log1p", NULL, "double[3] 1 -0.5 0", NULL},
        {"Sin", NULL, "double[3] 1 -2 0", NULL},
        {"Cos", NULL, "double[3] 1 -2 0", NULL},
        {"Floor", NULL, "double[2] 1.5 -2.5", "0"},
        {"Round", NULL, "double[2] 1.25 -2.75", "0"},
        {"Neg", NULL, "double[] 3", NULL},
        {"Exp", NULL, "double[0,2]", NULL},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(shapes),
        cmocka_unit_test(gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
