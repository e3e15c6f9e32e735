// Tests of glimpses of images and of non-maximum suppression for several classes.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// By the definition in Python: the boxes of each class chosen by score, then the best of all.
static void combined_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[2,4,1,4] 1.0625 0.5625 1.0625 0.75 0.75 0.125 1.125 -0.125 0.1875 0.4375 0.875 "
                   "0.125 0.9375 1.125 0.0625 0.625 -0.125 0.375 -0.0625 1.0625 0.4375 1.0625 0.875 0.9375 "
                   "0.0625 -0.0625 0.625 0.0625 0.8125 0.375 0.5625 1.0625; float[2,4,2] 0.52 0.11 0.16 0.55 "
                   "0.52 0.64 0.4 0.65 0.4 0.62 0.77 0.18 0.38 0.5 0.69 0.25; int32[] 2; int32[] 3; float[] "
                   "0.3; float[] 0.2",
         .want = "float[2,3,4] 0.9375 1 0.0625 0.625 0.1875 0.4375 0.875 0.125 1 0.5625 1 0.75 0.4375 1 "
                 "0.875 0.9375 0.8125 0.375 0.5625 1 0 0.375 0 1; float[2,3] 0.65 0.64 0.52 0.77 0.69 "
                 "0.62; float[2,3] 1 1 0 0 0 1; int32[2] 3 3"},
        {.op = "CombinedNonMaxSuppression",
         .attrs = "pad_per_class=true; clip_boxes=false",
         .inputs = "float[1,5,3,4] 0.5625 0.625 1 0.3125 0.6875 0.125 0.5 0.125 1 0.4375 0.9375 0.375 1 "
                   "0.375 0.3125 0.5625 0.9375 0.9375 0.625 -0 0.625 0.1875 0.8125 1 0.5 0.625 -0.0625 "
                   "0.5625 0.0625 0.625 0.3125 0.8125 -0.0625 0 0.75 0.5 0.5625 0.9375 0.5 0.875 0.5 1.0625 "
                   "0.6875 0.0625 0.3125 0.9375 0.3125 0.125 0.4375 0.375 0.625 0.4375 0.1875 0.375 0.375 1 "
                   "1.125 0.625 -0 0.8125; float[1,5,3] 0.68 0.83 0.35 0.06 0.61 0.12 0.76 0.79 0.41 0.94 "
                   "0.17 0.94 0.47 0.76 0.75; int32[] 1; int32[] 9; float[] 0.5; float[] 0.1",
         .want = "float[1,3,4] 0.5625 0.9375 0.5 0.875 0.3125 0.9375 0.3125 0.125 0.6875 0.125 0.5 0.125; "
                 "float[1,3] 0.94 0.94 0.83; float[1,3] 0 2 1; int32[1] 3"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,0,1,4]; float[1,0,2]; int32[] 2; int32[] 2; float[] 0.5; float[] 0",
         .want = "float[1,2,4] 0; float[1,2] 0; float[1,2] 0; int32[1] 0"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,0,1,4]; float[1,0,1099511627776]; int32[] 2; int32[] 1; float[] 0.5; float[] 0",
         .want = "float[1,1,4] 0; float[1,1] 0; float[1,1] 0; int32[1] 0"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[0,1,1,4]; float[0,1,2]; int32[] 2; int32[] 2; float[] 0.5; float[] 0",
         .want = "float[0,2,4]; float[0,2]; float[0,2]; int32[0]"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,1,2,4] 0; float[1,1,3] 0; int32[] 2; int32[] 2; float[] 0.5; float[] 0",
         .want = "InvalidArgument: third dimension of boxes must be either 1 or num classes"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,1,1,4] 0; float[2,1,3] 0; int32[] 2; int32[] 2; float[] 0.5; float[] 0",
         .want = "InvalidArgument: boxes and scores must have same batch size"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,1,1,4] 0; float[1,1,3] 0; int32[] 2; int32[] 0; float[] 0.5; float[] 0",
         .want = "InvalidArgument: max_total_size"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,1,1,4] 0; float[1,1,3] 0; int32[] 0; int32[] 1; float[] 0.5; float[] 0",
         .want = "InvalidArgument: max_size_per_class must be positive"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,1,1,4] 0; float[1,1,3] 0; int32[] 2; int32[] 1; float[] 1.5; float[] 0",
         .want = "InvalidArgument: iou_threshold must be in [0, 1]"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,1,4] 0; float[1,1,3] 0; int32[] 2; int32[] 1; float[] 0.5; float[] 0",
         .want = "InvalidArgument: boxes must be 4-D"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,1,1,4] 0; float[] 0; int32[] 2; int32[] 1; float[] 0.5; float[] 0",
         .want = "InvalidArgument: scores must be 3-D"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,1,1,4] 0; float[1,1,3] 0; int32[1] 2; int32[] 1; float[] 0.5; float[] 0",
         .want = "InvalidArgument: max_size_per_class must be 0-D, got shape [1]"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,1,1,4] 0; float[1,1,3] 0; int32[] 2; int32[0]; float[] 0.5; float[] 0",
         .want = "InvalidArgument: max_total_size must be 0-D, got shape [0]"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,1,1,4] 0; float[1,1,3] 0; int32[] 2; int32[] 1; float[2] 0.5; float[] 0",
         .want = "InvalidArgument: iou_threshold must be 0-D, got shape [2]"},
        {.op = "CombinedNonMaxSuppression",
         .inputs = "float[1,1,1,4] 0; float[1,1,3] 0; int32[] 2; int32[] 1; float[] 0.5; float[1] 0",
         .want = "InvalidArgument: score_threshold must be 0-D, got shape [1]"},
    };
    OP_TEST_VALUES(cases);
}

