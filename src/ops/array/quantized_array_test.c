// Tests of QuantizedConcat and QuantizedReshape. The values are TensorFlow 2.15's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedConcat", NULL,
         "int32[] 0; quint8[3] 0 10 255; quint8[3] 0 10 255; float[] 0; float[] -1; float[] 10; float[] 2",
         "quint8[6] 23 32 255 0 3 69; float[] -1; float[] 10"},
        {"QuantizedConcat", NULL,
         "int32[] 1; quint8[2,2] 0 10 1 255; quint8[2,1] 20 30; float[] 0; float[] 0; float[] 10; "
         "float[] 10",
         "quint8[2,3] 0 10 20 1 255 30; float[] 0; float[] 10"},
        {"QuantizedConcat", NULL,
         "int32[] 0; qint32[4] 0 10 2147483647 -2147483648; qint32[2] 0 -10; float[] 0; float[] -1; "
         "float[] 10; float[] 2",
         "qint32[6] 1073741824 1073741824 2147483520 0 107374184 107374184; float[] -10; float[] 10"},
        {"QuantizedReshape", NULL, "quint8[4] 0 100 255 50; int32[2] 2 -1; float[] -1; float[] 9",
         "quint8[2,2] 0 100 255 50; float[] -1; float[] 9"},
        {"QuantizedConcat", NULL,
         "int32[] 0; quint8[0,2]; quint8[1,2] 1 2; float[] 0; float[] 0; float[] 1; float[] 1",
         "quint8[1,2] 1 2; float[] 0; float[] 1"},
        {"QuantizedReshape", NULL, "quint8[0,3]; int32[2] 0 2; float[] 0; float[] 1",
         "quint8[0,2]; float[] 0; float[] 1"},
        {"QuantizedReshape", NULL, "quint8[] 7; int32[1] 1; float[] 0; float[] 1",
         "quint8[1] 7; float[] 0; float[] 1"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedConcat", NULL,
         "int32[1] 0; quint8[1] 1; quint8[1] 1; float[] 0; float[] 0; float[] 1; float[] 1",
         "InvalidArgument: concat_dim tensor should be a scalar integer"},
        {"QuantizedConcat", NULL,
         "int32[] 1; quint8[1] 1; quint8[1] 1; float[] 0; float[] 0; float[] 1; float[] 1",
         "InvalidArgument: ConcatOp : Expected concatenating dimensions in the range [-1, 1), but got 1"},
        {"QuantizedConcat", NULL,
         "int32[] 0; quint8[] 1; quint8[] 1; float[] 0; float[] 0; float[] 1; float[] 1",
         "InvalidArgument: "},
        {"QuantizedConcat", NULL,
         "int32[] 0; quint8[1] 1; quint8[1] 1; float[] 0; float[0]; float[] 1; float[] 1",
         "InvalidArgument: the ends of the range of value 1 must be scalars"},
        {"QuantizedReshape", NULL, "quint8[3] 1; int32[1] 2; float[] 0; float[] 1", "InvalidArgument: "},
        {"QuantizedReshape", NULL, "quint8[3] 1; int32[1] 3; float[2] 0 0; float[] 1",
         "InvalidArgument: input 2 is an end of a range"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"QuantizedConcat", NULL, "int32[] 1; quint8[2,3]; quint8[2,?]; []; []; []; []",
         "quint8[2,?]; []; []"},
        {"QuantizedReshape", NULL, "quint8[2,3]; int32[2] 3 -1; []; []", "quint8[3,2]; []; []"},
        {"QuantizedReshape", NULL, "quint8[2,3]; int32[2] 3 -1; []; [1]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_tensorflow),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
