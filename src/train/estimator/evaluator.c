// An evaluator: evaluates the checkpoints of a model that other tasks train.
//
// It waits for checkpoints, and now and then looks for the mark of a chief that has ended. Training has ended
// when the newest checkpoint has reached `max_steps`, or when the mark is there. A mark that was there when
// the evaluator began may be that of an earlier run, whose successor has yet to begin: it counts when it has
// stayed for the grace time. States: waiting -> (a new checkpoint, the throttle time over or training ended)
// evaluating -> waiting -> ... -> (training ended, and the newest checkpoint evaluated) done.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/wait_limits.h"
#include "train/estimator/evaluations.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STEPS_DEFAULT 100
#define THROTTLE_SECONDS_DEFAULT 600
// How often the mark is looked for.
#define LOOK_MS 1000
#define NS_A_MS INT64_C(1000000)
#define NS_A_SECOND 1e9

// ---- One evaluation ----

static braid_code call_exporters(braid_estimator *e, const braid_eval_spec *eval, const char *checkpoint,
                                 const braid_evaluation *evaluation, bool is_final, braid_status *st)
{
    for (int i = 0; i < eval->exporter_count && !st->code; i++) {
        const braid_exporter *x = &eval->exporters[i];
        char *path = bd_asprintf("%s/export/%s", e->config->model_dir, x->name);
        if (x->export_model(x, e, path, checkpoint, evaluation, is_final, st))
            bd_status_prefix(st, "Exporter '%s': ", x->name);
        bd_free(path);
    }
    return st->code;
}

braid_code train_evaluate_and_export(braid_estimator *e, const braid_eval_spec *eval, const char *checkpoint,
                                     bool is_final, braid_status *st)
{
    const braid_evaluate_options options = {.input = eval->input,
                                            .steps = eval->steps ? bd_max(eval->steps, 0) : STEPS_DEFAULT,
                                            .checkpoint_path = checkpoint,
                                            .name = eval->name};
    braid_evaluation *evaluation = braid_estimator_evaluate(e, &options, st);
    if (evaluation) call_exporters(e, eval, checkpoint, evaluation, is_final, st);
    braid_evaluation_free(evaluation);
    return st->code;
}

// ---- The mark ----

static char *mark_path(const braid_estimator *e)
{
    return bd_asprintf("%s/training_ended", e->config->model_dir);
}

braid_code train_mark_begin(const braid_estimator *e, braid_status *st)
{
    char *path = mark_path(e);
    if (unlink(path) && errno != ENOENT)
        bd_fail(st, BRAID_UNAVAILABLE, "Cannot remove '%s': %s", path, strerror(errno));
    bd_free(path);
    return st->code;
}

braid_code train_mark_end(const braid_estimator *e, braid_status *st)
{
    char *path = mark_path(e);
    FILE *file = fopen(path, "we");
    if (!file) bd_fail(st, BRAID_UNAVAILABLE, "Cannot make '%s': %s", path, strerror(errno));
    if (file) fclose(file);
    bd_free(path);
    return st->code;
}

bool train_has_end_mark(const braid_estimator *e)
{
    char *path = mark_path(e);
    const bool exists = access(path, F_OK) == 0;
    bd_free(path);
    return exists;
}

// ---- The evaluator ----

typedef struct evaluator {
    braid_estimator *e;
    const braid_eval_spec *eval;
    int64_t max_steps;
    char *newest, *evaluated; // checkpoints; NULL: none yet
    int64_t next_ns;          // when the next evaluation may begin, unless training has ended
    int64_t throttle_ns;      // between two beginnings
    int64_t timeout_ns;       // without a new checkpoint
    int64_t seen_ns;          // when the newest checkpoint came, or when the evaluator began
    int64_t mark_counts_ns;   // an old mark does not count before
    bool mark_is_old;         // it has been there from the beginning
} evaluator;

static bool has_reached_max_steps(const evaluator *v)
{
    return v->newest && v->max_steps > 0 && train_checkpoint_step(v->newest) >= v->max_steps;
}

