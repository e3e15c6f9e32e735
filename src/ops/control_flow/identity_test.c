// Tests of Identity and similar ops.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Identity", .inputs = "float[2] 1 2", .want = "float[2] 1 2"},
        {.op = "Identity", .inputs = "string[2] a bc", .want = "string[2] a bc"},
        {.op = "Identity", .inputs = "ref float[2] 1 2", .want = "float[2] 1 2"},
        {.op = "Identity",
         .inputs = "ref float[2]",
         .want = "FailedPrecondition: uninitialized value VariableV2"},
        {.op = "Identity", .inputs = "float[] 7", .want = "float[] 7"},
        {.op = "Identity", .inputs = "string[0,2]", .want = "string[0,2]"},
        {.op = "IdentityN", .inputs = "float[2] 1 2; int32[] 3", .want = "float[2] 1 2; int32[] 3"},
        {.op = "IdentityN", .inputs = "float[0]; int32[2] 3 4", .want = "float[0]; int32[2] 3 4"},
        {.op = "IdentityN",
         .attrs = "T=[]",
         .inputs = "",
         .want = "InvalidArgument: Length for attr 'T' of 0 must be at least minimum 1"},
        {.op = "Snapshot", .inputs = "int64[1] 5", .want = "int64[1] 5"},
        {.op = "StopGradient", .inputs = "float[] 1", .want = "float[] 1"},
        {.op = "PreventGradient", .inputs = "float[] 1", .want = "float[] 1"},
        {.op = "Snapshot", .inputs = "double[]  2", .want = "double[] 2"},
        {.op = "Snapshot", .inputs = "double[0,3]", .want = "double[0,3]"},
        {.op = "StopGradient", .inputs = "int32[2] 1 2", .want = "int32[2] 1 2"},
        {.op = "StopGradient", .inputs = "int32[0]", .want = "int32[0]"},
        {.op = "PreventGradient", .inputs = "bool[2] true false", .want = "bool[2] true false"},
        {.op = "PreventGradient", .inputs = "bool[0]", .want = "bool[0]"},
        {.op = "RefIdentity", .inputs = "ref float[2] 1 2", .want = "float[2] 1 2"},
        {.op = "RefIdentity", .inputs = "ref int32[] 5", .want = "int32[] 5"},
        {.op = "RefIdentity", .inputs = "ref string[0] empty", .want = "string[0]"},
        {.op = "RefIdentity",
         .inputs = "float[1] 1",
         .want = "InvalidArgument: was passed float from Placeholder:0 incompatible with expected float_ref"},
        {.op = "NoOp", .inputs = "", .want = ""},
        {.op = "SyncDevice", .inputs = "", .want = ""},
        {.op = "DeviceIndex", .attrs = "device_names=[GPU,CPU]", .inputs = "", .want = "int32[] 1"},
        {.op = "DeviceIndex", .attrs = "device_names=[GPU]", .inputs = "", .want = "int32[] 1"},
        {.op = "DeviceIndex", .attrs = "device_names=[]", .inputs = "", .want = "int32[] 0"},
        {.op = "ToBool", .inputs = "float[] 0.5", .want = "bool[] true"},
        {.op = "ToBool", .inputs = "int64[] 0", .want = "bool[] false"},
        {.op = "ToBool", .inputs = "string[] a", .want = "bool[] true"},
        {.op = "ToBool", .inputs = "int32[2] 0 0", .want = "bool[] true"},
        {.op = "ToBool", .inputs = "int32[0]", .want = "bool[] false"},
        {.op = "ToBool", .inputs = "complex64[] 1", .want = "InvalidArgument: cannot be converted to a bool"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Identity", NULL, "[2,?]", "[2,?]"},
        {"IdentityN", NULL, "[2]; ?; int32[3]", "[2]; ?; [3]"},
        {"RefIdentity", NULL, "ref float[2]", "[2]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Identity", NULL, "double[2] 1 2", NULL},
        {"IdentityN", NULL, "double[2] 1 2; double[] 4", NULL},
        {"StopGradient", NULL, "double[2] 1 2", "0"},
    };
    OP_TEST_GRADIENTS(cases);
}

static void prevent_gradient_says_why(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op_desc *d = braid_op_begin(g, "Placeholder", "x");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SCALAR);
    braid_out x = braid_op_end_out(d), grad;
    d = braid_op_begin(g, "PreventGradient", "y");
    braid_op_input(d, x);
    braid_op_attr_string(d, "message", "second derivatives are not there");
    braid_out y = braid_op_end_out(d);
    braid_gradients(g, &y, 1, &x, 1, NULL, &grad);
    braid_graph_status(g, st);
    assert_error(st, BRAID_NOT_FOUND, "explicitly disabled. Reason: second derivatives are not there");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(prevent_gradient_says_why),
    };
    return BD_RUN_TESTS(tests);
}
