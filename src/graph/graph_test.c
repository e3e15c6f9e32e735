// Adding nodes below the builder: checks against the definition; copying; edges; order; names.
#include "graph/graph.h"

#include "base/strbuf.h"
#include "graph/testing/test_ops.h"
#include <stdio.h>

#define TYPE(t)                                                                                              \
    {                                                                                                        \
        .kind = BD_ATTR_TYPE, .type = (t)                                                                    \
    }
#define INT(v)                                                                                               \
    {                                                                                                        \
        .kind = BD_ATTR_INT, .i = (v)                                                                        \
    }
#define STR(v)                                                                                               \
    {                                                                                                        \
        .kind = BD_ATTR_STRING, .s = {.data = (v), .len = sizeof(v) - 1 }                                    \
    }

// The inputs of the erroneous nodes: two floats, an int32 and a variable.
static braid_graph *sample(void)
{
    braid_graph *g = braid_graph_new();
    test_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 3));
    test_placeholder(g, "y", BRAID_FLOAT, BRAID_SHAPE(3, 4));
    test_placeholder(g, "i", BRAID_INT32, BRAID_SCALAR);
    test_variable(g, "v", BRAID_FLOAT, BRAID_SHAPE(2, 3));
    assert_graph_ok(g);
    return g;
}

static int split_names(const braid_graph *g, const char *names, braid_out *outs)
{
    int count = 0;
    const char *rest = names, *piece;
    size_t len;
    while (*names && bd_split_next(&rest, ' ', &piece, &len)) {
        char name[32] = {0};
        memcpy(name, piece, len);
        outs[count] = braid_graph_find_out(g, name);
        if (!outs[count].op) outs[count] = (braid_out){.op = braid_graph_find(g, "x"), .index = 7};
        count++;
    }
    return count;
}

static void invalid_nodes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *op, *inputs;
        bd_named_attr attrs[2];
        const char *words;
    } cases[] = {
        {"MatMul",
         "x",
         {{0}},
         "Node 'n' (op: 'MatMul'): NodeDef expected inputs 'float, float' do not match 1 inputs specified"},
        {"MatMul", "x y x", {{0}}, "expected inputs 'float, float' do not match 3 inputs"},
        {"MatMul",
         "x i",
         {{0}},
         "Input 1 of node n was passed int32 from i:0 incompatible with expected float."},
        {"MatMul",
         "x y",
         {{"T", false, TYPE(BRAID_INT64)}},
         "Value for attr 'T' of int64 is not in the list of allowed values: float, double, int32"},
        {"MatMul", "x y", {{"T", false, INT(1)}}, "attr 'T' is of kind int, expected type"},
        {"MatMul", "x y", {{"T", false, TYPE((braid_dtype)101)}}, "attr 'T' must not have type float_ref"},
        {"MatMul",
         "x y",
         {{"transpose_a", false, STR("yes")}},
         "attr 'transpose_a' is of kind string, expected bool"},
        {"MatMul", "x x:7", {{0}}, "Connecting to invalid output 7 of source node x which has 1 outputs"},
        {"Placeholder", "", {{0}}, "NodeDef missing attr 'dtype' from Op<name=Placeholder>"},
        {"AddN", "", {{0}}, "attr 'N' of 0 must be at least minimum 1"},
        {"AddN",
         "x y",
         {{"N", false, INT(3)}},
         "expected inputs 'float, float, float' do not match 2 inputs"},
        {"AddN", "x y", {{"N", false, INT(INT64_MAX)}}, "do not match 2 inputs"},
        {"Split", "x", {{"num_split", false, INT(1 << 30)}}, "outputs, more than"},
        {"Assign",
         "x y",
         {{0}},
         "Input 0 of node n was passed float from x:0 incompatible with expected float_ref."},
        {"Pool",
         "x",
         {{"padding", false, STR("FULL")}, {"ksize", false, {.kind = BD_ATTR_LIST}}},
         "Length for attr 'ksize' of 0 must be at least minimum 4"},
        {"QueueEnqueue", "", {{0}}, "missing attr 'Tcomponents'"},
        {"MatMul",
         "x v",
         {{"T", false, TYPE(BRAID_DOUBLE)}},
         "was passed float from x:0 incompatible with expected double"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        BD_STATUS(st);
        braid_graph *g = sample();
        braid_out inputs[4];
        int attr_count = 0;
        while (attr_count < 2 && cases[i].attrs[attr_count].name)
            attr_count++;
        bd_node_spec spec = {.name = "n",
                             .op_type = cases[i].op,
                             .inputs = inputs,
                             .input_count = split_names(g, cases[i].inputs, inputs),
                             .attrs = cases[i].attrs,
                             .attr_count = attr_count};
        int before = braid_graph_num_ops(g);
        braid_op *n = (braid_op *)&n;
        assert_int_equal(bd_graph_add(g, &spec, &n, st), BRAID_INVALID_ARGUMENT);
        assert_error(st, BRAID_INVALID_ARGUMENT, cases[i].words);
        assert_null(n);
        assert_int_equal(braid_graph_num_ops(g), before);
        assert_null(braid_graph_find(g, "n"));
        braid_graph_free(g);
    }
}

