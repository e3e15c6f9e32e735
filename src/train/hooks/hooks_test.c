// The hooks of the library: what they log, write, feed and fetch, and when.
#include "base/testing/test.h"

#include "train/testing/hook_fixture.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static braid_code feed_rate(braid_hook_request *request, void *arg, braid_status *st)
{
    (void)st;
    void *const *args = arg;
    braid_hook_feed(request, *(const braid_out *)args[0], args[1]);
    return BRAID_OK;
}

static void a_function_feeds_each_step(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_tensor *rate = braid_tensor_float(0.1f);
    void *args[] = {&m.rate, rate};
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(braid_feed_fn(feed_rate, args)));
    assert_int_equal(braid_run(s, NULL, NULL, m.train), BRAID_OK);
    assert_float_equal(small_model_loss(s, &m), 9 * 0.81f, 1e-5f);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_tensor_free(rate);
    braid_graph_free(m.graph);
}

static void final_ops_are_fetched_at_the_end(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_tensor *x = NULL, *fed = NULL, *rate = braid_tensor_float(0.25f);
    braid_monitored_session *s =
        small_model_open(&m, BRAID_HOOKS(braid_final_ops(BRAID_FETCH({m.x.read, &x}, {m.rate, &fed}),
                                                         BRAID_FEED({m.rate, rate}))));
    hook_train(s, &m, 1);
    assert_null(x);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    assert_float_equal(*(const float *)braid_tensor_data(x), 0.3f, 1e-6f);
    assert_float_equal(*(const float *)braid_tensor_data(fed), 0.25f, 0);
    braid_tensor_free(x);
    braid_tensor_free(fed);
    braid_tensor_free(rate);
    braid_graph_free(m.graph);
}

static braid_code step_by(braid_monitored_session *s, const small_model *m, float by)
{
    braid_tensor *rate = braid_tensor_float(by);
    const braid_code code = braid_run(s, BRAID_FEED({m->rate, rate}), NULL, m->train);
    braid_tensor_free(rate);
    return code;
}

static void a_loss_that_is_no_number_ends_training(void **state)
{
    (void)state;
    for (int only_stop = 0; only_stop < 2; only_stop++) {
        small_model m = small_model_make();
        hook_expect_log("not a number");
        braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(braid_nan_tensor(m.loss, only_stop)));
        step_by(s, &m, NAN);
        if (!braid_should_stop(s)) step_by(s, &m, NAN);
        assert_true(braid_should_stop(s));
        assert_int_equal(braid_monitored_session_close(s), only_stop ? BRAID_OK : BRAID_FAILED_PRECONDITION);
        assert_non_null(strstr(bd_strbuf_str(&hook_log), "is not a number (NaN) at global step"));
        braid_graph_free(m.graph);
    }
}

static void a_step_is_traced(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_monitored_session *s = small_model_open(
        &m, BRAID_HOOKS(braid_profiler(&(braid_profiler_options){.dir = hook_dir, .every_steps = 2})));
    hook_train(s, &m, 2);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
    assert_true(hook_has_file("timeline-1.json"));
    assert_true(hook_is_in_events("step_1"));
}

// Counts the step up when the hook says that it waits.
typedef struct helper {
    braid_monitored_session *session;
    braid_op *count_up;
    int times;
} helper;

static void help(braid_log_level level, const char *message, void *arg)
{
    (void)level;
    helper *h = arg;
    if (!strstr(message, "Waiting until the global step is 1; it is 0")) return;
    h->times++;
    BD_STATUS(st);
    const braid_run_args args = {.targets = &h->count_up, .target_count = 1};
    braid_session_run(braid_monitored_session_raw(h->session), &args, st);
    assert_ok(st);
}

static void a_late_worker_waits_for_a_step(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_tensor *one = braid_tensor_int64(1);
    helper h = {
        .count_up =
            braid_assign_add(m.graph, braid_find_global_step(m.graph), braid_const(m.graph, NULL, one)).op};
    braid_tensor_free(one);
    h.session = small_model_open(&m, BRAID_HOOKS(braid_global_step_waiter(1)));
    braid_set_log_sink(help, &h);
    hook_train(h.session, &m, 2);
    assert_int_equal(h.times, 1);
    assert_int_equal(braid_monitored_session_close(h.session), BRAID_OK);
    braid_graph_free(m.graph);
}

