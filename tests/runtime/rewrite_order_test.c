// Properties that rewrites keep besides results: branches that are not taken stay so, nodes that wait for an
// effect still do, and edges and constants do not multiply.
#include "base/interrupt.h"
#include "graph/rewrite.h"
#include "runtime/testing/test_graph.h"
#include <braid/braid.h>

static braid_out vector(braid_graph *g, float first)
{
    braid_tensor *t = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(2), NULL);
    bd_tensor_f32(t)[0] = first;
    bd_tensor_f32(t)[1] = 1;
    return tg_const(g, NULL, t);
}

// tf.cond(p, lambda: tf.rank(x), lambda: tf.size(x)) with x of a shape that is known.
static void a_shape_in_a_branch_not_taken_stays_dead(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out p = tg_placeholder(g, "p", BRAID_BOOL);
    braid_op *branch = tg2(g, "Switch", NULL, vector(g, 1), p).op;
    braid_out no = tg1(g, "Size", NULL, (braid_out){branch, 0});
    braid_out yes = tg1(g, "Rank", NULL, (braid_out){branch, 1});
    braid_op_desc *d = braid_op_begin(g, "Merge", NULL);
    braid_op_input_list(d, (braid_out[]){no, yes}, 2);
    braid_out either = braid_op_end_out(d);
    braid_session *s = tg_session(g, NULL);
    for (int i = 0; i < 4; i++) {
        braid_tensor *taken = braid_tensor_bool(i % 2);
        tg_assert_fetch(s, either, (&(braid_feed){p, taken}), i % 2 ? 1 : 2);
        braid_tensor_free(taken);
    }
    tg_close(s, g);
}

// `v` becomes 5 after many nodes; a node that runs after the Shape of a later node reads 5.
static void a_shape_is_known_when_its_input_would_be(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = tg_placeholder(g, "x", BRAID_FLOAT), late = x;
    for (int i = 0; i < 200; i++)
        late = tg1(g, "Neg", NULL, late);
    braid_out v = tg_variable(g, "v", BRAID_FLOAT), w = tg_variable(g, "w", BRAID_FLOAT);
    braid_out start = tg2(g, "Assign", NULL, v, tg_float(g, NULL, 1));
    braid_out start_w = tg2(g, "Assign", NULL, w, tg_float(g, NULL, 1));
    braid_out assign = tg2(g, "Assign", NULL, v, late);
    braid_out after = tg1(g, "Neg", NULL, tg_identity_after(g, NULL, w, assign.op));
    braid_out read = tg_identity_after(g, NULL, v, tg1(g, "Rank", NULL, after).op);
    braid_session *s = tg_session(g, &(braid_session_options){.inter_op_threads = 1});
    BD_STATUS(st);
    tg_run(s, start.op, st);
    tg_run(s, start_w.op, st);
    assert_ok(st);
    braid_tensor *five = braid_tensor_float(5);
    tg_assert_fetch(s, read, (&(braid_feed){x, five}), 5);
    braid_tensor_free(five);
    tg_close(s, g);
}

// ---- Variables that Assign gave another shape than they were built with ----

// A variable built as [2], as a reference or as a resource.
static braid_out variable_of_two(braid_graph *g, const char *op)
{
    braid_op_desc *d = braid_op_begin(g, op, "v");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(2));
    return braid_op_end_out(d);
}

static braid_op *assign_anything(braid_graph *g, braid_out v, braid_out value)
{
    braid_op_desc *d = braid_op_begin(g, "Assign", NULL);
    braid_op_input(d, v);
    braid_op_input(d, value);
    braid_op_attr_bool(d, "validate_shape", false);
    return braid_op_end(d);
}

static braid_op *assign_resource(braid_graph *g, braid_out v, braid_out value)
{
    braid_op_desc *d = braid_op_begin(g, "AssignVariableOp", NULL);
    braid_op_input(d, v);
    braid_op_input(d, value);
    return braid_op_end(d);
}

static braid_out read_resource(braid_graph *g, braid_out v)
{
    braid_op_desc *d = braid_op_begin(g, "ReadVariableOp", NULL);
    braid_op_input(d, v);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    return braid_op_end_out(d);
}

static braid_tensor *six_ones(void) // [2, 3]
{
    braid_tensor *t = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(2, 3), NULL);
    for (int i = 0; i < 6; i++)
        bd_tensor_f32(t)[i] = 1;
    return t;
}

