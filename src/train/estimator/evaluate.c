// Evaluation of a checkpoint: the metrics of a model over an input, as values and in an event file.
#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "train/estimator/estimator.h"
#include <braid/event_writer.h>
#include <string.h>

typedef struct named_value {
    char *name;
    braid_out out; // until it has been fetched
    braid_tensor *value;
} named_value;

struct braid_evaluation {
    BD_ARRAY(named_value) values;
};

void braid_evaluation_free(braid_evaluation *evaluation)
{
    if (!evaluation) return;
    for (size_t i = 0; i < evaluation->values.len; i++) {
        bd_free(evaluation->values.items[i].name);
        braid_tensor_free(evaluation->values.items[i].value);
    }
    bd_array_free(&evaluation->values);
    bd_free(evaluation);
}

int braid_evaluation_count(const braid_evaluation *evaluation)
{
    return (int)evaluation->values.len;
}

const char *braid_evaluation_name(const braid_evaluation *evaluation, int index)
{
    return evaluation->values.items[index].name;
}

const braid_tensor *braid_evaluation_value(const braid_evaluation *evaluation, int index)
{
    return evaluation->values.items[index].value;
}

static bool number_of(const braid_tensor *t, double *value)
{
    if (braid_tensor_num_elements(t) != 1) return false;
    const void *data = braid_tensor_data(t);
    switch (braid_tensor_dtype(t)) {
    case BRAID_FLOAT: *value = (double)*(const float *)data; return true;
    case BRAID_DOUBLE: *value = *(const double *)data; return true;
    case BRAID_INT32: *value = *(const int32_t *)data; return true;
    case BRAID_INT64: *value = (double)*(const int64_t *)data; return true;
    default: return false;
    }
}

bool braid_evaluation_get(const braid_evaluation *evaluation, const char *name, double *value)
{
    for (size_t i = 0; i < evaluation->values.len; i++)
        if (strcmp(evaluation->values.items[i].name, name) == 0)
            return number_of(evaluation->values.items[i].value, value);
    return false;
}

// ---- The metrics of the model ----

static bool has_metric(const braid_estimator_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->metrics.len; i++)
        if (strcmp(spec->metrics.items[i].name, name) == 0) return true;
    return false;
}

static void add_value(braid_evaluation *evaluation, const char *name, braid_out out)
{
    const named_value value = {.name = bd_strdup(name), .out = out};
    bd_array_push(&evaluation->values, value);
}

// Adds the mean of the losses to the metrics, and lists what is to be fetched.
static braid_op *collect_metrics(train_model *m, braid_evaluation *evaluation)
{
    braid_estimator_spec *spec = &m->spec;
    if (!has_metric(spec, "loss"))
        braid_spec_eval_metric(spec, "loss", braid_metric_mean(m->graph, spec->loss, NULL));
    BD_ARRAY(braid_op *) updates = {0};
    for (size_t i = 0; i < spec->metrics.len; i++) {
        bd_array_push(&updates, spec->metrics.items[i].metric.update.op);
        add_value(evaluation, spec->metrics.items[i].name, spec->metrics.items[i].metric.value);
    }
    add_value(evaluation, BRAID_GLOBAL_STEP, braid_find_global_step(m->graph));
    braid_op *update = braid_graph_status(m->graph, NULL)
                           ? NULL
                           : braid_group(m->graph, "eval_op", updates.items, (int)updates.len);
    bd_array_free(&updates);
    return update;
}

// ---- The run ----

static void fetch_values(braid_monitored_session *s, braid_evaluation *evaluation)
{
    BD_ARRAY(braid_fetch) fetches = {0};
    for (size_t i = 0; i < evaluation->values.len; i++) {
        named_value *v = &evaluation->values.items[i];
        bd_array_push(&fetches, (braid_fetch){v->out, &v->value});
    }
    bd_array_push(&fetches, (braid_fetch){{NULL, 0}, NULL});
    braid_evaluate(s, NULL, fetches.items);
    bd_array_free(&fetches);
}

