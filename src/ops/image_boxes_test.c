// What ops on boxes of images promise: cutting them out, choosing among them, drawing them, sampling windows.
#include "base/testing/test.h"
#include "graph/grad.h"
#include "ops/testing/op_test.h"

// ---- CropAndResize: by numpy in double from the definition, gradients by differences ----

static void test_crops(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "CropAndResize",
         .inputs = "float[2,4,5,2] -0 -0.125 1 -1.25 0.75 -1.75 -0.25 -0.25 1.125 -0 -0.625 1.375 1.625 "
                   "-0.75 0.75 -0.5 0.125 0.25 -1.25 0.125 -1 -1 -0.5 -2 -1.5 0.25 0.625 0.875 -0.5 0.75 "
                   "1.625 1.125 -1.375 -1.75 0.375 1.25 -0 1 0.25 0.25 0.25 0.25 -0.375 1.875 0.875 -0.5 "
                   "-0.25 -1 0.5 -1.375 -0.375 0.75 0.5 0.625 -1.125 0.75 -0.125 1.375 -0.25 1.625 0.375 "
                   "0.75 -0.375 -0.375 -0.375 1 -0.5 -0.125 1.125 0.5 -0.25 0.25 -1.375 -1.5 0.375 2.75 2 "
                   "2.5 0.625 -0.5; float[3,4] 0.1 0.15 0.9 0.8 0.7 0.85 0.2 0.1 -0.3 0.1 0.6 1.3; int32[3] "
                   "1 0 1; int32[2] 3 2",
         .want = "float[3,3,2,2] -0.0425 1.06 -0.115 -0.325 0.0375 0.375 -0.1625 0.7125 -0.67 -0.5375 "
                 "1.155 1.33 0.1675 0.8125 -0.6775 -1.2625 -0.215 0.41875 -0.10125 -0.14875 -0.135 0.06 "
                 "0.325 0.085 0 0 0 0 -0.01125 0.81 0 0 0.055 0.38 0 0",
         .tolerance = 2e-06},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=float",
         .inputs = "float[3,3,2,2] 1.125 -1.25 -2.875 0.375 1 0.75 1.5 0.75 0.375 -1 -0.125 -1.125 -0.375 "
                   "1.875 0.25 0.375 -0.75 2.625 -2 -0.875 1 -0.75 -0.75 0.5 0.75 0.625 -0.875 0.75 -1.25 "
                   "-0.875 -1 0.375 -0.375 -1 0 -1; float[3,4] 0.1 0.15 0.9 0.8 0.7 0.85 0.2 0.1 -0.3 0.1 "
                   "0.6 1.3; int32[3] 1 0 1; int32[4] 2 4 5 2",
         .want = "float[2,4,5,2] -0.18 0.12 -0.12 0.08 0 0 0.24 -0.18 0.16 -0.12 -1.05 -0.16125 -0.7 "
                 "-0.1075 0 0 0.0675 0.75375 0.045 0.5025 -0.285 0.01875 -0.19 0.0125 0 0 -0.36 1.56375 "
                 "-0.24 1.0425 0.015 0.0225 0.01 0.015 0 0 -0.0225 0.1125 -0.015 0.075 -0.0975 -0.63875 "
                 "0.1975 -0.7175 0 0 -1.61 0.21 -0.4025 0.0525 -0.0475 -0.35625 0.2475 -0.2375 0 0 -0.09 "
                 "0.39 -0.0225 0.0975 0.065 -0.45 0.2475 -0.275 0 0 0.57 0.03 0.1425 0.0075 0.105 -0.28 "
                 "0.1575 -0.42 0 0 -0.07 -0.63 -0.0175 -0.1575",
         .tolerance = 2e-06},
        {.op = "CropAndResizeGradBoxes",
         .inputs = "float[3,3,2,2] 1.125 -1.25 -2.875 0.375 1 0.75 1.5 0.75 0.375 -1 -0.125 -1.125 -0.375 "
                   "1.875 0.25 0.375 -0.75 2.625 -2 -0.875 1 -0.75 -0.75 0.5 0.75 0.625 -0.875 0.75 -1.25 "
                   "-0.875 -1 0.375 -0.375 -1 0 -1; float[2,4,5,2] -0 -0.125 1 -1.25 0.75 -1.75 -0.25 -0.25 "
                   "1.125 -0 -0.625 1.375 1.625 -0.75 0.75 -0.5 0.125 0.25 -1.25 0.125 -1 -1 -0.5 -2 -1.5 "
                   "0.25 0.625 0.875 -0.5 0.75 1.625 1.125 -1.375 -1.75 0.375 1.25 -0 1 0.25 0.25 0.25 0.25 "
                   "-0.375 1.875 0.875 -0.5 -0.25 -1 0.5 -1.375 -0.375 0.75 0.5 0.625 -1.125 0.75 -0.125 "
                   "1.375 -0.25 1.625 0.375 0.75 -0.375 -0.375 -0.375 1 -0.5 -0.125 1.125 0.5 -0.25 0.25 "
                   "-1.375 -1.5 0.375 2.75 2 2.5 0.625 -0.5; float[3,4] 0.1 0.15 0.9 0.8 0.7 0.85 0.2 0.1 "
                   "-0.3 0.1 0.6 1.3; int32[3] 1 0 1",
         .want = "float[3,4] 3.5625 -3.18125 -8.128125 8.76875 9.384375 1.45 6.50625 -17.371875 0.309375 "
                 "1.15625 1.396875 0",
         .tolerance = 2e-05},
        {.op = "CropAndResize",
         .attrs = "extrapolation_value=-7",
         .inputs = "float[2,4,5,2] -0 -0.125 1 -1.25 0.75 -1.75 -0.25 -0.25 1.125 -0 -0.625 1.375 1.625 "
                   "-0.75 0.75 -0.5 0.125 0.25 -1.25 0.125 -1 -1 -0.5 -2 -1.5 0.25 0.625 0.875 -0.5 0.75 "
                   "1.625 1.125 -1.375 -1.75 0.375 1.25 -0 1 0.25 0.25 0.25 0.25 -0.375 1.875 0.875 -0.5 "
                   "-0.25 -1 0.5 -1.375 -0.375 0.75 0.5 0.625 -1.125 0.75 -0.125 1.375 -0.25 1.625 0.375 "
                   "0.75 -0.375 -0.375 -0.375 1 -0.5 -0.125 1.125 0.5 -0.25 0.25 -1.375 -1.5 0.375 2.75 2 "
                   "2.5 0.625 -0.5; float[3,4] 0.1 0.15 0.9 0.8 0.7 0.85 0.2 0.1 -0.3 0.1 0.6 1.3; int32[3] "
                   "1 0 1; int32[2] 1 3",
         .want = "float[3,1,3,2] 0.0375 0.375 -0.66875 0.8 -0.1625 0.7125 -0.215 0.41875 0.054375 -0.3325 "
                 "-0.10125 -0.14875 -0.01125 0.81 -0.16 0.0675 -7 -7",
         .tolerance = 2e-06},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=float",
         .inputs = "float[3,1,3,2] -0.5 -0.25 -0.625 -1 -1.25 1.125 -2.125 0.25 -0.75 -0.75 -1.75 -0 -0.5 1 "
                   "-0.625 -1.125 -1.25 1; float[3,4] 0.1 0.15 0.9 0.8 0.7 0.85 0.2 0.1 -0.3 0.1 0.6 1.3; "
                   "int32[3] 1 0 1; int32[4] 2 4 5 2",
         .want = "float[2,4,5,2] 0 0 0 0 0 0 0 0 0 0 -0.6825 0 -0.50375 -0.04875 -0.43875 -0.43875 "
                 "-0.82875 0.0975 -0.5525 0.065 -0.3675 0 -0.27125 -0.02625 -0.23625 -0.23625 -0.44625 "
                 "0.0525 -0.2975 0.035 0 0 0 0 0 0 0 0 0 0 -0.165 0.33 -0.11 0.22 -0.06875 -0.12375 -0.275 "
                 "-0.495 0 0 -0.235 0.22 -0.27125 0.055 -0.3375 -0.55125 -0.725 0.045 -0.125 0.1125 -0.1 "
                 "-0.05 -0.18125 -0.125 -0.28125 -0.45 -0.5 0.45 -0.125 0.1125 0 0 0 0 0 0 0 0 0 0",
         .tolerance = 2e-06},
        {.op = "CropAndResizeGradBoxes",
         .inputs = "float[3,1,3,2] -0.5 -0.25 -0.625 -1 -1.25 1.125 -2.125 0.25 -0.75 -0.75 -1.75 -0 -0.5 1 "
                   "-0.625 -1.125 -1.25 1; float[2,4,5,2] -0 -0.125 1 -1.25 0.75 -1.75 -0.25 -0.25 1.125 -0 "
                   "-0.625 1.375 1.625 -0.75 0.75 -0.5 0.125 0.25 -1.25 0.125 -1 -1 -0.5 -2 -1.5 0.25 0.625 "
                   "0.875 -0.5 0.75 1.625 1.125 -1.375 -1.75 0.375 1.25 -0 1 0.25 0.25 0.25 0.25 -0.375 "
                   "1.875 0.875 -0.5 -0.25 -1 0.5 -1.375 -0.375 0.75 0.5 0.625 -1.125 0.75 -0.125 1.375 "
                   "-0.25 1.625 0.375 0.75 -0.375 -0.375 -0.375 1 -0.5 -0.125 1.125 0.5 -0.25 0.25 -1.375 "
                   "-1.5 0.375 2.75 2 2.5 0.625 -0.5; float[3,4] 0.1 0.15 0.9 0.8 0.7 0.85 0.2 0.1 -0.3 0.1 "
                   "0.6 1.3; int32[3] 1 0 1",
         .want = "float[3,4] -2.7023437 0.015625 -2.7023437 -2.265625 3.0421875 10.771875 3.0421875 "
                 "-11.509375 -3.628125 3.446875 -3.628125 0.196875",
         .tolerance = 2e-05},
        {.op = "CropAndResize",
         .attrs = "method=nearest",
         .inputs = "float[2,4,5,2] -0 -0.125 1 -1.25 0.75 -1.75 -0.25 -0.25 1.125 -0 -0.625 1.375 1.625 "
                   "-0.75 0.75 -0.5 0.125 0.25 -1.25 0.125 -1 -1 -0.5 -2 -1.5 0.25 0.625 0.875 -0.5 0.75 "
                   "1.625 1.125 -1.375 -1.75 0.375 1.25 -0 1 0.25 0.25 0.25 0.25 -0.375 1.875 0.875 -0.5 "
                   "-0.25 -1 0.5 -1.375 -0.375 0.75 0.5 0.625 -1.125 0.75 -0.125 1.375 -0.25 1.625 0.375 "
                   "0.75 -0.375 -0.375 -0.375 1 -0.5 -0.125 1.125 0.5 -0.25 0.25 -1.375 -1.5 0.375 2.75 2 "
                   "2.5 0.625 -0.5; float[3,4] 0.1 0.15 0.9 0.8 0.7 0.85 0.2 0.1 -0.3 0.1 0.6 1.3; int32[3] "
                   "1 0 1; int32[2] 3 3",
         .want = "float[3,3,3,2] -0.375 1.875 0.875 -0.5 -0.25 -1 -0.375 -0.375 -0.375 1 -0.5 -0.125 "
                 "-1.375 -1.5 0.375 2.75 2 2.5 0.625 0.875 -1.5 0.25 -1 -1 0.125 0.25 0.75 -0.5 -0.625 "
                 "1.375 0.125 0.25 0.75 -0.5 -0.625 1.375 0 0 0 0 0 0 0.25 0.25 -0.25 -1 0 0 0.375 0.75 "
                 "-0.5 -0.125 0 0",
         .tolerance = 2e-06},
        {.op = "CropAndResizeGradImage",
         .attrs = "method=nearest; T=float",
         .inputs = "float[3,3,3,2] 0.625 -0.375 1.625 0.25 -0.25 0.5 -1.125 0.125 -1.125 0.625 0.625 -0.125 "
                   "1.125 -0.75 0.5 -0.125 -1.125 0.75 1.75 3.125 0.125 0.5 1.75 -1 1.5 -1.625 -1.125 -0.25 "
                   "-0.375 1 -1.125 -0.125 -0.375 0.125 0.625 0.875 0.375 0.375 0 -1.5 -1.875 0.375 -1.375 "
                   "-0.75 0.25 -0.375 -0.75 -0.875 0 1.5 -1.75 -0.25 1 0.25; float[3,4] 0.1 0.15 0.9 0.8 0.7 "
                   "0.85 0.2 0.1 -0.3 0.1 0.6 1.3; int32[3] 1 0 1; int32[4] 2 4 5 2",
         .want = "float[2,4,5,2] 0 0 0 0 0 0 0 0 0 0 0.25 1.875 0 0 -1.5 -0.125 0.375 -1.75 0 0 1.75 -1 0 "
                 "0 0.125 0.5 1.75 3.125 0 0 0 0 0 0 0 0 0 0 0 0 -1.375 -0.75 0.625 -0.375 1.625 0.25 0 "
                 "0.125 0 0 0 0 0 0 0 0 0 0 0 0 0 1.5 -1.125 0.125 -1.125 0.625 -1.125 -0.375 0 0 0 0 "
                 "1.125 -0.75 0.5 -0.125 -1.125 0.75 0 0",
         .tolerance = 2e-06},
        {.op = "CropAndResize",
         .inputs = "uint8[1,3,3,1] 80 231 146 140 24 26 103 195 48; float[1,4] 0 0 1 1; int32[1] 0; int32[2] "
                   "2 2",
         .want = "float[1,2,2,1] 80 146 103 48"},
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,1] 1; float[0,4]; int32[0]; int32[2] 3 2",
         .want = "float[0,3,2,1]"},
        // Without channels there is nothing to walk over, however large.
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,0]; float[1,4] 0; int32[1] 0; int32[2] 2147483647",
         .want = "float[1,2147483647,2147483647,0]"},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=float",
         .inputs = "float[1,2147483647,2147483647,0]; float[1,4] 0; int32[1] 0; int32[4] 1 1 1 0",
         .want = "float[1,1,1,0]"},
        // Boxes that are no numbers are beside the image.
        {.op = "CropAndResize",
         .attrs = "extrapolation_value=9",
         .inputs = "float[1,2,2,1] 1; float[1,4] nan nan inf -inf; int32[1] 0; int32[2] 2 2",
         .want = "float[1,2,2,1] 9"},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=double",
         .inputs = "float[1,1,1,1] 4; float[1,4] 0 0 1 1; int32[1] 0; int32[4] 1 2 2 1",
         .want = "double[1,2,2,1] 1"},
    };
    OP_TEST_VALUES(cases);
}

