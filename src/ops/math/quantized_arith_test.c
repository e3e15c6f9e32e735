// Tests of QuantizedAdd and QuantizedMul. The values are TensorFlow 2.15's, those of shapes that it does
// not broadcast apart.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedAdd", NULL,
         "quint8[4] 0 128 255 1; quint8[4] 0 100 255 2; float[] -1; float[] 2; float[] -0.5; float[] 1",
         "qint32[4] -98304 38984 196731 -96761; float[] -32768; float[] 32768"},
        {"QuantizedAdd", NULL,
         "quint8[2,2] 0 128 255 1; quint8[2] 7 9; float[] -1; float[] 2; float[] -0.5; float[] 1",
         "qint32[2,2] -95602 3858 101003 -94059; float[] -32768; float[] 32768"},
        {"QuantizedAdd", NULL,
         "quint8[4] 0 128 255 1; quint8[] 7; float[] 0; float[] 2; float[] -0.5; float[] 10",
         "qint32[4] -2699 10485 23566 -2596; float[] -163840; float[] 163840"},
        {"QuantizedMul", NULL,
         "quint8[4] 0 128 255 1; quint8[4] 0 100 255 2; float[] -1; float[] 2; float[] -0.5; float[] 1",
         "qint32[4] 7225 645 28900 6972; float[] -148614.797; float[] 148614.797"},
        {"QuantizedMul", NULL,
         "quint8[2,2] 0 128 255 1; quint8[2] 7 9; float[] 0; float[] 2; float[] -0.5; float[] 1",
         "qint32[2,2] 0 -9728 -19890 -76; float[] -99076.5312; float[] 99076.5312"},
        {"QuantizedMul", NULL, "quint8[] 3; quint8[2] 7 9; float[] 0; float[] 2; float[] 1; float[] 2",
         "qint32[2] 786 792; float[] -66051.0234; float[] 66051.0234"},
    };
    OP_TEST_VALUES(cases);
}

static void all_shapes_broadcast(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedMul", NULL,
         "quint8[2,1] 0 2; quint8[2] 3 5; float[] 0; float[] 255; float[] 0; float[] 255",
         "qint32[2,2] 0 0 6 10; float[] -2147483648; float[] 2147483648"},
        {"QuantizedAdd", NULL, "quint8[0,2]; quint8[2] 1 2; float[] 0; float[] 1; float[] 0; float[] 1",
         "qint32[0,2]; float[] -16384; float[] 16384"},
        {"QuantizedMul", NULL, "quint8[0,2]; quint8[2] 1 2; float[] 0; float[] 255; float[] 0; float[] 255",
         "qint32[0,2]; float[] -2147483648; float[] 2147483648"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"QuantizedAdd", NULL, "quint8[2] 1 2; quint8[3] 1 2 3; float[] 0; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: "},
        {"QuantizedAdd", NULL, "quint8[2] 1 2; quint8[2] 1 2; float[] 1; float[] 1; float[] 0; float[] 1",
         "InvalidArgument: max_x must be larger than min_x."},
        {"QuantizedMul", NULL, "quint8[2] 1 2; quint8[2] 1 2; float[] 0; float[] 1; float[] 1; float[] nan",
         "InvalidArgument: max_y must be larger than min_y."},
        {"QuantizedMul", NULL, "quint8[2] 1 2; quint8[2] 1 2; float[] 0; float[] 1; float[] 1; float[2] 1 1",
         "InvalidArgument: input 5 is an end of a range"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"QuantizedAdd", NULL, "quint8[2,1]; quint8[3]; []; []; []; []", "qint32[2,3]; []; []"},
        {"QuantizedMul", NULL, "quint8[2]; quint8[3]; []; []; []; []",
         "InvalidArgument: Dimensions must be equal, but are 2 and 3"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_tensorflow),
        cmocka_unit_test(all_shapes_broadcast),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
