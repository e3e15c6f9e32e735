// Tests of the ops that convert between ragged tensors and variants.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#include <stdio.h>

// Converts a ragged tensor to variants with attrs `to`, reshapes them to `shape` (NULL: no change), and
// converts them back with attrs `from`.
typedef struct round_trip {
    const char *to, *splits[2], *values, *shape, *from, *want; // tensors separated by `;`
} round_trip;

static braid_out fed(braid_graph *g, op_binding *bindings, int *count, const char *text)
{
    char attrs[32];
    op_binding *b = &bindings[(*count)++];
    *b = (op_binding){0};
    op_test_tensor(&b->value.tensor, text);
    snprintf(attrs, sizeof attrs, "dtype=%s", braid_dtype_name(b->value.tensor.dtype));
    b->op = op_test_node(g, "Placeholder", attrs, NULL, 0);
    return (braid_out){b->op, 0};
}

static void expect_all(const braid_tensor *got, int count, const char *want)
{
    char text[512], *rest = text;
    snprintf(text, sizeof text, "%s", want);
    for (int i = 0; i < count; i++) {
        const char *one = strsep(&rest, ";");
        assert_non_null(one);
        while (*one == ' ')
            one++;
        op_test_expect(&got[i], one, 0, want);
    }
    assert_null(rest);
}

static void run_round_trip(const round_trip *t)
{
    BD_STATUS(st);
    op_binding bindings[4];
    braid_out in[3], outs[5];
    braid_tensor got[5] = {0};
    int count = 0, in_count = 0;
    braid_graph *g = braid_graph_new();
    for (int i = 0; i < 2 && t->splits[i]; i++)
        in[in_count++] = fed(g, bindings, &count, t->splits[i]);
    in[in_count++] = fed(g, bindings, &count, t->values);
    braid_out variants = {op_test_node(g, "RaggedTensorToVariant", t->to, in, in_count), 0};
    if (t->shape) {
        const braid_out reshaped[] = {variants, fed(g, bindings, &count, t->shape)};
        variants.op = op_test_node(g, "Reshape", NULL, reshaped, 2);
    }
    braid_op *back = op_test_node(g, "RaggedTensorFromVariant", t->from, &variants, 1);
    if (braid_graph_status(g, st)) fail_msg("%s", braid_status_message(st));
    for (int i = 0; i < back->output_count; i++)
        outs[i] = (braid_out){back, i};
    op_test_eval(bindings, count, outs, back->output_count, got, st);
    if (st->code) {
        char text[512];
        snprintf(text, sizeof text, "%s: %s", braid_code_name(st->code), braid_status_message(st));
        if (!strstr(text, t->want)) fail_msg("%s: got %s", t->want, text);
    } else {
        expect_all(got, back->output_count, t->want);
    }
    for (int i = 0; i < back->output_count; i++)
        bd_tensor_fini(&got[i]);
    for (int i = 0; i < count; i++)
        bd_value_fini(&bindings[i].value);
    braid_graph_free(g);
}

#define TO(RANK, T, S, BATCHED)                                                                              \
    "RAGGED_RANK=" #RANK "; Tvalues=" #T "; Tsplits=" #S "; batched_input=" #BATCHED
#define FROM(IN, OUT, T, S)                                                                                  \
    "input_ragged_rank=" #IN "; output_ragged_rank=" #OUT "; Tvalues=" #T "; Tsplits=" #S

// The rows [[1], [2, 3]], [], [[4, 5, 6]].
#define NESTED {"int64[4] 0 2 2 3", "int64[4] 0 1 3 6"}, "int32[6] 1 2 3 4 5 6"
// [1, 2], [], [3], [4]
#define FLAT {"int32[5] 0 2 2 3 4"}, "string[4] a b c d"