static void test_crop_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "CropAndResize",
         .inputs = "float[2,2,1] 1; float[1,4] 0; int32[1] 0; int32[2] 1",
         .want = "InvalidArgument: input image must be 4-D"},
        {.op = "CropAndResize",
         .inputs = "float[1,0,2,1]; float[1,4] 0; int32[1] 0; int32[2] 1",
         .want = "InvalidArgument: input dimensions must be positive"},
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,1] 1; float[4] 0; int32[1] 0; int32[2] 1",
         .want = "InvalidArgument: boxes must be 2-D"},
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,1] 1; float[1,3] 0; int32[1] 0; int32[2] 1",
         .want = "InvalidArgument: boxes must have 4 columns"},
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,1] 1; float[1,4] 0; int32[2] 0; int32[2] 1",
         .want = "InvalidArgument: box_index has incompatible shape"},
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,1] 1; float[1,4] 0; int32[1] 1; int32[2] 1",
         .want = "OutOfRange: box_index has values outside [0, batch_size)"},
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,1] 1; float[1,4] 0; int32[1] -1; int32[2] 1",
         .want = "OutOfRange: box_index has values outside [0, batch_size)"},
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,1] 1; float[1,4] 0; int32[1] 0; int32[2] 1 0",
         .want = "InvalidArgument: crop dimensions must be positive"},
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,1] 1; float[1,4] 0; int32[1] 0; int32[3] 1",
         .want = "InvalidArgument: crop_size must have two elements"},
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,1] 1; float[1,4] 0; int32[1] 0; int32[2] 2147483647",
         .want = "ResourceExhausted: OOM"},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=float",
         .inputs = "float[1,1,1,1] 4; float[1,4] 0; int32[1] 0; int32[3] 1 2 2",
         .want = "InvalidArgument: image_size must have 4 elements"},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=float",
         .inputs = "float[1,1,1,2] 4; float[1,4] 0; int32[1] 0; int32[4] 1 2 2 1",
         .want = "InvalidArgument: incompatible shape"},
        {.op = "CropAndResizeGradBoxes",
         .inputs = "float[2,1,1,1] 4; float[1,2,2,1] 1; float[1,4] 0; int32[1] 0",
         .want = "InvalidArgument: incompatible shape"},
    };
    OP_TEST_VALUES(cases);
}

