// What input functions and model functions say of the graph that they build.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "train/estimator/estimator.h"
#include <string.h>

// ---- Lists ----

void train_tensors_add_sparse(train_tensors *list, const char *name, braid_sparse value)
{
    const braid_named_tensor tensor = {.name = bd_strdup(name ? name : ""),
                                       .values = value.values,
                                       .indices = value.indices,
                                       .dense_shape = value.dense_shape};
    bd_array_push(list, tensor);
}

void train_tensors_add(train_tensors *list, const char *name, braid_out value)
{
    train_tensors_add_sparse(list, name, (braid_sparse){.values = value});
}

void train_tensors_fini(train_tensors *list)
{
    for (size_t i = 0; i < list->len; i++)
        bd_free((char *)list->items[i].name);
    bd_array_free(list);
}

void train_hooks_take(train_hook_list *to, braid_hook *const *list)
{
    if (!list) return;
    braid_hook *const end = list[0] == &braid_hook_list ? &braid_hook_list : NULL;
    for (braid_hook *const *h = list + (end != NULL); *h != end; h++)
        if (*h) bd_array_push(to, *h);
}

void train_hooks_move(train_hook_list *to, train_hook_list *from)
{
    for (size_t i = 0; i < from->len; i++)
        bd_array_push(to, from->items[i]);
    bd_array_free(from);
}

void train_hooks_free(train_hook_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        if (list->items[i]->free) list->items[i]->free(list->items[i]);
    bd_array_free(list);
}

// ---- Inputs ----

void braid_inputs_feature(braid_inputs *inputs, const char *name, braid_out value)
{
    train_tensors_add(&inputs->features, name, value);
}

void braid_inputs_sparse_feature(braid_inputs *inputs, const char *name, braid_sparse value)
{
    train_tensors_add_sparse(&inputs->features, name, value);
}

void braid_inputs_label(braid_inputs *inputs, const char *name, braid_out value)
{
    train_tensors_add(&inputs->labels, name, value);
}

void braid_inputs_hook(braid_inputs *inputs, braid_hook *hook)
{
    if (hook) bd_array_push(&inputs->hooks, hook);
}

braid_mode braid_inputs_mode(const braid_inputs *inputs)
{
    return inputs->mode;
}

const braid_run_config *braid_inputs_config(const braid_inputs *inputs)
{
    return inputs->estimator->config;
}

void *braid_inputs_params(const braid_inputs *inputs)
{
    return inputs->estimator->params;
}

void braid_receiver_tensor(braid_receiver *receiver, const char *name, braid_out placeholder)
{
    train_tensors_add(&receiver->tensors, name, placeholder);
}

void braid_receiver_feature(braid_receiver *receiver, const char *name, braid_out value)
{
    train_tensors_add(&receiver->features, name, value);
}

void braid_receiver_sparse_feature(braid_receiver *receiver, const char *name, braid_sparse value)
{
    train_tensors_add_sparse(&receiver->features, name, value);
}

// ---- What a model function asks for ----

static const braid_named_tensor *find(const braid_named_tensor *list, int count, const char *name)
{
    if (!name) return count == 1 ? list : NULL;
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

// The graph fails with the names that `owner` ("input", "model") has.
static const braid_named_tensor *require(braid_graph *g, const char *owner, const char *what,
                                         const braid_named_tensor *list, int count, const char *name)
{
    const braid_named_tensor *found = find(list, count, name);
    if (found) return found;
    bd_strbuf names = {0};
    for (int i = 0; list && i < count; i++)
        bd_strbuf_appendf(&names, "%s'%s'", i ? ", " : "", list[i].name);
    const char *there = names.len ? bd_strbuf_str(&names) : "none";
    if (name)
        braid_graph_fail(g, BRAID_NOT_FOUND, "The %s has no %s '%s'; it has %s", owner, what, name, there);
    else
        braid_graph_fail(g, BRAID_NOT_FOUND, "The only %s of the %s is wanted, which has %s", what, owner,
                         there);
    bd_strbuf_fini(&names);
    return NULL;
}

const braid_named_tensor *braid_features_find(const braid_model_args *args, const char *name)
{
    return find(args->features, args->feature_count, name);
}

static braid_out dense_of(braid_graph *g, const char *what, const braid_named_tensor *tensor)
{
    if (!tensor) return (braid_out){NULL, 0};
    if (!tensor->indices.op) return tensor->values;
    braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                     "The %s '%s' is a sparse tensor, where the model wants a dense one", what, tensor->name);
    return (braid_out){NULL, 0};
}