// ---- Glimpses: windows cut out with numpy ----

// A pixel's value is its place.
#define IMAGE "float[1,4,5,1] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19"
#define TWO_IMAGES                                                                                           \
    "float[2,4,5,1] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 "                                      \
    "20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39"

static void glimpses_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ExtractGlimpse",
         .attrs = "noise=zero; uniform_noise=false",
         .inputs = TWO_IMAGES "; int32[2] 2 3; float[2,2] 0 0 0.5 -0.5",
         .want = "float[2,2,3,1] 6 7 8 11 12 13 30 31 32 35 36 37"},
        {.op = "ExtractGlimpse",
         .attrs = "noise=zero; uniform_noise=false",
         .inputs = TWO_IMAGES "; int32[2] 3 3; float[2,2] -1 1 0.9 0.9",
         .want = "float[2,3,3,1] 0 0 0 3 4 0 8 9 0 33 34 0 38 39 0 0 0 0"},
        {.op = "ExtractGlimpse",
         .attrs = "noise=zero; uniform_noise=false; centered=false; normalized=false",
         .inputs = TWO_IMAGES "; int32[2] 2 2; float[2,2] 2 2 0 4.5",
         .want = "float[2,2,2,1] 6 7 11 12 0 0 23 24"},
        {.op = "ExtractGlimpse",
         .attrs = "noise=zero; uniform_noise=false; centered=false",
         .inputs = TWO_IMAGES "; int32[2] 2 2; float[2,2] 0.5 0.5 1 1",
         .want = "float[2,2,2,1] 6 7 11 12 39 0 0 0"},
        {.op = "ExtractGlimpse",
         .attrs = "noise=zero; uniform_noise=false; normalized=false",
         .inputs = TWO_IMAGES "; int32[2] 2 3; float[2,2] 1 -2 9 0",
         .want = "float[2,2,3,1] 5 6 7 10 11 12 0 0 0 0 0 0"},
        {.op = "ExtractGlimpse",
         .attrs = "noise=zero; uniform_noise=false",
         .inputs = "float[1,2,2,1] 1; int32[2] 1 1; float[1,2] nan inf",
         .want = "float[1,1,1,1] 0"},
    };
    OP_TEST_VALUES(cases);
}

// Of the second version an offset that is not both centered and normalized is where the window begins.
static void glimpses_of_second_version_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ExtractGlimpseV2",
         .attrs = "noise=zero; uniform_noise=false",
         .inputs = IMAGE "; int32[2] 2 3; float[1,2] 0 0",
         .want = "float[1,2,3,1] 6 7 8 11 12 13"},
        {.op = "ExtractGlimpseV2",
         .attrs = "noise=zero; uniform_noise=false; centered=false; normalized=false",
         .inputs = IMAGE "; int32[2] 2 2; float[1,2] 1 2",
         .want = "float[1,2,2,1] 7 8 12 13"},
        {.op = "ExtractGlimpseV2",
         .attrs = "noise=zero; uniform_noise=false; centered=false",
         .inputs = IMAGE "; int32[2] 2 2; float[1,2] 0.25 0.2",
         .want = "float[1,2,2,1] 6 7 11 12"},
        {.op = "ExtractGlimpseV2",
         .attrs = "noise=zero; uniform_noise=false; normalized=false",
         .inputs = IMAGE "; int32[2] 2 2; float[1,2] -1 0.5",
         .want = "float[1,2,2,1] 8 9 13 14"},
    };
    OP_TEST_VALUES(cases);
}

