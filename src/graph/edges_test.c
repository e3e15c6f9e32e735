// The edges of nodes as front ends see and change them: ranges, consumers, replaced inputs, devices.
#include "graph/testing/test_ops.h"

static braid_out scalar(braid_graph *g, const char *name, braid_dtype dtype)
{
    return test_placeholder(g, name, dtype, BRAID_SCALAR);
}

static void an_argument_has_a_range_of_inputs_and_outputs(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out parts[] = {scalar(g, "a", BRAID_FLOAT), scalar(g, "b", BRAID_FLOAT)};
    const braid_out axis = test_placeholder(g, "axis", BRAID_INT32, BRAID_SCALAR);
    braid_op_desc *d = braid_op_begin(g, "ConcatV2", "joined");
    braid_op_input_list(d, parts, 2);
    braid_op_input(d, axis);
    braid_op *joined = braid_op_end(d);
    d = braid_op_begin(g, "Split", "split");
    braid_op_input(d, braid_output(joined, 0));
    braid_op_attr_int(d, "num_split", 3);
    braid_op *split = braid_op_end(d);
    assert_graph_ok(g);
    int first = 7, count = 7;
    assert_int_equal(braid_op_input_range(joined, "values", &first, &count, st), BRAID_OK);
    assert_int_equal(first, 0);
    assert_int_equal(count, 2);
    assert_int_equal(braid_op_input_range(joined, "axis", &first, &count, st), BRAID_OK);
    assert_int_equal(first, 2);
    assert_int_equal(count, 1);
    assert_int_equal(braid_op_output_range(split, "output", &first, &count, st), BRAID_OK);
    assert_int_equal(first, 0);
    assert_int_equal(count, 3);
    braid_op_input_range(joined, "output", &first, &count, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Node 'joined' (op: 'ConcatV2'): Input arg 'output' not found");
    braid_op_output_range(NULL, "output", &first, &count, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "There is no node");
    assert_int_equal(count, 3);
    braid_graph_free(g);
}

static void consumers_are_listed_as_the_graph_grows(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = scalar(g, "x", BRAID_FLOAT);
    braid_in to[4];
    braid_op *waiting[4];
    assert_int_equal(braid_out_consumers(x, NULL, 0), 0);
    const braid_out square = bd_b2(g, "Mul", "square", x, x);
    braid_op_desc *d = braid_op_begin(g, "NoOp", "after");
    braid_op_control(d, x.op);
    braid_op *after = braid_op_end(d);
    const braid_out neg = bd_b1(g, "Neg", "neg", x);
    assert_int_equal(braid_out_consumers(x, to, 4), 3);
    assert_ptr_equal(to[0].op, square.op);
    assert_int_equal(to[0].index, 0);
    assert_ptr_equal(to[1].op, square.op);
    assert_int_equal(to[1].index, 1);
    assert_ptr_equal(to[2].op, neg.op);
    assert_int_equal(braid_op_control_outputs(x.op, waiting, 4), 1);
    assert_ptr_equal(waiting[0], after);
    to[1].op = NULL;
    assert_int_equal(braid_out_consumers(x, to, 1), 3); // no more than there is room for
    assert_null(to[1].op);
    assert_int_equal(braid_out_consumers((braid_out){.op = x.op, .index = 1}, to, 4), 0);
    braid_graph_free(g);
}

// Whatever changes between questions: the answers are those of a search of the whole graph.
static void consumers_stay_right_while_edges_change(void **state)
{
    (void)state;
    enum {
        NODES = 40,
        CHANGES = 2000
    };
    braid_graph *g = braid_graph_new();
    unsigned seed = 1;
    scalar(g, "x", BRAID_FLOAT);
    for (int i = 0; i < CHANGES; i++) {
        const int count = braid_graph_num_ops(g);
#define ANY(N) (int)((seed = seed * 1103515245u + 12345u) >> 16) % (N)
        braid_op *a = braid_graph_op(g, ANY(count)), *b = braid_graph_op(g, ANY(count));
        const braid_out both[] = {braid_output(a, 0), braid_output(b, 0)};
        if (count < NODES && ANY(4) == 0) bd_b2(g, "Mul", NULL, both[0], both[1]);
        if (a->input_count) assert_int_equal(braid_op_set_input(a, ANY(2), both[1], NULL), BRAID_OK);
        if (a != b && ANY(3) == 0) assert_int_equal(braid_op_add_control(a, b, NULL), BRAID_OK);
        if (a != b && ANY(9) == 0) assert_int_equal(braid_op_set_controls(a, &b, 1, NULL), BRAID_OK);
        braid_in consumers[2 * NODES];
        braid_op *waiting[NODES];
        const int data = braid_out_consumers(both[1], consumers, 2 * NODES);
        const int controls = braid_op_control_outputs(b, waiting, NODES);
        int seen = 0, waits = 0;
        for (int n = 0; n < braid_graph_num_ops(g); n++) {
            braid_op *op = braid_graph_op(g, n);
            for (int k = 0; k < op->input_count; k++) {
                if (op->inputs[k].op != b) continue;
                assert_true(seen < data && consumers[seen].op == op && consumers[seen].index == k);
                seen++;
            }
            for (int k = 0; k < op->control_count; k++) {
                if (op->controls[k] != b) continue;
                assert_true(waits < controls && waiting[waits] == op);
                waits++;
            }
        }
        assert_int_equal(seen, data);
        assert_int_equal(waits, controls);
    }
    assert_graph_ok(g);
    braid_graph_free(g);
}

static void an_input_can_be_replaced(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out x = scalar(g, "x", BRAID_FLOAT), y = scalar(g, "y", BRAID_FLOAT);
    const braid_out neg = bd_b1(g, "Neg", "neg", x);
    assert_int_equal(braid_out_consumers(x, NULL, 0), 1);
    assert_int_equal(braid_op_set_input(neg.op, 0, y, st), BRAID_OK);
    assert_ptr_equal(braid_op_get_input(neg.op, 0).op, y.op);
    assert_int_equal(braid_out_consumers(x, NULL, 0), 0);
    assert_int_equal(braid_out_consumers(y, NULL, 0), 1);
    braid_graph_free(g);
}

static void a_new_input_must_fit(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new(), *other = braid_graph_new();
    const braid_out x = test_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, -1));
    const braid_out neg = bd_b1(g, "Neg", "neg", x);
    const struct {
        braid_out from;
        int index;
        const char *words;
    } rows[] = {
        {x, 1, "Node 'neg' (op: 'Neg'): it has 1 inputs, and no input 1"},
        {x, -1, "no input -1"},
        {{0}, 0, "the new input is nothing"},
        {scalar(other, "z", BRAID_FLOAT), 0, "the new input is of another graph"},
        {{.op = x.op, .index = 3}, 0, "Connecting to invalid output 3 of source node x which has 1 outputs"},
        {test_placeholder(g, "i", BRAID_INT32, BRAID_SHAPE(2, 2)), 0,
         "Input 0 of node neg was passed int32 from i:0 incompatible with expected float"},
        {test_placeholder(g, "s", BRAID_FLOAT, BRAID_SHAPE(3, 2)), 0, "incompatible shapes: [3,2] and [2,?]"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        braid_op_set_input(neg.op, rows[i].index, rows[i].from, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, rows[i].words);
        assert_ptr_equal(braid_op_get_input(neg.op, 0).op, x.op);
    }
    braid_op_set_input(NULL, 0, x, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "There is no node");
    assert_graph_ok(g);
    braid_graph_free(other);
    braid_graph_free(g);
}

