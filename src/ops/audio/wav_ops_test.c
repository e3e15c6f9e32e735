// Tests of DecodeWav and EncodeWav. The files were written by Python's wave module.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define STEREO                                                                                               \
    "\\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x10\\x00\\x00\\x00\\x01\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x04\\x00\\x10\\x00\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DecodeWav", NULL, "string[] " STEREO, "float[2,2] 0 0.5 -1 0.999969482; int32[] 8000"},
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x10\\x00\\x00\\x00\\x01\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x04\\x00\\x10\\x00\\x4c\\x49\\x53\\x54\\x02\\x00\\x00\\x00\\x61\\x62\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f",
         "float[2,2] 0 0.5 -1 0.999969482; int32[] 8000"}, // another chunk before the data
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x12\\x00\\x00\\x00\\x01\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x04\\x00\\x10\\x00\\x00\\x00\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f",
         "float[2,2] 0 0.5 -1 0.999969482; int32[] 8000"}, // two more bytes in the format chunk
        {"DecodeWav", "desired_channels=1; desired_samples=3", "string[] " STEREO,
         "float[3,1] 0 -1 0; int32[] 8000"},
        {"DecodeWav", "desired_channels=3; desired_samples=1", "string[] " STEREO,
         "float[1,3] 0 0.5 0.5; int32[] 8000"},
        {"DecodeWav", "desired_samples=0", "string[] " STEREO, "float[0,2]; int32[] 8000"},
        {"EncodeWav", NULL, "float[2,2] 0 0.5 -2 1; int32[] 8000", "string[] " STEREO},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x58\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x10\\x00\\x00\\x00\\x01\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x04\\x00\\x10\\x00\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f",
         "InvalidArgument: Header mismatch: Expected RIFF but found RIFX"},
        {"DecodeWav", NULL, "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41",
         "InvalidArgument: Data too short"},
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x10\\x00\\x00\\x00\\x01\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x04\\x00\\x10\\x00\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff",
         "InvalidArgument: Data too short"},
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x11\\x00\\x00\\x00\\x01\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x04\\x00\\x10\\x00\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f",
         "InvalidArgument: Bad file size for WAV: Expected 16 or 18, but got 17"},
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x10\\x00\\x00\\x00\\x03\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x04\\x00\\x10\\x00\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f",
         "InvalidArgument: Bad audio format for WAV: Expected 1 (PCM), but got 3"},
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x10\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x04\\x00\\x10\\x00\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f",
         "InvalidArgument: Bad number of channels for WAV"},
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x10\\x00\\x00\\x00\\x01\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x04\\x00\\x08\\x00\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f",
         "InvalidArgument: Can only read 16-bit WAV files, but received 8"},
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x10\\x00\\x00\\x00\\x01\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x02\\x00\\x10\\x00\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f",
         "InvalidArgument: Bad bytes per sample in WAV header: Expected 4 but got 2"},
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x10\\x00\\x00\\x00\\x01\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x01\\x7d\\x00\\x00\\x04\\x00\\x10\\x00\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f",
         "InvalidArgument: Bad bytes per second in WAV header"},
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x10\\x00\\x00\\x00\\x01\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x04\\x00\\x10\\x00",
         "InvalidArgument: No data chunk found in WAV"},
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x10\\x00\\x00\\x00\\x01\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x04\\x00\\x10\\x00\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\x00\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f",
         "InvalidArgument: More than one data chunk"},
        {"DecodeWav", NULL,
         "string[] \\x52\\x49\\x46\\x46\\x2c\\x00\\x00\\x00\\x57\\x41\\x56\\x45\\x66\\x6d\\x74\\x20\\x10\\x00\\x00\\x00\\x01\\x00\\x02\\x00\\x40\\x1f\\x00\\x00\\x00\\x7d\\x00\\x00\\x04\\x00\\x10\\x00\\x64\\x61\\x74\\x61\\x08\\x00\\x00\\xff\\x00\\x00\\x00\\x40\\x00\\x80\\xff\\x7f",
         "InvalidArgument: is too large"},
        {"DecodeWav", NULL, "string[1] " STEREO, "InvalidArgument: contents must be scalar"},
        {"DecodeWav", "desired_samples=2147483647; desired_channels=2147483647", "string[] " STEREO,
         "ResourceExhausted: "},
        {"EncodeWav", NULL, "float[2] 1; int32[] 8000", "InvalidArgument: audio must be 2-dimensional"},
        {"EncodeWav", NULL, "float[2,1] 1; int32[] 0",
         "InvalidArgument: sample_rate must be in (0, 2^32), got: 0"},
        {"EncodeWav", NULL, "float[2,0]; int32[] 1",
         "InvalidArgument: num_channels must be in (0, 2^16), got: 0"},
        {"EncodeWav", NULL, "float[0,1]; int32[] 1", "InvalidArgument: num_frames must be positive."},
        {"EncodeWav", NULL, "float[1,1] 1; int32[1] 1", "InvalidArgument: sample_rate must be scalar"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"DecodeWav", "desired_channels=2", "string[]", "[?,2]; []"},
        {"DecodeWav", "desired_channels=-2", "string[]",
         "InvalidArgument: channels must be non-negative, got -2"},
        {"DecodeWav", NULL, "string[1]", "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"EncodeWav", NULL, "[2,?]; int32[]", "[]"},
    };
    OP_TEST_SHAPES(shapes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(wrong_inputs_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
