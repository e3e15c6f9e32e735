// ExtractImagePatches and ExtractVolumePatches: the pixels of windows that slide over images or volumes,
// side by side along the channels.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "kernels/volume.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"
#include "ops/common/window.h"

#include <string.h>

static bool is_of_volumes(const braid_op *node)
{
    return strcmp(node->op_type, "ExtractVolumePatches") == 0;
}

static braid_code read_window(const braid_op *node, bd_window *w, braid_status *st)
{
    return is_of_volumes(node) ? bd_window_read_volumes(node, w, st) : bd_window_read(node, w, st);
}

static braid_code patches_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = read_window(c->node, &w, st);
    if (!code) code = bd_shape_ctx_rank(c, 0, bd_window_rank(&w), st);
    if (code) return code;
    braid_shape out = c->inputs[0].rank < 0 ? bd_window_unknown_shape(&w) : c->inputs[0];
    int64_t *channels = &out.dims[bd_window_channel_axis(&w)];
    for (int d = 0; d < w.spatial && !code; d++) {
        code = bd_shape_ctx_window(c, &w, d, out.dims[1 + d], w.size[d], &out.dims[1 + d], st);
        if (*channels >= 0 && __builtin_mul_overflow(*channels, w.size[d], channels))
            return bd_shape_ctx_fail(c, st, "Patches are too large");
    }
    c->outputs[0] = out;
    return code;
}

static braid_code patches_create(const braid_op *node, void *state, braid_status *st)
{
    braid_code code = read_window(node, state, st);
    return code ? code : bd_window_check_axes(node, state, st);
}

// Patches and the volume they come from; an image is a volume of depth 1.
typedef struct patches {
    int64_t in[3], out[3], size[3], stride[3], step[3],
        before[3]; // step: from a pixel of a patch to the next
    size_t pixel;  // bytes
} patches;

// Copies the pixels of the patch at position `at`; those outside of the volume stay 0. Returns the end of
// `out`.
static char *copy_patch(const patches *p, const char *volume, const int64_t at[3], char *out)
{
    int64_t from[3];
    for (int k = 0; k < 3; k++)
        from[k] = at[k] * p->stride[k] - p->before[k];
    for (int64_t i = 0; i < p->size[0]; i++) {
        int64_t depth = from[0] + i * p->step[0];
        for (int64_t j = 0; j < p->size[1]; j++) {
            int64_t row = from[1] + j * p->step[1], first = (depth * p->in[1] + row) * p->in[2];
            bool inside = depth >= 0 && depth < p->in[0] && row >= 0 && row < p->in[1];
            for (int64_t k = 0; k < p->size[2]; k++, out += p->pixel) {
                int64_t column = from[2] + k * p->step[2];
                if (inside && column >= 0 && column < p->in[2])
                    memcpy(out, volume + (size_t)(first + column) * p->pixel, p->pixel);
            }
        }
    }
    return out;
}

static bool patches_fit(bd_op_ctx *c, patches *p, braid_shape *out)
{
    const bd_window *w = c->state;
    const braid_shape *in = &bd_input(c, 0)->shape;
    const int last = bd_window_channel_axis(w);
    BD_STATUS(st);
    if (in->rank != bd_window_rank(w)) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be %d-dimensional, but has shape %s",
                   bd_window_rank(w), bd_shape_str(in, text));
        return false;
    }
    *p = (patches){.in = {1}, .out = {1}, .size = {1}, .stride = {1}, .step = {1}};
    p->pixel = (size_t)in->dims[last] * braid_dtype_size(bd_input(c, 0)->dtype);
    *out = *in;
    for (int d = 0; d < w->spatial; d++) {
        const int k = bd_window_triple(w, d);
        bd_window_fit fit;
        if (bd_window_fit_dimension(w, d, in->dims[1 + d], w->size[d], &fit, st)) {
            bd_op_fail_status(c, st);
            return false;
        }
        p->in[k] = in->dims[1 + d];
        p->out[k] = out->dims[1 + d] = fit.out;
        p->before[k] = fit.before;
        p->size[k] = w->size[d];
        p->stride[k] = w->stride[d];
        p->step[k] = w->dilation[d];
        if (__builtin_mul_overflow(out->dims[last], w->size[d], &out->dims[last])) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "patches are too large");
            return false;
        }
    }
    return true;
}

