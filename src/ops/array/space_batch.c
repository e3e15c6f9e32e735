// SpaceToBatchND, BatchToSpaceND and their older forms for images: move blocks between the spatial dimensions
// and the batch.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"

#include <string.h>

// A space tensor [batch, size.., rest..] and a batch tensor [prod(block) * batch, steps.., rest..], where
// size + before + after = block * steps in each blocked dimension.
typedef struct blocks {
    int dims; // blocked dimensions: 1 to `dims`
    int64_t block[BRAID_RANK_MAX], before[BRAID_RANK_MAX], after[BRAID_RANK_MAX];
} blocks;

static bool check_numbers(bd_op_ctx *c, const blocks *b, bool to_batch)
{
    for (int d = 0; d < b->dims; d++) {
        if (b->block[d] < 1) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "All values in block_shape must be positive, got value %lld at index %d",
                       (long long)b->block[d], d);
        } else if (b->before[d] < 0 || b->after[d] < 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be non-negative: %lld %lld",
                       to_batch ? "Paddings" : "Crops", (long long)b->before[d], (long long)b->after[d]);
        }
    }
    return !bd_op_failed(c);
}

// Reads the blocks from inputs block_shape and paddings (or crops), or from attr block_size and input 1.
// False: the kernel has failed.
static bool read_blocks(bd_op_ctx *c, blocks *b, bool to_batch)
{
    const braid_tensor *x = bd_input(c, 0), *pads = bd_input(c, c->input_count - 1);
    char text[BD_SHAPE_STR_MAX];
    bool is_nd = c->input_count == 3;
    const braid_shape *block_shape = &bd_input(c, 1)->shape;
    b->dims = is_nd ? (block_shape->rank == 1 ? (int)block_shape->dims[0] : -1) : 2;
    if (b->dims < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "block_shape rank should be 1 instead of %d",
                   block_shape->rank);
        return false;
    }
    if (b->dims >= x->shape.rank || (!is_nd && x->shape.rank != 4)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   is_nd ? "input rank should be >= %d instead of %d"
                         : "Input rank should be: %d instead of: %d",
                   is_nd ? b->dims + 1 : 4, x->shape.rank);
        return false;
    }
    if (pads->shape.rank != 2 || pads->shape.dims[0] != b->dims || pads->shape.dims[1] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s should have shape [%d, 2] instead of %s",
                   to_batch ? "paddings" : "crops", b->dims, bd_shape_str(&pads->shape, text));
        return false;
    }
    for (int d = 0; d < b->dims; d++) {
        b->block[d] = is_nd ? bd_tensor_index(bd_input(c, 1), d) : bd_node_attr_int(c->node, "block_size");
        b->before[d] = bd_tensor_index(pads, 2 * d);
        b->after[d] = bd_tensor_index(pads, 2 * d + 1);
    }
    return check_numbers(c, b, to_batch);
}

static int64_t blocks_count(const blocks *b)
{
    int64_t count = 1;
    for (int d = 0; d < b->dims; d++) {
        if (__builtin_mul_overflow(count, b->block[d], &count)) return INT64_MAX;
    }
    return count;
}

// The positions along dimension `d` of the batch tensor that lie inside the space tensor, for position
// `place` within the block.
static void visible_range(const blocks *b, int d, int64_t place, int64_t size, int64_t steps, int64_t *from,
                          int64_t *count)
{
    int64_t block = b->block[d], lead = b->before[d] - place,
            end = b->before[d] + size - place; // in the padded space tensor
    *from = lead > 0 ? (lead + block - 1) / block : 0;
    int64_t to = end > 0 ? (end + block - 1) / block : 0;
    if (to > steps) to = steps;
    *count = to > *from ? to - *from : 0;
}

