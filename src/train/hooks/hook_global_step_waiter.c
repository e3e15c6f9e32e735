// The hook that holds back a process until others have made some steps.
#include "base/alloc.h"
#include "base/log.h"
#include "train/sessions/monitored_session.h"
#include <braid/hooks.h>

#define READ_EVERY_MS 500

typedef struct global_step_waiter {
    braid_hook hook;
    int64_t step;
} global_step_waiter;

// Nothing tells of a step. The wait for a notification that never comes ends with the session and with the
// chief.
static braid_code pause(braid_monitored_session *s, braid_status *st)
{
    const braid_notification_wait wait = {.key = "global_step_waiter", .timeout_ms = READ_EVERY_MS};
    if (braid_session_wait_notification(braid_monitored_session_raw(s), &wait, NULL, st) !=
        BRAID_DEADLINE_EXCEEDED)
        return st->code;
    braid_status_clear(st);
    return BRAID_OK;
}

static braid_code before_run(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                             braid_status *st)
{
    (void)request;
    global_step_waiter *h = (global_step_waiter *)hook;
    for (bool said = false; h->step > 0; said = true) {
        if (train_read_global_step(s, st)) return st->code;
        if (braid_monitored_session_global_step(s) >= h->step) break;
        if (!said)
            bd_info("Waiting until the global step is %lld; it is %lld", (long long)h->step,
                    (long long)braid_monitored_session_global_step(s));
        if (pause(s, st)) return st->code;
    }
    h->step = 0; // once
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    bd_free(hook);
}

braid_hook *braid_global_step_waiter(int64_t step)
{
    global_step_waiter *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.before_run = before_run, .free = release};
    h->step = step;
    return &h->hook;
}
