// Tests of projective transforms of images. Values were computed with numpy, pixel by pixel.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define IMAGE "float[1,2,3,1] 1 2 3 4 5 6"
#define NEAREST "interpolation=NEAREST"
#define BILINEAR "interpolation=BILINEAR"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ImageProjectiveTransformV2", NEAREST, IMAGE "; float[1,8] 1 0 1 0 1 0 0 0; int32[2] 2 3",
         "float[1,2,3,1] 2 3 0 5 6 0"},
        {"ImageProjectiveTransformV3", NEAREST, IMAGE "; float[1,8] 1 0 1 0 1 0 0 0; int32[2] 2 3; float[] 9",
         "float[1,2,3,1] 2 3 9 5 6 9"},
        {"ImageProjectiveTransformV3", BILINEAR,
         IMAGE "; float[1,8] 1 0 0.5 0 1 0.25 0 0; int32[2] 2 3; float[] 10",
         "float[1,2,3,1] 2.25 3.25 6.875 5.875 6.625 8.5"},
        {"ImageProjectiveTransformV2", NEAREST,
         "uint8[1,2,3,1] 1 2 3 4 5 200; float[1,8] 0 1 0 1 0 0 0 0; int32[2] 3 2",
         "uint8[1,3,2,1] 1 4 2 5 3 200"},
        {"ImageProjectiveTransformV2", NEAREST, IMAGE "; float[1,8] 1 0 0 0 1 0 -0.5 0; int32[2] 2 4",
         "float[1,2,4,1] 1 3 0 0 4 0 0 0"},
        {"ImageProjectiveTransformV2", NEAREST "; fill_mode=REFLECT",
         "double[1,2,3,1] 1 2 3 4 5 6; float[1,8] 1 0 -2 0 1 -1 0 0; int32[2] 3 6",
         "double[1,3,6,1] 2 1 1 2 3 3 2 1 1 2 3 3 5 4 4 5 6 6"},
        {"ImageProjectiveTransformV2", BILINEAR "; fill_mode=NEAREST",
         IMAGE "; float[1,8] 1 0 -1.5 0 1 0.5 0 0; int32[2] 2 4", "float[1,2,4,1] 2.5 2.5 3 4 4 4 4.5 5.5"},
        {"ImageProjectiveTransformV2", NEAREST "; fill_mode=WRAP",
         "int64[1,1,3,1] 1 2 3; float[1,8] 1 0 -1 0 1 0 0 0; int32[2] 1 5", "int64[1,1,5,1] 3 1 2 3 1"},
        {"ImageProjectiveTransformV2", NEAREST,
         "int32[2,1,2,2] 1 2 3 4 5 6 7 8; float[2,8] 1 0 0 0 1 0 0 0 -1 0 1 0 1 0 0 0; int32[2] 1 2",
         "int32[2,1,2,2] 1 2 3 4 7 8 5 6"},
        {"ImageProjectiveTransformV2", BILINEAR,
         "int32[1,1,1,1] 7; float[1,8] nan 0 0 0 inf 0 0 0; int32[2] 2 1", "int32[1,2,1,1] 0"},
        {"ImageProjectiveTransformV2", NEAREST, "float[0,2,3,1]; float[1,8] 1; int32[2] 2 2",
         "float[0,2,2,1]"},
        {"ImageProjectiveTransformV2", NEAREST "; fill_mode=REFLECT",
         "float[1,0,0,1]; float[1,8] 1 0 0 0 1 0 0 0; int32[2] 1 2", "float[1,1,2,1] 0"},
        {.op = "ImageProjectiveTransformV3",
         .attrs = BILINEAR,
         .inputs = "float[0,2,2,1]; float[1,8] 1; int32[2] 3 3; float[] 0",
         .want = "float[0,3,3,1]"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ImageProjectiveTransformV2", "interpolation=CUBIC", IMAGE "; float[1,8] 1; int32[2] 2 3",
         "InvalidArgument: Invalid interpolation CUBIC"},
        {"ImageProjectiveTransformV2", NEAREST "; fill_mode=BLACK", IMAGE "; float[1,8] 1; int32[2] 2 3",
         "InvalidArgument: Invalid mode BLACK"},
        {"ImageProjectiveTransformV2", NEAREST, "float[2,3,1] 1; float[1,8] 1; int32[2] 2 3",
         "InvalidArgument: Input images must have rank 4"},
        {"ImageProjectiveTransformV2", NEAREST, IMAGE "; float[2,8] 1; int32[2] 2 3",
         "InvalidArgument: Input transform should be num_images x 8 or 1 x 8"},
        {"ImageProjectiveTransformV2", NEAREST, IMAGE "; float[1,8] 1; int32[2] 0 3",
         "InvalidArgument: output dimensions must be positive"},
        {"ImageProjectiveTransformV2", NEAREST, IMAGE "; float[1,8] 1; int32[3] 1 3 1",
         "InvalidArgument: output shape must have two elements"},
        {"ImageProjectiveTransformV3", NEAREST, IMAGE "; float[1,8] 1; int32[2] 1 3; float[1] 1",
         "InvalidArgument: fill_value must be a scalar"},
        {.op = "ImageProjectiveTransformV2",
         .attrs = BILINEAR,
         .inputs = "float[] 1; float[1,8] 1; int32[2] 3 3",
         .want = "InvalidArgument: Input images must have rank 4"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"ImageProjectiveTransformV2", NEAREST, "[?,2,3,1]; [1,8]; int32[2] 4 5", "[?,4,5,1]"},
        {"ImageProjectiveTransformV3", NEAREST, "[2,2,3,1]; [1,8]; int32[2]; []", "[2,?,?,1]"},
        {"ImageProjectiveTransformV3", NEAREST, "[2,2,3,1]; [8]; int32[2]; []",
         "InvalidArgument: Shape must be rank 2 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

// The incoming gradient, transformed back, is the gradient if each pixel maps to one pixel of the image or
// outside.
static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"ImageProjectiveTransformV2", NEAREST,
         "double[1,2,3,1] 1 2 3 4 5 6; float[1,8] 1 0 1 0 1 0 0 0; int32[2] 2 3"},
        {"ImageProjectiveTransformV3", NEAREST,
         "double[2,2,3,1] 1 2 3 4 5 6 7 8 9 1 2 3; float[2,8] 1 0 1 0 1 0 0 0 -1 0 2 0 1 1 0 0; int32[2] 4 3; "
         "float[] 9"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition), cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred), cmocka_unit_test(gradients_match_finite_differences)};
    return BD_RUN_TESTS(tests);
}
