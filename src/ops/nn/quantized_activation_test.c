// Tests of QuantizedBiasAdd and QuantizedRelu, QuantizedRelu6 and QuantizedReluX. The values are TensorFlow
// 2.15's, which has no kernel for QuantizedReluX.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void biases_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedBiasAdd", "out_type=qint32",
         "quint8[2,3] 0 128 255 1 2 3; quint8[3] 0 100 255; float[] -1; float[] 2; float[] -0.5; float[] 1",
         "qint32[2,3] -12288 4867 24576 -12192 -7276 289; float[] -262144; float[] 262144"},
        {"QuantizedBiasAdd", "out_type=qint32",
         "qint8[2,3] 0 127 -128 1 2 3; qint8[3] 0 100 -128; float[] -1; float[] 2; float[] -0.5; float[] 1",
         "qint32[2,3] 6216 23275 -12288 6313 11228 337; float[] -262144; float[] 262144"},
    };
    OP_TEST_VALUES(cases);
}

static void activations_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedRelu", NULL, "quint8[4] 0 100 255 50; float[] -1; float[] 2",
         "quint8[4] 85 100 255 85; float[] -1; float[] 2"},
        {"QuantizedRelu", "out_type=qint32",
         "qint32[4] 0 -100000000 2147483647 -2147483648; float[] -1; float[] 2",
         "qint32[4] 0 -100000000 2147483647 -715827883; float[] -1; float[] 2"},
        {"QuantizedRelu6", NULL, "quint8[4] 0 100 255 50; float[] -1; float[] 9",
         "quint8[4] 26 100 179 50; float[] -1; float[] 9"},
        {"QuantizedRelu6", NULL, "quint8[] 200; float[] -1; float[] 9",
         "quint8[] 179; float[] -1; float[] 9"},
        {"QuantizedRelu", NULL, "quint8[] 20; float[] -1; float[] 2", "quint8[] 85; float[] -1; float[] 2"},
        {"QuantizedReluX", NULL, "quint8[4] 0 100 255 50; float[] 3; float[] -1; float[] 9",
         "quint8[4] 26 100 103 50; float[] -1; float[] 9"},
        {"QuantizedReluX", NULL, "quint8[] 255; float[] 3; float[] -1; float[] 9",
         "quint8[] 103; float[] -1; float[] 9"},
        {"QuantizedRelu", NULL, "quint8[0,2]; float[] -1; float[] 9", "quint8[0,2]; float[] -1; float[] 9"},
        {"QuantizedRelu6", NULL, "quint8[0,2]; float[] -1; float[] 9", "quint8[0,2]; float[] -1; float[] 9"},
        {"QuantizedReluX", NULL, "quint8[0,2]; float[] 1; float[] -1; float[] 9",
         "quint8[0,2]; float[] -1; float[] 9"},
        {"QuantizedBiasAdd", "out_type=qint32",
         "quint8[0,2]; quint8[2] 1; float[] 0; float[] 1; float[] 0; float[] 1", "qint32[0,2]; *; *"},
        {"QuantizedBiasAdd", "out_type=qint32",
         "quint8[2,0]; quint8[0]; float[] 0; float[] 1; float[] 0; float[] 1", "qint32[2,0]; *; *"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedBiasAdd", "out_type=qint32",
         "quint8[] 1; quint8[] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: Input tensor must be at least 2D"},
        {"QuantizedBiasAdd", "out_type=qint32",
         "quint8[1,2] 1; quint8[1,2] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: Biases must be 1D"},
        {"QuantizedBiasAdd", "out_type=qint32",
         "quint8[1,2] 1; quint8[3] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: Must provide as many biases as the last dimension of the input tensor: 3 "
         "vs. [1,2]"},
        {"QuantizedBiasAdd", "out_type=qint32",
         "quint8[1,2] 1; quint8[2] 1; float[0]; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: input 2 is an end of a range"},
        {"QuantizedRelu", "out_type=quint8", "qint32[2] 1 2; float[] 0; float[] 1",
         "Unimplemented: QuantizedRelu needs an output of the type of its input"},
        {"QuantizedRelu", NULL, "quint8[2] 1 2; float[2] 0 0; float[] 1",
         "InvalidArgument: input 1 is an end of a range"},
        {"QuantizedRelu6", NULL, "quint8[2] 1 2; float[2] 0 0; float[] 1",
         "InvalidArgument: input 1 is an end of a range"},
        {"QuantizedReluX", NULL, "quint8[2] 1 2; float[2] 0 0; float[] 0; float[] 1",
         "InvalidArgument: max_value must be a scalar: 2 elements"},
        {"QuantizedReluX", NULL, "quint8[2] 1 2; float[] 1; float[] 0; float[0]",
         "InvalidArgument: input 3 is an end of a range"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"QuantizedBiasAdd", "out_type=qint32", "quint8[2,?]; quint8[3]; []; []; []; []",
         "qint32[2,3]; []; []"},
        {"QuantizedBiasAdd", "out_type=qint32", "quint8[2,4]; quint8[3]; []; []; []; []",
         "InvalidArgument: Dimensions must be equal, but are 4 and 3"},
        {"QuantizedBiasAdd", "out_type=qint32", "quint8[3]; quint8[3]; []; []; []; []",
         "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
        {"QuantizedRelu", NULL, "quint8[2,?]; []; []", "quint8[2,?]; []; []"},
        {"QuantizedRelu6", NULL, "quint8[2,?]; []; []", "quint8[2,?]; []; []"},
        {"QuantizedReluX", NULL, "quint8[2,?]; []; []; []", "quint8[2,?]; []; []"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(biases_are_those_of_tensorflow),
        cmocka_unit_test(activations_are_those_of_tensorflow),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
