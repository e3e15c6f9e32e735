// Tests of QuantizedMatMul. The values are TensorFlow 2.15's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedMatMul", NULL,
         "quint8[2,3] 1 2 3 4 5 255; quint8[3,2] 7 8 10 11 255 0; float[] 0; float[] 255; float[] -1; "
         "float[] 2",
         "qint32[2,2] 282 -480 42663 -22353; float[] -25264514; float[] 25264514"},
        {"QuantizedMatMul", NULL,
         "quint8[2,3] 1 2 3 4 5 255; quint8[3,2] 7 8 10 11 255 0; float[] 1; float[] 2; float[] -1; "
         "float[] 2",
         "qint32[2,2] 4617 -60660 46998 -82533; float[] -99076.5312; float[] 99076.5312"},
        {"QuantizedMatMul", "transpose_a=true; transpose_b=true",
         "quint8[3,2] 99 206 239 189 230 118; quint8[4,3] 144 73 8 228 231 190 155 112 158 208 7 204; "
         "float[] -1; float[] 1; float[] -1; float[] 2",
         "qint32[2,4] -10897 22769 8413 -87 4640 19010 6377 3646; float[] -198153.062; float[] 198153.062"},
    };
    OP_TEST_VALUES(cases);
}

static void empty_and_signed_operands_are_multiplied(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedMatMul", NULL, "quint8[0,2]; quint8[2,3] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "qint32[0,3]; *; *"},
        {"QuantizedMatMul", NULL, "quint8[2,0]; quint8[0,1]; float[] 0; float[] 1; float[] 0; float[] 1",
         "qint32[2,1] 0 0; *; *"},
        {"QuantizedMatMul", NULL,
         "quint8[1,2] 255 255; qint8[2,1] -128 -128; float[] 0; float[] 255; float[] -128; float[] 127",
         "qint32[1,1] -65280; float[] -2147483648; float[] 2147483648"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedMatMul", NULL, "quint8[] 1; quint8[] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: In[0] is not a matrix"},
        {"QuantizedMatMul", NULL, "quint8[1,2] 1; quint8[2] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: In[1] is not a matrix"},
        {"QuantizedMatMul", NULL, "quint8[1,2] 1; quint8[3,1] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: Matrix size-incompatible: In[0]: [1,2], In[1]: [3,1]"},
        {"QuantizedMatMul", NULL, "quint8[1,1] 1; quint8[1,1] 1; float[] 1; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: max_a must be larger than min_a."},
        {"QuantizedMatMul", NULL, "quint8[1,1] 1; quint8[1,1] 1; float[] 0; float[] 1; float[] 1; float[] 0",
         "InvalidArgument: max_b must be larger than min_b."},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"QuantizedMatMul", "transpose_b=true", "quint8[2,?]; quint8[3,4]; []; []; []; []",
         "qint32[2,3]; []; []"},
        {"QuantizedMatMul", NULL, "quint8[2,3]; quint8[4,5]; []; []; []; []",
         "InvalidArgument: Dimensions must be equal, but are 3 and 4"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_tensorflow),
        cmocka_unit_test(empty_and_signed_operands_are_multiplied),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
