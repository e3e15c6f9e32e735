// Tests of patches of images, their gradient and morphological dilation.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define PATCH2 "ksizes=[1,2,2,1]; strides=[1,1,1,1]; rates=[1,1,1,1]; padding=VALID"
#define DILATE "strides=[1,1,1,1]; rates=[1,1,1,1]; padding=VALID"

// Computed with numpy from the definitions.

#define VOLUME "ksizes=[1,2,2,2,1]; strides=[1,1,1,1,1]; padding=VALID"

// Values of TensorFlow 2.15.
static void patches_of_volumes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ExtractVolumePatches", "ksizes=[1,2,2,2,1]; strides=[1,1,1,1,1]; padding=VALID",
         "float[1,2,3,3,1] 53 89 57 14 56 22 25 8 47 34 58 21 30 7 20 55 50 30",
         "float[1,1,2,2,8] 53 89 14 56 34 58 30 7 89 57 56 22 58 21 7 20 14 56 25 8 30 7 55 50 56 22 8 47 7 20 50 30"},
        {"ExtractVolumePatches", "ksizes=[1,2,1,2,1]; strides=[1,2,1,1,1]; padding=SAME",
         "int32[2,3,2,2,2] 78 87 16 41 80 55 34 21 85 8 41 12 51 31 14 71 13 1 9 17 84 25 77 60 51 41 52 52 63 22 83 64 71 10 51 12 2 29 45 21 51 58 16 44 73 20 34 30",
         "int32[2,2,2,2,8] 78 87 16 41 85 8 41 12 16 41 0 0 41 12 0 0 80 55 34 21 51 31 14 71 34 21 0 0 14 71 0 0 13 1 9 17 0 0 0 0 9 17 0 0 0 0 0 0 84 25 77 60 0 0 0 0 77 60 0 0 0 0 0 0 51 41 52 52 71 10 51 12 52 52 0 0 51 12 0 0 63 22 83 64 2 29 45 21 83 64 0 0 45 21 0 0 51 58 16 44 0 0 0 0 16 44 0 0 0 0 0 0 73 20 34 30 0 0 0 0 34 30 0 0 0 0 0 0"},
        {"ExtractVolumePatches", VOLUME, "half[0,3,3,3,1]", "half[0,2,2,2,8]"},
        {"ExtractVolumePatches", VOLUME, "float[] 1", "InvalidArgument: input must be 5-dimensional"},
        {"ExtractVolumePatches", "ksizes=[1,2,2,2,2]; strides=[1,1,1,1,1]; padding=VALID",
         "float[1,3,3,3,2] 1", "Unimplemented: Only support ksizes across space."},
        {"ExtractVolumePatches", "ksizes=[1,2,2,2,1]; strides=[2,1,1,1,1]; padding=VALID",
         "float[1,3,3,3,2] 1", "Unimplemented: Only support strides across space."},
        {"ExtractVolumePatches",
         "ksizes=[1,2147483647,2147483647,2147483647,1]; strides=[1,1,1,1,1]; padding=SAME",
         "float[1,3,3,3,2] 1", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"ExtractVolumePatches", VOLUME, "[?,3,4,5,2]", "[?,2,3,4,16]"},
        {"ExtractVolumePatches", VOLUME, "?", "[?,?,?,?,?]"},
    };
    OP_TEST_SHAPES(shapes);
    static const op_grad_case grads[] = {
        {.op = "ExtractVolumePatches",
         .attrs = "ksizes=[1,2,1,2,1]; strides=[1,1,2,1,1]; padding=SAME",
         .inputs = "double[2,2,2,2,1] 1 -2 3 0.5 1 -1 2 0.25 1 1 -3 2 4 5 6 7"},
    };
    OP_TEST_GRADIENTS(grads);
}

