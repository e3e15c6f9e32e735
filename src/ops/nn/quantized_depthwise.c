// QuantizedDepthwiseConv2D and the ops that add a bias, apply Relu and convert to 8 bits: each channel of
// quantized images has its own filters, whose numbers have a range for each output channel.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "ops/nn/conv.h"
#include "ops/nn/quantized_channels.h"

#include <math.h>
#include <string.h>

typedef struct depthwise_state {
    bd_window window;
    bool has_bias, has_relu, is_narrow; // narrow: the output is of 8 bits, its range is given
} depthwise_state;

static braid_code depthwise_create(const braid_op *node, void *state, braid_status *st)
{
    depthwise_state *s = state;
    s->has_bias = strstr(node->op_type, "WithBias") != NULL;
    s->has_relu = strstr(node->op_type, "Relu") != NULL;
    s->is_narrow = strstr(node->op_type, "Requantize") != NULL;
    braid_code code = bd_window_read(node, &s->window, st);
    return code ? code : bd_window_check_axes(node, &s->window, st);
}

// What becomes of the sums of an output channel: (sum + bias) * scale.
typedef struct channel {
    float bias, scale;
} channel;

typedef struct depthwise {
    const depthwise_state *s;
    bd_conv_shape shape;
    const int32_t *input, *filter;
    int64_t multiplier; // output channels of an input channel
    channel *channels;  // owned
} depthwise;

// Sums the products of the filter at one place of it, over the output channels. Sums wrap around.
static void add_products(const depthwise *d, const int32_t *x, const int32_t *filter, uint32_t *sums)
{
    for (int64_t k = 0; k < d->shape.in_channels; k++) {
        for (int64_t m = 0; m < d->multiplier; m++)
            *sums++ += (uint32_t)x[k] * (uint32_t)*filter++;
    }
}

static void sum_position(const depthwise *d, int64_t image, int64_t row, int64_t column, uint32_t *sums)
{
    const bd_conv_shape *s = &d->shape;
    memset(sums, 0, (size_t)s->out_channels * sizeof *sums);
    for (int64_t i = 0; i < s->filter[1]; i++) {
        int64_t y = row * s->stride[1] - s->pad_before[1] + i * s->dilation[1];
        if (y < 0 || y >= s->in[1]) continue;
        for (int64_t k = 0; k < s->filter[2]; k++) {
            int64_t x = column * s->stride[2] - s->pad_before[2] + k * s->dilation[2];
            if (x < 0 || x >= s->in[2]) continue;
            add_products(d, d->input + ((image * s->in[1] + y) * s->in[2] + x) * s->in_channels,
                         d->filter + (i * s->filter[2] + k) * s->out_channels, sums);
        }
    }
}

static int32_t finished(const depthwise *d, const channel *k, int32_t sum, braid_dtype type)
{
    if (!d->s->has_bias) return sum;
    float x = ((float)sum + k->bias) * k->scale;
    if (d->s->has_relu) x = fmaxf(x, 0);
    x = nearbyintf(x);
    if (type == BRAID_QUINT8) return (int32_t)fminf(fmaxf(x, 0), 255);
    if (x >= 0x1p31F) return INT32_MAX;
    return x >= -0x1p31F ? (int32_t)x : INT32_MIN;
}

static void convolve(const depthwise *d, uint32_t *sums, const braid_tensor *y)
{
    const bd_conv_shape *s = &d->shape;
    const int64_t positions = s->batch * s->out[1] * s->out[2];
    for (int64_t at = 0; at < positions && !bd_interrupted(); at++) {
        sum_position(d, at / s->out[2] / s->out[1], at / s->out[2] % s->out[1], at % s->out[2], sums);
        for (int64_t k = 0; k < s->out_channels; k++)
            bd_quant_set(y, at * s->out_channels + k,
                         finished(d, &d->channels[k], (int32_t)sums[k], y->dtype));
    }
}

// ---- Bias and ranges ----

static bool check_bias(bd_op_ctx *c, int64_t channels)
{
    const braid_shape *s = &bd_input(c, 2)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (s->rank == 1 && s->dims[0] == channels) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "bias must have an element for each of %lld channels: %s",
               (long long)channels, bd_shape_str(s, text));
    return false;
}

// `to` is the range of an output of 8 bits.
static void find_channels(bd_op_ctx *c, depthwise *d, const bd_quant_channels *r, const bd_quant_range *to)
{
    for (int64_t k = 0; k < r->channels; k++) {
        channel *one = &d->channels[k];
        *one = (channel){.scale = 1};
        if (d->s->has_bias)
            one->bias = bd_input(c, 2)->dtype == BRAID_FLOAT
                            ? bd_tensor_f32(bd_input(c, 2))[k] * bd_quant_channels_bias_scale(r, k)
                            : (float)bd_tensor_i32(bd_input(c, 2))[k];
        // As in TensorFlow, the greatest magnitude stands for 256.
        if (to) one->scale = bd_quant_channels_step(r, k) * 256 / fmaxf(fabsf(to->min), fabsf(to->max));
    }
}

static bool set_ranges(bd_op_ctx *c, depthwise *d, int first, const bd_quant_channels *r)
{
    bd_quant_range to = {0};
    if (d->s->is_narrow && !bd_quant_input_range(c, first + 4, &to)) return false;
    find_channels(c, d, r, d->s->is_narrow ? &to : NULL);
    return d->s->is_narrow ? bd_quant_output_range(c, 1, to) : bd_quant_channels_output(c, r);
}

