// QuantizedBatchNormWithGlobalNormalization: normalizes quantized images by given means and variances.
//
// As in TensorFlow the result has a fixed range, in which products are computed in 32 bits.
#include "base/interrupt.h"
#include "ops/common/quantized.h"

#include <math.h>

// The inputs: each is a tensor followed by the two ends of its range.
enum {
    IMAGES,
    MEAN,
    VARIANCE,
    BETA,
    GAMMA,
    TENSORS
};

static const bd_quant_range result_range = {-0x1p20F, 0x1p20F};

static int32_t in_result(float x)
{
    return bd_quant_from_float(BRAID_QINT32, x, result_range);
}

static braid_code norm_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 4, st);
    for (int t = 0; t < TENSORS && !code; t++) {
        if (t > 0) code = bd_shape_ctx_rank(c, 3 * t, 1, st);
        if (!code) code = bd_quant_shape_ranges(c, 3 * t + 1, 3 * t + 3, st);
    }
    c->outputs[0] = c->inputs[0];
    return code;
}

static bool check_inputs(bd_op_ctx *c, bd_quant_range ranges[TENSORS])
{
    static const char *const names[] = {"input", "mean", "var", "beta", "gamma"};
    const braid_shape *images = &bd_input(c, 0)->shape;
    char text[BD_SHAPE_STR_MAX];
    for (int t = 0; t < TENSORS; t++) {
        const braid_shape *s = &bd_input(c, 3 * t)->shape;
        if (!bd_quant_input_range(c, 3 * t + 1, &ranges[t])) return false;
        if (s->rank != (t == IMAGES ? 4 : 1))
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be %d-dimensional: %s", names[t],
                       t == IMAGES ? 4 : 1, bd_shape_str(s, text));
        else if (t > 0 && s->dims[0] != images->dims[3])
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "%s must have one element for each of the %lld channels: %s", names[t],
                       (long long)images->dims[3], bd_shape_str(s, text));
        if (bd_op_failed(c)) return false;
    }
    return true;
}

// The number in channel `k` of a tensor.
static float number_at(bd_op_ctx *c, int t, const bd_quant_range *ranges, int64_t k)
{
    const braid_tensor *x = bd_input(c, 3 * t);
    return bd_quant_to_float(x->dtype, bd_quant_get(x, k), ranges[t]);
}

static void normalize_channel(bd_op_ctx *c, const bd_quant_range *ranges, int64_t k, const braid_tensor *y)
{
    const braid_tensor *x = bd_input(c, 0);
    float scale = 1 / sqrtf(number_at(c, VARIANCE, ranges, k) + bd_node_attr(c->node, "variance_epsilon")->f);
    if (bd_node_attr_bool(c->node, "scale_after_normalization")) scale *= number_at(c, GAMMA, ranges, k);
    float offset = -number_at(c, MEAN, ranges, k) * scale + number_at(c, BETA, ranges, k);
    uint32_t factor = (uint32_t)in_result(scale), term = (uint32_t)in_result(offset);
    int32_t one = in_result(1);
    for (int64_t i = k; i < bd_tensor_count(x) && !bd_interrupted_at(i); i += x->shape.dims[3]) {
        float value = bd_quant_to_float(x->dtype, bd_quant_get(x, i), ranges[IMAGES]);
        int32_t product = (int32_t)((uint32_t)in_result(value) * factor); // wraps around
        bd_tensor_i32(y)[i] = (int32_t)((uint32_t)(product / one) + term);
    }
}

static void norm_run(bd_op_ctx *c)
{
    bd_quant_range ranges[TENSORS];
    const braid_tensor *x = bd_input(c, 0);
    if (!check_inputs(c, ranges)) return;
    braid_tensor *y = bd_output(c, 0, BRAID_QINT32, &x->shape);
    if (!y || !bd_quant_output_range(c, 1, result_range) || bd_tensor_count(y) == 0) return;
    for (int64_t k = 0; k < x->shape.dims[3]; k++)
        normalize_channel(c, ranges, k, y);
}

BD_OP(QuantizedBatchNormWithGlobalNormalization) = {
    .signature =
        "(t: Tinput, t_min: float, t_max: float, m: Tinput, m_min: float, m_max: float, v: Tinput, v_min: "
        "float, v_max: float, beta: Tinput, beta_min: float, beta_max: float, gamma: Tinput, gamma_min: float, "
        "gamma_max: float) -> (result: out_type, result_min: float, result_max: float)",
    .attrs = "Tinput:type" BD_QUANT_TYPES "; out_type:type" BD_QUANT_TYPES
             "; variance_epsilon:float; scale_after_normalization:bool",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = norm_shape,
    .kernels = BD_KERNELS(
        {.types = "Tinput=quint8|qint8; out_type=qint32", .flags = BD_KERNEL_EXPENSIVE, .run = norm_run}),
    .doc = "BatchNormWithGlobalNormalization of quantized images, means, variances, offsets and factors.",
};