// Copies the elements at one position of their blocks: slice number `index` of the batch tensor.
static void move_place(const blocks *b, const braid_tensor *space, const braid_tensor *batch, bool to_batch,
                       int64_t index)
{
    int64_t space_strides[BRAID_RANK_MAX], batch_strides[BRAID_RANK_MAX];
    int64_t images = space->shape.dims[0], rest = index, inner = 1;
    bd_row_strides(&space->shape, space_strides);
    bd_row_strides(&batch->shape, batch_strides);
    int64_t *to = to_batch ? batch_strides : space_strides, *from = to_batch ? space_strides : batch_strides;
    bd_strided walk = {.rank = b->dims + 2};
    int64_t batch_at = index * images * batch_strides[0], space_at = 0;
    for (int d = b->dims + 1; d < space->shape.rank; d++)
        inner *= space->shape.dims[d];
    walk.dims[0] = images;
    walk.to_strides[0] = to[0], walk.from_strides[0] = from[0];
    for (int d = b->dims; d >= 1; d--) {
        int64_t block = b->block[d - 1], place = rest % block, first;
        rest /= block;
        visible_range(b, d - 1, place, space->shape.dims[d], batch->shape.dims[d], &first, &walk.dims[d]);
        if (walk.dims[d] == 0) return;
        batch_at += first * batch_strides[d];
        space_at += (first * block + place - b->before[d - 1]) * space_strides[d];
        walk.to_strides[d] = to_batch ? batch_strides[d] : space_strides[d] * block;
        walk.from_strides[d] = to_batch ? space_strides[d] * block : batch_strides[d];
    }
    walk.dims[b->dims + 1] = inner;
    walk.to_strides[b->dims + 1] = walk.from_strides[b->dims + 1] = 1;
    if (images == 0 || inner == 0) return;
    if (to_batch) {
        bd_elements_copy_block(batch, batch_at, space, space_at, &walk);
    } else {
        bd_elements_copy_block(space, space_at, batch, batch_at, &walk);
    }
}

// Converts the batch of the space tensor to that of the batch tensor, or back. False: the kernel has failed.
static bool moved_images(bd_op_ctx *c, const blocks *b, bool to_batch, int64_t images, int64_t *out)
{
    int64_t count = blocks_count(b);
    if (to_batch && __builtin_mul_overflow(images, count, out)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input batch dimension %lld is too large for the blocks of %lld elements",
                   (long long)images, (long long)count);
    } else if (!to_batch && images % count != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input batch dimension (%lld) is not divisible by product of block sizes (%lld)",
                   (long long)images, (long long)count);
    } else if (!to_batch) {
        *out = images / count;
    }
    return !bd_op_failed(c);
}

// Converts size `n` of blocked dimension `d`. False: the kernel has failed.
static bool moved_dim(bd_op_ctx *c, const blocks *b, bool to_batch, int d, int64_t n, int64_t *out)
{
    int64_t pads, all;
    if (__builtin_add_overflow(b->before[d], b->after[d], &pads) ||
        (to_batch ? __builtin_add_overflow(n, pads, &all) : __builtin_mul_overflow(n, b->block[d], &all))) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Sizes are too large");
    } else if (to_batch && all % b->block[d] != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "padded_shape[%d]=%lld is not divisible by block_shape[%d]=%lld", d, (long long)all, d,
                   (long long)b->block[d]);
    } else if (!to_batch && all < pads) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "cropped_shape[%d]=%lld must be non-negative", d,
                   (long long)(all - pads));
    } else {
        *out = to_batch ? all / b->block[d] : all - pads;
    }
    return !bd_op_failed(c);
}

// Converts the space tensor's shape to the batch tensor's, or back. False: the kernel has failed.
static bool moved_shape(bd_op_ctx *c, const blocks *b, bool to_batch, const braid_shape *x, braid_shape *y)
{
    *y = *x;
    bool fits = moved_images(c, b, to_batch, x->dims[0], &y->dims[0]);
    for (int d = 0; d < b->dims && fits; d++)
        fits = moved_dim(c, b, to_batch, d, x->dims[d + 1], &y->dims[d + 1]);
    return fits;
}

