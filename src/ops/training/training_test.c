// Tests of optimizers' updates. Values were computed from the definitions in double, apart from this code.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define ADAM_SCALARS                                                                                         \
    "double[] 0.9; double[] 0.999; double[] 0.001; double[] 0.9; double[] 0.999; double[] 1e-8"
#define ADAM_SCALARS_F "float[] 0.9; float[] 0.999; float[] 0.001; float[] 0.9; float[] 0.999; float[] 1e-8"
#define ADAM_INPUTS                                                                                          \
    "ref double[2] 1 2; ref double[2] 0.1 -0.2; ref double[2] 0.01 0.02; " ADAM_SCALARS "; double[2] 0.5 -1"
#define ADAM_INPUTS_F                                                                                        \
    "ref float[2] 1 2; ref float[2] 0.1 -0.2; ref float[2] 0.01 0.02; " ADAM_SCALARS_F "; float[2] 0.5 -1"
#define FTRL_VARIABLES "ref double[2] 1 2; ref double[2] 0.1 0.2; ref double[2] 0.3 -0.4; double[2] 0.5 -1; "
#define ONE_AND_SLOT "ref float[1] 1; ref float[1] 1; "
#define ONE_AND_SLOTS "ref float[1] 1; ref float[1] 1; ref float[1] 1; float[1] 1; "

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ApplyGradientDescent", NULL, "ref float[2] 1 2; float[] 0.5; float[2] 4 -2", "float[2] -1 3",
         "float[2] -1 3"},
        {"ApplyGradientDescent", "use_locking=true", "ref double[2] 1 2; double[] 0.5; double[2] 4 -2",
         "double[2] -1 3", "double[2] -1 3"},
        {"ApplyGradientDescent", NULL, "ref float[40] 1; float[] 1; float[40] 0.25", "*", "float[40] 0.75"},
        {"ApplyGradientDescent", NULL, "ref float[0]; float[] 0.5; float[0]",
         "FailedPrecondition: uninitialized"},
        {"ApplyMomentum", "use_nesterov=true",
         "ref double[2] 1 2; ref double[2] 0.5 -1; double[] 0.1; double[2] 1 2; double[] 0.9", "*",
         "double[2] 0.7695 1.701; double[2] 1.45 1.1"},
        {"ApplyAdam", NULL, ADAM_INPUTS, "double[2] 0.9995625000432342 2.0006113012156357",
         "double[2] 0.9995625000432342 2.0006113012156357; double[2] 0.14 -0.28; double[2] 0.01024 0.02098"},
        {"ApplyAdam", "use_locking=true", ADAM_INPUTS_F, "float[2] 0.9995625000432342 2.0006113012156357",
         "float[2] 0.9995625000432342 2.0006113012156357; float[2] 0.14 -0.28; float[2] 0.01024 0.02098"},
        {"ApplyAdam", "use_nesterov=true", ADAM_INPUTS, "double[2] 0.9994500000543517 2.000768492956799"},
        {"ApplyFtrl", NULL, FTRL_VARIABLES "double[] 0.1; double[] 0.001; double[] 0.01; double[] -0.4", "*",
         "double[2] 0.2714127522202545 1.151201287169325; double[2] 0.35 1.2; "
         "double[2] -1.789863999376865 -12.406963921036334"},
        {"ApplyFtrl", NULL, // within L1: 0
         "ref double[1] 1; ref double[1] 1; ref double[1] 0.3; double[1] 0; double[] 0.1; double[] 0.5; double[] 0.01; "
         "double[] -0.5",
         "double[1] 0"},
        {"ApplyFtrlV2", "multiply_linear_by_lr=true",
         FTRL_VARIABLES "double[] 0.1; double[] 0.001; double[] 0.01; double[] 0.02; double[] -0.5", "*",
         "double[2] -0.1322754925404254 1.6295694559667446; double[2] 0.35 1.2; "
         "double[2] 0.07861978770687633 -1.7884630390207485"},
        {"ApplyFtrl", "multiply_linear_by_lr=true", // without lr the gradient does not count
         "ref double[1] 1; ref double[1] 1; ref double[1] 3; double[1] 0; double[] 0; double[] 0.5; double[] 0.01; "
         "double[] -0.5",
         "double[1] -3"},
    };
    OP_TEST_VALUES(cases);
}

