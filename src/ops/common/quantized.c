// Quantized numbers: conversions, ranges.
//
// Single numbers are converted in double, tensors in float, as TensorFlow does; their roundings differ.
#include "ops/common/quantized.h"

#include "base/interrupt.h"

#include <math.h>

// ---- Numbers ----

void bd_quant_limits(braid_dtype dtype, int64_t *lowest, int64_t *highest)
{
    bool is_signed = dtype == BRAID_QINT8 || dtype == BRAID_QINT16 || dtype == BRAID_QINT32;
    int64_t count = INT64_C(1) << (8 * braid_dtype_size(dtype));
    *lowest = is_signed ? -count / 2 : 0;
    *highest = *lowest + count - 1;
}

void bd_quant_set(const braid_tensor *t, int64_t i, int32_t value)
{
    switch (t->dtype) {
    case BRAID_QINT8: ((int8_t *)t->data)[i] = (int8_t)value; break;
    case BRAID_QUINT8: ((uint8_t *)t->data)[i] = (uint8_t)value; break;
    case BRAID_QINT16: ((int16_t *)t->data)[i] = (int16_t)value; break;
    case BRAID_QUINT16: ((uint16_t *)t->data)[i] = (uint16_t)value; break;
    default: ((int32_t *)t->data)[i] = value; break;
    }
}

int32_t bd_quant_get(const braid_tensor *t, int64_t i)
{
    int32_t value;
    bd_quant_get_many(t, i, 1, 0, &value);
    return value;
}

// Integers wrap around.
#define GET_MANY(T)                                                                                          \
    for (int64_t i = 0; i < n; i++)                                                                          \
        out[i] = (int32_t)((uint32_t)((const T *)t->data)[from + i] - (uint32_t)offset);                     \
    break

void bd_quant_get_many(const braid_tensor *t, int64_t from, int64_t n, int32_t offset, int32_t *out)
{
    switch (t->dtype) {
    case BRAID_QINT8: GET_MANY(int8_t);
    case BRAID_QUINT8: GET_MANY(uint8_t);
    case BRAID_QINT16: GET_MANY(int16_t);
    case BRAID_QUINT16: GET_MANY(uint16_t);
    default: GET_MANY(int32_t);
    }
}

// How many integers a type has.
static double step_count(braid_dtype dtype)
{
    return ldexp(1, 8 * (int)braid_dtype_size(dtype));
}

static double lowest_of(braid_dtype dtype)
{
    int64_t lowest, highest;
    bd_quant_limits(dtype, &lowest, &highest);
    return (double)lowest;
}

// The width of the range and one step more.
static double width_of(braid_dtype dtype, bd_quant_range r)
{
    double steps = step_count(dtype);
    return (double)(r.max - r.min) * (steps / (steps - 1));
}

float bd_quant_to_float(braid_dtype dtype, int32_t value, bd_quant_range r)
{
    if (r.min == r.max) return r.min;
    double scale = width_of(dtype, r) / step_count(dtype);
    double first = (double)(roundf(r.min / (float)scale) * (float)scale);
    return (float)(first + ((double)value - lowest_of(dtype)) * scale);
}

// The number of the step that `x` is on, counted from the type's lowest.
static double step_of(braid_dtype dtype, float x, bd_quant_range r)
{
    if (r.min == r.max) return lowest_of(dtype);
    double scale = step_count(dtype) / width_of(dtype, r);
    return round((double)x * scale) - round((double)r.min * scale) + lowest_of(dtype);
}

int32_t bd_quant_from_float(braid_dtype dtype, float x, bd_quant_range range)
{
    int64_t lowest, highest;
    bd_quant_limits(dtype, &lowest, &highest);
    double at = step_of(dtype, x, range);
    if (!(at > (double)lowest)) return (int32_t)lowest; // true for NaN too
    return at < (double)highest ? (int32_t)at : (int32_t)highest;
}

int32_t bd_quant_zero(braid_dtype dtype, bd_quant_range range)
{
    double at = step_of(dtype, 0, range);
    return fabs(at) < 0x1p62 ? (int32_t)(uint32_t)(uint64_t)(int64_t)at : 0;
}

// ---- Tensors ----

// x * scale + offset
typedef struct line {
    float scale, offset;
} line;

static line to_float_line(braid_dtype dtype, bd_quant_range r)
{
    float scale = (float)((double)(r.max - r.min) / (step_count(dtype) - 1));
    float first = r.max == r.min ? r.min : roundf(r.min / scale) * scale;
    return (line){scale, first - (float)lowest_of(dtype) * scale};
}

