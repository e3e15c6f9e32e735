// FusedPadConv2D and FusedResizeAndPadConv2D: resize images, pad them with mirror images, and convolve them.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "ops/image/image.h"
#include "ops/image/image_resize.h"
#include "ops/nn/conv.h"

#include <string.h>

typedef struct pad_state {
    bd_conv_state conv;
    int64_t border; // 1: the mirror image does not repeat the pixels at the border
    bool resizes, align_corners;
} pad_state;

static bool is_resized(const braid_op *node)
{
    return node->input_count == 4;
}

static braid_code pad_create(const braid_op *node, void *state, braid_status *st)
{
    pad_state *s = state;
    s->resizes = is_resized(node);
    s->align_corners = s->resizes && bd_node_attr_bool(node, "resize_align_corners");
    s->border = strcmp(bd_node_attr_string(node, "mode"), "REFLECT") == 0;
    return bd_conv_bind(node, &s->conv, st);
}

static void pad_destroy(void *state)
{
    bd_conv_unbind(&((pad_state *)state)->conv);
}

// ---- The shape ----

// Adds constant paddings to the known sizes in `dims`; if the paddings are not constant, all sizes become
// unknown.
static braid_code add_paddings(bd_shape_ctx *c, int i, int64_t dims[4], braid_status *st)
{
    const braid_shape *s = &c->inputs[i];
    braid_code code = bd_shape_ctx_rank(c, i, 2, st);
    if (code) return code;
    for (int d = 0; s->rank == 2 && d < 2; d++) {
        int64_t must = d == 0 ? 4 : 2;
        if (s->dims[d] >= 0 && s->dims[d] != must)
            return bd_shape_ctx_fail(c, st, "Dimension must be %lld but is %lld", (long long)must,
                                     (long long)s->dims[d]);
    }
    const braid_tensor *pads = bd_shape_ctx_constant(c, i);
    for (int d = 0; d < 4; d++) {
        bool is_known = pads && bd_tensor_count(pads) == 8;
        int64_t before = is_known ? bd_tensor_index(pads, 2 * d) : 0,
                after = is_known ? bd_tensor_index(pads, 2 * d + 1) : 0;
        if (before < 0 || after < 0) return bd_shape_ctx_fail(c, st, "Paddings must be non-negative");
        if (dims[d] < 0 || !is_known)
            dims[d] = -1;
        else if (__builtin_add_overflow(dims[d], before + after, &dims[d])) // each padding has 32 bits
            return bd_shape_ctx_fail(c, st, "Paddings are too large");
    }
    return BRAID_OK;
}

static braid_code pad_shape(bd_shape_ctx *c, braid_status *st)
{
    int filter = c->input_count - 1;
    int64_t in[4] = {-1, -1, -1, -1}, f[4] = {-1, -1, -1, -1}, out[2];
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    if (!code) code = bd_shape_ctx_rank(c, 0, 4, st);
    if (!code && is_resized(c->node)) {
        code = bd_image_sized_shape(c, 1, st);
        if (c->outputs[0].rank == 4) memcpy(in, c->outputs[0].dims, sizeof in);
    } else if (c->inputs[0].rank == 4) {
        memcpy(in, c->inputs[0].dims, sizeof in);
    }
    if (!code) code = add_paddings(c, filter - 1, in, st);
    if (!code) code = bd_shape_ctx_rank(c, filter, 4, st);
    if (code) return code;
    if (c->inputs[filter].rank == 4) memcpy(f, c->inputs[filter].dims, sizeof f);
    if (in[3] >= 0 && f[2] >= 0 && in[3] != f[2])
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)in[3],
                                 (long long)f[2]);
    for (int d = 0; d < 2 && !code; d++)
        code = bd_shape_ctx_window(c, &w, d, in[d + 1], f[d], &out[d], st);
    c->outputs[0] = (braid_shape){.rank = 4, .dims = {in[0], out[0], out[1], f[3]}};
    return code;
}

// ---- The kernel ----

// The image between resizing and convolution. Pairs are height, width.
typedef struct plan {
    int64_t size[2], before[2]; // after resizing; mirrored pixels before it
    bd_conv_shape conv;
    braid_shape padded, output;
} plan;

