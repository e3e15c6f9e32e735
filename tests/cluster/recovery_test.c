// Monitored sessions that lose a task of their cluster: they open another session, restore, and go on.
// labels: concurrent
#include "base/alloc.h"
#include "support/training.h"
#include <stdlib.h>
#include <string.h>

static test_network network; // of the group that runs

// The number of checkpoints that have been saved, read from the log.
static bd_mutex saved_mu = BD_MUTEX_INIT;
static bd_cond saved_changed = BD_COND_INIT;
static int saved_count; // guarded by saved_mu

static void read_log(braid_log_level level, const char *message, void *arg)
{
    (void)level, (void)arg;
    if (!strstr(message, "Saved the checkpoint")) return;
    bd_mutex_lock(&saved_mu);
    saved_count++;
    bd_cond_broadcast(&saved_changed);
    bd_mutex_unlock(&saved_mu);
}

static void wait_saved(int count)
{
    const int64_t deadline = bd_deadline_after_ms(PATIENCE_MS);
    bool late = false;
    bd_mutex_lock(&saved_mu);
    while (saved_count < count && !late)
        late = bd_cond_wait_until(&saved_changed, &saved_mu, deadline);
    bd_mutex_unlock(&saved_mu);
    assert_false(late);
}

static int set_up(void **state)
{
    *state = test_training_new(network, 1, 2);
    saved_count = 0;
    braid_set_log_sink(read_log, NULL);
    return 0;
}

static int tear_down(void **state)
{
    test_training_free(*state);
    braid_set_log_sink(NULL, NULL);
    return 0;
}

// One worker's program: a variable on the parameter server to which each step adds 1.
typedef struct worker {
    test_training *f;
    int index;
    braid_graph *graph;
    braid_variable x;
    braid_op *step;
    braid_monitored_session *session;
} worker;

typedef struct counter {
    braid_hook hook;
    int created, *closed;
} counter;

static braid_code count_created(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    (void)s, (void)st;
    ((counter *)hook)->created++;
    return BRAID_OK;
}

static void count_closed(braid_hook *hook, braid_monitored_session *s)
{
    (void)s;
    (*((counter *)hook)->closed)++;
}

static void free_counter(braid_hook *hook)
{
    bd_free(hook);
}

static braid_hook *counter_new(int *closed)
{
    counter *c = bd_calloc(1, sizeof *c);
    c->hook = (braid_hook){
        .after_create_session = count_created, .before_close_session = count_closed, .free = free_counter};
    c->closed = closed;
    return &c->hook;
}

static void open_worker(worker *w, test_training *f, int index, braid_hook *hook)
{
    *w = (worker){.f = f, .index = index, .graph = braid_graph_new()};
    braid_graph *g = w->graph;
    braid_push_device(g, PS);
    w->x = braid_variable_new(g, "x", braid_const_float(g, NULL, 0), true);
    const braid_out step = braid_global_step(g);
    braid_op *added = braid_assign_add(g, w->x.ref, braid_const_float(g, NULL, 1)).op;
    braid_push_control(g, &added, 1);
    braid_tensor *one = braid_tensor_int64(1);
    w->step = braid_assign_add(g, step, braid_const(g, NULL, one)).op;
    braid_tensor_free(one);
    braid_pop_control(g);
    braid_pop_device(g);
    braid_session_config config = test_worker_config(test_server(f->cluster, "worker", index), index, f->dir);
    config.save_checkpoint_steps = 5;
    config.hooks = hook ? BRAID_HOOKS(hook) : NULL;
    w->session = braid_monitored_session_open(g, &config);
}

static void train(worker *w, int steps)
{
    for (int i = 0; i < steps; i++)
        if (braid_run(w->session, NULL, NULL, w->step)) {
            BD_STATUS(st);
            braid_monitored_session_status(w->session, st);
            fail_msg("%s", braid_status_message(st));
        }
}

static float value_of(worker *w)
{
    braid_tensor *value = NULL;
    assert_int_equal(braid_evaluate(w->session, NULL, BRAID_FETCH({w->x.read, &value})), BRAID_OK);
    const float x = *(const float *)braid_tensor_data(value);
    braid_tensor_free(value);
    return x;
}

static void read_value(void *arg)
{
    value_of(arg);
}