// The gradient functions hand on the boxes, the size of the images and the method.
static void test_crop_gradients(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_tensor image, boxes, got[2];
    op_test_tensor(&image, "double[1,2,2,1] 1 2 3 5");
    op_test_tensor(&boxes, "float[1,4] 0 0 1 1");
    braid_out in[] = {bd_b_const(g, NULL, &image), bd_b_const(g, NULL, &boxes),
                      bd_b_const_i32_vector(g, NULL, (int32_t[]){0}, 1),
                      bd_b_const_i32_vector(g, NULL, (int32_t[]){1, 1}, 2)},
              grads[2];
    braid_out y = braid_output(op_test_node(g, "CropAndResize", NULL, in, 4), 0);
    braid_gradients(g, &y, 1, in, 2, NULL, grads);
    op_test_eval(NULL, 0, grads, 2, got, st);
    assert_ok(st);
    op_test_expect(&got[0], "double[1,2,2,1] 0.25", 0, "to the image");
    op_test_expect(&got[1], "float[1,4] 1.25 0.75 1.25 0.75", 1e-6, "to the boxes");
    for (int i = 0; i < 2; i++)
        bd_tensor_fini(&got[i]);
    bd_tensor_fini(&image);
    bd_tensor_fini(&boxes);
    braid_graph_free(g);
}

