// Building: names, scopes, devices, control dependencies, colocation, seeds, collections, errors that stick.
#include "graph/builder.h"

#include "graph/testing/test_ops.h"

static const char *no_op_name(braid_graph *g, const char *name)
{
    return braid_op_name(test_no_op(g, name));
}

static void nodes_get_unique_names(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    assert_string_equal(no_op_name(g, NULL), "NoOp");
    assert_string_equal(no_op_name(g, ""), "NoOp_1");
    assert_string_equal(no_op_name(g, "x"), "x");
    assert_string_equal(no_op_name(g, "X"), "X_1"); // case does not count
    assert_string_equal(no_op_name(g, "x"), "x_2");
    assert_string_equal(no_op_name(g, "x"), "x_3");
    assert_string_equal(no_op_name(g, "x_1"), "x_1_1"); // taken by a made-up name
    assert_string_equal(no_op_name(g, "y_1"), "y_1");
    assert_string_equal(no_op_name(g, "y"), "y");
    assert_string_equal(no_op_name(g, "y"), "y_2"); // y_1 is taken
    assert_string_equal(no_op_name(g, "exact/"), "exact");
    assert_string_equal(no_op_name(g, "exact"), "exact_1");
    assert_graph_ok(g);
    braid_graph_free(g);
}

static void name_scopes_prefix_names(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const char *outer = braid_push_name_scope(g, "gradients");
    assert_string_equal(outer, "gradients/");
    assert_string_equal(no_op_name(g, "x"), "gradients/x");
    assert_string_equal(braid_push_name_scope(g, "a/b_grad"), "gradients/a/b_grad/");
    assert_string_equal(no_op_name(g, "x"), "gradients/a/b_grad/x");
    braid_pop_name_scope(g);
    assert_string_equal(braid_push_name_scope(g, "a/b_grad"), "gradients/a/b_grad_1/");
    assert_string_equal(braid_push_name_scope(g, NULL), "");
    assert_string_equal(no_op_name(g, "x"), "x");
    braid_pop_name_scope(g);
    assert_string_equal(no_op_name(g, "x"), "gradients/a/b_grad_1/x");
    braid_pop_name_scope(g);
    braid_pop_name_scope(g);
    // A scope counts as a name, and a name as a scope.
    assert_string_equal(no_op_name(g, "gradients"), "gradients_1");
    assert_string_equal(braid_push_name_scope(g, "gradients"), "gradients_2/");
    braid_pop_name_scope(g);
    assert_string_equal(braid_push_name_scope(g, outer), "gradients/"); // entered again
    assert_string_equal(no_op_name(g, "x"), "gradients/x_1");
    // A node that carries the scope's own name.
    assert_string_equal(no_op_name(g, outer), "gradients");
    braid_pop_name_scope(g);
    assert_graph_ok(g);
    braid_push_name_scope(g, "_private");
    assert_graph_error(g, BRAID_INVALID_ARGUMENT, "'_private' is not a valid scope name");
    braid_graph_free(g);
}

static const char *device_of(braid_graph *g, const char *asked)
{
    braid_op_desc *d = braid_op_begin(g, "NoOp", NULL);
    braid_op_device(d, asked);
    braid_op *n = braid_op_end(d);
    assert_graph_ok(g);
    return braid_op_requested_device(n);
}

static const char *to_ps(void *arg, const char *op_type, const char *device, braid_dtype dtype,
                         braid_shape shape)
{
    (void)device;
    ++*(int *)arg;
    if (strcmp(op_type, "Variable") != 0) return strcmp(op_type, "NoOp") == 0 ? "/job:worker" : NULL;
    assert_int_equal(dtype, bd_dtype_ref(BRAID_FLOAT));
    assert_shape(shape, "[3]");
    assert_string_equal(device, "/task:5");
    return "/job:ps/task:1";
}

