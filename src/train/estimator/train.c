// Training of an estimator: a monitored session of the chief, a worker, or a program that trains alone.
#include "base/alloc.h"
#include "base/log.h"
#include "train/estimator/estimator.h"
#include <braid/summary.h>
#include <string.h>

static braid_code check_role(const braid_run_config *c, braid_status *st)
{
    const bool is_ps = strcmp(c->task_type, "ps") == 0;
    if (!is_ps && strcmp(c->task_type, "evaluator") != 0) return BRAID_OK;
    return bd_fail(st, BRAID_FAILED_PRECONDITION,
                   "This task, /job:%s/task:%d, does not train: braid_train_and_evaluate does the work of %s",
                   c->task_type, c->task_id, is_ps ? "a parameter server" : "an evaluator");
}

static braid_code check_spec(const braid_estimator_spec *spec, braid_status *st)
{
    if (!spec->loss.op || !spec->train_op)
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT, "The model function has set no %s, which training needs (%s)",
            spec->loss.op ? "train_op" : "loss", spec->loss.op ? "braid_spec_train_op" : "braid_spec_loss");
    const braid_shape shape = braid_out_shape(spec->loss);
    if (shape.rank <= 0 || braid_shape_num_elements(shape) == 1) return BRAID_OK;
    char *text = braid_shape_text(shape);
    bd_fail(st, BRAID_INVALID_ARGUMENT, "The model's loss '%s' has the shape %s. It must be a scalar",
            braid_op_name(spec->loss.op), text);
    bd_free(text);
    return st->code;
}

// A model that has been trained before goes on from its own checkpoint.
static braid_code warm_start(const braid_estimator *e, braid_graph *g, braid_status *st)
{
    char *own = braid_latest_checkpoint(e->config->model_dir, NULL);
    const bool is_first = !own;
    bd_free(own);
    return is_first ? train_warm_start_apply(e->warm_start, g, st) : BRAID_OK;
}

// ---- The session ----

// The summary of the loss, unless the model has one.
static void summarize_loss(braid_graph *g, braid_out loss)
{
    int count;
    const braid_out *summaries = braid_collection(g, BRAID_SUMMARIES, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(braid_op_name(summaries[i].op), "loss") == 0) return;
    braid_summary_scalar(g, "loss", loss);
}

static braid_saver *make_saver(braid_graph *g, const braid_run_config *c)
{
    return braid_saver_new(
        g, &(braid_saver_options){.sharded = true, .asynchronous = true, .policy = c->options.keep});
}

static braid_hook *log_loss(braid_graph *g, const braid_run_config *c, braid_out loss)
{
    if (c->options.log_step_count_steps < 0) return NULL;
    const braid_out tensors[] = {loss, braid_find_global_step(g)};
    static const char *const tags[] = {"loss", "step"};
    return braid_logging_tensor(&(braid_logging_tensor_options){
        .tensors = tensors, .tags = tags, .count = 2, .every_steps = c->options.log_step_count_steps});
}

// TensorFlow's order: what stops, what looks at the loss, the program's, the model's.
static void collect_hooks(train_model *m, const braid_run_config *c, const braid_train_options *o,
                          train_hook_list *hooks)
{
    train_hook_list own = {0};
    if (o->max_steps > 0) bd_array_push(&own, braid_stop_at_step(o->max_steps));
    if (o->steps > 0) bd_array_push(&own, braid_stop_after_steps(o->steps));
    bd_array_push(&own, braid_nan_tensor(m->spec.loss, false));
    braid_hook *log = log_loss(m->graph, c, m->spec.loss);
    if (log) bd_array_push(&own, log);
    train_hooks_move(&own, hooks);
    train_hooks_move(&own, &m->inputs.hooks);
    train_hooks_move(&own, &m->spec.hooks[BRAID_MODE_TRAIN]);
    bd_array_push(&own, NULL);
    *hooks = own;
}

static braid_hook *checkpoint_hook(const braid_run_config *c, const braid_train_options *o,
                                   braid_saver *saver)
{
    return braid_checkpoint_saver(
        &(braid_checkpoint_saver_options){.dir = c->model_dir,
                                          .saver = saver,
                                          .every_seconds = c->options.save_checkpoints_seconds,
                                          .every_steps = c->options.save_checkpoints_steps,
                                          .listeners = o->listeners,
                                          .listener_count = o->listener_count});
}

static braid_monitored_session *open_session(const braid_estimator *e, train_model *m,
                                             const braid_train_options *o, train_hook_list *hooks)
{
    const braid_run_config *c = e->config;
    if (!m->spec.scaffold.saver) m->spec.scaffold.saver = make_saver(m->graph, c);
    braid_session_config config = {.session = c->options.session,
                                   .is_chief = c->is_chief,
                                   .scaffold = m->spec.scaffold,
                                   .checkpoint_dir = c->model_dir,
                                   .save_checkpoint_seconds = -1, // by the hook below
                                   .save_summaries_steps = c->options.save_summary_steps,
                                   .log_step_count_steps = c->options.log_step_count_steps};
    config.session.server = train_server_of(e);
    bd_array_push(&m->spec.chief_hooks, checkpoint_hook(c, o, m->spec.scaffold.saver));
    bd_array_push(&m->spec.chief_hooks, NULL);
    config.hooks = hooks->items;
    config.chief_only_hooks = m->spec.chief_hooks.items;
    braid_monitored_session *s = braid_monitored_session_open(m->graph, &config);
    bd_array_free(hooks);
    bd_array_free(&m->spec.chief_hooks);
    return s;
}

static braid_code train_model_steps(braid_estimator *e, train_model *m, const braid_train_options *o,
                                    train_hook_list *hooks, braid_status *st)
{
    if (train_model_build(m, e, BRAID_MODE_TRAIN, &o->input, NULL, st)) return st->code;
    if (check_spec(&m->spec, st) || warm_start(e, m->graph, st)) return st->code;
    summarize_loss(m->graph, m->spec.loss);
    collect_hooks(m, e->config, o, hooks);
    braid_monitored_session *s = open_session(e, m, o, hooks);
    while (!braid_should_stop(s))
        braid_run(s, NULL, NULL, m->spec.train_op);
    braid_monitored_session_status(s, st);
    return train_session_result(braid_monitored_session_close(s), st);
}

static bool has_reached(const braid_estimator *e, int64_t max_steps)
{
    char *path = max_steps > 0 ? braid_latest_checkpoint(e->config->model_dir, NULL) : NULL;
    const int64_t step = path ? train_checkpoint_step(path) : -1;
    bd_free(path);
    if (step < max_steps || max_steps <= 0) return false;
    bd_info("Training is done: the model has reached step %lld, and max_steps is %lld", (long long)step,
            (long long)max_steps);
    return true;
}

static braid_code train(braid_estimator *e, const braid_train_options *o, train_hook_list *hooks,
                        braid_status *st)
{
    if (o->steps < 0 || o->max_steps < 0 || (o->steps && o->max_steps))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Training takes `steps` or `max_steps`, a positive number, and not both");
    if (check_role(e->config, st)) return st->code;
    if (has_reached(e, o->max_steps) && !e->config->is_distributed) return BRAID_OK;
    if (train_start_server(e, st)) return st->code;
    train_model m = {0};
    train_model_steps(e, &m, o, hooks, st);
    train_model_fini(&m);
    return st->code;
}

braid_code braid_estimator_train(braid_estimator *e, const braid_train_options *options, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    train_hook_list hooks = {0};
    train_hooks_take(&hooks, options->hooks);
    train(e, options, &hooks, st);
    train_hooks_free(&hooks);
    return st->code;
}
