// Canned estimators: the linear part, the network, and the optimizers that train them.
#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "train/estimator/estimator.h"
#include "train/estimator/head.h"
#include <braid/canned_estimators.h>
#include <braid/layers.h>
#include <braid/summary.h>
#include <math.h>
#include <string.h>

// Learning rates, TensorFlow's.
#define LINEAR_RATE 0.2f
#define DNN_RATE 0.05f
#define COMBINED_LINEAR_RATE 0.005f // at most
#define COMBINED_DNN_RATE 0.001f
#define MIN_SLICE_OF_TABLES (64 << 20) // bytes, of linear weights and embeddings; TensorFlow's
#define BATCH_NORM_MOMENTUM 0.999f     // TensorFlow's

typedef struct canned {
    braid_canned_options options;
    train_head head;
    bool has_linear, has_dnn;
} canned;

// ---- The logits ----
//
// All variables are in parts, as in TensorFlow: in one part where there is no parameter server.

static braid_partitioner partitioner_of(const canned *c, const braid_model_args *args)
{
    if (c->options.partitioner.shards) return c->options.partitioner;
    return braid_min_max_variable_partitioner(args->config->num_ps_replicas, 0, MIN_SLICE_OF_TABLES);
}

static void push_dnn(const braid_model_args *args)
{
    const braid_variable_scope_options options = {
        .partitioner = braid_min_max_variable_partitioner(args->config->num_ps_replicas, 0, 0)};
    (void)braid_push_variable_scope(args->graph, "dnn", &options);
}

static void push_linear(const canned *c, const braid_model_args *args)
{
    const braid_variable_scope_options options = {.partitioner = partitioner_of(c, args)};
    (void)braid_push_variable_scope(args->graph, "linear", &options);
}

static braid_out normalize(braid_graph *g, const char *layer, int index, braid_out x, bool training)
{
    char *name = bd_asprintf("batchnorm_%d", index);
    (void)braid_push_variable_scope(g, layer, NULL);
    x = braid_layers_batch_normalization(
        g, x,
        &(braid_batch_normalization_options){
            .name = name, .training = training, .momentum = BATCH_NORM_MOMENTUM});
    braid_pop_variable_scope(g);
    bd_free(name);
    return x;
}

static braid_out hidden_layer(braid_graph *g, const canned *c, braid_out x, int index, bool training)
{
    char *name = bd_asprintf("hiddenlayer_%d", index);
    const braid_layer_options options = {
        .name = name, .activation = c->options.activation ? c->options.activation : braid_relu};
    x = braid_layers_dense(g, x, c->options.hidden_units[index], &options);
    if (c->options.dropout > 0 && training)
        x = braid_layers_dropout(g, x, c->options.dropout, &(braid_layers_dropout_options){.training = true});
    if (c->options.batch_norm) x = normalize(g, name, index, x, training);
    bd_free(name);
    return x;
}

static braid_out dnn_logits(const canned *c, const braid_model_args *args)
{
    braid_graph *g = args->graph;
    const braid_variable_scope_options input = {.partitioner = partitioner_of(c, args)};
    (void)braid_push_variable_scope(g, "input_from_feature_columns", &input);
    braid_out x = braid_input_layer(g, args->features, args->feature_count, c->options.dnn_columns,
                                    c->options.dnn_column_count);
    braid_pop_variable_scope(g);
    for (int i = 0; i < c->options.hidden_layer_count; i++)
        x = hidden_layer(g, c, x, i, args->mode == BRAID_MODE_TRAIN);
    return braid_layers_dense(g, x, train_head_units(&c->head), &(braid_layer_options){.name = "logits"});
}

static braid_out linear_logits(const canned *c, const braid_model_args *args)
{
    return braid_linear_model(args->graph, args->features, args->feature_count, c->options.linear_columns,
                              c->options.linear_column_count, train_head_units(&c->head));
}

// ---- Training ----

