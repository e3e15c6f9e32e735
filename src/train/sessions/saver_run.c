// Running the nodes of savers: saving at once or in the background, and restoring.
//
// A save that fails or is interrupted leaves the checkpoints as they were; the next one removes its files.
#include "train/sessions/saver.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/status.h"
#include "base/thread.h"
#include <inttypes.h>
#include <stdatomic.h>

struct braid_save {
    const braid_saver *saver;
    braid_session *session;
    char *path, *prefix;
    char *mark; // the prefix, while its mark may be locked; NULL
    void *meta; // a MetaGraphDef; NULL: not wanted
    size_t meta_len;
    bd_thread thread;
    atomic_bool is_done;
    braid_status status; // read after the thread has ended
};

static braid_code run(const braid_saver *s, braid_session *session, const char *prefix, braid_op *target,
                      braid_status *st)
{
    braid_tensor *value = braid_tensor_string(prefix);
    const braid_feed feed = {s->filename, value};
    const braid_run_args args = {.feeds = &feed, .feed_count = 1, .targets = &target, .target_count = 1};
    const braid_code code = braid_session_run(session, &args, st);
    braid_tensor_free(value);
    return code;
}

static braid_code check(const braid_saver *s, const braid_session *session, const char *path,
                        braid_status *st)
{
    if (!session || !path || !*path)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "A saver needs a session and the path of a checkpoint");
    if (s->restore) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "The saver has no nodes, because its graph has failed");
}

// ---- Saving ----

// What the save does before it takes the values.
static braid_code prepare(braid_save *save, const char *path, int64_t global_step, braid_status *st)
{
    if (check(save->saver, save->session, path, st)) return st->code;
    const int digits = save->saver->pad_step_number ? 8 : 1; // at least
    save->path = bd_strdup(path);
    save->prefix =
        global_step < 0 ? bd_strdup(path) : bd_asprintf("%s-%0*" PRId64, path, digits, global_step);
    if (!save->saver->without_meta) save->meta = train_meta_graph_write(save->saver, &save->meta_len, st);
    return st->code;
}

static braid_code begin_files(braid_save *save, braid_status *st)
{
    if (braid_checkpoint_clean(save->path, st)) return st->code;
    save->mark = bd_strdup(save->prefix);
    return braid_checkpoint_begin(save->prefix, st);
}

static braid_code write_checkpoint(braid_save *save, braid_op *target, braid_status *st)
{
    if (begin_files(save, st) || run(save->saver, save->session, save->prefix, target, st)) return st->code;
    if (save->meta && braid_checkpoint_write_meta(save->prefix, save->meta, save->meta_len, st))
        return st->code;
    return braid_checkpoint_record(save->prefix, &save->saver->policy, st);
}

static void release(braid_save *save)
{
    if (save->mark) braid_checkpoint_end(save->mark);
    bd_free(save->mark);
    bd_free(save->path);
    bd_free(save->prefix);
    bd_free(save->meta);
    bd_status_fini(&save->status);
    bd_free(save);
}

char *braid_saver_save(braid_saver *s, braid_session *session, const char *path, int64_t global_step,
                       braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    braid_save *save = bd_calloc(1, sizeof *save);
    save->saver = s;
    save->session = session;
    char *prefix = NULL;
    if (!prepare(save, path, global_step, st) && !write_checkpoint(save, s->saved.op, st)) {
        bd_info("Saved the checkpoint %s", save->prefix);
        prefix = save->prefix;
        save->prefix = NULL;
    }
    release(save);
    return prefix;
}

// ---- In the background ----

static void write_copy(void *arg)
{
    braid_save *save = arg;
    const braid_code code = write_checkpoint(save, save->saver->saved_copy.op, &save->status);
    atomic_store_explicit(&save->is_done, true, memory_order_release);
    if (!code) bd_info("Saved the checkpoint %s", save->prefix); // `save` lives until the thread has ended
}

static braid_code copy_and_start(braid_save *save, const char *path, int64_t global_step, braid_status *st)
{
    braid_op *copy = save->saver->copy;
    if (!copy && save->saver->restore)
        return bd_fail(st, BRAID_FAILED_PRECONDITION,
                       "This saver cannot save in the background: make it with options.asynchronous");
    if (prepare(save, path, global_step, st)) return st->code;
    const braid_run_args args = {.targets = &copy, .target_count = 1};
    if (braid_session_run(save->session, &args, st)) return st->code;
    return bd_thread_start(&save->thread, "braid-save", write_copy, save, st);
}

braid_save *braid_saver_begin(braid_saver *s, braid_session *session, const char *path, int64_t global_step,
                              braid_status *status)
{
    BD_STATUS(unwanted);
    braid_save *save = bd_calloc(1, sizeof *save);
    save->saver = s;
    save->session = session;
    if (!copy_and_start(save, path, global_step, status ? status : unwanted)) return save;
    release(save);
    return NULL;
}

bool braid_save_is_done(const braid_save *save)
{
    return atomic_load_explicit(&save->is_done, memory_order_acquire);
}

char *braid_save_finish(braid_save *save, braid_status *status)
{
    bd_thread_join(&save->thread);
    char *prefix = NULL;
    if (save->status.code) {
        if (status) bd_status_copy(status, &save->status);
    } else {
        prefix = save->prefix;
        save->prefix = NULL;
    }
    release(save);
    return prefix;
}

// ---- Restoring ----

braid_code braid_saver_restore(braid_saver *s, braid_session *session, const char *prefix,
                               braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    if (check(s, session, prefix, st)) return st->code;
    braid_op *op = train_saver_restore_op(s, prefix, st);
    if (op && !run(s, session, prefix, op, st) && s->report)
        bd_info("Restored from the checkpoint %s: %s", prefix, s->report);
    return st->code;
}