static bool is_marked(evaluator *v)
{
    if (!train_has_end_mark(v->e)) {
        v->mark_is_old = false;
        return false;
    }
    return !v->mark_is_old || bd_now_ns() >= v->mark_counts_ns;
}

static bool is_evaluated(const evaluator *v)
{
    return v->evaluated && strcmp(v->evaluated, v->newest) == 0;
}

static braid_code evaluate_newest(evaluator *v, bool is_final, braid_status *st)
{
    v->next_ns = bd_now_ns() + v->throttle_ns;
    bd_free(v->evaluated);
    v->evaluated = bd_strdup(v->newest);
    if (train_evaluate_and_export(v->e, v->eval, v->newest, is_final, st) != BRAID_NOT_FOUND ||
        braid_checkpoint_exists(v->newest))
        return st->code;
    bd_info("Checkpoint %s has been removed before it was evaluated", v->newest);
    braid_status_clear(st);
    v->next_ns = 0;
    return BRAID_OK;
}

// Waits for a while, and takes a new checkpoint.
static braid_code look_for_checkpoint(evaluator *v, braid_status *st)
{
    char *found = braid_wait_for_new_checkpoint(v->e->config->model_dir, v->newest, LOOK_MS, st);
    if (found) {
        bd_free(v->newest);
        v->newest = found;
        v->seen_ns = bd_now_ns();
    }
    if (st->code == BRAID_DEADLINE_EXCEEDED) braid_status_clear(st);
    return st->code;
}

static braid_code check_timeout(const evaluator *v, braid_status *st)
{
    if (bd_now_ns() - v->seen_ns < v->timeout_ns) return BRAID_OK;
    return bd_fail(st, BRAID_DEADLINE_EXCEEDED,
                   "The evaluator has waited %.0f s for a new checkpoint in %s. Does the chief train there? "
                   "(eval_spec.checkpoint_timeout_seconds sets the limit)",
                   (double)v->timeout_ns / NS_A_SECOND, v->e->config->model_dir);
}

// The mark is looked at before the newest checkpoint, never after it: the chief may write its last one, and
// make the mark, between the two. No checkpoint is written after the mark.
static braid_code run(evaluator *v, braid_status *st)
{
    for (;;) {
        const bool was_marked = is_marked(v);
        if (look_for_checkpoint(v, st)) return st->code;
        const bool ended = was_marked || has_reached_max_steps(v);
        const bool is_new = v->newest && !is_evaluated(v);
        if (is_new && (ended || bd_now_ns() >= v->next_ns) && evaluate_newest(v, ended, st)) return st->code;
        if (ended && v->newest && is_evaluated(v)) return BRAID_OK;
        if (check_timeout(v, st)) return st->code;
    }
}

static braid_code read_limits(evaluator *v, const braid_eval_spec *eval, braid_status *st)
{
    int64_t timeout_ms, grace_ms;
    if (bd_start_timeout_ms(&timeout_ms, st) || bd_grace_ms(&grace_ms, st)) return st->code;
    const double throttle = eval->throttle_seconds == 0 ? THROTTLE_SECONDS_DEFAULT : eval->throttle_seconds;
    v->throttle_ns = throttle > 0 ? (int64_t)(throttle * NS_A_SECOND) : 0;
    v->timeout_ns = eval->checkpoint_timeout_seconds > 0
                        ? (int64_t)(eval->checkpoint_timeout_seconds * NS_A_SECOND)
                        : timeout_ms * NS_A_MS;
    v->seen_ns = bd_now_ns();
    v->mark_counts_ns = v->seen_ns + grace_ms * NS_A_MS;
    v->mark_is_old = train_has_end_mark(v->e);
    return BRAID_OK;
}

braid_code train_run_evaluator(braid_estimator *e, int64_t max_steps, const braid_eval_spec *eval,
                               braid_status *st)
{
    evaluator v = {.e = e, .eval = eval, .max_steps = max_steps};
    if (!read_limits(&v, eval, st)) run(&v, st);
    bd_free(v.newest);
    bd_free(v.evaluated);
    return st->code;
}
