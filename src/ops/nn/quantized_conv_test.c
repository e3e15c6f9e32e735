// Tests of QuantizedConv2D. The values are TensorFlow 2.15's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=SAME",
         "quint8[1,3,4,1] 20 40 60 80 100 120 140 160 180 200 220 240; quint8[3,3,1,1] 1 4 7 2 5 8 3 "
         "6 9; float[] -1; float[] 2; float[] 0; float[] 255",
         "qint32[1,3,4,1] -280 195 855 540 1385 2415 3315 1775 1700 2385 2925 1400; float[] "
         "-25264514; float[] 25264514"},
        {"QuantizedConv2D", "strides=[1,2,2,1]; padding=SAME",
         "quint8[1,3,4,1] 20 40 60 80 100 120 140 160 180 200 220 240; quint8[3,3,1,1] 1 4 7 2 5 8 3 "
         "6 9; float[] -1; float[] 2; float[] -1; float[] 3",
         "qint32[1,2,2,1] 2115 -5860 -26415 -25480; float[] -396306.125; float[] 396306.125"},
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=VALID",
         "quint8[2,3,2,2] 143 113 181 231 80 27 44 205 203 65 175 30 212 86 125 146 254 121 137 106 "
         "41 233 190 129; quint8[2,1,2,3] 210 103 144 206 5 58 0 208 132 110 164 105; float[] -1; "
         "float[] 2; float[] -1; float[] 3",
         "qint32[2,2,2,3] 10096 -5910 1754 42892 1226 8936 -17438 18219 7152 2764 -1219 -135 9524 "
         "32830 23122 12140 7549 7231 39410 12931 16380 5878 20309 12978; float[] -396306.125; "
         "float[] 396306.125"},
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=SAME",
         "quint8[1,1,2,1] 179 27; quint8[5,5,1,2] 31 2 68 38 105 211 147 18 113 245 135 100 108 109 "
         "158 190 11 235 67 124 193 183 131 91 78 155 157 33 217 85 135 16 94 14 218 31 9 38 47 144 "
         "133 162 173 187 152 141 118 235 232 31; float[] 0; float[] 0; float[] -1; float[] 3",
         "qint32[1,1,2,2] 5017 15452 12371 7290; float[] 0; float[] 0"},
    };
    OP_TEST_VALUES(cases);
}

static void sums_are_exact_in_32_bits(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=VALID",
         "quint8[1,1,1,40000] 255; quint8[1,1,40000,1] 255; float[] 0; float[] 255; float[] 0; float[] 255",
         "qint32[1,1,1,1] -1693967296; float[] -2147483648; float[] 2147483648"},
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=VALID",
         "quint8[1,1,1,300] 255; quint8[1,1,300,1] 255; float[] 0; float[] 255; float[] 0; float[] 255",
         "qint32[1,1,1,1] 19507500; float[] -2147483648; float[] 2147483648"},
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=VALID",
         "quint8[1,1,1,2] 255 1; qint8[1,1,2,1] -128 127; float[] 0; float[] 255; float[] -128; "
         "float[] 127",
         "qint32[1,1,1,1] -32513; float[] -2147483648; float[] 2147483648"},
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=VALID",
         "quint8[0,2,2,1]; quint8[1,1,1,3] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "qint32[0,2,2,3]; *; *"},
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=VALID",
         "quint8[1,1,1,0]; quint8[1,1,0,2]; float[] 0; float[] 1; float[] 0; float[] 1",
         "qint32[1,1,1,2] 0 0; *; *"},
    };
    OP_TEST_VALUES(cases);
}

static void each_output_channel_may_have_a_range(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedConv2DPerChannel", "strides=[1,1,1,1]; padding=VALID",
         "quint8[1,3,3,2] 172 47 117 192 67 251 195 103 9 211 21 242 36 87 70 216 88 140; qint8[2,2,2,3] 37 -103 -51 -56 -119 20 -13 80 115 69 126 -49 47 64 -46 -29 88 49 115 -99 19 19 14 39; float[] 0; float[] 2; float[3] -1 -2 -3; float[3] 1 3 1",
         "qint32[1,2,2,3] 26681 33850 692 11342 22540 13041 27212 1018 -4828 14748 22872 8814; float[3] -132622.125 -331555.312 -265244.25; float[3] 132622.125 331555.312 265244.25"},
        {"QuantizedConv2DPerChannel", "strides=[1,1,2,1]; padding=VALID",
         "quint8[1,3,3,2] 172 47 117 192 67 251 195 103 9 211 21 242 36 87 70 216 88 140; qint8[2,2,2,3] 37 -103 -51 -56 -119 20 -13 80 115 69 126 -49 47 64 -46 -29 88 49 115 -99 19 19 14 39; float[] 0; float[] 2; float[] -1; float[] 1",
         "qint32[1,2,1,3] 26681 33850 692 27212 1018 -4828; float[] -132622.125; float[] 132622.125"},
        {"QuantizedConv2DPerChannel", "strides=[1,1,1,1]; padding=VALID",
         "quint8[0,1,1,1]; qint8[1,1,1,1] 1; float[] 0; float[] 1; float[1] 0; float[1] 1",
         "qint32[0,1,1,1]; *; *"},
        {"QuantizedConv2DPerChannel", "strides=[1,1,1,1]; padding=VALID",
         "quint8[] 1; qint8[] 1; float[] 0; float[] 1; float[1] 0; float[1] 1",
         "InvalidArgument: input must be 4-dimensional"},
        {"QuantizedConv2DPerChannel", "strides=[1,1,1,1]; padding=VALID",
         "quint8[1,1,1,1] 1; qint8[1,1,1,1] 1; float[] 0; float[] 1; float[3] 0; float[3] 1",
         "InvalidArgument: input 4 must have an end of a range for each of 1 channels: [3]"},
        {"QuantizedConv2DPerChannel", "strides=[1,1,1,1]; padding=VALID; dilations=[1,2,2,1]",
         "quint8[1,1,1,1] 1; qint8[1,1,1,1] 1; float[] 0; float[] 1; float[1] 0; float[1] 1",
         "InvalidArgument: Current implementation only supports dilated rates of 1"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=VALID",
         "quint8[] 1; quint8[] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: input must be 4-dimensional"},
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=VALID",
         "quint8[1,1,1,2] 1; quint8[1,1,1,2] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: input and filter must have the same depth: 2 vs 1"},
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=VALID",
         "quint8[1,1,1,1] 1; quint8[1,1,1,1] 1; float[2] 0 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: input 2 is an end of a range"},
        {"QuantizedConv2D", "strides=[1,2,1,1]; padding=VALID",
         "quint8[1,1,1,1] 1; quint8[1,1,1,1] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: Current implementation only supports equal length strides in the row and "
         "column dimensions."},
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=VALID; dilations=[1,2,2,1]",
         "quint8[1,1,1,1] 1; quint8[1,1,1,1] 1; float[] 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: Current implementation only supports dilated rates of 1"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=VALID",
         "quint8[?,5,5,2]; quint8[3,3,2,4]; []; []; []; []", "qint32[?,3,3,4]; []; []"},
        {"QuantizedConv2D", "strides=[1,1,1,1]; padding=VALID",
         "quint8[?,5,5,2]; quint8[3,3,2,4]; [1]; []; []; []",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_tensorflow),
        cmocka_unit_test(sums_are_exact_in_32_bits),
        cmocka_unit_test(each_output_channel_may_have_a_range),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
