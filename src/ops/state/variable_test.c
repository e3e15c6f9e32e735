// Tests of reference variables and resource variables.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "op/variable.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_run.h"
#include "ops/testing/op_test.h"

static void reference_variables_may_have_any_shape(void **state)
{
    static const char *const ops[] = {"VariableV2", "Variable"};
    static const struct {
        const char *attrs, *value;
    } shapes[] = {
        {"dtype=float; shape=[2]", "float[2] 1 2"},
        {"dtype=int64; shape=[]", "int64[] 3"},
        {"dtype=string; shape=[0,2]", "string[0,2]"},
    };
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(ops) * BD_COUNTOF(shapes); i++) {
        op_live *l = op_live_new();
        const char *value = shapes[i / 2].value;
        braid_out v = {op_test_node(l->graph, ops[i % 2], shapes[i / 2].attrs, NULL, 0), 0};
        braid_out in[2] = {v, op_live_const(l, value)};
        op_live_run(l, op_test_node(l->graph, "Assign", NULL, in, 2), "", "*");
        op_live_run(l, op_test_node(l->graph, "Identity", NULL, &v, 1), "", value);
        op_live_run(l, op_test_node(l->graph, "IsVariableInitialized", NULL, &v, 1), "", "bool[] true");
        op_live_free(l);
    }
}

static void reference_variables_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "IsVariableInitialized", .inputs = "ref float[2]", .want = "bool[] false"},
        {.op = "IsVariableInitialized", .inputs = "ref int64[] 3", .want = "bool[] true"},
        {.op = "IsVariableInitialized", .inputs = "ref float[0] empty", .want = "bool[] true"},
        {.op = "IsVariableInitialized", .inputs = "float[2] 1", .want = "InvalidArgument: "},
        {.op = "Assign",
         .inputs = "ref float[2]; float[2] 1 2",
         .want = "float[2] 1 2",
         .after = "float[2] 1 2"},
        {.op = "Assign",
         .inputs = "ref float[2] 3 4; float[2] 1 2",
         .want = "float[2] 1 2",
         .after = "float[2] 1 2"},
        {.op = "Assign",
         .inputs = "ref string[1] ab; string[1] c",
         .want = "string[1] c",
         .after = "string[1] c"},
        {.op = "Assign",
         .inputs = "ref float[2] 3 4; float[3] 1 2 3",
         .want =
             "InvalidArgument: Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]"},
        {.op = "Assign",
         .attrs = "validate_shape=false",
         .inputs = "ref float[2] 3 4; float[3] 1 2 3",
         .want = "float[3] 1 2 3",
         .after = "float[3] 1 2 3"},
        {.op = "AssignAdd",
         .inputs = "ref float[2] 1 2; float[2] 10 20",
         .want = "float[2] 11 22",
         .after = "float[2] 11 22"},
        {.op = "AssignAdd",
         .inputs = "ref int64[] 41; int64[] 1",
         .want = "int64[] 42",
         .after = "int64[] 42"},
        {.op = "AssignAdd",
         .attrs = "use_locking=true",
         .inputs = "ref double[1] 0.5; double[1] 0.25",
         .want = "double[1] 0.75",
         .after = "double[1] 0.75"},
        {.op = "AssignAdd",
         .inputs = "ref int32[] 2147483647; int32[] 1",
         .want = "int32[] -2147483648",
         .after = "int32[] -2147483648"},
        {.op = "AssignSub",
         .inputs = "ref float[2] 1 2; float[2] 10 20",
         .want = "float[2] -9 -18",
         .after = "float[2] -9 -18"},
        {.op = "Assign",
         .attrs = "validate_shape=false",
         .inputs = "ref float[2] 3 4; float[0]",
         .want = "float[0]",
         .after = "float[0]"},
        {.op = "AssignAdd",
         .inputs = "ref float[2,0] empty; float[2,0]",
         .want = "float[2,0]",
         .after = "float[2,0]"},
        {.op = "AssignSub",
         .inputs = "ref int32[] -2147483648; int32[] 1",
         .want = "int32[] 2147483647",
         .after = "int32[] 2147483647"},
        {.op = "AssignSub",
         .inputs = "ref float[0]; float[0]",
         .want = "FailedPrecondition: uninitialized value"},
        {.op = "AssignAdd",
         .inputs = "ref float[2] 1 2; float[1] 1",
         .want = "InvalidArgument: Parameters and update must be the same size"},
        {.op = "AssignAdd",
         .inputs = "ref float[2]; float[2] 1 2",
         .want = "FailedPrecondition: uninitialized value"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"VariableV2", "dtype=float; shape=[2,3]", "", "[2,3]"},
        {"VariableV2", "dtype=float; shape=[]", "", "[]"},
        {"Variable", "dtype=float; shape=[]", "", "?"}, // unknown: graphs of older TensorFlow
        {"Variable", "dtype=float; shape=[2]", "", "[2]"},
        {"IsVariableInitialized", NULL, "ref float[2]", "[]"},
        {"Assign", NULL, "ref float[?,3]; [2,?]", "[2,3]"},
        {"Assign", NULL, "ref float[2]; [3]", "InvalidArgument: lhs shape= [2] rhs shape= [3]"},
        {"Assign", "validate_shape=false", "ref float[2]; [3]", "[3]"},
        {"AssignAdd", NULL, "ref float[?]; [3]", "[3]"},
        {"VarHandleOp", "dtype=float; shape=[2]", "", "[]"},
        {"Variable", "dtype=float", "", "InvalidArgument: attr 'shape'"},
    };
    OP_TEST_SHAPES(cases);
}

