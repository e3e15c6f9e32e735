// QuantizedConv2D and QuantizedConv2DPerChannel: convolution of quantized images, summed exactly in 32 bits.
//
// The elements under the filter are laid side by side, as differences from 0's integer, a block of
// positions at a time; a matrix product of integers does the rest. Padding is 0.
#include "base/interrupt.h"
#include "kernels/gemm.h"
#include "ops/common/quantized.h"
#include "ops/nn/conv.h"
#include "ops/nn/quantized_channels.h"

#include <string.h>

static braid_code conv_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_conv_shape_fn(c, st);
    return code ? code : bd_quant_shape_ranges(c, 2, 6, st);
}

static braid_code channels_create(const braid_op *node, void *state, braid_status *st)
{
    bd_window *w = state;
    braid_code code = bd_window_read(node, w, st);
    if (!code) code = bd_window_check_axes(node, w, st);
    if (code) return code;
    if (w->dilation[0] != 1 || w->dilation[1] != 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Current implementation only supports dilated rates of 1, but they are %lld and %lld.",
                       (long long)w->dilation[0], (long long)w->dilation[1]);
    return BRAID_OK;
}

static braid_code conv_create(const braid_op *node, void *state, braid_status *st)
{
    const bd_window *w = state;
    braid_code code = channels_create(node, state, st);
    if (code || w->stride[0] == w->stride[1]) return code;
    return bd_fail(
        st, BRAID_INVALID_ARGUMENT,
        "Current implementation only supports equal length strides in the row and column dimensions.");
}

// What a convolution works with; offsets are the integers that stand for 0.
typedef struct quantized_conv {
    bd_conv_shape shape;
    const braid_tensor *input;
    int32_t offset;
    int64_t depth; // elements under the filter
} quantized_conv;

// Writes the elements under the filter at position `at` of all images.
static void write_patch(const quantized_conv *q, int64_t at, int32_t *out)
{
    const bd_conv_shape *s = &q->shape;
    int64_t column = at % s->out[2], row = at / s->out[2] % s->out[1], image = at / s->out[2] / s->out[1];
    int64_t left = column * s->stride[2] - s->pad_before[2], top = row * s->stride[1] - s->pad_before[1];
    // The columns of the filter that lie on the image.
    int64_t from = left < 0 ? -left : 0, to = s->in[2] - left < s->filter[2] ? s->in[2] - left : s->filter[2];
    int64_t width = s->filter[2] * s->in_channels;
    for (int64_t k = 0; k < s->filter[1]; k++, out += width) {
        int64_t y = top + k;
        memset(out, 0, (size_t)width * sizeof *out);
        if (y >= 0 && y < s->in[1] && to > from)
            bd_quant_get_many(q->input, ((image * s->in[1] + y) * s->in[2] + left + from) * s->in_channels,
                              (to - from) * s->in_channels, q->offset, out + from * s->in_channels);
    }
}

#define PATCHES_BYTES (1 << 20) // of one block of positions: they stay in the cache

static void convolve(bd_op_ctx *c, const quantized_conv *q, const int32_t *filter, int32_t *out)
{
    const bd_conv_shape *s = &q->shape;
    int64_t positions = s->batch * s->out[1] * s->out[2], row = q->depth * (int64_t)sizeof(int32_t);
    int64_t block = row < PATCHES_BYTES ? PATCHES_BYTES / row : 1;
    if (block > positions) block = positions;
    const int64_t bytes = block * row;
    bd_buffer *patches = bd_buffer_new((size_t)bytes);
    if (!patches) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating %lld bytes for %s", (long long)bytes,
                   c->node->op_type);
        return;
    }
    for (int64_t at = 0; at < positions && !bd_interrupted(); at += block) {
        int64_t n = positions - at < block ? positions - at : block;
        for (int64_t i = 0; i < n; i++)
            write_patch(q, at + i, (int32_t *)patches->data + i * q->depth);
        bd_gemm_shape g = {.m = n, .k = q->depth, .n = s->out_channels};
        bd_gemm(BD_I32, &g, patches->data, filter, out + at * s->out_channels);
    }
    bd_buffer_unref(patches);
}

