// Tests of QuantizedResizeBilinear. Values are TensorFlow 1.15's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define PIXELS "[1,3,3,2] 172 47 117 192 67 251 195 103 9 211 21 242 36 87 70 216 88 140; "
#define SIZE "int32[2] 4 5; float[] 0; float[] 2"

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedResizeBilinear", NULL, "quint8" PIXELS SIZE,
         "quint8[1,4,5,2] 172 47 139 133 107 204 77 239 67 251 189 89 99 159 36 213 34 237 33 244 116 95 71 166 42 210 51 196 55 191 36 87 56 164 74 201 84 155 88 140; float[] 0; float[] 2"},
        {"QuantizedResizeBilinear", "align_corners=true", "quint8" PIXELS SIZE,
         "quint8[1,4,5,2] 172 47 145 120 117 192 92 222 67 251 187 84 117 144 45 205 41 225 36 245 143 98 86 155 29 213 36 211 43 209 36 87 53 152 70 216 79 178 88 140; float[] 0; float[] 2"},
        {"QuantizedResizeBilinear", "half_pixel_centers=true", "quint8" PIXELS SIZE,
         "quint8[1,4,5,2] 172 47 150 105 117 192 87 227 67 251 186 82 132 130 50 204 43 228 38 245 135 97 94 143 32 213 40 208 46 204 36 87 50 138 70 216 81 171 88 140; float[] 0; float[] 2"},
        {"QuantizedResizeBilinear", NULL, "float" PIXELS SIZE,
         "float[1,4,5,2] 172 47 139 134 107 203.800003 77 239.200012 67 251 189.25 89 97.2999954 159.350006 35.3000031 213.850006 33.1999969 236.650009 32.5 244.25 115.5 95 69.8999939 166.100006 42.5 209 51.5 195.5 54.5 191 36 87 56.4000015 164.399994 73.5999985 200.800003 84.4000015 155.199997 88 140; float[] 0; float[] 2"},
        {"QuantizedResizeBilinear", NULL,
         "qint32[1,2,2,3] -472785632 -721469503 -458044151 -913225031 836096639 37003808 -979903969 -618872118 707217652 960356503 62515875 -273450498; int32[2] 3 3; float[] 0; float[] 2",
         "qint32[1,3,3,3] -472785631 -721469503 -458044159 -766411901 316907956 -128012170 -913225023 836096640 37003808 -810864553 -653071250 318797079 -46401928 -4106320 -7044806 335829349 320376115 -169965733 -979903999 -618872127 707217664 313603025 -164613444 53438871 960356480 62515876 -273450495; float[] 0; float[] 2"},
        {"QuantizedResizeBilinear", NULL,
         "qint32[1,1,2,1] -2147483648 2147483647; int32[2] 1 4; float[] 0; float[] 2",
         "qint32[1,1,4,1] -2147483647 0 2147483647 2147483647; float[] 0; float[] 2"},
        {"QuantizedResizeBilinear", NULL, "quint8[1,1,2,1] 3 250; int32[2] 1 2; float[] 0; float[] 2",
         "quint8[1,1,2,1] 3 250; float[] 0; float[] 2"},
        {"QuantizedResizeBilinear", NULL, "quint8[0,1,2,1]; int32[2] 1 3; float[] 0; float[] 2",
         "quint8[0,1,3,1]; float[] 0; float[] 2"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedResizeBilinear", NULL, "quint8[2] 1; int32[2] 1 3; float[] 0; float[] 2",
         "InvalidArgument: input"},
        {"QuantizedResizeBilinear", NULL, "quint8[1,0,1,1]; int32[2] 1 3; float[] 0; float[] 2",
         "InvalidArgument: "},
        {"QuantizedResizeBilinear", NULL, "quint8[1,1,1,1] 1; int32[2] 0 3; float[] 0; float[] 2",
         "InvalidArgument: "},
        {"QuantizedResizeBilinear", NULL, "quint8[1,1,1,1] 1; int32[3] 1; float[] 0; float[] 2",
         "InvalidArgument: "},
        {"QuantizedResizeBilinear", NULL,
         "quint8[4,1,1,1] 1; int32[2] 2147483647 2147483647; float[] 0; float[] 2", "InvalidArgument: "},
        {"QuantizedResizeBilinear", NULL, "quint8[1,1,1,1] 1; int32[2] 1 3; float[2] 0; float[] 2",
         "InvalidArgument: input 2 is an end of a range"},
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