static void devices_merge_with_the_scopes(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    int calls = 0;
    assert_string_equal(device_of(g, NULL), "");
    assert_string_equal(device_of(g, "/cpu:0"), "/device:CPU:0");
    braid_push_device(g, "/job:ps/task:0/cpu:0");
    assert_string_equal(device_of(g, NULL), "/job:ps/task:0/device:CPU:0");
    assert_string_equal(device_of(g, "/task:1"), "/job:ps/task:1/device:CPU:0");
    braid_push_device(g, "/gpu:1");
    assert_string_equal(device_of(g, NULL), "/job:ps/task:0/device:GPU:1");
    braid_push_device(g, NULL);
    assert_string_equal(device_of(g, NULL), "");
    braid_pop_device(g);
    braid_pop_device(g);
    braid_pop_device(g);

    braid_push_device_fn(g, to_ps, &calls);
    assert_string_equal(device_of(g, "/cpu:0"), "/job:worker/device:CPU:0");
    braid_push_device(g, "/task:5"); // inner: wins, and the function sees it
    braid_out v = test_variable(g, "v", BRAID_FLOAT, BRAID_SHAPE(3));
    assert_string_equal(v.op->device, "/job:ps/task:5");
    braid_pop_device(g);
    braid_pop_device(g);
    assert_int_equal(calls, 2);
    braid_push_device(g, "/nonsense");
    assert_graph_error(g, BRAID_INVALID_ARGUMENT, "Malformed device specification '/nonsense'");
    braid_graph_free(g);
}

// The names of control inputs, one behind the other.
static const char *controls_of(const braid_op *n)
{
    static char text[256];
    text[0] = 0;
    for (int i = 0; i < n->control_count; i++) {
        if (i) strcat(text, " ");
        strcat(text, n->controls[i]->name);
    }
    return text;
}

static void control_scopes_add_control_inputs(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_op *a = test_no_op(g, "a"), *b = test_no_op(g, "b");
    braid_out x = test_placeholder(g, "x", BRAID_FLOAT, BRAID_SCALAR);
    braid_push_control(g, (braid_op *[]){a, a}, 2);
    braid_op *n = test_no_op(g, "n");
    assert_string_equal(controls_of(n), "a");
    braid_push_control(g, (braid_op *[]){b, x.op, a}, 3); // a is a control input already
    assert_string_equal(controls_of(test_no_op(g, "m")), "a b x");
    // No control edge beside a data edge.
    braid_out y = bd_b1(g, "Identity", "y", x);
    assert_string_equal(controls_of(y.op), "a b");
    // An input that was made within the scopes has waited for all of it.
    braid_out z = bd_b1(g, "Identity", "z", y);
    assert_string_equal(controls_of(z.op), "");
    braid_pop_control(g);
    assert_string_equal(controls_of(bd_b1(g, "Identity", "z2", x).op), "a");
    braid_push_control(g, NULL, 0);
    braid_out free_one = bd_b1(g, "Identity", "free", x);
    assert_string_equal(controls_of(free_one.op), "");
    braid_pop_control(g);
    // It was made while the scope did not count, so it has not waited.
    assert_string_equal(controls_of(bd_b1(g, "Identity", "z3", free_one).op), "a");
    braid_pop_control(g);
    assert_string_equal(controls_of(test_no_op(g, "end")), "");
    assert_graph_ok(g);
    braid_graph_free(g);
}

// `_class` as one text.
static const char *class_of(const braid_op *n)
{
    static char text[256];
    const bd_attr *attr = bd_node_attr(n, "_class");
    text[0] = 0;
    for (int i = 0; attr && i < attr->list.count; i++) {
        if (i) strcat(text, " ");
        strcat(text, attr->list.s[i].data);
    }
    return text;
}

static void colocated_nodes_get_the_class_and_device(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_device(g, "/job:ps");
    braid_out v = test_variable(g, "v", BRAID_FLOAT, BRAID_SCALAR),
              w = test_variable(g, "w", BRAID_FLOAT, BRAID_SCALAR);
    braid_pop_device(g);
    braid_push_device(g, "/job:worker/cpu:0");
    braid_push_colocate(g, w.op);
    braid_op *n = test_no_op(g, "n");
    assert_string_equal(class_of(n), "loc:@w");
    assert_string_equal(n->device, "/job:ps"); // that of w: device scopes do not count
    braid_push_colocate(g, v.op);
    assert_string_equal(class_of(test_no_op(g, "both")), "loc:@v loc:@w"); // sorted
    braid_pop_colocate(g);
    braid_push_colocate(g, n); // n belongs to w's group
    assert_string_equal(class_of(test_no_op(g, "again")), "loc:@w");
    braid_pop_colocate(g);
    bd_builder_push_colocate_only(g, v.op);
    assert_string_equal(class_of(test_no_op(g, "only")), "loc:@v");
    braid_pop_colocate(g);
    braid_push_colocate_name(g, "later");
    assert_string_equal(class_of(test_no_op(g, "early")), "loc:@later loc:@w");
    braid_pop_colocate(g);
    braid_pop_colocate(g);
    braid_op_desc *d = braid_op_begin(g, "NoOp", NULL);
    braid_op_colocate(d, v.op);
    n = braid_op_end(d);
    assert_string_equal(class_of(n), "loc:@v");
    assert_string_equal(n->device, "/job:ps");
    n = test_no_op(g, "none");
    assert_string_equal(class_of(n), "");
    assert_string_equal(n->device, "/job:worker/device:CPU:0");
    braid_push_colocate_name(g, "later");
    assert_string_equal(test_no_op(g, "early2")->device, "");
    braid_pop_colocate(g);
    assert_graph_ok(g);
    braid_graph_free(g);
}

