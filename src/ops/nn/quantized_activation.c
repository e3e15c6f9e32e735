// QuantizedBiasAdd, QuantizedRelu, QuantizedRelu6 and QuantizedReluX.
#include "base/interrupt.h"
#include "ops/common/quantized.h"

#include <math.h>

// ---- QuantizedBiasAdd ----

static braid_code bias_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *x = &c->inputs[0], *bias = &c->inputs[1];
    c->outputs[0] = *x;
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    if (!code) code = bd_quant_shape_ranges(c, 2, 6, st);
    if (code || x->rank < 0) return code;
    if (x->rank < 2) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", x->rank);
    int64_t *channels = &c->outputs[0].dims[x->rank - 1];
    if (bias->rank < 0 || bias->dims[0] < 0) return BRAID_OK;
    if (*channels >= 0 && *channels != bias->dims[0])
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                 (long long)*channels, (long long)bias->dims[0]);
    *channels = bias->dims[0];
    return BRAID_OK;
}

static bool check_bias(bd_op_ctx *c)
{
    const braid_shape *x = &bd_input(c, 0)->shape, *bias = &bd_input(c, 1)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (x->rank < 2)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input tensor must be at least 2D: %s", bd_shape_str(x, text));
    else if (bias->rank != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Biases must be 1D: %s", bd_shape_str(bias, text));
    else if (bias->dims[0] != x->dims[x->rank - 1])
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Must provide as many biases as the last dimension of the input tensor: %lld vs. %s",
                   (long long)bias->dims[0], bd_shape_str(x, text));
    return !bd_op_failed(c);
}

#define SUM_BITS 17 // TensorFlow's

static void bias_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *bias = bd_input(c, 1);
    bd_quant_range of_x, of_bias;
    if (!bd_quant_input_range(c, 2, &of_x) || !bd_quant_input_range(c, 4, &of_bias) || !check_bias(c)) return;
    bd_quant_range sum = bd_quant_sum_range(of_x, of_bias, SUM_BITS);
    braid_tensor *y = bd_output(c, 0, BRAID_QINT32, &x->shape), terms;
    if (!y || !bd_quant_output_range(c, 1, sum)) return;
    bd_requantize(x, of_x, y, sum);
    if (!bd_tensor_alloc(&terms, BRAID_QINT32, &bias->shape)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating the biases of QuantizedBiasAdd");
        return;
    }
    bd_requantize(bias, of_bias, &terms, sum);
    int32_t *out = bd_tensor_i32(y), zero = bd_quant_from_float(BRAID_QINT32, 0, sum);
    int64_t channels = bias->shape.dims[0];
    for (int64_t i = 0; i < bd_tensor_count(y) && !bd_interrupted(); i += channels)
        for (int64_t k = 0; k < channels; k++)
            out[i + k] =
                (int32_t)((uint32_t)out[i + k] + (uint32_t)bd_tensor_i32(&terms)[k] + (uint32_t)zero);
    bd_tensor_fini(&terms);
}

BD_OP(QuantizedBiasAdd) = {
    .signature =
        "(input: T1, bias: T2, min_input: float, max_input: float, min_bias: float, max_bias: float) -> "
        "(output: out_type, min_out: float, max_out: float)",
    .attrs = "T1:type" BD_QUANT_TYPES "; T2:type" BD_QUANT_TYPES "; out_type:type" BD_QUANT_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bias_shape,
    .kernels = BD_KERNELS({.types = "T1=quint8|qint8; T2=quint8|qint8; out_type=qint32",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .run = bias_run}),
    .doc = "Adds a quantized bias for each channel, the last dimension.",
};

// ---- QuantizedRelu ----

// Keeps the elements between the integers for 0 and for `limit`. The range stays.
static void clamp(bd_op_ctx *c, int range_at, float limit)
{
    const braid_tensor *x = bd_input(c, 0);
    bd_quant_range range;
    if (!bd_quant_input_range(c, range_at, &range)) return;
    int64_t lowest, highest;
    bd_quant_limits(x->dtype, &lowest, &highest);
    int32_t least = bd_quant_from_float(x->dtype, 0, range),
            greatest = isinf(limit) ? (int32_t)highest : bd_quant_from_float(x->dtype, limit, range);
    braid_tensor *y = bd_output(c, 0, bd_node_attr_type(c->node, "out_type"), &x->shape);
    if (!y || !bd_quant_output_range(c, 1, range)) return;
    for (int64_t i = 0; i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        int32_t value = bd_quant_get(x, i);
        value = value > least ? value : least;
        bd_quant_set(y, i, value < greatest ? value : greatest);
    }
}

static void relu_run(bd_op_ctx *c)
{
    clamp(c, 1, INFINITY);
}

static void relu6_run(bd_op_ctx *c)
{
    clamp(c, 1, 6);
}

static void relu_x_run(bd_op_ctx *c)
{
    if (bd_tensor_count(bd_input(c, 1)) != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "max_value must be a scalar: %lld elements",
                   (long long)bd_tensor_count(bd_input(c, 1)));
        return;
    }
    clamp(c, 2, bd_tensor_f32(bd_input(c, 1))[0]);
}

// The numbers stay as they are, so that the type must, too.
static braid_code relu_create(const braid_op *node, void *state, braid_status *st)
{
    (void)state;
    if (bd_node_attr_type(node, "Tinput") == bd_node_attr_type(node, "out_type")) return BRAID_OK;
    return bd_fail(st, BRAID_UNIMPLEMENTED, "%s needs an output of the type of its input", node->op_type);
}

#define RELU_OUTPUTS "(activations: out_type, min_activations: float, max_activations: float)"
#define RELU_ATTRS "Tinput:type" BD_QUANT_TYPES "; out_type:type" BD_QUANT_TYPES "=quint8"
#define RELU_KERNELS(RUN)                                                                                    \
    BD_KERNELS({.types = "Tinput=quint8|qint8|qint32; out_type=quint8|qint8|qint32",                         \
                .flags = BD_KERNEL_EXPENSIVE,                                                                \
                .create = relu_create,                                                                       \
                .run = (RUN)})

BD_OP(QuantizedRelu) = {
    .signature = "(features: Tinput, min_features: float, max_features: float) -> " RELU_OUTPUTS,
    .attrs = RELU_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_quant_unary_shape,
    .kernels = RELU_KERNELS(relu_run),
    .doc = "max(x, 0) of quantized numbers.",
};

BD_OP(QuantizedRelu6) = {
    .signature = "(features: Tinput, min_features: float, max_features: float) -> " RELU_OUTPUTS,
    .attrs = RELU_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_quant_unary_shape,
    .kernels = RELU_KERNELS(relu6_run),
    .doc = "min(max(x, 0), 6) of quantized numbers.",
};

BD_OP(QuantizedReluX) = {
    .signature =
        "(features: Tinput, max_value: float, min_features: float, max_features: float) -> " RELU_OUTPUTS,
    .attrs = RELU_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_quant_unary_shape,
    .kernels = RELU_KERNELS(relu_x_run),
    .doc = "min(max(x, 0), max_value) of quantized numbers.",
};
