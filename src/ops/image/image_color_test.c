// Tests of ops on the colors of images.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// Values are computed with Python's colorsys.

// Eight colors, and their hue, saturation and value.
#define RGB                                                                                                  \
    "float[2,4,3] 0.2 0.5 0.1 0.9 0.1 0.4 0.3 0.3 0.3 0 0 0 0.1 0.2 0.9 1 0.5 0 0.6 0.1 0.6 0.2 0.9 0.8"
#define HSV                                                                                                  \
    "float[2,4,3] 0.29166667 0.8 0.5 0.9375 0.88888889 0.9 0 0 0.3 0 0 0 "                                   \
    "0.64583333 0.88888889 0.9 0.083333333 1 1 0.83333333 0.83333333 0.6 0.47619048 0.77777778 0.9"

static void hsv_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "RGBToHSV", .inputs = RGB, .want = HSV, .tolerance = 1e-06},
        {.op = "RGBToHSV", .inputs = "double[3] 0.2 0.5 0.1", .want = "double[3] 0.2916666666666667 0.8 0.5"},
        {.op = "HSVToRGB", .inputs = HSV, .want = RGB, .tolerance = 1e-06},
        {.op = "HSVToRGB",
         .inputs = "double[4,3] 0.6458333333333334 0.888888888888889 0.9 0.08333333333333333 1 1 "
                   "0.8333333333333334 0.8333333333333334 0.6 0.4761904761904762 0.7777777777777777 0.9",
         .want = "double[4,3] 0.1 0.2 0.9 1 0.5 0 0.6 0.1 0.6 0.2 0.9 0.8"},
        {.op = "HSVToRGB", .inputs = "half[3] 0x0000 0x0000 0x3c00", .want = "half[3] 0x3c00"},
        {.op = "RGBToHSV", .inputs = "half[3] 0x3c00 0x3800 0x3800", .want = "half[3] 0x0000 0x3800 0x3c00"},
        {.op = "RGBToHSV",
         .inputs = "bfloat16[3] 0x0000 0x0000 0x4000",
         .want = "bfloat16[3] 0x3f2b 0x3f80 0x4000"},
    };
    OP_TEST_VALUES(cases);
}

static void hue_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "AdjustHue",
         .inputs = RGB "; float[] 0.3",
         .want = "float[2,4,3] 0.1 0.28 0.5 0.56 0.9 0.1 0.3 0.3 0.3 0 0 0 0.9 0.1 0.36 0 1 0.3 0.6 0.5 "
                 "0.1 0.66 0.2 0.9",
         .tolerance = 2e-06},
        {.op = "AdjustHue",
         .inputs = RGB "; float[] -0.45",
         .want = "float[2,4,3] 0.5 0.1 0.48 0.1 0.9 0.84 0.3 0.3 0.3 0 0 0 0.76 0.9 0.1 0 0.2 1 0.1 0.6 "
                 "0.25 0.9 0.31 0.2",
         .tolerance = 2e-06},
        {.op = "AdjustHue", .inputs = RGB "; float[] 0", .want = RGB, .tolerance = 2e-06},
        {.op = "AdjustHue",
         .inputs = RGB "; float[] 2.25",
         .want = "float[2,4,3] 0.1 0.4 0.5 0.8 0.9 0.1 0.3 0.3 0.3 0 0 0 0.9 0.1 0.6 0 1 8.8817842e-16 0.6 "
                 "0.35 0.1 0.45 0.2 0.9",
         .tolerance = 2e-06},
        // Turns that are no numbers, or too many: some hue, and no wait without an end.
        {.op = "AdjustHue", .inputs = "float[1,1,3] 0.5 0.25 0; float[] inf", .want = "*"},
        {.op = "AdjustHue", .inputs = "float[1,1,3] 0.5 0.25 0; float[] -1e38", .want = "*"},
        {.op = "AdjustHue", .inputs = "float[1,1,3] nan 0.25 0; float[] 0.5", .want = "*"},
        {.op = "AdjustHue",
         .inputs = "half[1,1,3] 0x3c00 0x0000 0x0000; float[] 0.5",
         .want = "half[1,1,3] 0x0000 0x3c00 0x3c00"},
    };
    OP_TEST_VALUES(cases);
}

