// FakeQuantWithMinMax*: rounds numbers to the values of a quantized type; the gradient passes unchanged
// within the range.
//
// A range [min, max] is divided into 2^num_bits - 1 steps (narrow_range: one less) and shifted so that 0 is a
// multiple of the step. The range is one for all elements (attrs or scalars), or one for each channel, the
// last dimension.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

#include <math.h>

typedef struct fake_state {
    float first, last; // quantized values of the range's ends: 0 or 1, and 2^num_bits - 1
    float min, max;    // if the range is given by attrs
} fake_state;

static braid_code fake_create(const braid_op *node, void *state, braid_status *st)
{
    fake_state *s = state;
    int64_t bits = bd_node_attr_int(node, "num_bits");
    if (bits < 2 || bits > 16)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "num_bits must be between 2 and 16, inclusive, not %lld",
                       (long long)bits);
    s->first = bd_node_attr_bool(node, "narrow_range") ? 1 : 0;
    s->last = (float)((1 << bits) - 1);
    return BRAID_OK;
}

static braid_code fake_args_create(const braid_op *node, void *state, braid_status *st)
{
    fake_state *s = state;
    s->min = bd_node_attr_float(node, "min");
    s->max = bd_node_attr_float(node, "max");
    if (!(s->min < s->max))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "min has to be smaller than max, was: %g >= %g",
                       (double)s->min, (double)s->max);
    return fake_create(node, state, st);
}

// ---- A range in steps ----

typedef struct grid {
    float min, max, step;
    float zero; // quantized value of 0
} grid;

// Rounds towards 0. Values out of range become the smallest integer, as on x86.
static float whole(float x)
{
    return x > -2147483648.0f && x < 2147483648.0f ? (float)(int32_t)x : -2147483648.0f;
}

static grid grid_of(const fake_state *s, float min, float max)
{
    grid g = {.step = (max - min) / (s->last - s->first)};
    float zero = s->first - min / g.step;
    if (!(zero >= s->first)) { // NaN counts as too small
        zero = s->first;
    } else if (zero > s->last) {
        zero = s->last;
    } else {
        zero = roundf(zero);
    }
    g.min = (s->first - zero) * g.step;
    g.max = (s->last - zero) * g.step;
    g.zero = whole(-g.min / g.step + 0.5f);
    return g;
}

// Quantizes every `stride`th of n elements. The range [0, 0] gives zeros, and its gradient passes unchanged.
static void fake_quantize(const fake_state *s, float min, float max, const float *x, float *y, int64_t n,
                          int64_t stride)
{
    bool is_zero = min == 0 && max == 0;
    grid g = grid_of(s, min, max);
    for (int64_t k = 0; k < n && !bd_interrupted_at(k); k++) {
        const int64_t i = k * stride;
        float v = x[i] > g.max ? g.max : x[i];
        v = v < g.min ? g.min : v;
        y[i] = is_zero ? 0 : (floorf((v - g.min) / g.step + 0.5f) - g.zero) * g.step;
    }
}

// If `sums` is not NULL, the gradients of elements below and above the range are added to its two elements.
static void fake_gradient(const fake_state *s, float min, float max, const float *dy, const float *x,
                          float *dx, int64_t n, int64_t stride, float *const sums[2])
{
    bool is_zero = min == 0 && max == 0;
    grid g = grid_of(s, min, max);
    double below = 0, above = 0;
    for (int64_t k = 0; k < n && !bd_interrupted_at(k); k++) {
        const int64_t i = k * stride;
        float v = x[i], d = dy[i]; // dx may be the memory of x or dy
        dx[i] = is_zero ? d : d * (v >= g.min && v <= g.max ? 1.0f : 0.0f);
        if (v < g.min) below += (double)d;
        if (v > g.max) above += (double)d;
    }
    if (!sums) return;
    *sums[0] = is_zero ? 0 : (float)below;
    *sums[1] = is_zero ? 0 : (float)above;
}