static void ragged_tensors_survive_a_round_trip(void **state)
{
    (void)state;
    static const round_trip cases[] = {
        {TO(2, int32, int64, false), NESTED, NULL, FROM(2, 2, int32, int64),
         "int64[4] 0 2 2 3; int64[4] 0 1 3 6; int32[6] 1 2 3 4 5 6"},
        {TO(2, int32, int64, true), NESTED, NULL, FROM(-1, 2, int32, int64),
         "int64[4] 0 2 2 3; int64[4] 0 1 3 6; int32[6] 1 2 3 4 5 6"},
        {TO(1, string, int32, true), FLAT, NULL, FROM(0, 1, string, int32),
         "int32[5] 0 2 2 3 4; string[4] a b c d"},
        {TO(1, string, int32, true), FLAT, "int32[2] 2 2", FROM(-1, 2, string, int32),
         "int32[3] 0 2 4; int32[5] 0 2 2 3 4; string[4] a b c d"},
        {TO(1, string, int32, true), FLAT, "int32[3] 2 2 1", FROM(0, 3, string, int32),
         "int32[3] 0 2 4; int32[5] 0 1 2 3 4; int32[5] 0 2 2 3 4; string[4] a b c d"},
        // values that are vectors themselves
        {TO(1, float, int64, true),
         {"int64[3] 0 1 3"},
         "float[3,2] 1 2 3 4 5 6",
         NULL,
         FROM(0, 1, float, int64),
         "int64[3] 0 1 3; float[3,2] 1 2 3 4 5 6"},
        {TO(1, float, int64, true),
         {"int64[1] 0"},
         "float[0]",
         NULL,
         FROM(0, 1, float, int64),
         "int64[1] 0; float[0]"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++)
        run_round_trip(&cases[i]);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const round_trip cases[] = {
        {TO(1, string, int32, true), FLAT, NULL, FROM(1, 2, string, int32),
         "InvalidArgument: Encoded input RaggedTensorVariant has ragged_rank=0.  Expected ragged_rank=1."},
        {TO(1, string, int32, true), FLAT, NULL, FROM(0, 1, float, int32),
         "InvalidArgument: Expected values Tensor dtype: float, found: string"},
        {TO(2, int32, int64, true), NESTED, NULL, FROM(1, 2, int32, int32),
         "InvalidArgument: Expected row_splits Tensor dtype: int32, found: int64"},
        {TO(1, string, int32, true), FLAT, "int32[2] 2 2", FROM(-1, 1, string, int32),
         "InvalidArgument: Inferred input_ragged_rank"},
        {TO(1, string, int32, true),
         {"int32[2] 0 3"},
         "string[4] a b c d",
         NULL,
         FROM(0, 1, string, int32),
         "InvalidArgument: Final value of ragged splits must match"},
        {TO(1, string, int32, true),
         {"int32[3] 0 3 2"},
         "string[4] a b c d",
         NULL,
         FROM(0, 1, string, int32),
         "InvalidArgument: "},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++)
        run_round_trip(&cases[i]);
    static const op_case values[] = {
        {"RaggedTensorFromVariant", FROM(0, 1, int32, int32), "variant[1]",
         "InvalidArgument: Input Variant element at index 0 doesn't hold a RaggedTensorVariant: an empty variant"},
        {"RaggedTensorFromVariant", FROM(0, 1, int32, int32), "variant[0]", "int32[1] 0; int32[0]"},
        {"RaggedTensorToVariant", TO(1, int32, int32, false), "int32[1] 0; int32[] 1",
         "InvalidArgument: rank"},
    };
    OP_TEST_VALUES(values);
}

static void gradient_follows_its_definition(void **state)
{
    (void)state;
    // Empty variants mean zeros.
    static const op_case cases[] = {
        {"RaggedTensorToVariantGradient", "Tvalues=float", "variant[2]; int32[3] 0 1 3; int32[2] 3 2",
         "float[3,2] 0"},
        {"RaggedTensorToVariantGradient", "Tvalues=int32", "variant[1]; int64[2] 0 0; int32[1] 0",
         "int32[0]"},
        {"RaggedTensorToVariantGradient", "Tvalues=float", "variant[0]; int64[1] 0; int32[2] 0 2",
         "float[0,2]"},
        {"RaggedTensorToVariantGradient", "Tvalues=float", "variant[2]; int32[] 0; int32[2] 3 2",
         "InvalidArgument: Ragged splits must be a vector, got shape []"},
        {"RaggedTensorToVariantGradient", "Tvalues=float", "variant[2]; int32[2] 0 1; int32[2] 3 2",
         "InvalidArgument: row_splits must have 3 elements"},
        {"RaggedTensorToVariantGradient", "Tvalues=float", "variant[1]; int64[2] 0 4; int32[2] 3 2",
         "InvalidArgument: Gradient 0 has 8 values of float, of a tensor of shape [3,2]"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"RaggedTensorToVariant", TO(2, float, int64, true), "int64[4]; int64[?]; [?,2]", "[3]"},
        {"RaggedTensorToVariant", TO(2, float, int64, true), "int64?; int64[?]; [?,2]", "[?]"},
        {"RaggedTensorToVariant", TO(1, float, int64, false), "int64?; ?", "[]"},
        {"RaggedTensorToVariant", TO(1, float, int64, false), "int64[2,2]; ?",
         "InvalidArgument: Shape must be rank 1 but is rank 2"},
        {"RaggedTensorToVariant", TO(1, float, int64, false), "int64[2]; []",
         "InvalidArgument: Shape must be at least rank 1 but is rank 0"},
        {"RaggedTensorFromVariant", FROM(1, 2, float, int64), "variant[?]", "[?]; [?]; ?"},
        {"RaggedTensorFromVariant", FROM(1, 1, float, int64), "variant[2,2]",
         "InvalidArgument: Shape must be rank 0 but is rank 2"},
        {"RaggedTensorToVariantGradient", "Tvalues=float", "variant[?]; int64?; int32[2] 3 2", "[3,2]"},
        {"RaggedTensorToVariantGradient", "Tvalues=float", "variant[?]; int64?; int32?", "?"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ragged_tensors_survive_a_round_trip),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(gradient_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
