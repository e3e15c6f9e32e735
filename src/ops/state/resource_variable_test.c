// Tests of ops on resource variables: any shape, and variables that do not exist. variable_test.c tests how
// values are kept.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

static void assigned_shapes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "AssignVariableOp",
         .attrs = "validate_shape=true",
         .inputs = "var float[2] 1 2; float[2] 3 4",
         .want = "",
         .after = "float[2] 3 4"},
        {.op = "AssignVariableOp",
         .attrs = "validate_shape=true",
         .inputs = "var float[2] 1 2; float[3] 3 4 5",
         .want =
             "InvalidArgument: Trying to assign to variable with tensor with wrong shape. Expected [2] got [3]"},
    };
    OP_TEST_VALUES(cases);
}

// Of any shape, from the first assignment to the last.
static void shapes_of_contents_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"AssignVariableOp", NULL, "var float[] 1; float[] 2", "", "float[] 2"},
        {"AssignVariableOp", NULL, "var float[2,0]; float[2,0]", "", "float[2,0]"},
        {"AssignAddVariableOp", NULL, "var int64[] 41; int64[] 1", "", "int64[] 42"},
        {"AssignAddVariableOp", NULL, "var float[0,2] empty; float[0,2]", "", "float[0,2]"},
        {"AssignSubVariableOp", NULL, "var double[] 1; double[] 0.25", "", "double[] 0.75"},
        {"AssignSubVariableOp", NULL, "var half[2] 0x4000; half[2] 0x3c00", "", "half[2] 0x3c00"},
        {"AssignSubVariableOp", NULL, "var float[0] empty; float[0]", "", "float[0]"},
        {"AssignSubVariableOp", NULL, "var float[2] 1; float[3] 1",
         "InvalidArgument: Cannot update variable with shape [2] using a Tensor with shape [3], shapes must be equal.",
         "float[2] 1"},
        {"AssignAddVariableOp", NULL, "var float[2]; float[2] 1",
         "FailedPrecondition: Attempting to use uninitialized value"},
        {"ReadVariableOp", "dtype=float", "var float[] 3", "float[] 3"},
        {"ReadVariableOp", "dtype=string", "var string[2] a b", "string[2] a b"},
        {"ReadVariableOp", "dtype=float", "var float[0,2] empty", "float[0,2]"},
        {"VariableShape", NULL, "var float[2,3] 1", "int32[2] 2 3"},
        {"VariableShape", "out_type=int64", "var string[0,2] empty", "int64[2] 0 2"},
        {"VariableShape", NULL, "var float[] 1", "int32[0]"},
        {"VariableShape", NULL, "var float[2]", "FailedPrecondition: Attempting to use uninitialized value"},
        {"VarIsInitializedOp", NULL, "var float[0] empty", "bool[] true"},
        {"VarIsInitializedOp", NULL, "var float[2]", "bool[] false"},
        {"VarIsInitializedOp", NULL, "float[] 1", "InvalidArgument: "},
        {"VarIsInitializedOp", NULL, "float[0]", "InvalidArgument: "},
        {"DestroyResourceOp", NULL, "var float[2] 1", ""},
        {"VarHandleOp", "shape=[2]", "", "InvalidArgument: attr 'dtype'"},
    };
    OP_TEST_VALUES(cases);
}

// Errors for handles of variables that were not assigned, or were destroyed.
static void variables_that_do_not_exist(void **state)
{
    static const struct {
        const char *op, *attrs, *inputs, *want;
    } cases[] = {
        {"ReadVariableOp", "dtype=float", "",
         "FailedPrecondition: Error while reading resource variable v from Container: localhost. This could mean that the "
         "variable was uninitialized. Not found: Resource localhost/v/"},
        {"VarIsInitializedOp", NULL, "", "bool[] false"},
        {"DestroyResourceOp", NULL, "", ""},
        {"DestroyResourceOp", "ignore_lookup_error=false", "", "NotFound: Resource localhost/v/"},
        {"VariableShape", NULL, "", "NotFound: Resource localhost/v/"},
        {"AssignAddVariableOp", NULL, "float[2] 1", "NotFound: Resource localhost/v/"},
        {"AssignSubVariableOp", NULL, "float[2] 1", "NotFound: Resource localhost/v/"},
        {"ResourceGather", "dtype=float", "int32[1] 0", "NotFound: Resource localhost/v/"},
        {"ResourceGatherNd", "dtype=float", "int32[1,1] 0", "NotFound: Resource localhost/v/"},
        {"ResourceScatterAdd", NULL, "int32[1] 0; float[1] 1", "NotFound: Resource localhost/v/"},
        {"ResourceScatterUpdate", NULL, "int32[1] 0; float[1] 1", "NotFound: Resource localhost/v/"},
        {"ResourceScatterNdAdd", NULL, "int32[1,1] 0; float[1] 1", "NotFound: Resource localhost/v/"},
        {"ResourceStridedSliceAssign", NULL, "int32[1] 0; int32[1] 1; int32[1] 1; float[1] 1",
         "NotFound: Resource localhost/v/"},
        {"ResourceApplyGradientDescent", NULL, "float[] 1; float[2] 1",
         "Internal: Invalid variable reference. Resource localhost/v/"},
    };
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        op_live *l = op_live_new();
        braid_out in[8] = {
            {op_test_node(l->graph, "VarHandleOp", "dtype=float; shape=[2]; shared_name=v", NULL, 0), 0}};
        int count = 1;
        const char *rest = cases[i].inputs, *piece;
        size_t len;
        while (*cases[i].inputs && bd_split_next(&rest, ';', &piece, &len)) {
            char *text = bd_strndup(piece, len);
            in[count++] = op_live_const(l, text + strspn(text, " "));
            bd_free(text);
        }
        op_live_run(l, op_test_node(l->graph, cases[i].op, cases[i].attrs, in, count), "", cases[i].want);
        op_live_free(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assigned_shapes_follow_the_definition),
        cmocka_unit_test(shapes_of_contents_follow_the_definition),
        cmocka_unit_test(variables_that_do_not_exist),
    };
    return BD_RUN_TESTS(tests);
}