static void control_inputs_can_be_added_and_replaced(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new(), *other = braid_graph_new();
    braid_op *a = test_no_op(g, "a"), *b = test_no_op(g, "b"), *c = test_no_op(g, "c");
    assert_int_equal(braid_op_add_control(c, a, st), BRAID_OK);
    assert_int_equal(braid_op_add_control(c, b, st), BRAID_OK);
    assert_int_equal(braid_op_add_control(c, a, st), BRAID_OK);
    assert_int_equal(braid_op_num_controls(c), 2);
    assert_ptr_equal(braid_op_get_control(c, 0), a);
    assert_ptr_equal(braid_op_get_control(c, 1), b);
    assert_null(braid_op_get_control(c, 2));
    assert_int_equal(braid_op_control_outputs(a, NULL, 0), 1);
    assert_int_equal(braid_op_set_controls(c, &b, 1, st), BRAID_OK);
    assert_int_equal(braid_op_control_outputs(a, NULL, 0), 0);
    assert_ptr_equal(braid_op_get_control(c, 0), b);
    braid_op *const wrong[] = {a, test_no_op(other, "a")};
    braid_op_set_controls(c, wrong, 2, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Node 'c' (op: 'NoOp'): a control input is of another graph");
    braid_op_add_control(c, c, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "it cannot wait for itself");
    braid_op_add_control(c, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "a control input is nothing");
    assert_int_equal(braid_op_num_controls(c), 1);
    assert_int_equal(braid_op_set_controls(c, NULL, 0, st), BRAID_OK);
    assert_int_equal(braid_op_num_controls(c), 0);
    braid_graph_free(other);
    braid_graph_free(g);
}

static void the_device_of_a_node_can_be_changed(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op *op = test_no_op(g, "op");
    assert_int_equal(braid_op_set_device(op, "/job:ps/task:1/cpu:0", st), BRAID_OK);
    assert_string_equal(braid_op_requested_device(op), "/job:ps/task:1/device:CPU:0");
    braid_op_set_device(op, "nowhere", st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Node 'op' (op: 'NoOp'): Malformed device specification");
    assert_string_equal(braid_op_requested_device(op), "/job:ps/task:1/device:CPU:0");
    assert_int_equal(braid_op_set_device(op, NULL, st), BRAID_OK);
    assert_string_equal(braid_op_requested_device(op), "");
    braid_graph_free(g);
}

static void a_graph_is_usable_after_its_error_was_taken(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out x = test_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 3));
    assert_null(bd_b2(g, "MatMul", "wrong", x, scalar(g, "s", BRAID_FLOAT)).op);
    assert_int_equal(braid_graph_take_error(g, st), BRAID_INVALID_ARGUMENT);
    assert_error(st, BRAID_INVALID_ARGUMENT, "MatMul");
    assert_null(braid_graph_find(g, "wrong"));
    assert_int_equal(braid_graph_take_error(g, st), BRAID_OK);
    assert_non_null(bd_b1(g, "Neg", "neg", x).op);
    braid_set_shape(x, BRAID_SHAPE(2, 4));
    assert_int_equal(braid_graph_take_error(g, st), BRAID_INVALID_ARGUMENT);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Output 0 of 'x' has shape [2,3], not [2,4]");
    braid_set_shape(x, BRAID_SHAPE(2, -5));
    braid_graph_take_error(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "cannot be");
    assert_graph_ok(g);
    braid_graph_free(g);
}

