// SdcaOptimizer: a pass of proximal stochastic dual coordinate ascent over a batch of examples of a linear
// model. S. Shalev-Shwartz and T. Zhang, "Proximal Stochastic Dual Coordinate Ascent" (arXiv 1211.2717).
//
// With weights w before the shrinkage by l1, for each example in turn: predicts from shrunken w, finds the
// dual variable that maximizes the dual objective with all others fixed, and moves w by the change of the
// dual variable times the example over l2. example_state_data has four numbers for each example: the dual
// variable; the loss, by the weights before this pass; the conjugate of the loss, by the dual variable
// before; the example's weight. Sums of them give the duality gap.
//
// One thread takes the examples, each after the last, so that a pass gives the same again.
#include "ops/training/sdca.h"
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define STATE 4 // numbers of an example in example_state_data

// ---- One example ----

static double shrink(double weight, double by)
{
    return by == 0 ? weight : copysign(fmax(fabs(weight) - by, 0), weight);
}

static void predict_sparse(const bd_sdca_batch *b, const bd_sdca_sparse *g, int64_t example,
                           bd_sdca_prediction *p)
{
    const double by = b->o->shrinkage, partitions = (double)b->o->partitions;
    for (int64_t k = g->start[example]; k < g->start[example + 1]; k++) {
        double x = g->values ? (double)g->values[k] : 1, w = (double)g->weights[g->places[k]];
        p->before += x * shrink(w, by);
        p->now += x * shrink(w + (double)g->updates[g->places[k]] * partitions, by);
    }
}

static void predict_dense(const bd_sdca_batch *b, const bd_sdca_dense *g, int64_t example,
                          bd_sdca_prediction *p)
{
    const double by = b->o->shrinkage, partitions = (double)b->o->partitions;
    const float *row = g->rows + example * g->width;
    for (int64_t k = 0; k < g->width; k++) {
        double x = (double)row[k], w = (double)g->weights[k];
        p->before += x * shrink(w, by);
        p->now += x * shrink(w + (double)g->updates[k] * partitions, by);
    }
}

bd_sdca_prediction bd_sdca_predict(const bd_sdca_batch *b, int64_t example)
{
    bd_sdca_prediction p = {0};
    for (int i = 0; i < b->o->sparse_count; i++)
        predict_sparse(b, &b->sparse[i], example, &p);
    for (int i = 0; i < b->o->dense_count; i++)
        predict_dense(b, &b->dense[i], example, &p);
    return p;
}

// Adds the example, times `by`, to the updates of the weights.
static void move_weights(const bd_sdca_batch *b, int64_t example, double by)
{
    for (int i = 0; i < b->o->sparse_count; i++) {
        const bd_sdca_sparse *g = &b->sparse[i];
        for (int64_t k = g->start[example]; k < g->start[example + 1]; k++) {
            double x = g->values ? (double)g->values[k] : 1;
            g->updates[g->places[k]] = (float)((double)g->updates[g->places[k]] + x * by);
        }
    }
    for (int i = 0; i < b->o->dense_count; i++) {
        const bd_sdca_dense *g = &b->dense[i];
        const float *row = g->rows + example * g->width;
        for (int64_t k = 0; k < g->width; k++)
            g->updates[k] = (float)((double)g->updates[k] + (double)row[k] * by);
    }
}

static void take(const bd_sdca_batch *b, int64_t example, float *state)
{
    const bd_sdca_options *o = b->o;
    const bd_sdca_prediction p = bd_sdca_predict(b, example);
    const double label = (double)b->labels[example], weight = (double)b->example_weights[example];
    const bd_sdca_point point = {.label = label,
                                 .weight = weight,
                                 .dual = (double)state[0],
                                 .wx = p.now,
                                 .norm = (double)o->partitions * (b->norms[example] / o->l2) * weight};
    const double dual = o->loss->update(&point);
    move_weights(b, example, (dual - point.dual) * weight / o->l2);
    state[0] = (float)dual;
    state[1] = (float)o->loss->primal(p.before, label, weight);
    state[2] = (float)o->loss->conjugate(point.dual, label, weight);
    state[3] = (float)weight;
}

// ---- The op ----

static void take_all(bd_op_ctx *c, const bd_sdca_batch *b)
{
    const int input = bd_sdca_input(b->o, BD_SDCA_STATE);
    const braid_tensor *x = bd_input(c, input);
    const braid_shape shape = x->shape;
    int64_t *order = bd_try_calloc((size_t)b->example_count, sizeof *order);
    const braid_tensor *y = NULL;
    if (!order || !bd_sdca_order(b, bd_tensor_f32(x), order))
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when ordering the examples");
    else
        y = bd_output_forward(c, 0, input, BRAID_FLOAT, &shape);
    if (y) {
        x = bd_input(c, input);
        if (y->data != x->data) memcpy(y->data, x->data, (size_t)b->example_count * STATE * sizeof(float));
        for (int64_t i = 0; i < b->example_count && !bd_interrupted(); i++)
            take(b, order[i], (float *)y->data + order[i] * STATE);
    }
    bd_free(order);
}

