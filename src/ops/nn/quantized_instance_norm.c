// QuantizedInstanceNorm: normalizes each channel of each quantized image to mean 0 and variance 1.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "ops/common/quantized.h"

#include <float.h>
#include <math.h>

typedef struct norm_state {
    bool is_range_given;
    bd_quant_range given;
    float epsilon, min_separation;
} norm_state;

static braid_code norm_create(const braid_op *node, void *state, braid_status *st)
{
    norm_state *s = state;
    *s = (norm_state){
        .is_range_given = bd_node_attr_bool(node, "output_range_given"),
        .given = {bd_node_attr_float(node, "given_y_min"), bd_node_attr_float(node, "given_y_max")},
        .epsilon = bd_node_attr_float(node, "variance_epsilon"),
        .min_separation = bd_node_attr_float(node, "min_separation")};
    if (!s->is_range_given || s->given.min < s->given.max) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "given_y_min must be less than given_y_max : %g >= %g",
                   (double)s->given.min, (double)s->given.max);
}

// A number is (integer - mean) * factor.
typedef struct channel {
    float mean, factor;
} channel;

// Images [count, pixels, channels].
typedef struct images {
    const braid_tensor *x;
    int64_t count, pixels, channels;
    channel *of; // [count, channels], owned
} images;

static channel measure(const images *m, int64_t image, int64_t k, float scale, float epsilon)
{
    double sum = 0, squares = 0;
    const uint8_t *x = (const uint8_t *)m->x->data + image * m->pixels * m->channels + k;
    for (int64_t i = 0; i < m->pixels && !bd_interrupted_at(i); i++)
        sum += x[i * m->channels];
    const double mean = sum / (double)m->pixels;
    for (int64_t i = 0; i < m->pixels && !bd_interrupted_at(i); i++) {
        double d = (double)scale * (x[i * m->channels] - mean);
        squares += d * d;
    }
    const double variance = squares / (double)m->pixels;
    return (channel){(float)mean, (float)((double)scale / sqrt(variance + (double)epsilon))};
}

static float number_at(const images *m, int64_t i)
{
    const channel *k = &m->of[i / (m->pixels * m->channels) * m->channels + i % m->channels];
    return ((float)((const uint8_t *)m->x->data)[i] - k->mean) * k->factor;
}

// The range of all numbers.
static bd_quant_range range_of(const images *m)
{
    bd_quant_range r = {FLT_MAX, -FLT_MAX};
    for (int64_t i = 0; i < bd_tensor_count(m->x) && !bd_interrupted_at(i); i++) {
        float number = number_at(m, i);
        r.min = fminf(r.min, number);
        r.max = fmaxf(r.max, number);
    }
    return r;
}

static void normalize(bd_op_ctx *c, const norm_state *s, images *m, float scale)
{
    for (int64_t image = 0; image < m->count; image++) {
        for (int64_t k = 0; k < m->channels && !bd_interrupted(); k++)
            m->of[image * m->channels + k] = measure(m, image, k, scale, s->epsilon);
    }
    bd_quant_range range = s->is_range_given ? s->given : range_of(m);
    if (range.max - range.min < s->min_separation) range.max = range.min + s->min_separation;
    const braid_tensor *y = bd_output(c, 0, BRAID_QUINT8, &m->x->shape);
    if (!y || !bd_quant_output_range(c, 1, range)) return;
    for (int64_t i = 0; i < bd_tensor_count(y) && !bd_interrupted_at(i); i++)
        bd_quant_set(y, i, bd_quant_from_float(BRAID_QUINT8, number_at(m, i), range));
}

static void norm_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    char text[BD_SHAPE_STR_MAX];
    bd_quant_range range;
    if (!bd_quant_input_range(c, 1, &range)) return;
    if (!(range.min < range.max)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input_min must be less than input_max : %g >= %g",
                   (double)range.min, (double)range.max);
        return;
    }
    if (x->shape.rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "x must be 4-dimensional: %s", bd_shape_str(&x->shape, text));
        return;
    }
    const int64_t *dims = x->shape.dims;
    images m = {.x = x, .count = dims[0], .pixels = dims[1] * dims[2], .channels = dims[3]};
    // Without pixels there is nothing to normalize, whatever the other sizes say.
    if (bd_tensor_count(x) == 0) m.count = 0;
    m.of = bd_try_calloc((size_t)m.count, (size_t)m.channels * sizeof *m.of);
    if (m.of)
        normalize(c, c->state, &m, (range.max - range.min) / 255.0F);
    else
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when normalizing %lld images", (long long)m.count);
    bd_free(m.of);
}

BD_OP(QuantizedInstanceNorm) = {
    .signature = "(x: T, x_min: float, x_max: float) -> (y: T, y_min: float, y_max: float)",
    .attrs = "T:type" BD_QUANT_TYPES
             "; output_range_given:bool=false; given_y_min:float=0; given_y_max:float=0; "
             "variance_epsilon:float=1e-05; min_separation:float=0.001",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_quant_unary_shape,
    .kernels = BD_KERNELS({.types = "T=quint8",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(norm_state),
                           .create = norm_create,
                           .run = norm_run}),
    .doc =
        "Normalizes each channel of each image of quantized numbers to mean 0 and variance 1, in a range that is "
        "given or the one that the numbers use.",
};