// ---- NonMaxSuppression: by its definition in Python, the best score again and again ----

static void test_suppression(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "NonMaxSuppression",
         .inputs = "float[8,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101 1 101 0 "
                   "100.5 2 2 2 3; float[8] 0.9 0.75 0.6 0.95 0.5 0.3 0.31 0.2; int32[] 3",
         .want = "int32[3] 3 0 6"},
        {.op = "NonMaxSuppression",
         .attrs = "iou_threshold=0.9",
         .inputs = "float[8,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101 1 101 0 "
                   "100.5 2 2 2 3; float[8] 0.9 0.75 0.6 0.95 0.5 0.3 0.31 0.2; int32[] 30",
         .want = "int32[8] 3 0 1 2 4 6 5 7"},
        {.op = "NonMaxSuppressionV2",
         .inputs = "float[8,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101 1 101 0 "
                   "100.5 2 2 2 3; float[8] 0.9 0.75 0.6 0.95 0.5 0.3 0.31 0.2; int32[] 30; float[] 0.4",
         .want = "int32[4] 3 0 6 7"},
        {.op = "NonMaxSuppressionV3",
         .inputs = "float[8,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101 1 101 0 "
                   "100.5 2 2 2 3; float[8] 0.9 0.75 0.6 0.95 0.5 0.3 0.31 0.2; int32[] 30; float[] 0.5; "
                   "float[] 0.4",
         .want = "int32[2] 3 0"},
        {.op = "NonMaxSuppressionV4",
         .inputs = "float[8,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101 1 101 0 "
                   "100.5 2 2 2 3; float[8] 0.9 0.75 0.6 0.95 0.5 0.3 0.31 0.2; int32[] 30; float[] 0.5; "
                   "float[] 0.4",
         .want = "int32[2] 3 0; int32[] 2"},
        {.op = "NonMaxSuppressionV4",
         .attrs = "pad_to_max_output_size=true",
         .inputs = "float[8,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101 1 101 0 "
                   "100.5 2 2 2 3; float[8] 0.9 0.75 0.6 0.95 0.5 0.3 0.31 0.2; int32[] 5; float[] 0.5; "
                   "float[] 0.4",
         .want = "int32[5] 3 0 0 0 0; int32[] 2"},
        {.op = "NonMaxSuppressionV5",
         .inputs = "float[8,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101 1 101 0 "
                   "100.5 2 2 2 3; float[8] 0.9 0.75 0.6 0.95 0.5 0.3 0.31 0.2; int32[] 30; float[] 0.5; "
                   "float[] 0; float[] 0.5",
         .want = "int32[8] 3 0 1 6 4 5 7 2; float[8] 0.95 0.9 0.38400352 0.31 0.25600235 0.23364023 0.2 "
                 "0.19697242; int32[] 8"},
        {.op = "NonMaxSuppressionV5",
         .attrs = "pad_to_max_output_size=true",
         .inputs = "float[8,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101 1 101 0 "
                   "100.5 2 2 2 3; float[8] 0.9 0.75 0.6 0.95 0.5 0.3 0.31 0.2; int32[] 4; float[] 0.5; "
                   "float[] 0.3; float[] 0.2",
         .want = "int32[4] 3 0 6 0; float[4] 0.95 0.9 0.31 0; int32[] 3"},
        {.op = "NonMaxSuppressionV5",
         .inputs = "float[8,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101 1 101 0 "
                   "100.5 2 2 2 3; float[8] 0.9 0.75 0.6 0.95 0.5 0.3 0.31 0.2; int32[] 30; float[] 0.5; "
                   "float[] 0; float[] 0",
         .want = "int32[5] 3 0 6 5 7; float[5] 0.95 0.9 0.31 0.3 0.2; int32[] 5"},
        {.op = "NonMaxSuppressionWithOverlaps",
         .inputs = "float[5,5] 0.875 0.75 0.625 0.375 0.625 0.75 0.375 0.875 0.375 0.375 0.875 0 0.625 0.75 "
                   "0.5 0.5 0.375 0.25 0.75 0 0.5 0.5 0.875 1 0; float[5] 0.5 0.4 0.5 0.3 0.2; int32[] 4; "
                   "float[] 0.5; float[] 0.25",
         .want = "int32[2] 0 3"},
        {.op = "NonMaxSuppressionV5",
         .inputs = "float[20,4] 0.234375 0.078125 0.6875 0.484375 0.515625 0.546875 0.59375 0.90625 0.703125 "
                   "0.421875 0.203125 0.453125 0.078125 0.578125 0.609375 1 0.53125 0.140625 0.578125 "
                   "0.328125 0.40625 0.734375 0.046875 0.578125 0.921875 0.59375 0.34375 0.671875 0.5 "
                   "0.15625 0.3125 0.59375 0.984375 0.765625 0.71875 0.375 0.96875 0.15625 0.40625 0.1875 "
                   "0.96875 0.8125 0.125 0.875 0.4375 0.0625 0.640625 0.796875 0.59375 0.21875 0.328125 "
                   "0.046875 0.578125 0.6875 0.3125 0.84375 0.140625 0.296875 0.078125 0.078125 0.453125 "
                   "0.421875 0.765625 0.53125 0.40625 0.71875 0.1875 0.4375 0.8125 0.828125 0.40625 0.6875 0 "
                   "0.34375 0.0625 0.515625 0.921875 0.828125 0.4375 0.046875; float[20] 0.926 0.14 0.528 "
                   "0.988 0.68 0.665 0.164 0.23 0.204 0.119 0.657 0.168 0.239 0.975 0.317 0.32 0.453 0.922 "
                   "0.347 0.93; int32[] 10; float[] 0.5; float[] 0.1; float[] 0.3",
         .want = "int32[10] 3 0 13 19 17 4 10 5 2 16; float[10] 0.988 0.926 0.92083563 0.84587448 "
                 "0.73364244 0.67681256 0.62654055 0.60944515 0.52249618 0.35653136; int32[] 10",
         .tolerance = 1e-05},
        {.op = "NonMaxSuppression", .inputs = "float[0,4]; float[0]; int32[] 3", .want = "int32[0]"},
        {.op = "NonMaxSuppression", .inputs = "float[1,4] 0; float[1] 1; int32[] 0", .want = "int32[0]"},
        // Boxes without area overlap nothing; of equal scores the first comes first.
        {.op = "NonMaxSuppression", .inputs = "float[3,4] 0; float[3] 1; int32[] 2", .want = "int32[2] 0 1"},
        {.op = "NonMaxSuppression",
         .inputs = "float[3,4] 0; float[3] nan 1 -inf; int32[] 3",
         .want = "int32[1] 1"},
        {.op = "NonMaxSuppression",
         .inputs = "float[3,4] 0; float[3] 1; int32[] -1",
         .want = "InvalidArgument: output size must be non-negative, got -1"},
        {.op = "NonMaxSuppression",
         .inputs = "float[3,4] 0; float[3] 1; int32[1] 1",
         .want = "InvalidArgument: max_output_size must be 0-D, got shape [1]"},
        {.op = "NonMaxSuppression",
         .attrs = "iou_threshold=1.5",
         .inputs = "float[3,4] 0; float[3] 1; int32[] 1",
         .want = "InvalidArgument: iou_threshold must be in [0, 1]"},
        {.op = "NonMaxSuppressionV2",
         .inputs = "float[3,4] 0; float[3] 1; int32[] 1; float[] nan",
         .want = "InvalidArgument: iou_threshold must be in [0, 1]"},
        {.op = "NonMaxSuppressionV2",
         .inputs =
             "half[2,4] 0x0000 0x0000 0x3c00 0x3c00 0x0000 0x0000 0x3c00 0x3c00; half[2] 0x3800 0x3c00; int32[] 2; "
             "half[] 0x3800",
         .want = "int32[1] 1"},
        {.op = "NonMaxSuppressionV3",
         .inputs = "float[3,3] 0; float[3] 1; int32[] 1; float[] 0.5; float[] 0",
         .want = "InvalidArgument: boxes must have 4 columns"},
        {.op = "NonMaxSuppressionV3",
         .inputs = "float[3,4] 0; float[2] 1; int32[] 1; float[] 0.5; float[] 0",
         .want = "InvalidArgument: scores has incompatible shape"},
        {.op = "NonMaxSuppressionV5",
         .inputs = "float[3,4] 0; float[3] 1; int32[] 1; float[] 0.5; float[] 0; float[] -1",
         .want = "InvalidArgument: soft_nms_sigma_val must be >= 0"},
        // A score that becomes no number is no score.
        {.op = "NonMaxSuppressionV5",
         .inputs =
             "float[2,4] 0 0 inf inf 0 0 inf inf; float[2] 0.5 1; int32[] 2; float[] 0.5; float[] 0; float[] 0.5",
         .want = "int32[1] 1; float[1] 1; int32[] 1"},
        {.op = "NonMaxSuppressionWithOverlaps",
         .inputs = "float[3,2] 0; float[3] 1; int32[] 1; float[] 0.5; float[] 0",
         .want = "InvalidArgument: overlaps must be square"},
    };
    OP_TEST_VALUES(cases);
}

