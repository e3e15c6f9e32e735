// Tests of the membership of a cluster (when servers end) and of notifications between tasks.
// labels: concurrent
#include "base/alloc.h"
#include "support/test_cluster.h"
#include <stdlib.h>
#include <string.h>

static test_network network; // of the group that runs

#define GONE_MS 150 // the time after which a lost worker is gone for good, in tests that wait for it

// The number of liveness calls that workers have begun at the parameter server, read from the log.
static bd_mutex calls_mu = BD_MUTEX_INIT;
static bd_cond calls_changed = BD_COND_INIT;
static int liveness_calls; // guarded by calls_mu

static void read_log(braid_log_level level, const char *message, void *arg)
{
    (void)arg;
    if (level != BRAID_LOG_DEBUG || !strstr(message, " holds a liveness call")) return;
    bd_mutex_lock(&calls_mu);
    liveness_calls++;
    bd_cond_broadcast(&calls_changed);
    bd_mutex_unlock(&calls_mu);
}

static void wait_for_liveness_calls(int count)
{
    const int64_t deadline = bd_deadline_after_ms(PATIENCE_MS);
    bool late = false;
    bd_mutex_lock(&calls_mu);
    while (liveness_calls < count && !late)
        late = bd_cond_wait_until(&calls_changed, &calls_mu, deadline);
    bd_mutex_unlock(&calls_mu);
    assert_false(late);
}

typedef struct fixture {
    test_cluster *cluster;
    braid_graph *graph;
} fixture;

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    f->cluster = test_cluster_new(network, 1, 2);
    f->graph = braid_graph_new();
    *state = f;
    liveness_calls = 0;
    braid_set_log_level(BRAID_LOG_DEBUG);
    braid_set_log_sink(read_log, NULL);
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    braid_graph_free(f->graph);
    test_cluster_free(f->cluster);
    bd_free(f);
    braid_set_log_sink(NULL, NULL);
    braid_set_log_level(BRAID_LOG_INFO);
    return 0;
}

// ---- braid_server_join in a thread ----

typedef struct joining {
    braid_server *server;
    bd_thread thread;
    bd_event over;
    braid_status st; // of join
} joining;

static void join(void *arg)
{
    joining *j = arg;
    braid_server_join(j->server, &j->st);
    bd_event_set(&j->over);
}

static void start_join(joining *j, braid_server *server)
{
    BD_STATUS(st);
    *j = (joining){.server = server};
    bd_event_init(&j->over);
    assert_int_equal(bd_thread_start(&j->thread, "join", join, j, st), BRAID_OK);
}

// `error`: words of the error; NULL: there is none.
static void assert_join_ends(joining *j, const char *error)
{
    assert_true(bd_event_wait_until(&j->over, bd_deadline_after_ms(PATIENCE_MS)));
    bd_thread_join(&j->thread);
    bd_event_fini(&j->over);
    if (error)
        assert_error(&j->st, BRAID_UNAVAILABLE, error);
    else
        assert_int_equal(j->st.code, BRAID_OK);
    bd_status_fini(&j->st);
}

static void assert_joined(joining *j)
{
    assert_join_ends(j, NULL);
}

static void a_parameter_server_ends_when_all_workers_are_done(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    joining j;
    start_join(&j, test_server(f->cluster, "ps", 0));
    braid_server_done(test_server(f->cluster, "worker", 0));
    braid_server_done(test_server(f->cluster, "worker", 0));
    assert_false(bd_event_wait_until(&j.over, bd_deadline_after_ms(GONE_MS)));
    braid_server_done(test_server(f->cluster, "worker", 1));
    assert_joined(&j);
}

static void freeing_a_server_notifies_that_its_task_is_done(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    joining j;
    start_join(&j, test_server(f->cluster, "ps", 0));
    for (int i = 1; i <= 2; i++) {
        braid_server_free(f->cluster->tasks[i].server);
        f->cluster->tasks[i].server = NULL;
    }
    assert_joined(&j);
}

static void servers_do_not_wait_for_a_worker_that_is_gone(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, &(braid_server_options){.worker_gone_timeout_ms = GONE_MS});
    wait_for_liveness_calls(2);
    joining j;
    start_join(&j, test_server(f->cluster, "ps", 0));
    braid_server_done(test_server(f->cluster, "worker", 0));
    test_kill(f->cluster, "worker", 1);
    assert_join_ends(&j, "(lost)");
}

