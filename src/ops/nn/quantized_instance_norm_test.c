// Tests of QuantizedInstanceNorm. Values are TensorFlow's (1.15 and 2.15).
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define IMAGE "quint8[1,3,3,2] 172 47 117 192 67 251 195 103 9 211 21 242 36 87 70 216 88 140; "

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedInstanceNorm", NULL, IMAGE "float[] -1; float[] 2",
         "quint8[1,3,3,2] 228 0 162 153 102 215 255 59 33 173 47 206 65 42 106 178 127 98; "
         "float[] -1.7086714506149292; float[] 1.7844098806381226"},
        {"QuantizedInstanceNorm", "output_range_given=true; given_y_min=-1; given_y_max=1.5",
         IMAGE "float[] -1; float[] 2",
         "quint8[1,3,3,2] 246 0 154 141 70 228 255 10 0 169 0 215 18 0 75 176 105 65; float[] -1; float[] 1.5"},
        // All alike: the range has the least width.
        {"QuantizedInstanceNorm", "min_separation=0.5", "quint8[2,1,2,1] 7; float[] 0; float[] 1",
         "quint8[2,1,2,1] 0; float[] 0; float[] 0.5"},
        {"QuantizedInstanceNorm", "output_range_given=true; given_y_min=-1; given_y_max=1",
         "quint8[1,0,2,3]; float[] 0; float[] 1", "quint8[1,0,2,3]; float[] -1; float[] 1"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedInstanceNorm", NULL, "quint8[3] 1; float[] 0; float[] 1",
         "InvalidArgument: x must be 4-dimensional: [3]"},
        {"QuantizedInstanceNorm", NULL, "quint8[1,1,1,1] 1; float[] 1; float[] 1",
         "InvalidArgument: input_min must be less than input_max : 1 >= 1"},
        {"QuantizedInstanceNorm", NULL, "quint8[1,1,1,1] 1; float[2] 0; float[] 1",
         "InvalidArgument: input 1 is an end of a range"},
        {"QuantizedInstanceNorm", "output_range_given=true; given_y_min=1; given_y_max=-1",
         "quint8[1,1,1,1] 1; float[] 0; float[] 1",
         "InvalidArgument: given_y_min must be less than given_y_max : 1 >= -1"},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_tensorflow),
        cmocka_unit_test(wrong_inputs_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
