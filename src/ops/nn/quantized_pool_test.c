// Tests of QuantizedMaxPool and QuantizedAvgPool. The values are TensorFlow 2.15's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedMaxPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         "quint8[1,2,4,2] 32 76 172 133 142 175 94 82 128 231 135 214 251 16 64 8; float[] -1; float[] 255",
         "quint8[1,1,2,2] 172 231 251 175; float[] -1; float[] 255"},
        {"QuantizedMaxPool", "ksize=[1,2,3,1]; strides=[1,1,1,1]; padding=SAME",
         "quint8[2,2,2,1] 218 44 126 165 94 203 133 233; float[] 0; float[] 255",
         "quint8[2,2,2,1] 218 218 165 165 233 233 233 233; float[] 0; float[] 255"},
        {"QuantizedAvgPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         "quint8[1,2,4,1] 200 200 200 200 7 8 9 11; float[] 0; float[] 255",
         "quint8[1,1,2,1] 103 105; float[] 0; float[] 255"},
        {"QuantizedAvgPool", "ksize=[1,2,3,1]; strides=[1,1,1,1]; padding=SAME",
         "quint8[1,2,4,1] 150 180 69 210 188 91 29 216; float[] 0; float[] 255",
         "quint8[1,2,4,1] 152 117 132 131 139 102 112 122; float[] 0; float[] 255"},
        {"QuantizedMaxPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         "quint8[0,4,4,3]; float[] 0; float[] 1", "quint8[0,2,2,3]; float[] 0; float[] 1"},
        {"QuantizedAvgPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         "quint8[0,4,4,3]; float[] 0; float[] 1", "quint8[0,2,2,3]; float[] 0; float[] 1"},
        {"QuantizedMaxPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         "qint8[1,2,2,1] -4 -3 -8 -5; float[] 0; float[] 1", "qint8[1,1,1,1] -3; float[] 0; float[] 1"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedMaxPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         "quint8[] 1; float[] 0; float[] 1", "InvalidArgument: tensor_in must be 4-dimensional"},
        {"QuantizedMaxPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         "quint8[1,2,2,1] 1; float[2] 0 0; float[] 1", "InvalidArgument: input 1 is an end of a range"},
        {"QuantizedMaxPool", "ksize=[1,1,1,2]; strides=[1,1,1,2]; padding=VALID",
         "quint8[1,2,2,2] 1; float[] 0; float[] 1",
         "Unimplemented: Pooling is not yet supported on the batch or depth dimension."},
        {"QuantizedAvgPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         "quint8[] 1; float[] 0; float[] 1", "InvalidArgument: tensor_in must be 4-dimensional"},
        {"QuantizedAvgPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         "quint8[1,2,2,1] 1; float[2] 0 0; float[] 1", "InvalidArgument: input 1 is an end of a range"},
        {"QuantizedAvgPool", "ksize=[1,1,1,2]; strides=[1,1,1,2]; padding=VALID",
         "quint8[1,2,2,2] 1; float[] 0; float[] 1",
         "Unimplemented: Pooling is not yet supported on the batch or depth dimension."},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"QuantizedMaxPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID", "quint8[?,4,4,3]; []; []",
         "quint8[?,2,2,3]; []; []"},
        {"QuantizedAvgPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID", "quint8[?,4,4,3]; []; [1]",
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
