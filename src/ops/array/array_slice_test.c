// Tests of Slice, StridedSlice and Pad. Values are those of numpy's indexing.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void slice_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Slice",
         .inputs = "float[2,3] 1 2 3 4 5 6; int32[2] 0 1; int32[2] 2 2",
         .want = "float[2,2] 2 3 5 6"},
        {.op = "Slice",
         .inputs = "float[2,3] 1 2 3 4 5 6; int32[2] 1 0; int32[2] 1 -1",
         .want = "float[1,3] 4 5 6"},
        {.op = "Slice", .inputs = "int32[4] 1 2 3 4; int64[1] 1; int64[1] 2", .want = "int32[2] 2 3"},
        {.op = "Slice", .inputs = "string[3] a bc d; int32[1] 1; int32[1] -1", .want = "string[2] bc d"},
        {.op = "Slice", .inputs = "float[] 3; int32[0]; int32[0]", .want = "float[] 3"},
        {.op = "Slice", .inputs = "float[3] 1 2 3; int32[1] 3; int32[1] -1", .want = "float[0]"},
        {.op = "Slice", .inputs = "float[2,0]; int32[2] 0 0; int32[2] 1 0", .want = "float[1,0]"},
        {.op = "Slice",
         .inputs = "float[3] 1 2 3; int32[1] 2; int32[1] 2",
         .want = "InvalidArgument: Expected size[0] in [0, 1], but got 2"},
        {.op = "Slice",
         .inputs = "float[3] 1 2 3; int32[1] -1; int32[1] 2",
         .want = "InvalidArgument: Expected begin[0] in [0, 3], but got -1"},
        {.op = "Slice",
         .inputs = "float[3] 1 2 3; int32[2] 0 0; int32[2] 1 1",
         .want =
             "InvalidArgument: Expected begin and size arguments to be 1-D tensors of size 1, but got shapes [2] and [2]"},
    };
    OP_TEST_VALUES(cases);
}

// The cases are x[...] of x = [[1 2 3] [4 5 6] [7 8 9]], and of vectors.
#define X "float[3,3] 1 2 3 4 5 6 7 8 9; "

static void strided_slice_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // x[1:3, 0:2]
        {.op = "StridedSlice",
         .inputs = X "int32[2] 1 0; int32[2] 3 2; int32[2] 1 1",
         .want = "float[2,2] 4 5 7 8"},
        // x[::-1, ::2]
        {.op = "StridedSlice",
         .attrs = "begin_mask=3; end_mask=3",
         .inputs = X "int32[2] 0 0; int32[2] 0 0; int32[2] -1 2",
         .want = "float[3,2] 7 9 4 6 1 3"},
        // x[1]
        {.op = "StridedSlice",
         .attrs = "shrink_axis_mask=1",
         .inputs = X "int32[1] 1; int32[1] 2; int32[1] 1",
         .want = "float[3] 4 5 6"},
        // x[..., -1]
        {.op = "StridedSlice",
         .attrs = "ellipsis_mask=1; shrink_axis_mask=2",
         .inputs = X "int32[2] 0 -1; int32[2] 0 0; int32[2] 1 1",
         .want = "float[3] 3 6 9"},
        // x[None, 1:, None, ::2]
        {.op = "StridedSlice",
         .attrs = "new_axis_mask=5; end_mask=10; begin_mask=8",
         .inputs = X "int32[4] 0 1 0 0; int32[4] 0 0 0 0; int32[4] 1 1 1 2",
         .want = "float[1,2,1,2] 4 6 7 9"},
        // x[1:, ..., None]
        {.op = "StridedSlice",
         .attrs = "end_mask=1; ellipsis_mask=2; new_axis_mask=4",
         .inputs = X "int32[3] 1 0 0; int32[3] 0 0 0; int32[3] 1 1 1",
         .want = "float[2,3,1] 4 5 6 7 8 9"},
        // x[2, 2], a scalar
        {.op = "StridedSlice",
         .attrs = "shrink_axis_mask=3",
         .inputs = X "int32[2] 2 2; int32[2] 3 3; int32[2] 1 1",
         .want = "float[] 9"},
        // out of range bounds are clamped: x[-100:100]
        {.op = "StridedSlice",
         .inputs = X "int64[1] -100; int64[1] 100; int64[1] 1",
         .want = "float[3,3] 1 2 3 4 5 6 7 8 9"},
        // [0 1 2 3 4 5][4:0:-2]
        {.op = "StridedSlice",
         .inputs = "int32[6] 0 1 2 3 4 5; int32[1] 4; int32[1] 0; int32[1] -2",
         .want = "int32[2] 4 2"},
        // an empty range, and a range in the direction opposite to its stride
        {.op = "StridedSlice",
         .inputs = "int32[3] 0 1 2; int32[1] 2; int32[1] 2; int32[1] 1",
         .want = "int32[0]"},
        {.op = "StridedSlice",
         .inputs = "int32[3] 0 1 2; int32[1] 2; int32[1] 0; int32[1] 1",
         .want = "int32[0]"},
        {.op = "StridedSlice",
         .attrs = "shrink_axis_mask=1",
         .inputs = "string[3] a bc d; int32[1] 1; int32[1] 2; int32[1] 1",
         .want = "string[] bc"},
        {.op = "StridedSlice",
         .attrs = "begin_mask=1; end_mask=1",
         .inputs = "string[3] a bc d; int32[1] 0; int32[1] 0; int32[1] -1",
         .want = "string[3] d bc a"},
    };
    OP_TEST_VALUES(cases);
}