static void patches_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    patches p;
    braid_shape shape;
    if (!patches_fit(c, &p, &shape)) return;
    braid_tensor *y = bd_window_output(c, x->dtype, &shape);
    if (!y || bd_tensor_count(y) == 0) return;
    memset(y->data, 0, bd_tensor_bytes(y));
    char *out = y->data;
    const char *volume = x->data;
    for (int64_t b = 0; b < shape.dims[0]; b++, volume += (size_t)bd_volume(p.in) * p.pixel) {
        int64_t at[3];
        for (at[0] = 0; at[0] < p.out[0]; at[0]++) {
            for (at[1] = 0; at[1] < p.out[1]; at[1]++) {
                for (at[2] = 0; at[2] < p.out[2] && !bd_interrupted(); at[2]++)
                    out = copy_patch(&p, volume, at, out);
            }
        }
    }
}

// ---- The gradient ----

static braid_out ints(braid_graph *g, int32_t value)
{
    return bd_b_const_i32_vector(g, NULL, &value, 1);
}

static braid_out piece(braid_graph *g, braid_out shape, int from, int to)
{
    return bd_grad_slice(g, shape, &(bd_grad_index){.count = 1, .begin = {from}, .end = {to}});
}

static braid_out transposed(braid_graph *g, braid_out x, int32_t a, int32_t b, int32_t c)
{
    return bd_b2(g, "Transpose", NULL, x, bd_b_const_i32_vector(g, "perm", (int32_t[]){a, b, c}, 3));
}

// Patches of pixel numbers, counted from 1, tell where each gradient goes; number 0 is outside of the image.
static void patches_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    const int last = is_of_volumes(c->op) ? 4 : 3; // axis of the channels
    braid_out shape = bd_b_shape(g, "Shape", c->op->inputs[0]), area = piece(g, shape, 1, last);
    braid_out count = bd_b2(g, "Prod", NULL, area, ints(g, 0));
    braid_out after = bd_b2(g, "Add", "add", count, bd_b_const_i32(g, NULL, 1));
    braid_out numbers =
        bd_b3(g, "Range", "range", bd_b_const_i32(g, NULL, 1), after, bd_b_const_i32(g, NULL, 1));
    braid_out one = ints(g, 1);
    braid_out map =
        bd_b2(g, "Reshape", NULL, numbers, bd_grad_concat(g, (braid_out[]){one, area, one}, 3, 0));
    braid_op_desc *d = braid_op_begin(g, c->op->op_type, NULL);
    braid_op_input(d, map);
    bd_window_copy_attrs(d, c->op);
    braid_out places = bd_grad_flatten(g, braid_op_end_out(d));
    // [batch, patches, channels] -> [patches, batch, channels], summed by place, and back.
    braid_out batch = piece(g, shape, 0, 1), channels = piece(g, shape, last, last + 1);
    braid_out rows = bd_grad_concat(g, (braid_out[]){batch, ints(g, -1), channels}, 3, 0);
    braid_out grads = transposed(g, bd_b2(g, "Reshape", NULL, c->output_grads[0], rows), 1, 0, 2);
    braid_out sums = bd_b3(g, "UnsortedSegmentSum", NULL, grads, places, after);
    braid_out inside =
        bd_grad_slice(g, sums, &(bd_grad_index){.count = 1, .begin = {1}, .end = {0}, .end_mask = 1});
    c->input_grads[0] = bd_b2(g, "Reshape", NULL, transposed(g, inside, 1, 0, 2), shape);
}

#define PATCHES_KERNELS                                                                                      \
    BD_KERNELS({.types = "T=float|double|int32|int64|half|bfloat16|int8|int16|uint8|uint16|uint32|uint64",   \
                .flags = BD_KERNEL_EXPENSIVE,                                                                \
                .state_size = sizeof(bd_window),                                                             \
                .create = patches_create,                                                                    \
                .run = patches_run})

BD_OP(ExtractImagePatches) = {
    .signature = "(images: T) -> (patches: T)",
    .attrs = "ksizes:list(int)>=4; strides:list(int)>=4; rates:list(int)>=4; T:type{realnumber}; "
             "padding:string{SAME,VALID}",
    .shape = patches_shape,
    .gradient = patches_gradient,
    .kernels = PATCHES_KERNELS,
    .doc = "The pixels of each window of ksizes that slides over images, side by side in the last dimension.",
};

BD_OP(ExtractVolumePatches) = {
    .signature = "(input: T) -> (patches: T)",
    .attrs = "ksizes:list(int)>=5; strides:list(int)>=5; T:type{realnumber}; padding:string{SAME,VALID}",
    .shape = patches_shape,
    .gradient = patches_gradient,
    .kernels = PATCHES_KERNELS,
    .doc =
        "The elements of each window of ksizes that slides over volumes [batch, depth, height, width, channels], "
        "side by side in the last dimension.",
};
