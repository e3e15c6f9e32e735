// What a task says to a membership server, and what the server makes of it.
#include "base/testing/test.h"
#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/membership/membership.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/rpc.h"
#include "proto/pack.h"
#include <braid/log.h>
#include <string.h>

#define GONE_MS 60000

// One task of the cluster ps/0, worker/0; in some tests of worker/0, worker/1.
typedef struct task {
    bd_peers peers;
    bd_cancellation *cancellation;
    bd_spec_check *spec_check;
    bd_membership *membership;
} task;

typedef struct fixture {
    bd_transport *transport;
    braid_cluster *cluster;
    bd_timers *timers;
    task ps, worker;
    bd_listener *listener; // of ps
    char *address;
    int silent_calls; // the number of NotifyDone calls that are not answered
    int notified;     // NotifyDone calls that have come
    int liveness_calls;
    bd_event held[2];     // the liveness calls have come
    bd_event notice;      // a NotifyDone call that is not answered has come
    bd_listener *foreign; // a worker of TensorFlow's; NULL: none
    bd_event asked;       // it has answered GetStatus twice
    int questions;
} fixture;

static void drop(void *arg, bool cancelled)
{
    (void)cancelled;
    BD_STATUS(st);
    bd_fail(st, BRAID_CANCELLED, "The caller has given up");
    bd_incoming_reply_error(arg, st);
}

static void handle(void *arg, bd_incoming *call)
{
    fixture *f = arg;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    if (strcmp(call->method, BD_CLUSTER_SERVICE "Liveness") == 0) {
        const Braid__LivenessRequest *request =
            bd_proto_unpack_message(&braid__liveness_request__descriptor, &call->request, arena, st);
        bd_membership_serve_liveness(f->ps.membership, call, request->job, request->task,
                                     request->incarnation);
        bd_event_set(&f->held[f->liveness_calls++]);
    } else if (f->notified++ < f->silent_calls) {
        call->transport->on_end(call, drop, call);
        bd_event_set(&f->notice);
    } else {
        bd_incoming_reply_status(call, st);
    }
}

static bd_event *changes; // set by each; NULL: none

static void changed(void *arg)
{
    (void)arg;
    if (changes) bd_event_set(changes);
}

static void init_task(task *t, fixture *f, const char *job, int index, int64_t gone_ms)
{
    t->cancellation = bd_cancellation_new(NULL);
    bd_peers_init(&t->peers, f->cluster, job, index, f->transport, f->timers);
    t->spec_check = bd_spec_check_new(f->cluster, &t->peers);
    t->membership = bd_membership_new(&(bd_membership_env){.peers = &t->peers,
                                                           .timers = f->timers,
                                                           .cancellation = t->cancellation,
                                                           .spec_check = t->spec_check,
                                                           .incarnation = 1,
                                                           .gone_timeout_ms = gone_ms,
                                                           .start_timeout_ms = GONE_MS,
                                                           .changed = changed});
}

static void init(task *t, fixture *f, const char *job, int64_t gone_ms)
{
    init_task(t, f, job, 0, gone_ms);
}

static fixture *fixture_new(braid_status *st)
{
    fixture *f = bd_calloc(1, sizeof *f);
    bd_event_init(&f->held[0]);
    bd_event_init(&f->held[1]);
    bd_event_init(&f->notice);
    bd_event_init(&f->asked);
    f->transport = bd_inprocess_transport_new(NULL, NULL, st);
    bd_timers_new(&f->timers, st);
    f->cluster = bd_cluster_new();
    return f;
}

static int set_up(void **state)
{
    BD_STATUS(st);
    fixture *f = fixture_new(st);
    bd_cluster_add(f->cluster, "ps", 0, "127.0.0.1:1", st);
    bd_cluster_add(f->cluster, "worker", 0, "127.0.0.1:2", st);
    f->transport->listen(f->transport, "127.0.0.1:1", handle, f, &f->listener, &f->address, st);
    assert_ok(st);
    init(&f->ps, f, "ps", GONE_MS);
    init(&f->worker, f, "worker", GONE_MS);
    *state = f;
    return 0;
}

static void handle_at_second(void *arg, bd_incoming *call)
{
    const fixture *f = arg;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__NotifyDoneRequest *request =
        bd_proto_unpack_message(&braid__notify_done_request__descriptor, &call->request, arena, st);
    const bd_done_notice notice = {request->job, request->task, request->incarnation, request->only_serves};
    bd_membership_done(f->worker.membership, &notice, st);
    bd_incoming_reply_status(call, st);
}

