// What a task says of itself: variables, sessions, steps, what they wait for, and the other tasks.
// labels: concurrent
#include "base/alloc.h"
#include "cluster/monitoring/description.h"
#include "cluster/server_internal.h"
#include "support/test_cluster.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct fixture {
    test_cluster *cluster;
    braid_graph *g;
    braid_session *s; // on the worker's master
    braid_out variable;
    braid_op *init;
} fixture;

static int set_up(void **state)
{
    BD_STATUS(st);
    fixture *f = *state = bd_calloc(1, sizeof *f);
    f->cluster = test_cluster_new(TEST_GRPC, 1, 1);
    test_start_all(f->cluster, NULL);
    f->g = braid_graph_new();
    f->variable = test_variable(f->g, "variable", PS, 1, &f->init);
    f->s = test_session(f->cluster, f->g, "worker", 0, NULL, st);
    assert_non_null(f->s);
    return 0;
}

static int tear_down(void **state)
{
    BD_STATUS(st);
    fixture *f = *state;
    if (f->s) braid_session_close(f->s, st);
    braid_graph_free(f->g);
    test_cluster_free(f->cluster);
    bd_free(f);
    return 0;
}

static braid_task_description *describe(const fixture *f, const char *job)
{
    BD_STATUS(st);
    const braid_monitor_options options = {.timeout_ms = PATIENCE_MS};
    braid_task_description *d =
        braid_describe_task(braid_cluster_address(f->cluster->spec, job, 0), &options, st);
    if (!d) fail_msg("%s", st->message);
    return d;
}

// ---- The tests ----

static void a_task_describes_itself(void **state)
{
    const fixture *f = *state;
    braid_task_description *d = describe(f, "ps");
    assert_string_equal(d->job, "ps");
    assert_int_equal(d->index, 0);
    assert_string_equal(d->address, braid_cluster_address(f->cluster->spec, "ps", 0));
    assert_string_equal(d->version, braid_version());
    assert_int_equal(d->pid, getpid());
    assert_true(d->is_serving && d->incarnation && d->resident_bytes > 0 && d->uptime_ms >= 0);
    assert_true(d->calls > 0);
    assert_int_equal(d->task_count, 2);
    assert_string_equal(d->tasks[1].job, "worker");
    assert_string_equal(d->tasks[1].address, braid_cluster_address(f->cluster->spec, "worker", 0));
    braid_task_description_free(d);
}

static void variables_are_counted_where_they_are(void **state)
{
    const fixture *f = *state;
    test_run(f->s, f->init);
    braid_task_description *ps = describe(f, "ps"), *worker = describe(f, "worker");
    assert_int_equal(ps->variable_count, 1);
    assert_int_equal(ps->variable_bytes, sizeof(float));
    assert_int_equal(worker->variable_count, 0);
    braid_task_description_free(ps);
    braid_task_description_free(worker);
}

static void variables_of_isolated_sessions_are_counted_while_these_are_open(void **state)
{
    const fixture *f = *state;
    BD_STATUS(st);
    const braid_session_options options = {.isolate_session_state = true};
    braid_session *s = test_session(f->cluster, f->g, "worker", 0, &options, st);
    test_run(s, f->init);
    braid_task_description *d = describe(f, "ps");
    assert_int_equal(d->variable_count, 1);
    braid_task_description_free(d);
    braid_session_close(s, st);
}

static uint64_t steps_in_classes(const braid_task_description *d)
{
    uint64_t steps = 0;
    for (int i = 0; i < d->step_class_count; i++)
        steps += d->step_classes[i].count;
    return steps;
}

static void steps_are_counted_by_their_master_and_where_they_run(void **state)
{
    const fixture *f = *state;
    BD_STATUS(st);
    const braid_out unset = f->variable;
    float value;
    test_fetch_status(f->s, unset, 0, &value, st); // it is not initialized
    assert_int_equal(st->code, BRAID_FAILED_PRECONDITION);
    test_run(f->s, f->init);
    for (int i = 0; i < 3; i++)
        test_fetch(f->s, f->variable);
    braid_task_description *worker = describe(f, "worker"), *ps = describe(f, "ps");
    assert_int_equal(worker->steps_ended, 5);
    assert_int_equal(worker->steps_failed, 1);
    assert_int_equal(steps_in_classes(worker), 5);
    assert_true(worker->step_seconds > 0);
    assert_int_equal(worker->steps_running, 0);
    assert_int_equal(worker->session_count, 1);
    assert_int_equal(worker->sessions[0].steps_ended, 5);
    assert_int_equal(worker->sessions[0].steps_failed, 1);
    assert_string_equal(worker->sessions[0].owner, "the server's process");
    assert_int_equal(ps->steps_ended, 0);
    assert_true(ps->executions_ended >= 5);
    assert_true(ps->executions_failed >= 1);
    assert_int_equal(ps->session_count, 0);
    braid_task_description_free(ps);
    braid_task_description_free(worker);
}

static void bytes_between_tasks_are_counted_at_both_ends(void **state)
{
    const fixture *f = *state;
    const braid_out moved = NODE(f->g, "Neg", "moved", WORKER, f->variable);
    test_run(f->s, f->init);
    test_fetch(f->s, moved);
    braid_task_description *ps = describe(f, "ps"), *worker = describe(f, "worker");
    assert_true(ps->sent_bytes >= sizeof(float));
    assert_int_equal(ps->sent_bytes, worker->received_bytes);
    braid_task_description_free(ps);
    braid_task_description_free(worker);
}

