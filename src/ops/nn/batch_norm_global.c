// BatchNormWithGlobalNormalization and its gradient: the op of tf.nn.batch_normalization in early versions of
// TensorFlow.
#include "base/interrupt.h"
#include "ops/nn/batch_norm.h"

#include <math.h>
#include <string.h>

typedef struct global_state {
    float epsilon;
    bool scales; // multiplies by gamma
} global_state;

static braid_code global_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    *(global_state *)state = (global_state){.epsilon = bd_node_attr_float(node, "variance_epsilon"),
                                            .scales = bd_node_attr_bool(node, "scale_after_normalization")};
    return BRAID_OK;
}

// Checks that input 0 are images and that inputs 1 to `to` are vectors of their channels. False: the kernel
// has failed.
static bool check_inputs(bd_op_ctx *c, int to, const char *const names[], bd_channels *v)
{
    const braid_shape *s = &bd_input(c, 0)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (s->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be 4-dimensional, but has shape %s",
                   bd_shape_str(s, text));
        return false;
    }
    if (!bd_batch_norm_images(c, 0, "input", false, v)) return false;
    for (int i = 1; i <= to; i++) {
        if (!bd_batch_norm_vector(c, i, names[i - 1], v->channels)) return false;
    }
    return true;
}

// ---- Loops over [outer, channels] ----

#define T float
#define SQRT sqrtf
#define NAME(x) x##_f32
#include "ops/nn/batch_norm_global_loops.h"

#define T double
#define SQRT sqrt
#define NAME(x) x##_f64
#include "ops/nn/batch_norm_global_loops.h"

// ---- Kernels ----

static void global_run(bd_op_ctx *c)
{
    static const char *const names[] = {"mean", "var", "beta", "gamma"};
    const braid_tensor *x = bd_input(c, 0);
    bd_channels v;
    if (!check_inputs(c, 4, names, &v)) return;
    braid_tensor *y = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    if (!y || v.outer == 0) return;
    const void *in[4];
    for (int i = 0; i < 4; i++)
        in[i] = bd_input(c, i + 1)->data;
    if (x->dtype == BRAID_FLOAT) {
        normalize_f32(c->state, &v, x->data, in[0], in[1], in[2], in[3], y->data);
    } else {
        normalize_f64(c->state, &v, x->data, in[0], in[1], in[2], in[3], y->data);
    }
}

static void global_grad_run(bd_op_ctx *c)
{
    static const char *const names[] = {"mean", "var", "gamma"};
    const braid_tensor *x = bd_input(c, 0), *dy = bd_input(c, 4);
    const void *in[3];
    void *out[5];
    bd_channels v;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (!check_inputs(c, 3, names, &v)) return;
    if (!bd_shape_equal(&x->shape, &dy->shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "out_backprop must be 4-dimensional, of the input's shape %s, not %s",
                   bd_shape_str(&x->shape, a), bd_shape_str(&dy->shape, b));
        return;
    }
    braid_shape vector = bd_shape1(v.channels);
    for (int i = 0; i < 5; i++) {
        braid_tensor *t = bd_output(c, i, x->dtype, i == 0 ? &x->shape : &vector);
        if (!t) return;
        out[i] = t->data;
    }
    for (int i = 0; i < 3; i++)
        in[i] = bd_input(c, i + 1)->data;
    if (x->dtype == BRAID_FLOAT) {
        float *const to[] = {out[0], out[1], out[2], out[3], out[4]};
        gradients_f32(c->state, &v, x->data, in[0], in[1], in[2], dy->data, to);
    } else {
        double *const to[] = {out[0], out[1], out[2], out[3], out[4]};
        gradients_f64(c->state, &v, x->data, in[0], in[1], in[2], dy->data, to);
    }
}

// ---- Shapes and gradient ----

// For images in input 0 and vectors in inputs 1 to `to`: sets *images to the shape of input 0 with the number
// of channels as far as known.
static braid_code channels_shape(bd_shape_ctx *c, int to, braid_shape *images, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 4, st);
    if (code) return code;
    *images = (braid_shape){.rank = 4, .dims = {-1, -1, -1, -1}};
    if (c->inputs[0].rank == 4) *images = c->inputs[0];
    for (int i = 1; i <= to && !code; i++)
        code = bd_batch_norm_vector_shape(c, i, &images->dims[3], st);
    return code;
}

static braid_code global_shape(bd_shape_ctx *c, braid_status *st)
{
    return channels_shape(c, 4, &c->outputs[0], st);
}

static braid_code global_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape images;
    braid_code code = channels_shape(c, 3, &images, st);
    if (code) return code;
    if (!bd_shape_merge(&images, &c->inputs[4], &c->outputs[0]))
        return bd_shape_ctx_fail(c, st, "Shapes of t and backprop must be equal");
    for (int i = 1; i < 5; i++)
        c->outputs[i] = bd_shape1(c->outputs[0].dims[3]);
    return BRAID_OK;
}

static void global_gradient(bd_grad_ctx *c)
{
    const braid_op *op = c->op;
    braid_op_desc *d = braid_op_begin(c->graph, "BatchNormWithGlobalNormalizationGrad", NULL);
    braid_out inputs[] = {op->inputs[0], op->inputs[1], op->inputs[2], op->inputs[4], c->output_grads[0]};
    for (int i = 0; i < 5; i++)
        braid_op_input(d, inputs[i]);
    braid_op_attr_float(d, "variance_epsilon", bd_node_attr_float(op, "variance_epsilon"));
    braid_op_attr_bool(d, "scale_after_normalization", bd_node_attr_bool(op, "scale_after_normalization"));
    braid_op *back = braid_op_end_out(d).op;
    for (int i = 0; back && i < 5; i++)
        c->input_grads[i] = braid_output(back, i);
}

#define GLOBAL_ATTRS "T:type{number}; variance_epsilon:float; scale_after_normalization:bool"
#define GLOBAL_KERNELS(RUN)                                                                                  \
    BD_KERNELS({.types = "T=float|double",                                                                   \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(global_state),                                                          \
                .create = global_create,                                                                     \
                .run = (RUN)})

BD_OP(BatchNormWithGlobalNormalization) = {
    .signature = "(t: T, m: T, v: T, beta: T, gamma: T) -> (result: T)",
    .attrs = GLOBAL_ATTRS,
    .shape = global_shape,
    .gradient = global_gradient,
    .kernels = GLOBAL_KERNELS(global_run),
    .doc =
        "Computes (t - m) / sqrt(v + variance_epsilon) * gamma + beta for each channel, without gamma if scale_after_normalization is false.",
    .deviation = "Allowed in graphs of any version.",
};

BD_OP(BatchNormWithGlobalNormalizationGrad) = {
    .signature = "(t: T, m: T, v: T, gamma: T, backprop: T) -> (dx: T, dm: T, dv: T, db: T, dg: T)",
    .attrs = GLOBAL_ATTRS,
    .shape = global_grad_shape,
    .kernels = GLOBAL_KERNELS(global_grad_run),
    .doc = "The gradient of BatchNormWithGlobalNormalization.",
    .deviation = "Allowed in graphs of any version.",
};