// ---- Drawing: pixel by pixel in Python ----

static void test_drawing(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "DrawBoundingBoxes",
         .inputs = "float[1,6,7,3] 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                   "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                   "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                   "0; float[1,3,4] 0.2 0.2 0.8 0.7 -0.5 0.5 0.4 1.6 0.9 0.1 0.2 0.4",
         .want = "float[1,6,7,3] 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 1 1 0 1 1 0 0 0 1 1 1 0 0 "
                 "0 0 0 0 0 0 0 0 1 1 0 0 0 0 0 0 1 0 0 1 0 0 1 0 0 1 0 0 0 1 1 0 0 0 0 0 0 0 1 1 0 0 0 0 "
                 "0 0 0 0 0 0 1 1 0 1 1 0 1 1 0 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                 "0"},
        {.op = "DrawBoundingBoxes",
         .inputs = "float[2,4,4,1] 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 "
                   "0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5 0.5; float[2,1,4] 0 0 1 1 0.4 0.4 "
                   "0.7 0.7",
         .want = "float[2,4,4,1] 1 1 1 1 1 0.5 0.5 1 1 0.5 0.5 1 1 1 1 1 0.5 0.5 0.5 0.5 0.5 1 1 0.5 0.5 1 "
                 "1 0.5 0.5 0.5 0.5 0.5"},
        {.op = "DrawBoundingBoxesV2",
         .inputs = "float[1,4,5,4] 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                   "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0; "
                   "float[1,3,4] 0.2 0.2 0.8 0.7 -0.5 0.5 0.4 1.6 0.9 0.1 0.2 0.4; float[2,4] 0.25 0.5 0.75 "
                   "1 0 1 0 0.5",
         .want = "float[1,4,5,4] 0.25 0.5 0.75 1 0.25 0.5 0.75 1 0 1 0 0.5 0 0 0 0 0 0 0 0 0.25 0.5 0.75 1 "
                 "0 0 0 0 0 1 0 0.5 0 1 0 0.5 0 1 0 0.5 0.25 0.5 0.75 1 0.25 0.5 0.75 1 0.25 0.5 0.75 1 0 "
                 "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"},
        // Upside down, outside, and no numbers: nothing is drawn.
        {.op = "DrawBoundingBoxes",
         .inputs = "float[1,2,2,1] 0; float[1,4,4] 1 0 0 1 2 0 3 1 nan nan nan nan 1e30 0 1e30 1",
         .want = "*"},
        {.op = "DrawBoundingBoxes",
         .inputs = "float[1,2,2,1] 0; float[1,3,4] 1 0 0 1 2 0 3 1 1e30 0 1e38 1",
         .want = "float[1,2,2,1] 0"},
        {.op = "DrawBoundingBoxes", .inputs = "float[0,2,2,3]; float[0,1,4]", .want = "float[0,2,2,3]"},
        {.op = "DrawBoundingBoxes",
         .inputs = "float[2,2,3] 0; float[1,1,4] 0",
         .want = "InvalidArgument: The rank of the images should be 4"},
        {.op = "DrawBoundingBoxes",
         .inputs = "float[1,2,2,2] 0; float[1,1,4] 0",
         .want = "InvalidArgument: Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)"},
        {.op = "DrawBoundingBoxes",
         .inputs = "float[1,2,2,1] 0; float[2,1,4] 0",
         .want = "InvalidArgument: The batch sizes should be the same"},
        {.op = "DrawBoundingBoxesV2",
         .inputs = "float[1,2,2,1] 0; float[1,1,4] 0; float[1,3] 0",
         .want = "InvalidArgument: colors must be a 2-D matrix"},
    };
    OP_TEST_VALUES(cases);
}