static void close_worker(worker *w, braid_code code)
{
    test_worker_close(w->session, w->graph, code);
}

static void restart_ps(test_training *f)
{
    test_kill(f->cluster, "ps", 0);
    test_start(f->cluster, "ps", 0, NULL);
}

static void the_newest_checkpoint_is_restored_on_a_restarted_parameter_server(void **state)
{
    test_training *f = *state;
    test_start_all(f->cluster, NULL);
    worker w;
    int closed = 0;
    counter *hook = (counter *)counter_new(&closed);
    open_worker(&w, f, 0, &hook->hook);
    wait_saved(1);
    train(&w, 5);
    wait_saved(2);
    train(&w, 2);
    assert_float_equal(value_of(&w), 7, 0);
    restart_ps(f);
    train(&w, 1);
    assert_float_equal(value_of(&w), 6, 0); // 5 from the checkpoint, and the step
    assert_int_equal(braid_monitored_session_global_step(w.session) + 1, 6);
    assert_int_equal(hook->created, 2);
    assert_int_equal(closed, 1);
    train(&w, 4);
    close_worker(&w, BRAID_OK);
    assert_int_equal(closed, 2);
    char *latest = braid_latest_checkpoint(f->dir, NULL);
    assert_non_null(strstr(latest, "model.ckpt-10"));
    bd_free(latest);
}

static void other_workers_wait_until_the_chief_has_restored(void **state)
{
    test_training *f = *state;
    test_start_all(f->cluster, NULL);
    worker chief, other;
    open_worker(&chief, f, 0, NULL);
    open_worker(&other, f, 1, NULL);
    wait_saved(1);
    train(&chief, 5);
    wait_saved(2);
    restart_ps(f);
    bd_thread thread;
    BD_STATUS(st);
    assert_int_equal(bd_thread_start(&thread, "chief", read_value, &chief, st), BRAID_OK);
    train(&other, 1);
    bd_thread_join(&thread);
    assert_float_equal(value_of(&other), 6, 0);
    close_worker(&other, BRAID_OK);
    close_worker(&chief, BRAID_OK);
}

static void training_fails_when_the_parameter_server_stays_away(void **state)
{
    test_training *f = *state;
    test_start_all(f->cluster, NULL);
    worker w;
    open_worker(&w, f, 0, NULL);
    train(&w, 1);
    test_kill(f->cluster, "ps", 0);
    setenv("BRAID_GRACE_SECONDS", "0.2", 1);
    BD_STATUS(st);
    assert_int_equal(braid_run(w.session, NULL, NULL, w.step), BRAID_DEADLINE_EXCEEDED);
    unsetenv("BRAID_GRACE_SECONDS");
    assert_true(braid_should_stop(w.session));
    braid_monitored_session_status(w.session, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "/job:ps/task:0");
    close_worker(&w, BRAID_DEADLINE_EXCEEDED);
}

static void recovery_can_be_switched_off(void **state)
{
    test_training *f = *state;
    test_start_all(f->cluster, NULL);
    braid_graph *g = braid_graph_new();
    braid_push_device(g, PS);
    const braid_variable x = braid_variable_new(g, "x", braid_const_float(g, NULL, 0), true);
    braid_pop_device(g);
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.session.server = test_server(f->cluster, "worker", 0),
                                   .is_chief = true,
                                   .max_recoveries = -1});
    restart_ps(f);
    braid_tensor *value = NULL;
    // Unavailable if the connection is lost first, Aborted if the restarted server answers first.
    const braid_code code = braid_evaluate(s, NULL, BRAID_FETCH({x.read, &value}));
    assert_true(code == BRAID_ABORTED || code == BRAID_UNAVAILABLE);
    assert_int_equal(braid_monitored_session_close(s), code);
    braid_graph_free(g);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_newest_checkpoint_is_restored_on_a_restarted_parameter_server),
        TEST(other_workers_wait_until_the_chief_has_restored),
        TEST(training_fails_when_the_parameter_server_stays_away),
        TEST(recovery_can_be_switched_off),
    };
    int failed = 0;
    for (network = TEST_GRPC; network <= TEST_IN_PROCESS; network++)
        failed += _cmocka_run_group_tests(network == TEST_GRPC ? "recovery over gRPC" : "recovery in process",
                                          tests, sizeof tests / sizeof tests[0], NULL, NULL);
    return failed;
}