braid_out braid_features_get(const braid_model_args *args, const char *name)
{
    return dense_of(args->graph, "feature",
                    require(args->graph, "input", "feature", args->features, args->feature_count, name));
}

braid_out braid_labels_find(const braid_model_args *args, const char *name)
{
    return dense_of(args->graph, "label",
                    require(args->graph, "input", "label", args->labels, args->label_count, name));
}

braid_out braid_labels_get(const braid_model_args *args)
{
    return braid_labels_find(args, NULL);
}

braid_out braid_predictions_get(const braid_model_args *args, const braid_estimator_spec *spec,
                                const char *name)
{
    const train_tensors *p = &spec->predictions;
    return dense_of(args->graph, "prediction",
                    require(args->graph, "model", "prediction", p->items, (int)p->len, name));
}

// ---- What a model function says ----

void braid_spec_prediction(braid_estimator_spec *spec, const char *name, braid_out value)
{
    train_tensors_add(&spec->predictions, name, value);
}

void braid_spec_loss(braid_estimator_spec *spec, braid_out loss)
{
    spec->loss = loss;
}

void braid_spec_train_op(braid_estimator_spec *spec, braid_op *train_op)
{
    spec->train_op = train_op;
}

void braid_spec_eval_metric(braid_estimator_spec *spec, const char *name, braid_metric metric)
{
    for (size_t i = 0; i < spec->metrics.len; i++) {
        if (strcmp(spec->metrics.items[i].name, name) != 0) continue;
        spec->metrics.items[i].metric = metric;
        return;
    }
    const train_named_metric named = {bd_strdup(name), metric};
    bd_array_push(&spec->metrics, named);
}

void braid_spec_training_hook(braid_estimator_spec *spec, braid_hook *hook)
{
    if (hook) bd_array_push(&spec->hooks[BRAID_MODE_TRAIN], hook);
}

void braid_spec_training_chief_hook(braid_estimator_spec *spec, braid_hook *hook)
{
    if (hook) bd_array_push(&spec->chief_hooks, hook);
}

void braid_spec_evaluation_hook(braid_estimator_spec *spec, braid_hook *hook)
{
    if (hook) bd_array_push(&spec->hooks[BRAID_MODE_EVAL], hook);
}

void braid_spec_prediction_hook(braid_estimator_spec *spec, braid_hook *hook)
{
    if (hook) bd_array_push(&spec->hooks[BRAID_MODE_PREDICT], hook);
}

void braid_spec_scaffold(braid_estimator_spec *spec, const braid_scaffold *scaffold)
{
    spec->scaffold = *scaffold;
}

static train_export *add_export(braid_estimator_spec *spec, const char *key, train_export_kind kind)
{
    const train_export added = {.key = bd_strdup(key), .kind = kind};
    bd_array_push(&spec->exports, added);
    return &spec->exports.items[spec->exports.len - 1];
}

void braid_spec_export_regression(braid_estimator_spec *spec, const char *key, braid_out value)
{
    train_tensors_add(&add_export(spec, key, TRAIN_EXPORT_REGRESSION)->outputs, "outputs", value);
}

void braid_spec_export_classification(braid_estimator_spec *spec, const char *key, braid_out scores,
                                      braid_out classes)
{
    train_export *e = add_export(spec, key, TRAIN_EXPORT_CLASSIFICATION);
    if (classes.op) train_tensors_add(&e->outputs, "classes", classes);
    if (scores.op) train_tensors_add(&e->outputs, "scores", scores);
}

void braid_spec_export_predict(braid_estimator_spec *spec, const char *key, const braid_named_tensor *outputs,
                               int count)
{
    train_export *e = add_export(spec, key, TRAIN_EXPORT_PREDICT);
    for (int i = 0; i < count; i++)
        train_tensors_add(&e->outputs, outputs[i].name, outputs[i].values);
}
