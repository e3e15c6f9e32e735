// GraphDef import with options: names, inputs from the graph, devices, control dependencies, what is
// returned.
#include <braid/graph_import.h>

#include "graph/testing/test_ops.h"
#include <stdlib.h>

typedef struct message {
    void *data;
    size_t len;
} message;

// x = Placeholder; y = Neg(x); z = Mul(y, x), with y and on its device; s = Split(y)
static message sample(void)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out x = test_placeholder(g, "x", BRAID_FLOAT, BRAID_SCALAR), y = bd_b1(g, "Neg", "y", x);
    braid_op_desc *d = braid_op_begin(g, "Mul", "z");
    braid_op_input(d, y);
    braid_op_input(d, x);
    braid_op_control(d, y.op);
    braid_op_colocate(d, y.op);
    braid_op_device(d, "/job:a");
    braid_op_end(d);
    d = braid_op_begin(g, "Split", "s");
    braid_op_input(d, y);
    braid_op_attr_int(d, "num_split", 2);
    braid_op_end(d);
    assert_graph_ok(g);
    message m;
    m.data = braid_graph_export(g, &m.len, st);
    assert_ok(st);
    braid_graph_free(g);
    return m;
}

static braid_code import(braid_graph *g, const braid_import_options *options,
                         const braid_import_results *results, braid_status *st)
{
    message m = sample();
    const braid_code code = braid_graph_import_with(g, m.data, m.len, options, results, st);
    free(m.data);
    return code;
}

static braid_op *node(const braid_graph *g, const char *name)
{
    braid_op *op = braid_graph_find(g, name);
    if (!op) fail_msg("there is no node '%s'", name);
    return op;
}

