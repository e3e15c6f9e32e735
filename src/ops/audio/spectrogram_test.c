// Tests of AudioSpectrogram and Mfcc. Values were computed with numpy and scipy from the ops' definitions.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define SOUND "float[7,2] -1 2 0.5 1 3 -1 2 0.25 -0.5 0 1 1 0 2"

static void spectrogram_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"AudioSpectrogram", "window_size=3; stride=2; magnitude_squared=true", SOUND,
         "float[2,3,3] 6.890625 5.203125 3.515625 1.265625 2.390625 3.515625 0.5625 0.5625 0.5625 0 1.125 2.25 "
         "0.03515625 0.03515625 0.03515625 5.0625 2.8125 0.5625"},
        {"AudioSpectrogram", "window_size=4; stride=3", SOUND,
         "float[2,2,3] 4.25 3.09232922 1.75 0.75 1.03077641 1.25 0.375 1.06800047 1.625 2 1.41421356 0"},
        {"AudioSpectrogram", "window_size=8; stride=1", "float[8,1] -1 0 1 0 -1 0 1 0",
         "float[1,1,5] 0 1 2 1 0"},
        {"AudioSpectrogram", "window_size=8; stride=1", SOUND, "float[2,0,5]"},
        {"AudioSpectrogram", "window_size=1073741824; stride=1", SOUND, "float[2,0,536870913]"},
        {"AudioSpectrogram", "window_size=4; stride=1", "float[7,0]", "float[0,4,3]"},
        {"AudioSpectrogram", "window_size=1; stride=1", SOUND,
         "InvalidArgument: Spectrogram initialization failed for window size 1 and stride 1"},
        {"AudioSpectrogram", "window_size=4; stride=0", SOUND,
         "InvalidArgument: Spectrogram initialization failed for window size 4 and stride 0"},
        {"AudioSpectrogram", "window_size=9223372036854775807; stride=1", SOUND,
         "InvalidArgument: Spectrogram initialization failed"},
        {"AudioSpectrogram", "window_size=4; stride=1", "float[7] 1",
         "InvalidArgument: input must be 2-dimensional[7]"},
        {.op = "AudioSpectrogram",
         .attrs = "window_size=4; stride=2",
         .inputs = "float[] 1",
         .want = "InvalidArgument: input must be 2-dimensional[]"},
    };
    OP_TEST_VALUES(cases);
}

#define FRAMES "float[1,2,9] 2 3 4 5 6 7 1 2 3 4 5 6 7 1 2 3 4 5"
#define SMALL "filterbank_channel_count=5; dct_coefficient_count=4"

static void mfcc_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Mfcc", SMALL, FRAMES "; int32[] 8000",
         "float[1,2,4] 2.27422324 -1.40656905 -0.459716059 -0.155968225 2.38400065 -0.942010322 -0.495240647 "
         "-0.374987769"},
        {"Mfcc",
         "filterbank_channel_count=3; dct_coefficient_count=3; lower_frequency_limit=300; "
         "upper_frequency_limit=3000",
         FRAMES "; int32[] 8000",
         "float[1,2,3] 1.7586283 -1.25432213 -0.273202931 1.66009213 -0.75136714 -0.549219056"},
        // A spectrogram that ends below the upper limit gives zeros.
        {"Mfcc", SMALL, FRAMES "; int32[] 4000", "float[1,2,4] 0"},
        {"Mfcc", SMALL "; lower_frequency_limit=1e30; upper_frequency_limit=1e31", FRAMES "; int32[] 1",
         "float[1,2,4] 0"},
        {"Mfcc", NULL, "float[0,2,9]; int32[] 8000", "float[0,2,13]"},
        {"Mfcc", NULL, "float[2,9] 1; int32[] 8000",
         "InvalidArgument: spectrogram must be 3-dimensional[2,9]"},
        {"Mfcc", NULL, FRAMES "; int32[1] 8000",
         "InvalidArgument: Input sample_rate should be a scalar tensor, got [1] instead."},
        {"Mfcc", NULL, FRAMES "; int32[] 0",
         "InvalidArgument: Mfcc initialization failed for channel count 9 and sample rate 0"},
        {"Mfcc", NULL, "float[1,1,1] 1; int32[] 8000",
         "InvalidArgument: Mfcc initialization failed for channel count 1 and sample rate 8000"},
        {"Mfcc", "dct_coefficient_count=41", FRAMES "; int32[] 8000",
         "InvalidArgument: dct_coefficient_count"},
        {"Mfcc", "dct_coefficient_count=-1", FRAMES "; int32[] 8000",
         "InvalidArgument: dct_coefficient_count"},
        {"Mfcc", "filterbank_channel_count=4097", FRAMES "; int32[] 8000",
         "InvalidArgument: filterbank_channel_count must be from 1 to 4096"},
        {"Mfcc", "filterbank_channel_count=4096; upper_frequency_limit=inf", FRAMES "; int32[] 2147483647",
         "float[1,2,13] 0"},
        {"Mfcc", SMALL, "float[1,1,3] -1 nan inf; int32[] 8000", "*"},
        {"Mfcc", "filterbank_channel_count=9223372036854775807", FRAMES "; int32[] 8000",
         "InvalidArgument: filterbank_channel_count"},
        {"Mfcc", "lower_frequency_limit=-1", FRAMES "; int32[] 8000",
         "InvalidArgument: lower_frequency_limit"},
        {"Mfcc", "upper_frequency_limit=nan", FRAMES "; int32[] 8000",
         "InvalidArgument: upper_frequency_limit"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"AudioSpectrogram", "window_size=5; stride=2", "[9,2]", "[2,3,5]"},
        {"AudioSpectrogram", "window_size=5; stride=2", "[?,2]", "[2,?,5]"},
        {"AudioSpectrogram", "window_size=5; stride=2", "?", "[?,?,5]"},
        {"AudioSpectrogram", "window_size=5; stride=2", "[3]", "InvalidArgument: Shape must be rank 2"},
        {"Mfcc", NULL, "[2,?,9]; int32[]", "[2,?,13]"},
        {"Mfcc", NULL, "?; int32[]", "[?,?,13]"},
        {"Mfcc", NULL, "[2,9]; int32[]", "InvalidArgument: Shape must be rank 3"},
        {"Mfcc", NULL, "[2,9,9]; int32[1]", "InvalidArgument: Shape must be rank 0"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(spectrogram_follows_its_definition),
                                       cmocka_unit_test(mfcc_follows_its_definition),
                                       cmocka_unit_test(shapes_are_inferred)};
    return BD_RUN_TESTS(tests);
}
