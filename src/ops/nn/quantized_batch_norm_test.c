// Tests of QuantizedBatchNormWithGlobalNormalization. The values are TensorFlow 2.15's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedBatchNormWithGlobalNormalization",
         "out_type=qint32; variance_epsilon=0.001; scale_after_normalization=true",
         "quint8[1,1,2,2] 0 50 100 255; float[] -10; float[] 20; quint8[2] 0 100; float[] 0; float[] "
         "20; quint8[2] 1 200; float[] 0; float[] 50; quint8[2] 5 10; float[] -1; float[] 3; "
         "quint8[2] 100 200; float[] 0; float[] 2",
         "qint32[1,1,2,2] -38075 -7870 4489 4502; float[] -1048576; float[] 1048576"},
        {"QuantizedBatchNormWithGlobalNormalization",
         "out_type=qint32; variance_epsilon=0.001; scale_after_normalization=false",
         "quint8[1,1,2,2] 0 50 100 255; float[] -10; float[] 20; quint8[2] 0 100; float[] 0; float[] "
         "20; quint8[2] 1 200; float[] 0; float[] 50; quint8[2] 5 10; float[] -1; float[] 3; "
         "quint8[2] 100 200; float[] 0; float[] 2",
         "qint32[1,1,2,2] -48025 -5646 6245 2240; float[] -1048576; float[] 1048576"},
        {"QuantizedBatchNormWithGlobalNormalization",
         "out_type=qint32; variance_epsilon=0.001; scale_after_normalization=true",
         "quint8[0,2,2,1]; float[] 0; float[] 1; quint8[1] 1; float[] 0; float[] 1; quint8[1] 1; "
         "float[] 0; float[] 1; quint8[1] 1; float[] 0; float[] 1; quint8[1] 1; float[] 0; float[] 1",
         "qint32[0,2,2,1]; float[] -1048576; float[] 1048576"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedBatchNormWithGlobalNormalization",
         "out_type=qint32; variance_epsilon=0.001; scale_after_normalization=true",
         "quint8[] 1; float[] 0; float[] 1; quint8[] 1; float[] 0; float[] 1; quint8[] 1; float[] 0; "
         "float[] 1; quint8[] 1; float[] 0; float[] 1; quint8[] 1; float[] 0; float[] 1",
         "InvalidArgument: input must be 4-dimensional"},
        {"QuantizedBatchNormWithGlobalNormalization",
         "out_type=qint32; variance_epsilon=0.001; scale_after_normalization=true",
         "quint8[1,1,1,1] 1; float[] 0; float[] 1; quint8[] 1; float[] 0; float[] 1; quint8[] 1; "
         "float[] 0; float[] 1; quint8[] 1; float[] 0; float[] 1; quint8[] 1; float[] 0; float[] 1",
         "InvalidArgument: mean must be 1-dimensional"},
        {"QuantizedBatchNormWithGlobalNormalization",
         "out_type=qint32; variance_epsilon=0.001; scale_after_normalization=true",
         "quint8[1,1,1,2] 1; float[] 0; float[] 1; quint8[1] 1; float[] 0; float[] 1; quint8[1] 1; "
         "float[] 0; float[] 1; quint8[1] 1; float[] 0; float[] 1; quint8[1] 1; float[] 0; float[] 1",
         "InvalidArgument: mean must have one element for each of the 2 channels"},
        {"QuantizedBatchNormWithGlobalNormalization",
         "out_type=qint32; variance_epsilon=0.001; scale_after_normalization=true",
         "quint8[1,1,1,1] 1; float[0]; float[] 1; quint8[1] 1; float[] 0; float[] 1; quint8[1] 1; "
         "float[] 0; float[] 1; quint8[1] 1; float[] 0; float[] 1; quint8[1] 1; float[] 0; float[] 1",
         "InvalidArgument: input 1 is an end of a range"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"QuantizedBatchNormWithGlobalNormalization",
         "out_type=qint32; variance_epsilon=0.001; scale_after_normalization=true",
         "quint8[?,2,2,3]; []; []; quint8[3]; []; []; quint8[3]; []; []; quint8[3]; []; []; "
         "quint8[3]; []; []",
         "qint32[?,2,2,3]; []; []"},
        {"QuantizedBatchNormWithGlobalNormalization",
         "out_type=qint32; variance_epsilon=0.001; scale_after_normalization=true",
         "quint8[2,2,3]; []; []; quint8[3]; []; []; quint8[3]; []; []; quint8[3]; []; []; quint8[3]; "
         "[]; []",
         "InvalidArgument: Shape must be rank 4 but is rank 3"},
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
