// Tests of QuantizeV2 and Dequantize. Values were computed with numpy from the ops' definitions.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void quantize_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizeV2", "T=quint8; mode=MIN_FIRST", "float[6] 1 1.25 1.75 127 255 500; float[] 0; float[] 255",
         "quint8[6] 1 1 2 127 255 255; float[] 0; float[] 255"},
        {"QuantizeV2", "T=qint8", "float[5] -128 -1.5 0.5 127 500; float[] -128; float[] 127",
         "qint8[5] -128 -2 1 127 127; float[] -128; float[] 127"},
        {"QuantizeV2", "T=quint8", "float[4] -1 0 1 3; float[] 0; float[] 2",
         "quint8[4] 0 0 128 255; float[] 0; float[] 2"},
        {"QuantizeV2", "T=qint8; mode=SCALED", "float[4] -1 0 0.5 9; float[] -1; float[] 0.5",
         "qint8[4] -128 0 64 127; float[] -1; float[] 0.9921875"},
        {"QuantizeV2", "T=qint8; mode=SCALED; narrow_range=true",
         "float[3] -1 0 0.5; float[] -1; float[] 0.5", "qint8[3] -127 0 64; float[] -1; float[] 1"},
        {"QuantizeV2", "T=qint8; mode=SCALED; round_mode=HALF_TO_EVEN",
         "float[3] 0.5 1.5 -2.5; float[] -128; float[] 127", "qint8[3] 0 2 -2; float[] -128; float[] 127"},
        {"QuantizeV2", "T=qint32; mode=SCALED", "float[3] -9 1 0; float[] -1; float[] 1",
         "qint32[3] -2147483648 2147483647 0; float[] -1; float[] 1"},
        {"QuantizeV2", "T=quint16", "float[2] 0 1; float[] 0; float[] 1",
         "quint16[2] 0 65535; float[] 0; float[] 1"},
        // A range of zero width is widened to 0.01.
        {"QuantizeV2", "T=quint8", "float[1] 0; float[] 0; float[] 0",
         "quint8[1] 0; float[] 0; float[] 0.01"},
        {"QuantizeV2", "T=quint8; axis=1", "float[1000000000000,1,0]; float[1] 0; float[1] 1",
         "quint8[1000000000000,1,0]; float[1] 0; float[1] 1"},
        {"QuantizeV2", "T=quint8; axis=1", "float[2,2] 1 1 2 4; float[2] 0 0; float[2] 2 4",
         "quint8[2,2] 128 64 255 255; float[2] 0; float[2] 2 4"},
        {"QuantizeV2", "T=qint32; mode=MIN_FIRST", "float[3] nan inf -inf; float[] -inf; float[] inf",
         "*; *; *"},
        {"QuantizeV2", "T=qint16; mode=SCALED", "float[3] nan inf -inf; float[] nan; float[] nan", "*; *; *"},
        {"QuantizeV2", "T=quint8", "float[0,3]; float[] 0; float[] 2", "quint8[0,3]; float[] 0; float[] 2"},
        {"QuantizeV2", "T=quint8", "float[1] 1; float[] 2; float[] 1",
         "InvalidArgument: input_max_range must be larger than input_min_range."},
        {"QuantizeV2", "T=quint8; round_mode=HALF_TO_EVEN", "float[1] 1; float[] 0; float[] 1",
         "InvalidArgument: Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED'"},
        {"QuantizeV2", "T=quint8; axis=1", "float[1] 1; float[1] 0; float[1] 1",
         "InvalidArgument: Axis is 1 but input tensor has 1 dimensions"},
        {"QuantizeV2", "T=quint8; axis=0", "float[2] 1; float[1] 0; float[2] 1",
         "InvalidArgument: min_range has 1 elements"},
        {"QuantizeV2", "T=quint8; axis=-2", "float[1] 1; float[1] 0; float[1] 1",
         "InvalidArgument: Axis must be at least -1. Found -2"},
    };
    OP_TEST_VALUES(cases);
}

static void dequantize_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Dequantize", NULL, "quint8[3] 0 128 255; float[] 0; float[] 6", "float[3] 0 3.01176471 6"},
        {"Dequantize", NULL, "qint8[3] -128 0 127; float[] -1; float[] 2", "float[3] -1 0.50588235 2"},
        {"Dequantize", "mode=MIN_FIRST", "quint8[3] 1 16 255; float[] 0; float[] 255", "float[3] 1 16 255"},
        {"Dequantize", "mode=MIN_FIRST", "qint16[2] -32768 32767; float[] -1; float[] 1",
         "float[2] -1.0000153 0.9999847"},
        {"Dequantize", "mode=SCALED", "qint8[3] -128 0 64; float[] -1; float[] 0.5", "float[3] -1 0 0.5"},
        {"Dequantize", "mode=SCALED; narrow_range=true", "qint8[2] -127 64; float[] -1; float[] 0.5",
         "float[2] -1 0.50393701"},
        {"Dequantize", "mode=SCALED", "quint8[2] 255 51; float[] 0; float[] 5", "float[2] 5 1"},
        {"Dequantize", "axis=0", "quint8[2,1] 255 255; float[2] 0; float[2] 5 1", "float[2,1] 5 1"},
        {"Dequantize", NULL, "quint8[0]; float[] 0; float[] 5", "float[0]"},
        {"Dequantize", NULL, "quint8[1] 1; float[0]; float[] 5",
         "InvalidArgument: min_range must contain a single float element, but it contains 0 elements"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"QuantizeV2", "T=quint8", "[2,?]; []; []", "quint8[2,?]; []; []"},
        {"QuantizeV2", "T=quint8; axis=0", "[2,?]; [2]; [2]", "quint8[2,?]; [2]; [2]"},
        {"QuantizeV2", "T=quint8", "[2,?]; [1]; []", "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"Dequantize", NULL, "quint8[2,?]; []; []", "[2,?]"},
        {"Dequantize", NULL, "quint8[2,?]; []; [1]", "InvalidArgument: Shape must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(quantize_follows_its_definition),
                                       cmocka_unit_test(dequantize_follows_its_definition),
                                       cmocka_unit_test(shapes_are_inferred)};
    return BD_RUN_TESTS(tests);
}
