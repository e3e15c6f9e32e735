// What a front end in another language does, over the public headers alone: graphs whose edges are replaced,
// functions made of graphs, imports into graphs, gradients of single ops. All of it runs in sessions.
#include "base/testing/test.h"
#include <braid/attributes.h>
#include <braid/function.h>
#include <braid/graph_import.h>
#include <braid/op_list.h>
#include <braid/ops.h>
#include <braid/session.h>
#include <stdlib.h>

static void check_graph(const braid_graph *g)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_ok(st);
}

static braid_out node(braid_graph *g, const char *op, const char *name, const braid_out *inputs, int count)
{
    return braid_output(braid_op_add(g, op, name, inputs, count), 0);
}

static braid_out placeholder(braid_graph *g, const char *name)
{
    braid_op_desc *d = braid_op_begin(g, "Placeholder", name);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SCALAR);
    return braid_op_end_out(d);
}

static float run(braid_session *s, braid_out out)
{
    BD_STATUS(st);
    braid_tensor *value = NULL;
    const braid_fetch fetch = {.out = out, .value = &value};
    braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    assert_ok(st);
    const float result = *(const float *)braid_tensor_data(value);
    braid_tensor_free(value);
    return result;
}

static float run_once(braid_graph *g, braid_out out)
{
    BD_STATUS(st);
    check_graph(g);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    const float result = run(s, out);
    braid_session_close(s, NULL);
    return result;
}

// Merge gets its second input when the loop's body is there, as control_flow_ops.while_loop does.
static void a_loop_is_closed_by_replacing_an_input(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op_desc *d = braid_op_begin(g, "Enter", "enter");
    braid_op_input(d, braid_const_float(g, NULL, 1));
    braid_op_attr_string(d, "frame_name", "loop");
    const braid_out enter = braid_op_end_out(d), twice[] = {enter, enter};
    d = braid_op_begin(g, "Merge", "merge");
    braid_op_input_list(d, twice, 2);
    const braid_out merge = braid_op_end_out(d);
    const braid_op *merged = merge.op;
    d = braid_op_begin(g, "Const", "limit");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_tensor *hundred = braid_tensor_float(100);
    braid_op_attr_tensor(d, "value", hundred);
    braid_tensor_free(hundred);
    braid_op_control(d, merge.op);
    const braid_out limit = braid_op_end_out(d), less[] = {merge, limit};
    const braid_out below = node(g, "Less", NULL, less, 2), cond = node(g, "LoopCond", NULL, &below, 1);
    const braid_out choice[] = {merge, cond};
    braid_op *gate = braid_op_add(g, "Switch", NULL, choice, 2);
    const braid_out in = braid_output(gate, 1), out = braid_output(gate, 0), sum[] = {in, in};
    const braid_out doubled = node(g, "Add", NULL, sum, 2),
                    next = node(g, "NextIteration", NULL, &doubled, 1);
    assert_int_equal(braid_op_set_input(merge.op, 1, next, st), BRAID_OK);
    assert_ptr_equal(braid_op_get_input(merged, 1).op, next.op);
    assert_true(run_once(g, node(g, "Exit", NULL, &out, 1)) == 128);
    braid_graph_free(g);
}

static void a_session_keeps_a_node_as_it_got_it(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out one = braid_const_float(g, NULL, 1), two = braid_const_float(g, NULL, 2);
    const braid_out same = node(g, "Identity", NULL, &one, 1);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_true(run(s, same) == 1);
    assert_int_equal(braid_op_set_input(same.op, 0, two, st), BRAID_OK);
    assert_true(run(s, same) == 1);
    braid_session_close(s, NULL);
    assert_true(run_once(g, same) == 2);
    braid_graph_free(g);
}

static void a_node_waits_for_a_control_input_that_was_added(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out one = braid_const_float(g, NULL, 1), same = node(g, "Identity", NULL, &one, 1);
    braid_op_desc *d = braid_op_begin(g, "Assert", "never");
    braid_op_input(d, braid_const_bool(g, NULL, false));
    braid_op_input_list(d, &one, 1);
    braid_op *never = braid_op_end(d);
    assert_int_equal(braid_op_add_control(same.op, never, st), BRAID_OK);
    check_graph(g);
    braid_session *s = braid_session_open(g, NULL, st);
    braid_tensor *value = NULL;
    const braid_fetch fetch = {.out = same, .value = &value};
    braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "assertion failed");
    braid_session_close(s, NULL);
    assert_int_equal(braid_op_set_controls(same.op, NULL, 0, st), BRAID_OK);
    assert_true(run_once(g, same) == 1);
    braid_graph_free(g);
}

// f(x, y) = x * y + x
static void *make_function(size_t *len)
{
    BD_STATUS(st);
    braid_graph *body = braid_graph_new();
    const braid_out in[] = {placeholder(body, "x"), placeholder(body, "y")};
    const braid_out sum[] = {node(body, "Mul", NULL, in, 2), in[0]}, result = node(body, "Add", NULL, sum, 2);
    void *data = braid_graph_to_function(
        body,
        &(braid_function_body){
            .name = "f", .inputs = in, .input_count = 2, .outputs = &result, .output_count = 1},
        len, st);
    assert_ok(st);
    braid_graph_free(body);
    return data;
}

