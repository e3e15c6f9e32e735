// The hook that saves checkpoints while training: at the start, when time or steps have passed, and at the
// end.
//
// A save that is due while another is being written waits for the next step.
#include "base/alloc.h"
#include "base/array.h"
#include "base/log.h"
#include "train/sessions/monitored_session.h"
#include <braid/checkpoint.h>
#include <braid/hooks.h>
#include <inttypes.h>
#include <string.h>

#define EVERY_SECONDS_DEFAULT 600

typedef struct checkpoint_saver {
    braid_hook hook;
    char *dir, *path; // path: DIR/NAME, without a step
    braid_saver *saver;
    braid_step_timer timer;
    braid_event_writer *writer; // NULL before the session is open
    braid_save *save;           // in progress; NULL: none
    int64_t save_step;          // of the save in progress
    bool has_ended;             // the last checkpoint is on the disk
    BD_ARRAY(braid_checkpoint_listener) listeners;
} checkpoint_saver;

static void begin(braid_hook *hook, braid_graph *g)
{
    checkpoint_saver *h = (checkpoint_saver *)hook;
    if (!h->saver)
        h->saver = braid_saver_new(g, &(braid_saver_options){.sharded = true, .asynchronous = true});
    for (size_t i = 0; i < h->listeners.len; i++) {
        const braid_checkpoint_listener *l = &h->listeners.items[i];
        if (l->begin) l->begin(l->arg, g);
    }
}

static braid_code finish_save(checkpoint_saver *h, braid_monitored_session *s, braid_status *st)
{
    if (!h->save) return BRAID_OK;
    char *prefix = braid_save_finish(h->save, st);
    h->save = NULL;
    bd_free(prefix);
    for (size_t i = 0; i < h->listeners.len && !st->code; i++) {
        const braid_checkpoint_listener *l = &h->listeners.items[i];
        if (!l->after_save ||
            l->after_save(l->arg, braid_monitored_session_raw(s), h->save_step, st) != BRAID_OUT_OF_RANGE)
            continue;
        braid_request_stop(s);
        braid_status_clear(st);
    }
    return st->code;
}

// Training goes on when the event file cannot be written.
static void log_session(checkpoint_saver *h, braid_session_log_status of_session, int64_t step)
{
    BD_STATUS(unwanted);
    const char *path = of_session == BRAID_SESSION_LOG_CHECKPOINT ? h->path : NULL;
    braid_event_writer_add_session_log(h->writer, of_session, path, step, unwanted);
}

// Begins to save the step that was read last.
static braid_code start_save(checkpoint_saver *h, braid_monitored_session *s, braid_status *st)
{
    const int64_t step = braid_monitored_session_global_step(s);
    for (size_t i = 0; i < h->listeners.len; i++) {
        const braid_checkpoint_listener *l = &h->listeners.items[i];
        if (l->before_save && l->before_save(l->arg, braid_monitored_session_raw(s), step, st))
            return st->code;
    }
    h->save_step = step;
    h->save = braid_saver_begin(h->saver, braid_monitored_session_raw(s), h->path, step, st);
    braid_step_timer_mark(&h->timer, step);
    log_session(h, BRAID_SESSION_LOG_CHECKPOINT, step);
    return st->code;
}

// Writes the graph as graph.pbtxt, and to an event file.
static braid_code write_graph(checkpoint_saver *h, const braid_graph *g, int64_t step, braid_status *st)
{
    if (braid_checkpoint_make_dir(h->dir, st)) return st->code;
    if (!h->writer) {
        h->writer = braid_event_writer_open(h->dir, st);
        size_t len;
        void *graph_def = h->writer ? braid_graph_export(g, &len, st) : NULL;
        if (graph_def) braid_event_writer_add_graph(h->writer, graph_def, len, step, st);
        bd_free(graph_def);
        if (st->code) return st->code;
        log_session(h, BRAID_SESSION_LOG_START, step);
    }
    char *path = bd_asprintf("%s/graph.pbtxt", h->dir);
    braid_graph_write(g, path, st);
    bd_free(path);
    return st->code;
}