static void patches_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ExtractImagePatches",
         .attrs = PATCH2,
         .inputs = "float[1,3,3,1] -0.125 -1.75 0.375 -2.125 -0.75 0.25 0.375 1.625 -2.375",
         .want = "float[1,2,2,4] -0.125 -1.75 -2.125 -0.75 -1.75 0.375 -0.75 0.25 -2.125 -0.75 0.375 1.625 "
                 "-0.75 0.25 1.625 -2.375"},
        {.op = "ExtractImagePatches",
         .attrs = "ksizes=[1,2,3,1]; strides=[1,2,1,1]; rates=[1,1,1,1]; padding=SAME",
         .inputs = "double[2,4,3,2] 0.375 0.75 -0.375 0.625 -1.125 0.625 0.5 -1 -0.625 -0.25 -0.625 1 0.125 "
                   "1.375 1.125 0 -0.25 -1 -0.75 -0.75 0.375 -0.875 0.125 0.25 -0.5 -0.125 1.5 1.625 -0.75 "
                   "-0.25 -0.375 -0.25 1.5 0.625 1.25 1.75 -0.5 -0.125 0 1 -0.125 0.625 1.125 1.125 0.5 "
                   "-0.75 -1.5 1.125",
         .want = "double[2,2,3,12] 0 0 0.375 0.75 -0.375 0.625 0 0 0.5 -1 -0.625 -0.25 0.375 0.75 -0.375 "
                 "0.625 -1.125 0.625 0.5 -1 -0.625 -0.25 -0.625 1 -0.375 0.625 -1.125 0.625 0 0 -0.625 "
                 "-0.25 -0.625 1 0 0 0 0 0.125 1.375 1.125 0 0 0 -0.75 -0.75 0.375 -0.875 0.125 1.375 "
                 "1.125 0 -0.25 -1 -0.75 -0.75 0.375 -0.875 0.125 0.25 1.125 0 -0.25 -1 0 0 0.375 -0.875 "
                 "0.125 0.25 0 0 0 0 -0.5 -0.125 1.5 1.625 0 0 -0.375 -0.25 1.5 0.625 -0.5 -0.125 1.5 "
                 "1.625 -0.75 -0.25 -0.375 -0.25 1.5 0.625 1.25 1.75 1.5 1.625 -0.75 -0.25 0 0 1.5 0.625 "
                 "1.25 1.75 0 0 0 0 -0.5 -0.125 0 1 0 0 1.125 1.125 0.5 -0.75 -0.5 -0.125 0 1 -0.125 0.625 "
                 "1.125 1.125 0.5 -0.75 -1.5 1.125 0 1 -0.125 0.625 0 0 0.5 -0.75 -1.5 1.125 0 0"},
        {.op = "ExtractImagePatches",
         .attrs = "ksizes=[1,2,2,1]; strides=[1,2,1,1]; rates=[1,2,2,1]; padding=SAME",
         .inputs = "int32[1,5,4,1] 83 87 60 29 29 35 4 14 6 4 9 75 75 82 94 24 59 91 0 85",
         .want = "int32[1,3,4,4] 0 0 0 35 0 0 29 4 0 0 35 14 0 0 4 0 0 35 0 82 29 4 75 94 35 14 82 24 4 0 "
                 "94 0 0 82 0 0 75 94 0 0 82 24 0 0 94 0 0 0"},
        {.op = "ExtractImagePatches",
         .attrs = "ksizes=[1,2,2,1]; strides=[1,1,1,1]; rates=[1,3,2,1]; padding=VALID",
         .inputs = "uint8[1,4,4,1] 66 84 90 34 11 23 15 45 46 44 24 47 40 91 86 52",
         .want = "uint8[1,1,2,4] 66 90 40 86 84 34 91 52"},
        {.op = "ExtractImagePatches", .attrs = PATCH2, .inputs = "float[0,3,3,1]", .want = "float[0,2,2,4]"},
        {.op = "ExtractImagePatches",
         .attrs = PATCH2,
         .inputs = "float[3,3,1] 1",
         .want = "InvalidArgument: input must be 4-dimensional"},
        {.op = "ExtractImagePatches",
         .attrs = "ksizes=[1,2,2,2]; strides=[1,1,1,1]; rates=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,3,3,2] 1",
         .want = "Unimplemented: Only support ksizes across space."},
        {.op = "ExtractImagePatches",
         .attrs = "ksizes=[1,2,2,1]; strides=[1,1,1,1]; rates=[2,1,1,1]; padding=VALID",
         .inputs = "float[1,3,3,2] 1",
         .want = "Unimplemented: Only support rates across space."},
        {.op = "ExtractImagePatches",
         .attrs = "ksizes=[1,2147483647,2147483647,1]; strides=[1,1,1,1]; rates=[1,1,1,1]; padding=SAME",
         .inputs = "float[1,3,3,2] 1",
         .want = "InvalidArgument: "},
        {.op = "ExtractImagePatches",
         .attrs = PATCH2,
         .inputs = "float[] 1",
         .want = "InvalidArgument: input must be 4-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void dilation_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Dilation2D",
         .attrs = DILATE,
         .inputs = "float[1,4,4,1] 0.5 -1 2 0.25 1.25 1 0.625 0.5 0.25 -0.75 -1.625 0.5 -0.375 -0.75 0.375 "
                   "0.75; float[2,2,1] -0.125 1.625 0.875 -0.125",
         .want = "float[1,3,3,1] 2.125 3.625 1.875 2.625 2.25 2.125 0.875 0.25 2.125"},
        {.op = "Dilation2DBackpropInput",
         .attrs = DILATE,
         .inputs = "float[1,4,4,1] 0.5 -1 2 0.25 1.25 1 0.625 0.5 0.25 -0.75 -1.625 0.5 -0.375 -0.75 0.375 "
                   "0.75; float[2,2,1] -0.125 1.625 0.875 -0.125; float[1,3,3,1] -0.625 -1 -0.375 0 2.5 "
                   "1.875 0.625 -1.375 0.75",
         .want = "float[1,4,4,1] 0 0 -1.375 0 -0.625 0 2.5 1.875 0 0.625 0 0.75 0 0 -1.375 0"},
        {.op = "Dilation2DBackpropFilter",
         .attrs = DILATE,
         .inputs = "float[1,4,4,1] 0.5 -1 2 0.25 1.25 1 0.625 0.5 0.25 -0.75 -1.625 0.5 -0.375 -0.75 0.375 "
                   "0.75; float[2,2,1] -0.125 1.625 0.875 -0.125; float[1,3,3,1] -0.625 -1 -0.375 0 2.5 "
                   "1.875 0.625 -1.375 0.75",
         .want = "float[2,2,1] -0.375 4.75 -0.625 -1.375"},
    };
    OP_TEST_VALUES(cases);
}

