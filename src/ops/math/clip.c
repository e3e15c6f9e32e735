// ClipByValue: limits elements to the range between two bounds.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/pairwise.h"

// A bound of one element applies to all elements. The lower bound wins where it is above the upper one. NaN
// stays NaN.
#define CLIP(NAME, T)                                                                                        \
    static void NAME(const void *xs, const void *lows, int64_t low_step, const void *highs,                  \
                     int64_t high_step, void *ys, int64_t n)                                                 \
    {                                                                                                        \
        for (int64_t i = 0, end; (end = bd_block_end(i, n)) > i;) {                                          \
            BD_VECTORIZE                                                                                     \
            for (; i < end; i++) {                                                                           \
                T x = ((const T *)xs)[i], low = ((const T *)lows)[i * low_step],                             \
                  high = ((const T *)highs)[i * high_step];                                                  \
                T below = high < x ? high : x;                                                               \
                ((T *)ys)[i] = below < low ? low : below;                                                    \
            }                                                                                                \
        }                                                                                                    \
    }
CLIP(clip_f32, float)
CLIP(clip_f64, double)
CLIP(clip_i32, int32_t)
CLIP(clip_i64, int64_t)

typedef void (*clip_fn)(const void *x, const void *low, int64_t low_step, const void *high, int64_t high_step,
                        void *y, int64_t n);

static const clip_fn clips[] = {
    [BRAID_FLOAT] = clip_f32,
    [BRAID_DOUBLE] = clip_f64,
    [BRAID_INT32] = clip_i32,
    [BRAID_INT64] = clip_i64,
};

static bool bound_fits(const braid_shape *bound, const braid_shape *x)
{
    return bound->rank == 0 || bd_shape_equal(bound, x);
}

static void clip_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *low = bd_input(c, 1), *high = bd_input(c, 2);
    if (!bound_fits(&low->shape, &x->shape) || !bound_fits(&high->shape, &x->shape)) {
        char s[BD_SHAPE_STR_MAX], t[BD_SHAPE_STR_MAX], u[BD_SHAPE_STR_MAX];
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. "
            "input shape: %s clip_value_min shape: %s clip_value_max shape: %s",
            bd_shape_str(&x->shape, s), bd_shape_str(&low->shape, t), bd_shape_str(&high->shape, u));
        return;
    }
    braid_tensor *y = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    if (!y) return;
    clips[x->dtype](x->data, low->data, low->shape.rank > 0, high->data, high->shape.rank > 0, y->data,
                    bd_tensor_count(x));
}

static braid_out sum_to(braid_graph *g, braid_out x, braid_out axes, braid_out shape)
{
    return bd_b2(g, "Reshape", NULL, bd_b2(g, "Sum", NULL, x, axes), shape);
}

// A clipped element gets no gradient; the bound that replaced it does.
static void clip_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], low = c->op->inputs[1], high = c->op->inputs[2],
              grad = c->output_grads[0];
    braid_out x_shape = bd_b_shape(g, "Shape", x), low_shape = bd_b_shape(g, "Shape", low),
              high_shape = bd_b_shape(g, "Shape", high);
    braid_out zeros = bd_b_zeros(g, bd_b_shape(g, "Shape", grad), bd_dtype_base(braid_out_dtype(grad)));
    braid_out is_below = bd_b2(g, "Less", NULL, x, low), is_above = bd_b2(g, "Greater", NULL, x, high);
    braid_out to_low = bd_b2(g, "BroadcastGradientArgs", NULL, x_shape, low_shape);
    braid_out to_high = bd_b2(g, "BroadcastGradientArgs", NULL, x_shape, high_shape);
    braid_out clipped = bd_b2(g, "LogicalOr", NULL, is_below, is_above);
    c->input_grads[0] = sum_to(g, bd_b3(g, "Select", NULL, clipped, zeros, grad), to_low, x_shape);
    c->input_grads[1] =
        sum_to(g, bd_b3(g, "Select", NULL, is_below, grad, zeros), braid_output(to_low.op, 1), low_shape);
    c->input_grads[2] =
        sum_to(g, bd_b3(g, "Select", NULL, is_above, grad, zeros), braid_output(to_high.op, 1), high_shape);
}

BD_OP(ClipByValue) = {
    .signature = "(t: T, clip_value_min: T, clip_value_max: T) -> (output: T)",
    .attrs = "T:type{number}",
    .shape = bd_shape_fn_unchanged,
    .gradient = clip_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS, .flags = BD_KERNEL_WIDENS, .run = clip_run}),
    .doc =
        "Limits elements to the range between two bounds; each bound is a scalar or has the input's shape.",
};