static void servers_wait_for_a_missing_worker_until_the_start_timeout(void **state)
{
    fixture *f = *state;
    setenv("BRAID_START_TIMEOUT_SECONDS", "0.15", 1);
    test_start(f->cluster, "ps", 0, NULL);
    unsetenv("BRAID_START_TIMEOUT_SECONDS");
    joining j;
    start_join(&j, test_server(f->cluster, "ps", 0));
    test_start(f->cluster, "worker", 0, NULL);
    braid_server_done(test_server(f->cluster, "worker", 0));
    // On a busy machine worker 0 may have come too late as well.
    assert_join_ends(&j, "/job:worker/task:1");
}

static void a_task_that_failed_does_not_say_that_it_is_done(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, &(braid_server_options){.worker_gone_timeout_ms = GONE_MS});
    wait_for_liveness_calls(2);
    joining j;
    start_join(&j, test_server(f->cluster, "ps", 0));
    braid_server_failed(test_server(f->cluster, "worker", 0));
    for (int i = 1; i <= 2; i++) {
        braid_server_free(f->cluster->tasks[i].server);
        f->cluster->tasks[i].server = NULL;
    }
    assert_join_ends(&j, "/job:worker/task:0");
}

static void servers_wait_for_a_worker_that_never_started(void **state)
{
    fixture *f = *state;
    const braid_server_options options = {.worker_gone_timeout_ms = 1};
    test_start(f->cluster, "ps", 0, &options);
    test_start(f->cluster, "worker", 0, &options);
    joining j;
    start_join(&j, test_server(f->cluster, "ps", 0));
    braid_server_done(test_server(f->cluster, "worker", 0));
    assert_false(bd_event_wait_until(&j.over, bd_deadline_after_ms(GONE_MS)));
    test_start(f->cluster, "worker", 1, &options);
    braid_server_done(test_server(f->cluster, "worker", 1));
    assert_joined(&j);
}

static void servers_wait_for_a_worker_that_reconnects(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, &(braid_server_options){.worker_gone_timeout_ms = PATIENCE_MS});
    wait_for_liveness_calls(2);
    joining j;
    start_join(&j, test_server(f->cluster, "ps", 0));
    test_kill(f->cluster, "worker", 1);
    braid_server_done(test_server(f->cluster, "worker", 0));
    test_start(f->cluster, "worker", 1, NULL);
    wait_for_liveness_calls(3);
    assert_false(bd_event_is_set(&j.over));
    braid_server_done(test_server(f->cluster, "worker", 1));
    assert_joined(&j);
}

static void stopping_ends_join(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    joining ps, worker;
    start_join(&ps, test_server(f->cluster, "ps", 0));
    start_join(&worker, test_server(f->cluster, "worker", 0));
    braid_server_stop(test_server(f->cluster, "ps", 0), 0);
    assert_joined(&ps);
    braid_server_stop(test_server(f->cluster, "worker", 0), 0);
    assert_joined(&worker);
}

static void a_worker_ends_when_it_is_done_and_the_parameter_servers_have_ended(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    wait_for_liveness_calls(2);
    joining ps, worker;
    start_join(&ps, test_server(f->cluster, "ps", 0));
    start_join(&worker, test_server(f->cluster, "worker", 0));
    braid_server_done(test_server(f->cluster, "worker", 0));
    assert_false(bd_event_wait_until(&worker.over, bd_deadline_after_ms(GONE_MS)));
    braid_server_done(test_server(f->cluster, "worker", 1));
    assert_joined(&ps);
    braid_server_free(f->cluster->tasks[0].server);
    f->cluster->tasks[0].server = NULL;
    assert_joined(&worker);
}

// ---- Notifications ----

typedef struct waiting {
    braid_session *s;
    int64_t seen, generation;
    braid_status st;
    bd_thread thread;
} waiting;

static void wait_notification(void *arg)
{
    waiting *w = arg;
    braid_session_wait_notification(
        w->s, &(braid_notification_wait){.key = "ready", .seen = w->seen, .timeout_ms = PATIENCE_MS},
        &w->generation, &w->st);
}

static void start_wait_notification(waiting *w, braid_session *s, int64_t seen)
{
    BD_STATUS(st);
    *w = (waiting){.s = s, .seen = seen};
    assert_int_equal(bd_thread_start(&w->thread, "await", wait_notification, w, st), BRAID_OK);
}

static braid_session *open_on(fixture *f, int worker, bool is_remote)
{
    BD_STATUS(st);
    braid_session *s = is_remote ? test_remote_session(f->cluster, f->graph, "worker", worker, NULL, st)
                                 : test_session(f->cluster, f->graph, "worker", worker, NULL, st);
    if (!s) fail_msg("%s", st->message);
    return s;
}

