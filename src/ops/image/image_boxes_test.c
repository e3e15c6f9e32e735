// Tests of ops on boxes of images: drawing, sampling windows.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// ---- Drawing: pixel by pixel in Python ----

static void drawing_follows_its_definition(void **state)
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
        // Boxes that are upside down, outside or NaN are not drawn.
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
        {.op = "DrawBoundingBoxes",
         .inputs = "float[] 1; float[1,1,4] 0",
         .want = "InvalidArgument: The rank of the images should be 4"},
        {.op = "DrawBoundingBoxes",
         .inputs = "float[1,2,2,1] 1; float[] 0",
         .want = "InvalidArgument: The rank of the boxes tensor should be 3"},
        {.op = "DrawBoundingBoxesV2",
         .inputs = "float[0,2,2,3]; float[0,1,4]; float[1,4] 1",
         .want = "float[0,2,2,3]"},
        {.op = "DrawBoundingBoxesV2",
         .inputs = "float[1,2,2,1] 1; float[1,0,4]; float[0,4]",
         .want = "float[1,2,2,1] 1"},
        {.op = "DrawBoundingBoxesV2",
         .inputs = "float[1,2,2,1] 1; float[1,1,4] 0; float[] 0",
         .want = "InvalidArgument: colors must be a 2-D matrix"},
        {.op = "DrawBoundingBoxes",
         .inputs = "half[1,2,2,1] 0; float[1,1,4] 0 0 1 1",
         .want = "half[1,2,2,1] 0x3c00 0x3c00 0x3c00 0x3c00"},
    };
    OP_TEST_VALUES(cases);
}

// ---- Sampling: TensorFlow's stream and steps, by an independent program in Python ----

static void sampling_follows_its_definition(void **state)
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
        {.op = "SampleDistortedBoundingBox",
         .inputs = "int32[] 3; float[1,1,4] 0",
         .want = "InvalidArgument: image_size must be 1-dimensional"},
        {.op = "SampleDistortedBoundingBox",
         .inputs = "int32[3] 4 4 3; float[] 0",
         .want = "InvalidArgument: input boxes must be 3-dimensional"},
        {.op = "SampleDistortedBoundingBoxV2",
         .inputs = "int32[3] 4 4 3; float[1,0,4]; float[] 0.1",
         .want = "InvalidArgument: No bounding boxes provided as input."},
        {.op = "StatelessSampleDistortedBoundingBox",
         .inputs = "int32[3] 4 4 3; float[0,0,4]; float[] 0.1; int64[2] 1 2",
         .want = "InvalidArgument: No bounding boxes provided as input."},
        {.op = "StatelessSampleDistortedBoundingBox",
         .inputs = "int32[3] 4 4 3; float[1,1,4] 0; float[1] 0.1; int64[2] 1 2",
         .want = "InvalidArgument: min_object_covered must be 0-D, got shape [1]"},
        {.op = "StatelessSampleDistortedBoundingBox",
         .inputs = "int32[] 3; float[1,1,4] 0; float[] 0.1; int64[2] 1 2",
         .want = "InvalidArgument: image_size must be 1-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
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
        cmocka_unit_test(drawing_follows_its_definition),
        cmocka_unit_test(sampling_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
