// Updates of small variables become one node where that delays no other node, and nowhere else.
#include "runtime/testing/rewrite_patterns.h"

static braid_out update_by(braid_graph *g, const char *variable, int64_t size, braid_out rate,
                           braid_out gradient, braid_op *after)
{
    braid_op_desc *d = braid_op_begin(g, "VariableV2", variable);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(size));
    braid_out v = braid_op_end_out(d);
    d = braid_op_begin(g, "ApplyGradientDescent", NULL);
    braid_op_input(d, v);
    braid_op_input(d, rate);
    braid_op_input(d, gradient);
    if (after) braid_op_control(d, after);
    return braid_op_end_out(d);
}

static braid_out update(braid_graph *g, const char *variable, int64_t size, braid_out rate, braid_op *after)
{
    return update_by(g, variable, size, rate, tg2(g, "Mul", NULL, x_of(g), vector(g, NULL, size)), after);
}

static braid_out after_both(braid_graph *g, braid_out a, braid_out b)
{
    return tg_identity_after(g, NULL, tg_float(g, NULL, 1),
                             tg_after(g, "NoOp", NULL, 2, (braid_op *[]){a.op, b.op}));
}

static braid_out two_updates(braid_graph *g)
{
    braid_out rate = tg_float(g, NULL, 1);
    braid_out v = update(g, "v", 4, rate, NULL), w = update(g, "w", 5, rate, NULL);
    return after_both(g, v, w);
}

static braid_out updates_at_two_rates(braid_graph *g)
{
    return after_both(g, update(g, "v", 4, tg_float(g, NULL, 1), NULL),
                      update(g, "w", 5, tg_float(g, NULL, 2), NULL));
}

static braid_out update_after_update(braid_graph *g)
{
    braid_out rate = tg_float(g, NULL, 1), first = update(g, "v", 4, rate, NULL);
    return after_both(g, first, update(g, "w", 5, rate, first.op));
}

static braid_out large_update(braid_graph *g)
{
    braid_out rate = tg_float(g, NULL, 1);
    return after_both(g, update(g, "v", 4, rate, NULL), update(g, "w", 50000, rate, NULL));
}

static braid_out dequeued(braid_graph *g)
{
    braid_op_desc *d = braid_op_begin(g, "FIFOQueue", NULL);
    braid_op_attr_type_list(d, "component_types", (const braid_dtype[]){BRAID_FLOAT}, 1);
    braid_out queue = braid_op_end_out(d);
    d = braid_op_begin(g, "QueueDequeue", NULL);
    braid_op_input(d, queue);
    braid_op_attr_type_list(d, "component_types", (const braid_dtype[]){BRAID_FLOAT}, 1);
    return braid_op_end_out(d);
}

static braid_out updates_by_one_batch(braid_graph *g)
{
    braid_out rate = tg_float(g, NULL, 1), batch = dequeued(g);
    return after_both(g, update_by(g, "v", 4, rate, tg1(g, "Neg", NULL, batch), NULL),
                      update_by(g, "w", 5, rate, tg1(g, "Exp", NULL, batch), NULL));
}

static braid_out updates_by_a_batch_each(braid_graph *g)
{
    braid_out rate = tg_float(g, NULL, 1);
    return after_both(g, update_by(g, "v", 4, rate, dequeued(g), NULL),
                      update_by(g, "w", 5, rate, dequeued(g), NULL));
}

// Another update precedes one of them, of a variable whose memory may be the other's gradient.
static braid_out updates_around_an_update(braid_graph *g)
{
    braid_out rate = tg_float(g, NULL, 1), v = update(g, "v", 4, rate, NULL);
    braid_out u = tg_variable(g, "u", BRAID_FLOAT), before = tg2(g, "AssignAdd", NULL, u, rate);
    return after_both(g, v, update(g, "w", 5, rate, before.op));
}

#define TWO_UPDATES "ApplyGradientDescent ApplyGradientDescent "
#define REST "Identity Mul Mul NoOp VariableV2 VariableV2"

static const pattern patterns[] = {
    {"two updates", BRAID_REWRITE_UPDATES, two_updates, "Const Const Const Const " REST " _FusedUpdate"},
    {"updates at two rates", BRAID_REWRITE_UPDATES, updates_at_two_rates,
     TWO_UPDATES "Const Const Const Const Const " REST},
    {"an update after another", BRAID_REWRITE_UPDATES, update_after_update,
     TWO_UPDATES "Const Const Const Const " REST},
    {"a large update", BRAID_REWRITE_UPDATES, large_update, TWO_UPDATES "Const Const Const Const " REST},
    {"updates by one batch", BRAID_REWRITE_UPDATES, updates_by_one_batch,
     "Const Const Exp FIFOQueue Identity Neg NoOp QueueDequeue VariableV2 VariableV2 _FusedUpdate"},
    {"updates by a batch each", BRAID_REWRITE_UPDATES, updates_by_a_batch_each,
     TWO_UPDATES
     "Const Const FIFOQueue FIFOQueue Identity NoOp QueueDequeue QueueDequeue VariableV2 VariableV2"},
    {"updates around another", BRAID_REWRITE_UPDATES, updates_around_an_update,
     TWO_UPDATES "AssignAdd Const Const Const Const Identity Mul Mul NoOp VariableV2 VariableV2 VariableV2"},
};

static void updates_are_one_node_where_they_may_be(void **state)
{
    (void)state;
    check_patterns(patterns, BD_COUNTOF(patterns));
}

static void an_error_names_the_update_that_was_built(void **state)
{
    (void)state;
    braid_tensor *x = braid_tensor_float(1);
    braid_graph *g = braid_graph_new();
    BD_STATUS(st);
    fetch_one(g, 0, two_updates(g), x, st);
    assert_error(st, BRAID_FAILED_PRECONDITION,
                 "Attempting to use uninitialized value v (ApplyGradientDescent on");
    braid_tensor_free(x);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_are_one_node_where_they_may_be),
        cmocka_unit_test(an_error_names_the_update_that_was_built),
    };
    return BD_RUN_TESTS(tests);
}