static void a_unique_name_is_asked_for_or_taken(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    test_no_op(g, "a");
    braid_push_name_scope(g, "in");
    assert_string_equal(braid_graph_unique_name(g, "a", false), "in/a");
    assert_string_equal(braid_graph_unique_name(g, "a", true), "in/a");
    assert_string_equal(braid_graph_unique_name(g, "a", false), "in/a_1");
    braid_pop_name_scope(g);
    assert_string_equal(braid_graph_unique_name(g, "a", false), "a_1");
    assert_string_equal(braid_graph_unique_name(g, "a", true), "a_1");
    assert_string_equal(braid_graph_unique_name(g, "a", false), "a_2");
    assert_string_equal(test_no_op(g, "a_1/")->name, "a_1"); // the name that was taken
    assert_string_equal(test_no_op(g, "a")->name, "a_2");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_argument_has_a_range_of_inputs_and_outputs),
        cmocka_unit_test(consumers_are_listed_as_the_graph_grows),
        cmocka_unit_test(consumers_stay_right_while_edges_change),
        cmocka_unit_test(an_input_can_be_replaced),
        cmocka_unit_test(a_new_input_must_fit),
        cmocka_unit_test(control_inputs_can_be_added_and_replaced),
        cmocka_unit_test(the_device_of_a_node_can_be_changed),
        cmocka_unit_test(a_graph_is_usable_after_its_error_was_taken),
        cmocka_unit_test(a_unique_name_is_asked_for_or_taken),
    };
    return BD_RUN_TESTS(tests);
}
