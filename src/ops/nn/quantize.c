// QuantizeV2 and Dequantize: convert floats of a range to integers, and back.
//
// Sums and products are rounded to float, as in TensorFlow.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/quantized.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef enum quantize_mode {
    MIN_COMBINED, // all integer values, spread over the range
    MIN_FIRST,    // the same, shifted so that 0 is represented exactly
    SCALED        // scaled so that 0 stays 0 and the end of greater magnitude maps to the end of the integers
} quantize_mode;

typedef struct quantize_state {
    quantize_mode mode;
    int64_t axis;       // the axis with a range for each index; -1: one range for all
    float minimum_part; // minimum width of a range, as a fraction of its greatest magnitude
    bool is_narrow, rounds_to_even;
    double lowest, highest; // of the integer type
} quantize_state;

static braid_code quantize_create(const braid_op *node, void *state, braid_status *st)
{
    quantize_state *s = state;
    const char *mode = bd_node_attr_string(node, "mode");
    const bd_attr *rounding = bd_node_attr(node, "round_mode"),
                  *part = bd_node_attr(node, "ensure_minimum_range");
    *s = (quantize_state){.mode = strcmp(mode, "SCALED") == 0      ? SCALED
                                  : strcmp(mode, "MIN_FIRST") == 0 ? MIN_FIRST
                                                                   : MIN_COMBINED,
                          .axis = bd_node_attr_int(node, "axis"),
                          .minimum_part = part ? part->f : 0,
                          .is_narrow = bd_node_attr_bool(node, "narrow_range"),
                          .rounds_to_even = rounding && strcmp(rounding->s.data, "HALF_TO_EVEN") == 0};
    int64_t lowest, highest;
    bd_quant_limits(bd_node_attr_type(node, "T"), &lowest, &highest);
    s->lowest = (double)lowest;
    s->highest = (double)highest;
    if (s->rounds_to_even && s->mode != SCALED)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '%s'.", mode);
    if (s->axis >= -1) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Axis must be at least -1. Found %lld", (long long)s->axis);
}

// Maps the numbers of one range to integers: shift, scale, shift.
typedef struct quantization {
    float min, max; // the range, widened to the minimum
    float scale;
} quantization;

static float half_range(const quantize_state *s)
{
    return s->lowest < 0 ? (float)((s->highest - s->lowest + 1) / 2) : 0;
}

// The least integer used by mode SCALED.
static float scaled_lowest(const quantize_state *s)
{
    return (float)(s->lowest + (s->is_narrow ? 1 : 0));
}

static quantization quantization_of(const quantize_state *s, float min, float max)
{
    quantization q = {.min = fminf(0, min)};
    float least = fmaxf(1, fmaxf(fabsf(min), fabsf(max))) * s->minimum_part;
    q.max = fmaxf(0, fmaxf(max, q.min + least));
    if (s->mode == SCALED) {
        float lowest = scaled_lowest(s), highest = (float)s->highest;
        float by_min = lowest * q.min > 0 ? lowest / q.min : FLT_MAX,
              by_max = highest * q.max > 0 ? highest / q.max : FLT_MAX;
        q.scale = fminf(by_min, by_max);
        q.min = lowest / q.scale;
        q.max = highest / q.scale;
    } else if (q.max > q.min) {
        q.scale = (float)((s->highest - s->lowest) / (double)(q.max - q.min));
    }
    return q;
}

static float quantized(const quantize_state *s, const quantization *q, float x)
{
    if (s->mode == MIN_FIRST) return roundf(x * q->scale) - (roundf(q->min * q->scale) - (float)s->lowest);
    float within = fmaxf(fminf(x, q->max), q->min);
    if (s->mode == SCALED) return s->rounds_to_even ? rintf(within * q->scale) : roundf(within * q->scale);
    float at = (within - q->min) * q->scale;
    return s->lowest < 0 ? roundf(at - half_range(s)) : floorf(at + 0.5F);
}

static int32_t within_limits(const quantize_state *s, float x)
{
    if (!((double)x > s->lowest)) return (int32_t)s->lowest; // true for NaN too
    return (double)x < s->highest ? (int32_t)x : (int32_t)s->highest;
}

// A tensor as [outer, ranges, inner]; each index in the middle has its own range.
typedef struct places {
    int64_t outer, ranges, inner;
} places;

static bool is_range(bd_op_ctx *c, int i, const char *name, int64_t count)
{
    int64_t given = bd_tensor_count(bd_input(c, i));
    if (given == count) return true;
    if (count == 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "%s must contain a single float element, but it contains %lld elements", name,
                   (long long)given);
    else
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "%s has %lld elements, which must be as many as the input has along the axis: %lld", name,
                   (long long)given, (long long)count);
    return false;
}

static bool find_places(bd_op_ctx *c, places *p)
{
    const quantize_state *s = c->state;
    const braid_shape *x = &bd_input(c, 0)->shape;
    *p = (places){1, 1, bd_tensor_count(bd_input(c, 0))};
    if (s->axis >= x->rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Axis is %lld but input tensor has %d dimensions",
                   (long long)s->axis, x->rank);
        return false;
    }
    if (s->axis >= 0 && p->inner == 0) {
        // the other sizes of an empty tensor may be too large to multiply
        *p = (places){0, x->dims[s->axis], 0};
    } else if (s->axis >= 0) {
        *p = (places){bd_shape_count_range(x, 0, (int)s->axis), x->dims[s->axis],
                      bd_shape_count_range(x, (int)s->axis + 1, x->rank)};
    }
    return is_range(c, 1, "min_range", p->ranges) && is_range(c, 2, "max_range", p->ranges);
}

