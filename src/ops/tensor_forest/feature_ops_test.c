// Tests of ReinterpretStringToFloat and ScatterAddNdim. Values are those of TensorFlow 1.15.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void strings_have_numbers(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ReinterpretStringToFloat", NULL, "string[] a", "float[] 4.993892752916742e+18"},
        {"ReinterpretStringToFloat", NULL, "string[3] '' abcdefgh abcdefghi",
         "float[3] 6.142509119745032e+18 8.664279170223702e+18 1.3036955550028399e+19"},
        {"ReinterpretStringToFloat", NULL, "string[2,1] hello\\x20world,\\x20this\\x20is xxxxxxxxxxxxxxxxx",
         "float[2,1] 1.3268973394210062e+19 1.1462991460727521e+19"},
        {"ReinterpretStringToFloat", NULL, "string[0]", "float[0]"},
    };
    OP_TEST_VALUES(cases);
}

static void deltas_are_added_at_coordinates(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ScatterAddNdim", NULL, "ref float[2,2] 1 2 3 4; int32[3,2] 0 0 1 1 0 0; float[3] 10 20 30", "",
         "float[2,2] 41 2 3 24"},
        {"ScatterAddNdim", NULL, "ref float[2,2] 1 2 3 4; int32[1,1] 1; float[1,2] 10 20", "",
         "float[2,2] 1 2 13 24"},
        {"ScatterAddNdim", NULL, "ref float[2] 1 2; int32[0,1]; float[0]", "", "float[2] 1 2"},
        {"ScatterAddNdim", NULL, "ref float[] 1; int32[1,0]; float[1] 2", "", "float[] 3"},
        {"ScatterAddNdim", NULL, "ref float[2] 1 2; int32[1] 0; float[1] 1",
         "InvalidArgument: indices should be two-dimensional"},
        {"ScatterAddNdim", NULL, "ref float[2] 1 2; int32[] 0; float[] 1",
         "InvalidArgument: indices should be two-dimensional"},
        {"ScatterAddNdim", NULL, "ref float[2] 1 2; int32[1,2] 0 0; float[1] 1",
         "InvalidArgument: Number of indices dimensions should be the same as input rank."},
        {"ScatterAddNdim", NULL, "ref float[2] 1 2; int32[1,1] 0; float[2] 1 1",
         "InvalidArgument: Number of updates should be same as number of indices."},
        {"ScatterAddNdim", NULL, "ref float[2] 1 2; int32[2,1] 0 2; float[2] 1 1",
         "InvalidArgument: indices[1] is not within the input of shape [2]", "float[2] 1 2"},
        {"ScatterAddNdim", NULL, "ref float[2] 1 2; int32[1,1] -1; float[1] 1",
         "InvalidArgument: indices[0] is not within"},
        {"ScatterAddNdim", NULL, "ref float[2,2] 0; int32[1,1] 0; float[1,3] 1",
         "InvalidArgument: Updates of shape [1,3] do not fit an input of shape [2,2]"},
        {"ScatterAddNdim", NULL, "ref float[2]; int32[1,1] 0; float[1] 1",
         "FailedPrecondition: uninitialized"},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_have_numbers),
        cmocka_unit_test(deltas_are_added_at_coordinates),
    };
    return BD_RUN_TESTS(tests);
}
