// FusedBatchNorm and FusedBatchNormGrad; their three versions compute the same.
//
// In training the statistics are those of the batch: outputs 3 and 4 pass its mean and variance to the
// gradient, and output 2 is the variance with Bessel's correction, for the moving average. If attr
// exponential_avg_factor is not 1, outputs 1 and 2 are the moving averages of inputs 3 and 4, updated by the
// batch. In inference inputs 3 and 4 are the statistics.
#include "ops/nn/batch_norm.h"

#include "base/alloc.h"

#include <math.h>

typedef struct norm_state {
    float epsilon;
    float factor; // weight of the batch's statistics in the moving averages
    bool is_nchw, is_training;
    bool takes_statistics; // inputs 3 and 4 are used
} norm_state;

// The gradient ops have no such attr.
static float factor_of(const braid_op *node)
{
    const char *name = "exponential_avg_factor";
    return bd_node_attr(node, name) ? bd_node_attr_float(node, name) : 1;
}

static bool takes_statistics(const braid_op *node)
{
    return !bd_node_attr_bool(node, "is_training") || factor_of(node) != 1;
}

static braid_code norm_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    *(norm_state *)state = (norm_state){.epsilon = bd_node_attr_float(node, "epsilon"),
                                        .factor = factor_of(node),
                                        .is_nchw = bd_batch_norm_is_nchw(node),
                                        .is_training = bd_node_attr_bool(node, "is_training"),
                                        .takes_statistics = takes_statistics(node)};
    return BRAID_OK;
}

// ---- Shapes ----

static braid_code norm_shape(bd_shape_ctx *c, braid_status *st)
{
    int vectors_to = takes_statistics(c->node) ? 5 : 3;
    int64_t channels = -1;
    braid_code code = bd_batch_norm_images_shape(c, 0, &channels, &c->outputs[0], st);
    for (int i = 1; i < vectors_to && !code; i++)
        code = bd_batch_norm_vector_shape(c, i, &channels, st);
    if (code) return code;
    bd_batch_norm_set_channels(c, channels, &c->outputs[0]);
    for (int i = 1; i < 5; i++)
        c->outputs[i] = bd_shape1(channels);
    return BRAID_OK;
}

static braid_code norm_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t channels = -1;
    braid_shape x;
    braid_code code = bd_batch_norm_images_shape(c, 0, &channels, &c->outputs[0], st);
    if (!code) code = bd_batch_norm_images_shape(c, 1, &channels, &x, st);
    for (int i = 2; i < 5 && !code; i++)
        code = bd_batch_norm_vector_shape(c, i, &channels, st);
    if (code) return code;
    bd_batch_norm_set_channels(c, channels, &c->outputs[0]);
    c->outputs[1] = c->outputs[2] = bd_shape1(channels);
    c->outputs[3] = c->outputs[4] = bd_shape1(bd_node_attr_bool(c->node, "is_training") ? 0 : channels);
    return BRAID_OK;
}

// ---- FusedBatchNorm ----

// Checks unused statistics: TensorFlow 1 requires them to be empty, TensorFlow 2 accepts any.
static bool check_vector(bd_op_ctx *c, int i, const char *what)
{
    const braid_shape *s = &bd_input(c, i)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (s->rank == 1) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 1-dimensional, but has shape %s", what,
               bd_shape_str(s, text));
    return false;
}

static bool check_inputs(bd_op_ctx *c, bd_channels *v)
{
    static const char *const names[] = {"input", "scale", "offset", "estimated_mean", "estimated_variance"};
    const norm_state *s = c->state;
    if (!bd_batch_norm_images(c, 0, names[0], s->is_nchw, v)) return false;
    for (int i = 1; i < 5; i++) {
        if (i >= 3 && !s->takes_statistics ? !check_vector(c, i, names[i])
                                           : !bd_batch_norm_vector(c, i, names[i], v->channels))
            return false;
    }
    return true;
}