// ---- Inputs ----

// Checks that inputs `i` and `i` + 1 are scalars, or vectors with a number for each channel. False: the
// kernel has failed.
static bool check_range(bd_op_ctx *c, int i, bool per_channel, int64_t channels)
{
    static const char *const names[] = {"min", "max"};
    for (int k = 0; k < 2; k++) {
        const braid_shape *s = &bd_input(c, i + k)->shape;
        if (s->rank != (per_channel ? 1 : 0)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`%s` must be rank %d but is rank %d", names[k],
                       per_channel ? 1 : 0, s->rank);
            return false;
        }
        if (per_channel && s->dims[0] != channels) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s has incorrect size, expected %lld was %lld", names[k],
                       (long long)channels, (long long)s->dims[0]);
            return false;
        }
    }
    return true;
}

// The last dimension of input `i`; -1: input `i` is a scalar, and the kernel has failed.
static int64_t channels_of(bd_op_ctx *c, int i)
{
    const braid_shape *s = &bd_input(c, i)->shape;
    if (s->rank > 0) return s->dims[s->rank - 1];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "inputs must have channels in their last dimension, but are a scalar");
    return -1;
}

static bool check_same(bd_op_ctx *c)
{
    const braid_shape *dy = &bd_input(c, 0)->shape, *x = &bd_input(c, 1)->shape;
    if (bd_shape_equal(dy, x)) return true;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "gradient and input must be the same size, but are %s and %s",
               bd_shape_str(dy, a), bd_shape_str(x, b));
    return false;
}

// ---- Kernels ----

static void args_run(bd_op_ctx *c)
{
    const fake_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output_forward(c, 0, 0, BRAID_FLOAT, &x->shape);
    if (y) fake_quantize(s, s->min, s->max, bd_tensor_f32(x), bd_tensor_f32(y), bd_tensor_count(x), 1);
}

static void args_gradient_run(bd_op_ctx *c)
{
    const fake_state *s = c->state;
    const braid_tensor *dy = bd_input(c, 0), *x = bd_input(c, 1);
    if (!check_same(c)) return;
    braid_tensor *dx = bd_output_forward(c, 0, 0, BRAID_FLOAT, &x->shape);
    if (dx)
        fake_gradient(s, s->min, s->max, bd_tensor_f32(dy), bd_tensor_f32(x), bd_tensor_f32(dx),
                      bd_tensor_count(x), 1, NULL);
}

// One range for all elements is handled as one channel.
static void quantize_channels(bd_op_ctx *c, int64_t channels)
{
    const braid_tensor *x = bd_input(c, 0);
    const float *min = bd_tensor_f32(bd_input(c, 1)), *max = bd_tensor_f32(bd_input(c, 2));
    braid_tensor *y = bd_output_forward(c, 0, 0, BRAID_FLOAT, &x->shape);
    int64_t n = channels ? bd_tensor_count(x) / channels : 0;
    for (int64_t i = 0; y && n && i < channels; i++)
        fake_quantize(c->state, min[i], max[i], bd_tensor_f32(x) + i, bd_tensor_f32(y) + i, n, channels);
}

static void vars_run(bd_op_ctx *c)
{
    if (check_range(c, 1, false, 1)) quantize_channels(c, 1);
}

static void channels_run(bd_op_ctx *c)
{
    int64_t channels = channels_of(c, 0);
    if (channels >= 0 && check_range(c, 1, true, channels)) quantize_channels(c, channels);
}

