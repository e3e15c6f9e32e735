// How a session reaches the state in which every variable is initialized.
//
// Chief:  ready? -> (no) restore the newest checkpoint, or init_op -> local_init_op -> ready? -> notify
// Others: generation := notifications so far -> ready? -> local_init_op
//                 ^                               | no
//                 +--- wait(generation) <---------+
//
// Reading the generation before asking whether all is ready makes the wait safe: a notification in between
// ends it. A restarted chief finds the variables on the parameter servers initialized, and keeps them; that
// of deterministic synchronous training restores the newest checkpoint when an update was cut off. The chief
// of synchronous training resets its accumulators before it notifies. Where that is asked for, a chief whose
// variables have no values waits for a checkpoint first.
#include "train/sessions/bootstrap.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include <braid/checkpoint.h>
#include <braid/server.h>

static braid_code run_op(braid_session *session, braid_op *op, const braid_feed *feeds, braid_status *st)
{
    int feed_count = 0;
    while (feeds && feeds[feed_count].out.op)
        feed_count++;
    const braid_run_args args = {.targets = &op, .target_count = 1, .feeds = feeds, .feed_count = feed_count};
    return braid_session_run(session, &args, st);
}

static braid_code run_local_init(const train_bootstrap *b, braid_session *session, braid_status *st)
{
    return run_op(session, b->scaffold.local_init_op, b->scaffold.local_init_feeds, st);
}

static braid_code run_init(const train_bootstrap *b, braid_session *session, braid_status *st)
{
    const braid_scaffold *s = &b->scaffold;
    const braid_code code = run_op(session, s->init_op, s->init_feeds, st);
    return code || !s->init_fn ? code : s->init_fn(s, session, st);
}

// An error lists at most this number of names.
enum {
    NAMES_MAX = 5
};