// ---- A step over variables in a device's resources ----

typedef struct world {
    braid_graph *graph;
    bd_step step;
} world;

static void open_world(world *w)
{
    w->graph = braid_graph_new();
    op_step_init(&w->step);
}

static void close_world(world *w)
{
    op_step_fini(&w->step);
    braid_graph_free(w->graph);
}

static braid_op *variable_node(world *w, const char *op, const char *name, const char *shared_name,
                               braid_dtype dtype)
{
    braid_op_desc *d = braid_op_begin(w->graph, op, name);
    braid_op_attr_type(d, "dtype", dtype);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(2));
    braid_op_attr_string(d, "shared_name", shared_name);
    return braid_op_end(d);
}

static braid_out float_placeholder(world *w)
{
    braid_op_desc *d = braid_op_begin(w->graph, "Placeholder", NULL);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    return braid_op_end_out(d);
}

// A node over a variable, and over a value if it takes one.
static braid_op *on_variable(world *w, const char *op, braid_op *variable, const char *attrs,
                             bool takes_value)
{
    braid_out in[2] = {{variable, 0}};
    if (takes_value) in[1] = float_placeholder(w);
    return op_test_node(w->graph, op, attrs, in, takes_value ? 2 : 1);
}

// Runs one node over inputs that are given up; the output stays the caller's.
static braid_code run(world *w, braid_op *node, bd_value *inputs, bd_value *output, braid_status *st)
{
    braid_graph_status(w->graph, st);
    assert_ok(st);
    bd_value none = {0};
    braid_code code = op_run_node(node, &w->step, inputs, output ? output : &none, st);
    bd_value_fini(&none);
    for (int i = 0; i < node->input_count; i++)
        bd_value_fini(&inputs[i]);
    return code;
}

// The output of a variable node: a reference or a handle.
static bd_value reference_of(world *w, braid_op *variable)
{
    BD_STATUS(st);
    bd_value v = {0};
    run(w, variable, NULL, &v, st);
    assert_ok(st);
    return v;
}

static bd_value tensor_value(const char *text)
{
    bd_value v = {0};
    op_test_tensor(&v.tensor, text);
    return v;
}

static void nodes_of_one_shared_name_are_one_variable(void **state)
{
    (void)state;
    BD_STATUS(st);
    world w;
    open_world(&w);
    bd_value a = reference_of(&w, variable_node(&w, "VariableV2", "a", "w", BRAID_FLOAT));
    bd_value b = reference_of(&w, variable_node(&w, "VariableV2", "b", "w", BRAID_FLOAT));
    bd_value c = reference_of(&w, variable_node(&w, "VariableV2", "w", "", BRAID_FLOAT));
    bd_value d = reference_of(&w, variable_node(&w, "VariableV2", "d", "", BRAID_FLOAT));
    assert_ptr_equal(a.ref, b.ref);
    assert_ptr_equal(a.ref, c.ref);
    assert_ptr_not_equal(a.ref, d.ref);
    run(&w, variable_node(&w, "VariableV2", "e", "w", BRAID_INT32), NULL, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "Variable 'w' in container 'localhost' is of type float, not int32");
    bd_value_fini(&a);
    bd_value_fini(&b);
    bd_value_fini(&c);
    bd_value_fini(&d);
    close_world(&w);
}