static void sdca_run(bd_op_ctx *c)
{
    bd_sdca_batch b = {0};
    if (bd_sdca_read(c, c->state, &b)) take_all(c, &b);
    bd_sdca_fini(&b);
}

static braid_code create(const braid_op *node, const char *adaptive, bd_sdca_options *o, braid_status *st)
{
    int64_t sparse = bd_node_attr_int(node, "num_sparse_features");
    int64_t values = bd_node_attr_int(node, "num_sparse_features_with_values");
    int64_t dense = bd_node_attr_int(node, "num_dense_features");
    if (sparse + dense == 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Requires at least one feature to train.");
    if (values > sparse)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "num_sparse_features_with_values is %lld for %lld sparse features", (long long)values,
                       (long long)sparse);
    const double l2 = (double)bd_node_attr_float(node, "l2");
    *o = (bd_sdca_options){.loss = bd_sdca_loss_find(bd_node_attr_string(node, "loss_type")),
                           .sparse_count = (int)sparse,
                           .value_count = (int)values,
                           .dense_count = (int)dense,
                           .l2 = l2,
                           .shrinkage = (double)bd_node_attr_float(node, "l1") / l2,
                           .partitions = bd_node_attr_int(node, "num_loss_partitions"),
                           .adaptive = bd_node_attr_bool(node, adaptive)};
    return BRAID_OK;
}

static braid_code create_v1(const braid_op *node, void *state, braid_status *st)
{
    return create(node, "adaptative", state, st);
}

static braid_code create_v2(const braid_op *node, void *state, braid_status *st)
{
    return create(node, "adaptive", state, st);
}

// Updates are shaped like the weights.
static braid_code sdca_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    int sparse = (int)bd_node_attr_int(c->node, "num_sparse_features");
    int dense = (int)bd_node_attr_int(c->node, "num_dense_features");
    c->outputs[0] = c->inputs[c->input_count - 1];
    for (int i = 0; i < sparse + dense; i++)
        c->outputs[1 + i] = c->inputs[c->input_count - 1 - sparse - dense + i];
    return BRAID_OK;
}

#define SIGNATURE                                                                                              \
    "(sparse_example_indices: num_sparse_features*int64, sparse_feature_indices: num_sparse_features*int64, "  \
    "sparse_feature_values: num_sparse_features_with_values*float, dense_features: num_dense_features*float, " \
    "example_weights: float, example_labels: float, sparse_indices: num_sparse_features*int64, "               \
    "sparse_weights: num_sparse_features*float, dense_weights: num_dense_features*float, "                     \
    "example_state_data: float) -> (out_example_state_data: float, "                                           \
    "out_delta_sparse_weights: num_sparse_features*float, out_delta_dense_weights: num_dense_features*float)"
#define ATTRS(ADAPTIVE)                                                                                      \
    "loss_type:string{logistic_loss,squared_loss,hinge_loss,smooth_hinge_loss,poisson_loss}; " ADAPTIVE      \
    ":bool=false; num_sparse_features:int>=0; num_sparse_features_with_values:int>=0; "                      \
    "num_dense_features:int>=0; l1:float; l2:float; num_loss_partitions:int>=1; num_inner_iterations:int>=1"
#define DEVIATION                                                                                             \
    "The order of examples follows from example_state_data, so that a step can be repeated. Example indices " \
    "that do not ascend or are out of range are an error; TensorFlow leaves features out."

BD_OP(SdcaOptimizer) = {
    .signature = SIGNATURE,
    .attrs = ATTRS("adaptative"),
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = sdca_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(bd_sdca_options),
                           .flags = BD_KERNEL_EXPENSIVE,
                           .create = create_v1,
                           .run = sdca_run}),
    .doc = "Takes a pass of stochastic dual coordinate ascent over the examples of a linear model.",
    .deviation = DEVIATION,
};

BD_OP(SdcaOptimizerV2) = {
    .signature = SIGNATURE,
    .attrs = ATTRS("adaptive"),
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = sdca_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(bd_sdca_options),
                           .flags = BD_KERNEL_EXPENSIVE,
                           .create = create_v2,
                           .run = sdca_run}),
    .doc = "SdcaOptimizer, with the attr of adaptive sampling spelt otherwise.",
    .deviation = DEVIATION,
};
