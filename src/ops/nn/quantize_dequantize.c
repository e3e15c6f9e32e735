// QuantizeAndDequantize and its versions: rounds numbers to the values of a signed or unsigned integer type
// of a few bits.
//
// The range is given or computed. It is scaled so that 0 stays 0 and the end of greater magnitude maps to the
// end of the integer type.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct quantize_state {
    int64_t bits;   // if given by an attr
    int64_t axis;   // the axis with a range for each index; -1: one range for all
    float min, max; // if given by attrs
    bool by_attrs;  // the range is given by attrs
    bool is_signed, is_narrow, is_given, rounds_up;
} quantize_state;

static bool flag(const braid_op *node, const char *name)
{
    const bd_attr *attr = bd_node_attr(node, name);
    return attr && attr->b;
}

static braid_code check_bits(const quantize_state *s, int64_t bits, braid_status *st)
{
    if (bits > 0 && bits < (s->is_signed ? 62 : 63)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "num_bits is out of range: %lld with signed_input_ %d",
                   (long long)bits, s->is_signed);
}

static braid_code check_range(double min, double max, braid_status *st)
{
    if (min <= max) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid range: input_min %g > input_max %g", min, max);
}

static braid_code quantize_create(const braid_op *node, void *state, braid_status *st)
{
    quantize_state *s = state;
    const bd_attr *mode = bd_node_attr(node, "round_mode"), *axis = bd_node_attr(node, "axis");
    *s = (quantize_state){.axis = axis ? axis->i : -1,
                          .is_signed = flag(node, "signed_input"),
                          .is_narrow = flag(node, "narrow_range"),
                          .is_given = flag(node, "range_given"),
                          .by_attrs = node->input_count == 1,
                          .rounds_up = mode && strcmp(mode->s.data, "HALF_UP") == 0};
    if (s->axis < -1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Axis must be at least -1. Found %lld",
                       (long long)s->axis);
    braid_code code = BRAID_OK;
    if (bd_node_attr(node, "num_bits")) {
        s->bits = bd_node_attr_int(node, "num_bits");
        code = check_bits(s, s->bits, st);
    }
    if (!code && s->by_attrs && s->is_given) {
        s->min = bd_node_attr_float(node, "input_min");
        s->max = bd_node_attr_float(node, "input_max");
        code = check_range((double)s->min, (double)s->max, st);
    }
    return code;
}

// Maps [`min`, `max`] to the integers [`lowest`, `highest`].
typedef struct quantization {
    double min, max, scale, inverse;
} quantization;

// A tensor as [outer, count, inner]; each index in the middle has its own range.
typedef struct places {
    int64_t outer, count, inner;
} places;

#define T float
#define LIMIT FLT_MAX
#define FLOOR floorf
#define RINT rintf
#define NAME(x) x##_f32
#include "ops/nn/quantize_dequantize_loops.h"

#define T double
#define LIMIT DBL_MAX
#define FLOOR floor
#define RINT rint
#define NAME(x) x##_f64
#include "ops/nn/quantize_dequantize_loops.h"

static double number_at(const braid_tensor *t, int64_t i)
{
    return t->dtype == BRAID_FLOAT ? (double)bd_tensor_f32(t)[i] : bd_tensor_f64(t)[i];
}

// Checks that input `i`, called `name`, is a scalar, or with an axis a vector with a number for each index.
// False: the kernel has failed.
static bool check_numbers(bd_op_ctx *c, int i, const char *name, int64_t axis, int64_t count)
{
    const braid_shape *s = &bd_input(c, i)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (axis < 0 && s->rank != 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar, but has shape %s", name,
                   bd_shape_str(s, text));
    else if (axis >= 0 && (s->rank != 1 || s->dims[0] != count))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s has incorrect size, was %s expected [%lld]", name,
                   bd_shape_str(s, text), (long long)count);
    return !bd_op_failed(c);
}

// The shapes have been checked; the sizes of an empty tensor are not multiplied.
static bool places_of(bd_op_ctx *c, const braid_shape *s, int64_t axis, places *p)
{
    if (axis >= s->rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Axis requested is larger than input dimensions. Axis: %lld Input Dimensions: %d",
                   (long long)axis, s->rank);
        return false;
    }
    int64_t count = bd_shape_count(s);
    *p = (places){.outer = 1, .count = axis < 0 ? 1 : s->dims[axis], .inner = count};
    if (axis >= 0 && count > 0) {
        p->outer = bd_shape_count_range(s, 0, (int)axis);
        p->inner = bd_shape_count_range(s, (int)axis + 1, s->rank);
    }
    return true;
}