static void gradient_of_channels(bd_op_ctx *c, int64_t channels)
{
    const braid_tensor *dy = bd_input(c, 0), *x = bd_input(c, 1), *min = bd_input(c, 2);
    const float *max = bd_tensor_f32(bd_input(c, 3));
    braid_tensor *dx = bd_output_forward(c, 0, 0, BRAID_FLOAT, &x->shape), *below = NULL, *above = NULL;
    if (dx) below = bd_output(c, 1, BRAID_FLOAT, &min->shape);
    if (below) above = bd_output(c, 2, BRAID_FLOAT, &min->shape);
    int64_t n = channels ? bd_tensor_count(x) / channels : 0;
    for (int64_t i = 0; above && i < channels; i++) {
        float *const sums[2] = {bd_tensor_f32(below) + i, bd_tensor_f32(above) + i};
        fake_gradient(c->state, bd_tensor_f32(min)[i], max[i], bd_tensor_f32(dy) + i, bd_tensor_f32(x) + i,
                      bd_tensor_f32(dx) + i, n, channels, sums);
    }
}

static void vars_gradient_run(bd_op_ctx *c)
{
    if (check_same(c) && check_range(c, 2, false, 1)) gradient_of_channels(c, 1);
}

static void channels_gradient_run(bd_op_ctx *c)
{
    int64_t channels = channels_of(c, 1);
    if (channels >= 0 && check_same(c) && check_range(c, 2, true, channels))
        gradient_of_channels(c, channels);
}

// ---- Shapes ----

static braid_code vars_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    braid_code code = bd_shape_ctx_rank(c, 1, 0, st);
    return code ? code : bd_shape_ctx_rank(c, 2, 0, st);
}

// The incoming gradient and the input have one shape.
static braid_code merge_gradient(bd_shape_ctx *c, braid_shape *x, braid_status *st)
{
    if (bd_shape_merge(&c->inputs[0], &c->inputs[1], x)) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Shapes of gradients and inputs must be equal");
}

static braid_code vars_gradient_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = merge_gradient(c, &c->outputs[0], st);
    for (int i = 2; i < 4 && !code; i++)
        code = bd_shape_ctx_rank(c, i, 0, st);
    c->outputs[1] = c->outputs[2] = BD_SCALAR;
    return code;
}

// Merges the channels of images `x` and of inputs `from`, `from` + 1; -1: unknown.
static braid_code merge_channels(bd_shape_ctx *c, const braid_shape *x, int from, int64_t *channels,
                                 braid_status *st)
{
    if (x->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    *channels = x->rank > 0 ? x->dims[x->rank - 1] : -1;
    for (int i = from; i < from + 2; i++) {
        braid_code code = bd_shape_ctx_rank(c, i, 1, st);
        if (code) return code;
        int64_t dim = c->inputs[i].rank == 1 ? c->inputs[i].dims[0] : -1;
        if (dim >= 0 && *channels >= 0 && dim != *channels)
            return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                     (long long)*channels, (long long)dim);
        if (dim >= 0) *channels = dim;
    }
    return BRAID_OK;
}

static braid_code channels_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t channels = -1;
    c->outputs[0] = c->inputs[0];
    return merge_channels(c, &c->inputs[0], 1, &channels, st);
}

static braid_code channels_gradient_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t channels = -1;
    braid_code code = merge_gradient(c, &c->outputs[0], st);
    if (!code && c->outputs[0].rank > 4)
        return bd_shape_ctx_fail(c, st, "Shape must be at most rank 4 but is rank %d", c->outputs[0].rank);
    if (!code) code = merge_channels(c, &c->outputs[0], 2, &channels, st);
    if (!code) c->outputs[1] = c->outputs[2] = bd_shape1(channels);
    return code;
}

// ---- Gradients ----

// Adds op `name` on the incoming gradient and all inputs; output i is the gradient of input i.
static void gradient_by(bd_grad_ctx *c, const char *name)
{
    const braid_op *op = c->op;
    bool has_range = op->input_count == 1;
    braid_op_desc *d = braid_op_begin(c->graph, name, NULL);
    braid_op_input(d, c->output_grads[0]);
    for (int i = 0; i < op->input_count; i++)
        braid_op_input(d, op->inputs[i]);
    if (has_range) {
        braid_op_attr_float(d, "min", bd_node_attr_float(op, "min"));
        braid_op_attr_float(d, "max", bd_node_attr_float(op, "max"));
    }
    braid_op_attr_int(d, "num_bits", bd_node_attr_int(op, "num_bits"));
    braid_op_attr_bool(d, "narrow_range", bd_node_attr_bool(op, "narrow_range"));
    braid_op *gradient = braid_op_end_out(d).op;
    for (int i = 0; gradient && i < op->input_count; i++)
        c->input_grads[i] = braid_output(gradient, i);
}