static braid_code after_create_session(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    checkpoint_saver *h = (checkpoint_saver *)hook;
    if (h->has_ended) return BRAID_OK;
    const int64_t step = braid_monitored_session_global_step(s);
    if (step < 0)
        return bd_fail(st, BRAID_FAILED_PRECONDITION,
                       "Saving checkpoints: the graph has no global step (braid_global_step makes one)");
    if (write_graph(h, s->graph, step, st)) return st->code;
    braid_step_timer_mark(&h->timer, step);
    char *latest = braid_latest_checkpoint(h->dir, NULL);
    char *wanted = bd_asprintf("%s-%" PRId64, h->path, step);
    const bool is_first = !latest, is_saved = latest && strcmp(latest, wanted) == 0;
    bd_free(latest);
    bd_free(wanted);
    if (is_saved || start_save(h, s, st)) return st->code;
    // Recovery from an update that was cut off needs a checkpoint of before the first update.
    return is_first ? finish_save(h, s, st) : BRAID_OK;
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    (void)values;
    checkpoint_saver *h = (checkpoint_saver *)hook;
    if (h->save && braid_save_is_done(h->save) && finish_save(h, s, st)) return st->code;
    // The fetched step may be the value before the increment.
    if (h->save || !braid_step_timer_is_due(&h->timer, braid_monitored_session_global_step(s) + 1))
        return BRAID_OK;
    if (train_read_global_step(s, st)) return st->code;
    const bool is_due = braid_step_timer_is_due(&h->timer, braid_monitored_session_global_step(s));
    return is_due ? start_save(h, s, st) : BRAID_OK;
}

static braid_code end(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    checkpoint_saver *h = (checkpoint_saver *)hook;
    if (finish_save(h, s, st) || train_read_global_step(s, st)) return st->code;
    const int64_t step = braid_monitored_session_global_step(s);
    if (step != h->timer.last_step && (start_save(h, s, st) || finish_save(h, s, st))) return st->code;
    for (size_t i = 0; i < h->listeners.len; i++) {
        const braid_checkpoint_listener *l = &h->listeners.items[i];
        if (l->end && l->end(l->arg, braid_monitored_session_raw(s), step, st)) return st->code;
    }
    log_session(h, BRAID_SESSION_LOG_STOP, step);
    h->has_ended = true;
    return BRAID_OK;
}

// The session is lost, or training has failed: a save in progress ends with an error.
static void before_close_session(braid_hook *hook, braid_monitored_session *s)
{
    BD_STATUS(lost);
    if (finish_save((checkpoint_saver *)hook, s, lost))
        bd_warn("A checkpoint was not saved: %s", braid_status_message(lost));
}

static void release(braid_hook *hook)
{
    checkpoint_saver *h = (checkpoint_saver *)hook;
    BD_STATUS(st);
    if (braid_event_writer_close(h->writer, st)) bd_warn("%s", braid_status_message(st));
    bd_array_free(&h->listeners);
    bd_free(h->dir);
    bd_free(h->path);
    bd_free(h);
}

braid_hook *braid_checkpoint_saver(const braid_checkpoint_saver_options *o)
{
    checkpoint_saver *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.begin = begin,
                           .after_create_session = after_create_session,
                           .after_run = after_run,
                           .before_close_session = before_close_session,
                           .end = end,
                           .free = release};
    h->dir = bd_strdup(o->dir);
    h->path = bd_asprintf("%s/%s", o->dir, o->name ? o->name : "model.ckpt");
    h->saver = o->saver;
    for (int i = 0; i < o->listener_count; i++)
        bd_array_push(&h->listeners, o->listeners[i]);
    h->timer = braid_step_timer_make(o->every_steps,
                                     o->every_seconds > 0 ? o->every_seconds : EVERY_SECONDS_DEFAULT);
    return &h->hook;
}
