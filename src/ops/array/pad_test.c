// Tests of PadV2, MirrorPad and Bitcast. Values are numpy's (pad, view) or follow from the definition.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"PadV2", NULL, "float[1,2] 1 2; int32[2,2] 1 0 0 2; float[] 9", "float[2,4] 9 9 9 9 1 2 9 9"},
        {"PadV2", NULL, "string[1] a; int64[1,2] 1 1; string[] -", "string[3] - a -"},
        {"PadV2", NULL, "int32[] 5; int32[0,2]; int32[] 1", "int32[] 5"},
        {"PadV2", NULL, "int64[0]; int32[1,2] 1 1; int64[] 7", "int64[2] 7 7"},
        {"PadV2", NULL, "int64[1] 1; int32[1,2] 1 1; int64[1] 7", "InvalidArgument: "},
        {"PadV2", NULL, "int64[1] 1; int32[1,2] -1 1; int64[] 7",
         "InvalidArgument: Paddings must be non-negative"},
        {"PadV2", NULL, "int64[1] 1; int64[1,2] 4611686018427387904 4611686018427387904; int64[] 7",
         "InvalidArgument: "},
        {"PadV2", NULL, "int64[1] 1; int64[1,2] 4611686018427387904 1; int64[] 7", "ResourceExhausted: "},
        {"MirrorPad", "mode=REFLECT", "int32[2,3] 1 2 3 4 5 6; int32[2,2] 1 1 2 2",
         "int32[4,7] 6 5 4 5 6 5 4 3 2 1 2 3 2 1 6 5 4 5 6 5 4 3 2 1 2 3 2 1"},
        {"MirrorPad", "mode=SYMMETRIC", "int32[2,3] 1 2 3 4 5 6; int64[2,2] 1 1 2 2",
         "int32[4,7] 2 1 1 2 3 3 2 2 1 1 2 3 3 2 5 4 4 5 6 6 5 5 4 4 5 6 6 5"},
        {"MirrorPad", "mode=SYMMETRIC", "string[2] a b; int32[1,2] 2 1", "string[5] b a a b b"},
        {"MirrorPad", "mode=REFLECT", "float[] 3; int32[0,2]", "float[] 3"},
        {"MirrorPad", "mode=SYMMETRIC", "float[0]; int32[1,2] 0 0", "float[0]"},
        {"MirrorPad", "mode=REFLECT", "float[3] 1 2 3; int32[1,2] 3 0",
         "InvalidArgument: paddings must be less than the dimension size: 3, 0"},
        {"MirrorPad", "mode=SYMMETRIC", "float[3] 1 2 3; int32[1,2] 0 4",
         "InvalidArgument: paddings must be no greater than the dimension size"},
        {"MirrorPad", "mode=SYMMETRIC", "float[3] 1 2 3; int32[1,2] -1 0", "InvalidArgument: non-negative"},
        {"MirrorPad", "mode=SYMMETRIC", "float[3] 1 2 3; int32[2,2] 0", "InvalidArgument: "},
        {"MirrorPadGrad", "mode=REFLECT", "float[7] 1 2 3 4 5 6 7; int32[1,2] 2 2", "float[3] 10 12 6"},
        {"MirrorPadGrad", "mode=SYMMETRIC", "double[] 3; int64[0,2]", "double[] 3"},
        {"MirrorPadGrad", "mode=SYMMETRIC", "float[0,2]; int32[2,2] 0 0 1 0", "float[0,1]"},
        {"MirrorPadGrad", "mode=SYMMETRIC", "float[2] 1; int32[] 0",
         "InvalidArgument: paddings must be a matrix with 2 columns: []"},
        {"MirrorPadGrad", "mode=SYMMETRIC", "float[2] 1; int32[2,2] 0",
         "InvalidArgument: The first dimension of paddings must be the rank of inputs"},
        {"MirrorPadGrad", "mode=SYMMETRIC", "int32[2,4] 1 2 3 4 5 6 7 8; int32[2,2] 0 0 1 1",
         "int32[2,2] 3 7 11 15"},
        {"MirrorPadGrad", "mode=SYMMETRIC", "float[3] 1; int32[1,2] 2 2", "InvalidArgument: "},
        {"MirrorPadGrad", "mode=REFLECT", "float[3] 1; int32[1,2] 1 1", "InvalidArgument: less than"},
        {"Bitcast", "type=float", "int32[2] 1065353216 0", "float[2] 1 0"},
        {"Bitcast", "type=uint8", "int32[1] 258", "uint8[1,4] 2 1 0 0"},
        {"Bitcast", "type=int64", "int32[2,2] 1 0 0 1", "int64[2] 1 4294967296"},
        {"Bitcast", "type=half", "bfloat16[] 0x1234", "half[] 0x1234"},
        {"Bitcast", "type=int16", "int64[0]", "int16[0,4]"},
        {"Bitcast", "type=int64", "int32[3] 1", "InvalidArgument: "},
        {"Bitcast", "type=int64", "int32[] 1", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"PadV2", NULL, "[2,?]; int32[2,2] 1 1 0 2; []", "[4,?]"},
        {"PadV2", NULL, "?; int32[2,2]; []", "[?,?]"},
        {"PadV2", NULL, "[2,?]; int32[2,2]; [1]", "InvalidArgument: "},
        {"MirrorPad", "mode=REFLECT", "[3,?]; int32[2,2] 1 1 0 2", "[5,?]"},
        {"MirrorPad", "mode=REFLECT", "[3,?]; int32[2,3]", "InvalidArgument: "},
        {"MirrorPadGrad", "mode=REFLECT", "[5,?]; int32[2,2] 1 1 0 2", "[3,?]"},
        {"Bitcast", "type=int64", "[?,2]", "[?]"},
        {"Bitcast", "type=uint8", "[?,2]", "[?,2,4]"},
        {"Bitcast", "type=int64", "[?,3]", "InvalidArgument: "},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"PadV2", NULL, "double[1,2] 1 2; int32[2,2] 1 0 0 2; double[] 9", "2"},
        {"MirrorPad", "mode=REFLECT", "double[2,3] 1 2 3 4 5 6; int32[2,2] 1 1 2 2"},
        {"MirrorPad", "mode=SYMMETRIC", "double[2,3] 1 2 3 4 5 6; int32[2,2] 1 1 2 2"},
        {"MirrorPadGrad", "mode=SYMMETRIC", "double[4] 1 2 3 4; int32[1,2] 1 1"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
