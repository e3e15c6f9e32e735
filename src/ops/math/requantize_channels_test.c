// Tests of conversions with a range for each channel. Values are those of TensorFlow 1.15 and 2.15 with
// oneDNN.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define IMAGE                                                                                                \
    "qint32[1,2,2,3] -472785632 -721469503 -458044151 -913225031 836096639 37003808 -979903969 -618872118 707217652 960356503 62515875 -273450498; "
#define RANGES "float[3] -1 -2 -3; float[3] 1 3 1"

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"RequantizationRangePerChannel", "clip_value_max=1e30", IMAGE RANGES,
         "float[] -1.168013572692871; float[] 1.168013572692871"},
        {"RequantizationRangePerChannel", "clip_value_max=1", "qint32[1,1,1,3] 2147483647 5 0; " RANGES,
         "float[] 0; float[] 1"},
        {"RequantizationRangePerChannel", "clip_value_max=6",
         "qint32[1,1,1,1] -2147483648; float[1] -1; float[1] 2", "float[] -2; float[] 2"},
        {"RequantizePerChannel", "out_type=qint8", IMAGE RANGES "; float[] -2; float[] 2",
         "qint8[1,2,2,3] -14 -64 -41 -27 74 3 -29 -55 63 28 6 -24; float[] -2; float[] 2"},
        {"RequantizePerChannel", "out_type=quint8", IMAGE RANGES "; float[] 0; float[] 2",
         "quint8[1,2,2,3] 0 0 0 0 149 7 0 0 126 57 11 0; float[] 0; float[] 2"},
        {"RequantizePerChannel", NULL, "qint32[1,1,1,2] 7 -7; float[2] 0; float[2] 0; float[] 0; float[] 0",
         "quint8[1,1,1,2] 0 0; float[] 0; float[] 0"},
        {"RequantizePerChannel", NULL, "qint32[0,1,1,2]; float[2] 0; float[2] 1; float[] 0; float[] 1",
         "quint8[0,1,1,2]; float[] 0; float[] 1"},
        {"RequantizePerChannel", NULL, "qint32[1,1,1,0]; float[0]; float[0]; float[] 0; float[] 1",
         "quint8[1,1,1,0]; float[] 0; float[] 1"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"RequantizationRangePerChannel", "clip_value_max=1", "qint32[] 1; float[1] 0; float[1] 1",
         "InvalidArgument: input must be in NHWC format, not of shape []"},
        {"RequantizationRangePerChannel", "clip_value_max=1", "qint32[1,1,1,2] 1; float[1] 0; float[2] 1",
         "InvalidArgument: input_min has incorrect size, expected 2 was [1]"},
        {"RequantizationRangePerChannel", "clip_value_max=1", "qint32[1,1,1,2] 1; float[2] 0; float[3] 1",
         "InvalidArgument: input_max has incorrect size, expected 2 was [3]"},
        {"RequantizationRangePerChannel", "clip_value_max=1", "qint32[0,1,1,2]; float[2] 0; float[2] 1",
         "InvalidArgument: input must not be empty"},
        {"RequantizePerChannel", NULL, "qint32[1,1,1,2] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: input_min has incorrect size, expected 2 was []"},
        {"RequantizePerChannel", "out_type=qint8",
         "qint32[1,1,1,1] 1; float[1] 0; float[1] 1; float[] 0; float[] 1",
         "InvalidArgument: requested_output_min must be below 0"},
        {"RequantizePerChannel", NULL, "qint32[1,1,1,1] 1; float[1] 0; float[1] 1; float[2] 0; float[] 1",
         "InvalidArgument: input 3 is an end of a range"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_follow_from_the_input(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"RequantizePerChannel", NULL, "qint32[?,2,2,3]; [3]; [3]; []; []", "[?,2,2,3]; []; []"},
        {"RequantizationRangePerChannel", "clip_value_max=1", "qint32[?,2,2,3]; [3]; [3]", "[]; []"},
        {"RequantizePerChannel", NULL, "qint32[2,2,3]; [3]; [3]; []; []",
         "InvalidArgument: Shape must be rank 4 but is rank 3"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_tensorflow),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_follow_from_the_input),
    };
    return BD_RUN_TESTS(tests);
}