static void dilation_at_strides_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Dilation2D",
         .attrs = "strides=[1,2,1,1]; rates=[1,1,1,1]; padding=SAME",
         .inputs = "double[2,4,3,2] -0 -0.875 1.375 1.75 -1.125 0.625 0.125 -1.375 0.75 -0.125 0.25 -0.25 "
                   "-1.375 -1.5 -1.25 1.625 1.5 0.625 1.5 1.375 -0.875 0.875 -0.5 -0.125 0.5 0.5 -1.75 1.25 "
                   "0.25 -0.25 -0.5 0.5 1.25 -1.375 -0.625 0.5 -0.875 -1 0.125 0.125 0.25 1.625 -1.375 "
                   "-0.625 -0.75 1.375 -0.5 -1.375; double[2,3,2] 0.375 0.125 -1 0.875 0.5 -0.625 -1.875 "
                   "-0.25 0.375 -1.75 0 -0.125",
         .want = "double[2,2,3,2] 1.875 1.125 1.125 2.625 1.75 1.875 1.875 1 2 2.5 0.5 1.75 1.25 1.375 "
                 "1.625 2.125 -0.25 1.375 0.625 1.25 0.75 1 0.5 2.5"},
        {.op = "Dilation2DBackpropInput",
         .attrs = "strides=[1,2,1,1]; rates=[1,1,1,1]; padding=SAME",
         .inputs = "double[2,4,3,2] -0 -0.875 1.375 1.75 -1.125 0.625 0.125 -1.375 0.75 -0.125 0.25 -0.25 "
                   "-1.375 -1.5 -1.25 1.625 1.5 0.625 1.5 1.375 -0.875 0.875 -0.5 -0.125 0.5 0.5 -1.75 1.25 "
                   "0.25 -0.25 -0.5 0.5 1.25 -1.375 -0.625 0.5 -0.875 -1 0.125 0.125 0.25 1.625 -1.375 "
                   "-0.625 -0.75 1.375 -0.5 -1.375; double[2,3,2] 0.375 0.125 -1 0.875 0.5 -0.625 -1.875 "
                   "-0.25 0.375 -1.75 0 -0.125; double[2,2,3,2] -1 -0.25 -0.5 -0.375 1.125 0.625 1 -0.625 "
                   "0.25 0.375 -1 0.25 1.375 0.375 -1 0.75 -2.375 0.375 -0.875 0.25 -0.5 0.125 1.375 0",
         .want = "double[2,4,3,2] 0 0 0.125 0 0 0 0 0 -0.5 0 0 0 0 0 0 0 -0.75 0 1 0 0 0 0 0 0 0.375 0 "
                 "1.125 0 0 0 0 0.375 0 -2.375 0 0 0 0.5 0.125 -0.5 0 0 0 0 0.25 0 0"},
        {.op = "Dilation2DBackpropFilter",
         .attrs = "strides=[1,2,1,1]; rates=[1,1,1,1]; padding=SAME",
         .inputs = "double[2,4,3,2] -0 -0.875 1.375 1.75 -1.125 0.625 0.125 -1.375 0.75 -0.125 0.25 -0.25 "
                   "-1.375 -1.5 -1.25 1.625 1.5 0.625 1.5 1.375 -0.875 0.875 -0.5 -0.125 0.5 0.5 -1.75 1.25 "
                   "0.25 -0.25 -0.5 0.5 1.25 -1.375 -0.625 0.5 -0.875 -1 0.125 0.125 0.25 1.625 -1.375 "
                   "-0.625 -0.75 1.375 -0.5 -1.375; double[2,3,2] 0.375 0.125 -1 0.875 0.5 -0.625 -1.875 "
                   "-0.25 0.375 -1.75 0 -0.125; double[2,2,3,2] -1 -0.25 -0.5 -0.375 1.125 0.625 1 -0.625 "
                   "0.25 0.375 -1 0.25 1.375 0.375 -1 0.75 -2.375 0.375 -0.875 0.25 -0.5 0.125 1.375 0",
         .want = "double[2,3,2] 2.5 1.25 -1 1.25 -2.125 -0.875 0 0 -2.875 0 1.375 0.25"},
    };
    OP_TEST_VALUES(cases);
}

