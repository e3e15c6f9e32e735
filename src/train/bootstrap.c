// How a session reaches the state in which every variable is initialized.
//
// Chief:  ready? -> (no) restore the newest checkpoint, or init_op -> local_init_op -> ready? -> notify
// Others: generation := notifications so far -> ready? -> local_init_op
//                 ^                               | no
//                 +--- wait(generation) <---------+
//
// Reading the generation before asking whether all is ready makes the wait safe: a notification in between
// ends it. A restarted chief finds the variables on the parameter servers initialized, and keeps them.
#include "train/bootstrap.h"
#include "train/variable_internal.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include <braid/checkpoint.h>
#include <braid/ops.h>
#include <braid/variables.h>

void train_bootstrap_build(train_bootstrap *b, braid_graph *g)
{
    if (!b->init_op) b->init_op = braid_global_variables_initializer(g);
    b->ready = b->ready_for_local_init = braid_report_uninitialized_variables(g);
    int local_count;
    (void)braid_collection(g, BRAID_LOCAL_VARIABLES, &local_count);
    if (local_count) b->ready_for_local_init = train_report_uninitialized_globals(g);
    braid_op *local[2];
    local[0] = braid_local_variables_initializer(g);
    local[1] = braid_no_op(g, "init_all_tables");
    b->local_init_op = braid_group(g, NULL, local, 2);
}

static braid_code run_op(braid_session *session, braid_op *op, braid_status *st)
{
    return braid_session_run(session, &(braid_run_args){.targets = &op, .target_count = 1}, st);
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
    if (!b->checkpoint_dir || !b->saver) return BRAID_OK;
    char *latest = braid_latest_checkpoint(b->checkpoint_dir, st);
    if (st->code == BRAID_NOT_FOUND) {
        braid_status_clear(st);
        return BRAID_OK;
    }
    if (!latest) return st->code;
    if (!braid_saver_restore(b->saver, session, latest, st)) {
        bd_info("Restored the checkpoint %s", latest);
        *restored = true;
    }
    bd_free(latest);
    return st->code;
}

// Gives all variables values. Variables that the saver does not restore get their initial values.
static braid_code give_values(const train_bootstrap *b, braid_session *session, bd_strbuf *missing,
                              braid_status *st)
{
    bool restored;
    if (restore(b, session, &restored, st)) return st->code;
    if (!restored) return run_op(session, b->init_op, st);
    braid_code code = missing_variables(session, b->ready_for_local_init, missing, st);
    if (code || missing->len == 0) return code;
    code = run_op(session, b->init_op, st);
    return code ? code : restore(b, session, &restored, st);
}

static braid_code initialize(const train_bootstrap *b, braid_session *session, bd_strbuf *missing,
                             braid_status *st)
{
    braid_code code = missing_variables(session, b->ready_for_local_init, missing, st);
    if (!code && missing->len) code = give_values(b, session, missing, st);
    if (code) return code;
    code = run_op(session, b->local_init_op, st);
    if (code) return code;
    code = missing_variables(session, b->ready, missing, st);
    if (code) return code;
    if (missing->len)
        return bd_fail(st, BRAID_FAILED_PRECONDITION,
                       "The initialization has run, but these variables have no value: %s",
                       bd_strbuf_str(missing));
    code = braid_session_notify(session, TRAIN_VARIABLES_INITIALIZED, st);
    if (code != BRAID_UNIMPLEMENTED) return code;
    braid_status_clear(st); // a server of another kind: no task there waits for the notification
    return BRAID_OK;
}

static braid_code wait_notification_chief(const train_bootstrap *b, braid_session *session,
                                          bd_strbuf *missing, braid_status *st)
{
    const int64_t deadline = bd_deadline_after_ms(b->wait_timeout_ms);
    int64_t generation = 0;
    braid_code code = braid_session_wait_notification(
        session, &(braid_notification_wait){.key = TRAIN_VARIABLES_INITIALIZED, .seen = -1, .timeout_ms = 0},
        &generation, st);
    for (bool said = false; !code; said = true) {
        code = missing_variables(session, b->ready_for_local_init, missing, st);
        if (code || missing->len == 0) break;
        if (!said)
            bd_info("Waiting for the chief to initialize %s (at most %.0f s)", bd_strbuf_str(missing),
                    (double)b->wait_timeout_ms / 1e3);
        const int64_t left_ms = bd_max(1, bd_deadline_left_ms(deadline));
        code = braid_session_wait_notification(session,
                                               &(braid_notification_wait){.key = TRAIN_VARIABLES_INITIALIZED,
                                                                          .seen = generation,
                                                                          .timeout_ms = left_ms},
                                               &generation, st);
        if (code == BRAID_DEADLINE_EXCEEDED)
            bd_status_prefix(st, "Waiting for the chief to initialize %s: ", bd_strbuf_str(missing));
    }
    return code ? code : run_op(session, b->local_init_op, st);
}

braid_code train_bootstrap_run(const train_bootstrap *b, braid_session *session, braid_status *st)
{
    bd_strbuf missing = {0};
    braid_code code = b->is_chief ? initialize(b, session, &missing, st)
                                  : wait_notification_chief(b, session, &missing, st);
    bd_strbuf_fini(&missing);
    return code;
}