// `ps` is worker/0, a membership server that does not listen, and `worker` is worker/1.
static int set_up_workers(void **state)
{
    BD_STATUS(st);
    fixture *f = fixture_new(st);
    bd_cluster_add(f->cluster, "worker", 0, "127.0.0.1:1", st);
    bd_cluster_add(f->cluster, "worker", 1, "127.0.0.1:2", st);
    f->transport->listen(f->transport, "127.0.0.1:2", handle_at_second, f, &f->listener, &f->address, st);
    assert_ok(st);
    init_task(&f->ps, f, "worker", 0, GONE_MS);
    init_task(&f->worker, f, "worker", 1, GONE_MS);
    *state = f;
    return 0;
}

static void fini(task *t)
{
    bd_membership_free(t->membership);
    bd_spec_check_free(t->spec_check);
    bd_peers_fini(&t->peers);
    bd_cancellation_unref(t->cancellation);
}

static void stop_listening(fixture *f)
{
    if (!f->listener) return;
    bd_membership_close(f->ps.membership, "the end of the test");
    f->transport->listener_close(f->listener);
    f->transport->listener_stop(f->listener, 0);
    f->transport->listener_free(f->listener);
    f->listener = NULL;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    stop_listening(f);
    bd_peers_close(&f->worker.peers);
    bd_peers_close(&f->ps.peers);
    bd_timers_free(f->timers);
    fini(&f->worker);
    fini(&f->ps);
    bd_event_fini(&f->held[0]);
    bd_event_fini(&f->held[1]);
    bd_event_fini(&f->notice);
    bd_event_fini(&f->asked);
    braid_cluster_free(f->cluster);
    f->transport->free(f->transport);
    bd_free(f->address);
    bd_free(f);
    return 0;
}

// ---- At the task that is done ----

static void a_server_that_did_not_answer_is_notified_again(void **state)
{
    fixture *f = *state;
    f->silent_calls = 1;
    bd_membership_notify_done(f->worker.membership, false);
    bd_membership_wait_notified(f->worker.membership);
    assert_int_equal(f->notified, 2);
}

static void a_silent_server_is_notified_until_it_takes_the_task_for_gone(void **state)
{
    fixture *f = *state;
    bd_peers_close(&f->worker.peers);
    fini(&f->worker);
    init(&f->worker, f, "worker", 1); // ms
    f->silent_calls = 100;
    bd_membership_notify_done(f->worker.membership, false);
    bd_membership_wait_notified(f->worker.membership);
    assert_int_equal(f->notified, 1);
}

static void a_server_that_is_not_there_is_not_waited_for(void **state)
{
    fixture *f = *state;
    stop_listening(f);
    const int64_t begin = bd_now_ns();
    bd_membership_notify_done(f->worker.membership, false);
    bd_membership_wait_notified(f->worker.membership);
    assert_true(bd_now_ns() - begin < GONE_MS / 2 * INT64_C(1000000));
}

static void a_task_that_is_stopped_ends_its_notices(void **state)
{
    fixture *f = *state;
    f->silent_calls = 100;
    bd_membership_notify_done(f->worker.membership, false);
    bd_event_wait(&f->notice); // ends: the call goes to a server of this process
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "stopped");
    bd_cancellation_cancel(f->worker.cancellation, why);
    bd_membership_wait_notified(f->worker.membership);
    assert_int_equal(f->notified, 1);
}

static void a_worker_that_others_wait_for_tells_those_who_hold_no_call(void **state)
{
    fixture *f = *state;
    bd_membership_notify_done(f->worker.membership, false);
    bd_membership_wait_notified(f->worker.membership);
    assert_false(bd_membership_is_over(f->worker.membership)); // worker/0 may be about to start
    bd_membership_notify_done(f->ps.membership, false);
    bd_membership_wait_notified(f->ps.membership);
    assert_true(bd_membership_is_over(f->worker.membership));
}

static void a_first_worker_that_only_serves_is_not_taken_for_ended(void **state)
{
    fixture *f = *state;
    bd_membership_notify_done(f->worker.membership, true);
    bd_membership_wait_notified(f->worker.membership);
    bd_membership_notify_done(f->ps.membership, true);
    bd_membership_wait_notified(f->ps.membership);
    assert_false(bd_membership_is_over(f->worker.membership));
    bd_membership_notify_done(f->ps.membership, false);
    bd_membership_wait_notified(f->ps.membership);
    assert_true(bd_membership_is_over(f->worker.membership));
}