// Reads the paddings of the resized images. False: the kernel has failed.
static bool read_paddings(bd_op_ctx *c, plan *p)
{
    const pad_state *s = c->state;
    const braid_tensor *pads = bd_input(c, s->resizes ? 2 : 1);
    char text[BD_SHAPE_STR_MAX];
    if (pads->shape.rank != 2 || pads->shape.dims[1] != 2 || pads->shape.dims[0] != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "paddings must be a matrix with 2 columns and a row a dimension of the input: %s",
                   bd_shape_str(&pads->shape, text));
        return false;
    }
    p->padded = bd_input(c, 0)->shape;
    for (int d = 0; d < 4; d++) {
        int64_t before = bd_tensor_index(pads, 2 * d), after = bd_tensor_index(pads, 2 * d + 1);
        bool is_space = d == 1 || d == 2;
        int64_t size = is_space ? p->size[d - 1] : p->padded.dims[d], most = size - s->border;
        if (before < 0 || after < 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "paddings must be non-negative: %lld %lld",
                       (long long)before, (long long)after);
        else if (before > most || after > most)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "paddings must be %s the dimension size: %lld, %lld for %lld",
                       s->border ? "less than" : "no greater than", (long long)before, (long long)after,
                       (long long)size);
        else if (!is_space && (before || after))
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Fused mirror padding only support spatial padding, not %s: %lld, %lld",
                       d == 0 ? "batches" : "channels", (long long)before, (long long)after);
        if (bd_op_failed(c)) return false;
        p->padded.dims[d] = before + size + after;
        if (is_space) p->before[d - 1] = before;
    }
    return true;
}

// Computes the sizes of the convolution of the padded images. False: the kernel has failed.
static bool plan_conv(bd_op_ctx *c, plan *p)
{
    const pad_state *s = c->state;
    const braid_shape *filter = &bd_input(c, c->input_count - 1)->shape;
    if (filter->rank == 4 && filter->dims[2] != p->padded.dims[3]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input and filter must have the same depth: %lld vs %lld",
                   (long long)p->padded.dims[3], (long long)filter->dims[2]);
        return false;
    }
    if (!bd_conv_sizes_of(c, &s->conv.window, &p->padded, filter, &p->conv, &p->output)) return false;
    for (int d = 0; d < 4 && !bd_op_failed(c); d++) {
        if (p->output.dims[d] == 0) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Output tensor can't be empty");
    }
    return !bd_op_failed(c);
}

// The source pixel for position `at` along an axis of `size` pixels; `at` may lie in the mirror images.
static int64_t mirrored(int64_t at, int64_t size, int64_t border)
{
    if (at < 0) return -at - 1 + border;
    return at < size ? at : 2 * size - 1 - border - at;
}

// The input pixels from which each padded row (column) is computed.
typedef struct sources {
    bd_resize_tap *taps[2];
} sources;

static void sources_end(sources *s)
{
    bd_free(s->taps[0]);
    bd_free(s->taps[1]);
}

static bool sources_begin(bd_op_ctx *c, const plan *p, sources *out)
{
    const pad_state *s = c->state;
    *out = (sources){0};
    for (int d = 0; d < 2; d++) {
        int64_t in = bd_input(c, 0)->shape.dims[d + 1], size = p->size[d], padded = p->padded.dims[d + 1];
        bd_resize_axis axis = bd_resize_axis_of(in, size, s->align_corners, false);
        bd_resize_tap *plain = bd_try_calloc((size_t)size, sizeof *plain);
        out->taps[d] = bd_try_calloc((size_t)padded, sizeof *out->taps[d]);
        if (!plain || !out->taps[d]) {
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when resizing images to %lld x %lld",
                       (long long)p->size[0], (long long)p->size[1]);
            bd_free(plain);
            sources_end(out);
            return false;
        }
        bd_resize_taps(s->resizes ? BD_RESIZE_BILINEAR : BD_RESIZE_NEAREST, &axis, plain);
        for (int64_t i = 0; i < padded; i++)
            out->taps[d][i] = plain[mirrored(i - p->before[d], size, s->border)];
        bd_free(plain);
    }
    return true;
}