static void seeds_follow_tensorflow(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out shape = bd_b_const_i32_vector(g, NULL, (int32_t[]){2, 3}, 2);
    for (int round = 0; round < 2; round++) {
        braid_op_desc *d = braid_op_begin(g, "RandomUniform", NULL);
        braid_op_input(d, shape);
        braid_op_attr_type(d, "dtype", BRAID_FLOAT);
        braid_op *n = braid_op_end(d);
        assert_int_equal(bd_node_attr_int(n, "seed"), round ? 42 : 0);
        assert_int_equal(bd_node_attr_int(n, "seed2"), round ? 2 : 0); // two nodes were there before
        assert_shape(n->output_shapes[0], "[2,3]");
        braid_graph_set_seed(g, 42);
    }
    braid_op_desc *d = braid_op_begin(g, "RandomUniform", NULL);
    braid_op_input(d, shape);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_int(d, "seed", 7);
    braid_op *own = braid_op_end(d);
    assert_int_equal(bd_node_attr_int(own, "seed"), 7);
    assert_int_equal(bd_node_attr_int(own, "seed2"), 0);
    assert_graph_ok(g);
    braid_graph_free(g);
}

static void the_seed_of_an_op_is_joined_with_that_of_the_graph(void **state)
{
    (void)state;
    for (int seeded = 0; seeded < 2; seeded++) {
        braid_graph *g = braid_graph_new();
        if (seeded) braid_graph_set_seed(g, 0);
        for (int own = 0; own < 2; own++) {
            braid_op_desc *d = braid_op_begin(g, "RandomUniform", NULL);
            braid_op_input(d, bd_b_const_i32_vector(g, NULL, (int32_t[]){2, 3}, 2));
            braid_op_attr_type(d, "dtype", BRAID_FLOAT);
            braid_op_attr_int(d, "seed2", own);
            braid_op *n = braid_op_end(d);
            assert_int_equal(bd_node_attr_int(n, "seed"), seeded ? 0 : 87654321);
            assert_int_equal(bd_node_attr_int(n, "seed2"), own ? 1 : seeded ? INT32_MAX : 0);
        }
        assert_graph_ok(g);
        braid_graph_free(g);
    }
}

static void lists_are_inputs_and_outputs(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = test_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2)),
              i = test_placeholder(g, "i", BRAID_INT32, BRAID_SCALAR);
    braid_op_desc *d = braid_op_begin(g, "Variable", "queue");
    braid_op_attr_type(d, "dtype", BRAID_STRING);
    braid_op_attr_shape(d, "shape", BRAID_SCALAR);
    braid_out queue = braid_op_end_out(d);
    d = braid_op_begin(g, "QueueEnqueue", NULL);
    braid_op_input(d, queue);
    braid_op_input_list(d, (braid_out[]){x, i}, 2);
    braid_op *n = braid_op_end(d);
    assert_graph_ok(g);
    const bd_attr *types = bd_node_attr(n, "Tcomponents");
    assert_int_equal(types->list.count, 2);
    assert_int_equal(types->list.type[1], BRAID_INT32);
    d = braid_op_begin(g, "ConcatV2", NULL);
    braid_op_input_list(d, (braid_out[]){x, x, x}, 3);
    braid_op_input(d, i);
    n = braid_op_end(d);
    assert_graph_ok(g);
    assert_int_equal(bd_node_attr_int(n, "N"), 3);
    assert_int_equal(bd_node_attr_type(n, "Tidx"), BRAID_INT32);
    braid_graph_free(g);
}

