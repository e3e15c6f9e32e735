// A task of two processes over gRPC: its channel leads to the one that serves, the other one refuses calls.
// labels: concurrent
#include "base/alloc.h"
#include "base/strbuf.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/rpc.h"
#include "cluster/server_internal.h"
#include "cluster/spec/cluster_spec.h"
#include "grpc/health/v1/health.pb-c.h"
#include "support/test_cluster.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS BD_WORKER_SERVICE "GetStatus"

enum {
    SERVING = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING,
    NOT_SERVING = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING,
};

typedef struct fixture {
    bd_port ports[3];
    char addresses[2][32], pair[64];
    braid_cluster *cluster;
    braid_server *replicas[2], *worker;
    bd_transport *client;
} fixture;

static braid_server *start(const fixture *f, const char *job, int replica)
{
    BD_STATUS(st);
    braid_server *s = braid_server_start(f->cluster, job, 0, &(braid_server_options){.replica = replica}, st);
    if (!s) fail_msg("%s", st->message);
    return s;
}

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    BD_STATUS(st);
    assert_true(bd_ports_take(f->ports, 3));
    char worker[32];
    for (int r = 0; r < 2; r++)
        snprintf(f->addresses[r], sizeof f->addresses[r], "127.0.0.1:%d", f->ports[r].number);
    snprintf(f->pair, sizeof f->pair, "%.30s|%.30s", f->addresses[0], f->addresses[1]);
    snprintf(worker, sizeof worker, "127.0.0.1:%d", f->ports[2].number);
    f->cluster = braid_cluster_from_hosts(f->pair, worker, st);
    f->client = bd_grpc_transport_new(st);
    for (int r = 0; r < 2; r++)
        f->replicas[r] = start(f, "ps", r);
    *state = f;
    return 0;
}

static void kill_server(braid_server **s)
{
    if (*s) braid_server_stop(*s, 0);
    braid_server_free(*s);
    *s = NULL;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    kill_server(&f->worker);
    for (int r = 0; r < 2; r++)
        kill_server(&f->replicas[r]);
    f->client->free(f->client);
    braid_cluster_free(f->cluster);
    bd_ports_release(f->ports, 3);
    bd_free(f);
    return 0;
}

// ---- A process of its own, which serves until it is killed ----

extern char **environ;

static int serve(const char *pair, const char *worker)
{
    BD_STATUS(st);
    const braid_cluster *cluster = braid_cluster_from_hosts(pair, worker, st);
    braid_server *s = cluster ? braid_server_start(cluster, "ps", 0, NULL, st) : NULL;
    if (!s) return 1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pause();
    return 0;
}

static pid_t spawn_replica_0(const fixture *f)
{
    pid_t pid;
    char *argv[] = {"replicas_test", (char *)f->pair, (char *)braid_cluster_address(f->cluster, "worker", 0),
                    NULL};
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    return pid;
}

// ---- Calls ----

static braid_code call(const fixture *f, bd_channel *c, const char *method, bool waits,
                       const ProtobufCMessage *request, bd_message *response, braid_status *st)
{
    const bd_rpc_options options = {.transport = f->client,
                                    .channel = c,
                                    .method = method,
                                    .deadline_ns = bd_deadline_after_ms(PATIENCE_MS),
                                    .wait_for_ready = waits};
    bd_message message;
    bd_message_init(&message);
    bd_proto_pack_message(request, &message);
    return bd_rpc_wait(&options, &message, NULL, "", response, st);
}

// The incarnation of the server that answers, 0 and an error when none does.
static uint64_t who_answers(const fixture *f, bd_channel *c, bool waits, braid_status *st)
{
    const Tensorflow__GetStatusRequest request = TENSORFLOW__GET_STATUS_REQUEST__INIT;
    bd_message response;
    BD_PROTO_ARENA(arena);
    const Tensorflow__GetStatusResponse *read = NULL;
    braid_status_clear(st);
    if (!call(f, c, STATUS, waits, &request.base, &response, st))
        read = bd_proto_unpack_message(&tensorflow__get_status_response__descriptor, &response, arena, st);
    const uint64_t incarnation =
        read && read->n_device_attributes ? read->device_attributes[0]->incarnation : 0;
    bd_message_fini(&response);
    return incarnation;
}

