// The public session: closing it ends all calls in progress and waits for them.
// labels: concurrent
#include "runtime/testing/test_ops.h"

#include "base/alloc.h"
#include "graph/turns.h"
#include "runtime/testing/test_graph.h"

// ---- A session whose calls last until they are cancelled ----

typedef struct lasting {
    bd_session base;
    braid_session *session; // over this
    bd_event begun, cancelled;
    atomic_int inside;
    braid_code late;    // the result of a call that starts while the session closes
    bool *closed_empty; // whether no call was in progress when it was closed
} lasting;

// The target of runs, and whether it is sent at once.
static braid_op *target;
static bool is_sent_at_once;

static braid_code run_target(braid_session *s)
{
    return braid_session_run(s, &(braid_run_args){.targets = &target, .target_count = 1}, NULL);
}

static lasting *lasting_of(bd_session *s)
{
    return BD_CONTAINER_OF(s, lasting, base);
}

static braid_code last(bd_session *base, braid_status *st)
{
    lasting *s = lasting_of(base);
    atomic_fetch_add(&s->inside, 1);
    bd_event_set(&s->begun);
    bd_event_wait(&s->cancelled);
    bd_fail(st, BRAID_CANCELLED, "Session has been closed.");
    atomic_fetch_sub(&s->inside, 1);
    return st->code;
}

static braid_code lasting_extend(bd_session *base, const braid_graph *graph, int from, braid_status *st)
{
    (void)from;
    bd_graph_unlock(graph);
    return is_sent_at_once ? BRAID_OK : last(base, st);
}

static braid_code lasting_run(bd_session *base, const bd_session_run *run, braid_status *st)
{
    (void)run;
    return last(base, st);
}

static braid_code lasting_list(bd_session *base, bd_device_info **devices, int *count, braid_status *st)
{
    (void)devices, (void)count;
    return last(base, st);
}

static braid_code lasting_notify(bd_session *base, const char *key, braid_status *st)
{
    (void)key;
    return last(base, st);
}

static braid_code lasting_wait_notification(bd_session *base, const braid_notification_wait *wait,
                                            int64_t *generation, braid_status *st)
{
    (void)wait, (void)generation;
    return last(base, st);
}

static void lasting_cancel(bd_session *base)
{
    lasting *s = lasting_of(base);
    s->late = run_target(s->session);
    bd_event_set(&s->cancelled);
}

static braid_code lasting_close(bd_session *base, braid_status *st)
{
    (void)st;
    lasting *s = lasting_of(base);
    *s->closed_empty = atomic_load(&s->inside) == 0 && s->late == BRAID_CANCELLED;
    bd_event_fini(&s->begun);
    bd_event_fini(&s->cancelled);
    bd_free(s);
    return BRAID_OK;
}

static lasting *lasting_new(braid_graph *g, bool *closed_empty)
{
    static const bd_session_ops ops = {.extend = lasting_extend,
                                       .run = lasting_run,
                                       .list_devices = lasting_list,
                                       .notify = lasting_notify,
                                       .wait_notification = lasting_wait_notification,
                                       .cancel = lasting_cancel,
                                       .close = lasting_close};
    lasting *s = bd_calloc(1, sizeof *s);
    s->base.ops = &ops;
    s->closed_empty = closed_empty;
    bd_event_init(&s->begun);
    bd_event_init(&s->cancelled);
    s->session = bd_session_wrap(g, &s->base);
    return s;
}

// ---- Calls ----

typedef struct caller {
    braid_session *session;
    braid_code (*call)(braid_session *s);
    braid_code code;
    bd_thread thread;
} caller;

static void call_on_thread(void *arg)
{
    caller *c = arg;
    c->code = c->call(c->session);
}

static braid_code call_list(braid_session *s)
{
    const braid_device_attributes *devices;
    int count;
    return braid_session_list_devices(s, &devices, &count, NULL);
}

static braid_code call_notify(braid_session *s)
{
    return braid_session_notify(s, "key", NULL);
}

static braid_code call_wait_notification(braid_session *s)
{
    return braid_session_wait_notification(s, &(braid_notification_wait){.key = "key"}, NULL, NULL);
}

static void close_during(braid_graph *g, braid_code (*call)(braid_session *s))
{
    BD_STATUS(st);
    bool closed_empty = false;
    lasting *l = lasting_new(g, &closed_empty);
    caller c = {.session = l->session, .call = call};
    bd_thread_start(&c.thread, "caller", call_on_thread, &c, st);
    assert_ok(st);
    bd_event_wait(&l->begun);
    braid_session_close(l->session, st);
    assert_ok(st);
    assert_true(closed_empty);
    bd_thread_join(&c.thread);
    assert_int_equal(c.code, BRAID_CANCELLED);
}

static void closing_waits_for_each_kind_of_call_and_refuses_new_ones(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    target = tg_float(g, "c", 1).op;
    for (int i = 0; i < 2; i++) {
        is_sent_at_once = i == 0;
        close_during(g, run_target); // the second time while it still sends the node
    }
    close_during(g, call_list);
    close_during(g, call_notify);
    close_during(g, call_wait_notification);
    braid_graph_free(g);
}

// ---- The in-process session ----

static braid_out waited_for;

static braid_code call_run_waiting(braid_session *s)
{
    braid_tensor *value;
    BD_STATUS(st);
    tg_try(s, waited_for, NULL, &value, st);
    return st->code;
}

static void closing_cancels_runs_in_progress(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    waited_for = braid_output(tg_after(g, "TestWait", "wait", 0, NULL), 0);
    caller c = {.session = tg_session(g, NULL), .call = call_run_waiting};
    BD_STATUS(st);
    bd_thread_start(&c.thread, "caller", call_on_thread, &c, st);
    assert_ok(st);
    test_wait_for_waiters(1);
    tg_close(c.session, g);
    bd_thread_join(&c.thread);
    assert_int_equal(c.code, BRAID_CANCELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closing_waits_for_each_kind_of_call_and_refuses_new_ones),
        cmocka_unit_test(closing_cancels_runs_in_progress),
    };
    return BD_RUN_TESTS(tests);
}
