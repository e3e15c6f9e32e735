// One thread builds while others run steps of sessions on the graph: a session takes whole nodes, gradients
// and imports, and no error that is being taken.
// labels: concurrent
#include "base/status.h"
#include "base/thread.h"
#include "runtime/testing/test_graph.h"
#include <braid/graph_import.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    RUNNERS = 3,
    ROUNDS = 200
};

// y = x * x; `latest` is an output that depends on it.
typedef struct shared {
    braid_graph *g;
    braid_session *session;
    braid_out x, y;
    bd_mutex mu;
    braid_out latest; // guarded by mu
    float of_three;   // its value for x = 3; guarded by mu
    char fault[200];  // guarded by mu
    atomic_bool is_over;
    atomic_long steps;
} shared;

static float run_step(braid_session *s, braid_out x, braid_out y, braid_status *st)
{
    braid_tensor *three = braid_tensor_float(3), *got = NULL;
    const braid_feed feed = {x, three};
    const braid_fetch fetch = {y, &got};
    braid_session_run(
        s, &(braid_run_args){.feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1}, st);
    const float value = got ? *(const float *)braid_tensor_data(got) : 0;
    braid_tensor_free(three);
    braid_tensor_free(got);
    return value;
}

static void run_steps(void *arg)
{
    shared *s = arg;
    while (!atomic_load(&s->is_over)) {
        BD_STATUS(st);
        bd_mutex_lock(&s->mu);
        const braid_out latest = s->latest;
        const float want = s->of_three;
        bd_mutex_unlock(&s->mu);
        const float got = run_step(s->session, s->x, latest, st);
        bd_mutex_lock(&s->mu);
        if (st->code || got != want)
            snprintf(s->fault, sizeof s->fault, "%g, not %g: %s", got, want, st->message ? st->message : "");
        bd_mutex_unlock(&s->mu);
        atomic_fetch_add(&s->steps, 1);
    }
}

static void publish(shared *s, braid_out latest, float of_three)
{
    bd_mutex_lock(&s->mu);
    s->latest = latest;
    s->of_three = of_three;
    bd_mutex_unlock(&s->mu);
}

// ---- What is built ----

static braid_out add_node(shared *s, int round)
{
    (void)round;
    return tg1(s->g, "Neg", NULL, s->y);
}

static braid_out add_gradient(shared *s, int round)
{
    (void)round;
    braid_out grad;
    braid_gradients(s->g, &s->y, 1, &s->x, 1, NULL, &grad);
    return grad;
}

// Leaves the op to Braid, and lets sessions see the graph in the middle of the call.
static bool ask(void *arg, braid_op *op, const braid_gradient *output_grads, braid_gradient *input_grads)
{
    (void)op, (void)output_grads, (void)input_grads;
    shared *s = arg;
    tg1(s->g, "Neg", NULL, s->y);
    return false;
}

static braid_out add_asked_gradient(shared *s, int round)
{
    (void)round;
    braid_out grad;
    braid_gradients_with(s->g, &s->y, 1, &s->x, 1, &(braid_gradients_options){.gradient = ask, .arg = s},
                         &grad);
    return grad;
}

static braid_out add_import(shared *s, int round)
{
    BD_STATUS(st);
    size_t len;
    braid_graph *other = braid_graph_new();
    tg1(other, "Neg", "negated", tg_placeholder(other, "in", BRAID_FLOAT));
    void *data = braid_graph_export(other, &len, st);
    braid_graph_free(other);
    char prefix[40];
    snprintf(prefix, sizeof prefix, "part%d", round);
    const braid_import_mapping map = {"in", s->y};
    const char *const returned = "negated";
    braid_out out;
    const braid_import_options options = {.prefix = prefix,
                                          .input_map = &map,
                                          .input_map_count = 1,
                                          .return_outputs = &returned,
                                          .return_output_count = 1};
    if (braid_graph_import_with(s->g, data, len, &options, &(braid_import_results){.outputs = &out}, st))
        fail_msg("%s", st->message);
    free(data);
    return out;
}

// An error that the program takes is no error of a step on another thread.
static braid_out add_after_error(shared *s, int round)
{
    (void)round;
    BD_STATUS(st);
    braid_graph_lock(s->g);
    assert_null(braid_op_add(s->g, "NoSuchOp", NULL, NULL, 0));
    assert_int_equal(braid_graph_take_error(s->g, st), BRAID_NOT_FOUND);
    braid_graph_unlock(s->g);
    return tg1(s->g, "Neg", NULL, s->y);
}

