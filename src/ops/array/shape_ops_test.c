// Tests of Shape, Size, Rank, Reshape, ExpandDims and Squeeze.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void size_of_tensors_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Shape", .inputs = "float[2,3] 1", .want = "int32[2] 2 3"},
        {.op = "Shape", .inputs = "float[] 1", .want = "int32[0]"},
        {.op = "Shape", .inputs = "float[0,3]", .attrs = "out_type=int64", .want = "int64[2] 0 3"},
        {.op = "Shape", .inputs = "string[2] a b", .want = "int32[1] 2"},
        {.op = "ShapeN", .inputs = "float[2,3] 1; float[] 1", .want = "int32[2] 2 3; int32[0]"},
        {.op = "Size", .inputs = "float[2,3] 1", .want = "int32[] 6"},
        {.op = "Size", .inputs = "float[] 1", .attrs = "out_type=int64", .want = "int64[] 1"},
        {.op = "Size", .inputs = "bool[0,3]", .want = "int32[] 0"},
        {.op = "Rank", .inputs = "float[2,3] 1", .want = "int32[] 2"},
        {.op = "Rank", .inputs = "int32[] 1", .want = "int32[] 0"},
        {.op = "Rank", .inputs = "int32[0,2]", .want = "int32[] 2"},
        {.op = "Shape",
         .inputs = "float[0,3000000000]",
         .want = "InvalidArgument: Shape output type is 32-bit  but dim 1 is 3000000000"},
        {.op = "ShapeN",
         .inputs = "float[1] 1; float[3000000000,0]",
         .want = "InvalidArgument: ShapeN output type is 32-bit but shape 1 dim 0 is 3000000000"},
        {.op = "Size",
         .inputs = "float[1] 1",
         .attrs = "out_type=float",
         .want =
             "InvalidArgument: Value for attr 'out_type' of float is not in the list of allowed values: int32, int64"},
    };
    OP_TEST_VALUES(cases);
}

static void reshape_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Reshape", .inputs = "float[2,3] 1 2 3 4 5 6; int32[2] 3 2", .want = "float[3,2] 1 2 3 4 5 6"},
        {.op = "Reshape", .inputs = "int32[6] 1 2 3 4 5 6; int32[2] 2 -1", .want = "int32[2,3] 1 2 3 4 5 6"},
        {.op = "Reshape", .inputs = "float[1,1] 7; int32[0]", .want = "float[] 7"},
        {.op = "Reshape", .inputs = "float[] 7; int64[1] -1", .want = "float[1] 7"},
        {.op = "Reshape", .inputs = "string[2] a bc; int32[2] 2 1", .want = "string[2,1] a bc"},
        {.op = "Reshape", .inputs = "float[0,3]; int32[2] 3 -1", .want = "float[3,0]"},
        {.op = "Reshape",
         .inputs = "float[6] 1; int32[2] -1 -1",
         .want = "InvalidArgument: only one input size may be -1, not both 0 and 1"},
        {.op = "Reshape",
         .inputs = "float[6] 1; int32[1] -2",
         .want = "InvalidArgument: size 0 must be non-negative, not -2"},
        {.op = "Reshape",
         .inputs = "float[6] 1; int32[2] 2 2",
         .want =
             "InvalidArgument: Input to reshape is a tensor with 6 values, but the requested shape has 4"},
        {.op = "Reshape",
         .inputs = "float[6] 1; int32[2] 4 -1",
         .want = "InvalidArgument: tensor with 6 values, but the requested shape requires a multiple of 4"},
        {.op = "Reshape", .inputs = "float[0,6]; int32[3] 0 -1 3", .want = "float[0,2,3]"},
        {.op = "Reshape", .inputs = "float[4,0,6]; int64[3] -1 0 8", .want = "float[3,0,8]"},
        {.op = "Reshape", .inputs = "float[0]; int32[2] -1 0", .want = "float[1,0]"},
        {.op = "Reshape", .inputs = "float[0,3]; int32[2] 5 -1", .want = "float[5,0]"},
        {.op = "Reshape", .inputs = "float[2] 1 2; int32[2] 0 -1", .want = "InvalidArgument: has 0"},
        {.op = "Reshape",
         .inputs = "float[1] 1; int32[] 1",
         .want = "InvalidArgument: sizes input must be 1-D"},
        {.op = "Reshape",
         .inputs = "float[1] 1; int64[2] 4294967296 4294967296",
         .want = "InvalidArgument: too many elements"},
    };
    OP_TEST_VALUES(cases);
}