static void rows_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // A row named twice is updated twice.
        {"SparseApplyMomentum", NULL,
         "ref double[2,2] 1 2 3 4; ref double[2,2] 0; double[] 1; double[2,2] 1 2 10 20; int64[2] 1 1; "
         "double[] 0.5",
         "double[2,2] 1 2 -8.5 -19", "double[2,2] 1 2 -8.5 -19; double[2,2] 0 0 10.5 21"},
        {"ResourceApplyKerasMomentum", "use_nesterov=true",
         "var double[2] 1 2; var double[2] 0.5 -1; double[] 0.1; double[2] 0.5 -1; double[] 0.9", "",
         "double[2] 1.31 1.38; double[2] 0.4 -0.8"},
        // The signs agree, differ, or one is 0.
        {"ApplyAddSign", NULL,
         "ref double[3] 1; ref double[3] 1 -1 1; double[] 0.1; double[] 1; double[] 0.5; double[] 1; double[3] 1 1 0",
         "*", "double[3] 0.85 0.95 1; double[3] 1 -1 1"},
        {"SparseApplyAdagrad", "update_slots=false",
         "ref float[3] 1 2 3; ref float[3] 4; float[] 1; float[1] 6; int32[1] 1", "float[3] 1 -1 3",
         "float[3] 1 -1 3; float[3] 4"},
        {"ResourceSparseApplyAdagrad", NULL,
         "var float[3] 1 2 3; var float[3] 4; float[] 1; float[0]; int32[0]", "",
         "float[3] 1 2 3; float[3] 4"},
        {"SparseApplyAdagrad", NULL, "ref float[3] 1 2 3; ref float[3] 4; float[] 1; float[1] 6; int32[1] 3",
         "InvalidArgument: Index 3 at offset 0 in indices is out of range [0, 3)",
         "float[3] 1 2 3; float[3] 4"},
        {"ResourceSparseApplyAdagrad", NULL,
         "var float[3] 1 2 3; var float[3] 4; float[] 1; float[1] 6; int64[1] -1",
         "InvalidArgument: Index -1 at offset 0 in indices is out of range [0, 3)"},
        {"SparseApplyAdagrad", NULL, "ref float[3,1] 1; ref float[3,1] 4; float[] 1; float[1] 6; int32[1] 0",
         "InvalidArgument: var and grad do not have the same rank: [3,1], [1]"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ApplyGradientDescent", NULL, "ref float[2]; float[] 0.5; float[2] 4 -2",
         "FailedPrecondition: Attempting to use uninitialized variables: VariableV2"},
        {"ApplyGradientDescent", "use_locking=true", "ref float[2]; float[] 0.5; float[2] 4 -2",
         "FailedPrecondition: Attempting to use uninitialized variables: VariableV2"},
        {"ApplyGradientDescent", NULL, "ref float[2] 1 2; float[] 0.5; float[3] 4 -2 1",
         "InvalidArgument: var and delta do not have the same shape: [2] [3]", "float[2] 1 2"},
        {"ApplyGradientDescent", NULL, "ref float[2] 1 2; float[1] 0.5; float[2] 4 -2",
         "InvalidArgument: alpha is not a scalar: [1]", "float[2] 1 2"},
        {"ApplyAdagrad", NULL, "ref float[2] 1 2; ref float[2]; float[] 0.1; float[2] 0.5 -1",
         "FailedPrecondition: Attempting to use uninitialized variables: VariableV2_1", "float[2] 1 2"},
        {"ResourceApplyAdagrad", NULL, "var float[2] 1 2; var float[2]; float[] 0.1; float[2] 0.5 -1",
         "FailedPrecondition: Attempting to use uninitialized variables: VarHandleOp_1", "float[2] 1 2"},
        {"ResourceApplyGradientDescent", NULL, "var double[2] 1 2; float[] 0.5; float[2] 4 -2",
         "InvalidArgument: Trying to use variable var0 with wrong dtype. Expected float got double"},
        {"ApplyAdagrad", NULL, "ref float[2] 1 2; ref float[3] 1; float[] 0.1; float[2] 0.5 -1",
         "InvalidArgument: var and accum do not have the same shape: [2] [3]", "float[2] 1 2"},
        {"ApplyProximalAdagrad", NULL, ONE_AND_SLOT "float[] 0; float[] 0; float[] 0; float[1] 1",
         "InvalidArgument: lr is not a positive scalar: []", "float[1] 1"},
        {"ApplyProximalAdagrad", NULL, ONE_AND_SLOT "float[] 1; float[] -1; float[] 0; float[1] 1",
         "InvalidArgument: l1 regularization strength is not a non-negative scalar: []"},
        {"ApplyProximalAdagrad", NULL, ONE_AND_SLOT "float[] 1; float[] 0; float[] -1; float[1] 1",
         "InvalidArgument: l2 regularization strength is not a non-negative scalar: []"},
        {"ApplyFtrl", NULL, ONE_AND_SLOTS "float[] nan; float[] 0; float[] 0; float[] -0.5",
         "InvalidArgument: lr is not a positive scalar: []"},
        {"ApplyFtrl", NULL, ONE_AND_SLOTS "float[] 1; float[] 0; float[] 0; float[] 0.5",
         "InvalidArgument: lr_power is not a non-positive scalar: []"},
        {"ApplyFtrlV2", NULL, ONE_AND_SLOTS "float[] 1; float[] 0; float[] 0; float[] -1; float[] -0.5",
         "InvalidArgument: l2 shrinkage regularization strength is not a non-negative scalar: []"},
        {"ApplyFtrlV2", "multiply_linear_by_lr=true",
         ONE_AND_SLOTS "float[] -1; float[] 0; float[] 0; float[] 0; float[] -0.5",
         "InvalidArgument: lr is not a positive scalar: []"},
        {"ApplyProximalGradientDescent", NULL,
         "ref float[1] 1; float[] 0.5; float[1] 0; float[] 0; float[1] 1",
         "InvalidArgument: l1 regularization strength is not a scalar: [1]"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"ApplyGradientDescent", NULL, "ref float[2,?]; []; [?,3]", "[2,3]"},
        {"ResourceApplyGradientDescent", NULL, "var float[2,?]; []; [?,3]", ""},
        {"ResourceApplyGradientDescent", NULL, "var float[2]; []; [3]",
         "InvalidArgument: var and delta do not have the same shape"},
        {"SparseApplyAdagrad", NULL, "ref float[5,?]; ref float[?,3]; []; [?,?]; int32[2]", "[5,3]"},
        {"SparseApplyAdagrad", NULL, "ref float[5,3]; ref float[5,3]; []; [3,3]; int32[2]",
         "InvalidArgument: var and grad do not have the same shape"},
        {"SparseApplyAdagrad", NULL, "ref float[5,3]; ref float[5,3]; []; [2,3]; int32[]",
         "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"ApplyGradientDescent", NULL, "ref float[2]; []; [3]",
         "InvalidArgument: var and delta do not have the same shape"},
        {"ApplyGradientDescent", NULL, "ref float[2]; [1]; [2]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(shapes);
}

