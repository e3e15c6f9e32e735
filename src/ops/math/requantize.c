// RequantizationRange, Requantize and QuantizeDownAndShrinkRange: convert quantized numbers to a narrower
// type.
#include "base/interrupt.h"
#include "ops/common/quantized.h"

#include <math.h>

// ---- The range in use ----

// The floats that the least and the greatest element stand for; the minimum is at most 0. Without elements
// they are the range's ends, the wrong way round, as in TensorFlow.
static bd_quant_range used_range(const braid_tensor *x, bd_quant_range range)
{
    int64_t first, last;
    bd_quant_limits(x->dtype, &first, &last);
    int32_t least = (int32_t)last, greatest = (int32_t)first;
    for (int64_t i = 0; i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        int32_t value = bd_quant_get(x, i);
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
    }
    return (bd_quant_range){fminf(0, bd_quant_to_float(x->dtype, least, range)),
                            bd_quant_to_float(x->dtype, greatest, range)};
}

static void range_run(bd_op_ctx *c)
{
    bd_quant_range range;
    if (bd_quant_input_range(c, 1, &range)) bd_quant_output_range(c, 0, used_range(bd_input(c, 0), range));
}

static braid_code range_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    return bd_quant_shape_ranges(c, 1, 3, st);
}

BD_OP(RequantizationRange) = {
    .signature =
        "(input: Tinput, input_min: float, input_max: float) -> (output_min: float, output_max: float)",
    .attrs = "Tinput:type" BD_QUANT_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = range_shape,
    .kernels = BD_KERNELS({.types = "Tinput=qint8|quint8|qint16|quint16|qint32",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .run = range_run}),
    .doc = "The range of floats that a tensor of quantized numbers uses; its minimum is at most 0.",
};

// ---- Conversion ----

static void convert(bd_op_ctx *c, bd_quant_range from, bd_quant_range to)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, bd_node_attr_type(c->node, "out_type"), &x->shape);
    if (y && bd_quant_output_range(c, 1, to)) bd_requantize(x, from, y, to);
}

static void requantize_run(bd_op_ctx *c)
{
    bd_quant_range from, to;
    if (!bd_quant_input_range(c, 1, &from) || !bd_quant_input_range(c, 3, &to)) return;
    if (!(to.min <= 0)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "requested_output_min must be <= 0, but got %g",
                   (double)to.min);
    } else if (!(to.max >= to.min)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "requested_output_max must be >= requested_output_min, but got %g and %g", (double)to.max,
                   (double)to.min);
    } else {
        convert(c, from, to);
    }
}

static void shrink_run(bd_op_ctx *c)
{
    bd_quant_range from;
    if (bd_quant_input_range(c, 1, &from)) convert(c, from, used_range(bd_input(c, 0), from));
}

#define CONVERT_ATTRS "Tinput:type" BD_QUANT_TYPES "; out_type:type" BD_QUANT_TYPES
#define CONVERT_KERNELS(RUN)                                                                                 \
    BD_KERNELS({.types = "Tinput=qint8|quint8|qint16|quint16|qint32; "                                       \
                         "out_type=qint8|quint8|qint16|quint16|qint32",                                      \
                .flags = BD_KERNEL_EXPENSIVE,                                                                \
                .run = (RUN)})

BD_OP(Requantize) = {
    .signature = "(input: Tinput, input_min: float, input_max: float, requested_output_min: float, "
                 "requested_output_max: float) -> (output: out_type, output_min: float, output_max: float)",
    .attrs = CONVERT_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_quant_unary_shape,
    .kernels = CONVERT_KERNELS(requantize_run),
    .doc = "Converts quantized numbers of one range to those of another range and type.",
};

BD_OP(QuantizeDownAndShrinkRange) = {
    .signature =
        "(input: Tinput, input_min: float, input_max: float) -> (output: out_type, output_min: float, "
        "output_max: float)",
    .attrs = CONVERT_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_quant_unary_shape,
    .kernels = CONVERT_KERNELS(shrink_run),
    .doc =
        "Converts quantized numbers to a narrower type, whose range is the one that they use: Requantize to "
        "RequantizationRange.",
};
