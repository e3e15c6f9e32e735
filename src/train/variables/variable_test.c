// Variables: their nodes, collections, initializers, and the nodes that concern all of them.
#include "base/testing/test.h"

#include "graph/graph.h"
#include "train/testing/graph_text.h"
#include <braid/layers.h>
#include <braid/ops.h>
#include <braid/session.h>
#include <braid/variables.h>

static void a_variable_is_read_and_initialized_beside_itself(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_variable v = braid_variable_new(g, "w", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(2)), true);
    braid_tensor *zero = braid_tensor_int32(0);
    braid_variable_of(g, NULL, zero, false);
    braid_tensor_free(zero);
    expect_graph(g, "zeros = Const\n"
                    "w = VariableV2\n"
                    "w/Assign = Assign w:0 zeros:0 =w\n"
                    "w/read = Identity w:0 =w\n"
                    "Variable/initial_value = Const\n"
                    "Variable = VariableV2\n"
                    "Variable/Assign = Assign Variable:0 Variable/initial_value:0 =Variable\n"
                    "Variable/read = Identity Variable:0 =Variable\n");
    int count;
    braid_collection(g, BRAID_GLOBAL_VARIABLES, &count);
    assert_int_equal(count, 2);
    assert_ptr_equal(braid_collection(g, BRAID_TRAINABLE_VARIABLES, &count)[0].op, v.ref.op);
    assert_int_equal(count, 1);
    braid_graph_free(g);
}

static void the_parts_of_a_variable_are_found_again(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_variable v = braid_variable_new(g, "w", braid_const_float(g, NULL, 1), true);
    braid_variable found = braid_variable_find(v.ref);
    assert_ptr_equal(found.read.op, v.read.op);
    assert_ptr_equal(found.initializer, v.initializer);
    assert_ptr_equal(found.initial_value.op, v.initial_value.op);
    braid_graph_free(g);
}

static void a_resource_variable_is_used_through_its_handle(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_variable v = braid_variable_resource(g, "w", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(2)), true);
    braid_report_uninitialized_variables(g);
    expect_nodes(g, "w",
                 "w = VarHandleOp\n"
                 "w/IsInitialized/VarIsInitializedOp = VarIsInitializedOp w:0\n"
                 "w/Assign = AssignVariableOp w:0 zeros:0 =w\n"
                 "w/Read/ReadVariableOp = ReadVariableOp w:0 =w\n");
    expect_nodes(g, "report_uninitialized_variables/V",
                 "report_uninitialized_variables/VarIsInitializedOp = VarIsInitializedOp w:0 =w\n");
    braid_variable found = braid_variable_find(v.ref);
    assert_ptr_equal(found.read.op, v.read.op);
    assert_ptr_equal(found.initializer, v.initializer);
    braid_graph_free(g);
}

// As tf.get_variable: the initial value is built before the variable and carries no device of its own.
static void an_initializer_is_on_the_device_of_its_variable(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_device(g, "/job:ps/task:0");
    braid_variable_get(g, "w", BRAID_FLOAT, BRAID_SHAPE(2), braid_zeros_initializer(), true);
    expect_graph(g, "w/Initializer/zeros = Const =w\n"
                    "w = VariableV2 =w @/job:ps/task:0\n"
                    "w/Assign = Assign w:0 w/Initializer/zeros:0 =w @/job:ps/task:0\n"
                    "w/read = Identity w:0 =w @/job:ps/task:0\n");
    braid_graph_free(g);
}

static void a_name_that_is_taken_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_no_op(g, "w");
    braid_variable_get(g, "w", BRAID_FLOAT, BRAID_SHAPE(2), braid_zeros_initializer(), true);
    braid_graph_status(g, st);
    assert_error(st, BRAID_ALREADY_EXISTS, "Variable 'w' cannot be made: a node of that name exists");
    braid_graph_free(g);
}

static void an_unknown_shape_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_variable_new(g, "w", braid_placeholder(g, "p", BRAID_FLOAT, BRAID_SHAPE(-1, 3)), true);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "Variable 'w': the shape of its initial value 'p' is not fully known");
    braid_graph_free(g);
}

static float const_value(const braid_graph *g, const char *name)
{
    return *(const float *)braid_tensor_data(bd_node_attr_tensor(braid_graph_find(g, name), "value"));
}