// A call may still meet the connection to a process that has just ended: the next one does not.
static uint64_t who_serves(const fixture *f, bd_channel *c)
{
    const int64_t deadline_ns = bd_deadline_after_ms(PATIENCE_MS);
    uint64_t who;
    BD_STATUS(st);
    while ((who = who_answers(f, c, true, st)) == 0 && st->code == BRAID_UNAVAILABLE &&
           bd_now_ns() < deadline_ns)
        ;
    return who;
}

static uint64_t incarnation_of(const braid_server *s)
{
    return s->devices[0]->incarnation;
}

static int health(const fixture *f, int replica)
{
    BD_STATUS(st);
    const Grpc__Health__V1__HealthCheckRequest request = GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
    bd_channel *c = f->client->connect(f->client, f->addresses[replica]);
    bd_message response;
    BD_PROTO_ARENA(arena);
    const Grpc__Health__V1__HealthCheckResponse *read = NULL;
    if (!call(f, c, BD_HEALTH_SERVICE "Check", true, &request.base, &response, st))
        read = bd_proto_unpack_message(&grpc__health__v1__health_check_response__descriptor, &response, arena,
                                       st);
    if (!read) fail_msg("%s", st->message);
    const int status = (int)read->status;
    bd_message_fini(&response);
    f->client->channel_close(c);
    return status;
}

typedef struct waiting_call {
    const fixture *f;
    bd_channel *channel;
    bd_thread thread;
    uint64_t incarnation;
} waiting_call;

static void wait_for_answer(void *arg)
{
    waiting_call *w = arg;
    BD_STATUS(st);
    w->incarnation = who_answers(w->f, w->channel, true, st);
}

// ---- Tests ----

static void a_standby_says_so_and_refuses_calls(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    bd_channel *c = f->client->connect(f->client, f->pair);
    assert_int_equal(who_serves(f, c), incarnation_of(f->replicas[0]));
    assert_int_equal(health(f, 0), SERVING);
    assert_int_equal(health(f, 1), NOT_SERVING);
    bd_channel *to_standby = f->client->connect(f->client, f->addresses[1]);
    static const char *const methods[] = {STATUS, BD_MASTER_SERVICE "ListDevices", BD_MASTER_SERVICE "Reset",
                                          BD_CLUSTER_SERVICE "RecvChunk"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        const Tensorflow__GetStatusRequest empty = TENSORFLOW__GET_STATUS_REQUEST__INIT;
        bd_message response;
        braid_status_clear(st);
        call(f, to_standby, methods[i], true, &empty.base, &response, st);
        bd_message_fini(&response);
        assert_error(st, BRAID_UNAVAILABLE, "this is the standby of the task, whose other process serves");
    }
    kill_server(&f->replicas[0]);
    assert_int_equal(who_serves(f, c), incarnation_of(f->replicas[1]));
    assert_int_equal(health(f, 1), SERVING);
    assert_int_equal(who_answers(f, to_standby, false, st), incarnation_of(f->replicas[1]));
    f->client->channel_close(to_standby);
    f->client->channel_close(c);
}

static void calls_go_to_the_process_that_serves(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    bd_channel *c = f->client->connect(f->client, f->pair);
    for (int turn = 0; turn < 4; turn++) {
        const int serves = turn % 2;
        const uint64_t serving = incarnation_of(f->replicas[serves]);
        assert_int_equal(who_serves(f, c), serving);
        for (int i = 0; i < 20; i++)
            assert_int_equal(who_answers(f, c, false, st), serving);
        kill_server(&f->replicas[serves]);
        assert_int_equal(who_serves(f, c), incarnation_of(f->replicas[1 - serves]));
        f->replicas[serves] = start(f, "ps", serves);
    }
    f->client->channel_close(c);
}