static braid_op *add(braid_graph *g, const char *op, const char *name, const char *inputs)
{
    BD_STATUS(st);
    braid_out outs[8];
    braid_op *n;
    bd_node_spec spec = {
        .name = name, .op_type = op, .inputs = outs, .input_count = split_names(g, inputs, outs)};
    bd_graph_add(g, &spec, &n, st);
    assert_ok(st);
    return n;
}

static void types_and_attrs_follow_from_inputs(void **state)
{
    (void)state;
    braid_graph *g = sample();
    braid_op *n = add(g, "MatMul", "product", "v y"); // a reference feeds a value input
    assert_int_equal(bd_node_attr_type(n, "T"), BRAID_FLOAT);
    assert_false(bd_node_attr_bool(n, "transpose_a"));
    assert_int_equal(n->input_types[0], BRAID_FLOAT);
    assert_int_equal(n->output_types[0], BRAID_FLOAT);
    assert_shape(n->output_shapes[0], "[2,4]");
    for (int i = 0; i < n->attr_count; i++)
        assert_int_equal(n->attrs[i].is_default, strcmp(n->attrs[i].name, "T") != 0);

    n = add(g, "AddN", "sum", "x v x");
    assert_int_equal(bd_node_attr_int(n, "N"), 3);
    n = add(g, "Assign", "assign", "v x");
    assert_int_equal(n->input_types[0], bd_dtype_ref(BRAID_FLOAT));
    assert_int_equal(n->output_types[0], bd_dtype_ref(BRAID_FLOAT));
    n = add(g, "Pack", "pack", "i i");
    assert_int_equal(bd_node_attr_type(n, "T"), BRAID_INT32);
    assert_shape(n->output_shapes[0], "[2]");
    braid_graph_free(g);
}

static void a_used_name_is_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = sample();
    bd_node_spec spec = {.name = "x", .op_type = "NoOp"};
    bd_graph_add(g, &spec, NULL, st);
    assert_error(st, BRAID_ALREADY_EXISTS,
                 "Node 'x' (op: 'NoOp'): the graph has a node of this name already");
    braid_graph_free(g);
}

static void unknown_op_is_kept(void **state)
{
    (void)state;
    braid_graph *g = sample();
    braid_op *odd = add(g, "NobodyKnows", "odd", "x v");
    assert_null(odd->def);
    assert_int_equal(odd->input_count, 2);
    assert_int_equal(odd->output_count, 0);
    BD_STATUS(st);
    // Outputs of an unknown op can be used; their type is unknown.
    braid_out from[] = {{odd, 3}, {braid_graph_find(g, "y"), 0}};
    braid_op *n;
    bd_node_spec spec = {.name = "user", .op_type = "MatMul", .inputs = from, .input_count = 2};
    bd_graph_add(g, &spec, &n, st);
    assert_ok(st);
    assert_int_equal(bd_node_attr_type(n, "T"), BRAID_FLOAT); // from y
    assert_shape(n->output_shapes[0], "[?,4]");
    braid_graph_free(g);
}

static void nodes_are_found_by_name(void **state)
{
    (void)state;
    braid_graph *g = sample();
    assert_non_null(braid_graph_find(g, "x"));
    assert_null(braid_graph_find(g, "z"));
    assert_int_equal(braid_graph_find_out(g, "x").index, 0);
    assert_non_null(braid_graph_find_out(g, "x:0").op);
    static const char *const absent[] = {"x:1", "x:-1", "x:", "x:a", "z:0", "", ":0", "^x"};
    for (size_t i = 0; i < BD_COUNTOF(absent); i++)
        assert_null(braid_graph_find_out(g, absent[i]).op);
    braid_graph_free(g);
}

static void unique_names_get_a_number(void **state)
{
    (void)state;
    braid_graph *g = sample();
    assert_string_equal(bd_graph_unique_name(g, "new"), "new");
    assert_string_equal(bd_graph_unique_name(g, "x"), "x_1");
    test_no_op(g, "x_2");
    assert_string_equal(bd_graph_unique_name(g, "x"), "x_3");
    braid_graph_free(g);
}

static void a_copied_node_equals_its_source(void **state)
{
    (void)state;
    braid_graph *g = sample(), *to = braid_graph_new();
    braid_tensor *t = braid_tensor_float(7);
    bd_b_const(g, "c", t);
    braid_tensor_free(t);
    braid_op *c = bd_graph_copy_node(to, braid_graph_find(g, "c"), NULL, 0, NULL, 0);
    braid_out x[] = {{c, 0}, {c, 0}};
    braid_op *sum = add(g, "AddN", "sum", "x x");
    sum->device = "/cpu:0";
    braid_op *copy = bd_graph_copy_node(to, sum, x, 2, &c, 1);
    braid_graph_free(g); // the copy does not depend on the source
    assert_float_equal(bd_tensor_f32(bd_node_attr_tensor(c, "value"))[0], 7, 0);
    assert_string_equal(copy->name, "sum");
    assert_string_equal(copy->device, "/cpu:0");
    assert_int_equal(bd_node_attr_int(copy, "N"), 2);
    assert_shape(copy->output_shapes[0], "[2,3]");
    assert_ptr_equal(copy->inputs[1].op, c);
    assert_ptr_equal(copy->controls[0], c);
    assert_ptr_equal(braid_graph_find(to, "sum"), copy);
    braid_graph_free(to);
}