// The product is rounded to an integer before the offset is added.
static line from_float_line(braid_dtype dtype, bd_quant_range r)
{
    float scale = r.max == r.min ? 0 : (float)((step_count(dtype) - 1) / (double)(r.max - r.min));
    float first = r.max == r.min ? r.min : roundf(r.min * scale);
    return (line){scale, -(first - (float)lowest_of(dtype))};
}

#define BLOCK 256

static void requantize_block(const int32_t *in, int64_t n, line to_float, line from_float, float lowest,
                             float highest, int32_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        float x = (float)in[i] * to_float.scale + to_float.offset;
        float at = roundf(x * from_float.scale) + from_float.offset;
        at = at > lowest ? at : lowest; // NaN too is the lowest one
        out[i] = (int32_t)(at < highest ? at : highest);
    }
}

void bd_requantize(const braid_tensor *x, bd_quant_range from, const braid_tensor *y, bd_quant_range to)
{
    line to_float = to_float_line(x->dtype, from), from_float = from_float_line(y->dtype, to);
    int64_t lowest, highest, count = bd_tensor_count(x);
    bd_quant_limits(y->dtype, &lowest, &highest);
    // The greatest integer that a float represents: of qint32 not the type's.
    float top = (double)(float)highest > (double)highest ? nextafterf((float)highest, 0) : (float)highest;
    int32_t in[BLOCK], out[BLOCK];
    for (int64_t at = 0; at < count && !bd_interrupted(); at += BLOCK) {
        int64_t n = count - at < BLOCK ? count - at : BLOCK;
        bd_quant_get_many(x, at, n, 0, in);
        requantize_block(in, n, to_float, from_float, (float)lowest, top, out);
        for (int64_t i = 0; i < n; i++)
            bd_quant_set(y, at + i, out[i]);
    }
}

// ---- Ranges ----

static float step_width(braid_dtype dtype, bd_quant_range r)
{
    return (r.max - r.min) / (float)(step_count(dtype) - 1);
}

bd_quant_range bd_quant_product_range(braid_dtype a, bd_quant_range of_a, braid_dtype b, bd_quant_range of_b,
                                      braid_dtype out)
{
    int64_t lowest, highest;
    bd_quant_limits(out, &lowest, &highest);
    float step = step_width(a, of_a) * step_width(b, of_b);
    return (bd_quant_range){step * (float)lowest, step * (float)highest};
}

bd_quant_range bd_quant_sum_range(bd_quant_range a, bd_quant_range b, int bits)
{
    float end = ldexpf(fmaxf(fmaxf(a.max, -a.min), fmaxf(b.max, -b.min)), bits);
    return (bd_quant_range){-end, end};
}

// ---- Ops ----

bool bd_quant_input_range(bd_op_ctx *c, int i, bd_quant_range *range)
{
    for (int k = i; k < i + 2; k++) {
        int64_t count = bd_tensor_count(bd_input(c, k));
        if (count == 1) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "input %d is an end of a range and must be a scalar: %lld elements", k, (long long)count);
        return false;
    }
    *range = (bd_quant_range){bd_tensor_f32(bd_input(c, i))[0], bd_tensor_f32(bd_input(c, i + 1))[0]};
    return true;
}

bool bd_quant_input_wide_range(bd_op_ctx *c, int i, const char *name, bd_quant_range *range)
{
    if (!bd_quant_input_range(c, i, range)) return false;
    if (range->max > range->min) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "max_%s must be larger than min_%s.", name, name);
    return false;
}

bool bd_quant_output_range(bd_op_ctx *c, int i, bd_quant_range range)
{
    braid_tensor *low = bd_output(c, i, BRAID_FLOAT, &BD_SCALAR),
                 *high = low ? bd_output(c, i + 1, BRAID_FLOAT, &BD_SCALAR) : NULL;
    if (!high) return false;
    bd_tensor_f32(low)[0] = range.min;
    bd_tensor_f32(high)[0] = range.max;
    return true;
}

braid_code bd_quant_shape_ranges(bd_shape_ctx *c, int from, int to, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = from; i < to && !code; i++)
        code = bd_shape_ctx_rank(c, i, 0, st);
    for (int i = 1; i < c->output_count; i++)
        c->outputs[i] = BD_SCALAR;
    return code;
}

braid_code bd_quant_unary_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return bd_quant_shape_ranges(c, 1, c->input_count, st);
}

bool bd_quant_ints(bd_op_ctx *c, const braid_tensor *x, int32_t offset, braid_tensor *out)
{
    if (!bd_tensor_alloc(out, BRAID_INT32, &x->shape)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating a tensor of int32 for %s",
                   c->node->op_type);
        return false;
    }
    int64_t count = bd_tensor_count(x);
    for (int64_t at = 0, end; (end = bd_block_end(at, count)) > at; at = end)
        bd_quant_get_many(x, at, end - at, offset, bd_tensor_i32(out) + at);
    return true;
}