static void a_server_that_was_not_there_is_told_of_later_work(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    stop_listening(f);
    bd_membership_notify_done(f->worker.membership, true);
    bd_membership_wait_notified(f->worker.membership);
    bd_membership_notify_done(f->worker.membership, false); // the first call is refused
    bd_free(f->address);
    f->transport->listen(f->transport, "127.0.0.1:1", handle, f, &f->listener, &f->address, st);
    assert_ok(st);
    bd_membership_wait_notified(f->worker.membership);
    assert_int_equal(f->notified, 1);
}

// ---- At the membership server ----

static bd_event *logged_twice; // set by the line

static void read_log(braid_log_level level, const char *message, void *arg)
{
    (void)arg;
    if (level == BRAID_LOG_ERROR &&
        strstr(message, "Two processes say that they are /job:worker/task:0 at 127.0.0.1:2: they call from "))
        bd_event_set(logged_twice);
}

static void liveness_ended(void *arg, bd_message *response, const braid_status *st)
{
    (void)arg, (void)response, (void)st;
}

// A worker of this incarnation begins its liveness call.
static void begin_liveness(fixture *f, uint64_t incarnation)
{
    Braid__LivenessRequest request = BRAID__LIVENESS_REQUEST__INIT;
    request.job = "worker";
    request.incarnation = incarnation;
    const bd_peer *ps = bd_membership_first_server(&f->worker.peers);
    const bd_rpc_options options = bd_peer_rpc(ps, BD_CLUSTER_SERVICE "Liveness");
    bd_event *held = &f->held[f->liveness_calls];
    bd_rpc_start_proto(&options, &request.base, liveness_ended, NULL);
    bd_event_wait(held);
}

static void say_done(fixture *f, uint64_t incarnation)
{
    BD_STATUS(st);
    bd_membership_done(f->ps.membership, &(bd_done_notice){"worker", 0, incarnation, false}, st);
    assert_ok(st);
}

static bool is_done(fixture *f)
{
    bool is_done;
    bd_membership_has_left(f->ps.membership, &f->ps.peers.items[1], &is_done);
    return is_done;
}

static void a_task_stays_done_when_its_liveness_call_comes_later(void **state)
{
    fixture *f = *state;
    say_done(f, 7);
    begin_liveness(f, 7);
    assert_true(is_done(f));
}

static void a_task_that_was_done_before_it_was_seen_can_restart(void **state)
{
    fixture *f = *state;
    say_done(f, 7);
    begin_liveness(f, 8);
    assert_false(is_done(f));
    say_done(f, 8);
    assert_true(is_done(f));
}

static void a_late_notice_from_before_a_restart_has_no_effect(void **state)
{
    fixture *f = *state;
    begin_liveness(f, 7);
    begin_liveness(f, 8);
    say_done(f, 7);
    assert_false(is_done(f));
}

static void a_task_may_only_serve_after_a_restart(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    begin_liveness(f, 7);
    say_done(f, 7);
    bd_membership_done(f->ps.membership, &(bd_done_notice){"worker", 0, 8, .only_serves = true}, st);
    begin_liveness(f, 8);
    assert_true(is_done(f));
    assert_false(bd_membership_is_over(f->ps.membership));
    assert_ok(st);
}

// Programs outside the cluster use it.
static void a_cluster_whose_tasks_only_serve_is_not_over(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    bd_done_notice notice = {"worker", 0, 7, .only_serves = true};
    bd_membership_done(f->ps.membership, &notice, st);
    assert_true(is_done(f));
    assert_false(bd_membership_is_over(f->ps.membership));
    notice.only_serves = false; // it had work after all
    bd_membership_done(f->ps.membership, &notice, st);
    assert_true(bd_membership_is_over(f->ps.membership));
    notice.only_serves = true; // a repeated call of the first notice, which comes late
    bd_membership_done(f->ps.membership, &notice, st);
    assert_true(bd_membership_is_over(f->ps.membership));
    assert_ok(st);
}

static void a_first_worker_that_serves_others_ends_with_their_work(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    bd_membership_notify_done(f->ps.membership, true);
    bd_membership_wait_notified(f->ps.membership);
    bd_done_notice notice = {"worker", 1, 7, .only_serves = true};
    bd_membership_done(f->ps.membership, &notice, st);
    assert_false(bd_membership_is_over(f->ps.membership));
    notice.only_serves = false;
    bd_membership_done(f->ps.membership, &notice, st);
    assert_true(bd_membership_is_over(f->ps.membership));
    assert_ok(st);
}

