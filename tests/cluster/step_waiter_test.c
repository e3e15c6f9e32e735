// A late worker of a cluster, which waits until others have counted the global step up: it begins with the
// step, outlives a restart of the parameter server, and does not wait for a chief that has left.
// labels: concurrent
#include "base/alloc.h"
#include "io/testing/temp_dir.h"
#include "support/test_cluster.h"
#include <string.h>

static test_network network; // of the group that runs

#define WAIT_FOR 4

// How often the late worker has said that it waits, read from the log.
static bd_mutex said_mu = BD_MUTEX_INIT;
static bd_cond said_changed = BD_COND_INIT;
static int said_count; // guarded by said_mu

static void read_log(braid_log_level level, const char *message, void *arg)
{
    (void)level, (void)arg;
    if (!strstr(message, "Waiting until the global step is 4")) return;
    bd_mutex_lock(&said_mu);
    said_count++;
    bd_cond_broadcast(&said_changed);
    bd_mutex_unlock(&said_mu);
}

static void wait_said(int count)
{
    const int64_t deadline = bd_deadline_after_ms(PATIENCE_MS);
    bool is_late = false;
    bd_mutex_lock(&said_mu);
    while (said_count < count && !is_late)
        is_late = bd_cond_wait_until(&said_changed, &said_mu, deadline);
    bd_mutex_unlock(&said_mu);
    assert_false(is_late);
}

typedef struct fixture {
    test_cluster *cluster;
    char *dir;
} fixture;

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    f->cluster = test_cluster_new(network, 1, 2);
    f->dir = bd_temp_dir_new();
    *state = f;
    said_count = 0;
    braid_set_log_sink(read_log, NULL);
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    test_cluster_free(f->cluster);
    bd_temp_dir_free(f->dir);
    bd_free(f);
    braid_set_log_sink(NULL, NULL);
    return 0;
}

// A worker's program: it only counts.
typedef struct worker {
    braid_graph *graph;
    braid_op *step;
    braid_monitored_session *session;
} worker;

static void open_worker(worker *w, fixture *f, int index, braid_hook *hook)
{
    static const char *const filters[] = {"/job:ps"};
    *w = (worker){.graph = braid_graph_new()};
    braid_graph *g = w->graph;
    braid_push_device(g, PS);
    const braid_out step = braid_global_step(g);
    braid_tensor *one = braid_tensor_int64(1);
    w->step = braid_assign_add(g, step, braid_const(g, NULL, one)).op;
    braid_tensor_free(one);
    braid_pop_device(g);
    w->session = braid_monitored_session_open(
        g, &(braid_session_config){.session = {.server = test_server(f->cluster, "worker", index),
                                               .device_filters = filters,
                                               .device_filter_count = 1},
                                   .is_chief = index == 0,
                                   .checkpoint_dir = f->dir,
                                   .save_checkpoint_steps = 1,
                                   .hooks = BRAID_HOOKS(hook)});
}

static void train(worker *w, int steps)
{
    for (int i = 0; i < steps; i++)
        assert_int_equal(braid_run(w->session, NULL, NULL, w->step), BRAID_OK);
}

static void close_worker(worker *w, braid_code code)
{
    assert_int_equal(braid_monitored_session_close(w->session), code);
    braid_graph_free(w->graph);
}

// ---- The chief, and a late worker on a thread ----

typedef struct pair {
    worker chief, late;
    bd_thread thread;
    braid_code code; // of the late worker's first step
} pair;

static void run_late(void *arg)
{
    pair *p = arg;
    p->code = braid_run(p->late.session, NULL, NULL, p->late.step);
}

// The late worker waits when this returns.
static void open_both(pair *p, fixture *f, const braid_server_options *options)
{
    BD_STATUS(st);
    test_start_all(f->cluster, options);
    open_worker(&p->chief, f, 0, NULL);
    open_worker(&p->late, f, 1, braid_global_step_waiter(WAIT_FOR));
    bd_thread_start(&p->thread, "late", run_late, p, st);
    assert_int_equal(st->code, BRAID_OK);
    wait_said(1);
}

static void close_both(pair *p)
{
    bd_thread_join(&p->thread);
    assert_int_equal(p->code, BRAID_OK);
    assert_in_range(braid_monitored_session_global_step(p->late.session), WAIT_FOR, WAIT_FOR + 1);
    train(&p->late, 1); // waits no more
    close_worker(&p->late, BRAID_OK);
    close_worker(&p->chief, BRAID_OK);
}

static void a_late_worker_begins_when_others_have_reached_the_step(void **state)
{
    pair p;
    open_both(&p, *state, NULL);
    train(&p.chief, WAIT_FOR);
    close_both(&p);
    assert_int_equal(said_count, 1);
}

static void a_late_worker_waits_again_after_the_parameter_server_was_restarted(void **state)
{
    fixture *f = *state;
    pair p;
    open_both(&p, f, NULL);
    train(&p.chief, 1);
    test_kill(f->cluster, "ps", 0);
    test_start(f->cluster, "ps", 0, NULL);
    train(&p.chief, 1); // restores step 0 or 1
    wait_said(2);
    while (braid_monitored_session_global_step(p.chief.session) < WAIT_FOR - 1)
        train(&p.chief, 1);
    train(&p.chief, 1);
    bd_thread_join(&p.thread);
    assert_int_equal(p.code, BRAID_OK);
    assert_true(braid_monitored_session_global_step(p.late.session) >= WAIT_FOR);
    close_worker(&p.late, BRAID_OK);
    close_worker(&p.chief, BRAID_OK);
}

static void fail_late(pair *p, braid_code code, const char *words)
{
    BD_STATUS(st);
    bd_thread_join(&p->thread);
    assert_int_equal(p->code, code);
    braid_monitored_session_status(p->late.session, st);
    assert_error(st, code, "Waiting until the global step is 4");
    assert_error(st, code, words);
    close_worker(&p->late, code);
}

static void a_late_worker_does_not_wait_for_a_chief_that_is_done(void **state)
{
    fixture *f = *state;
    pair p;
    open_both(&p, f, NULL);
    train(&p.chief, 1);
    close_worker(&p.chief, BRAID_OK);
    braid_server_done(test_server(f->cluster, "worker", 0));
    fail_late(&p, BRAID_FAILED_PRECONDITION, "The chief, /job:worker/task:0");
}

static void a_late_worker_does_not_wait_for_a_chief_that_is_gone(void **state)
{
    fixture *f = *state;
    pair p;
    open_both(&p, f, &(braid_server_options){.worker_gone_timeout_ms = 100});
    braid_server_stop(test_server(f->cluster, "worker", 0), 0); // says nothing to the others
    fail_late(&p, BRAID_UNAVAILABLE, "The chief, /job:worker/task:0");
    BD_STATUS(why);
    bd_fail(why, BRAID_INTERNAL, "it is dead");
    braid_monitored_session_fail(p.chief.session, why);
    close_worker(&p.chief, BRAID_INTERNAL);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_late_worker_begins_when_others_have_reached_the_step),
        TEST(a_late_worker_waits_again_after_the_parameter_server_was_restarted),
        TEST(a_late_worker_does_not_wait_for_a_chief_that_is_done),
        TEST(a_late_worker_does_not_wait_for_a_chief_that_is_gone),
    };
    int failed = 0;
    for (network = TEST_GRPC; network <= TEST_IN_PROCESS; network++)
        failed += _cmocka_run_group_tests(network == TEST_GRPC ? "late workers over gRPC"
                                                               : "late workers in process",
                                          tests, sizeof tests / sizeof tests[0], NULL, NULL);
    return failed;
}
