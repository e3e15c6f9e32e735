// RequantizePerChannel and RequantizationRangePerChannel: conversion of images of qint32, whose channels
// have ranges of their own, to 8 bits with one range.
//
// Ranges are symmetric here: an integer is a multiple of the greatest magnitude over 2^31. In TensorFlow
// these kernels are part of its builds with oneDNN only.
#include "base/interrupt.h"
#include "ops/common/quantized.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static float magnitude(float min, float max)
{
    return fmaxf(fabsf(min), fabsf(max));
}

// The images' channels, and a range for each of them in inputs 1 and 2. -1: the kernel has failed.
static int64_t check_channels(bd_op_ctx *c)
{
    const braid_shape *x = &bd_input(c, 0)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (x->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be in NHWC format, not of shape %s",
                   bd_shape_str(x, text));
        return -1;
    }
    for (int i = 1; i <= 2; i++) {
        const braid_shape *s = &bd_input(c, i)->shape;
        if (s->rank == 1 && s->dims[0] == x->dims[3]) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s has incorrect size, expected %lld was %s",
                   i == 1 ? "input_min" : "input_max", (long long)x->dims[3], bd_shape_str(s, text));
        return -1;
    }
    return x->dims[3];
}

static float channel_magnitude(const bd_op_ctx *c, int64_t k)
{
    return magnitude(bd_tensor_f32(bd_input(c, 1))[k], bd_tensor_f32(bd_input(c, 2))[k]);
}

static braid_code check_shapes(bd_shape_ctx *c, int from, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 4, st);
    for (int i = 1; i < from && !code; i++)
        code = bd_shape_ctx_rank(c, i, 1, st);
    return code ? code : bd_quant_shape_ranges(c, from, c->input_count, st);
}

// ---- The range in use ----

static braid_code range_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    return check_shapes(c, 3, st);
}

// The greatest magnitude of the numbers; *is_signed: some are below 0.
static float used_magnitude(const bd_op_ctx *c, int64_t channels, bool *is_signed)
{
    const braid_tensor *x = bd_input(c, 0);
    float most = FLT_MIN;
    for (int64_t k = 0; k < channels && !bd_interrupted(); k++) {
        int64_t greatest = 0;
        for (int64_t i = k; i < bd_tensor_count(x) && !bd_interrupted_at(i / channels); i += channels) {
            int64_t value = bd_tensor_i32(x)[i];
            *is_signed = *is_signed || value < 0;
            greatest = llabs(value) > greatest ? llabs(value) : greatest;
        }
        most = fmaxf(most, channel_magnitude(c, k) * (float)greatest / 0x1p31F);
    }
    return most;
}

static void range_run(bd_op_ctx *c)
{
    const int64_t channels = check_channels(c);
    if (channels < 0) return;
    if (bd_tensor_count(bd_input(c, 0)) == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must not be empty");
        return;
    }
    bool is_signed = false;
    float most = fminf(used_magnitude(c, channels, &is_signed), *(const float *)c->state);
    bd_quant_output_range(c, 0, (bd_quant_range){is_signed ? -most : 0, most});
}

static braid_code range_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    *(float *)state = bd_node_attr_float(node, "clip_value_max");
    return BRAID_OK;
}

BD_OP(RequantizationRangePerChannel) = {
    .signature = "(input: T, input_min: float, input_max: float) -> (output_min: float, output_max: float)",
    .attrs = "T:type" BD_QUANT_TYPES "=qint32; clip_value_max:float",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = range_shape,
    .kernels = BD_KERNELS({.types = "T=qint32",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(float),
                           .create = range_create,
                           .run = range_run}),
    .doc =
        "The range of floats that images use whose channels have ranges of their own: symmetric, or from 0 on, "
        "and up to clip_value_max.",
};

// ---- Conversion ----

static braid_code convert_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return check_shapes(c, 3, st);
}

static void convert_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    const braid_dtype type = bd_node_attr_type(c->node, "out_type");
    const int64_t channels = check_channels(c);
    bd_quant_range to;
    if (channels < 0 || !bd_quant_input_range(c, 3, &to)) return;
    if (type == BRAID_QINT8 && !(to.min < 0)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "requested_output_min must be below 0 for an out_type of qint8, but got %g",
                   (double)to.min);
        return;
    }
    const braid_tensor *y = bd_output(c, 0, type, &x->shape);
    if (!y || !bd_quant_output_range(c, 1, to)) return;
    int64_t lowest, highest;
    bd_quant_limits(type, &lowest, &highest);
    const float factor = type == BRAID_QINT8 ? 127 : 255, most = magnitude(to.min, to.max);
    for (int64_t k = 0; k < channels && !bd_interrupted(); k++) {
        const float scale = factor * (channel_magnitude(c, k) / most / 0x1p31F);
        for (int64_t i = k; i < bd_tensor_count(x) && !bd_interrupted_at(i / channels); i += channels) {
            float value = nearbyintf((float)bd_tensor_i32(x)[i] * scale);
            // Not a number, where all ranges are 0, is the least integer.
            bd_quant_set(y, i, (int32_t)fminf(fmaxf((float)lowest, value), (float)highest));
        }
    }
}

BD_OP(RequantizePerChannel) = {
    .signature = "(input: T, input_min: float, input_max: float, requested_output_min: float, "
                 "requested_output_max: float) -> (output: out_type, output_min: float, output_max: float)",
    .attrs = "T:type" BD_QUANT_TYPES "=qint32; out_type:type" BD_QUANT_TYPES "=quint8",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = convert_shape,
    .kernels = BD_KERNELS(
        {.types = "T=qint32; out_type=qint8|quint8", .flags = BD_KERNEL_EXPENSIVE, .run = convert_run}),
    .doc =
        "Converts images of quantized numbers, whose channels have ranges of their own, to 8 bits with one range.",
};