// With locking, one variable given twice is locked once.
static void one_variable_may_be_two_arguments(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op_desc *d = braid_op_begin(g, "VariableV2", "v");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(2));
    op_binding bindings[3] = {{.op = braid_op_end(d)}};
    bindings[0].value.ref = bd_variable_new(BRAID_FLOAT, true);
    braid_tensor start;
    op_test_tensor(&start, "float[2] 4 9");
    assert_int_equal(bd_variable_assign(bindings[0].value.ref, &start, st), BRAID_OK);
    bd_tensor_fini(&start);
    const char *fed[2] = {"float[] 1", "float[2] 0 0"};
    braid_out inputs[4] = {{bindings[0].op, 0}, {bindings[0].op, 0}};
    for (int i = 0; i < 2; i++) {
        d = braid_op_begin(g, "Placeholder", NULL);
        braid_op_attr_type(d, "dtype", BRAID_FLOAT);
        bindings[i + 1] = (op_binding){.op = braid_op_end(d)};
        op_test_tensor(&bindings[i + 1].value.tensor, fed[i]);
        inputs[i + 2] = (braid_out){bindings[i + 1].op, 0};
    }
    braid_out out = {op_test_node(g, "ApplyAdagrad", "use_locking=true", inputs, 4), 0};
    braid_tensor value;
    op_test_eval(bindings, 3, &out, 1, &value, st);
    assert_ok(st);
    op_test_expect(&value, "float[2] 4 9", 0, "ApplyAdagrad of one variable");
    bd_tensor_fini(&value);
    for (int i = 0; i < 3; i++)
        bd_value_fini(&bindings[i].value);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_follow_the_definition),
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(one_variable_may_be_two_arguments),
    };
    return BD_RUN_TESTS(tests);
}