static void strided_slice_refused_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "StridedSlice",
         .attrs = "shrink_axis_mask=1",
         .inputs = X "int32[1] 3; int32[1] 4; int32[1] 1",
         .want = "InvalidArgument: slice index 3 of dimension 0 out of bounds."},
        {.op = "StridedSlice",
         .inputs = X "int32[1] 0; int32[1] 1; int32[1] 0",
         .want = "InvalidArgument: strides[0] must be non-zero"},
        {.op = "StridedSlice",
         .inputs = X "int32[3] 0 0 0; int32[3] 1 1 1; int32[3] 1 1 1",
         .want = "InvalidArgument: Index out of range using input dim 2; input has only 2 dims"},
        {.op = "StridedSlice",
         .attrs = "ellipsis_mask=3",
         .inputs = X "int32[2] 0 0; int32[2] 1 1; int32[2] 1 1",
         .want = "InvalidArgument: Multiple ellipses in slice spec not allowed"},
        {.op = "StridedSlice",
         .attrs = "shrink_axis_mask=1",
         .inputs = X "int32[1] 1; int32[1] 2; int32[1] -1",
         .want = "InvalidArgument: only stride 1 allowed on non-range indexing."},
        {.op = "StridedSlice",
         .inputs = X "int32[2] 0 0; int32[1] 1; int32[1] 1",
         .want = "InvalidArgument: Expected begin, end, and strides to be 1D equal size tensors"},
    };
    OP_TEST_VALUES(cases);
}

static void strided_slice_grad_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "StridedSliceGrad",
         .attrs = "begin_mask=1; end_mask=1",
         .inputs = "int32[1] 5; int32[1] 0; int32[1] 0; int32[1] -2; float[3] 1 2 3",
         .want = "float[5] 3 0 2 0 1"},
        {.op = "StridedSlice", .inputs = "float[] 7; int32[0]; int32[0]; int32[0]", .want = "float[] 7"},
        {.op = "StridedSlice",
         .inputs = "float[2] 7; int32[] 0; int32[] 1; int32[] 1",
         .want =
             "InvalidArgument: Expected begin, end, and strides to be 1D equal size tensors, but got shapes [], [], and [] instead."},
        {.op = "StridedSliceGrad",
         .inputs = "int32[0]; int32[0]; int32[0]; int32[0]; float[] 7",
         .want = "float[] 7"},
        {.op = "StridedSliceGrad",
         .inputs = "int64[2] 2 3; int64[2] 1 1; int64[2] 1 3; int64[2] 1 1; double[0,2]",
         .want = "double[2,3] 0"},
        {.op = "StridedSliceGrad",
         .inputs = "int32[2] 0 3; int32[1] 0; int32[1] 5; int32[1] 1; string[0,3]",
         .want = "string[0,3]"},
        {.op = "StridedSliceGrad",
         .inputs = "int32[] 5; int32[1] 0; int32[1] 2; int32[1] 1; float[2] 1",
         .want = "InvalidArgument: shape must be 1-D, got shape.shape = []"},
        {.op = "StridedSliceGrad",
         .inputs = "int32[1] 5; int32[1] 0; int32[1] 2; int32[1] 1; float[3] 1 2 3",
         .want = "InvalidArgument: shape of dy was [3] instead of [2]"},
    };
    OP_TEST_VALUES(cases);
}

