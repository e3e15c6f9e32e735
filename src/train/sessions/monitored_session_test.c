// Monitored sessions: initialization, the end of training, errors when opening.
// labels: concurrent
#include "base/testing/test.h"

#include "base/thread.h"
#include "train/testing/small_model.h"

static void a_small_model_learns(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(braid_stop_at_step(30)));
    float before = small_model_loss(s, &m);
    int steps = 0;
    for (; !braid_should_stop(s); steps++)
        assert_int_equal(small_model_step(s, &m), BRAID_OK);
    assert_int_equal(steps, 30);
    assert_float_equal(before, 9, 1e-6f);
    assert_float_equal(small_model_loss(s, &m), 9 * 1.7e-3f, 9 * 1e-4f); // 0.9^60
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
}

// Only a run can reach the end of the input.
static void out_of_range_when_opening_is_an_error(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_graph_fail(m.graph, BRAID_OUT_OF_RANGE, "too far");
    braid_monitored_session *s = small_model_open(&m, NULL);
    assert_int_equal(braid_evaluate(s, NULL, NULL), BRAID_OUT_OF_RANGE);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OUT_OF_RANGE);
    braid_graph_free(m.graph);
}

static void an_error_of_the_graph_shows_when_opening(void **state)
{
    (void)state;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_graph_fail(m.graph, BRAID_UNIMPLEMENTED, "not to be built");
    braid_monitored_session *s = small_model_open(&m, NULL);
    assert_true(braid_should_stop(s));
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_UNIMPLEMENTED, "not to be built");
    assert_int_equal(braid_monitored_session_close(s), BRAID_UNIMPLEMENTED);
    braid_graph_free(m.graph);
}

static void stopping_at_a_step_needs_a_global_step(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.is_chief = true, .hooks = BRAID_HOOKS(braid_stop_at_step(5))});
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "no global step");
    braid_monitored_session_close(s);
    braid_graph_free(g);
}

static void waiting_for_the_chief_has_an_end(void **state)
{
    (void)state;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_server *server = braid_server_start_local(NULL, st);
    assert_ok(st);
    braid_monitored_session *s = braid_monitored_session_open(
        m.graph, &(braid_session_config){.session.server = server, .wait_timeout_ms = 20});
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "Waiting for the chief to initialize x, global_step");
    braid_monitored_session_close(s);
    braid_graph_free(m.graph);
    braid_server_free(server);
}

static void the_chief_follows_from_the_cluster(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *job;
        int index;
        bool chief;
    } table[] = {
        {"{}", "worker", 3, true},
        {"{\"worker\": [\"a:1\", \"b:1\"], \"ps\": [\"c:1\"]}", "worker", 0, true},
        {"{\"worker\": [\"a:1\", \"b:1\"], \"ps\": [\"c:1\"]}", "worker", 1, false},
        {"{\"worker\": [\"a:1\", \"b:1\"], \"ps\": [\"c:1\"]}", "ps", 0, false},
        {"{\"worker\": [\"a:1\"], \"chief\": [\"c:1\"]}", "worker", 0, false},
        {"{\"worker\": [\"a:1\"], \"chief\": [\"c:1\"]}", "chief", 0, true},
        {"{\"worker\": [\"a:1\"], \"master\": [\"c:1\"]}", "master", 0, true},
        {"{\"worker\": {\"2\": \"a:1\", \"5\": \"b:1\"}}", "worker", 2, true},
    };
    for (size_t i = 0; i < BD_COUNTOF(table); i++) {
        BD_STATUS(st);
        braid_cluster *c = braid_cluster_from_json(table[i].cluster, st);
        assert_ok(st);
        assert_int_equal(braid_is_chief(c, table[i].job, table[i].index), table[i].chief);
        braid_cluster_free(c);
    }
}

// ---- Chief and another, on one server ----

static bd_event said_waiting;

static void wait_sink(braid_log_level level, const char *message, void *arg)
{
    (void)level, (void)arg;
    if (strstr(message, "Waiting for the chief to initialize")) bd_event_set(&said_waiting);
}

typedef struct other {
    braid_server *server;
    braid_code code;
    float loss;
} other;

static void run_other(void *arg)
{
    other *o = arg;
    small_model m = small_model_make();
    braid_monitored_session *s =
        braid_monitored_session_open(m.graph, &(braid_session_config){.session.server = o->server});
    if (!braid_should_stop(s)) o->loss = small_model_loss(s, &m);
    o->code = braid_monitored_session_close(s);
    braid_graph_free(m.graph);
}

static void other_workers_wait_for_the_chief(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_event_init(&said_waiting);
    braid_set_log_sink(wait_sink, NULL);
    braid_server *server = braid_server_start_local(NULL, st);
    assert_ok(st);
    other o = {.server = server, .code = BRAID_UNKNOWN};
    bd_thread thread;
    bd_thread_start(&thread, "other", run_other, &o, st);
    assert_ok(st);
    bd_event_wait(&said_waiting);

    small_model m = small_model_make();
    braid_monitored_session *s = braid_monitored_session_open(
        m.graph, &(braid_session_config){.session.server = server, .is_chief = true});
    bd_thread_join(&thread);
    assert_int_equal(o.code, BRAID_OK);
    assert_float_equal(o.loss, 9, 1e-6f);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
    braid_server_free(server);
    braid_set_log_sink(NULL, NULL);
    bd_event_fini(&said_waiting);
}

// The variables live on the server, which outlives the chief's process.
static void a_chief_that_is_started_again_goes_on(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_server *server = braid_server_start_local(NULL, st);
    assert_ok(st);
    for (int64_t last = 4; last <= 8; last += 4) {
        small_model m = small_model_make();
        braid_monitored_session *s = braid_monitored_session_open(
            m.graph, &(braid_session_config){.session.server = server,
                                             .is_chief = true,
                                             .hooks = BRAID_HOOKS(braid_stop_at_step(last))});
        int steps = 0;
        for (; !braid_should_stop(s); steps++)
            assert_int_equal(small_model_step(s, &m), BRAID_OK);
        assert_int_equal(steps, 4);
        assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
        braid_graph_free(m.graph);
    }
    braid_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_model_learns),
        cmocka_unit_test(out_of_range_when_opening_is_an_error),
        cmocka_unit_test(an_error_of_the_graph_shows_when_opening),
        cmocka_unit_test(stopping_at_a_step_needs_a_global_step),
        cmocka_unit_test(waiting_for_the_chief_has_an_end),
        cmocka_unit_test(the_chief_follows_from_the_cluster),
        cmocka_unit_test(other_workers_wait_for_the_chief),
        cmocka_unit_test(a_chief_that_is_started_again_goes_on),
    };
    return BD_RUN_TESTS(tests);
}