static void saturation_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "AdjustSaturation",
         .inputs = RGB "; float[] 0.5",
         .want = "float[2,4,3] 0.35 0.5 0.3 0.9 0.5 0.65 0.3 0.3 0.3 0 0 0 0.5 0.55 0.9 1 0.75 0.5 0.6 "
                 "0.35 0.6 0.55 0.9 0.85",
         .tolerance = 2e-06},
        {.op = "AdjustSaturation",
         .inputs = RGB "; float[] 0",
         .want = "float[2,4,3] 0.5 0.5 0.5 0.9 0.9 0.9 0.3 0.3 0.3 0 0 0 0.9 0.9 0.9 1 1 1 0.6 0.6 0.6 0.9 "
                 "0.9 0.9",
         .tolerance = 2e-06},
        {.op = "AdjustSaturation",
         .inputs = RGB "; float[] 1.5",
         .want = "float[2,4,3] 0.125 0.5 0 0.9 0 0.3375 0.3 0.3 0.3 0 0 0 0 0.1125 0.9 1 0.5 0 0.6 0 0.6 0 "
                 "0.9 0.77142857",
         .tolerance = 2e-06},
        {.op = "AdjustSaturation",
         .inputs = RGB "; float[] 10",
         .want = "float[2,4,3] 0.125 0.5 0 0.9 0 0.3375 0.3 0.3 0.3 0 0 0 0 0.1125 0.9 1 0.5 0 0.6 0 0.6 0 "
                 "0.9 0.77142857",
         .tolerance = 2e-06},
        {.op = "AdjustSaturation",
         .inputs = RGB "; float[] -1",
         .want = "float[2,4,3] 0.5 0.5 0.5 0.9 0.9 0.9 0.3 0.3 0.3 0 0 0 0.9 0.9 0.9 1 1 1 0.6 0.6 0.6 0.9 "
                 "0.9 0.9",
         .tolerance = 2e-06},
        // Of a color that is no number: some color.
        {.op = "AdjustSaturation", .inputs = "float[1,1,3] nan inf 0; float[] 0.5", .want = "*"},
        {.op = "AdjustSaturation",
         .inputs = "half[1,1,3] 0x3c00 0x3800 0x3400; float[] 0",
         .want = "half[1,1,3] 0x3c00 0x3c00 0x3c00"},
    };
    OP_TEST_VALUES(cases);
}

// Computed with numpy.
static void contrast_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "AdjustContrastv2",
         .inputs = "float[2,2,3,2] -0.25 0.875 -0.875 -1.375 1 -1.375 -0.125 0.75 1.375 -0.625 1.875 0.875 "
                   "-0.125 0.875 0.125 1 -1.625 -0.125 -1.375 -0.375 0 -0.375 0 0.125; float[] 1.75",
         .want = "float[2,2,3,2] -0.8125 1.640625 -1.90625 -2.296875 1.375 -2.296875 -0.59375 1.421875 "
                 "2.03125 -0.984375 2.90625 1.640625 0.15625 1.390625 0.59375 1.609375 -2.46875 -0.359375 "
                 "-2.03125 -0.796875 0.375 -0.796875 0.375 0.078125",
         .tolerance = 2e-06},
        {.op = "AdjustContrastv2",
         .inputs = "float[2,3,2] -0.25 0.875 -0.875 -1.375 1 -1.375 -0.125 0.75 1.375 -0.625 1.875 0.875; "
                   "float[] 0",
         .want = "float[2,3,2] 0.5 -0.14583333 0.5 -0.14583333 0.5 -0.14583333 0.5 -0.14583333 0.5 "
                 "-0.14583333 0.5 -0.14583333",
         .tolerance = 2e-06},
        {.op = "AdjustContrast",
         .inputs = "uint8[1,3,2] 1 2 3 4 5 10; float[] 2; float[] 0; float[] 9",
         .want = "float[1,3,2] 0 0 3 2.6666667 7 9"},
        {.op = "AdjustContrastv2",
         .inputs = "half[1,1,2,3] 0x3c00 0x4000 0x4200 0x4200 0x4400 0x4500; float[] 2",
         .want = "half[1,1,2,3] 0x0000 0x3c00 0x4000 0x4400 0x4500 0x4600"},
    };
    OP_TEST_VALUES(cases);
}