#define DEFINE_FILL(T)                                                                                       \
    static void fill_##T(const braid_tensor *image, const sources *s, bool is_between,                       \
                         const braid_tensor *padded)                                                         \
    {                                                                                                        \
        const int64_t *in = image->shape.dims, *out = padded->shape.dims, channels = in[3];                  \
        T *to = padded->data;                                                                                \
        for (int64_t row = 0; row < out[0] * out[1] && !bd_interrupted(); row++) {                           \
            const bd_resize_tap *y = &s->taps[0][row % out[1]];                                              \
            const T *from = (const T *)image->data + row / out[1] * in[1] * in[2] * channels;                \
            const T *top = from + y->index[0] * in[2] * channels,                                            \
                    *bottom = from + y->index[1] * in[2] * channels;                                         \
            for (int64_t column = 0; column < out[2]; column++) {                                            \
                const bd_resize_tap *x = &s->taps[1][column];                                                \
                int64_t left = x->index[0] * channels, right = x->index[1] * channels;                       \
                for (int64_t k = 0; k < channels; k++, to++) {                                               \
                    if (!is_between) {                                                                       \
                        *to = top[left + k];                                                                 \
                        continue;                                                                            \
                    }                                                                                        \
                    T above = top[left + k] + (top[right + k] - top[left + k]) * (T)x->weight[1],            \
                      below = bottom[left + k] + (bottom[right + k] - bottom[left + k]) * (T)x->weight[1];   \
                    *to = above + (below - above) * (T)y->weight[1];                                         \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }
DEFINE_FILL(float)
DEFINE_FILL(double)

static void convolve(bd_op_ctx *c, const plan *p, const braid_tensor *padded)
{
    pad_state *s = c->state;
    braid_tensor *y = bd_window_output(c, padded->dtype, &p->output);
    if (!y) return;
    bd_conv_data data = {
        .input = padded->data, .filter = bd_input(c, c->input_count - 1)->data, .output = y->data};
    if (s->conv.type != BD_F32 || !bd_conv_primitive(c, &s->conv, BD_CONV_OUTPUT, &p->conv, &data))
        bd_conv_plain(s->conv.type, BD_CONV_OUTPUT, &p->conv, &data);
}

static void pad_run(bd_op_ctx *c)
{
    const pad_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    plan p = {0};
    sources from;
    braid_tensor padded;
    if (bd_tensor_count(x) == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input tensor can't be empty");
        return;
    }
    if (!bd_image_check(c, "input", x)) return;
    memcpy(p.size, &x->shape.dims[1], sizeof p.size);
    if (s->resizes && !bd_image_size_input(c, 1, p.size)) return;
    if (!read_paddings(c, &p) || !plan_conv(c, &p)) return;
    BD_STATUS(st);
    if (bd_tensor_init(&padded, x->dtype, &p.padded, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    if (sources_begin(c, &p, &from)) {
        (x->dtype == BRAID_FLOAT ? fill_float : fill_double)(x, &from, s->resizes, &padded);
        sources_end(&from);
        convolve(c, &p, &padded);
    }
    bd_tensor_fini(&padded);
}

#define PAD_CONV_ATTRS                                                                                       \
    "T:type{double,float,half}; mode:string{REFLECT,SYMMETRIC}; strides:list(int); padding:string{SAME,VALID}"
#define PAD_CONV_KERNELS                                                                                     \
    BD_KERNELS({.types = BD_FLOATS,                                                                          \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(pad_state),                                                             \
                .create = pad_create,                                                                        \
                .destroy = pad_destroy,                                                                      \
                .run = pad_run})

BD_OP(FusedPadConv2D) = {
    .signature = "(input: T, paddings: int32, filter: T) -> (output: T)",
    .attrs = PAD_CONV_ATTRS,
    .shape = pad_shape,
    .kernels = PAD_CONV_KERNELS,
    .doc = "Pads images with mirror images and convolves them.",
};

BD_OP(FusedResizeAndPadConv2D) = {
    .signature = "(input: T, size: int32, paddings: int32, filter: T) -> (output: T)",
    .attrs = PAD_CONV_ATTRS "; resize_align_corners:bool=false",
    .shape = pad_shape,
    .kernels = PAD_CONV_KERNELS,
    .doc = "Resizes images bilinearly, pads them with mirror images and convolves them.",
};
