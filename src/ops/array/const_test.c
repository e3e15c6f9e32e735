// Tests of Placeholder, ZerosLike, OnesLike, Fill and Const.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void sources_give_their_values(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ZerosLike", .inputs = "float[2] 1 2", .want = "float[2] 0 0"},
        {.op = "ZerosLike", .inputs = "int64[] 7", .want = "int64[] 0"},
        {.op = "ZerosLike", .inputs = "bool[2] true true", .want = "bool[2] false false"},
        {.op = "ZerosLike", .inputs = "float[0,3]", .want = "float[0,3]"},
        {.op = "OnesLike", .inputs = "float[2,2] 5 6 7 8", .want = "float[2,2] 1"},
        {.op = "OnesLike", .inputs = "double[] 5", .want = "double[] 1"},
        {.op = "OnesLike", .inputs = "int32[3] 5 6 7", .want = "int32[3] 1"},
        {.op = "OnesLike", .inputs = "bool[2] false true", .want = "bool[2] true"},
        {.op = "OnesLike", .inputs = "uint8[2] 3 4", .want = "uint8[2] 1"},
        {.op = "OnesLike", .inputs = "float[0,3]", .want = "float[0,3]"},
        {.op = "OnesLike", .inputs = "half[] 0x4000", .want = "half[] 0x3c00"},
        {.op = "OnesLike", .inputs = "complex64[1] 2j", .want = "complex64[1] 1"},
        {.op = "OnesLike",
         .inputs = "string[1] a",
         .want = "InvalidArgument: Value for attr 'T' of string is not in the list of allowed values: "},
        {.op = "Fill", .inputs = "int32[2] 2 3; float[] 1.5", .want = "float[2,3] 1.5"},
        {.op = "Fill",
         .inputs = "int64[1] 4; int32[] -7",
         .want = "int32[4] -7",
         .attrs = "index_type=int64"},
        {.op = "Fill", .inputs = "int32[0]; float[] 1.5", .want = "float[] 1.5"},
        {.op = "Fill", .inputs = "int32[2] 2 0; float[] 1.5", .want = "float[2,0]"},
        {.op = "Fill", .inputs = "int32[1] 2; string[] ab", .want = "string[2] ab ab"},
        {.op = "Fill", .inputs = "int32[1] 20000; int32[] 3", .want = "int32[20000] 3"},
        {.op = "Fill",
         .inputs = "int32[1] -1; float[] 1",
         .want = "InvalidArgument: dimension -1 must be >= 0"},
        {.op = "Fill", .inputs = "int32[] 3; float[] 1", .want = "InvalidArgument: dims must be a vector"},
        {.op = "Fill", .inputs = "int32[1] 3; float[1] 1", .want = "InvalidArgument: value must be a scalar"},
        {.op = "Fill",
         .inputs = "int64[3] 4611686018427387904 4611686018427387904 4; float[] 1",
         .attrs = "index_type=int64",
         .want = "InvalidArgument: "},
        {.op = "PlaceholderWithDefault",
         .attrs = "shape=[?]",
         .inputs = "float[2] 3 4",
         .want = "float[2] 3 4"},
        {.op = "Placeholder",
         .attrs = "dtype=float; shape=[?,784]",
         .inputs = "",
         .want =
             "InvalidArgument: You must feed a value for placeholder tensor 'Placeholder' with dtype float and shape "
             "[?,784]"},
        {.op = "PlaceholderV2",
         .attrs = "dtype=int32; shape=[2,?]",
         .inputs = "",
         .want =
             "InvalidArgument: You must feed a value for placeholder tensor 'PlaceholderV2' with dtype int32 and shape [2,?]"},
        {.op = "Placeholder",
         .attrs = "dtype=int32",
         .inputs = "",
         .want =
             "InvalidArgument: You must feed a value for placeholder tensor 'Placeholder' with dtype int32"},
    };
    OP_TEST_VALUES(cases);
}

// Const and HostConst are the same on the CPU.
static void host_const_equals_const(void **state)
{
    (void)state;
    static const char *const ops[] = {"Const", "HostConst"};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        const char *op = ops[i];
        const op_case cases[] = {
            {op, "value=float[2] 1.5 -2; dtype=float", "", "float[2] 1.5 -2"},
            {op, "value=string[] ab; dtype=string", "", "string[] ab"},
            {op, "value=int64[2,0]; dtype=int64", "", "int64[2,0]"},
            {op, "value=float[1] 1; dtype=int32", "",
             "InvalidArgument: Type mismatch between value (float) and dtype (int32)"},
        };
        OP_TEST_VALUES(cases);
    }
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Placeholder", "dtype=float; shape=[?,784]", "", "[?,784]"},
        {"PlaceholderV2", "dtype=float; shape=[?,784]", "", "[?,784]"},
        {"Placeholder", "dtype=float", "", "?"},
        {"Placeholder", "dtype=float; shape=[]", "", "[]"},
        {"PlaceholderWithDefault", "shape=[?,3]", "[2,3]", "[?,3]"},
        {"PlaceholderWithDefault", "shape=[?,3]", "[2,4]", "InvalidArgument: does not fit"},
        {"ZerosLike", NULL, "[2,?]", "[2,?]"},
        {"OnesLike", NULL, "?", "?"},
        {"Fill", NULL, "int32[2] 2 3; []", "[2,3]"},
        {"Fill", NULL, "int32[2]; []", "[?,?]"},
        {"Fill", NULL, "int32?; []", "?"},
        {"Fill", NULL, "int32[2] 2 3; [1]", "InvalidArgument: must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

static void const_gives_its_value(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_tensor value, got;
    op_test_tensor(&value, "float[2] 1.5 -2");
    braid_op_desc *d = braid_op_begin(g, "Const", "c");
    braid_op_attr_tensor(d, "value", &value);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_out c = braid_op_end_out(d);
    braid_graph_status(g, st);
    assert_ok(st);
    op_test_eval(NULL, 0, &c, 1, &got, st);
    assert_ok(st);
    op_test_expect(&got, "float[2] 1.5 -2", 0, "Const");
    assert_ptr_equal(got.data, value.data); // the value is shared, not copied
    bd_tensor_fini(&got);
    bd_tensor_fini(&value);
    braid_graph_free(g);
}

// Up to GraphDef version 21 an empty shape of a placeholder meant "unknown".
static void an_empty_shape_of_an_old_placeholder_is_unknown(void **state)
{
    (void)state;
    static const struct {
        int producer, rank;
    } cases[] = {{21, -1}, {22, 0}};
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        char *text =
            bd_asprintf("node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } "
                        "attr { key: 'shape' value { shape { } } } } versions { producer: %d }",
                        cases[i].producer);
        assert_int_equal(braid_graph_import_text(g, text, strlen(text), NULL), BRAID_OK);
        assert_int_equal(braid_out_shape(braid_graph_find_out(g, "x")).rank, cases[i].rank);
        bd_free(text);
        braid_graph_free(g);
    }
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Fill", NULL, "int32[2] 2 3; double[] 1.5", NULL},
        {"PlaceholderWithDefault", "shape=[2]", "double[2] 1 2", NULL},
        {"ZerosLike", NULL, "double[2] 1 2", "0"},
        {"OnesLike", NULL, "double[2] 1 2", "0"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_give_their_values),
        cmocka_unit_test(host_const_equals_const),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(const_gives_its_value),
        cmocka_unit_test(an_empty_shape_of_an_old_placeholder_is_unknown),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