static void pad_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Pad", .inputs = "float[2] 1 2; int32[1,2] 1 2", .want = "float[5] 0 1 2 0 0"},
        {.op = "Pad", .inputs = "int32[1,2] 1 2; int64[2,2] 1 0 0 1", .want = "int32[2,3] 0 0 0 1 2 0"},
        {.op = "Pad", .inputs = "float[] 3; int32[0,2]", .want = "float[] 3"},
        {.op = "Pad", .inputs = "float[0]; int32[1,2] 1 1", .want = "float[2] 0 0"},
        {.op = "Pad",
         .inputs = "float[2] 1 2; int32[1,2] -1 2",
         .want = "InvalidArgument: Paddings must be non-negative"},
        {.op = "Pad",
         .inputs = "float[2] 1 2; int32[2,2] 1 2 3 4",
         .want = "InvalidArgument: The first dimension of paddings must be the rank of inputs"},
        {.op = "Pad",
         .inputs = "float[2] 1 2; int32[1,3] 1 2 3",
         .want = "InvalidArgument: paddings must be a matrix with 2 columns: [1,3]"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Slice", NULL, "[2,3]; int32[2] 0 1; int32[2] 2 -1", "[2,2]"},
        {"Slice", NULL, "[2,?]; int32[2] 0 1; int32[2] 2 -1", "[2,?]"},
        {"Slice", NULL, "[2,3]; int32[2]; int32[2] 2 -1", "[2,?]"},
        {"Slice", NULL, "?; int32[2]; int32[2]", "[?,?]"},
        {"Slice", NULL, "[2]; int32[1] 1; int32[1] 2", "InvalidArgument: Expected begin[0] + size[0] <= 2"},
        {"Slice", NULL, "[2]; int32[2]; int32[2]", "InvalidArgument: one element a dimension"},
        {"StridedSlice", "shrink_axis_mask=1", "[?,4]; int32[1] 0; int32[1] 1; int32[1] 1", "[4]"},
        {"StridedSlice", "begin_mask=1; end_mask=1", "[?,4]; int32[1] 0; int32[1] 1; int32[1] 1", "[?,4]"},
        {"StridedSlice", NULL, "[5,4]; int32[1] 1; int32[1] 4; int32[1] 2", "[2,4]"},
        {"StridedSlice", "shrink_axis_mask=1", "[5,4]; int32[1]; int32[1]; int32[1] 1", "[4]"},
        {"StridedSlice", "begin_mask=1; end_mask=1", "[5,4]; int32[1]; int32[1]; int32[1] 1", "[5,4]"},
        {"StridedSlice", NULL, "[5,4]; int32[1]; int32[1]; int32[1] 1", "[?,4]"},
        {"StridedSlice", NULL, "[5,4]; int32[1]; int32[1]; int32[1]", "?"},
        {"StridedSlice", NULL, "?; int32[1] 0; int32[1] 1; int32[1] 1", "?"},
        {"StridedSlice", "shrink_axis_mask=1", "[5]; int32[1] 5; int32[1] 6; int32[1] 1",
         "InvalidArgument: slice index 5 of dimension 0 out of bounds."},
        {"Pad", NULL, "[2,3]; int32[2,2] 1 1 0 2", "[4,5]"},
        {"Pad", NULL, "[2,?]; int32[2,2] 1 1 0 2", "[4,?]"},
        {"Pad", NULL, "[2,3]; int32[2,2]", "[?,?]"},
        {"Pad", NULL, "[2,3]; int32[1,2]", "InvalidArgument: must be rank 1 but is rank 2"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Slice", NULL, "double[2,3] 1 2 3 4 5 6; int32[2] 0 1; int32[2] 2 2", NULL},
        {"Slice", NULL, "double[4] 1 2 3 4; int64[1] 1; int64[1] 2", NULL},
        {"StridedSlice", "begin_mask=3; end_mask=3",
         "double[3,3] 1 2 3 4 5 6 7 8 9; int32[2] 0 0; int32[2] 0 0; int32[2] -1 2", NULL},
        {"StridedSlice", "shrink_axis_mask=1", "double[3,2] 1 2 3 4 5 6; int32[1] 1; int32[1] 2; int32[1] 1",
         NULL},
        {"StridedSliceGrad", NULL, "int32[1] 5; int32[1] 1; int32[1] 4; int32[1] 2; double[2] 1 2", NULL},
        {"Pad", NULL, "double[2,2] 1 2 3 4; int32[2,2] 1 0 2 1", NULL},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slice_follows_its_definition),
        cmocka_unit_test(strided_slice_follows_its_definition),
        cmocka_unit_test(strided_slice_refused_follows_its_definition),
        cmocka_unit_test(strided_slice_grad_follows_its_definition),
        cmocka_unit_test(pad_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
