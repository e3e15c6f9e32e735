// Tests of Tile, Transpose, Gather, Where, Range and DynamicStitch.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void tile_and_transpose_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Tile", .inputs = "float[2] 1 2; int32[1] 3", .want = "float[6] 1 2 1 2 1 2"},
        {.op = "Tile",
         .inputs = "int32[2,2] 1 2 3 4; int64[2] 2 2",
         .want = "int32[4,4] 1 2 1 2 3 4 3 4 1 2 1 2 3 4 3 4"},
        {.op = "Tile", .inputs = "float[] 5; int32[0]", .want = "float[] 5"},
        {.op = "Tile", .inputs = "string[1] ab; int32[1] 2", .want = "string[2] ab ab"},
        {.op = "Tile", .inputs = "float[2] 1 2; int32[1] 0", .want = "float[0]"},
        {.op = "Tile",
         .inputs = "float[1,1,1,1,1,2] 1 2; int32[6] 1 1 1 1 2 1",
         .want = "float[1,1,1,1,2,2] 1 2 1 2"},
        {.op = "Tile",
         .inputs = "float[2] 1; int32[2] 1 1",
         .want = "InvalidArgument: a vector of length 1 but got shape [2]"},
        {.op = "Tile",
         .inputs = "float[2] 1; int32[1] -1",
         .want = "InvalidArgument: Expected multiples[0] >= 0, but got -1"},

        {.op = "Transpose",
         .inputs = "float[2,3] 1 2 3 4 5 6; int32[2] 1 0",
         .want = "float[3,2] 1 4 2 5 3 6"},
        {.op = "Transpose",
         .inputs = "int32[1,2,3] 1 2 3 4 5 6; int64[3] 2 0 1",
         .want = "int32[3,1,2] 1 4 2 5 3 6"},
        {.op = "Transpose", .inputs = "float[2,1] 1 2; int32[2] 1 0", .want = "float[1,2] 1 2"},
        {.op = "Transpose", .inputs = "float[] 1; int32[0]", .want = "float[] 1"},
        {.op = "Transpose", .inputs = "float[0,3]; int32[2] 1 0", .want = "float[3,0]"},
        {.op = "Transpose", .inputs = "string[2,2] a b c d; int32[2] 1 0", .want = "string[2,2] a c b d"},
        {.op = "Transpose",
         .inputs = "float[2,2] 1; int32[1] 0",
         .want = "InvalidArgument: transpose expects a vector of size 2."},
        {.op = "Transpose",
         .inputs = "float[2,2] 1; int32[2] 0 2",
         .want = "InvalidArgument: 2 is out of range [0 .. 2)"},
        {.op = "Transpose",
         .inputs = "float[2,2] 1; int32[2] 0 0",
         .want = "InvalidArgument: 1 is missing from"},

        {.op = "InvertPermutation", .inputs = "int32[4] 2 0 3 1", .want = "int32[4] 1 3 0 2"},
        {.op = "InvertPermutation", .inputs = "int64[0]", .want = "int64[0]"},
        {.op = "InvertPermutation",
         .inputs = "int32[2] 0 2",
         .want = "InvalidArgument: 2 is not between 0 and 2"},
        {.op = "InvertPermutation",
         .inputs = "int32[2] 1 1",
         .want = "InvalidArgument: 1 is duplicated in the input."},
        {.op = "InvertPermutation", .inputs = "int32[] 0", .want = "InvalidArgument: expects a 1D vector."},
    };
    OP_TEST_VALUES(cases);
}