static int64_t generation_of(braid_session *s)
{
    BD_STATUS(st);
    int64_t generation;
    assert_int_equal(
        braid_session_wait_notification(
            s, &(braid_notification_wait){.key = "ready", .seen = -1, .timeout_ms = 0}, &generation, st),
        BRAID_OK);
    return generation;
}

static void a_notification_reaches_all_waiting_sessions(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    braid_session *sessions[] = {open_on(f, 0, false), open_on(f, 1, false), open_on(f, 1, true)};
    BD_STATUS(st);
    const int64_t first = generation_of(sessions[0]);
    for (int round = 0; round < 3; round++) {
        waiting waiters[3];
        for (int i = 0; i < 3; i++) {
            assert_int_equal(generation_of(sessions[i]), first + round);
            start_wait_notification(&waiters[i], sessions[i], first + round);
        }
        assert_int_equal(braid_session_notify(sessions[round], "ready", st), BRAID_OK);
        for (int i = 0; i < 3; i++) {
            bd_thread_join(&waiters[i].thread);
            assert_int_equal(waiters[i].st.code, BRAID_OK);
            assert_int_equal(waiters[i].generation, first + round + 1);
        }
    }
    for (int i = 0; i < 3; i++)
        braid_session_close(sessions[i], st);
}

static void keys_are_independent(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    braid_session *s = open_on(f, 0, false);
    BD_STATUS(st);
    const int64_t before = generation_of(s);
    int64_t generation;
    assert_int_equal(braid_session_notify(s, "another", st), BRAID_OK);
    assert_int_equal(generation_of(s), before);
    assert_int_equal(braid_session_wait_notification(
                         s, &(braid_notification_wait){.key = "another", .seen = before, .timeout_ms = 0},
                         &generation, st),
                     BRAID_OK);
    assert_int_equal(generation, before + 1);
    braid_session_close(s, st);
}

static void waiting_for_a_notification_has_a_timeout(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    for (int is_remote = 0; is_remote < 2; is_remote++) {
        BD_STATUS(st);
        braid_session *s = open_on(f, 1, is_remote);
        int64_t generation;
        braid_session_wait_notification(
            s, &(braid_notification_wait){.key = "ready", .seen = 0, .timeout_ms = 30}, &generation, st);
        assert_error(st, BRAID_DEADLINE_EXCEEDED, "'ready'");
        braid_session_close(s, st);
    }
}

static void a_wait_ends_when_the_chief_is_gone(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, &(braid_server_options){.worker_gone_timeout_ms = GONE_MS});
    wait_for_liveness_calls(2); // the chief, worker 0, is known
    braid_session *sessions[] = {open_on(f, 1, false), open_on(f, 1, true)};
    waiting waiters[2];
    for (int i = 0; i < 2; i++)
        start_wait_notification(&waiters[i], sessions[i], 0);
    test_kill(f->cluster, "worker", 0);
    BD_STATUS(st);
    for (int i = 0; i < 2; i++) {
        bd_thread_join(&waiters[i].thread);
        assert_error(&waiters[i].st, BRAID_UNAVAILABLE, "The chief, /job:worker/task:0 at ");
        assert_error(&waiters[i].st, BRAID_UNAVAILABLE, "gone");
        bd_status_fini(&waiters[i].st);
        braid_session_close(sessions[i], st);
    }
}

static void a_wait_ends_when_too_few_tasks_are_left(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, &(braid_server_options){.worker_gone_timeout_ms = GONE_MS});
    wait_for_liveness_calls(2);
    BD_STATUS(st);
    braid_session *s = open_on(f, 0, false);
    test_kill(f->cluster, "worker", 1);
    braid_session_wait_notification(
        s, &(braid_notification_wait){.key = "ready", .timeout_ms = PATIENCE_MS, .min_tasks = 2}, NULL, st);
    assert_error(st, BRAID_UNAVAILABLE, "Only 1 of 2 tasks are left, and 2 are needed: /job:worker/task:1");
    braid_status_clear(st);
    braid_session_wait_notification(
        s, &(braid_notification_wait){.key = "ready", .timeout_ms = GONE_MS, .min_tasks = 1}, NULL, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "'ready'");
    braid_status_clear(st);
    braid_session_close(s, st);
}

static void a_wait_ends_when_the_other_tasks_are_done(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    BD_STATUS(st);
    braid_session *s = open_on(f, 0, false);
    braid_server_done(test_server(f->cluster, "worker", 1));
    braid_session_wait_notification(
        s, &(braid_notification_wait){.key = "ready", .timeout_ms = PATIENCE_MS, .min_tasks = 2}, NULL, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "is done");
    braid_status_clear(st);
    braid_session_close(s, st);
}

