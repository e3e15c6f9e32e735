// Tests of the ops on strings.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void joining_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "StringJoin", .inputs = "string[] a; string[] b; string[] c", .want = "string[] abc"},
        {.op = "StringJoin",
         .attrs = "separator=/",
         .inputs = "string[2] a b; string[] x; string[2] c ''",
         .want = "string[2] a/x/c b/x/"},
        {.op = "StringJoin", .inputs = "string[0]; string[] x", .want = "string[0]"},
        {.op = "StringJoin",
         .inputs = "string[2] a b; string[1] x",
         .want = "InvalidArgument: Input shapes do not match: [2] vs. [1]"},
    };
    OP_TEST_VALUES(cases);
}

static void sharded_names_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ShardedFilename",
         .inputs = "string[] /tmp/model; int32[] 3; int32[] 10",
         .want = "string[] /tmp/model-00003-of-00010"},
        {.op = "ShardedFilename",
         .inputs = "string[1] x; int32[] 3; int32[] 10",
         .want = "InvalidArgument: basename must be a scalar, got shape: [1]"},
        {.op = "ShardedFilename",
         .inputs = "string[] x; int32[0]; int32[] 10",
         .want = "InvalidArgument: shard must be a scalar, got shape: [0]"},
        {.op = "ShardedFilename",
         .inputs = "string[] x; int32[] 3; int32[1] 10",
         .want = "InvalidArgument: num_shards must be a scalar, got shape: [1]"},
        {.op = "ShardedFilespec",
         .inputs = "string[0]; int32[] 10",
         .want = "InvalidArgument: basename must be a scalar, got shape: [0]"},
        {.op = "ShardedFilespec",
         .inputs = "string[] x; int32[1] 10",
         .want = "InvalidArgument: num_shards must be a scalar, got shape: [1]"},
        {.op = "ShardedFilespec",
         .inputs = "string[] m; int32[] 123456",
         .want = "string[] m-????"
                 "?-of-123456"},
    };
    OP_TEST_VALUES(cases);
}

static void as_string_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "AsString", .inputs = "int32[3] 1 -20 2147483647", .want = "string[3] 1 -20 2147483647"},
        {.op = "AsString", .inputs = "int32[0,2]", .want = "string[0,2]"},
        {.op = "AsString", .inputs = "int64[] -9223372036854775808", .want = "string[] -9223372036854775808"},
        {.op = "AsString",
         .attrs = "width=4; fill=0",
         .inputs = "int32[2] 7 -7",
         .want = "string[2] 0007 -007"},
        {.op = "AsString", .attrs = "width=4; fill=-", .inputs = "int32[] 12345", .want = "string[] 12345"},
        {.op = "AsString", .inputs = "complex64[1] 1.5-2j", .want = "string[1] (1.500000,-2.000000)"},
        {.op = "AsString", .attrs = "shortest=true", .inputs = "complex128[] 3j", .want = "string[] (0,3)"},
        {.op = "AsString", .inputs = "float[2] 1.5 -0.25", .want = "string[2] 1.500000 -0.250000"},
        {.op = "AsString", .attrs = "precision=2", .inputs = "double[] 2.345678", .want = "string[] 2.35"},
        {.op = "AsString", .attrs = "shortest=true", .inputs = "double[] 0.5", .want = "string[] 0.5"},
        {.op = "AsString",
         .attrs = "scientific=true",
         .inputs = "double[] 1500",
         .want = "string[] 1.500000e+03"},
        {.op = "AsString",
         .attrs = "fill=+",
         .inputs = "float[2] 1 -1",
         .want = "string[2] +1.000000 -1.000000"},
        {.op = "AsString", .inputs = "bool[2] true false", .want = "string[2] true false"},
        {.op = "AsString", .inputs = "uint8[2] 7 255", .want = "string[2] 7 255"},
        {.op = "AsString", .inputs = "uint32[] 4294967295", .want = "string[] 4294967295"},
        {.op = "AsString",
         .inputs = "uint64[] 18446744073709551615",
         .want = "string[] 18446744073709551615"},
        {.op = "AsString", .attrs = "precision=1", .inputs = "half[1] 0x3e00", .want = "string[1] 1.5"},
        {.op = "AsString", .attrs = "shortest=true", .inputs = "bfloat16[1] 0xc000", .want = "string[1] -2"},
        {.op = "AsString", .inputs = "int8[1] -128", .want = "string[1] -128"},
        {.op = "AsString",
         .attrs = "precision=2",
         .inputs = "int32[] 1",
         .want = "InvalidArgument: precision not supported for datatype int32"},
        {.op = "AsString",
         .attrs = "scientific=true",
         .inputs = "bool[] true",
         .want = "InvalidArgument: scientific and shortest format not supported for datatype bool"},
        {.op = "AsString",
         .attrs = "scientific=true; shortest=true",
         .inputs = "float[] 1",
         .want = "InvalidArgument: Cannot select both"},
        {.op = "AsString",
         .attrs = "width=3; fill=xy",
         .inputs = "float[] 1",
         .want = "InvalidArgument: Fill string must be one or fewer characters"},
        {.op = "AsString",
         .attrs = "width=3; fill=%",
         .inputs = "float[] 1",
         .want = "InvalidArgument: Fill argument not supported"},
        {.op = "AsString",
         .attrs = "width=99999999",
         .inputs = "float[] 1",
         .want = "InvalidArgument: at most"},
    };
    OP_TEST_VALUES(cases);
}

