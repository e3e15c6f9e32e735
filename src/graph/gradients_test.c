// The gradient walk: which nodes it builds, in which order, under which names.
#include "graph/testing/test_ops.h"

#include "base/strbuf.h"

// The nodes from `from` on, a line each: "name = Op(inputs, ^controls) @class device".
static char *nodes_from(const braid_graph *g, int from)
{
    bd_strbuf text = {0};
    for (int i = from; i < braid_graph_num_ops(g); i++) {
        const braid_op *n = braid_graph_op(g, i);
        const bd_attr *class = bd_node_attr(n, "_class");
        bd_strbuf_appendf(&text, "%s = %s(", n->name, n->op_type);
        for (int k = 0; k < n->input_count; k++) {
            bd_strbuf_appendf(&text, k ? ", %s" : "%s", n->inputs[k].op->name);
            if (n->inputs[k].index) bd_strbuf_appendf(&text, ":%d", n->inputs[k].index);
        }
        for (int k = 0; k < n->control_count; k++)
            bd_strbuf_appendf(&text, k || n->input_count ? ", ^%s" : "^%s", n->controls[k]->name);
        bd_strbuf_append(&text, ")");
        for (int k = 0; class && k < class->list.count; k++)
            bd_strbuf_appendf(&text, " %s", class->list.s[k].data);
        if (*n->device) bd_strbuf_appendf(&text, " %s", n->device);
        bd_strbuf_append(&text, "\n");
    }
    return bd_strbuf_take(&text);
}

static void assert_nodes(const braid_graph *g, int from, const char *want)
{
    char *got = nodes_from(g, from);
    assert_string_equal(got, want);
    bd_free(got);
}

static braid_out ph(braid_graph *g, const char *name)
{
    return test_placeholder(g, name, BRAID_FLOAT, BRAID_SCALAR);
}

static void a_chain_has_one_gradient_node_for_each_node(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = ph(g, "x"), y = bd_b1(g, "Neg", "a/y", x), grad;
    int from = braid_graph_num_ops(g);
    braid_gradients(g, &y, 1, &x, 1, NULL, &grad);
    assert_graph_ok(g);
    assert_nodes(g, from,
                 "gradients/Shape = Const()\n"
                 "gradients/grad_ys_0 = Const()\n"
                 "gradients/Fill = Fill(gradients/Shape, gradients/grad_ys_0)\n"
                 "gradients/a/y_grad/Neg = Neg(gradients/Fill)\n");
    assert_string_equal(grad.op->name, "gradients/a/y_grad/Neg");
    // A second time: another scope.
    from = braid_graph_num_ops(g);
    braid_out start = ph(g, "start");
    braid_gradients(g, &y, 1, &x, 1, &start, &grad);
    assert_nodes(g, from, "start = Placeholder()\ngradients_1/a/y_grad/Neg = Neg(start)\n");
    braid_graph_free(g);
}

static void a_y_may_depend_on_another_y(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = ph(g, "x"), other = bd_b1(g, "Neg", "other", ph(g, "o")), grad;
    braid_out first = bd_b1(g, "Neg", "first", x), between = bd_b1(g, "Neg", "between", first);
    braid_out second = bd_b1(g, "Neg", "second", between);
    braid_out starts[] = {ph(g, "s0"), ph(g, "s1"), ph(g, "s2")};
    int from = braid_graph_num_ops(g);
    braid_gradients(g, (braid_out[]){second, first, other}, 3, &x, 1, starts, &grad);
    assert_graph_ok(g);
    assert_nodes(g, from,
                 "gradients/second_grad/Neg = Neg(s0)\n"
                 "gradients/between_grad/Neg = Neg(gradients/second_grad/Neg)\n"
                 "gradients/AddN = AddN(s1, gradients/between_grad/Neg) loc:@s1\n"
                 "gradients/first_grad/Neg = Neg(gradients/AddN)\n");
    assert_string_equal(grad.op->name, "gradients/first_grad/Neg");
    braid_graph_free(g);
}

static void the_gradient_of_a_variable_passes_its_read(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = test_variable(g, "v", BRAID_FLOAT, BRAID_SCALAR), read = bd_b1(g, "Identity", "v/read", v);
    braid_out y = bd_b1(g, "Neg", "y", read), grad;
    braid_gradients(g, &y, 1, &v, 1, NULL, &grad);
    assert_graph_ok(g);
    assert_string_equal(grad.op->name, "gradients/y_grad/Neg");
    braid_graph_free(g);
}