static void answer_as_tensorflow(void *arg, bd_incoming *call)
{
    fixture *f = arg;
    BD_STATUS(st);
    const bool knows = strstr(call->method, "/GetStatus") != NULL;
    if (!knows) bd_fail(st, BRAID_UNIMPLEMENTED, "%s", call->method);
    bd_incoming_reply_status(call, st);
    if (knows && ++f->questions == 2) bd_event_set(&f->asked);
}

// A worker that holds no liveness call lives until the parameter server has seen it.
static void let_a_worker_of_tensorflow_live(fixture *f, bool leaves_session)
{
    BD_STATUS(st);
    char *address = NULL;
    bd_peers_close(&f->ps.peers);
    fini(&f->ps);
    init(&f->ps, f, "ps", 8); // ms
    f->transport->listen(f->transport, "127.0.0.1:2", answer_as_tensorflow, f, &f->foreign, &address, st);
    assert_ok(st);
    bd_free(address);
    bd_membership_session_opened(f->ps.membership, "first", "/job:worker/replica:0/task:0", 4);
    bd_membership_start(f->ps.membership);
    bd_event_wait(&f->asked); // ends: asked again and again, the second time after the first answer
    assert_false(bd_membership_is_over(f->ps.membership));
    bd_membership_session_opened(f->ps.membership, "closed", "/job:worker/replica:0/task:0", 5);
    bd_membership_session_closed(f->ps.membership, "closed");
    if (leaves_session) // before it ends
        bd_membership_session_opened(f->ps.membership, "open", "/job:worker/replica:0/task:0", 5);
    f->transport->listener_close(f->foreign);
    f->transport->listener_stop(f->foreign, 0);
    f->transport->listener_free(f->foreign);
}

static void a_task_of_tensorflow_is_done_when_it_has_closed_its_sessions_and_ended(void **state)
{
    fixture *f = *state;
    changes = &f->notice;
    let_a_worker_of_tensorflow_live(f, false);
    bd_event_wait(&f->notice); // ends: it is looked for until then
    changes = NULL;
    assert_true(is_done(f));
    assert_true(bd_membership_is_over(f->ps.membership));
}

static void a_task_of_tensorflow_that_leaves_a_session_open_is_gone(void **state)
{
    fixture *f = *state;
    changes = &f->notice;
    let_a_worker_of_tensorflow_live(f, true);
    bd_event_wait(&f->notice); // ends: it is looked for until then
    changes = NULL;
    BD_STATUS(st);
    assert_true(bd_membership_is_over(f->ps.membership));
    assert_int_equal(bd_membership_check_done(f->ps.membership, st), BRAID_UNAVAILABLE);
}

static void a_task_that_was_started_twice_is_named(void **state)
{
    fixture *f = *state;
    bd_peers_close(&f->ps.peers);
    fini(&f->ps);
    init(&f->ps, f, "ps", 1); // ms
    logged_twice = &f->notice;
    braid_set_log_sink(read_log, NULL);
    begin_liveness(f, 7);
    begin_liveness(f, 8);
    const bool is_logged = bd_event_wait_until(&f->notice, bd_deadline_after_ms(GONE_MS / 2));
    braid_set_log_sink(NULL, NULL);
    assert_true(is_logged);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_server_that_did_not_answer_is_notified_again),
        TEST(a_silent_server_is_notified_until_it_takes_the_task_for_gone),
        TEST(a_server_that_is_not_there_is_not_waited_for),
        TEST(a_task_that_is_stopped_ends_its_notices),
        cmocka_unit_test_setup_teardown(a_worker_that_others_wait_for_tells_those_who_hold_no_call,
                                        set_up_workers, tear_down),
        cmocka_unit_test_setup_teardown(a_first_worker_that_only_serves_is_not_taken_for_ended,
                                        set_up_workers, tear_down),
        TEST(a_server_that_was_not_there_is_told_of_later_work),
        TEST(a_task_may_only_serve_after_a_restart),
        TEST(a_task_stays_done_when_its_liveness_call_comes_later),
        TEST(a_task_that_was_done_before_it_was_seen_can_restart),
        TEST(a_task_that_was_started_twice_is_named),
        TEST(a_task_of_tensorflow_is_done_when_it_has_closed_its_sessions_and_ended),
        TEST(a_task_of_tensorflow_that_leaves_a_session_open_is_gone),
        TEST(a_late_notice_from_before_a_restart_has_no_effect),
        TEST(a_cluster_whose_tasks_only_serve_is_not_over),
        cmocka_unit_test_setup_teardown(a_first_worker_that_serves_others_ends_with_their_work,
                                        set_up_workers, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