static void training_stops_after_so_many_steps_of_this_process(void **state)
{
    (void)state;
    for (int64_t last = 5; last <= 10; last += 5) {
        small_model m = small_model_make();
        braid_monitored_session *s = braid_monitored_session_open(
            m.graph, &(braid_session_config){.checkpoint_dir = hook_dir,
                                             .hooks = BRAID_HOOKS(braid_stop_after_steps(5))});
        while (!braid_should_stop(s))
            assert_int_equal(small_model_step(s, &m), BRAID_OK);
        assert_int_equal(braid_monitored_session_global_step(s), last);
        assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
        braid_graph_free(m.graph);
    }
}

// A hook that adds a feed and a node without outputs to each step.
typedef struct adder {
    braid_hook hook;
    small_model *m;
    braid_op *target;
    braid_tensor *rate;
} adder;

static braid_code add_to_step(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                              braid_status *st)
{
    (void)s, (void)st;
    const adder *a = (const adder *)hook;
    braid_hook_feed(request, a->m->rate, a->rate);
    braid_hook_target(request, a->target);
    return BRAID_OK;
}

static void a_hook_may_feed_and_run_nodes_without_outputs(void **state)
{
    (void)state;
    small_model m = small_model_make();
    adder a = {.hook.before_run = add_to_step, .m = &m, .rate = braid_tensor_float(0.1f)};
    a.target = braid_group(m.graph, NULL, &m.train, 1);
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(&a.hook));
    assert_int_equal(braid_run(s, NULL, NULL, NULL), BRAID_OK);
    assert_float_equal(small_model_loss(s, &m), 9 * 0.81f, 1e-5f);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_tensor_free(a.rate);
    braid_graph_free(m.graph);
}

static void a_missing_hook_does_not_hide_those_after_it(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(NULL, braid_stop_at_step(1), NULL));
    assert_int_equal(small_model_step(s, &m), BRAID_OK);
    assert_true(braid_should_stop(s));
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
}

static void a_feed_or_fetch_without_an_op_does_not_hide_those_after_it(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_tensor *rate = braid_tensor_float(0.1f), *unset = NULL, *value = NULL;
    const braid_out none = {NULL, 0};
    braid_monitored_session *s = small_model_open(&m, NULL);
    assert_int_equal(braid_run(s, BRAID_FEED({none, rate}, {m.rate, rate}),
                               BRAID_FETCH({none, &unset}, {m.rate, &value}), m.train),
                     BRAID_OK);
    assert_null(unset);
    assert_float_equal(*(const float *)braid_tensor_data(value), 0.1f, 0);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_tensor_free(value);
    braid_tensor_free(rate);
    braid_graph_free(m.graph);
}

static void hooks_of_the_chief_are_freed_elsewhere(void **state)
{
    (void)state;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_server *server = braid_server_start_local(NULL, st);
    braid_monitored_session *s = braid_monitored_session_open(
        m.graph, &(braid_session_config){.session.server = server,
                                         .wait_timeout_ms = 1,
                                         .chief_only_hooks = BRAID_HOOKS(braid_stop_at_step(1))});
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "is_chief"); // the error says how a session gets a chief
    braid_monitored_session_close(s);
    braid_server_free(server);
    braid_graph_free(m.graph);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, hook_set_up, hook_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_function_feeds_each_step),
        TEST(final_ops_are_fetched_at_the_end),
        TEST(a_loss_that_is_no_number_ends_training),
        TEST(a_step_is_traced),
        TEST(a_late_worker_waits_for_a_step),
        TEST(training_stops_after_so_many_steps_of_this_process),
        TEST(a_hook_may_feed_and_run_nodes_without_outputs),
        TEST(a_missing_hook_does_not_hide_those_after_it),
        TEST(a_feed_or_fetch_without_an_op_does_not_hide_those_after_it),
        TEST(hooks_of_the_chief_are_freed_elsewhere),
    };
    return BD_RUN_TESTS(tests);
}
