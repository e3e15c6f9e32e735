// The hook that traces a step now and then.
#include "base/alloc.h"
#include "base/log.h"
#include "train/sessions/monitored_session.h"
#include <braid/checkpoint.h>
#include <braid/hooks.h>
#include <inttypes.h>

#define EVERY_SECONDS_DEFAULT 600

typedef struct profiler {
    braid_hook hook;
    char *dir;
    braid_timeline_options timeline;
    braid_step_timer timer;
    braid_event_writer *writer;
    braid_run_metadata *metadata;
    bool is_due;
} profiler;

static braid_code after_create_session(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    (void)s;
    profiler *h = (profiler *)hook;
    if (!h->writer) h->writer = braid_event_writer_open(h->dir, st);
    return st->code;
}

static braid_code before_run(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                             braid_status *st)
{
    (void)st;
    profiler *h = (profiler *)hook;
    h->is_due = braid_step_timer_is_due(&h->timer, braid_monitored_session_global_step(s) + 1);
    if (h->is_due) braid_hook_trace(request, h->metadata);
    return BRAID_OK;
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    (void)values;
    profiler *h = (profiler *)hook;
    if (!h->is_due) return BRAID_OK;
    if (train_read_global_step(s, st)) return st->code;
    const int64_t step = braid_monitored_session_global_step(s);
    braid_step_timer_mark(&h->timer, step);
    char *tag = bd_asprintf("step_%" PRId64, step);
    char *path = bd_asprintf("%s/timeline-%" PRId64 ".json", h->dir, step);
    BD_STATUS(lost);
    if (braid_run_metadata_timeline_write(h->metadata, &h->timeline, path, lost) ||
        braid_event_writer_add_run_metadata(h->writer, h->metadata, tag, step, lost))
        bd_warn("A timeline was not written: %s", braid_status_message(lost));
    bd_free(tag);
    bd_free(path);
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    profiler *h = (profiler *)hook;
    BD_STATUS(st);
    if (braid_event_writer_close(h->writer, st)) bd_warn("%s", braid_status_message(st));
    braid_run_metadata_free(h->metadata);
    bd_free(h->dir);
    bd_free(h);
}

braid_hook *braid_profiler(const braid_profiler_options *o)
{
    profiler *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.after_create_session = after_create_session,
                           .before_run = before_run,
                           .after_run = after_run,
                           .free = release};
    h->dir = bd_strdup(o->dir);
    h->timeline = o->timeline;
    h->metadata = braid_run_metadata_new();
    h->timer = braid_step_timer_make(o->every_steps,
                                     o->every_seconds > 0 ? o->every_seconds : EVERY_SECONDS_DEFAULT);
    return &h->hook;
}