static void dilation_at_rates_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Dilation2D",
         .attrs = "strides=[1,1,2,1]; rates=[1,2,2,1]; padding=SAME",
         .inputs = "int32[1,5,4,1] 4 2 -2 7 -7 0 2 5 0 -9 3 5 5 -2 5 3 3 2 6 0; int32[2,2,1] 1 -1 -8 -7",
         .want = "int32[1,5,2,1] -5 -6 5 -1 1 3 2 4 6 6"},
        {.op = "Dilation2DBackpropInput",
         .attrs = "strides=[1,1,2,1]; rates=[1,2,2,1]; padding=SAME",
         .inputs = "int32[1,5,4,1] 4 2 -2 7 -7 0 2 5 0 -9 3 5 5 -2 5 3 3 2 6 0; int32[2,2,1] 1 -1 -8 -7; "
                   "int32[1,5,2,1] -9 5 -6 0 -2 3 -6 5 4 0",
         .want = "int32[1,5,4,1] -6 0 0 0 0 0 -3 0 0 0 -1 0 4 0 0 0 0 0 0 0"},
        {.op = "Dilation2DBackpropFilter",
         .attrs = "strides=[1,1,2,1]; rates=[1,2,2,1]; padding=SAME",
         .inputs = "int32[1,5,4,1] 4 2 -2 7 -7 0 2 5 0 -9 3 5 5 -2 5 3 3 2 6 0; int32[2,2,1] 1 -1 -8 -7; "
                   "int32[1,5,2,1] -9 5 -6 0 -2 3 -6 5 4 0",
         .want = "int32[2,2,1] 6 -8 5 -9"},
    };
    OP_TEST_VALUES(cases);
}

