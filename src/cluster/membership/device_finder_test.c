// What a search for devices makes of tasks that are done.
#include "base/testing/test.h"
#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/membership/device_finder.h"
#include "cluster/rpc/methods.h"
#include <string.h>

// A task of the cluster, as a search sees it.
typedef struct fake_task {
    bd_worker worker;
    const char *device;
    bool is_slow; // answers when the test says it, or when the call is cancelled
    bd_worker_devices_fn fn;
    void *arg;
    bd_cancellation *cancellation;
    bd_cancel_hook cancelled;
} fake_task;

// worker/0 searches; ps/0 is the membership server, whose calls the test answers.
typedef struct fixture {
    bd_transport *transport;
    braid_cluster *cluster;
    bd_timers *timers;
    bd_peers peers;
    bd_cancellation *cancellation;
    bd_spec_check *spec_check;
    bd_membership *membership;
    bd_listener *listener; // of ps
    char *address;
    fake_task ps, self;
    bd_incoming *asked, *compared;
    bd_event is_asked, is_found;
    bd_found_tasks found;
    braid_status status;
} fixture;

static void give_status(const fake_task *t)
{
    BD_STATUS(ok);
    const bd_device_info device = {.name = t->device, .type = "CPU", .incarnation = 1};
    t->fn(t->arg, &device, 1, ok);
}

static void answer_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    fake_task *t = BD_CONTAINER_OF(hook, fake_task, cancelled);
    t->fn(t->arg, NULL, 0, why);
}

static void get_status(bd_worker *w, bool wait, bd_cancellation *cancellation, bd_worker_devices_fn fn,
                       void *arg)
{
    (void)wait;
    fake_task *t = BD_CONTAINER_OF(w, fake_task, worker);
    t->fn = fn;
    t->arg = arg;
    t->cancellation = cancellation;
    t->cancelled.fn = answer_cancelled;
    if (t->is_slow)
        bd_cancellation_add(cancellation, &t->cancelled);
    else
        give_status(t);
}

static const bd_worker_ops fake_ops = {.get_status = get_status};

static void handle(void *arg, bd_incoming *call)
{
    fixture *f = arg;
    BD_STATUS(none);
    if (strcmp(call->method, BD_CLUSTER_SERVICE "DoneTasks") == 0 && !f->asked) {
        f->asked = call;
        bd_event_set(&f->is_asked);
    } else if (strcmp(call->method, BD_CLUSTER_SERVICE "CompareSpecifications") == 0) {
        f->compared = call;
    } else {
        bd_fail(none, BRAID_UNIMPLEMENTED, "no such method");
        bd_incoming_reply_error(call, none);
    }
}

// Answers that ps/0 is done.
static void answer_done(fixture *f)
{
    Braid__NotifyDoneRequest task = BRAID__NOTIFY_DONE_REQUEST__INIT, *tasks[] = {&task};
    Braid__DoneTasksResponse response = BRAID__DONE_TASKS_RESPONSE__INIT;
    task.job = "ps";
    response.n_task = 1;
    response.task = tasks;
    bd_incoming_reply_proto(f->asked, &response.base);
}

static void changed(void *arg)
{
    (void)arg;
}

static void add_task(fixture *f, fake_task *t, const char *job, const char *device)
{
    t->worker.ops = &fake_ops;
    t->device = device;
    for (int i = 0; i < f->peers.count; i++)
        if (strcmp(f->peers.items[i].job, job) == 0) f->peers.items[i].worker = &t->worker;
}

