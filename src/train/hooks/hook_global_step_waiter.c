// The hook that holds back a process until others have made some steps.
//
// A node beside the global step ends when the step is reached. While it runs, a thread waits for a
// notification: that wait ends with an error when the chief is done or gone for good, after which the step
// might never be reached. The notification itself comes from waiters whose step is reached, to end their
// threads.
#include "base/alloc.h"
#include "base/log.h"
#include "train/sessions/monitored_session.h"
#include <braid/hooks.h>
#include <braid/variables.h>
#include <stdatomic.h>

#define KEY "global_step_waiter"

typedef struct global_step_waiter {
    braid_hook hook;
    int64_t step;
    braid_op *wait;             // ends when the step is reached; NULL: the step has been reached
    braid_session *session;     // of the wait
    braid_monitored_session *s; // of `session`
    atomic_bool is_waiting;
} global_step_waiter;

static void begin(braid_hook *hook, braid_graph *g)
{
    global_step_waiter *h = (global_step_waiter *)hook;
    if (h->step <= 0) return;
    const braid_out step = braid_find_global_step(g),
                    counter = step.op ? braid_variable_find(step).ref : step;
    if (!counter.op) {
        braid_graph_fail(g, BRAID_FAILED_PRECONDITION,
                         "Waiting for step %lld: the graph has no global step (braid_global_step makes one)",
                         (long long)h->step);
        return;
    }
    const bool is_resource = braid_out_dtype(counter) == BRAID_RESOURCE;
    braid_push_colocate(g, counter.op);
    braid_op_desc *d =
        braid_op_begin(g, is_resource ? "_ResourceWaitForCount" : "_WaitForCount", "global_step_waiter");
    braid_op_input(d, counter);
    braid_op_attr_int(d, "at_least", h->step);
    if (is_resource) braid_op_attr_type(d, "T", braid_out_dtype(step));
    h->wait = braid_op_end(d);
    braid_pop_colocate(g);
}

// Ends the session if the chief leaves during the wait.
static braid_code watch_chief(braid_coordinator *c, void *arg, braid_status *unused)
{
    (void)c, (void)unused;
    global_step_waiter *h = arg;
    BD_STATUS(st);
    int64_t seen = 0;
    while (atomic_load(&h->is_waiting)) {
        if (!braid_session_wait_notification(h->session, &(braid_notification_wait){.key = KEY, .seen = seen},
                                             &seen, st))
            continue;
        if (atomic_load(&h->is_waiting) &&
            (st->code == BRAID_UNAVAILABLE || st->code == BRAID_FAILED_PRECONDITION)) {
            bd_status_prefix(st, "Waiting until the global step is %lld: ", (long long)h->step);
            train_session_lost(h->s, st, true);
        }
        break;
    }
    return BRAID_OK;
}

static braid_code run_wait(global_step_waiter *h, braid_status *st)
{
    const braid_run_args args = {.targets = &h->wait, .target_count = 1};
    do
        braid_status_clear(st);
    while (braid_session_run(h->session, &args, st) == BRAID_DEADLINE_EXCEEDED); // of each run of the session
    return st->code;
}

static braid_code wait_for_step(global_step_waiter *h, braid_monitored_session *s, braid_status *st)
{
    h->s = s;
    h->session = braid_monitored_session_raw(s);
    atomic_store(&h->is_waiting, true);
    if (braid_coordinator_start(braid_monitored_session_coordinator(s), "braid-step-waiter", watch_chief, h,
                                st))
        return st->code;
    bd_info("Waiting until the global step is %lld; it is %lld", (long long)h->step,
            (long long)braid_monitored_session_global_step(s));
    run_wait(h, st);
    atomic_store(&h->is_waiting, false);
    BD_STATUS(unwanted); // the thread ends with the session, too
    braid_session_notify(h->session, KEY, unwanted);
    return st->code ? st->code : train_read_global_step(s, st);
}

static braid_code before_run(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                             braid_status *st)
{
    (void)request;
    global_step_waiter *h = (global_step_waiter *)hook;
    if (!h->wait || train_read_global_step(s, st)) return st->code;
    if (braid_monitored_session_global_step(s) < h->step && wait_for_step(h, s, st)) return st->code;
    h->wait = NULL; // once
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    bd_free(hook);
}

braid_hook *braid_global_step_waiter(int64_t step)
{
    global_step_waiter *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.begin = begin, .before_run = before_run, .free = release};
    h->step = step;
    return &h->hook;
}