// A maximum starts at the lowest number, and nan is not above it.
static void dilation_of_nan_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Dilation2D",
         .attrs = DILATE,
         .inputs = "float[1,2,2,1] nan; float[1,1,1] 0",
         .want = "float[1,2,2,1] -3.4028235e38"},
    };
    OP_TEST_VALUES(cases);
}

static void dilation_of_an_empty_image_is_empty(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Dilation2D",
         .attrs = DILATE,
         .inputs = "float[0,2,2,1]; float[2,2,1] 0",
         .want = "float[0,1,1,1]"},
        {.op = "Dilation2DBackpropInput",
         .attrs = DILATE,
         .inputs = "float[1,2,2,1] 1; float[0,1,1]; float[1,3,2,1] 1",
         .want = "float[1,2,2,1] 0"},
        {.op = "Dilation2DBackpropFilter",
         .attrs = DILATE,
         .inputs = "float[0,2,2,1]; float[1,1,1] 1; float[0,2,2,1]",
         .want = "float[1,1,1] 0"},
    };
    OP_TEST_VALUES(cases);
}

static void dilation_errors_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Dilation2D",
         .attrs = DILATE,
         .inputs = "float[2,2,1] 1; float[2,2,1] 0",
         .want = "InvalidArgument: input must be 4-dimensional and filter 3-dimensional"},
        {.op = "Dilation2D",
         .attrs = DILATE,
         .inputs = "float[1,2,2,1] 1; float[2,2,2] 0",
         .want = "InvalidArgument: input and filter must have the same depth: 1 vs 2"},
        {.op = "Dilation2DBackpropFilter",
         .attrs = DILATE,
         .inputs = "float[1,2,2,1] 1; float[2,2,1] 0; float[1,2,1,1] 1",
         .want = "InvalidArgument: out_backprop has incompatible size: [1,2,1,1] instead of [1,1,1,1]"},
        {.op = "Dilation2D",
         .attrs = DILATE,
         .inputs = "float[1,1,1,1] 1; float[] 1",
         .want = "InvalidArgument: input must be 4-dimensional and filter 3-dimensional"},
        {.op = "Dilation2DBackpropInput",
         .attrs = DILATE,
         .inputs = "float[1,2,2,1] 1; float[1,1,1] 1; float[] 1",
         .want = "InvalidArgument: out_backprop has incompatible size"},
        {.op = "Dilation2DBackpropFilter",
         .attrs = DILATE,
         .inputs = "float[1,2,2,1] 1; float[1,1,1] 1; float[] 1",
         .want = "InvalidArgument: out_backprop has incompatible size"},
    };
    OP_TEST_VALUES(cases);
}

static void dilation_of_half_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Dilation2D",
         .attrs = DILATE,
         .inputs = "half[1,1,3,1] 0x3c00 0x4500 0x4000; half[1,2,1] 0x4200 0xc000",
         .want = "half[1,1,2,1] 0x4400 0x4800"},
        {.op = "Dilation2DBackpropInput",
         .attrs = DILATE,
         .inputs =
             "half[1,1,3,1] 0x3c00 0x4500 0x4000; half[1,2,1] 0x4200 0xc000; half[1,1,2,1] 0x4700 0x4880",
         .want = "half[1,1,3,1] 0x4700 0x4880 0x0000"},
        {.op = "Dilation2DBackpropFilter",
         .attrs = DILATE,
         .inputs =
             "half[1,1,3,1] 0x3c00 0x4500 0x4000; half[1,2,1] 0x4200 0xc000; half[1,1,2,1] 0x4700 0x4880",
         .want = "half[1,2,1] 0x4c00 0x0000"},
    };
    OP_TEST_VALUES(cases);
}

