// The hook that reports the steps per second of all workers.
#include "base/alloc.h"
#include "base/log.h"
#include "train/sessions/monitored_session.h"
#include <braid/hooks.h>

#define EVERY_STEPS_DEFAULT 100
// The fetched step may be the value before or after the increment, so two equal ones mean nothing.
#define STALE_STEPS_MAX 100

typedef struct step_counter {
    braid_hook hook;
    char *dir; // NULL: only logged
    braid_step_timer timer;
    braid_event_writer *writer;
    int64_t seen_step; // with the last step of this process
    int stale_steps;   // of this process, that found the same; -1: it was warned
} step_counter;

// Counting begins anew with each session: the time without one does not count.
static braid_code after_create_session(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    step_counter *h = (step_counter *)hook;
    if (braid_monitored_session_global_step(s) < 0)
        return bd_fail(st, BRAID_FAILED_PRECONDITION,
                       "Counting steps: the graph has no global step (braid_global_step makes one)");
    if (h->dir && !h->writer) h->writer = braid_event_writer_open(h->dir, st);
    braid_step_timer_mark(&h->timer, braid_monitored_session_global_step(s));
    return st->code;
}

static void warn_if_stale(step_counter *h, int64_t step)
{
    if (h->stale_steps < 0) return;
    h->stale_steps = step == h->seen_step ? h->stale_steps + 1 : 0;
    h->seen_step = step;
    if (h->stale_steps < STALE_STEPS_MAX) return;
    h->stale_steps = -1;
    bd_warn("%d steps have left the global step at %lld: is it given to the optimizer "
            "(braid_minimize, braid_apply_gradients)?",
            STALE_STEPS_MAX, (long long)step);
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    (void)values;
    step_counter *h = (step_counter *)hook;
    warn_if_stale(h, braid_monitored_session_global_step(s));
    if (!braid_step_timer_is_due(&h->timer, braid_monitored_session_global_step(s) + 1)) return BRAID_OK;
    if (train_read_global_step(s, st)) return st->code;
    const braid_step_timer last = h->timer;
    const int64_t step = braid_monitored_session_global_step(s);
    if (!braid_step_timer_is_due(&last, step)) return BRAID_OK;
    braid_step_timer_mark(&h->timer, step);
    const double rate = (double)(step - last.last_step) / ((double)(h->timer.last_ns - last.last_ns) / 1e9);
    bd_info("global_step/sec: %.6g", rate);
    BD_STATUS(unwanted); // training goes on while it cannot be written, and the summaries warn
    if (h->writer) braid_event_writer_add_scalar(h->writer, "global_step/sec", (float)rate, step, unwanted);
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    step_counter *h = (step_counter *)hook;
    BD_STATUS(st);
    if (braid_event_writer_close(h->writer, st)) bd_warn("%s", braid_status_message(st));
    bd_free(h->dir);
    bd_free(h);
}

braid_hook *braid_step_counter(const braid_step_counter_options *o)
{
    step_counter *h = bd_calloc(1, sizeof *h);
    h->hook =
        (braid_hook){.after_create_session = after_create_session, .after_run = after_run, .free = release};
    h->dir = o->dir ? bd_strdup(o->dir) : NULL;
    const bool is_default = !o->every_steps && !(o->every_seconds > 0);
    h->timer = braid_step_timer_make(is_default ? EVERY_STEPS_DEFAULT : o->every_steps, o->every_seconds);
    return &h->hook;
}