// Allocates outputs `from` to `to`, each with one element for each channel. False: the kernel has failed.
static bool vector_outputs(bd_op_ctx *c, int from, int to, int64_t channels, float *out[])
{
    braid_shape shape = bd_shape1(channels);
    for (int i = from; i < to; i++) {
        braid_tensor *t = bd_output(c, i, BRAID_FLOAT, &shape);
        if (!t) return false;
        out[i] = bd_tensor_f32(t);
    }
    return true;
}

// Means and variances of the channels from the sums in `sums`; NaN when there are no elements.
static void batch_moments(const bd_channels *v, const float *x, double *sums, float *mean, float *variance)
{
    double count = (double)(v->outer * v->inner);
    bd_channel_sums(v, x, sums);
    for (int64_t i = 0; i < v->channels; i++)
        mean[i] = (float)(sums[i] / count);
    bd_channel_squares(v, x, mean, sums);
    for (int64_t i = 0; i < v->channels; i++)
        variance[i] = (float)(sums[i] / count);
}

// Fills outputs 1 to 4: the statistics, and the values passed to the gradient.
static void norm_statistics(bd_op_ctx *c, const bd_channels *v, double *sums, float *out[5])
{
    const norm_state *s = c->state;
    int64_t count = v->outer * v->inner;
    float correction = (float)count / (float)(count > 1 ? count - 1 : 1);
    const float *mean = bd_tensor_f32(bd_input(c, 3)), *variance = bd_tensor_f32(bd_input(c, 4));
    if (s->is_training) batch_moments(v, bd_tensor_f32(bd_input(c, 0)), sums, out[3], out[4]);
    for (int64_t i = 0; i < v->channels; i++) {
        if (!s->is_training) {
            out[3][i] = mean[i];
            out[4][i] = variance[i];
        }
        out[1][i] = out[3][i];
        out[2][i] = s->is_training ? out[4][i] * correction : out[4][i];
        if (!s->is_training || !s->takes_statistics) continue;
        out[1][i] = (1 - s->factor) * mean[i] + s->factor * out[1][i];
        out[2][i] = (1 - s->factor) * variance[i] + s->factor * out[2][i];
    }
}

static void norm_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    const norm_state *s = c->state;
    bd_channels v;
    float *out[5];
    if (!check_inputs(c, &v)) return;
    if (c->output_count == 6) {
        braid_tensor *unused = bd_output(c, 5, BRAID_FLOAT, &BD_SCALAR);
        if (!unused) return;
        *bd_tensor_f32(unused) = 0;
    }
    if (!vector_outputs(c, 1, 5, v.channels, out)) return;
    double *sums = bd_try_calloc((size_t)v.channels, sizeof *sums);
    float *factor = bd_try_calloc((size_t)v.channels, sizeof *factor);
    if (!sums || !factor) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when normalizing %lld channels", (long long)v.channels);
    } else {
        norm_statistics(c, &v, sums, out);
        const float *scale = bd_tensor_f32(bd_input(c, 1)), *offset = bd_tensor_f32(bd_input(c, 2));
        for (int64_t i = 0; i < v.channels; i++)
            factor[i] = 1.0f / sqrtf(out[4][i] + s->epsilon) * scale[i];
        braid_tensor *y = bd_output_forward(c, 0, 0, BRAID_FLOAT, &x->shape);
        if (y) bd_channel_normalize(&v, x->data, out[3], factor, offset, y->data);
    }
    bd_free(sums);
    bd_free(factor);
}

#define NORM_ATTRS "epsilon:float=0.0001; is_training:bool=true; "
#define IMAGES "data_format:string{NHWC,NCHW}='NHWC'"
#define VOLUMES "data_format:string{NHWC,NCHW,NDHWC,NCDHW}='NHWC'"
#define MOVING_ATTRS NORM_ATTRS "+exponential_avg_factor:float=1; "
#define NORM_KERNELS(RUN)                                                                                    \
    BD_KERNELS({.types = "T=float",                                                                          \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(norm_state),                                                            \
                .create = norm_create,                                                                       \
                .run = (RUN)})