static void the_first_error_sticks(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = test_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2));
    braid_out bad = bd_b2(g, "MatMul", "mm", x, x);
    assert_null(bad.op);
    assert_graph_error(
        g, BRAID_INVALID_ARGUMENT,
        "Shape must be rank 2 but is rank 1 for 'mm' (op: 'MatMul') with input shapes: [2], [2].");
    int before = braid_graph_num_ops(g);
    assert_null(bd_b1(g, "Neg", NULL, bad).op); // silently
    assert_null(braid_op_end(braid_op_begin(g, "Nonsense", NULL)));
    assert_int_equal(braid_graph_num_ops(g), before);
    assert_graph_error(g, BRAID_INVALID_ARGUMENT, "'mm'");
    BD_STATUS(st);
    size_t len;
    assert_null(braid_graph_export(g, &len, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "'mm'");
    braid_graph_free(g);
}

static void build_wrongly(braid_graph *g, int what)
{
    braid_graph *other = braid_graph_new();
    braid_out x = test_placeholder(g, "x", BRAID_FLOAT, BRAID_SCALAR),
              foreign = test_placeholder(other, "f", BRAID_FLOAT, BRAID_SCALAR);
    braid_op_desc *d = braid_op_begin(g,
                                      what == 0   ? "Nonsense"
                                      : what == 1 ? "Add"
                                                  : "Neg",
                                      what == 2 ? "a b" : "n");
    if (what == 3) braid_op_attr_int(d, "nonsense", 1);
    if (what == 4) braid_op_attr_tensor(d, "T", NULL);
    if (what == 6) braid_op_control(d, NULL);
    if (what == 8) braid_op_attr_shape(d, "_shape", (braid_shape){.rank = 13});
    if (what == 9) braid_op_attr_shape(d, "_shape", BRAID_SHAPE(-2));
    if (what == 11) {
        braid_tensor t;
        assert_true(bd_tensor_alloc(&t, BRAID_VARIANT, &BRAID_SCALAR));
        braid_op_attr_tensor(d, "T", &t);
        bd_tensor_fini(&t);
    }
    if (what == 12) braid_op_input_list(d, &x, -1);
    if (what == 13) braid_op_input_list(d, NULL, 2);
    if (what == 14) braid_op_attr_string_list(d, "_list", NULL, 1);
    if (what == 10)
        braid_op_input_list(d, (braid_out[]){x, x}, 2);
    else
        braid_op_input(d, what == 5 ? foreign : what == 7 ? (braid_out){0} : x);
    assert_null(braid_op_end(d));
    braid_graph_free(other);
}

static void wrong_use_is_an_error_of_the_graph(void **state)
{
    (void)state;
    static const struct {
        braid_code code;
        const char *words;
    } cases[] = {
        {BRAID_NOT_FOUND, "Op type not registered 'Nonsense', which node 'n' wants"},
        {BRAID_INVALID_ARGUMENT, "Node 'n' (op: 'Add'): takes 2 inputs, but got 1"},
        {BRAID_INVALID_ARGUMENT, "'a b' is not a valid node name"},
        {BRAID_INVALID_ARGUMENT, "Node 'n' (op: 'Neg'): the op has no attr 'nonsense'; its attrs are: 'T'"},
        {BRAID_INVALID_ARGUMENT, "an attr's tensor is NULL"},
        {BRAID_INVALID_ARGUMENT, "an input is of another graph"},
        {BRAID_INVALID_ARGUMENT, "a control input is nothing"},
        {BRAID_INVALID_ARGUMENT, "an input is nothing"},
        {BRAID_INVALID_ARGUMENT, "a rank or a dimension that cannot be"},
        {BRAID_INVALID_ARGUMENT, "a rank or a dimension that cannot be"},
        {BRAID_INVALID_ARGUMENT, "a list was given for an input that is none"},
        {BRAID_INVALID_ARGUMENT, "an attr's tensor is a variant"},
        {BRAID_INVALID_ARGUMENT, "an input list of -1 values"},
        {BRAID_INVALID_ARGUMENT, "an input list of 2 values is NULL"},
        {BRAID_INVALID_ARGUMENT, "an attr's list of 1 values is NULL"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        build_wrongly(g, (int)i);
        assert_graph_error(g, cases[i].code, cases[i].words);
        braid_graph_free(g);
    }
}

static void count_release(void *what)
{
    ++*(int *)what;
}

static void collections_keep_their_order(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = test_variable(g, "v", BRAID_FLOAT, BRAID_SCALAR),
              w = test_variable(g, "w", BRAID_FLOAT, BRAID_SCALAR);
    int count = 7, released = 0;
    assert_null(braid_collection(g, "variables", &count));
    assert_int_equal(count, 0);
    braid_collect(g, "variables", v);
    braid_collect(g, "variables", w);
    braid_collect(g, "global_step", w);
    const braid_out *items = braid_collection(g, "variables", &count);
    assert_int_equal(count, 2);
    assert_ptr_equal(items[1].op, w.op);
    braid_collection(g, "global_step", &count);
    assert_int_equal(count, 1);
    braid_graph_own(g, &released, count_release);
    braid_graph_free(g);
    assert_int_equal(released, 1);
}

static void a_misspelt_op_gets_a_suggestion(void **state)
{
    (void)state;
    static const struct {
        const char *misspelt, *words;
    } cases[] = {{"Matmul", "did you mean 'MatMul'?"},
                 {"Placehodler", "did you mean 'Placeholder'?"},
                 {"Qqqqqqqq", "Op type not registered 'Qqqqqqqq', which node 'Qqqqqqqq' wants"}};
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        braid_op_end(braid_op_begin(g, cases[i].misspelt, NULL));
        assert_graph_error(g, BRAID_NOT_FOUND, cases[i].words);
        braid_graph_free(g);
    }
}