static void empty_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "AdjustContrast",
         .inputs = "double[0,3,2]; float[] 2; float[] 0; float[] 9",
         .want = "float[0,3,2]"},
        {.op = "RGBToHSV", .inputs = "float[0,3]", .want = "float[0,3]"},
        {.op = "AdjustHue", .inputs = "float[0,2,3]; float[] 1", .want = "float[0,2,3]"},
        {.op = "AdjustContrastv2", .inputs = "float[2,0,2,3]; float[] 1", .want = "float[2,0,2,3]"},
        {.op = "HSVToRGB", .inputs = "float[0,3]", .want = "float[0,3]"},
        {.op = "AdjustSaturation", .inputs = "float[0,2,3]; float[] 1", .want = "float[0,2,3]"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "RGBToHSV", .inputs = "float[] 1", .want = "InvalidArgument: input must be at least 1-D"},
        {.op = "HSVToRGB",
         .inputs = "float[2] 1",
         .want = "InvalidArgument: input must have 3 channels but instead has 2"},
        {.op = "AdjustHue",
         .inputs = "float[2,3] 1; float[] 1",
         .want = "InvalidArgument: input must be at least 3-D, got shape [2,3]"},
        {.op = "AdjustHue",
         .inputs = "float[1,2,3] 1; float[1] 1",
         .want = "InvalidArgument: delta must be scalar: [1]"},
        {.op = "AdjustSaturation",
         .inputs = "float[1,2,4] 1; float[] 1",
         .want = "InvalidArgument: input must have 3 channels but instead has 4 channels."},
        {.op = "AdjustContrastv2",
         .inputs = "float[1,2,4] 1; float[2] 1",
         .want = "InvalidArgument: contrast_factor must be scalar: [2]"},
        {.op = "AdjustContrast",
         .inputs = "int8[1,2,4] 1; float[] 2; float[1] 1; float[] 2",
         .want = "InvalidArgument: min_value must be scalar: [1]"},
        {.op = "AdjustContrast",
         .inputs = "int8[2,4] 1; float[] 2; float[] 1; float[] 2",
         .want = "InvalidArgument: input must be at least 3-D, got shape [2,4]"},
        {.op = "AdjustSaturation",
         .inputs = "float[1,1,3] 1; float[1] 1",
         .want = "InvalidArgument: scale must be scalar: [1]"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"RGBToHSV", NULL, "[?,2,?]", "[?,2,3]"},
        {"HSVToRGB", NULL, "[2,4]", "InvalidArgument: Dimension must be 3 but is 4"},
        {"HSVToRGB", NULL, "[]", "InvalidArgument: must be at least rank 1 but is rank 0"},
        {"AdjustHue", NULL, "[?,2,3]; []", "[?,2,3]"},
        {"AdjustSaturation", NULL, "[2,3]; []", "InvalidArgument: must be at least rank 3 but is rank 2"},
        {"AdjustContrast", NULL, "uint8[1,2,?]; []; []; []", "[1,2,?]"},
        {"AdjustContrast", NULL, "[1,2,3]; []; []; [1]", "InvalidArgument: must be rank 0 but is rank 1"},
        {"AdjustContrastv2", NULL, "[1,2,3]; [1]", "InvalidArgument: must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        // each order of the channels
        {"RGBToHSV", NULL,
         "double[2,3,3] 0.9 0.5 0.1 0.7 0.2 0.4 0.3 0.8 0.1 0.2 0.6 0.5 0.5 0.1 0.7 0.3 0.4 0.9"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hsv_follows_its_definition),
        cmocka_unit_test(hue_follows_its_definition),
        cmocka_unit_test(saturation_follows_its_definition),
        cmocka_unit_test(contrast_follows_its_definition),
        cmocka_unit_test(empty_follows_its_definition),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