BD_OP(FusedBatchNorm) = {
    .signature = "(x: T, scale: T, offset: T, mean: T, variance: T) -> (y: T, batch_mean: T, batch_variance: "
                 "T, reserve_space_1: T, reserve_space_2: T)",
    .attrs = "T:type{float}; " MOVING_ATTRS IMAGES,
    .shape = norm_shape,
    .gradient = bd_fused_batch_norm_gradient,
    .kernels = NORM_KERNELS(norm_run),
    .doc =
        "Normalizes the channels of images to mean 0 and variance 1, then scales and shifts them. Training uses the statistics of the batch, inference the given ones.",
    .deviation = "NCHW is also supported on the CPU.",
};

BD_OP(FusedBatchNormV2) = {
    .signature = "(x: T, scale: U, offset: U, mean: U, variance: U) -> (y: T, batch_mean: U, batch_variance: "
                 "U, reserve_space_1: U, reserve_space_2: U)",
    .attrs = "T:type{bfloat16,float,half}; U:type{float}; " MOVING_ATTRS IMAGES,
    .shape = norm_shape,
    .gradient = bd_fused_batch_norm_gradient,
    .kernels = NORM_KERNELS(norm_run),
    .doc = "FusedBatchNorm with a separate type for statistics.",
    .deviation = "NCHW is also supported on the CPU.",
};

BD_OP(FusedBatchNormV3) = {
    .signature = "(x: T, scale: U, offset: U, mean: U, variance: U) -> (y: T, batch_mean: U, batch_variance: "
                 "U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U)",
    .attrs = "T:type{bfloat16,float,half}; U:type{float}; " MOVING_ATTRS VOLUMES,
    .shape = norm_shape,
    .gradient = bd_fused_batch_norm_gradient,
    .kernels = NORM_KERNELS(norm_run),
    .doc = "FusedBatchNormV2 with one more output for the gradient, which the CPU does not use.",
    .deviation = "NCHW is also supported on the CPU.",
};

// ---- FusedBatchNormGrad ----

static bool check_grad_inputs(bd_op_ctx *c, bd_channels *v)
{
    static const char *const names[] = {"y_backprop", "input", "scale", "saved mean", "saved variance"};
    const norm_state *s = c->state;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (!bd_batch_norm_images(c, 0, names[0], s->is_nchw, v) ||
        !bd_batch_norm_images(c, 1, names[1], s->is_nchw, v))
        return false;
    const braid_shape *dy = &bd_input(c, 0)->shape, *x = &bd_input(c, 1)->shape;
    if (!bd_shape_equal(dy, x)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "x and y_backprop must have same shape, but are %s and %s",
                   bd_shape_str(x, a), bd_shape_str(dy, b));
        return false;
    }
    for (int i = 2; i < 5; i++) {
        if (!bd_batch_norm_vector(c, i, names[i], v->channels)) return false;
    }
    return true;
}

// Values for each channel: sums over the batch, and the terms of the gradient of x.
typedef struct grad_parts {
    double *dy_sums, *products;
    float *factor, *dy_mean, *slope;
} grad_parts;

static bool alloc_parts(bd_op_ctx *c, size_t channels, grad_parts *p)
{
    *p = (grad_parts){.dy_sums = bd_try_calloc(channels, 2 * sizeof *p->dy_sums),
                      .factor = bd_try_calloc(channels, 3 * sizeof *p->factor)};
    if (!p->dy_sums || !p->factor) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when computing the gradient of %zu channels", channels);
        return false;
    }
    p->products = p->dy_sums + channels;
    p->dy_mean = p->factor + channels;
    p->slope = p->dy_mean + channels;
    return true;
}