static void dimensions_of_size_1_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ExpandDims", .inputs = "float[2,3] 1; int32[] 0", .want = "float[1,2,3] 1"},
        {.op = "ExpandDims", .inputs = "float[2,3] 1; int32[] 1", .want = "float[2,1,3] 1"},
        {.op = "ExpandDims", .inputs = "float[2,3] 1; int64[] -1", .want = "float[2,3,1] 1"},
        {.op = "ExpandDims", .inputs = "float[] 4; int32[] 0", .want = "float[1] 4"},
        {.op = "ExpandDims", .inputs = "float[2] 1 2; int32[1] 0", .want = "float[1,2] 1 2"},
        {.op = "ExpandDims", .inputs = "float[0,2]; int32[] -2", .want = "float[0,1,2]"},
        {.op = "ExpandDims",
         .inputs = "float[2] 1; int32[0]",
         .want = "InvalidArgument: 'dim' must be a tensor with a single value"},
        {.op = "ExpandDims",
         .inputs = "float[2] 1; int32[] 2",
         .want = "InvalidArgument: Tried to expand dim index 2 for tensor with 1 dimensions."},
        {.op = "ExpandDims",
         .inputs = "float[1,1,1,1,1,1,1,1,1,1,1,1] 1; int32[] 0",
         .want = "InvalidArgument: more than 12"},

        {.op = "Squeeze", .inputs = "float[1,2,1,3] 1", .want = "float[2,3] 1"},
        {.op = "Squeeze",
         .inputs = "float[1,2,1,3] 1",
         .attrs = "squeeze_dims=[2]",
         .want = "float[1,2,3] 1"},
        {.op = "Squeeze", .inputs = "int64[5,1] 3", .attrs = "squeeze_dims=[-1]", .want = "int64[5] 3"},
        {.op = "Squeeze", .inputs = "float[1,1] 7", .want = "float[] 7"},
        {.op = "Squeeze", .inputs = "float[0,1]", .want = "float[0]"},
        {.op = "Squeeze", .inputs = "string[] a", .want = "string[] a"},
        {.op = "Squeeze",
         .inputs = "float[2,1] 1",
         .attrs = "squeeze_dims=[0]",
         .want = "InvalidArgument: Can not squeeze dim[0], expected a dimension of 1, got 2"},
        {.op = "Squeeze",
         .inputs = "float[2,1] 1",
         .attrs = "squeeze_dims=[2]",
         .want = "InvalidArgument: Tried to squeeze dim index 2 for tensor with 2 dimensions."},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Shape", NULL, "[2,?]", "[2]"},
        {"Shape", NULL, "?", "[?]"},
        {"ShapeN", NULL, "[2,?]; []", "[2]; [0]"},
        {"Size", NULL, "?", "[]"},
        {"Rank", NULL, "?", "[]"},
        {"Reshape", NULL, "[2,3]; int32[2] 3 -1", "[3,2]"},
        {"Reshape", NULL, "[?,3]; int32[2] 3 -1", "[3,?]"},
        {"Reshape", NULL, "[2,3]; int32[2]", "[?,?]"},
        {"Reshape", NULL, "[2,3]; int32[?]", "?"},
        {"Reshape", NULL, "[2,3]; int32[1] 7",
         "InvalidArgument: Cannot reshape a tensor with 6 elements to shape [7]"},
        {"Reshape", NULL, "[2,3]; int32[2] 4 -1", "InvalidArgument: must be evenly divisible by 4"},
        {"ExpandDims", NULL, "[2,?]; int32[] 1", "[2,1,?]"},
        {"ExpandDims", NULL, "[2,?]; int32[]", "[?,?,?]"},
        {"ExpandDims", NULL, "?; int32[] 1", "?"},
        {"ExpandDims", NULL, "[2]; int32[] 3", "InvalidArgument: Dimension 3 is not in [-2, 2)"},
        {"Squeeze", NULL, "[1,2,1]", "[2]"},
        {"Squeeze", NULL, "[1,?]", "?"},
        {"Squeeze", "squeeze_dims=[0]", "[1,?]", "[?]"},
        {"Squeeze", "squeeze_dims=[1]", "[3,?]", "[3]"},
        {"Squeeze", "squeeze_dims=[0]", "[3]",
         "InvalidArgument: Can not squeeze dim[0], expected a dimension of 1, got 3"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Reshape", NULL, "double[2,3] 1 2 3 4 5 6; int32[1] -1", NULL},
        {"ExpandDims", NULL, "double[2,3] 1 2 3 4 5 6; int32[] 1", NULL},
        {"Squeeze", NULL, "double[2,1] 1 2", NULL},
    };
    OP_TEST_GRADIENTS(cases);
}

static void reshape_shares_memory(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op_desc *d = braid_op_begin(g, "Placeholder", "x");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_out x = braid_op_end_out(d), y = {op_test_node(g, "Squeeze", NULL, &x, 1), 0};
    op_binding bind = {.op = x.op};
    op_test_tensor(&bind.value.tensor, "float[2,1] 1 2");
    braid_tensor got;
    op_test_eval(&bind, 1, &y, 1, &got, st);
    assert_ok(st);
    assert_ptr_equal(got.data, bind.value.tensor.data);
    bd_tensor_fini(&got);
    bd_value_fini(&bind.value);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_of_tensors_follow_the_definition),
        cmocka_unit_test(reshape_follows_its_definition),
        cmocka_unit_test(dimensions_of_size_1_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(reshape_shares_memory),
    };
    return BD_RUN_TESTS(tests);
}