// Sets what the shapes of the inputs give. False: the kernel has failed.
static bool find_sizes(bd_op_ctx *c, quantized_conv *q, braid_shape *output)
{
    const braid_shape *filter = &bd_input(c, 1)->shape;
    if (!bd_conv_sizes_of(c, c->state, &q->input->shape, filter, &q->shape, output)) return false;
    if (q->shape.groups == 1) {
        q->depth = bd_volume(q->shape.filter) * q->shape.in_channels; // of a filter that exists
        return true;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input and filter must have the same depth: %lld vs %lld",
               (long long)q->shape.in_channels, (long long)filter->dims[2]);
    return false;
}

// `filter_offset` is the integer of the filter's type that stands for 0.
static void convolve_all(bd_op_ctx *c, const quantized_conv *q, int32_t filter_offset, const braid_tensor *y)
{
    braid_tensor ints;
    if (bd_tensor_count(y) == 0) return;
    if (q->depth == 0) {
        memset(y->data, 0, bd_tensor_bytes(y));
    } else if (bd_quant_ints(c, bd_input(c, 1), filter_offset, &ints)) {
        convolve(c, q, bd_tensor_i32(&ints), bd_tensor_i32(y));
        bd_tensor_fini(&ints);
    }
}

static void conv_run(bd_op_ctx *c)
{
    const braid_tensor *input = bd_input(c, 0), *filter = bd_input(c, 1);
    quantized_conv q = {.input = input};
    bd_quant_range of_input, of_filter;
    braid_shape output;
    if (!bd_quant_input_range(c, 2, &of_input) || !bd_quant_input_range(c, 4, &of_filter) ||
        !find_sizes(c, &q, &output))
        return;
    q.offset = bd_quant_zero(input->dtype, of_input);
    const braid_tensor *y = bd_window_output(c, BRAID_QINT32, &output);
    bd_quant_range range =
        bd_quant_product_range(input->dtype, of_input, filter->dtype, of_filter, BRAID_QINT32);
    if (y && bd_quant_output_range(c, 1, range))
        convolve_all(c, &q, bd_quant_zero(filter->dtype, of_filter), y);
}

BD_OP(QuantizedConv2D) = {
    .signature =
        "(input: Tinput, filter: Tfilter, min_input: float, max_input: float, min_filter: float, max_filter: "
        "float) -> (output: out_type, min_output: float, max_output: float)",
    .attrs = "Tinput:type" BD_QUANT_TYPES "; Tfilter:type" BD_QUANT_TYPES "; out_type:type" BD_QUANT_TYPES
             "=qint32; strides:list(int); padding:string{SAME,VALID}; dilations:list(int)=[1,1,1,1]",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = conv_shape,
    .kernels = BD_KERNELS({.types = "Tinput=quint8|qint8; Tfilter=quint8|qint8; out_type=qint32",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(bd_window),
                           .create = conv_create,
                           .run = conv_run}),
    .doc =
        "Convolves quantized images [batch, height, width, in_channels] with a quantized filter [height, width, "
        "in_channels, out_channels].",
};

// ---- A range for each channel ----

static braid_code channels_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_conv_shape_fn(c, st);
    return code ? code : bd_quant_channels_shape(c, 2, st);
}

static void channels_run(bd_op_ctx *c)
{
    quantized_conv q = {.input = bd_input(c, 0)}; // 0 stands for 0
    bd_quant_channels ranges;
    braid_shape output;
    if (!find_sizes(c, &q, &output) || !bd_quant_channels_read(c, 2, q.shape.out_channels, &ranges)) return;
    const braid_tensor *y = bd_window_output(c, BRAID_QINT32, &output);
    if (y && bd_quant_channels_output(c, &ranges)) convolve_all(c, &q, 0, y);
}

BD_OP(QuantizedConv2DPerChannel) = {
    .signature =
        "(input: Tinput, filter: Tfilter, min_input: float, max_input: float, min_filter: float, max_filter: "
        "float) -> (output: out_type, min_output: float, max_output: float)",
    .attrs = "Tinput:type" BD_QUANT_TYPES "; Tfilter:type" BD_QUANT_TYPES "; out_type:type" BD_QUANT_TYPES
             "=qint32; strides:list(int); padding:string{SAME,VALID}; dilations:list(int)=[1,1,1,1]",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = channels_shape,
    .kernels = BD_KERNELS({.types = "Tinput=quint8|qint8; Tfilter=qint8; out_type=qint32",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(bd_window),
                           .create = channels_create,
                           .run = channels_run}),
    .doc =
        "Convolves quantized images whose 0 stands for 0 with a quantized filter that has a range for each output "
        "channel.",
    .deviation = BD_QUANT_CHANNELS_DEVIATION,
};