static void repeated_control_inputs_count_once(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op *controls[60], *n;
    for (int i = 0; i < 20; i++)
        controls[i] = controls[20 + i] = controls[40 + i] = test_no_op(g, "c");
    bd_node_spec spec = {.name = "n", .op_type = "NoOp", .controls = controls, .control_count = 60};
    bd_graph_add(g, &spec, &n, st);
    assert_ok(st);
    assert_int_equal(n->control_count, 20);
    bd_node_add_control(n, controls[3]);
    assert_int_equal(n->control_count, 20);
    for (int i = 0; i < 30; i++)
        bd_node_add_control(n, test_no_op(g, "d"));
    assert_int_equal(n->control_count, 50);
    assert_ptr_equal(n->controls[19], controls[19]);
    assert_string_equal(n->controls[49]->name, "d_29");
    braid_graph_free(g);
}

static void consumers_are_listed_with_their_inputs(void **state)
{
    (void)state;
    braid_graph *g = sample();
    braid_op *x = braid_graph_find(g, "x"), *sum = add(g, "AddN", "sum", "x v x");
    bd_node_add_control(sum, braid_graph_find(g, "i"));
    bd_consumers c;
    bd_graph_consumers(g, &c);
    assert_int_equal(c.offsets[x->id + 1] - c.offsets[x->id], 2);
    assert_int_equal(c.items[c.offsets[x->id] + 1].input, 2);
    assert_ptr_equal(c.items[c.offsets[x->id]].node, sum);
    int i = braid_graph_find(g, "i")->id;
    assert_int_equal(c.offsets[i + 1] - c.offsets[i], 1);
    assert_int_equal(c.items[c.offsets[i]].input, -1);
    assert_int_equal(c.offsets[sum->id + 1], c.offsets[sum->id]);
    bd_consumers_fini(&c);
    braid_graph_free(g);
}

static void topological_order_respects_edges_and_loops(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = sample();
    braid_op *enter = add(g, "Identity", "enter", "x");
    braid_op *merge = add(g, "Merge", "merge", "enter enter");
    braid_op *next = add(g, "NextIteration", "next", "merge");
    bd_node_set_input(merge, 1, (braid_out){next, 0}); // a loop is no cycle
    bd_op_list order = {0};
    bd_graph_topological(g, &order, st);
    assert_ok(st);
    assert_int_equal(order.len, g->nodes.len);
    int place[16];
    for (size_t i = 0; i < order.len; i++)
        place[order.items[i]->id] = (int)i;
    assert_true(place[enter->id] < place[merge->id] && place[merge->id] < place[next->id]);

    braid_op *a = add(g, "Identity", "a", "x"), *b = add(g, "Identity", "b", "a");
    add(g, "Identity", "after", "b");
    bd_node_set_input(a, 0, (braid_out){b, 0});
    bd_graph_topological(g, &order, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "contains a cycle with 2 nodes, including: a, b");
    bd_array_free(&order);
    braid_graph_free(g);
}

static void a_rewound_graph_is_what_it_was(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    add(g, "NoOp", "old", "");
    const size_t nodes = g->nodes.len, tensors = g->tensors.len, bytes = bd_graph_bytes(g);
    const bd_graph_mark mark = bd_graph_get_mark(g);
    for (int round = 0; round < 2; round++) {
        char name[16];
        for (int i = 0; i < 1000; i++) {
            snprintf(name, sizeof name, "new_%d", i);
            add(g, "NoOp", name, "");
        }
        assert_true(bd_graph_bytes(g) > bytes + 1000 * sizeof(braid_op));
        bd_graph_rewind(g, &mark);
        assert_int_equal(g->nodes.len, nodes);
        assert_int_equal(g->tensors.len, tensors);
        assert_null(braid_graph_find(g, "new_0"));
        assert_non_null(braid_graph_find(g, "old"));
        assert_true(bd_graph_bytes(g) < bytes + 1000 * 100); // tables stay as large as they were
    }
    assert_ok(st);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_nodes_are_refused),
        cmocka_unit_test(types_and_attrs_follow_from_inputs),
        cmocka_unit_test(a_used_name_is_refused),
        cmocka_unit_test(unknown_op_is_kept),
        cmocka_unit_test(nodes_are_found_by_name),
        cmocka_unit_test(unique_names_get_a_number),
        cmocka_unit_test(a_copied_node_equals_its_source),
        cmocka_unit_test(repeated_control_inputs_count_once),
        cmocka_unit_test(consumers_are_listed_with_their_inputs),
        cmocka_unit_test(topological_order_respects_edges_and_loops),
        cmocka_unit_test(a_rewound_graph_is_what_it_was),
    };
    return BD_RUN_TESTS(tests);
}
