// The hook that saves checkpoints while training: at the start, when time or steps have passed, and at the
// end.
//
// A save that is due while another is being written waits for the next step.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "train/monitored_session.h"
#include <braid/checkpoint.h>
#include <inttypes.h>
#include <string.h>

#define EVERY_SECONDS_DEFAULT 600

typedef struct checkpoint_saver {
    braid_hook hook;
    char *dir, *path; // path: DIR/NAME, without a step
    braid_saver *saver;
    int64_t every_ns, every_steps; // one of them is 0
    int64_t saved_step;            // of the newest checkpoint; -1: none
    int64_t saved_ns;
    braid_save *save; // in progress; NULL: none
} checkpoint_saver;

static void begin(braid_hook *hook, braid_graph *g)
{
    checkpoint_saver *h = (checkpoint_saver *)hook;
    if (!h->saver)
        h->saver = braid_saver_new(g, &(braid_saver_options){.sharded = true, .asynchronous = true});
}

static braid_code finish_save(checkpoint_saver *h, braid_status *st)
{
    if (!h->save) return BRAID_OK;
    char *prefix = braid_save_finish(h->save, st);
    h->save = NULL;
    bd_free(prefix);
    return st->code;
}

// A checkpoint of the step exists already when training goes on where it stopped.
static bool is_saved(const checkpoint_saver *h, int64_t step)
{
    char *latest = braid_latest_checkpoint(h->dir, NULL);
    char *wanted = bd_asprintf("%s-%" PRId64, h->path, step);
    const bool same = latest && strcmp(latest, wanted) == 0;
    bd_free(latest);
    bd_free(wanted);
    return same;
}

// Begins to save the step that was read last.
static braid_code start_save(checkpoint_saver *h, braid_monitored_session *s, braid_status *st)
{
    const int64_t step = braid_monitored_session_global_step(s);
    h->save = braid_saver_begin(h->saver, braid_monitored_session_raw(s), h->path, step, st);
    h->saved_step = step;
    h->saved_ns = bd_now_ns();
    return st->code;
}

static braid_code write_graph(const checkpoint_saver *h, const braid_graph *g, braid_status *st)
{
    if (braid_checkpoint_make_dir(h->dir, st)) return st->code;
    char *path = bd_asprintf("%s/graph.pbtxt", h->dir);
    braid_graph_write(g, path, st);
    bd_free(path);
    return st->code;
}

static braid_code after_create_session(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    checkpoint_saver *h = (checkpoint_saver *)hook;
    const int64_t step = braid_monitored_session_global_step(s);
    if (step < 0)
        return bd_fail(st, BRAID_FAILED_PRECONDITION,
                       "Saving checkpoints: the graph has no global step (braid_global_step makes one)");
    if (write_graph(h, s->graph, st)) return st->code;
    h->saved_step = step;
    h->saved_ns = bd_now_ns();
    return is_saved(h, step) ? BRAID_OK : start_save(h, s, st);
}

// The fetched step may be the value before the increment.
static bool may_be_due(const checkpoint_saver *h, int64_t step)
{
    return h->every_steps ? step + 1 - h->saved_step >= h->every_steps
                          : bd_now_ns() - h->saved_ns >= h->every_ns;
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    (void)values;
    checkpoint_saver *h = (checkpoint_saver *)hook;
    if (h->save && braid_save_is_done(h->save) && finish_save(h, st)) return st->code;
    if (h->save || !may_be_due(h, braid_monitored_session_global_step(s))) return BRAID_OK;
    if (train_read_global_step(s, st)) return st->code;
    if (h->every_steps && braid_monitored_session_global_step(s) - h->saved_step < h->every_steps)
        return BRAID_OK;
    return start_save(h, s, st);
}

static braid_code end(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    checkpoint_saver *h = (checkpoint_saver *)hook;
    if (finish_save(h, st) || train_read_global_step(s, st)) return st->code;
    if (braid_monitored_session_global_step(s) == h->saved_step) return BRAID_OK;
    if (start_save(h, s, st)) return st->code;
    return finish_save(h, st);
}

// The session is lost, or training has failed: a save in progress ends with an error.
static void before_close_session(braid_hook *hook, braid_monitored_session *s)
{
    (void)s;
    BD_STATUS(lost);
    if (finish_save((checkpoint_saver *)hook, lost))
        bd_warn("A checkpoint was not saved: %s", braid_status_message(lost));
}

static void release(braid_hook *hook)
{
    checkpoint_saver *h = (checkpoint_saver *)hook;
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
    h->every_steps = o->every_steps;
    if (!o->every_steps)
        h->every_ns = (int64_t)((o->every_seconds > 0 ? o->every_seconds : EVERY_SECONDS_DEFAULT) * 1e9);
    return &h->hook;
}