static void gradients_of_two_uses_are_summed(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_device(g, "/job:w");
    braid_out x = ph(g, "x"), start = ph(g, "s");
    braid_out y = bd_b2(g, "Mul", "y", x, x), grad;
    int from = braid_graph_num_ops(g);
    braid_gradients(g, &y, 1, &x, 1, &start, &grad);
    assert_graph_ok(g);
    assert_nodes(
        g, from,
        "gradients/y_grad/mul = Mul(s, x) /job:w\n"
        "gradients/y_grad/mul_1 = Mul(x, s) /job:w\n"
        "gradients/y_grad/tuple/group_deps = NoOp(^gradients/y_grad/mul, ^gradients/y_grad/mul_1) /job:w\n"
        "gradients/y_grad/tuple/control_dependency = Identity(gradients/y_grad/mul, "
        "^gradients/y_grad/tuple/group_deps) loc:@gradients/y_grad/mul /job:w\n"
        "gradients/y_grad/tuple/control_dependency_1 = Identity(gradients/y_grad/mul_1, "
        "^gradients/y_grad/tuple/group_deps) loc:@gradients/y_grad/mul_1 /job:w\n"
        "gradients/AddN = AddN(gradients/y_grad/tuple/control_dependency, "
        "gradients/y_grad/tuple/control_dependency_1) loc:@gradients/y_grad/mul /job:w\n");
    braid_graph_free(g);
}

static void options_choose_names_devices_and_aggregation(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = ph(g, "x"), z = ph(g, "z"), start = ph(g, "s");
    braid_push_device(g, "/job:w");
    braid_out y = bd_b2(g, "Mul", "y", x, z), grads[2];
    braid_pop_device(g);
    int from = braid_graph_num_ops(g);
    braid_gradients_with(g, &y, 1, (braid_out[]){x, z}, 2,
                         &(braid_gradients_options){.grad_ys = &start, .colocate = true, .name = "d"}, grads);
    assert_graph_ok(g);
    assert_nodes(g, from,
                 "d/y_grad/mul = Mul(s, z) loc:@y /job:w\n"
                 "d/y_grad/mul_1 = Mul(x, s) loc:@y /job:w\n");
    assert_string_equal(grads[1].op->name, "d/y_grad/mul_1");
    braid_graph_free(g);
}

// Gradients from several devices are summed on each device first.
static void gradients_are_summed_on_each_device_first(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = ph(g, "x"), ys[4], grad, starts[4];
    for (int i = 0; i < 4; i++)
        starts[i] = ph(g, "s");
    for (int i = 0; i < 4; i++)
        ys[i] = bd_b1(g, "Identity", "y", x);
    starts[0].op->device = starts[2].op->device = "/job:b";
    starts[1].op->device = "/job:a";
    starts[3].op->device = "/job:a";
    int from = braid_graph_num_ops(g);
    braid_gradients(g, ys, 4, &x, 1, starts, &grad);
    assert_graph_ok(g);
    assert_nodes(g, from,
                 "gradients/AddN = AddN(s_1, s_3) loc:@s_1 /job:a\n"
                 "gradients/AddN_1 = AddN(s, s_2) loc:@s /job:b\n"
                 "gradients/AddN_2 = AddN(gradients/AddN, gradients/AddN_1)\n");
    assert_string_equal(grad.op->name, "gradients/AddN_2");
    braid_graph_free(g);
}

static void assert_sum_of(int paths, braid_shape shape, braid_aggregation_method method, const char *sum)
{
    braid_graph *g = braid_graph_new();
    braid_out x = test_placeholder(g, "x", BRAID_FLOAT, shape), ys[3], grad, starts[3];
    for (int i = 0; i < paths; i++)
        starts[i] = test_placeholder(g, "s", BRAID_FLOAT, shape);
    braid_out top = bd_b1(g, "Identity", "top", x);
    for (int i = 0; i < paths; i++)
        ys[i] = bd_b1(g, "Identity", "y", top);
    int from = braid_graph_num_ops(g);
    const braid_gradients_options options = {.grad_ys = starts, .aggregation = method};
    braid_gradients_with(g, ys, paths, &x, 1, &options, &grad);
    assert_graph_ok(g);
    assert_nodes(g, from, sum);
    braid_graph_free(g);
}

