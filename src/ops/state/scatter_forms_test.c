// Tests that all scatter ops share, on reference variables, resource variables and tensors: one index, none,
// empty tensors, and refused inputs. Expected values follow from the definition of each update.
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include <stdio.h>

typedef struct scatter_kind {
    const char *name;
    int result; // of 8 and 2
    bool is_nd; // has forms by slices
} scatter_kind;

static const scatter_kind kinds[] = {
    {"Add", 10, true}, {"Sub", 6, true}, {"Mul", 16},         {"Div", 4},
    {"Min", 2, true},  {"Max", 8, true}, {"Update", 2, true},
};

// The kinds of tensors that ops update.
static const struct scatter_place {
    const char *prefix, *operand;
    bool is_nd, has_output, has_after;
} places[] = {
    {"Scatter", "ref ", false, true, true},   {"ResourceScatter", "var ", false, false, true},
    {"ScatterNd", "ref ", true, true, true},  {"ResourceScatterNd", "var ", true, false, true},
    {"TensorScatter", "", true, true, false},
};

// `want` is the updated content, with "%d" for the result, or an error.
typedef struct scatter_case {
    const char *operand, *indices_and_updates, *want;
} scatter_case;

static void check(const struct scatter_place *place, const char *op, int result, const scatter_case *s)
{
    bool is_error = strstr(s->want, ": ") != NULL;
    char want[128];
    const char *number = strstr(s->want, "%d");
    if (number) {
        snprintf(want, sizeof want, "%.*s%d%s", (int)(number - s->want), s->want, result, number + 2);
    } else {
        snprintf(want, sizeof want, "%s", s->want);
    }
    bd_strbuf inputs = {0};
    bd_strbuf_appendf(&inputs, "%s%s%s; %s", place->operand, s->operand,
                      !place->has_after || s->operand[strlen(s->operand) - 1] != ']' ? "" : " empty",
                      s->indices_and_updates);
    op_case c = {.op = op,
                 .inputs = bd_strbuf_str(&inputs),
                 .want = is_error || place->has_output ? want : "",
                 .after = is_error || !place->has_after ? NULL : want};
    op_test_values(&c, 1);
    bd_strbuf_fini(&inputs);
}

static void check_all(bool is_nd, const scatter_case *cases, size_t count)
{
    for (size_t p = 0; p < BD_COUNTOF(places); p++) {
        for (size_t k = 0; k < BD_COUNTOF(kinds); k++) {
            if (places[p].is_nd != is_nd || (is_nd && !kinds[k].is_nd)) continue;
            char op[64];
            snprintf(op, sizeof op, "%s%s", places[p].prefix, kinds[k].name);
            for (size_t i = 0; i < count; i++)
                check(&places[p], op, kinds[k].result, &cases[i]);
        }
    }
    static const struct scatter_place copy = {NULL, "", true, true, false};
    for (size_t i = 0; is_nd && i < count; i++)
        check(&copy, "ScatterNdNonAliasingAdd", 10, &cases[i]);
}

static void rows_follow_the_definition(void **state)
{
    (void)state;
    static const scatter_case cases[] = {
        {"int32[3] 1 8 3", "int32[] 1; int32[] 2", "int32[3] 1 %d 3"},
        {"float[3] 1 8 3", "int64[1] 1; float[] 2", "float[3] 1 %d 3"},
        {"double[3,1] 1 8 3", "int32[1,1] 1; double[1,1,1] 2", "double[3,1] 1 %d 3"},
        {"half[2] 0x3c00 0x4000", "int32[0]; half[0]", "half[2] 0x3c00 0x4000"},
        {"float[3] 1 8 3", "int64[0]; float[] 2", "float[3] 1 8 3"},
        {"float[2,0]", "int32[1] 1; float[1,0]", "float[2,0]"},
        {"float[2,0]", "int32[2] 1 0; float[] 7", "float[2,0]"},
        {"float[0]", "int32[0]; float[0]", "float[0]"},
        {"float[0]", "int32[1] 0; float[1] 2", "InvalidArgument: indices[0] = 0 is not in [0, 0)"},
        {"float[3] 1", "int32[2,1] 0 3; float[2,1] 2", "InvalidArgument: indices[1,0] = 3 is not in [0, 3)"},
        {"float[3] 1", "int32[] -1; float[] 2", "InvalidArgument: indices = -1 is not in [0, 3)"},
        {"float[3,2] 1", "int32[1] 0; float[1,3] 2",
         "InvalidArgument: Must have updates.shape = indices.shape"},
        {"float[] 1", "int32[] 0; float[] 2", "InvalidArgument: params must be at least 1-D, got shape []"},
    };
    check_all(false, cases, BD_COUNTOF(cases));
}

static void slices_follow_the_definition(void **state)
{
    (void)state;
    static const scatter_case cases[] = {
        {"int32[3] 1 8 3", "int32[1] 1; int32[] 2",
         "InvalidArgument: Updates shape must have rank at least one. Found: []"},
        {"int32[3] 1 8 3", "int32[1,1] 1; int32[1] 2", "int32[3] 1 %d 3"},
        {"double[2,2] 1 3 8 5", "int64[1,2] 1 0; double[1] 2", "double[2,2] 1 3 %d 5"},
        {"float[1] 8", "int32[1,0]; float[1,1] 2", "float[1] %d"},
        {"half[2] 0x3c00 0x4000", "int32[0,1]; half[0]", "half[2] 0x3c00 0x4000"},
        {"float[2,0]", "int32[0,1]; float[0,0]", "float[2,0]"},
        {"float[2,0]", "int32[1099511627776,0]; float[1099511627776,2,0]", "float[2,0]"},
        {"float[0,2]", "int32[1,1] 0; float[1,2] 1",
         "InvalidArgument: Indices and updates specified for empty output"},
        {"float[3] 1", "int32[2,1] 0 3; float[2] 2",
         "InvalidArgument: indices[1] = [3] does not index into shape [3]"},
        {"float[3,2] 1", "int32[1,1] 0; float[1,3] 2",
         "InvalidArgument: Must have updates.shape = indices.shape[:-1]"},
        {"float[3] 1", "int32[1,2] 0; float[1] 2", "InvalidArgument: index innermost dimension length"},
        {"float[3] 1", "int32[] 0; float[1] 2", "InvalidArgument: indices must be at least a vector"},
        {"float[] 1", "int32[1,0]; float[1] 2", "InvalidArgument: Output must be at least 1-D, got shape []"},
    };
    check_all(true, cases, BD_COUNTOF(cases));
}