// Of an image of one value, noise is that value.
static void noise_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ExtractGlimpse",
         .inputs = "float[1,2,2,1] 7; int32[2] 4 4; float[1,2] 1 1",
         .want = "float[1,4,4,1] 7"},
        {.op = "ExtractGlimpse",
         .attrs = "noise=gaussian; uniform_noise=false",
         .inputs = "float[1,2,2,1] 7; int32[2] 4 4; float[1,2] 1 1",
         .want = "float[1,4,4,1] 7"},
        {.op = "ExtractGlimpse",
         .attrs = "noise=gaussian",
         .inputs = "float[1,2,2,1] 7; int32[2] 4 4; float[1,2] 1 1",
         .want = "InvalidArgument: The uniform_noise and noise should not be specified at the same time"},
        {.op = "ExtractGlimpse",
         .attrs = "noise=pink; uniform_noise=false",
         .inputs = "float[1,2,2,1] 7; int32[2] 4 4; float[1,2] 1 1",
         .want = "InvalidArgument: The noise should be uniform, gaussian, or zero, but got: pink"},
    };
    OP_TEST_VALUES(cases);
}

static void empty_glimpses_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ExtractGlimpse",
         .inputs = "float[0,2,2,1]; int32[2] 4 4; float[0,2]",
         .want = "float[0,4,4,1]"},
        {.op = "ExtractGlimpseV2",
         .inputs = "float[0,2,2,3]; int32[2] 1 2; float[0,2]",
         .want = "float[0,1,2,3]"},
    };
    OP_TEST_VALUES(cases);
}

static void glimpse_errors_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ExtractGlimpse",
         .inputs = "float[2,2,1] 7; int32[2] 4 4; float[1,2] 1 1",
         .want = "InvalidArgument: input must be 4-dimensional"},
        {.op = "ExtractGlimpse",
         .inputs = "float[1,2,2,1] 7; int32[2] 4 4; float[2,2] 1",
         .want = "InvalidArgument: first dimension should be batch"},
        {.op = "ExtractGlimpse",
         .inputs = "float[1,2,2,1] 7; int32[3] 4 4 4; float[1,2] 1",
         .want = "InvalidArgument: input must be a vector of size 2"},
        {.op = "ExtractGlimpse",
         .inputs = "float[1,2,2,1] 7; int32[] 4; float[1,2] 1",
         .want = "InvalidArgument: input must be a vector of size 2"},
        {.op = "ExtractGlimpse",
         .inputs = "float[1,2,2,1] 7; int32[2] 4 4; float[] 1",
         .want = "InvalidArgument: input must be a matrix"},
        {.op = "ExtractGlimpse",
         .inputs = "float[1,2,2,1] 7; int32[2] 4 4; float[1,3] 1",
         .want = "InvalidArgument: second dimension should be of size 2 (y,x)"},
        {.op = "ExtractGlimpse",
         .inputs = "float[1,2,2,1] 7; int32[2] 0 4; float[1,2] 1",
         .want = "InvalidArgument: "},
        {.op = "ExtractGlimpseV2",
         .inputs = "float[] 7; int32[2] 4 4; float[1,2] 1",
         .want = "InvalidArgument: input must be 4-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"CombinedNonMaxSuppression", NULL, "[2,?,1,4]; [2,?,3]; int32[]; int32[] 7; []; []",
         "[2,7,4]; [2,7]; [2,7]; [2]"},
        {"CombinedNonMaxSuppression", "pad_per_class=true", "?; [2,?,3]; int32[] 2; int32[] 7; []; []",
         "[2,6,4]; [2,6]; [2,6]; [2]"},
        {"CombinedNonMaxSuppression", NULL, "[2,?,1,5]; ?; int32[]; int32[]; []; []",
         "InvalidArgument: Dimension must be 4 but is 5"},
        {"ExtractGlimpse", NULL, "[?,3,4,5]; int32[2] 6 7; [8,2]", "[8,6,7,5]"},
        {"ExtractGlimpse", NULL, "[3,3,4,5]; int32[2]; [8,2]",
         "InvalidArgument: Dimensions must be equal, but are 3 and 8"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(combined_follows_its_definition),
        cmocka_unit_test(glimpses_follow_the_definition),
        cmocka_unit_test(glimpses_of_second_version_follows_its_definition),
        cmocka_unit_test(noise_follows_its_definition),
        cmocka_unit_test(empty_glimpses_follow_the_definition),
        cmocka_unit_test(glimpse_errors_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
