// The hook that writes summaries to an event file.
#include "base/alloc.h"
#include "base/log.h"
#include "train/sessions/monitored_session.h"
#include <braid/hooks.h>
#include <braid/summary.h>

#define EVERY_STEPS_DEFAULT 100

typedef struct summary_saver {
    braid_hook hook;
    char *dir;
    braid_out summary; // op NULL: there is none
    braid_step_timer timer;
    braid_event_writer *writer; // NULL before the session is open
    bool is_due, has_failed;
} summary_saver;

static void begin(braid_hook *hook, braid_graph *g)
{
    summary_saver *h = (summary_saver *)hook;
    if (!h->summary.op) h->summary = braid_summary_merge_all(g);
}

static braid_code after_create_session(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    (void)s;
    summary_saver *h = (summary_saver *)hook;
    if (h->summary.op && !h->writer) h->writer = braid_event_writer_open(h->dir, st);
    return st->code;
}

static braid_code before_run(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                             braid_status *st)
{
    (void)st;
    summary_saver *h = (summary_saver *)hook;
    h->is_due =
        h->summary.op && braid_step_timer_is_due(&h->timer, braid_monitored_session_global_step(s) + 1);
    if (h->is_due) braid_hook_fetch(request, h->summary);
    return BRAID_OK;
}

// Training goes on without summaries while they cannot be written.
static void write_summary(summary_saver *h, const braid_tensor *summary, int64_t step)
{
    BD_STATUS(st);
    size_t len;
    const char *bytes = braid_tensor_string_at(summary, 0, &len);
    const bool failed = braid_event_writer_add_summary(h->writer, bytes, len, step, st) != BRAID_OK;
    if (failed && !h->has_failed) bd_warn("A summary was not written: %s", braid_status_message(st));
    h->has_failed = failed;
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    summary_saver *h = (summary_saver *)hook;
    if (!h->is_due) return BRAID_OK;
    if (train_read_global_step(s, st)) return st->code;
    const int64_t step = braid_monitored_session_global_step(s);
    braid_step_timer_mark(&h->timer, step);
    write_summary(h, values[0], step);
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    summary_saver *h = (summary_saver *)hook;
    BD_STATUS(st);
    if (braid_event_writer_close(h->writer, st)) bd_warn("%s", braid_status_message(st));
    bd_free(h->dir);
    bd_free(h);
}

braid_hook *braid_summary_saver(const braid_summary_saver_options *o)
{
    summary_saver *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.begin = begin,
                           .after_create_session = after_create_session,
                           .before_run = before_run,
                           .after_run = after_run,
                           .free = release};
    h->dir = bd_strdup(o->dir);
    h->summary = o->summary;
    const bool is_default = !o->every_steps && !(o->every_seconds > 0);
    h->timer = braid_step_timer_make(is_default ? EVERY_STEPS_DEFAULT : o->every_steps, o->every_seconds);
    return &h->hook;
}