// Only a run knows the shape of a variable: another session may assign it.
static void a_variable_has_the_shape_of_its_value(void **state)
{
    (void)state;
    for (int is_resource = 0; is_resource < 2; is_resource++) {
        braid_graph *g = braid_graph_new();
        braid_out v = variable_of_two(g, is_resource ? "VarHandleOp" : "VariableV2");
        braid_out x = tg_placeholder(g, "x", BRAID_FLOAT);
        braid_op *assign = is_resource ? assign_resource(g, v, x) : assign_anything(g, v, x);
        braid_out read = is_resource ? read_resource(g, v) : tg1(g, "Identity", NULL, v);
        braid_out negative = tg1(g, "Neg", NULL, read);
        braid_out size = tg1(g, "Size", NULL, negative), rank = tg1(g, "Rank", NULL, read);
        braid_out shape = tg1(g, "Shape", NULL, tg2(g, "Mul", NULL, negative, tg_float(g, NULL, 2)));
        braid_session *s = tg_session(g, NULL);
        braid_tensor *six = six_ones();
        braid_feed feed = {x, six};
        BD_STATUS(st);
        braid_session_run(
            s, &(braid_run_args){.feeds = &feed, .feed_count = 1, .targets = &assign, .target_count = 1}, st);
        assert_ok(st);
        tg_assert_fetch(s, size, NULL, 6);
        tg_assert_fetch(s, rank, NULL, 2);
        tg_assert_fetch(s, shape, NULL, 2);
        braid_tensor_free(six);
        tg_close(s, g);
    }
}

// tf.matmul(x, w) + v where v, built as [2], is a number by now: no bias, but a sum all the same.
static void a_sum_takes_a_variable_of_any_shape(void **state)
{
    (void)state;
    static const char *const activations[] = {NULL, "Relu"};
    for (size_t i = 0; i < BD_COUNTOF(activations); i++) {
        braid_graph *g = braid_graph_new();
        braid_out v = variable_of_two(g, "VariableV2");
        braid_op *assign = assign_anything(g, v, tg_float(g, NULL, 5));
        braid_out x = tg_placeholder(g, "x", BRAID_FLOAT);
        braid_tensor *w = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(3, 2), NULL);
        for (int k = 0; k < 6; k++)
            bd_tensor_f32(w)[k] = 1;
        braid_out product = tg2(g, "MatMul", NULL, x, tg_const(g, NULL, w));
        braid_out y = tg2(g, "Add", NULL, tg1(g, "Identity", NULL, v), product);
        if (activations[i]) y = tg1(g, activations[i], NULL, y);
        braid_session *s = tg_session(g, NULL);
        BD_STATUS(st);
        tg_run(s, assign, st);
        assert_ok(st);
        braid_tensor *six = six_ones();
        tg_assert_fetch(s, y, (&(braid_feed){x, six}), 8);
        braid_tensor_free(six);
        tg_close(s, g);
    }
}

// ---- Updates that depend on each other where no edge shows it ----

static braid_out queue_of_scalars(braid_graph *g)
{
    braid_op_desc *d = braid_op_begin(g, "FIFOQueueV2", NULL);
    braid_op_attr_type_list(d, "component_types", (const braid_dtype[]){BRAID_FLOAT}, 1);
    braid_op_attr_shape_list(d, "shapes", &BRAID_SCALAR, 1);
    return braid_op_end_out(d);
}

static braid_out dequeue(braid_graph *g, braid_out queue)
{
    braid_op_desc *d = braid_op_begin(g, "QueueDequeueV2", NULL);
    braid_op_input(d, queue);
    braid_op_attr_type_list(d, "component_types", (const braid_dtype[]){BRAID_FLOAT}, 1);
    return braid_op_end_out(d);
}

static braid_op *enqueue(braid_graph *g, braid_out queue, braid_out value)
{
    braid_op_desc *d = braid_op_begin(g, "QueueEnqueueV2", NULL);
    braid_op_input(d, queue);
    braid_op_input_list(d, &value, 1);
    return braid_op_end(d);
}

// The result of the first update reaches the second one through a queue.
static void an_update_may_wait_for_another_in_a_queue(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "v", BRAID_FLOAT), w = tg_variable(g, "w", BRAID_FLOAT);
    braid_out start_v = tg2(g, "Assign", NULL, v, tg_float(g, NULL, 10));
    braid_out start_w = tg2(g, "Assign", NULL, w, tg_float(g, NULL, 100));
    braid_out rate = tg_float(g, NULL, 1), queue = queue_of_scalars(g);
    braid_out first =
        tg_node(g, "ApplyGradientDescent", NULL, 3, (braid_out[]){v, rate, tg_float(g, NULL, 3)});
    braid_op *put = enqueue(g, queue, tg1(g, "Identity", NULL, first));
    braid_out second = tg_node(g, "ApplyGradientDescent", NULL, 3, (braid_out[]){w, rate, dequeue(g, queue)});
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    tg_run(s, start_v.op, st);
    tg_run(s, start_w.op, st);
    assert_ok(st);
    const braid_run_args args = {
        .targets = (braid_op *[]){put, second.op}, .target_count = 2, .timeout_ms = 10000};
    braid_session_run(s, &args, st);
    assert_ok(st);
    tg_assert_fetch(s, tg1(g, "Identity", NULL, w), NULL, 100 - (10 - 3));
    tg_close(s, g);
}