static braid_optimizer *make(const braid_optimizer_maker *maker, braid_graph *g)
{
    return maker->make ? maker->make(maker->arg, g) : NULL;
}

static braid_optimizer *linear_optimizer(const canned *c, braid_graph *g)
{
    braid_optimizer *made = make(&c->options.linear_optimizer, g);
    if (made) return made;
    braid_ftrl_options o = braid_ftrl_defaults();
    const float most = 1 / sqrtf((float)c->options.linear_column_count);
    o.learning_rate = c->has_dnn ? fminf(COMBINED_LINEAR_RATE, most) : LINEAR_RATE;
    return braid_ftrl_with(g, &o);
}

static braid_optimizer *dnn_optimizer(const canned *c, braid_graph *g)
{
    braid_optimizer *made = make(&c->options.dnn_optimizer, g);
    return made ? made : braid_adagrad(g, c->has_linear ? COMBINED_DNN_RATE : DNN_RATE);
}

// The node that trains the variables below a scope.
static braid_op *train_scope(braid_graph *g, braid_optimizer *optimizer, braid_out loss, const char *scope,
                             braid_out step)
{
    int count;
    const braid_out *all = braid_collection(g, BRAID_TRAINABLE_VARIABLES, &count);
    BD_ARRAY(braid_out) vars = {0};
    for (int i = 0; i < count; i++)
        if (strncmp(braid_op_name(all[i].op), scope, strlen(scope)) == 0) bd_array_push(&vars, all[i]);
    braid_op *op = NULL;
    if (vars.len) {
        const braid_grad_and_var *pairs =
            braid_compute_gradients(optimizer, loss, vars.items, (int)vars.len, &count);
        op = braid_apply_gradients(optimizer, pairs, count, step);
    }
    bd_array_free(&vars);
    return op;
}

// Both parts are trained by one step, and then the global step is counted up.
static braid_op *train_both(const canned *c, braid_graph *g, braid_out loss)
{
    const braid_out none = {NULL, 0}, step = braid_global_step(g);
    braid_op *updates[] = {train_scope(g, dnn_optimizer(c, g), loss, "dnn/", none),
                           train_scope(g, linear_optimizer(c, g), loss, "linear/", none)};
    if (braid_graph_status(g, NULL)) return NULL;
    braid_op *both = braid_group(g, "train", updates, 2);
    braid_push_control(g, &both, 1);
    braid_op *counted = braid_assign_add(g, step, braid_const_number(g, NULL, BRAID_INT64, 1)).op;
    braid_pop_control(g);
    return counted;
}

// The optimizers' step, and the moving averages of batch normalization.
static braid_op *with_updates(braid_graph *g, braid_op *train)
{
    int count;
    const braid_out *updates = braid_collection(g, BRAID_UPDATE_OPS, &count);
    if (!count || !train) return train;
    BD_ARRAY(braid_op *) all = {0};
    bd_array_push(&all, train);
    for (int i = 0; i < count; i++)
        bd_array_push(&all, updates[i].op);
    braid_op *op = braid_group(g, NULL, all.items, (int)all.len);
    bd_array_free(&all);
    return op;
}

static braid_op *build_train_op(const void *arg, braid_graph *g, braid_out loss)
{
    const canned *c = arg;
    if (c->has_dnn && c->has_linear) return with_updates(g, train_both(c, g, loss));
    braid_optimizer *optimizer = c->has_dnn ? dnn_optimizer(c, g) : linear_optimizer(c, g);
    const char *scope = c->has_dnn ? "dnn/" : "linear/";
    return with_updates(g, train_scope(g, optimizer, loss, scope, braid_global_step(g)));
}

static void build_head(const canned *c, const braid_model_args *args, braid_out logits,
                       braid_estimator_spec *spec)
{
    if (braid_graph_status(args->graph, NULL)) return;
    train_head_build(&c->head, args, logits, &(train_head_trainer){build_train_op, c}, spec);
}