// ---- QuantizeV2 ----

static void quantize_run(bd_op_ctx *c)
{
    const quantize_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    const float *min = bd_tensor_f32(bd_input(c, 1)), *max = bd_tensor_f32(bd_input(c, 2));
    places p;
    if (!find_places(c, &p)) return;
    for (int64_t k = 0; k < p.ranges; k++) {
        if (!(max[k] < min[k])) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input_max_range must be larger than input_min_range.");
        return;
    }
    braid_shape range = s->axis < 0 ? BD_SCALAR : bd_shape1(p.ranges);
    braid_tensor *y = bd_output(c, 0, bd_node_attr_type(c->node, "T"), &x->shape),
                 *low = y ? bd_output(c, 1, BRAID_FLOAT, &range) : NULL,
                 *high = low ? bd_output(c, 2, BRAID_FLOAT, &range) : NULL;
    if (!high) return;
    for (int64_t k = 0; k < p.ranges; k++) {
        quantization q = quantization_of(s, min[k], max[k]);
        bd_tensor_f32(low)[k] = q.min;
        bd_tensor_f32(high)[k] = q.max;
        for (int64_t o = 0; o < p.outer; o++) {
            int64_t at = (o * p.ranges + k) * p.inner;
            for (int64_t i = at; i < at + p.inner && !bd_interrupted_at(i - at); i++)
                bd_quant_set(y, i, within_limits(s, quantized(s, &q, bd_tensor_f32(x)[i])));
        }
    }
}

// Ranges are scalars; with an axis they are vectors.
static braid_code check_ranges(bd_shape_ctx *c, braid_status *st)
{
    int rank = bd_node_attr_int(c->node, "axis") == -1 ? 0 : 1;
    braid_code code = bd_shape_ctx_rank(c, 1, rank, st);
    c->outputs[0] = c->inputs[0];
    return code ? code : bd_shape_ctx_rank(c, 2, rank, st);
}

static braid_code quantize_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = check_ranges(c, st);
    int64_t axis = bd_node_attr_int(c->node, "axis");
    const braid_shape *x = &c->inputs[0];
    c->outputs[1] = axis == -1 ? BD_SCALAR : bd_shape1(axis >= 0 && axis < x->rank ? x->dims[axis] : -1);
    c->outputs[2] = c->outputs[1];
    return code;
}

#define MODE_ATTR "mode:string{MIN_COMBINED,MIN_FIRST,SCALED}='MIN_COMBINED'"

BD_OP(QuantizeV2) = {
    .signature = "(input: float, min_range: float, max_range: float) -> (output: T, output_min: float, "
                 "output_max: float)",
    .attrs = "T:type{qint16,qint32,qint8,quint16,quint8}; " MODE_ATTR
             "; round_mode:string{HALF_AWAY_FROM_ZERO,HALF_TO_EVEN}='HALF_AWAY_FROM_ZERO'; "
             "+narrow_range:bool=false; +axis:int=-1; +ensure_minimum_range:float=0.01",
    .shape = quantize_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(quantize_state),
                           .create = quantize_create,
                           .run = quantize_run}),
    .doc =
        "Quantizes floats from min_range to max_range to integers, and outputs the range that the integers represent.",
};

// ---- Dequantize ----

// x * scale + offset
typedef struct line {
    float before, scale, offset; // `before` is added to x first
} line;

static line line_of(const quantize_state *s, float min, float max)
{
    float lowest = scaled_lowest(s), highest = (float)s->highest;
    if (s->mode == SCALED)
        return (line){.scale = s->lowest == 0 ? max / highest : fmaxf(min / lowest, max / highest)};
    float steps = (float)s->highest - (float)s->lowest, scale = (max - min) / steps;
    if (s->mode == MIN_COMBINED) return (line){.before = half_range(s), .scale = scale, .offset = min};
    scale = (float)((double)(max - min) / (s->highest - s->lowest));
    float rounded = max == min ? min : roundf(min / scale) * scale;
    return (line){.scale = scale, .offset = rounded - (float)s->lowest * scale};
}

static void dequantize_run(bd_op_ctx *c)
{
    const quantize_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    const float *min = bd_tensor_f32(bd_input(c, 1)), *max = bd_tensor_f32(bd_input(c, 2));
    places p;
    braid_tensor *y = find_places(c, &p) ? bd_output(c, 0, BRAID_FLOAT, &x->shape) : NULL;
    if (!y) return;
    for (int64_t k = 0; k < p.ranges; k++) {
        line l = line_of(s, min[k], max[k]);
        for (int64_t o = 0; o < p.outer; o++) {
            int64_t at = (o * p.ranges + k) * p.inner;
            for (int64_t i = at; i < at + p.inner && !bd_interrupted_at(i - at); i++)
                bd_tensor_f32(y)[i] = ((float)bd_quant_get(x, i) + l.before) * l.scale + l.offset;
        }
    }
}

BD_OP(Dequantize) = {
    .signature = "(input: T, min_range: float, max_range: float) -> (output: dtype)",
    .attrs = "T:type{qint16,qint32,qint8,quint16,quint8}; " MODE_ATTR
             "; +narrow_range:bool=false; +axis:int=-1; +dtype:type{bfloat16,float}=float",
    .shape = check_ranges,
    .kernels = BD_KERNELS({.types = "dtype=float",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(quantize_state),
                           .create = quantize_create,
                           .run = dequantize_run}),
    .doc = "Converts integers, quantized with the same range and mode by QuantizeV2, back to floats.",
};