static bool read_bits(bd_op_ctx *c, int64_t *bits)
{
    const quantize_state *s = c->state;
    BD_STATUS(st);
    *bits = s->bits;
    if (c->input_count <= 3) return true;
    if (!check_numbers(c, 3, "num_bits", -1, 1)) return false;
    *bits = *bd_tensor_i32(bd_input(c, 3));
    if (check_bits(s, *bits, st)) bd_op_fail_status(c, st);
    return !bd_op_failed(c);
}

// Reads the range for one index, if ranges are given.
static bool read_range(bd_op_ctx *c, int64_t place, double *min, double *max)
{
    const quantize_state *s = c->state;
    BD_STATUS(st);
    *min = (double)s->min;
    *max = (double)s->max;
    if (s->by_attrs || !s->is_given) return true;
    *min = number_at(bd_input(c, 1), place);
    *max = number_at(bd_input(c, 2), place);
    if (check_range(*min, *max, st)) bd_op_fail_status(c, st);
    return !bd_op_failed(c);
}

static void quantize_run(bd_op_ctx *c)
{
    const quantize_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    int64_t bits;
    places p;
    if (!read_bits(c, &bits) || !places_of(c, &x->shape, s->axis, &p)) return;
    bool has_range = !s->by_attrs && s->is_given;
    if (has_range && (!check_numbers(c, 1, "input_min", s->axis, p.count) ||
                      !check_numbers(c, 2, "input_max", s->axis, p.count)))
        return;
    braid_tensor *y = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    const bool is_empty = bd_tensor_count(x) == 0;
    // an empty input may have any number of indices along the axis
    const int64_t ranges = is_empty && !has_range ? 0 : p.count;
    for (int64_t i = 0; y && i < ranges; i++) {
        double min, max;
        if (!read_range(c, i, &min, &max)) return;
        if (is_empty) continue;
        if (x->dtype == BRAID_FLOAT) {
            run_f32(s, &p, i, bits, (float)min, (float)max, bd_tensor_f32(x), bd_tensor_f32(y));
        } else {
            run_f64(s, &p, i, bits, min, max, bd_tensor_f64(x), bd_tensor_f64(y));
        }
    }
}

// The range and the number of bits are scalars; with an axis the range are vectors.
static braid_code quantize_shape(bd_shape_ctx *c, braid_status *st)
{
    const bd_attr *axis = bd_node_attr(c->node, "axis");
    braid_code code = BRAID_OK;
    for (int i = 1; i < c->input_count && !code; i++)
        code = bd_shape_ctx_rank(c, i, i < 3 && axis && axis->i >= 0 ? 1 : 0, st);
    c->outputs[0] = c->inputs[0];
    return code;
}

// The gradient ignores the rounding.
static void quantize_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = c->output_grads[0];
}

#define QUANTIZE_KERNELS                                                                                     \
    BD_KERNELS({.types = "T=float|double",                                                                   \
                .flags = BD_KERNEL_WIDENS,                                                                   \
                .state_size = sizeof(quantize_state),                                                        \
                .create = quantize_create,                                                                   \
                .run = quantize_run})

BD_OP(QuantizeAndDequantize) = {
    .signature = "(input: T) -> (output: T)",
    .attrs =
        "signed_input:bool=true; num_bits:int=8; range_given:bool=false; input_min:float=0; input_max:float=0; "
        "T:type{bfloat16,double,float,half}",
    .shape = quantize_shape,
    .gradient = quantize_gradient,
    .kernels = QUANTIZE_KERNELS,
    .doc = "QuantizeAndDequantizeV2 with the range given by attrs.",
    .deviation = "Allowed in graphs of any version.",
};

BD_OP(QuantizeAndDequantizeV2) = {
    .signature = "(input: T, input_min: T, input_max: T) -> (output: T)",
    .attrs =
        "signed_input:bool=true; num_bits:int=8; range_given:bool=false; T:type{bfloat16,double,float,half}; "
        "round_mode:string{HALF_TO_EVEN,HALF_UP}='HALF_TO_EVEN'; narrow_range:bool=false",
    .shape = quantize_shape,
    .gradient = quantize_gradient,
    .kernels = QUANTIZE_KERNELS,
    .doc =
        "Rounds numbers to the values that an integer of num_bits can represent over the range; without a given range, the range of the input.",
};

BD_OP(QuantizeAndDequantizeV3) = {
    .signature = "(input: T, input_min: T, input_max: T, num_bits: int32) -> (output: T)",
    .attrs =
        "signed_input:bool=true; range_given:bool=true; T:type{bfloat16,double,float,half}; narrow_range:bool=false",
    .shape = quantize_shape,
    .gradient = quantize_gradient,
    .kernels = QUANTIZE_KERNELS,
    .doc = "QuantizeAndDequantizeV2 with the number of bits given by a tensor.",
};