// The head of a model of one part is in the variable scope of that part, as in TensorFlow; the names of slots
// depend on it.
static void build(const braid_model_args *args, braid_estimator_spec *spec)
{
    const canned *c = args->params;
    braid_graph *g = args->graph;
    braid_out dnn = BRAID_NONE, linear = BRAID_NONE;
    const bool is_both = c->has_dnn && c->has_linear;
    if (c->has_dnn) {
        push_dnn(args);
        dnn = dnn_logits(c, args);
        if (!is_both) build_head(c, args, dnn, spec);
        braid_pop_variable_scope(g);
    }
    if (c->has_linear) {
        push_linear(c, args);
        linear = linear_logits(c, args);
        if (!is_both) build_head(c, args, linear, spec);
        braid_pop_variable_scope(g);
    }
    if (is_both && !braid_graph_status(g, NULL)) build_head(c, args, braid_add(g, dnn, linear), spec);
}

// ---- Making one ----

static braid_code check(const canned *c, braid_status *st)
{
    const braid_canned_options *o = &c->options;
    if (c->has_linear && o->linear_column_count < 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "The linear model has no feature columns (linear_columns)");
    if (c->has_dnn && o->dnn_column_count < 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "The network has no feature columns (dnn_columns)");
    if (c->has_dnn && o->hidden_layer_count < 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "The network has no hidden layers (hidden_units)");
    if (c->head.is_classifier && c->head.num_classes < 2)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "A classifier of %lld classes: it takes two at least",
                       (long long)c->head.num_classes);
    const braid_tensor *words = o->label_vocabulary;
    if (words && braid_tensor_num_elements(words) != c->head.num_classes)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "The label_vocabulary has %lld words for %lld classes",
                       (long long)braid_tensor_num_elements(words), (long long)c->head.num_classes);
    return BRAID_OK;
}

static braid_estimator *make_estimator(const braid_canned_options *options, bool is_classifier,
                                       bool has_linear, bool has_dnn, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    canned *c = bd_calloc(1, sizeof *c);
    *c = (canned){.options = *options, .has_linear = has_linear, .has_dnn = has_dnn};
    c->head = (train_head){.is_classifier = is_classifier,
                           .num_classes = options->num_classes ? options->num_classes : 2,
                           .label_dimension = options->label_dimension ? options->label_dimension : 1,
                           .label_vocabulary = is_classifier ? options->label_vocabulary : NULL,
                           .weight_column = options->weight_column,
                           .reduction =
                               options->has_loss_reduction ? options->loss_reduction : BRAID_REDUCTION_SUM};
    const braid_estimator_options eo = {.model_fn = build,
                                        .params = c,
                                        .config = options->config,
                                        .warm_start_from = options->warm_start_from,
                                        .warm_start = options->warm_start};
    braid_estimator *e = check(c, st) ? NULL : braid_estimator_new(&eo, st);
    if (e)
        e->own_params = c;
    else
        bd_free(c);
    return e;
}

braid_estimator *braid_linear_classifier(const braid_canned_options *options, braid_status *status)
{
    return make_estimator(options, true, true, false, status);
}

braid_estimator *braid_linear_regressor(const braid_canned_options *options, braid_status *status)
{
    return make_estimator(options, false, true, false, status);
}

braid_estimator *braid_dnn_classifier(const braid_canned_options *options, braid_status *status)
{
    return make_estimator(options, true, false, true, status);
}

braid_estimator *braid_dnn_regressor(const braid_canned_options *options, braid_status *status)
{
    return make_estimator(options, false, false, true, status);
}

braid_estimator *braid_dnn_linear_combined_classifier(const braid_canned_options *options,
                                                      braid_status *status)
{
    return make_estimator(options, true, true, true, status);
}

braid_estimator *braid_dnn_linear_combined_regressor(const braid_canned_options *options,
                                                     braid_status *status)
{
    return make_estimator(options, false, true, true, status);
}