static void the_aggregation_method_says_how_gradients_are_summed(void **state)
{
    (void)state;
    const char *tree = "gradients/top_gradient_sum/AddN = AddN(s, s_1)\n"
                       "gradients/top_gradient_sum/AddN_1 = AddN(gradients/top_gradient_sum/AddN, s_2)\n";
    const char *one = "gradients/AccumulateNV2 = AccumulateNV2(s, s_1, s_2)\n";
    const char *of_two = "gradients/top_gradient_sum/AddN = AddN(s, s_1)\n";
    assert_sum_of(3, BRAID_SHAPE(2), BRAID_EXPERIMENTAL_TREE, tree);
    assert_sum_of(3, BRAID_SHAPE(2), BRAID_EXPERIMENTAL_ACCUMULATE_N, one);
    assert_sum_of(3, BRAID_SHAPE(-1), BRAID_EXPERIMENTAL_ACCUMULATE_N, tree);
    assert_sum_of(2, BRAID_SHAPE(2), BRAID_EXPERIMENTAL_ACCUMULATE_N, of_two);
}

static void unused_outputs_get_zeros(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = ph(g, "x"), start = ph(g, "s"), grad;
    braid_op_desc *d = braid_op_begin(g, "Split", "split");
    braid_op_input(d, x);
    braid_op_attr_int(d, "num_split", 3);
    braid_out y = braid_output(braid_op_end(d), 1);
    int from = braid_graph_num_ops(g);
    braid_gradients(g, &y, 1, &x, 1, &start, &grad);
    assert_graph_ok(g);
    assert_nodes(g, from,
                 "gradients/zeros_like = ZerosLike(split)\n"
                 "gradients/zeros_like_1 = ZerosLike(split:2)\n"
                 "gradients/split_grad/joined = AddN(gradients/zeros_like, s, gradients/zeros_like_1)\n");
    braid_graph_free(g);
}

static void without_a_path_the_gradient_is_none(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = ph(g, "x"), z = ph(g, "z"), start = ph(g, "s");
    braid_out y = bd_b1(g, "Neg", "y", x), xs[] = {z, x, y}, grads[3];
    // Through Shape, which has no derivative.
    braid_out dims = bd_b1(g, "Shape", "dims", x), filled = bd_b2(g, "Fill", "filled", dims, z);
    braid_gradients(g, &y, 1, xs, 3, &start, grads);
    assert_graph_ok(g);
    assert_null(grads[0].op);
    assert_non_null(grads[1].op);
    assert_ptr_equal(grads[2].op, start.op); // of y by itself
    braid_gradients(g, &dims, 1, &x, 1, NULL, grads);
    assert_graph_ok(g);
    assert_null(grads[0].op);
    braid_gradients(g, &filled, 1, &z, 1, NULL, grads);
    assert_graph_error(g, BRAID_NOT_FOUND, "No gradient defined for operation 'filled' (op type: Fill)");
    assert_null(grads[0].op);
    braid_graph_free(g);
}

// x is used early and late: it is processed when both uses have been.
static void a_node_waits_for_the_gradients_of_all_uses(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = ph(g, "x"), start = ph(g, "s"), a = bd_b1(g, "Neg", "a", x), grad;
    braid_out y = bd_b2(g, "Mul", "y", a, bd_b1(g, "Neg", "b", bd_b1(g, "Identity", "c", a)));
    braid_gradients(g, &y, 1, &x, 1, &start, &grad);
    assert_graph_ok(g);
    assert_string_equal(grad.op->name, "gradients/a_grad/Neg");
    assert_string_equal(grad.op->inputs[0].op->name, "gradients/AddN");
    assert_int_equal(grad.op->inputs[0].op->input_count, 2);
    braid_graph_free(g);
}

static void wrong_arguments_are_errors(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new(), *other = braid_graph_new();
    braid_out x = ph(g, "x"), foreign = ph(other, "x"),
              i = test_placeholder(g, "i", BRAID_INT32, BRAID_SCALAR), grad;
    braid_gradients(g, &x, 1, &foreign, 1, NULL, &grad);
    assert_graph_error(g, BRAID_INVALID_ARGUMENT, "Gradients: x 0 is no output of this graph");
    braid_graph_free(g);
    g = braid_graph_new();
    x = ph(g, "x");
    i = test_placeholder(g, "i", BRAID_INT32, BRAID_SCALAR);
    braid_gradients(g, &x, 1, &x, 1, &i, &grad);
    assert_graph_error(g, BRAID_INVALID_ARGUMENT,
                       "Gradient 0, of type int32, does not have the type of 'x', float");
    braid_graph_free(g);
    g = braid_graph_new();
    x = test_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2));
    braid_out y = bd_b1(g, "Neg", "y", x), start = test_placeholder(g, "s", BRAID_FLOAT, BRAID_SHAPE(3));
    braid_gradients(g, &y, 1, &x, 1, &start, &grad);
    assert_graph_error(g, BRAID_INVALID_ARGUMENT,
                       "Incompatible shapes between op input and calculated input gradient");
    braid_graph_free(g);
    braid_graph_free(other);
}

