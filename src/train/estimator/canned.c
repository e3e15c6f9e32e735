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

#define LINEAR_RATE 0.2f            // TensorFlow's, at most
#define COMBINED_LINEAR_RATE 0.005f // the same of a model with a network
#define DNN_RATE 0.05f

typedef struct canned {
    braid_canned_options options;
    train_head head;
    bool has_linear, has_dnn;
} canned;

// ---- The logits ----

static braid_out hidden_layer(braid_graph *g, const canned *c, braid_out x, int index, braid_mode mode)
{
    char *name = bd_asprintf("hiddenlayer_%d", index);
    const braid_layer_options options = {
        .name = name, .activation = c->options.activation ? c->options.activation : braid_relu};
    x = braid_layers_dense(g, x, c->options.hidden_units[index], &options);
    bd_free(name);
    if (c->options.dropout <= 0 || mode != BRAID_MODE_TRAIN) return x;
    return braid_layers_dropout(g, x, c->options.dropout, &(braid_layers_dropout_options){.training = true});
}

static braid_out dnn_logits(const canned *c, const braid_model_args *args)
{
    braid_graph *g = args->graph;
    (void)braid_push_variable_scope(g, "dnn", NULL);
    (void)braid_push_variable_scope(g, "input_from_feature_columns", NULL);
    braid_out x = braid_input_layer(g, args->features, args->feature_count, c->options.dnn_columns,
                                    c->options.dnn_column_count);
    braid_pop_variable_scope(g);
    for (int i = 0; i < c->options.hidden_layer_count; i++)
        x = hidden_layer(g, c, x, i, args->mode);
    x = braid_layers_dense(g, x, train_head_units(&c->head), &(braid_layer_options){.name = "logits"});
    braid_pop_variable_scope(g);
    return x;
}

static braid_out linear_logits(const canned *c, const braid_model_args *args)
{
    (void)braid_push_variable_scope(args->graph, "linear", NULL);
    const braid_out logits =
        braid_linear_model(args->graph, args->features, args->feature_count, c->options.linear_columns,
                           c->options.linear_column_count, train_head_units(&c->head));
    braid_pop_variable_scope(args->graph);
    return logits;
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
    const float most = c->has_dnn ? COMBINED_LINEAR_RATE : LINEAR_RATE;
    o.learning_rate = fminf(most, 1 / sqrtf((float)c->options.linear_column_count));
    return braid_ftrl_with(g, &o);
}

static braid_optimizer *dnn_optimizer(const canned *c, braid_graph *g)
{
    braid_optimizer *made = make(&c->options.dnn_optimizer, g);
    return made ? made : braid_adagrad(g, DNN_RATE);
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

static braid_op *build_train_op(const canned *c, braid_graph *g, braid_out loss)
{
    if (c->has_dnn && c->has_linear) return train_both(c, g, loss);
    braid_optimizer *optimizer = c->has_dnn ? dnn_optimizer(c, g) : linear_optimizer(c, g);
    return train_scope(g, optimizer, loss, c->has_dnn ? "dnn/" : "linear/", braid_global_step(g));
}

static void build(const braid_model_args *args, braid_estimator_spec *spec)
{
    const canned *c = args->params;
    braid_graph *g = args->graph;
    const braid_out dnn = c->has_dnn ? dnn_logits(c, args) : BRAID_NONE;
    const braid_out linear = c->has_linear ? linear_logits(c, args) : BRAID_NONE;
    if (braid_graph_status(g, NULL)) return;
    const braid_out logits = dnn.op && linear.op ? braid_add(g, dnn, linear) : dnn.op ? dnn : linear;
    const braid_out loss = train_head_build(&c->head, args, logits, spec);
    if (args->mode == BRAID_MODE_TRAIN && !braid_graph_status(g, NULL))
        braid_spec_train_op(spec, build_train_op(c, g, loss));
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
                                        .warm_start_from = options->warm_start_from};
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