// TensorFlow refuses every 0 that would divide a resource variable.
static void divisions_by_zero_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ResourceScatterDiv", NULL, "var float[2] 1 2; int32[2] 0 1; float[2] 1 -0",
         "InvalidArgument: updates must not contain 0", "float[2] 1 2"},
        {"ResourceScatterDiv", NULL, "var half[1] 0x3c00; int32[1] 0; half[] 0x8000",
         "InvalidArgument: updates must not contain 0"},
        {"ResourceScatterDiv", NULL, "var complex64[1] 1; int32[1] 0; complex64[1] -0j",
         "InvalidArgument: updates must not contain 0"},
        {"ResourceScatterDiv", NULL, "var complex128[1] 4; int32[1] 0; complex128[1] 2j", "",
         "complex128[1] -2j"},
        {"ResourceScatterDiv", NULL, "var int64[1] 8; int32[1] 0; int64[1] -4294967296", "", "int64[1] 0"},
        {"ResourceScatterDiv", NULL, "var int32[1] -8; int32[1] 0; int32[1] -2147483648", "", "int32[1] 0"},
        {"ResourceScatterDiv", NULL, "var uint8[1] 200; int32[1] 0; uint8[1] 128", "", "uint8[1] 1"},
    };
    OP_TEST_VALUES(cases);
}

// Parts that a strided slice names.
static void strided_assignments_follow_the_definition(void **state)
{
    (void)state;
    static const char *const ops[] = {"StridedSliceAssign", "ResourceStridedSliceAssign",
                                      "TensorStridedSliceUpdate"};
    static const scatter_case cases[] = {
        {"float[3] 1 8 3", "int32[1] 1; int32[1] 2; int32[1] 1; float[1] 2", "float[3] 1 2 3"},
        {"float[0]", "int32[1] 0; int32[1] 3; int32[1] 1; float[0]", "float[0]"},
        {"float[2] 1 8", "int64[0]; int64[0]; int64[0]; float[2] 5 6", "float[2] 5 6"},
        {"float[] 1", "int32[0]; int32[0]; int32[0]; float[] 5", "float[] 5"},
        {"float[2,0]", "int32[1] 1; int32[1] 2; int32[1] 1; float[1,0]", "float[2,0]"},
        {"float[2] 1 8", "int32[] 0; int32[] 1; int32[] 1; float[1] 5", "InvalidArgument: "},
        {"float[2] 1 8", "int32[1] 0; int32[1] 1; int32[2] 1; float[1] 5", "InvalidArgument: "},
        {"float[2] 1 8", "int32[2] 0; int32[2] 1; int32[2] 1; float[1,1] 5", "InvalidArgument: "},
    };
    static const struct scatter_place of[] = {
        {NULL, "ref ", true, true, true}, {NULL, "var ", true, false, true}, {NULL, "", true, true, false}};
    for (size_t k = 0; k < BD_COUNTOF(ops); k++) {
        for (size_t i = 0; i < BD_COUNTOF(cases); i++)
            check(&of[k], ops[k], 0, &cases[i]);
    }
}

static void gathers_of_resources_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ResourceGatherNd", "dtype=float", "var float[2] 1 2; int32[1] 1", "float[] 2"},
        {"ResourceGatherNd", "dtype=float", "var float[2] 1 2; int32[0,1]", "float[0]"},
        {"ResourceGatherNd", "dtype=float", "var float[2] 1 2; int64[2,0]", "float[2,2] 1 2 1 2"},
        {"ResourceGatherNd", "dtype=float", "var float[0] empty; int32[0,1]", "float[0]"},
        {"ResourceGatherNd", "dtype=float", "var float[0] empty; int32[1,1] 0",
         "InvalidArgument: Requested more than 0 entries, but params is empty.  Params shape: [0]"},
        {"ResourceGatherNd", "dtype=float", "var float[2] 1 2; int32[] 1", "InvalidArgument: "},
        {"ResourceGather", "dtype=int32", "var int32[3] 1 2 3; int32[] 1", "int32[] 2"},
        {"ResourceGather", "dtype=int32", "var int32[3] 1 2 3; int64[0]", "int32[0]"},
        {"ResourceGather", "dtype=int32", "var int32[3,0] empty; int64[2] 1 2", "int32[2,0]"},
        {"ResourceGather", "dtype=int32", "var int32[0] empty; int64[1] 0",
         "InvalidArgument: indices[0] = 0 is not in [0, 0)"},
        {"ResourceGather", "dtype=int32", "var int32[] 3; int64[1] 0",
         "InvalidArgument: params must be at least 1 dimensional"},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_the_definition),
        cmocka_unit_test(slices_follow_the_definition),
        cmocka_unit_test(divisions_by_zero_follows_its_definition),
        cmocka_unit_test(strided_assignments_follow_the_definition),
        cmocka_unit_test(gathers_of_resources_follow_the_definition),
    };
    return BD_RUN_TESTS(tests);
}