static void gather_and_where_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Gather", .inputs = "float[3,2] 1 2 3 4 5 6; int32[2] 2 0", .want = "float[2,2] 5 6 1 2"},
        {.op = "Gather", .inputs = "string[3] a b c; int64[3] 2 2 1", .want = "string[3] c c b"},
        {.op = "Gather", .inputs = "float[3] 1 2 3; int32[] 1", .want = "float[] 2"},
        {.op = "Gather", .inputs = "float[3] 1 2 3; int32[2,1] 1 0", .want = "float[2,1] 2 1"},
        {.op = "Gather", .inputs = "float[3,2] 1; int32[0]", .want = "float[0,2]"},
        {.op = "Gather",
         .inputs = "float[3] 1; int32[1] 5",
         .want = "InvalidArgument: indices[0] = 5 is not in [0, 3)"},
        {.op = "Gather",
         .inputs = "float[3] 1; int32[1,2] 0 -1",
         .want = "InvalidArgument: indices[0,1] = -1 is not in [0, 3)"},
        {.op = "Gather",
         .inputs = "float[3] 1; int32[] 3",
         .want = "InvalidArgument: indices = 3 is not in [0, 3)"},
        {.op = "Gather",
         .inputs = "float[] 1; int32[1] 0",
         .want = "InvalidArgument: params must be at least 1 dimensional"},
        {.op = "GatherV2",
         .inputs = "float[2,3] 1 2 3 4 5 6; int32[2] 2 0; int32[] 1",
         .want = "float[2,2] 3 1 6 4"},
        {.op = "GatherV2",
         .inputs = "float[2,3] 1 2 3 4 5 6; int32[1] 1; int32[] -2",
         .want = "float[1,3] 4 5 6"},

        {.op = "Where", .inputs = "bool[4] true false false true", .want = "int64[2,1] 0 3"},
        {.op = "Where", .inputs = "bool[2,2] false true true true", .want = "int64[3,2] 0 1 1 0 1 1"},
        {.op = "Where", .inputs = "bool[3] false", .want = "int64[0,1]"},
        {.op = "Where", .inputs = "bool[] true", .want = "int64[1,0]"},
        {.op = "Where", .inputs = "bool[0,2]", .want = "int64[0,2]"},
        {.op = "Where", .inputs = "float[3] 0 -1.5 nan", .want = "int64[2,1] 1 2"},
        {.op = "Where", .inputs = "int64[2] 4294967296 0", .want = "int64[1,1] 0"},
        {.op = "Where", .inputs = "complex64[3] 0 1j 2", .want = "int64[2,1] 1 2"},
        {.op = "Where", .inputs = "string[1] a", .want = "InvalidArgument: string"},
    };
    OP_TEST_VALUES(cases);
}

static void tile_grad_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "TileGrad", .inputs = "float[6] 1 2 3 4 5 6; int32[1] 3", .want = "float[2] 9 12"},
        {.op = "TileGrad", .inputs = "int64[2,4] 1 2 3 4 5 6 7 8; int32[2] 2 2", .want = "int64[1,2] 16 20"},
        {.op = "TileGrad",
         .inputs = "double[2,2,2] 1 2 3 4 5 6 7 8; int32[3] 2 1 1",
         .want = "double[1,2,2] 6 8 10 12"},
        {.op = "TileGrad", .inputs = "float[] 5; int32[0]", .want = "float[] 5"},
        {.op = "TileGrad", .inputs = "float[0,4]; int32[2] 1 2", .want = "float[0,2]"},
        {.op = "TileGrad",
         .inputs = "float[6] 1; int32[1] 4",
         .want = "InvalidArgument: to divide dimension 0"},
        {.op = "TileGrad",
         .inputs = "float[6] 1; int32[1] 0",
         .want = "InvalidArgument: to divide dimension 0"},
        {.op = "TileGrad",
         .inputs = "float[6] 1; int32[2] 1 1",
         .want = "InvalidArgument: vector of length 1"},
    };
    OP_TEST_VALUES(cases);
}

