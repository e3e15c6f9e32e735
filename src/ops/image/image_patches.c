// ExtractImagePatches: the pixels of windows that slide over images, side by side along the channels.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"
#include "ops/common/window.h"

#include <string.h>

static braid_code patches_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_window w;
    braid_code code = bd_window_read(c->node, &w, st);
    if (!code) code = bd_shape_ctx_rank(c, 0, 4, st);
    if (code) return code;
    braid_shape out = {.rank = 4, .dims = {-1, -1, -1, -1}};
    if (c->inputs[0].rank == 4) out = c->inputs[0];
    for (int d = 0; d < 2 && !code; d++)
        code = bd_shape_ctx_window(c, &w, d, out.dims[1 + d], w.size[d], &out.dims[1 + d], st);
    int64_t depth;
    if (out.dims[3] >= 0 && (__builtin_mul_overflow(w.size[0], w.size[1], &depth) ||
                             __builtin_mul_overflow(depth, out.dims[3], &out.dims[3])))
        return bd_shape_ctx_fail(c, st, "Patches are too large");
    c->outputs[0] = out;
    return code;
}

static braid_code patches_create(const braid_op *node, void *state, braid_status *st)
{
    braid_code code = bd_window_read(node, state, st);
    return code ? code : bd_window_check_axes(node, state, st);
}

// How a window lies over an image: its first pixel and the steps from one to the next, which may be beside
// it.
typedef struct patch {
    int64_t row, column;
} patch;

// Copies the pixels of a patch; those outside of the image stay 0.
static void copy_patch(const bd_window *w, const braid_shape *in, const char *image, patch at, size_t pixel,
                       char *out)
{
    for (int64_t i = 0; i < w->size[0]; i++) {
        int64_t row = at.row + i * w->dilation[0];
        for (int64_t j = 0; j < w->size[1]; j++, out += pixel) {
            int64_t column = at.column + j * w->dilation[1];
            if (row < 0 || row >= in->dims[1] || column < 0 || column >= in->dims[2]) continue;
            memcpy(out, image + (size_t)(row * in->dims[2] + column) * pixel, pixel);
        }
    }
}

static bool patches_fit(bd_op_ctx *c, bd_window_fit fit[2], braid_shape *out)
{
    const bd_window *w = c->state;
    const braid_shape *in = &bd_input(c, 0)->shape;
    BD_STATUS(st);
    if (in->rank != 4) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be 4-dimensional, but has shape %s",
                   bd_shape_str(in, text));
        return false;
    }
    *out = *in;
    for (int d = 0; d < 2; d++) {
        if (bd_window_fit_dimension(w, d, in->dims[1 + d], w->size[d], &fit[d], st)) {
            bd_op_fail_status(c, st);
            return false;
        }
        out->dims[1 + d] = fit[d].out;
        if (__builtin_mul_overflow(out->dims[3], w->size[d], &out->dims[3])) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "patches are too large");
            return false;
        }
    }
    return true;
}

static void patches_run(bd_op_ctx *c)
{
    const bd_window *w = c->state;
    const braid_tensor *x = bd_input(c, 0);
    bd_window_fit fit[2];
    braid_shape shape;
    if (!patches_fit(c, fit, &shape)) return;
    braid_tensor *y = bd_window_output(c, x->dtype, &shape);
    if (!y || bd_tensor_count(y) == 0) return;
    memset(y->data, 0, bd_tensor_bytes(y));
    size_t pixel = (size_t)x->shape.dims[3] * braid_dtype_size(x->dtype);
    char *out = y->data;
    for (int64_t b = 0; b < shape.dims[0]; b++) {
        const char *image = (const char *)x->data + (size_t)(b * x->shape.dims[1] * x->shape.dims[2]) * pixel;
        for (int64_t i = 0; i < shape.dims[1]; i++) {
            for (int64_t j = 0; j < shape.dims[2] && !bd_interrupted(); j++) {
                patch at = {i * w->stride[0] - fit[0].before, j * w->stride[1] - fit[1].before};
                copy_patch(w, &x->shape, image, at, pixel, out);
                out += (size_t)(w->size[0] * w->size[1]) * pixel;
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
    braid_out shape = bd_b_shape(g, "Shape", c->op->inputs[0]), area = piece(g, shape, 1, 3);
    braid_out count = bd_b2(g, "Prod", NULL, area, ints(g, 0));
    braid_out after = bd_b2(g, "Add", "add", count, bd_b_const_i32(g, NULL, 1));
    braid_out numbers =
        bd_b3(g, "Range", "range", bd_b_const_i32(g, NULL, 1), after, bd_b_const_i32(g, NULL, 1));
    braid_out one = ints(g, 1);
    braid_out map =
        bd_b2(g, "Reshape", NULL, numbers, bd_grad_concat(g, (braid_out[]){one, area, one}, 3, 0));
    braid_op_desc *d = braid_op_begin(g, "ExtractImagePatches", NULL);
    braid_op_input(d, map);
    bd_window_copy_attrs(d, c->op);
    braid_out places = bd_grad_flatten(g, braid_op_end_out(d));
    // [batch, patches, channels] -> [patches, batch, channels], summed by place, and back.
    braid_out batch = piece(g, shape, 0, 1), channels = piece(g, shape, 3, 4);
    braid_out rows = bd_grad_concat(g, (braid_out[]){batch, ints(g, -1), channels}, 3, 0);
    braid_out grads = transposed(g, bd_b2(g, "Reshape", NULL, c->output_grads[0], rows), 1, 0, 2);
    braid_out sums = bd_b3(g, "UnsortedSegmentSum", NULL, grads, places, after);
    braid_out inside =
        bd_grad_slice(g, sums, &(bd_grad_index){.count = 1, .begin = {1}, .end = {0}, .end_mask = 1});
    c->input_grads[0] = bd_b2(g, "Reshape", NULL, transposed(g, inside, 1, 0, 2), shape);
}

BD_OP(ExtractImagePatches) = {
    .signature = "(images: T) -> (patches: T)",
    .attrs = "ksizes:list(int)>=4; strides:list(int)>=4; rates:list(int)>=4; T:type{realnumber}; "
             "padding:string{SAME,VALID}",
    .shape = patches_shape,
    .gradient = patches_gradient,
    .kernels =
        BD_KERNELS({.types = "T=float|double|int32|int64|half|bfloat16|int8|int16|uint8|uint16|uint32|uint64",
                    .flags = BD_KERNEL_EXPENSIVE,
                    .state_size = sizeof(bd_window),
                    .create = patches_create,
                    .run = patches_run}),
    .doc = "The pixels of each window of ksizes that slides over images, side by side in the last dimension.",
};