// The step has begun, and is about to wait.
static braid_task_description *describe_waiting(const fixture *f)
{
    const int64_t deadline_ns = bd_deadline_after_ms(PATIENCE_MS);
    for (;;) { // ends: the step waits soon
        braid_task_description *d = describe(f, "ps");
        if (d->execution_count == 1 && d->executions[0].waits_for[0]) return d;
        braid_task_description_free(d);
        assert_true(bd_now_ns() < deadline_ns);
    }
}

static void a_waiting_step_says_what_it_waits_for(void **state)
{
    const fixture *f = *state;
    test_blocked blocked;
    test_blocked_start(&blocked, f->s, f->g, PS);
    braid_task_description *worker = describe(f, "worker"), *ps = describe_waiting(f);
    assert_int_equal(worker->steps_running, 1);
    assert_int_equal(worker->step_count, 1);
    assert_int_equal(worker->sessions[0].steps_running, 1);
    assert_int_equal(ps->executions_running, 1);
    assert_int_equal(ps->execution_count, 1);
    assert_int_equal(ps->executions[0].id, worker->steps[0].id);
    assert_string_equal(ps->executions[0].session, worker->sessions[0].handle);
    assert_string_equal(ps->executions[0].session, worker->steps[0].session);
    assert_non_null(strstr(ps->executions[0].waits_for, "never (_Recv from /job:ps/"));
    braid_task_description_free(ps);
    braid_task_description_free(worker);
    braid_session_cancel(f->s);
    test_blocked_join(&blocked);
    bd_status_fini(&blocked.st);
    worker = describe(f, "worker");
    assert_int_equal(worker->steps_running, 0);
    assert_int_equal(worker->step_count, 0);
    braid_task_description_free(worker);
}

static void a_parameter_server_knows_who_is_done_and_who_was_never_seen(void **state)
{
    (void)state;
    test_cluster *c = test_cluster_new(TEST_GRPC, 1, 2);
    const fixture f = {.cluster = c};
    test_start(c, "ps", 0, NULL);
    braid_server *worker = test_start(c, "worker", 0, NULL);
    braid_server_done(worker);
    bd_membership_wait_notified(worker->env.membership);
    braid_task_description *d = describe(&f, "ps");
    assert_int_equal(d->tasks[0].state, BRAID_TASK_CONNECTED); // itself
    assert_int_equal(d->tasks[1].state, BRAID_TASK_DONE);
    assert_int_equal(d->tasks[2].state, BRAID_TASK_UNSEEN);
    assert_string_equal(braid_task_state_name(d->tasks[2].state), "unseen");
    braid_task_description_free(d);
    test_cluster_free(c);
}

// A port at which connections are taken by the kernel and by nobody else.
static int listen_silently(char *address, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    snprintf(address, size, "127.0.0.1:%d", ntohs(at.sin_port));
    return fd;
}

static void each_task_that_does_not_answer_has_its_error(void **state)
{
    const fixture *f = *state;
    char silent[32];
    const int fd = listen_silently(silent, sizeof silent);
    BD_STATUS(st);
    BD_STATUS(dead);
    BD_STATUS(late);
    BD_STATUS(wrong);
    const char *addresses[] = {braid_cluster_address(f->cluster->spec, "ps", 0), "127.0.0.1:1", silent,
                               "here"};
    braid_status *statuses[] = {st, dead, late, wrong};
    braid_task_description *d[4];
    braid_monitor *m = braid_monitor_new(&(braid_monitor_options){.timeout_ms = 1000}, st);
    braid_monitor_describe(m, addresses, 4, d, statuses);
    assert_true(d[0] && !d[1] && !d[2] && !d[3]);
    assert_int_equal(st->code, BRAID_OK);
    assert_error(dead, BRAID_UNAVAILABLE, "127.0.0.1:1 is unavailable");
    assert_error(late, BRAID_DEADLINE_EXCEEDED, "does not answer within 1.0 s");
    assert_int_equal(wrong->code, BRAID_INVALID_ARGUMENT);
    braid_task_description_free(d[0]);
    braid_monitor_free(m);
    close(fd);
}

static void a_description_is_a_line_of_json(void **state)
{
    const fixture *f = *state;
    braid_task_description *d = describe(f, "worker");
    char *json = braid_task_description_json(d);
    assert_true(json[0] == '{' && json[strlen(json) - 1] == '}');
    assert_null(strchr(json, '\n'));
    assert_non_null(strstr(json, "\"job\":\"worker\",\"index\":0,"));
    assert_non_null(strstr(json, "\"owner\":\"the server's process\""));
    free(json);
    braid_task_description_free(d);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_task_describes_itself),
        TEST(variables_are_counted_where_they_are),
        TEST(variables_of_isolated_sessions_are_counted_while_these_are_open),
        TEST(steps_are_counted_by_their_master_and_where_they_run),
        TEST(bytes_between_tasks_are_counted_at_both_ends),
        TEST(a_waiting_step_says_what_it_waits_for),
        TEST(each_task_that_does_not_answer_has_its_error),
        TEST(a_description_is_a_line_of_json),
        cmocka_unit_test(a_parameter_server_knows_who_is_done_and_who_was_never_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