static void range_and_stitch_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Range", .inputs = "int32[] 3; int32[] 18; int32[] 3", .want = "int32[5] 3 6 9 12 15"},
        {.op = "Range", .inputs = "int64[] 3; int64[] 0; int64[] -2", .want = "int64[2] 3 1"},
        {.op = "Range", .inputs = "float[] 3; float[] 1; float[] -0.5", .want = "float[4] 3 2.5 2 1.5"},
        {.op = "Range",
         .inputs = "double[] 0; double[] 1; double[] 0.25",
         .want = "double[4] 0 0.25 0.5 0.75"},
        {.op = "Range", .inputs = "int32[] 4; int32[] 4; int32[] 1", .want = "int32[0]"},
        {.op = "Range",
         .inputs = "int32[] 2147483646; int32[] 2147483647; int32[] 5",
         .want = "int32[1] 2147483646"},
        {.op = "Range",
         .inputs = "int32[] 0; int32[] 5; int32[] 0",
         .want = "InvalidArgument: Requires delta != 0: 0"},
        {.op = "Range",
         .inputs = "int32[] 5; int32[] 3; int32[] 1",
         .want = "InvalidArgument: Requires start <= limit when delta > 0: 5/3"},
        {.op = "Range",
         .inputs = "float[] 3; float[] 5; float[] -1",
         .want = "InvalidArgument: Requires start >= limit when delta < 0: 3/5"},
        {.op = "Range",
         .inputs = "int64[] -9223372036854775808; int64[] 9223372036854775807; int64[] 1",
         .want = "InvalidArgument: Requires ((limit - start) / delta) <= 9223372036854775807"},
        {.op = "Range", .inputs = "float[] 0; float[] inf; float[] 1", .want = "InvalidArgument: Requires"},
        {.op = "Range",
         .inputs = "int32[2] 0 1; int32[] 5; int32[] 1",
         .want = "InvalidArgument: start must be a scalar"},

        // The example of TensorFlow's documentation of tf.dynamic_stitch.
        {.op = "DynamicStitch",
         .inputs = "int32[] 6; int32[2] 4 1; int32[2,2] 5 2 0 3; int32[2] 61 62; int32[2,2] 41 42 11 12; "
                   "int32[2,2,2] 51 52 21 22 1 2 31 32",
         .want = "int32[7,2] 1 2 11 12 21 22 31 32 41 42 51 52 61 62"},
        {.op = "DynamicStitch", .inputs = "int32[2] 0 0; float[2] 1 2", .want = "float[1] 2"},
        {.op = "DynamicStitch", .inputs = "int32[1] 2; float[1] 1", .want = "float[3] 0 0 1"},
        {.op = "DynamicStitch", .inputs = "int32[0]; float[0]", .want = "float[0]"},
        {.op = "DynamicStitch",
         .inputs = "int32[1] -1; float[1] 1",
         .want = "InvalidArgument: indices[0] is out of range"},
        {.op = "DynamicStitch",
         .inputs = "int32[2] 0 1; float[1] 1",
         .want = "InvalidArgument: data[0].shape = [1] does not start with indices[0].shape = [2]"},
        {.op = "DynamicStitch",
         .inputs = "int32[1] 0; int32[1] 1; float[1,2] 1; float[1,3] 1",
         .want = "InvalidArgument: Need data[0].shape[1:] = data[1].shape[1:]"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Tile", NULL, "[2,?]; int32[2] 3 4", "[6,?]"},
        {"Tile", NULL, "[2,?]; int32[2]", "[?,?]"},
        {"Tile", NULL, "?; int32[2]", "[?,?]"},
        {"Tile", NULL, "[?,?]; int32[3]", "InvalidArgument: Shape must be rank 3 but is rank 2"},
        {"Tile", NULL, "[2,2]; int32[1] 3", "InvalidArgument: Shape must be rank 1 but is rank 2"},
        {"Transpose", NULL, "[2,?,4]; int32[3] 2 0 1", "[4,2,?]"},
        {"Transpose", NULL, "[2,?,4]; int32[3]", "[?,?,?]"},
        {"Transpose", NULL, "?; int32[?]", "?"},
        {"Transpose", NULL, "?; int32[2] 1 0", "[?,?]"},
        {"Transpose", NULL, "?; int32[1] 0", "?"}, // the input may be a scalar
        {"Transpose", NULL, "[2,3]; int32[3]", "InvalidArgument: Dimension must be 2 but is 3"},
        {"InvertPermutation", NULL, "int32[3]", "[3]"},
        {"Gather", NULL, "[5,?]; int32[2,3]", "[2,3,?]"},
        {"Gather", NULL, "?; int32[2]", "?"},
        {"Gather", NULL, "[]; int32[2]", "InvalidArgument: at least rank 1 but is rank 0"},
        {"GatherV2", NULL, "[5,6,7]; int32[2]; int32[] 1", "[5,2,7]"},
        {"Where", NULL, "bool[2,3]", "[?,2]"},
        {"Where", NULL, "bool?", "[?,?]"},
        {"Range", NULL, "int32[] 1; int32[] 9; int32[] 3", "[3]"},
        {"Range", NULL, "int32[] 1; int32[]; int32[] 3", "[?]"},
        {"Range", NULL, "int32[1]; int32[]; int32[]", "InvalidArgument: must be rank 0 but is rank 1"},
        {"DynamicStitch", NULL, "int32[2] 0 4; int32[1] 7; [2,3]; [1,3]", "[8,3]"},
        {"DynamicStitch", NULL, "int32[2]; int32[1] 7; [2,3]; [1,?]", "[?,3]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Tile", NULL, "double[2,2] 1 2 3 4; int32[2] 2 3", NULL},
        {"Tile", NULL, "double[3] 1 2 3; int32[1] 2", NULL},
        {"Tile", NULL, "double[2,2] 1 2 3 4; int64[2] 2 3", NULL},
        {"Transpose", NULL, "double[2,3] 1 2 3 4 5 6; int32[2] 1 0", NULL},
        {"Gather", NULL, "double[3,2] 1 2 3 4 5 6; int32[4] 2 0 2 1", NULL},
        {"GatherV2", NULL, "double[3,2] 1 2 3 4 5 6; int32[4] 2 0 2 1; int32[] 0", NULL},
        {"GatherV2", "batch_dims=1", "double[2,3] 1 2 3 4 5 6; int32[2,2] 2 0 1 1; int32[] 1", NULL},
        {"GatherV2", "batch_dims=1",
         "double[2,2,2,2] 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; int32[2,3] 1 0 1 0 0 1; "
         "int32[] 2",
         NULL},
        {"GatherV2", "batch_dims=-1", "double[2,3] 1 2 3 4 5 6; int64[2,1] 2 0; int32[] -1", NULL},
        {"GatherV2", NULL, "double[2,3,2] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2,2] 2 0 2 1; int64[] 1", NULL},
        {"GatherV2", NULL, "double[2,3] 1 2 3 4 5 6; int32[] 2; int32[] -1", NULL},
        {"DynamicStitch", NULL, "int32[2] 2 0; int32[1] 1; double[2] 1 2; double[1] 3", NULL},
    };
    OP_TEST_GRADIENTS(cases);
}