static void args_gradient(bd_grad_ctx *c)
{
    gradient_by(c, "FakeQuantWithMinMaxArgsGradient");
}

static void vars_gradient(bd_grad_ctx *c)
{
    gradient_by(c, "FakeQuantWithMinMaxVarsGradient");
}

static void channels_gradient(bd_grad_ctx *c)
{
    gradient_by(c, "FakeQuantWithMinMaxVarsPerChannelGradient");
}

// ---- Ops ----

#define BITS "num_bits:int=8; narrow_range:bool=false"
#define FAKE_KERNELS(CREATE, RUN)                                                                            \
    BD_KERNELS({.state_size = sizeof(fake_state), .create = (CREATE), .run = (RUN)})

BD_OP(FakeQuantWithMinMaxArgs) = {
    .signature = "(inputs: float) -> (outputs: float)",
    .attrs = "min:float=-6; max:float=6; " BITS,
    .shape = bd_shape_fn_unchanged,
    .gradient = args_gradient,
    .kernels = FAKE_KERNELS(fake_args_create, args_run),
    .doc =
        "Rounds numbers to the 2^num_bits values of a quantized type that cover [min, max], and clamps them to this range.",
};

BD_OP(FakeQuantWithMinMaxArgsGradient) = {
    .signature = "(gradients: float, inputs: float) -> (backprops: float)",
    .attrs = "min:float=-6; max:float=6; " BITS,
    .shape = bd_shape_fn_unchanged,
    .kernels = FAKE_KERNELS(fake_args_create, args_gradient_run),
    .doc = "Passes gradients where inputs are within the range.",
};

BD_OP(FakeQuantWithMinMaxVars) = {
    .signature = "(inputs: float, min: float, max: float) -> (outputs: float)",
    .attrs = BITS,
    .shape = vars_shape,
    .gradient = vars_gradient,
    .kernels = FAKE_KERNELS(fake_create, vars_run),
    .doc = "FakeQuantWithMinMaxArgs with the range in tensors, which can be trained.",
};

BD_OP(FakeQuantWithMinMaxVarsGradient) = {
    .signature = "(gradients: float, inputs: float, min: float, max: float) -> (backprops_wrt_input: float, "
                 "backprop_wrt_min: float, backprop_wrt_max: float)",
    .attrs = BITS,
    .shape = vars_gradient_shape,
    .kernels = FAKE_KERNELS(fake_create, vars_gradient_run),
    .doc =
        "Passes gradients where inputs are within the range; min and max get the sums of the gradients of inputs below and above it.",
};

BD_OP(FakeQuantWithMinMaxVarsPerChannel) = {
    .signature = "(inputs: float, min: float, max: float) -> (outputs: float)",
    .attrs = BITS,
    .shape = channels_shape,
    .gradient = channels_gradient,
    .kernels = FAKE_KERNELS(fake_create, channels_run),
    .doc = "FakeQuantWithMinMaxVars with a range for each channel, the last dimension.",
};

BD_OP(FakeQuantWithMinMaxVarsPerChannelGradient) = {
    .signature = "(gradients: float, inputs: float, min: float, max: float) -> (backprops_wrt_input: float, "
                 "backprop_wrt_min: float, backprop_wrt_max: float)",
    .attrs = BITS,
    .shape = channels_gradient_shape,
    .kernels = FAKE_KERNELS(fake_create, channels_gradient_run),
    .doc = "The gradient of FakeQuantWithMinMaxVarsPerChannel.",
};