static void an_unassigned_variable_knows_its_declared_shape(void **state)
{
    (void)state;
    BD_STATUS(st);
    world w;
    open_world(&w);
    braid_op *v = variable_node(&w, "VariableV2", "v", "", BRAID_FLOAT);
    braid_op *assign = on_variable(&w, "Assign", v, NULL, true);
    run(&w, assign, (bd_value[]){reference_of(&w, v), tensor_value("float[3] 1")}, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "lhs shape= [2] rhs shape= [3]");
    close_world(&w);
}

static void reset_makes_a_bound_variable_new(void **state)
{
    (void)state;
    BD_STATUS(st);
    world w;
    open_world(&w);
    braid_op *node = variable_node(&w, "VariableV2", "v", "", BRAID_FLOAT);
    const bd_kernel *kernel;
    bd_kernel_find(node, "CPU", &kernel, st);
    assert_ok(st);
    void *kernel_state = bd_calloc(1, kernel->state_size);
    kernel->create(node, kernel_state, st);
    assert_ok(st);
    bd_value got[3] = {0};
    for (int i = 0; i < 3; i++) {
        if (i == 2) bd_resources_clear(w.step.resources, NULL);
        bd_op_ctx c = {
            .node = node, .state = kernel_state, .outputs = &got[i], .output_count = 1, .step = &w.step};
        kernel->run(&c);
        assert_ok(&c.status);
        braid_tensor value = tensor_value("float[2] 1 2").tensor;
        if (i == 0) bd_variable_assign(got[0].ref, &value, st);
        assert_ok(st);
        bd_tensor_fini(&value);
    }
    assert_ptr_equal(got[0].ref, got[1].ref);
    assert_ptr_not_equal(got[0].ref, got[2].ref);
    braid_tensor value;
    assert_false(bd_variable_read(got[2].ref, &value)); // the new one is uninitialized
    assert_false(bd_variable_read(got[0].ref, &value)); // and the old one's memory is given back
    for (int i = 0; i < 3; i++)
        bd_value_fini(&got[i]);
    kernel->destroy(kernel_state);
    bd_free(kernel_state);
    close_world(&w);
}

static void updates_in_place_keep_the_memory(void **state)
{
    (void)state;
    BD_STATUS(st);
    world w;
    open_world(&w);
    braid_op *v = variable_node(&w, "VariableV2", "v", "", BRAID_FLOAT);
    braid_op *assign = on_variable(&w, "Assign", v, NULL, true),
             *add = on_variable(&w, "AssignAdd", v, NULL, true);
    run(&w, assign, (bd_value[]){reference_of(&w, v), tensor_value("float[2] 1 2")}, NULL, st);
    assert_ok(st);
    bd_value ref = reference_of(&w, v);
    braid_tensor before, after;
    assert_true(bd_variable_read(ref.ref, &before));
    run(&w, add, (bd_value[]){reference_of(&w, v), tensor_value("float[2] 1 1")}, NULL, st);
    assert_ok(st);
    run(&w, assign, (bd_value[]){reference_of(&w, v), tensor_value("float[2] 7 8")}, NULL, st);
    assert_ok(st);
    assert_true(bd_variable_read(ref.ref, &after));
    assert_ptr_equal(before.data, after.data);
    op_test_expect(&before, "float[2] 7 8", 0, "who holds it sees the update");
    assert_true(before.buffer->is_variable);
    bd_tensor_fini(&before);
    bd_tensor_fini(&after);
    bd_value_fini(&ref);
    close_world(&w);
}

// ---- Resource variables ----