// A node of many inputs that many wait for is not worth an edge for each pair.
static void edges_grow_with_the_graph(void **state)
{
    (void)state;
    enum {
        COUNT = 500
    };
    braid_graph *g = braid_graph_new();
    BD_ARRAY(braid_out) inputs = {0};
    for (int i = 0; i < COUNT; i++)
        bd_array_push(&inputs, tg_placeholder(g, NULL, BRAID_FLOAT));
    braid_op_desc *d = braid_op_begin(g, "AddN", NULL);
    braid_op_input_list(d, inputs.items, COUNT);
    braid_op *sum = braid_op_end(d);
    for (int i = 0; i < COUNT; i++)
        tg_identity_after(g, NULL, inputs.items[i], sum);
    bd_array_free(&inputs);
    BD_STATUS(st);
    bd_rewrite_graph(g, &(bd_rewrite_options){0}, st);
    assert_ok(st);
    int edges = 0;
    for (size_t i = 0; i < g->nodes.len; i++)
        edges += g->nodes.items[i]->control_count;
    assert_in_range(edges, COUNT, 3 * COUNT);
    braid_graph_free(g);
}

static braid_code copy_input(const braid_op *node, const braid_tensor *inputs, braid_tensor *outputs,
                             braid_status *st)
{
    (void)node, (void)st;
    braid_tensor *copy = braid_tensor_new(inputs[0].dtype, inputs[0].shape, NULL);
    memset(copy->data, 0, bd_tensor_bytes(copy));
    bd_tensor_move(&outputs[0], copy);
    braid_tensor_free(copy);
    return BRAID_OK;
}

// A chain of nodes over a constant of 800 bytes, of which 20 fit into 16 times 1000.
static void folding_takes_memory_within_bounds(void **state)
{
    (void)state;
    enum {
        FOLDED = 20,
        COUNT = 50
    };
    braid_graph *g = braid_graph_new();
    braid_tensor *t = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(200), NULL);
    memset(t->data, 0, bd_tensor_bytes(t));
    braid_out at = tg_const(g, NULL, t);
    for (int i = 0; i < COUNT; i++)
        at = tg1(g, "Neg", NULL, at);
    BD_STATUS(st);
    bd_rewrite_graph(g,
                     &(bd_rewrite_options){.off = BRAID_REWRITE_ALL & ~BRAID_REWRITE_CONSTANT_FOLDING,
                                           .folded_bytes_max = 1000,
                                           .evaluate = copy_input},
                     st);
    assert_ok(st);
    assert_int_equal(g->nodes.len, COUNT - FOLDED + 1);
    braid_graph_free(g);
}

static int evaluations;

// A kernel that looks whether it is interrupted, and would run for ever.
static braid_code run_until_interrupted(const braid_op *node, const braid_tensor *inputs,
                                        braid_tensor *outputs, braid_status *st)
{
    (void)node, (void)inputs, (void)outputs;
    evaluations++;
    while (!bd_interrupted())
        ;
    return bd_fail(st, BRAID_CANCELLED, "it takes too long");
}

static void folding_takes_time_within_bounds(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = tg_const(g, NULL, braid_tensor_float(1)), y = {0};
    for (int i = 0; i < 10; i++)
        y = tg1(g, "Neg", NULL, x);
    const size_t nodes = g->nodes.len;
    BD_STATUS(st);
    evaluations = 0;
    bd_rewrite_graph(g,
                     &(bd_rewrite_options){.off = BRAID_REWRITE_ALL & ~BRAID_REWRITE_CONSTANT_FOLDING,
                                           .folding_ns_max = 1000000,
                                           .evaluate = run_until_interrupted},
                     st);
    assert_ok(st);
    assert_int_equal(evaluations, 1);
    assert_int_equal(g->nodes.len, nodes);
    assert_string_equal(y.op->op_type, "Neg");
    assert_false(bd_interrupted());
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shape_in_a_branch_not_taken_stays_dead),
        cmocka_unit_test(a_shape_is_known_when_its_input_would_be),
        cmocka_unit_test(a_variable_has_the_shape_of_its_value),
        cmocka_unit_test(a_sum_takes_a_variable_of_any_shape),
        cmocka_unit_test(an_update_may_wait_for_another_in_a_queue),
        cmocka_unit_test(edges_grow_with_the_graph),
        cmocka_unit_test(folding_takes_memory_within_bounds),
        cmocka_unit_test(folding_takes_time_within_bounds),
    };
    return TG_RUN_TESTS_WITH_AND_WITHOUT_REWRITES(tests);
}