static void a_pop_without_a_push_is_an_error(void **state)
{
    (void)state;
    static void (*const pops[])(braid_graph *) = {braid_pop_name_scope, braid_pop_device, braid_pop_control,
                                                  braid_pop_colocate};
    for (size_t i = 0; i < BD_COUNTOF(pops); i++) {
        braid_graph *g = braid_graph_new();
        braid_push_device(g, NULL);
        braid_pop_device(g);
        assert_graph_ok(g);
        pops[i](g);
        assert_graph_error(g, BRAID_FAILED_PRECONDITION, "is popped that was not pushed");
        braid_graph_free(g);
    }
}

// Memory checkers see what is not freed.
static void descriptions_may_be_left(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_op_desc *abandoned = braid_op_begin(g, "Const", "a"), *forgotten = braid_op_begin(g, "Const", "b");
    braid_op_attr_type(forgotten, "dtype", BRAID_FLOAT);
    braid_op_abandon(abandoned);
    braid_op_abandon(NULL);
    assert_graph_ok(g);
    assert_int_equal(braid_graph_num_ops(g), 0);
    braid_graph_free(g);
}

static void a_shape_can_be_told_but_not_contradicted(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op_desc *d = braid_op_begin(g, "Placeholder", "x");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(-1, 3));
    const braid_out x = braid_op_end_out(d);
    braid_set_shape(x, BRAID_SHAPE(2, -1));
    assert_true(braid_shape_equal(braid_out_shape(x), BRAID_SHAPE(2, 3)));
    braid_set_shape(x, BRAID_SHAPE(4, 3));
    assert_int_equal(braid_graph_status(g, st), BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(braid_status_message(st), "Output 0 of 'x' has shape [2,3], not [4,3]"));
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_misspelt_op_gets_a_suggestion),
        cmocka_unit_test(a_pop_without_a_push_is_an_error),
        cmocka_unit_test(descriptions_may_be_left),
        cmocka_unit_test(a_shape_can_be_told_but_not_contradicted),
        cmocka_unit_test(nodes_get_unique_names),
        cmocka_unit_test(name_scopes_prefix_names),
        cmocka_unit_test(devices_merge_with_the_scopes),
        cmocka_unit_test(control_scopes_add_control_inputs),
        cmocka_unit_test(colocated_nodes_get_the_class_and_device),
        cmocka_unit_test(seeds_follow_tensorflow),
        cmocka_unit_test(the_seed_of_an_op_is_joined_with_that_of_the_graph),
        cmocka_unit_test(lists_are_inputs_and_outputs),
        cmocka_unit_test(the_first_error_sticks),
        cmocka_unit_test(wrong_use_is_an_error_of_the_graph),
        cmocka_unit_test(collections_keep_their_order),
    };
    return BD_RUN_TESTS(tests);
}