// ---- Sampling: TensorFlow's stream and steps, by an independent program in Python ----

static void test_sampling(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "SampleDistortedBoundingBox",
         .attrs = "seed=87654321; seed2=1234",
         .inputs = "int32[3] 300 400 3; float[1,1,4] 0.1 0.2 0.5 0.6",
         .want = "int32[3] 3 132 0; int32[3] 124 154 -1; float[1,1,4] 0.01 0.33 0.42333333 0.715",
         .tolerance = 1e-06},
        {.op = "SampleDistortedBoundingBox",
         .attrs = "seed=87654321; seed2=1234; min_object_covered=0.9",
         .inputs = "int64[3] 97 61 3; float[1,2,4] 0.1 0.2 0.5 0.6 0.5 0.5 0.9 0.95",
         .want = "int64[3] 45 5 0; int64[3] 50 53 -1; float[1,1,4] 0.46391753 0.081967213 0.97938144 "
                 "0.95081967",
         .tolerance = 1e-06},
        {.op = "SampleDistortedBoundingBox",
         .attrs =
             "seed=87654321; seed2=1234; use_image_if_no_bounding_boxes=true; area_range=[0.5,0.75]; aspect_ratio_range=[0.5,2]",
         .inputs = "int32[3] 200 100 3; float[1,0,4]",
         .want = "int32[3] 91 0 0; int32[3] 101 100 -1; float[1,1,4] 0.455 0 0.96 1",
         .tolerance = 1e-06},
        {.op = "SampleDistortedBoundingBox",
         .attrs = "seed=87654321; seed2=1234; min_object_covered=1; max_attempts=2; area_range=[0.01,0.02]",
         .inputs = "uint8[3] 100 90 3; float[1,1,4] 0 0 1 1",
         .want = "uint8[3] 0 0 0; uint8[3] 100 90 255; float[1,1,4] 0 0 1 1",
         .tolerance = 1e-06},
        {.op = "SampleDistortedBoundingBoxV2",
         .attrs = "seed=87654321; seed2=1234",
         .inputs = "int32[3] 224 224 3; float[1,1,4] 0.3 0.3 0.4 0.4; float[] 0.75",
         .want = "int32[3] 45 65 0; int32[3] 102 127 -1; float[1,1,4] 0.20089286 0.29017857 0.65625 "
                 "0.85714286",
         .tolerance = 1e-06},
        {.op = "StatelessSampleDistortedBoundingBox",
         .attrs = "area_range=[0.3,0.9]",
         .inputs = "int32[3] 100 90 3; float[1,1,4] 0 0 1 1; float[] 0.1; int64[2] 12 34",
         .want = "int32[3] 13 0 0; int32[3] 83 88 -1; float[1,1,4] 0.13 0 0.96 0.9777778",
         .tolerance = 1e-06},
        {.op = "StatelessSampleDistortedBoundingBox",
         .inputs = "int32[3] 100 90 3; float[1,1,4] 0 0 1 1; float[] 0.1; int64[3] 1 2 3",
         .want = "InvalidArgument: seed must have shape [2], not [3]"},
        {.op = "SampleDistortedBoundingBox",
         .inputs = "int32[3] 10 10 3; float[1,0,4]",
         .want = "InvalidArgument: No bounding boxes provided as input."},
        {.op = "SampleDistortedBoundingBox",
         .inputs = "int32[2] 10 10; float[1,1,4] 0",
         .want = "InvalidArgument: must contain 3 elements"},
        {.op = "SampleDistortedBoundingBox",
         .inputs = "int64[3] 10 2147483647 3; float[1,1,4] 0",
         .want = "InvalidArgument: cannot be >= int32 max"},
        {.op = "SampleDistortedBoundingBox",
         .inputs = "int32[3] 10 10 3; float[1,1,4] 0 0 1 1.5",
         .want = "InvalidArgument: All bounding box coordinates must be in [0.0, 1.0]: 1.5"},
        {.op = "SampleDistortedBoundingBox",
         .inputs = "int32[3] 10 10 3; float[1,4] 0",
         .want = "InvalidArgument: input boxes must be 3-dimensional"},
        {.op = "SampleDistortedBoundingBox",
         .attrs = "area_range=[0.5,1.5]",
         .inputs = "int32[3] 10 10 3; float[1,1,4] 0",
         .want = "InvalidArgument: Area range must be less then or equal to 1.0"},
        {.op = "SampleDistortedBoundingBox",
         .attrs = "aspect_ratio_range=[0.5]",
         .inputs = "int32[3] 10 10 3; float[1,1,4] 0",
         .want = "InvalidArgument: Aspect ratio range field must specify 2 dimensions"},
        {.op = "SampleDistortedBoundingBox",
         .attrs = "max_attempts=0",
         .inputs = "int32[3] 10 10 3; float[1,1,4] 0",
         .want = "InvalidArgument: Max attempts must be non-negative"},
        {.op = "SampleDistortedBoundingBoxV2",
         .inputs = "int32[3] 10 10 3; float[1,1,4] 0; float[] -0.5",
         .want = "InvalidArgument: Min object covered must be non-negative: -0.5"},
        {.op = "SampleDistortedBoundingBoxV2",
         .inputs = "int32[3] 10 10 3; float[1,1,4] 0; float[1] 0.5",
         .want = "InvalidArgument: min_object_covered must be 0-D, got shape [1]"},
    };
    OP_TEST_VALUES(cases);
}

