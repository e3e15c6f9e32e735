// Tests of quantized depthwise convolutions. Values were computed from the definition, apart from this
// code; those of sums and ranges are TensorFlow 2.15's (with oneDNN) but for its scale of narrow channels.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define IMAGE                                                                                                \
    "quint8[1,3,3,2] 172 47 117 192 67 251 195 103 9 211 21 242 36 87 70 216 88 140; qint8[2,2,2,1] -70 65 102 -89 -41 46 -40 -47; "
#define RANGES "float[] 0; float[] 2; float[2] -1 -2; float[2] 1 3"
#define RESULT_RANGES "float[2] -132622.125 -331555.312; float[2] 132622.125 331555.312"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedDepthwiseConv2D", "strides=[1,1,1,1]; padding=VALID", IMAGE RANGES,
         "qint32[1,2,2,2] -8461 -19212 -2565 -11527 -17008 -18234 -4878 -4467; " RESULT_RANGES},
        {"QuantizedDepthwiseConv2DWithBias", "strides=[1,1,1,1]; padding=VALID",
         IMAGE "float[2] 1.5 -20; " RANGES,
         "qint32[1,2,2,2] 15828 -127162 21724 -119477 7281 -126184 19411 -112417; " RESULT_RANGES},
        {"QuantizedDepthwiseConv2DWithBiasAndRelu", "strides=[1,1,1,1]; padding=VALID",
         IMAGE "float[2] 1.5 2; " RANGES,
         "qint32[1,2,2,2] 15828 0 21724 0 7281 0 19411 6328; " RESULT_RANGES},
        {"QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", "strides=[1,1,1,1]; padding=VALID",
         IMAGE "float[2] 1.5 2; " RANGES "; float[] 0; float[] 4",
         "quint8[1,2,2,2] 63 0 86 0 29 0 77 63; float[] 0; float[] 4"},
        {"QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", "strides=[1,1,1,1]; padding=VALID",
         IMAGE "qint32[2] 20000 100; " RANGES "; float[] 0; float[] 4",
         "quint8[1,2,2,2] 46 0 69 0 12 0 60 0; float[] 0; float[] 4"},
        {"QuantizedDepthwiseConv2D", "strides=[1,2,2,1]; padding=SAME; dilations=[1,1,1,1]",
         "qint8[1,3,3,2] 44 -81 -11 64 -61 123 67 -25 -119 83 -107 114 -92 -41 -58 88 -40 12; qint8[3,3,2,1] -9 -8 -7 -6 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 8; float[] 0; float[] 1; float[] -1; float[] 1",
         "qint32[1,2,2,2] -553 642 -798 888 160 -6 2034 -1524; float[] -66572.125; float[] 66572.125"},
        {"QuantizedDepthwiseConv2D", "strides=[1,1,1,1]; padding=VALID; dilations=[1,2,2,1]",
         "quint8[1,3,3,2] 172 47 117 192 67 251 195 103 9 211 21 242 36 87 70 216 88 140; qint8[2,2,2,2] -8 -7 -6 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7; float[] 0; float[] 1; float[1] -1; float[1] 1",
         "qint32[1,1,1,4] -1292 -929 230 755; *; *"},
    };
    OP_TEST_VALUES(cases);
}

#define VALID "strides=[1,1,1,1]; padding=VALID"
#define ONE "quint8[1,1,1,1] 1; qint8[1,1,1,1] 1; "
#define TO_ONE "float[] 0; float[] 1; float[1] -1; float[1] 1"
#define NONE "quint8[0,1,1,1]; qint8[1,1,1,1] 1; "

static void no_images_give_none(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedDepthwiseConv2D", VALID, NONE TO_ONE, "qint32[0,1,1,1]; *; *"},
        {"QuantizedDepthwiseConv2D", VALID,
         "quint8[1,1,1,0]; qint8[1,1,0,1]; float[] 0; float[] 1; float[0]; float[0]",
         "qint32[1,1,1,0]; float[0]; float[0]"},
        {"QuantizedDepthwiseConv2DWithBias", VALID, NONE "float[1] 1; " TO_ONE, "qint32[0,1,1,1]; *; *"},
        {"QuantizedDepthwiseConv2DWithBiasAndRelu", VALID, NONE "float[1] 1; " TO_ONE,
         "qint32[0,1,1,1]; *; *"},
        {"QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", VALID,
         NONE "float[1] 1; " TO_ONE "; float[] 0; float[] 1", "quint8[0,1,1,1]; *; *"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedDepthwiseConv2D", VALID, "quint8[] 1; qint8[] 1; " TO_ONE,
         "InvalidArgument: input must be 4-dimensional"},
        {"QuantizedDepthwiseConv2D", VALID, "quint8[1,1,1,2] 1; qint8[1,1,1,2] 1; " TO_ONE,
         "InvalidArgument: input and filter must have the same depth: 2 vs 1"},
        {"QuantizedDepthwiseConv2D", VALID, ONE "float[] 0; float[] 1; float[2] -1; float[2] 1",
         "InvalidArgument: input 4 must have an end of a range for each of 1 channels: [2]"},
        {"QuantizedDepthwiseConv2D", VALID, ONE "float[] 0; float[] 1; float[1] -1; float[] 1",
         "InvalidArgument: min_filter and max_filter must have the same shape: [1] vs []"},
        {"QuantizedDepthwiseConv2D", VALID, ONE "float[2] 0; float[] 1; float[1] -1; float[1] 1",
         "InvalidArgument: input 2 is an end of a range"},
        {"QuantizedDepthwiseConv2DWithBias", VALID, ONE "float[2] 0; " TO_ONE,
         "InvalidArgument: bias must have an element for each of 1 channels: [2]"},
        {"QuantizedDepthwiseConv2DWithBias", VALID, ONE "float[] 0; " TO_ONE,
         "InvalidArgument: bias must have an element for each of 1 channels: []"},
        {"QuantizedDepthwiseConv2DWithBiasAndRelu", VALID, ONE "float[] 0; " TO_ONE,
         "InvalidArgument: bias must have an element for each of 1 channels: []"},
        {"QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", VALID,
         ONE "float[1] 0; " TO_ONE "; float[2] 0; float[] 1",
         "InvalidArgument: input 7 is an end of a range"},
    };
    OP_TEST_VALUES(cases);
}

static void ranges_are_shaped_like_the_filters(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"QuantizedDepthwiseConv2D", VALID, "quint8[?,5,5,2]; qint8[2,2,2,3]; []; []; [6]; [6]",
         "[?,4,4,6]; [6]; [6]"},
        {"QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", VALID,
         "quint8[?,5,5,2]; qint8[2,2,2,3]; [6]; []; []; [6]; [6]; []; []", "[?,4,4,6]; []; []"},
        {"QuantizedDepthwiseConv2D", VALID, "quint8[?,5,5,2]; qint8[2,2,2,3]; []; []; [1,6]; [6]",
         "InvalidArgument: Shape must be rank 1 but is rank 2"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(no_images_give_none),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(ranges_are_shaped_like_the_filters),
    };
    return BD_RUN_TESTS(tests);
}
