// Tests of ops that move blocks of images to the batch or the channels. Examples are those of TensorFlow's
// documentation.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define IMAGE "float[1,4,4,1] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"

static void batch_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SpaceToBatchND", NULL, "float[1,2,2,1] 1 2 3 4; int32[2] 2 2; int32[2,2] 0",
         "float[4,1,1,1] 1 2 3 4"},
        {"SpaceToBatchND", NULL, IMAGE "; int64[2] 2 2; int64[2,2] 0",
         "float[4,2,2,1] 1 3 9 11 2 4 10 12 5 7 13 15 6 8 14 16"},
        {"SpaceToBatchND", NULL,
         "float[2,2,4,1] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; int32[2] 2 2; int32[2,2] 0 0 2 0",
         "float[8,1,3,1] 0 1 3 0 9 11 0 2 4 0 10 12 0 5 7 0 13 15 0 6 8 0 14 16"},
        {"SpaceToBatchND", NULL, "string[1,3] a b c; int32[1] 2; int32[1,2] 1 0", "string[2,2] '' b a c"},
        {"SpaceToBatchND", NULL, "int32[2,1] 1 2; int32[1] 3; int32[1,2] 1 1", "int32[6,1] 0 0 1 2 0 0"},
        {"SpaceToBatchND", NULL, "int32[2,1] 1 2; int32[0]; int32[0,2]", "int32[2,1] 1 2"},
        // No images; padding without pixels; an exact fit that is cropped to nothing.
        {"SpaceToBatchND", NULL, "float[0,4,1]; int32[1] 2; int32[1,2] 0", "float[0,2,1]"},
        {"SpaceToBatchND", NULL, "int32[1,0,1]; int32[1] 2; int32[1,2] 1", "int32[2,1,1] 0"},
        {"SpaceToBatchND", NULL, "string[1,0]; int32[1] 2; int32[1,2] 1", "string[2,1] '' ''"},
        {"SpaceToBatchND", NULL,
         "double[2,1,1,1,1,1,1,1] 1 2; int32[7] 1 1 1 1 1 1 2; int32[7,2] 0 0 0 0 0 0 0 0 0 0 0 0 0 1",
         "double[4,1,1,1,1,1,1,1] 1 2 0 0"},
        {"SpaceToBatchND", NULL, "float[1,3,1] 1; int32[1] 2; int32[1,2] 0",
         "InvalidArgument: padded_shape[0]=3 is not divisible by block_shape[0]=2"},
        {"SpaceToBatchND", NULL, "float[1,4,1] 1; int32[1] 0; int32[1,2] 0",
         "InvalidArgument: must be positive"},
        {"SpaceToBatchND", NULL, "float[1,4,1] 1; int32[1] 2; int32[1,2] -2 0",
         "InvalidArgument: Paddings must be non-negative"},
        {"SpaceToBatchND", NULL, "float[1,4,1] 1; int32[3] 2; int32[3,2] 0",
         "InvalidArgument: input rank should be >= 4 instead of 3"},
        {"SpaceToBatchND", NULL, "float[] 1; int32[0]; int32[0,2]",
         "InvalidArgument: input rank should be >= 1 instead of 0"},
        {"SpaceToBatchND", NULL, "float[1,4] 1; int32[] 2; int32[1,2] 0",
         "InvalidArgument: block_shape rank should be 1 instead of 0"},
        {"SpaceToBatchND", NULL, "float[1,4] 1; int32[1] 2; int32[2,2] 0",
         "InvalidArgument: paddings should have shape [1, 2] instead of [2,2]"},
        {"SpaceToBatchND", NULL, "float[1,4] 1; int32[1] 2; int32[] 0",
         "InvalidArgument: paddings should have shape [1, 2] instead of []"},
        {"BatchToSpaceND", NULL, "float[4,1,1,1] 1 2 3 4; int32[2] 2 2; int32[2,2] 0",
         "float[1,2,2,1] 1 2 3 4"},
        {"BatchToSpaceND", NULL,
         "float[8,1,3,1] 0 1 3 0 9 11 0 2 4 0 10 12 0 5 7 0 13 15 0 6 8 0 14 16; int32[2] 2 2; int32[2,2] 0 0 2 0",
         "float[2,2,4,1] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"},
        {"BatchToSpaceND", NULL, "int32[2,2] 1 2 3 4; int32[1] 2; int32[1,2] 1 2", "int32[1,1] 3"},
        {"BatchToSpaceND", NULL, "float[0,3]; int32[1] 2; int32[1,2] 0", "float[0,6]"},
        {"BatchToSpaceND", NULL, "float[2,3,0]; int32[1] 2; int32[1,2] 0", "float[1,6,0]"},
        {"BatchToSpaceND", NULL, "string[2,1] a b; int64[1] 2; int64[1,2] 1", "string[1,0]"},
        {"BatchToSpaceND", NULL, "bool[2] true false; int32[0]; int32[0,2]", "bool[2] true false"},
        {"BatchToSpaceND", NULL, "int32[3,2] 1; int32[1] 2; int32[1,2] 0",
         "InvalidArgument: Input batch dimension (3) is not divisible by product of block sizes (2)"},
        {"BatchToSpaceND", NULL, "int32[2,2] 1; int32[1] 2; int32[1,2] 3 2",
         "InvalidArgument: cropped_shape[0]=-1 must be non-negative"},
        {"BatchToSpaceND", NULL, "int32[2,2] 1; int32[1] 2; int32[1,2] 3 -2",
         "InvalidArgument: Crops must be non-negative"},
        {"BatchToSpaceND", NULL, "int32[2,2] 1; int32[1] 0; int32[1,2] 0",
         "InvalidArgument: must be positive"},
        {"BatchToSpaceND", NULL, "float[] 1; int32[1] 1; int32[1,2] 0",
         "InvalidArgument: input rank should be >= 2 instead of 0"},
        {"BatchToSpaceND", NULL, "int32[2,2] 1; int32[] 2; int32[1,2] 0",
         "InvalidArgument: block_shape rank should be 1 instead of 0"},
        {"BatchToSpaceND", NULL, "int32[2,2] 1; int32[1] 2; int32[] 0",
         "InvalidArgument: crops should have shape [1, 2] instead of []"},
        {"SpaceToBatch", "block_size=2", "float[1,2,2,1] 1 2 3 4; int32[2,2] 0", "float[4,1,1,1] 1 2 3 4"},
        {"BatchToSpace", "block_size=2", "float[4,1,1,1] 1 2 3 4; int32[2,2] 0 1 0 0", "float[1,1,2,1] 1 2"},
        {"SpaceToBatch", "block_size=2", "int32[0,2,2,1]; int32[2,2] 0", "int32[0,1,1,1]"},
        {"SpaceToBatch", "block_size=2", "int32[] 1; int32[2,2] 0",
         "InvalidArgument: Input rank should be: 4 instead of: 0"},
        {"SpaceToBatch", "block_size=2", "int32[1,2,2,1] 1; int32[] 0",
         "InvalidArgument: paddings should have shape [2, 2] instead of []"},
        {"SpaceToBatch", "block_size=2", "int32[1,2,3,1] 1; int64[2,2] 0",
         "InvalidArgument: padded_shape[1]=3 is not divisible by block_shape[1]=2"},
        {"BatchToSpace", "block_size=2", "int32[0,1,1,1]; int32[2,2] 0", "int32[0,2,2,1]"},
        {"BatchToSpace", "block_size=2", "float[4,1,1] 1 2 3 4; int32[2,2] 0",
         "InvalidArgument: Input rank should be: 4 instead of: 3"},
        {"BatchToSpace", "block_size=2", "float[] 1; int32[2,2] 0",
         "InvalidArgument: Input rank should be: 4"},
        {"BatchToSpace", "block_size=2", "float[4,1,1,1] 1; int32[] 0",
         "InvalidArgument: crops should have shape [2, 2] instead of []"},
    };
    OP_TEST_VALUES(cases);
}