static void dilation_of_integers_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Dilation2D",
         .attrs = DILATE,
         .inputs = "int8[1,1,3,1] 1 5 2; int8[1,2,1] 3 -2",
         .want = "int8[1,1,2,1] 4 8"},
        {.op = "Dilation2DBackpropInput",
         .attrs = DILATE,
         .inputs = "int8[1,1,3,1] 1 5 2; int8[1,2,1] 3 -2; int8[1,1,2,1] 7 9",
         .want = "int8[1,1,3,1] 7 9 0"},
        {.op = "Dilation2DBackpropFilter",
         .attrs = DILATE,
         .inputs = "int8[1,1,3,1] 1 5 2; int8[1,2,1] 3 -2; int8[1,1,2,1] 7 9",
         .want = "int8[1,2,1] 16 0"},
        {.op = "Dilation2D",
         .attrs = DILATE,
         .inputs = "int64[1,1,3,1] 1 5 2; int64[1,2,1] 3 -2",
         .want = "int64[1,1,2,1] 4 8"},
        {.op = "Dilation2DBackpropInput",
         .attrs = DILATE,
         .inputs = "int64[1,1,3,1] 1 5 2; int64[1,2,1] 3 -2; int64[1,1,2,1] 7 9",
         .want = "int64[1,1,3,1] 7 9 0"},
        {.op = "Dilation2DBackpropFilter",
         .attrs = DILATE,
         .inputs = "int64[1,1,3,1] 1 5 2; int64[1,2,1] 3 -2; int64[1,1,2,1] 7 9",
         .want = "int64[1,2,1] 16 0"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"ExtractImagePatches", PATCH2, "[?,3,5,2]", "[?,2,4,8]"},
        {"ExtractImagePatches", PATCH2, "?", "[?,?,?,?]"},
        {"ExtractImagePatches", PATCH2, "[1,1,5,2]", "InvalidArgument: Negative dimension size"},
        {"Dilation2D", DILATE, "[?,3,5,?]; [2,2,4]", "[?,2,4,4]"},
        {"Dilation2D", DILATE, "[1,3,5,3]; [2,2,4]",
         "InvalidArgument: Dimensions must be equal, but are 3 and 4"},
        {"Dilation2DBackpropInput", DILATE, "[1,3,5,3]; ?; ?", "[1,3,5,3]"},
        {"Dilation2DBackpropFilter", DILATE, "?; [2,2,4]; ?", "[2,2,4]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {.op = "ExtractImagePatches", .attrs = PATCH2, .inputs = "double[2,2,3,2] 1"},
        {.op = "ExtractImagePatches",
         .attrs = "ksizes=[1,2,3,1]; strides=[1,2,1,1]; rates=[1,2,1,1]; padding=SAME",
         .inputs = "double[2,3,3,1] 1 -2 3 0.5 1.5 -1 2 0.25 1.25 1.75 -3 2.5 4 5 6 7 8 9"},
        {.op = "Dilation2D",
         .attrs = "strides=[1,1,2,1]; rates=[1,2,1,1]; padding=SAME",
         .inputs =
             "double[1,3,3,2] 1 -2 3 0.5 1.5 -1 2 0.25 1.25 1.75 -3 2.5 4 5 6 7 8 9; double[2,2,2] 0.1 -0.3 "
             "0.45 1.2 -0.7 0.6 0.33 0.21"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patches_follow_the_definition),
        cmocka_unit_test(patches_of_volumes_follow_the_definition),
        cmocka_unit_test(dilation_follows_its_definition),
        cmocka_unit_test(dilation_at_strides_follow_the_definition),
        cmocka_unit_test(dilation_at_rates_follow_the_definition),
        cmocka_unit_test(dilation_of_nan_follows_its_definition),
        cmocka_unit_test(dilation_of_an_empty_image_is_empty),
        cmocka_unit_test(dilation_errors_follow_the_definition),
        cmocka_unit_test(dilation_of_half_follows_its_definition),
        cmocka_unit_test(dilation_of_integers_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