static void run_sums(bd_op_ctx *c, depthwise *d, const braid_tensor *y)
{
    braid_tensor x, filter;
    uint32_t *sums = bd_try_calloc((size_t)d->shape.out_channels, sizeof *sums);
    if (!sums) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when convolving");
    } else if (bd_quant_ints(c, bd_input(c, 0), 0, &x)) {
        if (bd_quant_ints(c, bd_input(c, 1), 0, &filter)) {
            d->input = bd_tensor_i32(&x);
            d->filter = bd_tensor_i32(&filter);
            convolve(d, sums, y);
            bd_tensor_fini(&filter);
        }
        bd_tensor_fini(&x);
    }
    bd_free(sums);
}

static void depthwise_run(bd_op_ctx *c)
{
    depthwise d = {.s = c->state};
    const braid_tensor *filter = bd_input(c, 1);
    const int first = d.s->has_bias ? 3 : 2; // input of the ranges
    bd_quant_channels r;
    braid_shape output;
    if (!bd_conv_sizes_of(c, &d.s->window, &bd_input(c, 0)->shape, &filter->shape, &d.shape, &output) ||
        (d.s->has_bias && !check_bias(c, d.shape.out_channels)) ||
        !bd_quant_channels_read(c, first, d.shape.out_channels, &r))
        return;
    d.multiplier = filter->shape.dims[3];
    d.channels = bd_try_calloc((size_t)d.shape.out_channels, sizeof *d.channels);
    if (!d.channels) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when convolving");
        return;
    }
    const braid_tensor *y = bd_window_output(c, d.s->is_narrow ? BRAID_QUINT8 : BRAID_QINT32, &output);
    if (y && set_ranges(c, &d, first, &r) && bd_tensor_count(y) > 0) run_sums(c, &d, y);
    bd_free(d.channels);
}

static braid_code depthwise_shape(bd_shape_ctx *c, braid_status *st)
{
    const int first = strstr(c->node->op_type, "WithBias") ? 3 : 2;
    braid_code code = bd_conv_shape_fn(c, st);
    if (!code && first == 3) code = bd_shape_ctx_rank(c, 2, 1, st);
    if (!code) code = bd_quant_channels_shape(c, first, st);
    if (code || !strstr(c->node->op_type, "Requantize")) return code;
    return bd_quant_shape_ranges(c, first + 4, first + 6, st);
}

#define TYPES(BIAS, OUTPUT)                                                                                  \
    "Tinput:type" BD_QUANT_TYPES "; Tfilter:type" BD_QUANT_TYPES "; " BIAS "out_type:type" BD_QUANT_TYPES    \
    "=" OUTPUT "; strides:list(int); padding:string{SAME,VALID}; dilations:list(int)=[1,1,1,1]"
#define RANGES "min_input: float, max_input: float, min_filter: float, max_filter: float"
#define OUTPUTS " -> (output: out_type, min_output: float, max_output: float)"
#define DEPTHWISE_KERNELS(TYPES)                                                                             \
    BD_KERNELS({.types = (TYPES),                                                                            \
                .flags = BD_KERNEL_EXPENSIVE,                                                                \
                .state_size = sizeof(depthwise_state),                                                       \
                .create = depthwise_create,                                                                  \
                .run = depthwise_run})
#define TO_32_BITS "Tinput=quint8|qint8; Tfilter=qint8; out_type=qint32"

BD_OP(QuantizedDepthwiseConv2D) = {
    .signature = "(input: Tinput, filter: Tfilter, " RANGES ")" OUTPUTS,
    .attrs = TYPES("", "qint32"),
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = depthwise_shape,
    .kernels = DEPTHWISE_KERNELS(TO_32_BITS),
    .doc = "Convolves each channel of quantized images, whose 0 stands for 0, with its own quantized filters "
           "[height, width, channels, multiplier], which have a range for each output channel.",
    .deviation = BD_QUANT_CHANNELS_DEVIATION,
};

BD_OP(QuantizedDepthwiseConv2DWithBias) = {
    .signature = "(input: Tinput, filter: Tfilter, bias: float, " RANGES ")" OUTPUTS,
    .attrs = TYPES("", "qint32"),
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = depthwise_shape,
    .kernels = DEPTHWISE_KERNELS(TO_32_BITS),
    .doc = "QuantizedDepthwiseConv2D with a bias for each output channel.",
    .deviation = BD_QUANT_CHANNELS_DEVIATION,
};

BD_OP(QuantizedDepthwiseConv2DWithBiasAndRelu) = {
    .signature = "(input: Tinput, filter: Tfilter, bias: float, " RANGES ")" OUTPUTS,
    .attrs = TYPES("", "qint32"),
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = depthwise_shape,
    .kernels = DEPTHWISE_KERNELS(TO_32_BITS),
    .doc = "QuantizedDepthwiseConv2DWithBias whose numbers below 0 become 0.",
    .deviation = BD_QUANT_CHANNELS_DEVIATION,
};

BD_OP(QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize) = {
    .signature = "(input: Tinput, filter: Tfilter, bias: Tbias, " RANGES
                 ", min_freezed_output: float, max_freezed_output: float)" OUTPUTS,
    .attrs = TYPES("Tbias:type{float,qint32}; ", "quint8"),
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = depthwise_shape,
    .kernels = DEPTHWISE_KERNELS("Tinput=quint8|qint8; Tfilter=qint8; Tbias=float|qint32; out_type=quint8"),
    .doc = "QuantizedDepthwiseConv2DWithBiasAndRelu, converted to 8 bits of a given range.",
    .deviation = "TensorFlow has this kernel in its builds with oneDNN only.",
};