static void resource_variables_are_assigned_and_read(void **state)
{
    (void)state;
    BD_STATUS(st);
    world w;
    open_world(&w);
    braid_op *v = variable_node(&w, "VarHandleOp", "v", "", BRAID_FLOAT);
    braid_op *is_set = on_variable(&w, "VarIsInitializedOp", v, NULL, false),
             *shape = on_variable(&w, "VariableShape", v, NULL, false);
    braid_op *assign = on_variable(&w, "AssignVariableOp", v, NULL, true),
             *add = on_variable(&w, "AssignAddVariableOp", v, NULL, true);
    braid_op *sub = on_variable(&w, "AssignSubVariableOp", v, NULL, true),
             *read = on_variable(&w, "ReadVariableOp", v, "dtype=float", false);
    braid_op *destroy = on_variable(&w, "DestroyResourceOp", v, NULL, false),
             *no_copy = on_variable(&w, "DisableCopyOnRead", v, NULL, false);
    bd_value got = {0}, old = {0};
    run(&w, is_set, (bd_value[]){reference_of(&w, v)}, &got, st);
    op_test_expect(&got.tensor, "bool[] false", 0, "nothing assigned");
    bd_value_fini(&got);
    run(&w, read, (bd_value[]){reference_of(&w, v)}, NULL, st);
    assert_error(st, BRAID_FAILED_PRECONDITION,
                 "Error while reading resource variable v from Container: localhost");
    run(&w, add, (bd_value[]){reference_of(&w, v), tensor_value("float[2] 1 2")}, NULL, st);
    assert_error(st, BRAID_NOT_FOUND, "does not exist");
    run(&w, assign, (bd_value[]){reference_of(&w, v), tensor_value("float[2] 1 2")}, NULL, st);
    assert_ok(st);
    run(&w, is_set, (bd_value[]){reference_of(&w, v)}, &got, st);
    op_test_expect(&got.tensor, "bool[] true", 0, "assigned");
    bd_value_fini(&got);
    run(&w, read, (bd_value[]){reference_of(&w, v)}, &old, st);
    run(&w, add, (bd_value[]){reference_of(&w, v), tensor_value("float[2] 10 20")}, NULL, st);
    run(&w, sub, (bd_value[]){reference_of(&w, v), tensor_value("float[2] 1 1")}, NULL, st);
    assert_ok(st);
    run(&w, read, (bd_value[]){reference_of(&w, v)}, &got, st);
    op_test_expect(&got.tensor, "float[2] 10 21", 0, "updated");
    op_test_expect(&old.tensor, "float[2] 1 2", 0, "a value once read does not change");
    bd_value_fini(&got);
    bd_value_fini(&old);
    run(&w, no_copy, (bd_value[]){reference_of(&w, v)}, NULL, st);
    assert_ok(st);
    run(&w, shape, (bd_value[]){reference_of(&w, v)}, &got, st);
    op_test_expect(&got.tensor, "int32[1] 2", 0, "shape");
    bd_value_fini(&got);
    run(&w, add, (bd_value[]){reference_of(&w, v), tensor_value("float[3] 1")}, NULL, st);
    assert_error(
        st, BRAID_INVALID_ARGUMENT,
        "Cannot update variable with shape [2] using a Tensor with shape [3], shapes must be equal.");
    run(&w, destroy, (bd_value[]){reference_of(&w, v)}, NULL, st);
    assert_ok(st);
    run(&w, is_set, (bd_value[]){reference_of(&w, v)}, &got, st);
    op_test_expect(&got.tensor, "bool[] false", 0, "destroyed");
    bd_value_fini(&got);
    run(&w, no_copy, (bd_value[]){reference_of(&w, v)}, NULL, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "Error while reading resource variable v");
    close_world(&w);
}

static void a_resource_variable_has_the_type_it_declares(void **state)
{
    static const char *const ops[] = {"ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp"};
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        BD_STATUS(st);
        world w;
        open_world(&w);
        braid_op *v = variable_node(&w, "VarHandleOp", "v", "", BRAID_INT64);
        bool takes_value = i > 0; // of type float
        braid_op_desc *d = braid_op_begin(w.graph, ops[i], NULL);
        braid_op_input(d, braid_output(v, 0));
        if (takes_value)
            braid_op_input(d, float_placeholder(&w));
        else
            braid_op_attr_type(d, "dtype", BRAID_FLOAT);
        braid_op_end(d);
        braid_graph_status(w.graph, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, "'v' with wrong dtype. Expected int64 got float");
        close_world(&w);
    }
}

static void an_empty_handle_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    world w;
    open_world(&w);
    braid_op *v = variable_node(&w, "VarHandleOp", "v", "", BRAID_FLOAT);
    braid_op *read = on_variable(&w, "ReadVariableOp", v, "dtype=float", false);
    bd_value empty = {0};
    assert_true(bd_tensor_alloc(&empty.tensor, BRAID_RESOURCE, &BD_SCALAR));
    run(&w, read, &empty, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "no handle of a variable");
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_variables_may_have_any_shape),
        cmocka_unit_test(reference_variables_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(nodes_of_one_shared_name_are_one_variable),
        cmocka_unit_test(an_unassigned_variable_knows_its_declared_shape),
        cmocka_unit_test(reset_makes_a_bound_variable_new),
        cmocka_unit_test(updates_in_place_keep_the_memory),
        cmocka_unit_test(resource_variables_are_assigned_and_read),
        cmocka_unit_test(a_resource_variable_has_the_type_it_declares),
        cmocka_unit_test(an_empty_handle_is_an_error),
    };
    return BD_RUN_TESTS(tests);
}