static void kill_both(fixture *f)
{
    kill_server(&f->replicas[1]);
    kill_server(&f->replicas[0]);
}

static void calls_that_do_not_wait_fail_while_no_process_serves(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    bd_channel *c = f->client->connect(f->client, f->pair);
    kill_both(f);
    assert_int_equal(who_answers(f, c, false, st), 0);
    assert_error(st, BRAID_UNAVAILABLE, "");
    f->client->channel_close(c);
}

static void a_call_that_waits_gets_the_process_that_begins_to_serve(void **state)
{
    fixture *f = *state;
    bd_channel *c = f->client->connect(f->client, f->pair);
    waiting_call w = {.f = f, .channel = c};
    BD_STATUS(st);
    kill_both(f);
    assert_int_equal(who_answers(f, c, false, st), 0);
    assert_int_equal(bd_thread_start(&w.thread, "waits", wait_for_answer, &w, st), BRAID_OK);
    f->replicas[1] = start(f, "ps", 1);
    bd_thread_join(&w.thread);
    assert_int_equal(w.incarnation, incarnation_of(f->replicas[1]));
    f->client->channel_close(c);
}

static void a_process_that_is_killed_is_replaced(void **state)
{
    fixture *f = *state;
    kill_both(f);
    const pid_t pid = spawn_replica_0(f);
    bd_channel *c = f->client->connect(f->client, f->pair);
    const uint64_t killed = who_serves(f, c);
    f->replicas[1] = start(f, "ps", 1);
    const uint64_t next = incarnation_of(f->replicas[1]);
    assert_true(killed != 0 && killed != next);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(who_serves(f, c), next);
    f->client->channel_close(c);
}

static bool is_loss(const braid_status *st)
{
    return st->code == BRAID_ABORTED || st->code == BRAID_UNAVAILABLE;
}

// As a training program: a session that loses its parameter server is opened again.
static braid_session *open_and_run(const fixture *f, braid_graph *g, braid_op *op)
{
    const int64_t deadline_ns = bd_deadline_after_ms(PATIENCE_MS);
    for (;;) {
        BD_STATUS(st);
        braid_session *s = braid_session_open(g, &(braid_session_options){.server = f->worker}, st);
        if (s && !test_run_status(s, op, PATIENCE_MS, st)) return s;
        if (!is_loss(st) || bd_now_ns() > deadline_ns) fail_msg("%s", st->message);
        braid_session_close(s, NULL);
    }
}

static void a_session_goes_on_with_the_variables_of_the_process_that_is_lost(void **state)
{
    fixture *f = *state;
    f->worker = start(f, "worker", 0);
    braid_graph *g = braid_graph_new();
    braid_op *init, *nothing = braid_no_op(g, "nothing");
    const braid_out v = test_variable(g, "v", PS, 7, &init);
    braid_session *s = open_and_run(f, g, init);
    const int64_t deadline_ns = bd_deadline_after_ms(PATIENCE_MS);
    while (!bd_replication_is_standby(f->replicas[1]->env.replication) && bd_now_ns() < deadline_ns)
        test_run(s, init);
    test_blocked step;
    test_blocked_start(&step, s, g, PS);
    kill_server(&f->replicas[0]);
    test_blocked_join(&step);
    assert_true(is_loss(&step.st));
    bd_status_fini(&step.st);
    braid_session_close(s, NULL);
    s = open_and_run(f, g, nothing);
    assert_true(test_fetch(s, v) == 7);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

int main(int argc, char **argv)
{
    if (argc == 3) return serve(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_standby_says_so_and_refuses_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_go_to_the_process_that_serves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_that_waits_gets_the_process_that_begins_to_serve, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_process_that_is_killed_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_session_goes_on_with_the_variables_of_the_process_that_is_lost,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_that_do_not_wait_fail_while_no_process_serves, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
