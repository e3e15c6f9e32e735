// The graph of one call of an estimator: the global step, the input, the model.
#include "base/alloc.h"
#include "train/estimator/estimator.h"
#include <braid/device_setter.h>

// While the input and the model are built, variables go to the parameter servers and all else to this task.
static bool push_devices(braid_graph *g, const braid_run_config *c, braid_mode mode)
{
    if (mode != BRAID_MODE_TRAIN || !c->is_distributed || !c->num_ps_replicas) return false;
    char *device = bd_asprintf("/job:%s/task:%d", c->task_type, c->task_id);
    const braid_device_setter_options options = {.worker_device = device};
    braid_push_device_setter(g, braid_replica_device_setter(g, c->cluster, &options));
    bd_free(device);
    return true;
}

static void build_serving(train_model *m, const train_serving *serving)
{
    serving->input->build(serving->input->arg, m->graph, serving->receiver);
    for (size_t i = 0; i < serving->receiver->features.len; i++) {
        const braid_named_tensor *f = &serving->receiver->features.items[i];
        const braid_sparse value = {f->indices, f->values, f->dense_shape};
        train_tensors_add_sparse(&m->inputs.features, f->name, value);
    }
}

static void build_input(train_model *m, const braid_input *input, const train_serving *serving)
{
    if (serving)
        build_serving(m, serving);
    else if (input->build)
        input->build(input->arg, m->graph, &m->inputs);
    else
        braid_graph_fail(m->graph, BRAID_INVALID_ARGUMENT, "An estimator's input has no function `build`");
}

static void build_model(train_model *m, braid_estimator *e, braid_mode mode)
{
    const bool has_labels = mode != BRAID_MODE_PREDICT;
    const braid_model_args args = {.graph = m->graph,
                                   .features = m->inputs.features.items,
                                   .feature_count = (int)m->inputs.features.len,
                                   .labels = m->inputs.labels.items,
                                   .label_count = has_labels ? (int)m->inputs.labels.len : 0,
                                   .mode = mode,
                                   .params = e->params,
                                   .config = e->config};
    e->model_fn(&args, &m->spec);
    for (size_t i = 0; mode == BRAID_MODE_EVAL && i < e->metrics.len; i++)
        if (!braid_graph_status(m->graph, NULL))
            e->metrics.items[i].build(&args, &m->spec, e->metrics.items[i].arg);
}

braid_code train_model_build(train_model *m, braid_estimator *e, braid_mode mode, const braid_input *input,
                             const train_serving *serving, braid_status *st)
{
    m->graph = braid_graph_new();
    if (e->config->options.has_random_seed) braid_graph_set_seed(m->graph, e->config->options.random_seed);
    m->inputs.estimator = e;
    m->inputs.mode = mode;
    const bool has_devices = push_devices(m->graph, e->config, mode);
    braid_global_step(m->graph);
    build_input(m, input, serving);
    if (!braid_graph_status(m->graph, st)) build_model(m, e, mode);
    if (has_devices) braid_pop_device(m->graph);
    return braid_graph_status(m->graph, st);
}

void train_model_fini(train_model *m)
{
    train_tensors_fini(&m->inputs.features);
    train_tensors_fini(&m->inputs.labels);
    train_hooks_free(&m->inputs.hooks);
    train_tensors_fini(&m->spec.predictions);
    for (size_t i = 0; i < m->spec.metrics.len; i++)
        bd_free(m->spec.metrics.items[i].name);
    bd_array_free(&m->spec.metrics);
    for (int mode = 0; mode <= BRAID_MODE_PREDICT; mode++)
        train_hooks_free(&m->spec.hooks[mode]);
    train_hooks_free(&m->spec.chief_hooks);
    for (size_t i = 0; i < m->spec.exports.len; i++) {
        bd_free(m->spec.exports.items[i].key);
        train_tensors_fini(&m->spec.exports.items[i].outputs);
    }
    bd_array_free(&m->spec.exports);
    braid_graph_free(m->graph);
}