// ---- One op alone ----

static void one_op_gives_the_gradients_of_its_inputs(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = ph(g, "x"), y = ph(g, "y"), product = bd_b2(g, "Mul", "product", x, y);
    const braid_gradient dy = {.values = ph(g, "dy")};
    braid_gradient grads[2];
    const int from = braid_graph_num_ops(g);
    braid_push_name_scope(g, "mine"); // no scope but those of the graph
    braid_op_gradient(product.op, &dy, 1, grads);
    braid_pop_name_scope(g);
    assert_graph_ok(g);
    assert_nodes(g, from, "mine/mul = Mul(dy, y)\nmine/mul_1 = Mul(x, dy)\n");
    assert_string_equal(grads[0].values.op->name, "mine/mul");
    assert_string_equal(grads[1].values.op->name, "mine/mul_1");
    assert_null(grads[0].indices.op);
    braid_graph_free(g);
}

static void missing_gradients_of_outputs_are_zeros(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_op_desc *d = braid_op_begin(g, "Split", "split");
    braid_op_input(d, ph(g, "x"));
    braid_op_attr_int(d, "num_split", 2);
    braid_op *split = braid_op_end(d);
    const braid_gradient dy[2] = {{.values = ph(g, "dy")}};
    braid_gradient grad;
    const int from = braid_graph_num_ops(g);
    braid_op_gradient(split, dy, 2, &grad);
    assert_graph_ok(g);
    assert_nodes(g, from, "zeros_like = ZerosLike(split:1)\njoined = AddN(dy, zeros_like)\n");
    braid_graph_free(g);
}

static void an_op_says_how_its_gradients_are_made(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out x = ph(g, "x"), shape = bd_b1(g, "Shape", "shape", x), sum = bd_b2(g, "Add", "sum", x, x);
    braid_op_desc *d = braid_op_begin(g, "Enter", "enter");
    braid_op_input(d, x);
    braid_op_attr_string(d, "frame_name", "f");
    braid_op *enter = braid_op_end(d);
    const braid_gradient none = {0}, dy = {.values = x};
    braid_gradient grads[2] = {dy, dy};
    assert_int_equal(braid_op_gradient_kind(bd_b1(g, "Neg", "neg", x).op), BRAID_GRADIENT_FUNCTION);
    assert_int_equal(braid_op_gradient_kind(shape.op), BRAID_GRADIENT_NOT_DIFFERENTIABLE);
    assert_int_equal(braid_op_gradient_kind(sum.op), BRAID_GRADIENT_NONE);
    assert_int_equal(braid_op_gradient_kind(enter), BRAID_GRADIENT_WALK);
    assert_int_equal(braid_op_gradient_kind(NULL), BRAID_GRADIENT_NONE);
    braid_op_gradient(shape.op, &none, 1, grads);
    assert_graph_ok(g); // none by definition is no error
    assert_null(grads[0].values.op);
    braid_op_gradient(sum.op, &dy, 1, grads);
    braid_graph_take_error(g, st);
    assert_error(st, BRAID_NOT_FOUND, "No gradient defined for operation 'sum' (op type: Add)");
    braid_op_gradient(enter, &dy, 1, grads);
    braid_graph_take_error(g, st);
    assert_error(st, BRAID_NOT_FOUND, "No gradient defined for operation 'enter' (op type: Enter)");
    braid_graph_free(g);
}

static void gradients_given_to_one_op_must_fit(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new(), *other = braid_graph_new();
    braid_op *neg = bd_b1(g, "Neg", "neg", ph(g, "x")).op;
    const struct {
        braid_gradient given;
        int count;
        const char *words;
    } rows[] = {
        {{.values = ph(g, "dy")}, 2, "Num gradients 2 generated for op 'neg' do not match 1 outputs"},
        {{.values = ph(other, "dy")}, 1, "Gradient 0 of op 'neg' is no output of its graph"},
        {{.values = {.op = neg, .index = 5}}, 1, "Gradient 0 of op 'neg' is no output of its graph"},
        {{.values = test_placeholder(g, "i", BRAID_INT32, BRAID_SCALAR)},
         1,
         "Gradient 0 of op 'neg' has type int32, but the output has type float"},
    };
    const int before = braid_graph_num_ops(g);
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        braid_gradient grad = {.values = braid_output(neg, 0)};
        braid_op_gradient(neg, &rows[i].given, rows[i].count, &grad);
        assert_int_equal(braid_graph_take_error(g, st), BRAID_INVALID_ARGUMENT);
        assert_error(st, BRAID_INVALID_ARGUMENT, rows[i].words);
        assert_null(grad.values.op);
        assert_int_equal(braid_graph_num_ops(g), before);
    }
    braid_graph_free(other);
    braid_graph_free(g);
}