static braid_code run_metrics(const braid_estimator *e, train_model *m, const char *path, int64_t steps,
                              train_hook_list *hooks, braid_evaluation *evaluation, braid_status *st)
{
    braid_op *update = collect_metrics(m, evaluation);
    if (braid_graph_status(m->graph, st)) return st->code;
    train_hooks_move(hooks, &m->inputs.hooks);
    train_hooks_move(hooks, &m->spec.hooks[BRAID_MODE_EVAL]);
    braid_monitored_session *s = train_open_restored(e, m, path, hooks);
    int64_t done = 0;
    while (!braid_should_stop(s) && (steps <= 0 || done < steps))
        done += braid_run(s, NULL, NULL, update) == BRAID_OK;
    if (!braid_monitored_session_status(s, st)) fetch_values(s, evaluation);
    braid_monitored_session_status(s, st);
    if (train_session_result(braid_monitored_session_close(s), st)) return st->code;
    if (!done) bd_warn("The input of the evaluation had no batch");
    return BRAID_OK;
}

// ---- What is written of it ----

static void log_values(const braid_evaluation *evaluation, const char *path)
{
    bd_strbuf line = {0};
    for (size_t i = 0; i < evaluation->values.len; i++) {
        char *text = braid_tensor_text(evaluation->values.items[i].value, 10);
        bd_strbuf_appendf(&line, "%s%s = %s", i ? ", " : "", evaluation->values.items[i].name, text);
        bd_free(text);
    }
    bd_info("Evaluation of %s: %s", path ? path : "a model without a checkpoint", bd_strbuf_str(&line));
    bd_strbuf_fini(&line);
}

static braid_code write_values(const char *dir, const braid_evaluation *evaluation, braid_status *st)
{
    double step = 0, value;
    braid_evaluation_get(evaluation, BRAID_GLOBAL_STEP, &step);
    braid_event_writer *writer = braid_event_writer_open(dir, st);
    for (size_t i = 0; writer && i < evaluation->values.len && !st->code; i++) {
        const named_value *v = &evaluation->values.items[i];
        if (strcmp(v->name, BRAID_GLOBAL_STEP) == 0) continue;
        if (number_of(v->value, &value))
            braid_event_writer_add_scalar(writer, v->name, (float)value, (int64_t)step, st);
        else
            bd_info("'%s' is not written to the event file: it is not one number", v->name);
    }
    if (writer) braid_event_writer_close(writer, st->code ? NULL : st);
    return st->code;
}

static braid_code record(const braid_estimator *e, const braid_evaluate_options *o, const char *path,
                         const braid_evaluation *evaluation, braid_status *st)
{
    log_values(evaluation, path);
    char *dir = o->name ? bd_asprintf("%s/eval_%s", e->config->model_dir, o->name)
                        : bd_asprintf("%s/eval", e->config->model_dir);
    write_values(dir, evaluation, st);
    bd_free(dir);
    return st->code;
}

static braid_code evaluate(braid_estimator *e, const braid_evaluate_options *o, train_hook_list *hooks,
                           braid_evaluation *evaluation, braid_status *st)
{
    char *path;
    if (train_find_checkpoint(e, o->checkpoint_path, "evaluate", &path, st)) return st->code;
    train_model m = {0};
    if (!train_model_build(&m, e, BRAID_MODE_EVAL, &o->input, NULL, st)) {
        if (!m.spec.loss.op)
            bd_fail(st, BRAID_INVALID_ARGUMENT,
                    "The model function has set no loss, which an evaluation needs (braid_spec_loss)");
        else
            run_metrics(e, &m, path, o->steps, hooks, evaluation, st);
    }
    train_model_fini(&m);
    if (!st->code) record(e, o, path, evaluation, st);
    bd_free(path);
    return st->code;
}

braid_evaluation *braid_estimator_evaluate(braid_estimator *e, const braid_evaluate_options *options,
                                           braid_status *status)
{
    BD_STATUS(unwanted);
    train_hook_list hooks = {0};
    train_hooks_take(&hooks, options->hooks);
    braid_evaluation *evaluation = bd_calloc(1, sizeof *evaluation);
    const braid_code code = evaluate(e, options, &hooks, evaluation, status ? status : unwanted);
    train_hooks_free(&hooks);
    if (!code) return evaluation;
    braid_evaluation_free(evaluation);
    return NULL;
}
