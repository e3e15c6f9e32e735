// The hook that ends training at a given global step.
#include "base/alloc.h"
#include "train/sessions/monitored_session.h"
#include <braid/hooks.h>

typedef struct stop_at_step {
    braid_hook hook;
    int64_t num_steps; // from the first session's step on; 0: last_step is given
    int64_t last_step;
} stop_at_step;

static void stop_if_reached(const stop_at_step *h, braid_monitored_session *s)
{
    if (braid_monitored_session_global_step(s) >= h->last_step) braid_request_stop(s);
}

// Other workers, or an earlier run, may have finished already.
static braid_code after_create_session(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    stop_at_step *h = (stop_at_step *)hook;
    if (braid_monitored_session_global_step(s) < 0)
        return bd_fail(st, BRAID_FAILED_PRECONDITION,
                       "Stop at step %lld: the graph has no global step (braid_global_step makes one)",
                       (long long)(h->num_steps + h->last_step));
    if (h->num_steps) h->last_step = braid_monitored_session_global_step(s) + h->num_steps;
    h->num_steps = 0; // a recovery does not begin anew
    stop_if_reached(h, s);
    return BRAID_OK;
}

// The fetched step may be the value before the increment, so close to the end it is read again.
static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    (void)values;
    stop_at_step *h = (stop_at_step *)hook;
    if (braid_monitored_session_global_step(s) == h->last_step - 1) {
        braid_code code = train_read_global_step(s, st);
        if (code) return code;
    }
    stop_if_reached(h, s);
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    bd_free(hook);
}

static braid_hook *stop_hook(int64_t num_steps, int64_t last_step)
{
    stop_at_step *h = bd_calloc(1, sizeof *h);
    h->hook.after_create_session = after_create_session;
    h->hook.after_run = after_run;
    h->hook.free = release;
    h->num_steps = num_steps;
    h->last_step = last_step;
    return &h->hook;
}

braid_hook *braid_stop_at_step(int64_t last_step)
{
    return stop_hook(0, last_step);
}

braid_hook *braid_stop_after_steps(int64_t num_steps)
{
    return num_steps > 0 ? stop_hook(num_steps, 0) : stop_hook(0, 0);
}
