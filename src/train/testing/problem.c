// A small problem to train on, in a session of this process.
#include "base/testing/test.h"

#include "train/testing/problem.h"

#include <braid/ops.h>

typedef braid_variable (*variable_fn)(braid_graph *g, const char *name, braid_out initial_value,
                                      bool trainable);

static braid_out half_square_distance(braid_graph *g, braid_out x, float to)
{
    braid_out square = braid_square(g, braid_sub(g, x, braid_const_float(g, NULL, to)));
    return braid_mul(g, square, braid_const_float(g, NULL, 0.5f));
}

static problem make(variable_fn variable)
{
    problem p = {.graph = braid_graph_new()};
    braid_graph *g = p.graph;
    p.w = variable(g, "w", braid_const_float(g, NULL, 0.5f), true);
    p.b = variable(g, "b", braid_const_float(g, NULL, -2.0f), true);
    p.scale = braid_placeholder(g, "scale", BRAID_FLOAT, BRAID_SCALAR);
    braid_out of_w = half_square_distance(g, p.w.read, 3);
    braid_out of_b = half_square_distance(g, p.b.read, 1);
    p.loss = braid_mul(g, p.scale, braid_add(g, of_w, of_b));
    p.step = braid_global_step(g);
    return p;
}

problem problem_make(void)
{
    return make(braid_variable_new);
}

problem problem_make_resource(void)
{
    return make(braid_variable_resource);
}

braid_session *problem_start(const problem *p)
{
    BD_STATUS(st);
    braid_op *init = braid_global_variables_initializer(p->graph);
    braid_session *s = braid_session_open(p->graph, NULL, st);
    assert_ok(st);
    braid_session_run(s, &(braid_run_args){.targets = &init, .target_count = 1}, st);
    assert_ok(st);
    return s;
}

void problem_finish(braid_session *s, problem *p)
{
    BD_STATUS(st);
    braid_session_close(s, st);
    assert_ok(st);
    braid_graph_free(p->graph);
}

// What a scalar holds, as bytes of the caller's.
static void fetch(braid_session *s, braid_out x, void *value, size_t size)
{
    BD_STATUS(st);
    braid_tensor *t;
    braid_fetch wanted = {x, &t};
    braid_session_run(s, &(braid_run_args){.fetches = &wanted, .fetch_count = 1}, st);
    assert_ok(st);
    assert_int_equal(braid_tensor_bytes(t), size);
    memcpy(value, braid_tensor_data(t), size);
    braid_tensor_free(t);
}

float problem_value(braid_session *s, braid_out x)
{
    float value;
    fetch(s, x, &value, sizeof value);
    return value;
}

int64_t problem_global_step(braid_session *s, const problem *p)
{
    int64_t step;
    fetch(s, p->step, &step, sizeof step);
    return step;
}

void problem_step(braid_session *s, const problem *p, braid_op *train, float scale, float *w, float *b)
{
    BD_STATUS(st);
    braid_tensor *fed = braid_tensor_float(scale);
    braid_feed feed = {p->scale, fed};
    braid_session_run(
        s, &(braid_run_args){.feeds = &feed, .feed_count = 1, .targets = &train, .target_count = 1}, st);
    assert_ok(st);
    braid_tensor_free(fed);
    *w = problem_value(s, p->w.read);
    *b = problem_value(s, p->b.read);
}