static void move_blocks(bd_op_ctx *c, bool to_batch)
{
    const braid_tensor *x = bd_input(c, 0);
    BD_STATUS(st);
    blocks b;
    braid_shape shape;
    int64_t total;
    if (!read_blocks(c, &b, to_batch) || !moved_shape(c, &b, to_batch, &x->shape, &shape)) return;
    if (bd_shape_checked_count(&shape, &total, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
    if (!y || total == 0) return;
    size_t size = braid_dtype_size(x->dtype);
    if (to_batch && size > 0) memset(y->data, 0, (size_t)total * size);
    int64_t count = blocks_count(&b);
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++)
        move_place(&b, to_batch ? x : y, to_batch ? y : x, to_batch, i);
}

static void space_to_batch_run(bd_op_ctx *c)
{
    move_blocks(c, true);
}

static void batch_to_space_run(bd_op_ctx *c)
{
    move_blocks(c, false);
}

// ---- Shapes ----

// Converts a size `n`; -1: unknown.
static braid_code moved_size(bd_shape_ctx *c, bool to_batch, int64_t n, int64_t block, int64_t before,
                             int64_t after, int64_t *out, braid_status *st)
{
    int64_t pad, all;
    if (before < 0 || after < 0)
        return bd_shape_ctx_fail(c, st, "%s cannot be negative", to_batch ? "paddings" : "crops");
    *out = -1;
    if (n < 0 || block < 0) return BRAID_OK;
    if (__builtin_add_overflow(before, after, &pad) ||
        (to_batch ? __builtin_add_overflow(n, pad, &all) : __builtin_mul_overflow(n, block, &all)))
        return bd_shape_ctx_fail(c, st, "Sizes are too large");
    if (to_batch && all % block)
        return bd_shape_ctx_fail(c, st, "Dimension size must be evenly divisible by %lld but is %lld",
                                 (long long)block, (long long)all);
    if (!to_batch && all < pad)
        return bd_shape_ctx_fail(c, st, "Negative dimension size caused by subtracting %lld from %lld",
                                 (long long)pad, (long long)all);
    *out = to_batch ? all / block : all - pad;
    return BRAID_OK;
}

// Converts the batch for blocks of `block` along one more dimension; -1 stays -1.
static braid_code moved_batch(bd_shape_ctx *c, bool to_batch, int64_t block, int64_t *batch, braid_status *st)
{
    if (block < 1) return bd_shape_ctx_fail(c, st, "block_shape must be positive");
    if (*batch < 0) return BRAID_OK;
    if (to_batch) {
        if (!__builtin_mul_overflow(*batch, block, batch)) return BRAID_OK;
        return bd_shape_ctx_fail(c, st, "Sizes are too large");
    }
    if (*batch % block)
        return bd_shape_ctx_fail(c, st, "Dimension size must be evenly divisible by %lld but is %lld",
                                 (long long)block, (long long)*batch);
    *batch /= block;
    return BRAID_OK;
}

// The number of blocked dimensions by the shapes of the inputs; -1: unknown.
static braid_code blocked_dims(bd_shape_ctx *c, bool is_nd, int64_t *dims, braid_status *st)
{
    const braid_shape *in = &c->inputs[0], *pads = &c->inputs[c->input_count - 1];
    *dims = 2;
    if (is_nd) {
        braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
        *dims = c->inputs[1].rank == 1 ? c->inputs[1].dims[0] : -1;
        if (code || *dims < 0) return code;
        if (in->rank >= 0 && *dims >= in->rank)
            return bd_shape_ctx_fail(c, st, "Shape must be at least rank %lld but is rank %d",
                                     (long long)*dims + 1, in->rank);
    } else {
        braid_code code = bd_shape_ctx_rank(c, 0, 4, st);
        if (code) return code;
    }
    braid_shape want = bd_shape2(*dims, 2), merged;
    if (bd_shape_merge(pads, &want, &merged)) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "paddings and crops must have shape [%lld,2]", (long long)*dims);
}