// A matrix larger than the tiles of the copy is compared with the definition.
static void the_transpose_of_a_large_matrix_is_exact(void **state)
{
    (void)state;
    BD_STATUS(st);
    enum {
        ROWS = 77,
        COLUMNS = 131
    };
    braid_graph *g = braid_graph_new();
    braid_out in[2];
    op_binding bind[2] = {0};
    for (int i = 0; i < 2; i++) {
        braid_op_desc *d = braid_op_begin(g, "Placeholder", NULL);
        braid_op_attr_type(d, "dtype", i ? BRAID_INT32 : BRAID_FLOAT);
        in[i] = braid_op_end_out(d);
        bind[i].op = in[i].op;
    }
    braid_shape shape = bd_shape2(ROWS, COLUMNS);
    assert_true(bd_tensor_alloc(&bind[0].value.tensor, BRAID_FLOAT, &shape));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        bd_tensor_f32(&bind[0].value.tensor)[i] = (float)i;
    op_test_tensor(&bind[1].value.tensor, "int32[2] 1 0");
    braid_out y = {op_test_node(g, "Transpose", NULL, in, 2), 0};
    braid_tensor got;
    op_test_eval(bind, 2, &y, 1, &got, st);
    assert_ok(st);
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLUMNS; c++)
            assert_true(bd_tensor_f32(&got)[c * ROWS + r] == (float)(r * COLUMNS + c));
    }
    bd_tensor_fini(&got);
    bd_value_fini(&bind[0].value);
    bd_value_fini(&bind[1].value);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tile_and_transpose_follow_the_definition),
        cmocka_unit_test(gather_and_where_follow_the_definition),
        cmocka_unit_test(tile_grad_follows_its_definition),
        cmocka_unit_test(range_and_stitch_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(the_transpose_of_a_large_matrix_is_exact),
    };
    return BD_RUN_TESTS(tests);
}