static void notifications_outlive_the_chief(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    braid_session *chief = open_on(f, 0, false), *other = open_on(f, 1, false);
    BD_STATUS(st);
    assert_int_equal(braid_session_notify(chief, "ready", st), BRAID_OK);
    braid_session_close(chief, st);
    braid_server_free(f->cluster->tasks[1].server);
    f->cluster->tasks[1].server = NULL;
    int64_t generation;
    assert_int_equal(braid_session_wait_notification(
                         other,
                         &(braid_notification_wait){.key = "ready", .seen = 0, .timeout_ms = PATIENCE_MS},
                         &generation, st),
                     BRAID_OK);
    braid_session_wait_notification(
        other, &(braid_notification_wait){.key = "ready", .seen = generation, .timeout_ms = PATIENCE_MS},
        &generation, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "is done and will not notify 'ready'");
    braid_session_close(other, st);
}

static void a_generation_of_a_restarted_owner_ends_the_wait_at_once(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    braid_session *s = open_on(f, 0, false);
    BD_STATUS(st);
    for (int i = 0; i < 3; i++)
        assert_int_equal(braid_session_notify(s, "ready", st), BRAID_OK);
    waiting w;
    start_wait_notification(&w, s, generation_of(s));
    test_kill(f->cluster, "ps", 0);
    test_start(f->cluster, "ps", 0, NULL);
    bd_thread_join(&w.thread);
    assert_int_equal(w.st.code, BRAID_OK);
    assert_true(w.generation > w.seen);
    braid_session_wait_notification(
        s, &(braid_notification_wait){.key = "ready", .seen = w.generation, .timeout_ms = 30}, &w.generation,
        st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "'ready'");
    braid_status_clear(st);
    braid_session_close(s, st);
}

static void a_key_has_a_maximum_length(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    braid_session *s = open_on(f, 0, false);
    char key[2000];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = 0;
    BD_STATUS(st);
    int64_t generation;
    braid_session_notify(s, key, st);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "A key is longer than 1024");
    braid_status_clear(st);
    braid_session_wait_notification(
        s, &(braid_notification_wait){.key = key, .seen = 0, .timeout_ms = PATIENCE_MS}, &generation, st);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "A key is longer than 1024");
    braid_session_close(s, st);
}

static void a_wait_ends_when_the_owner_is_gone(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, &(braid_server_options){.worker_gone_timeout_ms = GONE_MS});
    wait_for_liveness_calls(2);
    braid_session *s = open_on(f, 0, false);
    waiting w;
    start_wait_notification(&w, s, 0);
    test_kill(f->cluster, "ps", 0);
    bd_thread_join(&w.thread);
    assert_error(&w.st, BRAID_UNAVAILABLE, "/job:ps/task:0 at ");
    bd_status_fini(&w.st);
    BD_STATUS(st);
    braid_session_close(s, st);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_parameter_server_ends_when_all_workers_are_done),
        TEST(freeing_a_server_notifies_that_its_task_is_done),
        TEST(servers_do_not_wait_for_a_worker_that_is_gone),
        TEST(servers_wait_for_a_missing_worker_until_the_start_timeout),
        TEST(a_task_that_failed_does_not_say_that_it_is_done),
        TEST(servers_wait_for_a_worker_that_never_started),
        TEST(servers_wait_for_a_worker_that_reconnects),
        TEST(stopping_ends_join),
        TEST(a_worker_ends_when_it_is_done_and_the_parameter_servers_have_ended),
        TEST(a_notification_reaches_all_waiting_sessions),
        TEST(keys_are_independent),
        TEST(waiting_for_a_notification_has_a_timeout),
        TEST(a_wait_ends_when_the_chief_is_gone),
        TEST(a_wait_ends_when_too_few_tasks_are_left),
        TEST(a_wait_ends_when_the_other_tasks_are_done),
        TEST(notifications_outlive_the_chief),
        TEST(a_generation_of_a_restarted_owner_ends_the_wait_at_once),
        TEST(a_key_has_a_maximum_length),
        TEST(a_wait_ends_when_the_owner_is_gone),
    };
    int failed = 0;
    for (network = TEST_GRPC; network <= TEST_IN_PROCESS; network++)
        failed +=
            _cmocka_run_group_tests(network == TEST_GRPC ? "membership over gRPC" : "membership in process",
                                    tests, sizeof tests / sizeof tests[0], NULL, NULL);
    return failed;
}