static void test_shapes(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"CropAndResize", NULL, "[2,3,4,5]; [6,4]; int32?; int32[2] 7 8", "[6,7,8,5]"},
        {"CropAndResize", NULL, "?; ?; int32[3]; int32[2]", "[3,?,?,?]"},
        {"CropAndResize", NULL, "?; [2,4]; int32[3]; int32[2]",
         "InvalidArgument: Dimensions must be equal, but are 2 and 3"},
        {"CropAndResize", NULL, "?; [2,5]; int32[2]; int32[2]",
         "InvalidArgument: Dimension must be 4 but is 5"},
        {"CropAndResizeGradImage", "T=float", "?; ?; int32?; int32[4] 1 2 3 4", "[1,2,3,4]"},
        {"CropAndResizeGradBoxes", NULL, "[5,?,?,?]; ?; ?; int32?", "[5,4]"},
        {"NonMaxSuppression", NULL, "[5,4]; [5]; int32[]", "[?]"},
        {"NonMaxSuppressionV2", NULL, "[5,4]; [6]; int32[]; []",
         "InvalidArgument: Dimensions must be equal, but are 5 and 6"},
        {"NonMaxSuppressionV3", NULL, "[5,3]; [5]; int32[]; []; []",
         "InvalidArgument: Dimension must be 4 but is 3"},
        {"NonMaxSuppressionV4", "pad_to_max_output_size=true", "?; ?; int32[] 7; []; []", "[7]; []"},
        {"NonMaxSuppressionV5", NULL, "?; ?; int32[] 7; []; []; []", "[?]; [?]; []"},
        {"NonMaxSuppressionWithOverlaps", NULL, "[5,5]; [5]; int32[]; []; []", "[?]"},
        {"DrawBoundingBoxes", NULL, "[1,2,?,3]; ?", "[1,2,?,3]"},
        {"DrawBoundingBoxesV2", NULL, "[1,2]; ?; ?",
         "InvalidArgument: must be at least rank 3 but is rank 2"},
        {"SampleDistortedBoundingBox", NULL, "int32[3]; [1,?,4]", "[3]; [3]; [1,1,4]"},
        {"SampleDistortedBoundingBox", NULL, "int32[4]; ?", "InvalidArgument: Dimension must be 3 but is 4"},
        {"SampleDistortedBoundingBoxV2", NULL, "int32?; ?; [1]",
         "InvalidArgument: must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crops),          cmocka_unit_test(test_crop_errors),
        cmocka_unit_test(test_crop_gradients), cmocka_unit_test(test_suppression),
        cmocka_unit_test(test_drawing),        cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_shapes),
    };
    return BD_RUN_TESTS(tests);
}