static void a_function_is_called_by_its_name_and_by_an_attr(void **state)
{
    (void)state;
    BD_STATUS(st);
    size_t len;
    void *data = make_function(&len);
    braid_graph *g = braid_graph_new();
    assert_int_equal(braid_graph_add_function(g, data, len, NULL, st), BRAID_OK);
    free(data);
    const braid_out in[] = {braid_const_float(g, NULL, 3), braid_const_float(g, NULL, 4)};
    const braid_dtype types[] = {BRAID_FLOAT, BRAID_FLOAT};
    assert_true(run_once(g, node(g, "f", "by_name", in, 2)) == 15);
    braid_op_desc *d = braid_op_begin(g, "PartitionedCall", "by_attr");
    braid_op_input_list(d, in, 2);
    braid_op_attr_type_list(d, "Tout", types, 1);
    braid_op_attr_func(d, "f", "f");
    assert_true(run_once(g, braid_op_end_out(d)) == 15);
    // A call by name has a gradient: df/dx = y + 1, df/dy = x.
    braid_out grads[2];
    const braid_out y = braid_graph_find_out(g, "by_name");
    braid_gradients(g, &y, 1, in, 2, NULL, grads);
    assert_true(run_once(g, grads[0]) == 5);
    assert_true(run_once(g, grads[1]) == 3);
    braid_graph_free(g);
}

static void a_graph_is_imported_over_another_input(void **state)
{
    (void)state;
    BD_STATUS(st);
    size_t len;
    braid_graph *from = braid_graph_new(), *g = braid_graph_new();
    const braid_out x = placeholder(from, "x"), in[] = {x, x};
    node(from, "Mul", "square", in, 2);
    void *data = braid_graph_export_from(from, 0, true, &len, st);
    assert_ok(st);
    const braid_import_mapping map = {"x", braid_const_float(g, NULL, 7)};
    const char *const wanted[] = {"square"};
    braid_out square;
    braid_graph_import_with(g, data, len,
                            &(braid_import_options){.prefix = "import",
                                                    .input_map = &map,
                                                    .input_map_count = 1,
                                                    .return_outputs = wanted,
                                                    .return_output_count = 1},
                            &(braid_import_results){.outputs = &square}, st);
    assert_ok(st);
    assert_string_equal(braid_op_name(square.op), "import/square");
    assert_true(run_once(g, square) == 49);
    free(data);
    braid_graph_free(from);
    braid_graph_free(g);
}

// A program's own walk: the gradient of the sum of both paths through x * x.
static void gradients_are_built_op_by_op(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_const_float(g, NULL, 5), in[] = {x, x}, y = node(g, "Mul", NULL, in, 2);
    const braid_gradient dy = {.values = braid_const_float(g, NULL, 1)};
    braid_gradient grads[2];
    assert_int_equal(braid_op_gradient_kind(y.op), BRAID_GRADIENT_FUNCTION);
    braid_op_gradient(y.op, &dy, 1, grads);
    const braid_out paths[] = {grads[0].values, grads[1].values};
    assert_true(run_once(g, node(g, "Add", NULL, paths, 2)) == 10);
    braid_graph_free(g);
}

// A front end learns from the registry how to call an op, and sets its attributes as messages.
static void a_node_is_built_from_messages_alone(void **state)
{
    (void)state;
    BD_STATUS(st);
    size_t len;
    void *def = braid_op_def("Cast", &len, st);
    assert_ok(st);
    assert_non_null(memmem(def, len, "DstT", 4));
    free(def);
    braid_graph *g = braid_graph_new();
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, braid_const_float(g, NULL, 2.5f));
    braid_op_attr_value(d, "DstT", "\x30\x03", 2); // type: DT_INT32
    const braid_out whole = braid_op_end_out(d);
    d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, whole);
    braid_op_attr_value(d, "DstT", "\x30\x01", 2); // type: DT_FLOAT
    const braid_out back = braid_op_end_out(d);
    braid_attr type;
    assert_true(braid_op_attr(back.op, "SrcT", &type) && type.types[0] == BRAID_INT32);
    assert_true(run_once(g, back) == 2);
    braid_tensor *value = braid_out_constant(back);
    assert_true(*(const float *)braid_tensor_data(value) == 2);
    braid_tensor_free(value);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_is_closed_by_replacing_an_input),
        cmocka_unit_test(a_session_keeps_a_node_as_it_got_it),
        cmocka_unit_test(a_node_waits_for_a_control_input_that_was_added),
        cmocka_unit_test(a_function_is_called_by_its_name_and_by_an_attr),
        cmocka_unit_test(a_graph_is_imported_over_another_input),
        cmocka_unit_test(gradients_are_built_op_by_op),
        cmocka_unit_test(a_node_is_built_from_messages_alone),
    };
    return BD_RUN_TESTS(tests);
}
