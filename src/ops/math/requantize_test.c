// Tests of RequantizationRange, Requantize and QuantizeDownAndShrinkRange. The values are TensorFlow 2.15's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"RequantizationRange", NULL, "qint32[2] 100000 2000000; float[] -100; float[] 100",
         "float[] 0; float[] 0.0931322798"},
        {"RequantizationRange", NULL, "qint32[2] -100000 -2000000; float[] -100; float[] 100",
         "float[] -0.0931322351; float[] -0.00465658959"},
        {"RequantizationRange", NULL, "qint32[0]; float[] -100; float[] 100", "float[] 0; float[] -100"},
        {"Requantize", "out_type=quint8",
         "qint32[5] 0 1000000 2147483647 -2147483648 -5000000; float[] -100; float[] 100; float[] -1; "
         "float[] 0.5",
         "quint8[5] 170 178 255 0 130; float[] -1; float[] 0.5"},
        {"Requantize", "out_type=qint8",
         "qint32[5] 0 1000000 2147483647 -2147483648 -5000000; float[] -100; float[] 100; float[] -1; "
         "float[] 0.5",
         "qint8[5] 42 50 127 -128 2; float[] -1; float[] 0.5"},
        {"Requantize", "out_type=quint8", "qint32[] 7; float[] -100; float[] 100; float[] 0; float[] 0",
         "quint8[] 0; float[] 0; float[] 0"},
        {"QuantizeDownAndShrinkRange", "out_type=quint8",
         "qint32[3,1] 100000 2000000 -500000; float[] -100; float[] 100",
         "quint8[3,1] 61 255 0; float[] -0.023283042; float[] 0.0931322798"},
        {"QuantizeDownAndShrinkRange", "out_type=quint8",
         "qint32[2] -10000000 -500000; float[] -100; float[] 100",
         "quint8[2] 0 255; float[] -0.465661258; float[] -0.023283042"},
        {"QuantizeDownAndShrinkRange", "out_type=quint8", "qint32[0,2]; float[] -100; float[] 100",
         "quint8[0,2]; float[] 0; float[] -100"},
    };
    OP_TEST_VALUES(cases);
}

static void numbers_without_a_scalar_range_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"RequantizationRange", NULL, "qint32[] 5; float[2] 0 0; float[] 1",
         "InvalidArgument: input 1 is an end of a range and must be a scalar: 2 elements"},
        {"RequantizationRange", NULL, "qint32[0,2]; float[0]; float[] 1",
         "InvalidArgument: input 1 is an end of a range"},
        {"Requantize", "out_type=quint8", "qint32[] 5; float[] 0; float[] 1; float[] 1; float[] 2",
         "InvalidArgument: requested_output_min must be <= 0, but got 1"},
        {"Requantize", "out_type=quint8", "qint32[] 5; float[] 0; float[] 1; float[] -1; float[] -2",
         "InvalidArgument: requested_output_max must be >= requested_output_min"},
        {"Requantize", "out_type=quint8", "qint32[2] 5 6; float[] 0; float[2] 1 1; float[] 0; float[] 1",
         "InvalidArgument: input 2 is an end of a range"},
        {"Requantize", "out_type=quint8", "qint32[0,3]; float[] 0; float[] 1; float[] 0; float[] 1",
         "quint8[0,3]; float[] 0; float[] 1"},
        {"QuantizeDownAndShrinkRange", "out_type=quint8", "qint32[] 0; float[] -1; float[0]",
         "InvalidArgument: input 2 is an end of a range"},
        {"QuantizeDownAndShrinkRange", "out_type=quint8", "qint32[] 2147483647; float[] -1; float[] 1",
         "quint8[] 255; float[] 0; float[] 1"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"RequantizationRange", NULL, "qint32[?,2]; []; []", "[]; []"},
        {"Requantize", "out_type=quint8", "qint32[?,2]; []; []; []; []", "quint8[?,2]; []; []"},
        {"Requantize", "out_type=quint8", "qint32[?,2]; []; []; [1]; []",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"QuantizeDownAndShrinkRange", "out_type=quint8", "qint32[?,2]; []; []", "quint8[?,2]; []; []"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_tensorflow),
        cmocka_unit_test(numbers_without_a_scalar_range_are_errors),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