// Stores the names of variables without a value, comma-separated and cut short if many: "" when all is ready.
static braid_code missing_variables(braid_session *session, braid_out report, bd_strbuf *names,
                                    braid_status *st)
{
    bd_strbuf_clear(names);
    braid_tensor *missing = NULL;
    braid_fetch fetch = {report, &missing};
    braid_code code = braid_session_run(session, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    if (code) return code;
    int64_t count = braid_tensor_num_elements(missing);
    for (int64_t i = 0; i < count && i < NAMES_MAX; i++) {
        size_t len;
        const char *name = braid_tensor_string_at(missing, i, &len);
        if (i) bd_strbuf_append(names, ", ");
        bd_strbuf_append_n(names, name, len);
    }
    if (count > NAMES_MAX) bd_strbuf_appendf(names, " and %lld more", (long long)(count - NAMES_MAX));
    braid_tensor_free(missing);
    return BRAID_OK;
}

// Restores the newest checkpoint; *restored is false when there is none.
static braid_code restore(const train_bootstrap *b, braid_session *session, bool *restored, braid_status *st)
{
    *restored = false;
    if ((!b->checkpoint_dir && !b->checkpoint_path) || !b->scaffold.saver) return BRAID_OK;
    char *latest =
        b->checkpoint_path ? bd_strdup(b->checkpoint_path) : braid_latest_checkpoint(b->checkpoint_dir, st);
    if (st->code == BRAID_NOT_FOUND) {
        braid_status_clear(st);
        return BRAID_OK;
    }
    if (!latest) return st->code;
    if (!braid_saver_restore(b->scaffold.saver, session, latest, st)) {
        bd_info("Restored the checkpoint %s", latest);
        *restored = true;
    }
    bd_free(latest);
    return st->code;
}

// Waits until there is a checkpoint to restore, if that is asked for.
static braid_code await_checkpoint(const train_bootstrap *b, braid_status *st)
{
    if (!b->wait_for_checkpoint) return BRAID_OK;
    bd_info("Waiting for a checkpoint in %s (at most %.3g s)", b->checkpoint_dir,
            (double)b->wait_timeout_ms / 1e3);
    bd_free(braid_wait_for_new_checkpoint(b->checkpoint_dir, NULL, b->wait_timeout_ms, st));
    return st->code;
}

// Gives all variables values. Variables that the saver does not restore get their initial values.
static braid_code give_values(const train_bootstrap *b, braid_session *session, bd_strbuf *missing,
                              braid_status *st)
{
    bool restored;
    if (await_checkpoint(b, st) || restore(b, session, &restored, st)) return st->code;
    if (!restored) return run_init(b, session, st);
    braid_code code = missing_variables(session, b->scaffold.ready_for_local_init, missing, st);
    if (code || missing->len == 0) return code;
    code = run_init(b, session, st);
    return code ? code : restore(b, session, &restored, st);
}

// *is_cut_off: an update of the last session may have changed some variables and not others. It counts as cut
// off when the mark has no value.
static braid_code find_cut_off(const train_bootstrap *b, braid_session *session, bool *is_cut_off,
                               braid_status *st)
{
    braid_tensor *value = NULL;
    braid_fetch fetch = {b->role.in_progress, &value};
    *is_cut_off = true;
    if (!braid_session_run(session, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st))
        *is_cut_off = *(const uint8_t *)braid_tensor_data(value) != 0;
    else if (st->code == BRAID_FAILED_PRECONDITION)
        braid_status_clear(st);
    braid_tensor_free(value);
    return st->code;
}

static braid_code restore_cut_off(const train_bootstrap *b, braid_session *session, braid_status *st)
{
    bool is_cut_off, restored;
    if (find_cut_off(b, session, &is_cut_off, st) || !is_cut_off || restore(b, session, &restored, st))
        return st->code;
    if (!restored)
        bd_warn(
            "An update was cut off, and there is no checkpoint to restore: some variables may be a step ahead");
    return BRAID_OK;
}

// Variables are about to be restored: until all of them are, they are as after an update that was cut off.
static braid_code mark_restoring(const train_bootstrap *b, braid_session *session, braid_status *st)
{
    return b->role.mark ? run_op(session, b->role.mark, NULL, st) : BRAID_OK;
}

static braid_code initialize(train_bootstrap *b, braid_session *session, bd_strbuf *missing, braid_status *st)
{
    braid_code code = missing_variables(session, b->scaffold.ready_for_local_init, missing, st);
    if (!code && missing->len) {
        b->is_half_restored = true;
        code = mark_restoring(b, session, st);
        if (!code) code = give_values(b, session, missing, st);
    } else if (!code && b->is_half_restored) {
        bool restored;
        code = restore(b, session, &restored, st);
    } else if (!code && b->role.in_progress.op) {
        code = restore_cut_off(b, session, st);
    }
    if (code) return code;
    b->is_half_restored = false;
    code = run_local_init(b, session, st);
    if (code) return code;
    code = missing_variables(session, b->scaffold.ready, missing, st);
    if (code) return code;
    if (missing->len)
        return bd_fail(st, BRAID_FAILED_PRECONDITION,
                       "The initialization has run, but these variables have no value: %s",
                       bd_strbuf_str(missing));
    if (b->role.begin && run_op(session, b->role.begin, NULL, st)) return st->code;
    code = braid_session_notify(session, TRAIN_VARIABLES_INITIALIZED, st);
    if (code != BRAID_UNIMPLEMENTED) return code;
    braid_status_clear(st); // a server of another kind: no task there waits for the notification
    return BRAID_OK;
}

// An error when it is known that no other process can give the variables values.
static braid_code check_chief(const train_bootstrap *b, const bd_strbuf *missing, braid_status *st)
{
    const braid_session_options *o = b->session;
    if (!o->server && (!o->target || !o->target[0]))
        return bd_fail(
            st, BRAID_FAILED_PRECONDITION,
            "Waiting for the chief to initialize %s: a session in this process is seen by no other "
            "process, so it has to be the chief's (is_chief, braid_chief_session_creator or "
            "braid_prepare_session)",
            bd_strbuf_str(missing));
    if (o->server && braid_server_is_chief(o->server))
        return bd_fail(
            st, BRAID_FAILED_PRECONDITION,
            "Waiting for the chief to initialize %s: this task, %s, is the chief of its cluster, but its "
            "session does not say so. Set is_chief (braid_is_chief tells each task), or give the cluster a job "
            "'chief' if another process is to be it",
            bd_strbuf_str(missing), braid_server_chief(o->server));
    return BRAID_OK;
}

static void log_wait(const train_bootstrap *b, const bd_strbuf *missing)
{
    const char *chief = b->session->server ? braid_server_chief(b->session->server) : NULL;
    const double seconds = (double)b->wait_timeout_ms / 1e3;
    if (chief)
        bd_info("Waiting for the chief, %s, to initialize %s (at most %.0f s)", chief, bd_strbuf_str(missing),
                seconds);
    else
        bd_info(
            "Waiting for the chief to initialize %s (at most %.0f s; the chief is the process whose session "
            "has is_chief set)",
            bd_strbuf_str(missing), seconds);
}

// Waits for news of the chief after generation *seen.
static braid_code wait_for_news(const train_bootstrap *b, braid_session *session, int64_t deadline,
                                int64_t *seen, braid_status *st)
{
    const braid_notification_wait wait = {.key = TRAIN_VARIABLES_INITIALIZED,
                                          .seen = *seen,
                                          .timeout_ms = bd_max(1, bd_deadline_left_ms(deadline)),
                                          .successors = b->role.may_lead};
    return braid_session_wait_notification(session, &wait, seen, st);
}

static braid_code wait_for_chief(train_bootstrap *b, braid_session *session, bd_strbuf *missing,
                                 braid_status *st)
{
    const int64_t deadline = bd_deadline_after_ms(b->wait_timeout_ms);
    int64_t generation = 0;
    const braid_notification_wait now = {.key = TRAIN_VARIABLES_INITIALIZED, .seen = -1};
    braid_code code = braid_session_wait_notification(session, &now, &generation, st);
    for (bool said = false; !code; said = true) {
        code = missing_variables(session, b->scaffold.ready_for_local_init, missing, st);
        if (code || missing->len == 0) break;
        if (check_chief(b, missing, st)) return st->code;
        if (!said) log_wait(b, missing);
        const int64_t seen = generation;
        code = wait_for_news(b, session, deadline, &generation, st);
        if (!code && b->role.may_lead && generation == seen) {
            b->role.is_chief = true;
            return initialize(b, session, missing, st);
        }
        b->is_hopeless = code == BRAID_UNAVAILABLE;
        if (code == BRAID_DEADLINE_EXCEEDED)
            bd_status_prefix(st,
                             "Waiting for the chief to initialize %s (is is_chief set for the session of one "
                             "process?): ",
                             bd_strbuf_str(missing));
    }
    return code ? code : run_local_init(b, session, st);
}

braid_code train_bootstrap_run(train_bootstrap *b, braid_session *session, braid_status *st)
{
    bd_strbuf missing = {0};
    braid_code code =
        b->role.is_chief ? initialize(b, session, &missing, st) : wait_for_chief(b, session, &missing, st);
    bd_strbuf_fini(&missing);
    return code;
}

static braid_code recover(const train_bootstrap *b, braid_session *session, bool *is_ready,
                          bd_strbuf *missing, braid_status *st)
{
    const braid_out globals = b->scaffold.ready_for_local_init;
    bool restored;
    if (missing_variables(session, globals, missing, st)) return st->code;
    if (missing->len && (await_checkpoint(b, st) || restore(b, session, &restored, st) ||
                         missing_variables(session, globals, missing, st)))
        return st->code;
    if (missing->len || run_local_init(b, session, st)) return st->code;
    const braid_code code = missing_variables(session, b->scaffold.ready, missing, st);
    *is_ready = !code && missing->len == 0;
    return code;
}

braid_code train_bootstrap_recover(const train_bootstrap *b, braid_session *session, bool *is_ready,
                                   braid_status *st)
{
    bd_strbuf missing = {0};
    *is_ready = false;
    const braid_code code = recover(b, session, is_ready, &missing, st);
    bd_strbuf_fini(&missing);
    return code;
}