// ---- Gradients of the program ----

static bool own_gradient(void *arg, braid_op *op, const braid_gradient *output_grads,
                         braid_gradient *input_grads)
{
    if (strcmp(op->op_type, "Add") != 0) return false;
    ++*(int *)arg;
    input_grads[0].values = bd_b1(op->graph, "Identity", "own", output_grads[0].values);
    input_grads[1].values = output_grads[0].values;
    return true;
}

static void the_program_may_have_gradients_of_its_own(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = ph(g, "x"), neg = bd_b1(g, "Neg", "neg", x), y = bd_b2(g, "Add", "y", neg, x);
    const braid_out dy = ph(g, "dy");
    const int from = braid_graph_num_ops(g);
    int calls = 0;
    braid_out grad;
    const braid_gradients_options options = {.grad_ys = &dy, .gradient = own_gradient, .arg = &calls};
    braid_gradients_with(g, &y, 1, &neg, 1, &options, &grad);
    assert_graph_ok(g); // Add has no gradient
    assert_int_equal(calls, 1);
    assert_nodes(g, from, "gradients/y_grad/own = Identity(dy)\n");
    assert_string_equal(grad.op->name, "gradients/y_grad/own");
    braid_gradients_with(g, &y, 1, &x, 1, &options, &grad);
    assert_graph_ok(g);
    assert_non_null(braid_graph_find(g, "gradients_1/neg_grad/Neg")); // others have theirs, in one scope
    braid_graph_free(g);
}

static void an_initial_gradient_may_be_of_rows(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = ph(g, "x"), y = bd_b1(g, "Identity", "y", x), z = bd_b1(g, "Neg", "z", x);
    const braid_gradient rows = {.values = ph(g, "rows"), .indices = ph(g, "indices")};
    const braid_gradients_options options = {.sparse_grad_ys = &rows};
    braid_gradient grad;
    braid_gradients_sparse(g, &y, 1, &x, 1, &options, &grad);
    assert_graph_ok(g);
    assert_non_null(grad.indices.op);
    assert_null(grad.dense_shape.op);
    braid_gradients_sparse(g, &z, 1, &x, 1, &options, &grad); // Neg needs the whole
    assert_graph_error(g, BRAID_INVALID_ARGUMENT, "no dense_shape");
    braid_graph_free(g);
}

static void nothing_goes_through_a_stop(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = ph(g, "x"), neg = bd_b1(g, "Neg", "neg", x), y = bd_b2(g, "Mul", "y", neg, x);
    const braid_gradients_options options = {.stops = &neg, .stop_count = 1};
    braid_out grad;
    braid_gradients_with(g, &y, 1, &x, 1, &options, &grad);
    assert_graph_ok(g);
    assert_string_equal(grad.op->name, "gradients/y_grad/mul_1");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_has_one_gradient_node_for_each_node),
        cmocka_unit_test(a_y_may_depend_on_another_y),
        cmocka_unit_test(the_gradient_of_a_variable_passes_its_read),
        cmocka_unit_test(gradients_of_two_uses_are_summed),
        cmocka_unit_test(options_choose_names_devices_and_aggregation),
        cmocka_unit_test(gradients_are_summed_on_each_device_first),
        cmocka_unit_test(the_aggregation_method_says_how_gradients_are_summed),
        cmocka_unit_test(unused_outputs_get_zeros),
        cmocka_unit_test(without_a_path_the_gradient_is_none),
        cmocka_unit_test(a_node_waits_for_the_gradients_of_all_uses),
        cmocka_unit_test(wrong_arguments_are_errors),
        cmocka_unit_test(one_op_gives_the_gradients_of_its_inputs),
        cmocka_unit_test(missing_gradients_of_outputs_are_zeros),
        cmocka_unit_test(an_op_says_how_its_gradients_are_made),
        cmocka_unit_test(gradients_given_to_one_op_must_fit),
        cmocka_unit_test(the_program_may_have_gradients_of_its_own),
        cmocka_unit_test(an_initial_gradient_may_be_of_rows),
        cmocka_unit_test(nothing_goes_through_a_stop),
    };
    return BD_RUN_TESTS(tests);
}
