// Tests of Resampler and BipartiteMatch. Values are worked out by hand.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define IMAGE "[1,2,3,1] 1 2 3 4 5 6; "

static void pixels_are_interpolated(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // at a pixel, between two, between four, half outside, and outside
        {"Resampler", NULL, "float" IMAGE "float[1,5,2] 1 0 0.5 1 1.5 0.5 -0.5 0 3 1",
         "float[1,5,1] 2 4.5 4 0.5 0"},
        {"Resampler", NULL, "double" IMAGE "double[1,1,2,2] 2.5 1 nan 0", "double[1,1,2,1] 3 0"},
        {"Resampler", NULL, "float[2,1,1,2] 1 2 3 4; float[2,2] 0 0 0 0.5", "float[2,2] 1 2 1.5 2"},
        {"Resampler", NULL, "half[1,1,1,1] 0x3c00; half[1,1,2] 0", "half[1,1,1] 0x3c00"},
        {"Resampler", NULL, "float[1,0,3,2]; float[1,1,2] 0", "float[1,1,2] 0"},
        {"Resampler", NULL, "float[0,2,3,1]; float[0,5,2]", "float[0,5,1]"},
        {"Resampler", NULL, "float[1,2,3,0]; float[1,5,2] 0", "float[1,5,0]"},
        {"Resampler", NULL, "float[] 1; float[1,5,2] 0",
         "Unimplemented: The input data shape must be [batch_size, data_height, data_width, data_channels]"},
        {"Resampler", NULL, "float" IMAGE "float[] 0", "InvalidArgument: warp should be at least a matrix"},
        {"Resampler", NULL, "float" IMAGE "float[1,3] 0", "Unimplemented: warping coordinates must be 2D"},
        {"Resampler", NULL, "float" IMAGE "float[2,2] 0",
         "InvalidArgument: Batch size of data and warp tensor must be the same"},
        {"ResamplerGrad", NULL, "double" IMAGE "double[1,2,2] 0.25 0 -0.5 0; double[1,2,1] 1 10",
         "double[1,2,3,1] 5.75 0.25 0 0 0 0; double[1,2,2] 1 3 10 15"},
        {"ResamplerGrad", NULL, "float[1,0,1,1]; float[1,1,2] 0; float[1,1,1] 1",
         "float[1,0,1,1]; float[1,1,2] 0"},
        {"ResamplerGrad", NULL, "float" IMAGE "float[1,2] 0; float[] 1",
         "InvalidArgument: grad_output shape is not consistent with data and warp shapes"},
        {"ResamplerGrad", NULL, "float[] 1; float[] 0; float[] 1", "Unimplemented: input data shape"},
    };
    OP_TEST_VALUES(cases);
    static const op_grad_case gradients[] = {
        {"Resampler", NULL,
         "double[1,3,3,2] 1 3 2 5 4 1 0 2 3 -1 2 7 8 1 1 2 3 0; double[1,4,2] 0.3 0.6 1.2 1.7 "
         "-0.4 0.5 2.3 2.6"},
    };
    OP_TEST_GRADIENTS(gradients);
}

static void rows_and_columns_are_matched(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BipartiteMatch", NULL, "float[2,3] 0.5 0.1 0.4 0.6 0.2 0.9; float[] -1",
         "int32[2] 1 0; int32[3] 1 0 -1"},
        {"BipartiteMatch", "top_k=1", "float[2,3] 0.5 0.1 0.4 0.6 0.2 0.9; float[1] 2",
         "int32[2] 1 -1; int32[3] -1 0 -1"},
        {"BipartiteMatch", NULL, "float[2,3] 0.5 0.3 0.4 0.6 0.2 0.9; float[] 1",
         "int32[2] 1 -1; int32[3] -1 0 -1"},
        // of equal distances the first
        {"BipartiteMatch", NULL, "float[2,2] 1; float[] -1", "int32[2] 0 1; int32[2] 0 1"},
        {"BipartiteMatch", NULL, "float[2,1] nan 5; float[] -1", "int32[2] -1 0; int32[1] 1"},
        {"BipartiteMatch", NULL, "float[0,2]; float[] -1", "int32[0]; int32[2] -1"},
        {"BipartiteMatch", NULL, "float[2,0]; float[] 0", "int32[2] -1; int32[0]"},
        {"BipartiteMatch", NULL, "float[2,1] 1; float[] 3",
         "InvalidArgument: There should be at least 3 rows in distance_mat, but only got 2 rows."},
        {"BipartiteMatch", NULL, "float[] 1; float[] 3",
         "InvalidArgument: distance_mat should be 2-dimensional"},
        {"BipartiteMatch", NULL, "float[1,1] 1; float[2] 3",
         "InvalidArgument: num_valid_rows argument should be a tensor with 1 element, but got 2"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Resampler", NULL, "[?,2,3,4]; [?,5,2]", "[?,5,4]"},
        {"Resampler", NULL, "?; [?,5,2]", "[?,5,?]"},
        {"Resampler", NULL, "[2,3]; ?", "InvalidArgument: Shape must be rank 4 but is rank 2"},
        {"Resampler", NULL, "?; [2]", "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
        {"ResamplerGrad", NULL, "[1,2,3,4]; [1,2]; ?", "[1,2,3,4]; [1,2]"},
        {"BipartiteMatch", NULL, "[2,?]; []", "int32[2]; int32[?]"},
        {"BipartiteMatch", NULL, "?; ?", "int32[?]; int32[?]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_interpolated),
        cmocka_unit_test(rows_and_columns_are_matched),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