static int set_up(void **state)
{
    BD_STATUS(st);
    fixture *f = bd_calloc(1, sizeof *f);
    bd_event_init(&f->is_asked);
    bd_event_init(&f->is_found);
    f->transport = bd_inprocess_transport_new(NULL, NULL, st);
    bd_timers_new(&f->timers, st);
    f->cluster = bd_cluster_new();
    bd_cluster_add(f->cluster, "ps", 0, "127.0.0.1:1", st);
    bd_cluster_add(f->cluster, "worker", 0, "127.0.0.1:2", st);
    f->transport->listen(f->transport, "127.0.0.1:1", handle, f, &f->listener, &f->address, st);
    assert_ok(st);
    f->cancellation = bd_cancellation_new(NULL);
    bd_peers_init(&f->peers, f->cluster, "worker", 0, f->transport, f->timers);
    f->spec_check = bd_spec_check_new(f->cluster, &f->peers);
    f->membership = bd_membership_new(&(bd_membership_env){.peers = &f->peers,
                                                           .timers = f->timers,
                                                           .cancellation = f->cancellation,
                                                           .spec_check = f->spec_check,
                                                           .incarnation = 1,
                                                           .gone_timeout_ms = 60000,
                                                           .start_timeout_ms = 60000,
                                                           .changed = changed});
    add_task(f, &f->ps, "ps", "/job:ps/replica:0/task:0/device:CPU:0");
    add_task(f, &f->self, "worker", "/job:worker/replica:0/task:0/device:CPU:0");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    f->transport->listener_close(f->listener);
    f->transport->listener_stop(f->listener, 0);
    f->transport->listener_free(f->listener);
    bd_peers_close(&f->peers);
    bd_timers_free(f->timers);
    bd_membership_free(f->membership);
    bd_spec_check_free(f->spec_check);
    bd_peers_fini(&f->peers);
    bd_cancellation_unref(f->cancellation);
    bd_found_tasks_fini(&f->found);
    bd_status_fini(&f->status);
    bd_event_fini(&f->is_asked);
    bd_event_fini(&f->is_found);
    braid_cluster_free(f->cluster);
    f->transport->free(f->transport);
    bd_free(f->address);
    bd_free(f);
    return 0;
}

// Takes what was found over, as the master does.
static void take_found(void *arg, bd_found_tasks *found, const braid_status *st)
{
    fixture *f = arg;
    bd_status_copy(&f->status, st);
    f->found = *found;
    *found = (bd_found_tasks){0};
    bd_event_set(&f->is_found);
}

static void search(fixture *f)
{
    const bd_find_options options = {.peers = &f->peers,
                                     .timers = f->timers,
                                     .what = "The test",
                                     .deadline_ns = BD_FOREVER,
                                     .cancellation = f->cancellation,
                                     .spec_check = f->spec_check,
                                     .membership = f->membership};
    bd_find_devices(&options, take_found, f);
    bd_event_wait(&f->is_asked);
}

static void expect_both(fixture *f)
{
    bd_event_wait(&f->is_found);
    assert_ok(&f->status);
    assert_int_equal(f->found.count, 2);
}

// ---- Tests ----

static void a_task_that_does_not_answer_and_is_done_is_left_out(void **state)
{
    fixture *f = *state;
    f->ps.is_slow = true;
    search(f);
    answer_done(f);
    bd_event_wait(&f->is_found);
    assert_ok(&f->status);
    assert_int_equal(f->found.count, 1);
    assert_string_equal(f->found.items[0].peer->job, "worker");
}

static void done_tasks_that_are_told_after_the_end_change_nothing(void **state)
{
    fixture *f = *state;
    f->ps.is_slow = true;
    search(f);
    bd_cancellation_remove(f->ps.cancellation, &f->ps.cancelled);
    give_status(&f->ps);
    expect_both(f);
    answer_done(f);
    assert_int_equal(f->found.count, 2);
}

static void a_task_that_has_answered_and_is_compared_is_not_left_out(void **state)
{
    fixture *f = *state;
    BD_STATUS(old);
    atomic_store(&f->ps.worker.spec_fingerprint, bd_spec_check_fingerprint(f->spec_check) + 1);
    search(f);
    answer_done(f);
    bd_fail(old, BRAID_UNIMPLEMENTED, "as a task of an older version answers");
    bd_incoming_reply_error(f->compared, old);
    expect_both(f);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_task_that_does_not_answer_and_is_done_is_left_out),
        TEST(done_tasks_that_are_told_after_the_end_change_nothing),
        TEST(a_task_that_has_answered_and_is_compared_is_not_left_out),
    };
    return BD_RUN_TESTS(tests);
}