static void string_to_number_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "StringToNumber", .inputs = "string[3] 1.5 -2 1e3", .want = "float[3] 1.5 -2 1000"},
        {.op = "StringToNumber", .inputs = "string[0]", .want = "float[0]"},
        {.op = "StringToNumber",
         .attrs = "out_type=double",
         .inputs = "string[] 0.1",
         .want = "double[] 0.1"},
        {.op = "StringToNumber",
         .attrs = "out_type=int32",
         .inputs = "string[2] -7 42",
         .want = "int32[2] -7 42"},
        {.op = "StringToNumber",
         .attrs = "out_type=int64",
         .inputs = "string[] 9223372036854775807",
         .want = "int64[] 9223372036854775807"},
        {.op = "StringToNumber",
         .attrs = "out_type=int32",
         .inputs = "string[] 2147483648",
         .want = "InvalidArgument: StringToNumberOp could not correctly convert string: 2147483648"},
        {.op = "StringToNumber",
         .inputs = "string[3] \\x20\\x09 0x1f \\x20-.5e1\\x20",
         .want = "float[3] 0 31 -5"},
        {.op = "StringToNumber",
         .attrs = "out_type=int32",
         .inputs = "string[] \\x20",
         .want = "InvalidArgument: convert string: "},
        {.op = "StringToNumber",
         .inputs = "string[] 0x1.8",
         .want = "InvalidArgument: convert string: 0x1.8"},
        {.op = "StringToNumber", .inputs = "string[] 1x", .want = "InvalidArgument: convert string: 1x"},
        {.op = "StringToNumber", .inputs = "string[] ''", .want = "InvalidArgument: convert string: "},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"StringJoin", NULL, "string[?,2]; string[]; string[3,?]", "[3,2]"},
        {"StringJoin", NULL, "string[2]; string?", "?"},
        {"StringJoin", NULL, "string[]; string[]", "[]"},
        {"StringJoin", NULL, "string[2]; string[3]",
         "InvalidArgument: Input shapes do not match: [2] vs. [3]"},
        {"ShardedFilename", NULL, "string?; int32[]; int32?", "[]"},
        {"ShardedFilename", NULL, "string[1]; int32[]; int32[]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"AsString", NULL, "int32[?,2]", "[?,2]"},
        {"StringToNumber", NULL, "string[?,2]", "[?,2]"},
    };
    OP_TEST_SHAPES(cases);
}

// Strings that do not fit into memory are an error of the op that makes them, at any allocation.
static void short_memory(const char *op, const char *attrs, const char *first, const char *second,
                         const char *want)
{
    static const char *const types[] = {"dtype=string", "dtype=int32"};
    const bool is_text = strncmp(second, "string", 6) == 0;
    braid_graph *g = braid_graph_new();
    braid_op *inputs[] = {op_test_node(g, "Placeholder", types[0], NULL, 0),
                          op_test_node(g, "Placeholder", types[!is_text], NULL, 0)};
    const braid_out outs[] = {{inputs[0], 0}, {inputs[1], 0}};
    const braid_out y = {op_test_node(g, op, attrs, outs, 2), 0};
    op_binding bindings[] = {{.op = inputs[0]}, {.op = inputs[1]}};
    op_test_tensor(&bindings[0].value.tensor, first);
    op_test_tensor(&bindings[1].value.tensor, second);
    braid_code code = BRAID_RESOURCE_EXHAUSTED;
    int failures = 0;
    for (int i = 0; code == BRAID_RESOURCE_EXHAUSTED; i++, failures++) {
        BD_STATUS(st);
        braid_tensor got = {0};
        bd_alloc_fail_after(i);
        code = op_test_eval(bindings, 2, &y, 1, &got, st);
        bd_alloc_fail_after(-1);
        if (code == BRAID_OK) op_test_expect(&got, want, 0, op);
        bd_tensor_fini(&got);
    }
    assert_int_equal(code, BRAID_OK);
    assert_in_range(failures, 3, 50); // each string, and more
    bd_tensor_fini(&bindings[0].value.tensor);
    bd_tensor_fini(&bindings[1].value.tensor);
    braid_graph_free(g);
}

static void a_failed_allocation_is_an_error(void **state)
{
    (void)state;
    short_memory("StringJoin", "N=2", "string[2] ab cd", "string[] ef", "string[2] abef cdef");
    short_memory("Tile", NULL, "string[1] ab", "int32[1] 3", "string[3] ab ab ab");
    short_memory("Gather", NULL, "string[2] ab c", "int32[2] 1 0", "string[2] c ab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(joining_follows_its_definition),
                                       cmocka_unit_test(sharded_names_follow_the_definition),
                                       cmocka_unit_test(as_string_follows_its_definition),
                                       cmocka_unit_test(string_to_number_follows_its_definition),
                                       cmocka_unit_test(shapes_are_inferred),
                                       cmocka_unit_test(a_failed_allocation_is_an_error)};
    return BD_RUN_TESTS(tests);
}