static void a_prefix_is_before_all_names(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    import(g, &(braid_import_options){.prefix = "in/it"}, NULL, st);
    assert_ok(st);
    const braid_op *z = node(g, "in/it/z");
    assert_string_equal(z->inputs[0].op->name, "in/it/y");
    assert_string_equal(z->controls[0]->name, "in/it/y");
    assert_string_equal(bd_node_attr(z, "_class")->list.s[0].data, "loc:@in/it/y");
    import(g, &(braid_import_options){.prefix = "it/"}, NULL, st);
    assert_ok(st);
    node(g, "it/x");
    import(g, &(braid_import_options){.prefix = "it"}, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Node name 'it/x' already exists in the Graph");
    import(g, &(braid_import_options){.prefix = "it", .uniquify_prefix = true}, NULL, st);
    assert_ok(st);
    node(g, "it_1/x");
    import(g, &(braid_import_options){.prefix = "it", .uniquify_prefix = true}, NULL, st);
    assert_ok(st);
    node(g, "it_2/x");
    braid_graph_free(g);
}

static void names_that_are_there_get_a_number(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    test_no_op(g, "y");
    test_no_op(g, "y_1/in"); // a scope is no free name either
    import(g, &(braid_import_options){.uniquify_names = true}, NULL, st);
    assert_ok(st);
    const braid_op *z = node(g, "z");
    assert_string_equal(z->inputs[0].op->name, "y_2");
    assert_string_equal(z->inputs[1].op->name, "x");
    assert_string_equal(bd_node_attr(z, "_class")->list.s[0].data, "loc:@y_2");
    import(g, NULL, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Node name 'x' already exists in the Graph");
    braid_graph_free(g);
}

static void inputs_may_come_from_the_graph(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out mine = test_placeholder(g, "mine", BRAID_FLOAT, BRAID_SCALAR);
    braid_op *first = test_no_op(g, "first");
    const braid_import_mapping map[] = {
        {"x", mine}, {"^y", {.op = first}}, {"y:1", mine}, {"gone", mine}, {"s:1", mine}};
    bool unknown[5];
    import(g, &(braid_import_options){.prefix = "p", .input_map = map, .input_map_count = 5},
           &(braid_import_results){.unknown = unknown}, st);
    assert_ok(st);
    assert_ptr_equal(node(g, "p/y")->inputs[0].op, mine.op);
    const braid_op *z = node(g, "p/z");
    assert_string_equal(z->inputs[0].op->name, "p/y"); // output 0 is not mapped
    assert_ptr_equal(z->inputs[1].op, mine.op);
    assert_ptr_equal(z->controls[0], first);
    assert_false(unknown[0]);
    assert_false(unknown[1]);
    assert_true(unknown[2]); // y has no output 1
    assert_true(unknown[3]);
    assert_false(unknown[4]); // not used, but there
    braid_graph_free(g);
}

static void nodes_that_take_nothing_new_wait_for_the_control_dependencies(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out mine = test_placeholder(g, "mine", BRAID_FLOAT, BRAID_SCALAR);
    braid_op *first = test_no_op(g, "first");
    const braid_import_mapping map = {"x:0", mine};
    import(g,
           &(braid_import_options){.input_map = &map,
                                   .input_map_count = 1,
                                   .controls = &first,
                                   .control_count = 1,
                                   .default_device = "/job:b"},
           NULL, st);
    assert_ok(st);
    assert_int_equal(node(g, "x")->control_count, 1);
    assert_int_equal(node(g, "y")->control_count, 1); // its input is of the graph
    assert_ptr_equal(node(g, "y")->controls[0], first);
    assert_int_equal(node(g, "s")->control_count, 0);
    assert_string_equal(node(g, "x")->device, "/job:b"); // asked for none
    assert_string_equal(node(g, "z")->device, "/job:a");
    braid_graph_free(g);
}

static void outputs_and_nodes_are_returned(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out mine = test_placeholder(g, "mine", BRAID_FLOAT, BRAID_SCALAR);
    const braid_import_mapping map = {"x", mine};
    const char *const outputs[] = {"s:1", "z", "x"}, *const ops[] = {"x", "s"};
    braid_out got[3];
    braid_op *got_ops[2];
    import(g,
           &(braid_import_options){.prefix = "p",
                                   .input_map = &map,
                                   .input_map_count = 1,
                                   .return_outputs = outputs,
                                   .return_output_count = 3,
                                   .return_ops = ops,
                                   .return_op_count = 2},
           &(braid_import_results){.outputs = got, .ops = got_ops}, st);
    assert_ok(st);
    assert_ptr_equal(got[0].op, node(g, "p/s"));
    assert_int_equal(got[0].index, 1);
    assert_ptr_equal(got[1].op, node(g, "p/z"));
    assert_ptr_equal(got[2].op, mine.op); // mapped
    assert_ptr_equal(got_ops[0], node(g, "p/x"));
    assert_ptr_equal(got_ops[1], node(g, "p/s"));
    braid_graph_free(g);
}

static void wrong_options_add_nothing(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new(), *other = braid_graph_new();
    const braid_out mine = test_placeholder(g, "mine", BRAID_INT32, BRAID_SCALAR);
    braid_op *foreign = test_no_op(other, "first");
    const braid_import_mapping of_other = {"x", {.op = foreign}}, to_nothing = {"x", {0}},
                               no_output = {"x", {.op = mine.op, .index = 1}}, no_name = {"x:y", mine},
                               wrong_type = {"x", mine}, twice[] = {{"x", mine}, {"x:0", mine}};
    const char *const no_node[] = {"q"}, *const none[] = {"s:2"}, *const control[] = {"^s"};
#define MAP(M, COUNT) .input_map = (M), .input_map_count = (COUNT)
#define OUTPUT(NAMES) .return_outputs = (NAMES), .return_output_count = 1
    const struct {
        braid_import_options options;
        const char *words;
    } rows[] = {
        {{MAP(&of_other, 1)}, "'x' is mapped to an output of another graph"},
        {{MAP(&to_nothing, 1)}, "'x' is mapped to nothing"},
        {{MAP(&no_output, 1)}, "'x' is mapped to output 1 of 'mine', which has 1 outputs"},
        {{MAP(&no_name, 1)}, "'x:y' is no name of an input"},
        {{MAP(twice, 2)}, "'x:0' is mapped twice"},
        {{MAP(&wrong_type, 1)}, "Input 0 of node y"},
        {{MAP(NULL, 1)}, "a list is missing"},
        {{.controls = &foreign, .control_count = 1}, "control dependency 0 is of another graph"},
        {{.default_device = "nowhere"}, "Malformed device specification"},
        {{.prefix = "a b"}, "Node 'a b/x': Node name contains invalid characters"},
        {{OUTPUT(no_node)}, "Requested return tensor 'q' not found in graph def"},
        {{OUTPUT(none)}, "Invalid return output 2 of node 's', which has 2 output(s)"},
        {{OUTPUT(control)}, "Requested return tensor '^s' is no name of an output"},
        {{.return_ops = no_node, .return_op_count = 1}, "Requested return node 'q' not found in graph def"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        import(g, &rows[i].options, NULL, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, rows[i].words);
        assert_int_equal(braid_graph_num_ops(g), 1);
    }
    braid_graph_import_with(g, NULL, 1, NULL, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "There is no GraphDef");
    braid_graph_free(other);
    braid_graph_free(g);
}

// Without a name in the message or the map, a node of the graph is no input.
static void inputs_are_not_looked_for_in_the_graph(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new(), *from = braid_graph_new();
    const braid_out x = test_placeholder(from, "x", BRAID_FLOAT, BRAID_SCALAR);
    bd_b1(from, "Neg", "y", x);
    test_placeholder(g, "x", BRAID_FLOAT, BRAID_SCALAR);
    size_t len;
    void *data = braid_graph_export_from(from, 1, false, &len, st);
    braid_graph_import_with(g, data, len, NULL, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Node 'y': Unknown input node 'x'");
    assert_int_equal(braid_graph_num_ops(g), 1);
    free(data);
    braid_graph_free(from);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prefix_is_before_all_names),
        cmocka_unit_test(names_that_are_there_get_a_number),
        cmocka_unit_test(inputs_may_come_from_the_graph),
        cmocka_unit_test(nodes_that_take_nothing_new_wait_for_the_control_dependencies),
        cmocka_unit_test(outputs_and_nodes_are_returned),
        cmocka_unit_test(wrong_options_add_nothing),
        cmocka_unit_test(inputs_are_not_looked_for_in_the_graph),
    };
    return BD_RUN_TESTS(tests);
}