// Changes nodes that no session has yet.
static braid_out add_changed(shared *s, int round)
{
    (void)round;
    BD_STATUS(st);
    braid_graph_lock(s->g);
    const braid_out n = tg1(s->g, "Neg", NULL, s->x);
    assert_int_equal(braid_op_set_input(n.op, 0, s->y, st), BRAID_OK);
    assert_int_equal(braid_op_add_control(n.op, s->y.op, st), BRAID_OK);
    assert_int_equal(braid_op_set_device(n.op, "/cpu:0", st), BRAID_OK);
    braid_graph_unlock(s->g);
    braid_set_shape(s->x, BRAID_SCALAR); // while steps feed it
    return n;
}

static const struct {
    braid_out (*add)(shared *s, int round);
    float of_three;
} kinds[] = {{add_node, -9},   {add_gradient, 6},     {add_asked_gradient, 6},
             {add_import, -9}, {add_after_error, -9}, {add_changed, -9}};

static void build(shared *s)
{
    for (int round = 0; round < ROUNDS; round++) {
        const size_t kind = (size_t)round % (sizeof kinds / sizeof kinds[0]);
        const braid_out out = kinds[kind].add(s, round);
        BD_STATUS(st);
        if (braid_graph_status(s->g, st)) fail_msg("%s", st->message);
        publish(s, out, kinds[kind].of_three);
    }
}

static void steps_run_while_the_graph_grows(void **state)
{
    (void)state;
    BD_STATUS(st);
    shared s = {.g = braid_graph_new()};
    s.x = tg_placeholder(s.g, "x", BRAID_FLOAT);
    s.y = tg2(s.g, "Mul", "y", s.x, s.x);
    s.session = tg_session(s.g, NULL);
    bd_mutex_init(&s.mu);
    publish(&s, s.y, 9);
    bd_thread threads[RUNNERS];
    for (int i = 0; i < RUNNERS; i++)
        assert_int_equal(bd_thread_start(&threads[i], "runner", run_steps, &s, st), BRAID_OK);
    build(&s);
    const long at_the_end = atomic_load(&s.steps);
    const int64_t deadline_ns = bd_deadline_after_ms(30000);
    while (atomic_load(&s.steps) < at_the_end + RUNNERS) // each has run the last one
        assert_true(bd_now_ns() < deadline_ns);
    atomic_store(&s.is_over, true);
    for (int i = 0; i < RUNNERS; i++)
        bd_thread_join(&threads[i]);
    assert_string_equal(s.fault, "");
    bd_mutex_fini(&s.mu);
    tg_close(s.session, s.g);
}

// ---- Several builders ----

static void add_nodes(void *arg)
{
    braid_graph *g = arg;
    for (int i = 0; i < ROUNDS; i++) {
        braid_graph_lock(g);
        braid_push_name_scope(g, "mine");
        assert_non_null(tg_float(g, "c", 1).op);
        braid_pop_name_scope(g);
        braid_graph_unlock(g);
    }
}

static void threads_that_lock_the_graph_build_in_turn(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    bd_thread threads[RUNNERS];
    for (int i = 0; i < RUNNERS; i++)
        assert_int_equal(bd_thread_start(&threads[i], "builder", add_nodes, g, st), BRAID_OK);
    for (int i = 0; i < RUNNERS; i++)
        bd_thread_join(&threads[i]);
    assert_int_equal(braid_graph_num_ops(g), RUNNERS * ROUNDS);
    for (int i = 0; i < RUNNERS * ROUNDS; i++) {
        braid_op *op = braid_graph_op(g, i);
        assert_int_equal(braid_op_index(op), i);
        assert_ptr_equal(braid_graph_find(g, braid_op_name(op)), op);
    }
    braid_graph_free(g);
}

// ---- A gradient function of the program that runs a session ----

typedef struct asked {
    braid_session *session;
    braid_out c;
} asked;

static bool run_a_step(void *arg, braid_op *op, const braid_gradient *output_grads,
                       braid_gradient *input_grads)
{
    (void)op, (void)output_grads, (void)input_grads;
    asked *a = arg;
    tg_assert_fetch(a->session, a->c, NULL, 5);
    return false;
}

static void a_gradient_function_may_run_steps_of_what_was_there(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = tg_placeholder(g, "x", BRAID_FLOAT), y = tg2(g, "Mul", "y", x, x);
    asked a = {.c = tg_float(g, "c", 5)};
    a.session = tg_session(g, NULL);
    tg_assert_fetch(a.session, a.c, NULL, 5);
    braid_out grad;
    tg_float(g, "new", 1);
    braid_gradients_with(g, &y, 1, &x, 1, &(braid_gradients_options){.gradient = run_a_step, .arg = &a},
                         &grad);
    assert_non_null(grad.op);
    BD_STATUS(st);
    assert_float_equal(run_step(a.session, x, grad, st), 6, 0);
    tg_close(a.session, g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_run_while_the_graph_grows),
        cmocka_unit_test(threads_that_lock_the_graph_build_in_turn),
        cmocka_unit_test(a_gradient_function_may_run_steps_of_what_was_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
