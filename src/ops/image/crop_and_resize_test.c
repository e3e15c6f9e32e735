// Tests of CropAndResize and its gradients. Values were computed by numpy in double from the definition,
// gradients by finite differences.
#include "base/testing/test.h"
#include "graph/grad.h"
#include "ops/testing/op_test.h"

static void crops_follow_the_definition(void **state)
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
        {.op = "CropAndResize",
         .inputs = "uint8[1,3,3,1] 80 231 146 140 24 26 103 195 48; float[1,4] 0 0 1 1; int32[1] 0; int32[2] "
                   "2 2",
         .want = "float[1,2,2,1] 80 146 103 48"},
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,1] 1; float[0,4]; int32[0]; int32[2] 3 2",
         .want = "float[0,3,2,1]"},
        // Without channels there are no elements, however large the crop.
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,0]; float[1,4] 0; int32[1] 0; int32[2] 2147483647",
         .want = "float[1,2147483647,2147483647,0]"},
        // Boxes that are no numbers are beside the image.
        {.op = "CropAndResize",
         .attrs = "extrapolation_value=9",
         .inputs = "float[1,2,2,1] 1; float[1,4] nan nan inf -inf; int32[1] 0; int32[2] 2 2",
         .want = "float[1,2,2,1] 9"},
        {.op = "CropAndResize",
         .inputs = "half[1,2,2,1] 0x3c00 0x4000 0x4200 0x4400; float[1,4] 0 0 1 1; int32[1] 0; int32[2] 2 2",
         .want = "float[1,2,2,1] 1 2 3 4"},
        {.op = "CropAndResize",
         .inputs = "double[1,2,2,1] 1 2 3 4; float[1,4] 0 0 1 1; int32[1] 0; int32[2] 2 2",
         .want = "float[1,2,2,1] 1 2 3 4"},
        {.op = "CropAndResize",
         .inputs = "int16[1,2,2,1] 1 2 3 4; float[1,4] 0 0 1 1; int32[1] 0; int32[2] 2 2",
         .want = "float[1,2,2,1] 1 2 3 4"},
        {.op = "CropAndResize",
         .inputs = "int64[1,2,2,1] 1 2 3 4; float[1,4] 0 0 1 1; int32[1] 0; int32[2] 2 2",
         .want = "float[1,2,2,1] 1 2 3 4"},
    };
    OP_TEST_VALUES(cases);
}

static void crop_gradient_values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
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
        {.op = "CropAndResizeGradImage",
         .attrs = "T=float",
         .inputs = "float[1,2147483647,2147483647,0]; float[1,4] 0; int32[1] 0; int32[4] 1 1 1 0",
         .want = "float[1,1,1,0]"},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=double",
         .inputs = "float[1,1,1,1] 4; float[1,4] 0 0 1 1; int32[1] 0; int32[4] 1 2 2 1",
         .want = "double[1,2,2,1] 1"},
        {.op = "CropAndResizeGradBoxes",
         .inputs = "float[0,3,2,1]; float[1,2,2,1] 1; float[0,4]; int32[0]",
         .want = "float[0,4]"},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=float",
         .inputs = "float[0,3,2,1]; float[0,4]; int32[0]; int32[4] 1 1 2 1",
         .want = "float[1,1,2,1] 0"},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=half",
         .inputs = "float[1,2,2,1] 1 2 3 4; float[1,4] 0 0 1 1; int32[1] 0; int32[4] 1 2 2 1",
         .want = "half[1,2,2,1] 0x3c00 0x4000 0x4200 0x4400"},
    };
    OP_TEST_VALUES(cases);
}

static void crop_errors_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "CropAndResize",
         .inputs = "float[2,2,1] 1; float[1,4] 0; int32[1] 0; int32[2] 1",
         .want = "InvalidArgument: input image must be 4-D"},
        {.op = "CropAndResize",
         .inputs = "float[1,0,2,1]; float[1,4] 0; int32[1] 0; int32[2] 1",
         .want = "InvalidArgument: image dimensions must be positive"},
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
         .want = "InvalidArgument: image_size and grads are incompatible"},
        {.op = "CropAndResizeGradBoxes",
         .inputs = "float[2,1,1,1] 4; float[1,2,2,1] 1; float[1,4] 0; int32[1] 0",
         .want = "InvalidArgument: boxes and grads have incompatible shape"},
        {.op = "CropAndResize",
         .inputs = "float[] 1; float[1,4] 0; int32[1] 0; int32[2] 2 2",
         .want = "InvalidArgument: input image must be 4-D"},
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,1] 1; float[1,4] 0; int32[] 0; int32[2] 2 2",
         .want = "InvalidArgument: box_index must be 1-D"},
        {.op = "CropAndResize",
         .inputs = "float[1,2,2,1] 1; float[1,4] 0; int32[1] 0; int32[] 2",
         .want = "InvalidArgument: crop_size must be 1-D"},
        {.op = "CropAndResize",
         .inputs = "float[0,2,2,1]; float[1,4] 0; int32[1] 0; int32[2] 2 2",
         .want = "OutOfRange: box_index has values outside [0, batch_size)"},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=float",
         .inputs = "float[] 1; float[1,4] 0; int32[1] 0; int32[4] 1 2 2 1",
         .want = "InvalidArgument: grads image must be 4-D"},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=float",
         .inputs = "float[1,0,2,1]; float[1,4] 0; int32[1] 0; int32[4] 1 2 2 1",
         .want = "InvalidArgument: grads dimensions must be positive"},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=float",
         .inputs = "float[2,2,2,1] 1; float[1,4] 0; int32[1] 0; int32[4] 1 2 2 1",
         .want = "InvalidArgument: boxes and grads have incompatible shape"},
        {.op = "CropAndResizeGradImage",
         .attrs = "T=float",
         .inputs = "float[1,2,2,1] 1; float[1,4] 0; int32[1] 0; int32[4] 1 2 0 1",
         .want = "InvalidArgument: image dimensions must be positive"},
        {.op = "CropAndResizeGradBoxes",
         .inputs = "float[] 1; float[1,2,2,1] 1; float[1,4] 0; int32[1] 0",
         .want = "InvalidArgument: grads image must be 4-D"},
        {.op = "CropAndResizeGradBoxes",
         .inputs = "float[1,2,2,1] 1; float[1,2,2,3] 1; float[1,4] 0; int32[1] 0",
         .want = "InvalidArgument: image, grads depth differ"},
    };
    OP_TEST_VALUES(cases);
}

// The gradient functions pass on the boxes, the size of the images and the method.
static void gradients_of_crops_match_finite_differences(void **state)
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

static void shapes_are_inferred(void **state)
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
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crops_follow_the_definition),
        cmocka_unit_test(crop_gradient_values_follow_the_definition),
        cmocka_unit_test(crop_errors_follow_the_definition),
        cmocka_unit_test(gradients_of_crops_match_finite_differences),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
