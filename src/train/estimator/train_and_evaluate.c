// The work of a task: training with evaluations in between, training alone, serving variables, evaluating.
#include "base/alloc.h"
#include "base/log.h"
#include "train/estimator/evaluations.h"
#include <string.h>

#define THROTTLE_SECONDS_DEFAULT 600

static bool is_task(const braid_run_config *c, const char *type)
{
    return strcmp(c->task_type, type) == 0;
}

// ---- Evaluations while training ----

typedef struct evaluating {
    braid_estimator *e;
    const braid_eval_spec *eval;
    int64_t max_steps;
    int64_t first_step; // the checkpoint at the beginning is not evaluated
    bool is_throttled;
    braid_step_timer timer;
} evaluating;

static braid_code evaluate_now(evaluating *v, int64_t step, bool is_final, braid_status *st)
{
    char *path = braid_estimator_latest_checkpoint(v->e, st);
    if (path) train_evaluate_and_export(v->e, v->eval, path, is_final, st);
    bd_free(path);
    braid_step_timer_mark(&v->timer, step);
    return st->code;
}

static braid_code after_save(void *arg, braid_session *session, int64_t step, braid_status *st)
{
    (void)session;
    evaluating *v = arg;
    const bool is_last = v->max_steps > 0 && step >= v->max_steps; // is evaluated at the end
    if (step == v->first_step || is_last) return BRAID_OK;
    if (v->is_throttled && !braid_step_timer_is_due(&v->timer, step)) {
        bd_info("Checkpoint %lld is not evaluated: the last evaluation was %s", (long long)step,
                "less than throttle_seconds ago");
        return BRAID_OK;
    }
    return evaluate_now(v, step, false, st);
}

static braid_code at_end(void *arg, braid_session *session, int64_t step, braid_status *st)
{
    (void)session;
    return evaluate_now(arg, step, true, st);
}

static int64_t step_at_begin(const braid_estimator *e)
{
    char *path = braid_estimator_latest_checkpoint(e, NULL);
    const int64_t step = path ? train_checkpoint_step(path) : 0;
    bd_free(path);
    return step;
}

static braid_code train_with_evaluations(braid_estimator *e, const braid_train_options *train,
                                         const braid_eval_spec *eval, braid_status *st)
{
    const double throttle = eval->throttle_seconds == 0 ? THROTTLE_SECONDS_DEFAULT : eval->throttle_seconds;
    evaluating v = {.e = e,
                    .eval = eval,
                    .max_steps = train->max_steps,
                    .first_step = step_at_begin(e),
                    .is_throttled = throttle > 0,
                    .timer = braid_step_timer_make(0, throttle > 0 ? throttle : 1)};
    const braid_checkpoint_listener listener = {.after_save = after_save, .end = at_end, .arg = &v};
    braid_train_options with = *train;
    with.listeners = &listener;
    with.listener_count = 1;
    return braid_estimator_train(e, &with, st);
}

// ---- The tasks of a cluster ----

static braid_code serve(braid_estimator *e, braid_status *st)
{
    return train_start_server(e, st) ? st->code : braid_server_join(train_server_of(e), st);
}

// The server of a task that has done its work says so when it is freed.
static void end_server(braid_estimator *e, const braid_status *st)
{
    if (e->server && st->code) braid_server_failed(e->server);
    braid_server_free(e->server);
    e->server = NULL;
}

static braid_code train_task(braid_estimator *e, const braid_train_options *train,
                             const braid_eval_spec *eval, braid_status *st)
{
    const braid_run_config *c = e->config;
    const bool evaluates = !c->is_distributed || is_task(c, "master");
    if (c->is_chief && train_mark_begin(e, st)) return st->code;
    if (evaluates)
        train_with_evaluations(e, train, eval, st);
    else
        braid_estimator_train(e, train, st);
    if (!st->code && c->is_chief) train_mark_end(e, st);
    return st->code;
}

braid_code braid_train_and_evaluate(braid_estimator *e, const braid_train_spec *train,
                                    const braid_eval_spec *eval, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    const bool is_ps = is_task(e->config, "ps"), is_evaluator = is_task(e->config, "evaluator");
    train_hook_list hooks = {0};
    if (is_ps || is_evaluator) train_hooks_take(&hooks, train->hooks);
    train_hooks_free(&hooks);
    const braid_train_options options = {
        .input = train->input, .max_steps = train->max_steps, .hooks = train->hooks};
    if (is_ps)
        serve(e, st);
    else if (is_evaluator)
        train_run_evaluator(e, train->max_steps, eval, st);
    else
        train_task(e, &options, eval, st);
    end_server(e, st);
    return st->code;
}