static void norm_grads(bd_op_ctx *c, const bd_channels *v, const grad_parts *p, float *out[3])
{
    const norm_state *s = c->state;
    const float *dy = bd_tensor_f32(bd_input(c, 0)), *x = bd_tensor_f32(bd_input(c, 1)),
                *scale = bd_tensor_f32(bd_input(c, 2)), *mean = bd_tensor_f32(bd_input(c, 3)),
                *variance = bd_tensor_f32(bd_input(c, 4));
    double count = (double)(v->outer * v->inner);
    bd_channel_sums(v, dy, p->dy_sums);
    bd_channel_products(v, x, dy, mean, p->products);
    for (int64_t i = 0; i < v->channels; i++) {
        double spread = (double)(variance[i] + s->epsilon), inverse = 1.0 / sqrt(spread);
        // The mean and variance of no elements are not numbers.
        out[1][i] = count > 0 ? (float)(p->products[i] * inverse) : 0;
        out[2][i] = (float)p->dy_sums[i];
        p->factor[i] = (float)((double)scale[i] * inverse);
        // The statistics depend on x only in training.
        p->dy_mean[i] = s->is_training ? (float)(p->dy_sums[i] / count) : 0;
        p->slope[i] = s->is_training ? (float)(p->products[i] / count / spread) : 0;
    }
    braid_tensor *dx = bd_output_forward(c, 0, 0, BRAID_FLOAT, &bd_input(c, 1)->shape);
    if (dx) bd_channel_normalize_grad(v, x, dy, mean, p->factor, p->dy_mean, p->slope, bd_tensor_f32(dx));
}

static void norm_grad_run(bd_op_ctx *c)
{
    const norm_state *s = c->state;
    bd_channels v;
    float *out[5];
    grad_parts p;
    if (!check_grad_inputs(c, &v) || !vector_outputs(c, 1, 3, v.channels, out) ||
        !vector_outputs(c, 3, 5, s->is_training ? 0 : v.channels, out))
        return;
    for (int64_t i = 0; i < (s->is_training ? 0 : v.channels); i++)
        out[3][i] = out[4][i] = 0; // statistics that are inputs get no gradient
    if (alloc_parts(c, (size_t)v.channels, &p)) norm_grads(c, &v, &p, out);
    bd_free(p.dy_sums);
    bd_free(p.factor);
}

BD_OP(FusedBatchNormGrad) = {
    .signature = "(y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T) -> (x_backprop: T, "
                 "scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T)",
    .attrs = "T:type{float}; " NORM_ATTRS VOLUMES,
    .shape = norm_grad_shape,
    .gradient = bd_fused_batch_norm_grad_gradient,
    .kernels = NORM_KERNELS(norm_grad_run),
    .doc = "The gradient of FusedBatchNorm, from the mean and variance it used.",
    .deviation = "NCHW is also supported on the CPU.",
};

BD_OP(FusedBatchNormGradV2) = {
    .signature =
        "(y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U) -> (x_backprop: T, "
        "scale_backprop: U, offset_backprop: U, reserve_space_3: U, reserve_space_4: U)",
    .attrs = "T:type{bfloat16,float,half}; U:type{float}; " NORM_ATTRS IMAGES,
    .shape = norm_grad_shape,
    .gradient = bd_fused_batch_norm_grad_gradient,
    .kernels = NORM_KERNELS(norm_grad_run),
    .doc = "The gradient of FusedBatchNormV2.",
    .deviation = "NCHW is also supported on the CPU.",
};

BD_OP(FusedBatchNormGradV3) = {
    .signature =
        "(y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U) -> "
        "(x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, reserve_space_5: U)",
    .attrs = "T:type{bfloat16,float,half}; U:type{float}; " NORM_ATTRS VOLUMES,
    .shape = norm_grad_shape,
    .gradient = bd_fused_batch_norm_grad_gradient,
    .kernels = NORM_KERNELS(norm_grad_run),
    .doc = "The gradient of FusedBatchNormV3.",
    .deviation = "NCHW is also supported on the CPU.",
};