static void a_dense_layer_is_that_of_tf_layers(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 784));
    braid_out y = braid_dense(g, "hid", x, 128);
    assert_string_equal(braid_op_name(y.op), "hid/BiasAdd");
    assert_true(braid_shape_equal(braid_out_shape(y), BRAID_SHAPE(-1, 128)));
    expect_nodes(
        g, "hid/kernel/Initializer/random_uniform",
        "hid/kernel/Initializer/random_uniform/shape = Const =hid/kernel\n"
        "hid/kernel/Initializer/random_uniform/min = Const =hid/kernel\n"
        "hid/kernel/Initializer/random_uniform/max = Const =hid/kernel\n"
        "hid/kernel/Initializer/random_uniform/RandomUniform = RandomUniform "
        "hid/kernel/Initializer/random_uniform/shape:0 =hid/kernel\n"
        "hid/kernel/Initializer/random_uniform/sub = Sub hid/kernel/Initializer/random_uniform/max:0 "
        "hid/kernel/Initializer/random_uniform/min:0 =hid/kernel\n"
        "hid/kernel/Initializer/random_uniform/mul = Mul "
        "hid/kernel/Initializer/random_uniform/RandomUniform:0 "
        "hid/kernel/Initializer/random_uniform/sub:0 =hid/kernel\n"
        "hid/kernel/Initializer/random_uniform = Add hid/kernel/Initializer/random_uniform/mul:0 "
        "hid/kernel/Initializer/random_uniform/min:0 =hid/kernel\n");
    expect_nodes(g, "hid/MatMul", "hid/MatMul = MatMul x:0 hid/kernel/read:0\n");
    expect_nodes(g, "hid/BiasAdd", "hid/BiasAdd = BiasAdd hid/MatMul:0 hid/bias/read:0\n");
    // sqrt(6 / (784 + 128))
    assert_float_equal(const_value(g, "hid/kernel/Initializer/random_uniform/max"), 0.0811107084f, 1e-9f);
    braid_graph_free(g);
}

static void both_kinds_of_variables_are_assigned(void **state)
{
    (void)state;
    BD_STATUS(st);
    for (int resource = 0; resource < 2; resource++) {
        braid_graph *g = braid_graph_new();
        const braid_out two = braid_const_float(g, NULL, 2);
        const braid_variable v =
            resource ? braid_variable_resource(g, "v", two, true) : braid_variable_new(g, "v", two, true);
        const braid_out outs[] = {braid_assign(g, v.ref, braid_const_float(g, NULL, 5)),
                                  braid_assign_add(g, v.ref, two)};
        braid_session *s = braid_session_open(g, NULL, st);
        const braid_run_args init = {.targets = &v.initializer, .target_count = 1};
        assert_int_equal(braid_session_run(s, &init, st), BRAID_OK);
        for (int i = 0; i < 2; i++) {
            braid_tensor *value = NULL;
            const braid_run_args args = {.fetches = &(braid_fetch){outs[i], &value}, .fetch_count = 1};
            assert_int_equal(braid_session_run(s, &args, st), BRAID_OK);
            assert_float_equal(*(const float *)braid_tensor_data(value), i ? 7 : 5, 0);
            braid_tensor_free(value);
        }
        braid_session_close(s, st);
        braid_graph_free(g);
    }
}

static void the_global_step_is_made_once(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    assert_null(braid_find_global_step(g).op);
    braid_push_name_scope(g, "anywhere");
    braid_out step = braid_global_step(g);
    assert_string_equal(braid_op_name(step.op), "global_step");
    assert_int_equal(braid_out_dtype(braid_variable_find(step).read), BRAID_INT64);
    assert_ptr_equal(braid_global_step(g).op, step.op);
    braid_graph_free(g);
}

static void init_and_report_without_variables(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_global_variables_initializer(g);
    braid_report_uninitialized_variables(g);
    expect_graph(g, "init = NoOp\nreport_uninitialized_variables/Const = Const\n");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variable_is_read_and_initialized_beside_itself),
        cmocka_unit_test(the_parts_of_a_variable_are_found_again),
        cmocka_unit_test(a_resource_variable_is_used_through_its_handle),
        cmocka_unit_test(an_initializer_is_on_the_device_of_its_variable),
        cmocka_unit_test(a_name_that_is_taken_is_an_error),
        cmocka_unit_test(an_unknown_shape_is_an_error),
        cmocka_unit_test(a_dense_layer_is_that_of_tf_layers),
        cmocka_unit_test(both_kinds_of_variables_are_assigned),
        cmocka_unit_test(the_global_step_is_made_once),
        cmocka_unit_test(init_and_report_without_variables),
    };
    return BD_RUN_TESTS(tests);
}