static braid_code move_shape(bd_shape_ctx *c, bool to_batch, braid_status *st)
{
    bool is_nd = c->input_count == 3;
    const braid_tensor *block = is_nd ? bd_shape_ctx_constant(c, 1) : NULL;
    const braid_tensor *pads = bd_shape_ctx_constant(c, c->input_count - 1);
    int64_t dims;
    braid_code code = blocked_dims(c, is_nd, &dims, st);
    braid_shape in = c->inputs[0];
    if (code || dims < 0 || (in.rank < 0 && is_nd)) return code;
    if (in.rank < 0) in = (braid_shape){.rank = 4, .dims = {-1, -1, -1, -1}};
    c->outputs[0] = in;
    int64_t *out = c->outputs[0].dims;
    if (is_nd && !block && dims > 0) out[0] = -1;
    for (int d = 0; d < dims && !code; d++) {
        int64_t size = !is_nd  ? bd_node_attr_int(c->node, "block_size")
                       : block ? bd_tensor_index(block, d)
                               : -1;
        out[d + 1] = -1;
        if (!is_nd || block) code = moved_batch(c, to_batch, size, &out[0], st);
        if (!code && pads)
            code = moved_size(c, to_batch, in.dims[d + 1], size, bd_tensor_index(pads, 2 * d),
                              bd_tensor_index(pads, 2 * d + 1), &out[d + 1], st);
    }
    return code;
}

static braid_code space_to_batch_shape(bd_shape_ctx *c, braid_status *st)
{
    return move_shape(c, true, st);
}

static braid_code batch_to_space_shape(bd_shape_ctx *c, braid_status *st)
{
    return move_shape(c, false, st);
}

// The gradient is the inverse op with the same blocks.
static void inverse_gradient(bd_grad_ctx *c, const char *op)
{
    braid_op_desc *d = braid_op_begin(c->graph, op, NULL);
    braid_op_input(d, c->output_grads[0]);
    for (int i = 1; i < c->op->input_count; i++)
        braid_op_input(d, c->op->inputs[i]);
    if (bd_node_attr(c->op, "block_size"))
        braid_op_attr_int(d, "block_size", bd_node_attr_int(c->op, "block_size"));
    c->input_grads[0] = braid_op_end_out(d);
}

#define INVERSE(NAME, OP)                                                                                    \
    static void NAME(bd_grad_ctx *c)                                                                         \
    {                                                                                                        \
        inverse_gradient(c, OP);                                                                             \
    }
INVERSE(space_to_batch_nd_gradient, "BatchToSpaceND")
INVERSE(batch_to_space_nd_gradient, "SpaceToBatchND")
INVERSE(space_to_batch_gradient, "BatchToSpace")
INVERSE(batch_to_space_gradient, "SpaceToBatch")

BD_OP(SpaceToBatchND) = {
    .signature = "(input: T, block_shape: Tblock_shape, paddings: Tpaddings) -> (output: T)",
    .attrs = "T:type; Tblock_shape:type{int32,int64}=int32; Tpaddings:type{int32,int64}=int32",
    .shape = space_to_batch_shape,
    .gradient = space_to_batch_nd_gradient,
    .kernels = BD_KERNELS({.run = space_to_batch_run}),
    .doc =
        "Pads the spatial dimensions with zeros, divides them into blocks, and moves each position within the blocks to a batch of its own.",
};

BD_OP(BatchToSpaceND) = {
    .signature = "(input: T, block_shape: Tblock_shape, crops: Tcrops) -> (output: T)",
    .attrs = "T:type; Tblock_shape:type{int32,int64}=int32; Tcrops:type{int32,int64}=int32",
    .shape = batch_to_space_shape,
    .gradient = batch_to_space_nd_gradient,
    .kernels = BD_KERNELS({.run = batch_to_space_run}),
    .doc =
        "The inverse of SpaceToBatchND: batches become positions within blocks, and the borders are cropped.",
};

BD_OP(SpaceToBatch) = {
    .signature = "(input: T, paddings: Tpaddings) -> (output: T)",
    .attrs = "T:type; Tpaddings:type{int32,int64}=int32; block_size:int>=2",
    .shape = space_to_batch_shape,
    .gradient = space_to_batch_gradient,
    .kernels = BD_KERNELS({.run = space_to_batch_run}),
    .doc = "SpaceToBatchND of images [batch, height, width, depth] with square blocks.",
};

BD_OP(BatchToSpace) = {
    .signature = "(input: T, crops: Tidx) -> (output: T)",
    .attrs = "T:type; block_size:int>=2; Tidx:type{int32,int64}=int32",
    .shape = batch_to_space_shape,
    .gradient = batch_to_space_gradient,
    .kernels = BD_KERNELS({.run = batch_to_space_run}),
    .doc = "BatchToSpaceND of images [batch, height, width, depth] with square blocks.",
};