static void depth_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SpaceToDepth", "block_size=2", "float[1,2,2,3] 1 2 3 4 5 6 7 8 9 10 11 12",
         "float[1,1,1,12] 1 2 3 4 5 6 7 8 9 10 11 12"},
        {"SpaceToDepth", "block_size=2", "int64[1,4,4,1] 1 2 5 6 3 4 7 8 9 10 13 14 11 12 15 16",
         "int64[1,2,2,4] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"},
        {"SpaceToDepth", "block_size=2; data_format=NCHW", "float[1,2,2,2] 1 2 3 4 5 6 7 8",
         "float[1,8,1,1] 1 5 2 6 3 7 4 8"},
        {"SpaceToDepth", "block_size=2", "float[0,2,2,3]", "float[0,1,1,12]"},
        {"SpaceToDepth", "block_size=2", "half[1,0,4,1]", "half[1,0,2,4]"},
        {"SpaceToDepth", "block_size=2", "float[1,3,2,1] 1",
         "InvalidArgument: Image width 2 and height 3 should be divisible by block_size: 2"},
        {"SpaceToDepth", "block_size=2", "float[] 1", "InvalidArgument: Input rank should be 4 instead of 0"},
        {"DepthToSpace", "block_size=2", "float[1,1,1,12] 1 2 3 4 5 6 7 8 9 10 11 12",
         "float[1,2,2,3] 1 2 3 4 5 6 7 8 9 10 11 12"},
        {"DepthToSpace", "block_size=2", "string[1,1,2,4] a b c d e f g h",
         "string[1,2,4,1] a b e f c d g h"},
        {"DepthToSpace", "block_size=2; data_format=NCHW", "float[1,8,1,1] 1 5 2 6 3 7 4 8",
         "float[1,2,2,2] 1 2 3 4 5 6 7 8"},
        {"DepthToSpace", "block_size=2", "bool[1,2,0,4]", "bool[1,4,0,1]"},
        {"DepthToSpace", "block_size=2", "float[1,1,1,6] 1",
         "InvalidArgument: Input depth dimension 6 should be divisible by: 4"},
        {"DepthToSpace", "block_size=2", "float[] 1",
         "InvalidArgument: Input rank should be: 4 instead of: 0"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"SpaceToBatchND", NULL, "[2,?,5,3]; int32[2] 2 3; int32[2,2] 0 0 1 0", "[12,?,2,3]"},
        {"SpaceToBatchND", NULL, "[2,4,5,3]; int32[2]; int32[2,2]", "[?,?,?,3]"},
        {"SpaceToBatchND", NULL, "[2,4]; int32[2]; int32[2,2]", "InvalidArgument: "},
        {"SpaceToBatchND", NULL, "[2,5]; int32[1] 2; int32[1,2] 0", "InvalidArgument: "},
        {"BatchToSpaceND", NULL, "[12,2,2,3]; int32[2] 2 3; int32[2,2] 0 0 1 0", "[2,4,5,3]"},
        {"SpaceToBatchND", NULL, "[3,?,?,2]; int32[2] 2 3; int32[2,2]", "[18,?,?,2]"},
        {"SpaceToBatchND", NULL, "[1,3,3,1]; int32[2] 3 3; int32[1,2] 0", "InvalidArgument: shape [2,2]"},
        {"SpaceToBatchND", NULL, "[1,3,3,1]; int32[2] 3 0; int32[2,2]",
         "InvalidArgument: block_shape must be positive"},
        {"SpaceToBatchND", NULL, "[1,3,3,1]; int32[2]; int32[2,2] 0 0 -1 0",
         "InvalidArgument: paddings cannot be negative"},
        {"SpaceToBatchND", NULL, "[1,2,3]; int32[?]; int32[?,2]", "?"},
        {"SpaceToBatchND", NULL, "?; int32[2,2]; int32[2,2]",
         "InvalidArgument: Shape must be rank 1 but is rank 2"},
        {"BatchToSpaceND", NULL, "[3,1,1,1]; int32[2] 2 3; int32[2,2] 0",
         "InvalidArgument: Dimension size must be evenly divisible by 2 but is 3"},
        {"BatchToSpace", "block_size=3", "[1,2,3,1]; int32[2,2] 0", "InvalidArgument: evenly divisible"},
        {"BatchToSpace", "block_size=4", "?; int32[?,?]", "[?,?,?,?]"},
        {"SpaceToDepth", "block_size=4", "?", "[?,?,?,?]"},
        {"SpaceToBatch", "block_size=2", "[2,4,4,3]; int32[2,2] 0", "[8,2,2,3]"},
        {"BatchToSpace", "block_size=2", "[8,2,2,3]; int32[2,2]", "[2,?,?,3]"},
        {"SpaceToDepth", "block_size=2", "[?,4,?,3]", "[?,2,?,12]"},
        {"DepthToSpace", "block_size=2; data_format=NCHW", "[2,12,4,?]", "[2,3,8,?]"},
        {"SpaceToDepth", "block_size=2", "[?,4,3,3]",
         "InvalidArgument: Dimension size must be evenly divisible by 2 but is 3"},
        {"DepthToSpace", "block_size=2", "[?,4,3,6]",
         "InvalidArgument: Dimension size must be evenly divisible by 4 but is 6"},
        {"DepthToSpace", "block_size=2", "[2,4,4]", "InvalidArgument: Shape must be rank 4 but is rank 3"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"SpaceToBatchND", NULL, "double[1,3,2] 1 2 3 4 5 6; int32[1] 2; int32[1,2] 1 0"},
        {"BatchToSpaceND", NULL, "double[4,1,2] 1 2 3 4 5 6 7 8; int64[2] 2 2; int64[2,2] 0 1 1 0"},
        {"SpaceToBatch", "block_size=2", "double[1,2,2,1] 1 2 3 4; int32[2,2] 1 1 0 0"},
        {"BatchToSpace", "block_size=2", "double[4,1,1,1] 1 2 3 4; int32[2,2] 0 1 0 0"},
        {"SpaceToDepth", "block_size=2", "double[1,2,2,2] 1 2 3 4 5 6 7 8"},
        {"DepthToSpace", "block_size=2; data_format=NCHW", "double[1,4,1,2] 1 2 3 4 5 6 7 8"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_follows_its_definition),
        cmocka_unit_test(depth_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