// ---- V4, whose gradient ends where the range does ----

static void gradient_run(bd_op_ctx *c)
{
    const quantize_state *s = c->state;
    const braid_tensor *dy = bd_input(c, 0), *x = bd_input(c, 1), *low = bd_input(c, 2),
                       *high = bd_input(c, 3);
    places p;
    if (!bd_shape_equal(&dy->shape, &x->shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "gradient and input must be the same size");
        return;
    }
    if (!places_of(c, &x->shape, s->axis, &p) || !check_numbers(c, 2, "input_min", s->axis, p.count) ||
        !check_numbers(c, 3, "input_max", s->axis, p.count))
        return;
    braid_tensor *dx = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    for (int i = 1; i < 3; i++) {
        braid_tensor *none = dx ? bd_output(c, i, x->dtype, &low->shape) : NULL;
        if (!none) return;
        memset(none->data, 0, bd_tensor_bytes(none));
    }
    for (int64_t i = 0; i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        int64_t place = i / p.inner % p.count;
        double v = number_at(x, i);
        bool is_within = v >= number_at(low, place) && v <= number_at(high, place);
        double d = number_at(dy, i) * (is_within ? 1.0 : 0.0);
        if (x->dtype == BRAID_FLOAT) {
            bd_tensor_f32(dx)[i] = (float)d;
        } else {
            bd_tensor_f64(dx)[i] = d;
        }
    }
}

static braid_code gradient_create(const braid_op *node, void *state, braid_status *st)
{
    *(quantize_state *)state = (quantize_state){.axis = bd_node_attr_int(node, "axis")};
    if (bd_node_attr_int(node, "axis") >= -1) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Axis must be at least -1. Found %lld",
                   (long long)bd_node_attr_int(node, "axis"));
}

static braid_code gradient_shape(bd_shape_ctx *c, braid_status *st)
{
    int rank = bd_node_attr_int(c->node, "axis") >= 0 ? 1 : 0;
    braid_code code = bd_shape_ctx_rank(c, 2, rank, st);
    if (!code) code = bd_shape_ctx_rank(c, 3, rank, st);
    if (code) return code;
    if (!bd_shape_merge(&c->inputs[0], &c->inputs[1], &c->outputs[0]))
        return bd_shape_ctx_fail(c, st, "Shapes of gradients and input must be equal");
    if (!bd_shape_merge(&c->inputs[2], &c->inputs[3], &c->outputs[1]))
        return bd_shape_ctx_fail(c, st, "Shapes of input_min and input_max must be equal");
    c->outputs[2] = c->outputs[1];
    return BRAID_OK;
}

static void v4_gradient(bd_grad_ctx *c)
{
    braid_op_desc *d = braid_op_begin(c->graph, "QuantizeAndDequantizeV4Grad", NULL);
    braid_op_input(d, c->output_grads[0]);
    for (int i = 0; i < 3; i++)
        braid_op_input(d, c->op->inputs[i]);
    braid_op_attr_int(d, "axis", bd_node_attr_int(c->op, "axis"));
    braid_op *gradient = braid_op_end_out(d).op;
    for (int i = 0; gradient && i < 3; i++)
        c->input_grads[i] = braid_output(gradient, i);
}

BD_OP(QuantizeAndDequantizeV4) = {
    .signature = "(input: T, input_min: T, input_max: T) -> (output: T)",
    .attrs =
        "signed_input:bool=true; num_bits:int=8; range_given:bool=false; T:type{bfloat16,double,float,half}; "
        "round_mode:string{HALF_TO_EVEN,HALF_UP}='HALF_TO_EVEN'; narrow_range:bool=false; axis:int=-1",
    .shape = quantize_shape,
    .gradient = v4_gradient,
    .kernels = QUANTIZE_KERNELS,
    .doc =
        "QuantizeAndDequantizeV2 with a gradient that is 0 outside of the range, and optionally a range for each index along an axis.",
};

BD_OP(QuantizeAndDequantizeV4Grad) = {
    .signature =
        "(gradients: T, input: T, input_min: T, input_max: T) -> (input_backprop: T, input_min_backprop: T, "
        "input_max_backprop: T)",
    .attrs = "T:type{bfloat16,double,float,half}; axis:int=-1",
    .shape = gradient_shape,
    .kernels = BD_KERNELS({.types = "T=float|double",
                           .flags = BD_KERNEL_WIDENS,
                           .state_size = sizeof(quantize_state),
                           .create = gradient_create,
                           .run = gradient_run}),
    .doc = "Passes gradients where inputs are within the range; the range gets no gradient.",
};
