// SpaceToDepth and DepthToSpace: move blocks between the spatial dimensions and the channels of images.
#include "graph/grad.h"
#include "ops/common/element.h"

#include <string.h>

// The positions of the axes of images.
typedef struct image_axes {
    int height, width, depth;
} image_axes;

// False unless the format is one of four dimensions.
static bool read_axes(const braid_op *node, image_axes *a)
{
    const char *format = bd_node_attr_string(node, "data_format");
    *a = strcmp(format, "NCHW") == 0 ? (image_axes){2, 3, 1} : (image_axes){1, 2, 3};
    return strcmp(format, "NCHW_VECT_C") != 0;
}

// Attr block_size, limited so that its square does not overflow.
static int64_t block_size(const braid_op *node)
{
    int64_t size = bd_node_attr_int(node, "block_size");
    return size < INT32_MAX ? size : INT32_MAX;
}

// Sizes after a move by blocks of `block`; -1 stays -1. Returns the first axis whose size is not divisible or
// too large; -1: no such axis.
static int depth_shape(const image_axes *a, int64_t block, bool to_depth, const braid_shape *x,
                       braid_shape *y)
{
    const int axes[3] = {a->height, a->width, a->depth};
    *y = *x;
    for (int i = 0; i < 3; i++) {
        int64_t factor = axes[i] == a->depth ? block * block : block, *size = &y->dims[axes[i]];
        if (*size < 0) continue;
        if (to_depth == (axes[i] == a->depth)) {
            if (__builtin_mul_overflow(*size, factor, size)) return axes[i];
        } else {
            if (*size % factor) return axes[i];
            *size /= factor;
        }
    }
    return -1;
}

static braid_code check_depth_shape(bd_shape_ctx *c, bool to_depth, braid_status *st)
{
    image_axes a;
    if (!read_axes(c->node, &a)) return BRAID_OK;
    braid_code code = bd_shape_ctx_rank(c, 0, 4, st);
    c->outputs[0] = (braid_shape){.rank = 4, .dims = {-1, -1, -1, -1}};
    if (code || c->inputs[0].rank < 0) return code;
    int64_t block = block_size(c->node);
    int bad = depth_shape(&a, block, to_depth, &c->inputs[0], &c->outputs[0]);
    if (bad < 0) return BRAID_OK;
    if (to_depth == (bad == a.depth))
        return bd_shape_ctx_fail(c, st, "Sizes are too large for a block size of %lld", (long long)block);
    return bd_shape_ctx_fail(c, st, "Dimension size must be evenly divisible by %lld but is %lld",
                             (long long)(bad == a.depth ? block * block : block),
                             (long long)c->inputs[0].dims[bad]);
}

static braid_code space_to_depth_shape(bd_shape_ctx *c, braid_status *st)
{
    return check_depth_shape(c, true, st);
}

static braid_code depth_to_space_shape(bd_shape_ctx *c, braid_status *st)
{
    return check_depth_shape(c, false, st);
}

// The output's shape for input shape `x`. False: the kernel has failed.
static bool moved_shape(bd_op_ctx *c, const image_axes *a, bool to_depth, const braid_shape *x,
                        braid_shape *y)
{
    int64_t block = block_size(c->node);
    if (x->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   to_depth ? "Input rank should be 4 instead of %d"
                            : "Input rank should be: 4 instead of: %d",
                   x->rank);
        return false;
    }
    int bad = depth_shape(a, block, to_depth, x, y);
    if (bad < 0) return true;
    if (to_depth == (bad == a->depth)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Sizes are too large for a block size of %lld",
                   (long long)block);
    } else if (to_depth) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Image width %lld and height %lld should be divisible by block_size: %lld",
                   (long long)x->dims[a->width], (long long)x->dims[a->height], (long long)block);
    } else {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input depth dimension %lld should be divisible by: %lld",
                   (long long)x->dims[a->depth], (long long)block * block);
    }
    return false;
}

static void move_depth(bd_op_ctx *c, bool to_depth)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t block = block_size(c->node), total;
    image_axes a;
    braid_shape shape;
    BD_STATUS(st);
    if (!read_axes(c->node, &a)) {
        bd_op_fail(c, BRAID_UNIMPLEMENTED, "%s of data format NCHW_VECT_C is not implemented",
                   c->node->op_type);
        return;
    }
    if (!moved_shape(c, &a, to_depth, &x->shape, &shape)) return;
    if (bd_shape_checked_count(&shape, &total, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
    if (!y || total == 0) return;
    // Dimensions: images, block rows, rows in a block, block columns, columns in a block, channels.
    const braid_tensor *space = to_depth ? x : y, *depth = to_depth ? y : x;
    int64_t s[BRAID_RANK_MAX], d[BRAID_RANK_MAX], channels = space->shape.dims[a.depth];
    bd_row_strides(&space->shape, s);
    bd_row_strides(&depth->shape, d);
    int64_t in_space[6] = {s[0],       s[a.height] * block, s[a.height], s[a.width] * block,
                           s[a.width], s[a.depth]};
    int64_t in_depth[6] = {d[0],       d[a.height],           d[a.depth] * channels * block,
                           d[a.width], d[a.depth] * channels, d[a.depth]};
    bd_strided walk = {.rank = 6,
                       .dims = {shape.dims[0], depth->shape.dims[a.height], block, depth->shape.dims[a.width],
                                block, channels}};
    memcpy(walk.to_strides, to_depth ? in_depth : in_space, sizeof in_space);
    memcpy(walk.from_strides, to_depth ? in_space : in_depth, sizeof in_space);
    bd_elements_copy_block(y, 0, x, 0, &walk);
}

static void space_to_depth_run(bd_op_ctx *c)
{
    move_depth(c, true);
}

static void depth_to_space_run(bd_op_ctx *c)
{
    move_depth(c, false);
}

// The gradient is the inverse op with the same blocks.
static void inverse_gradient(bd_grad_ctx *c, const char *op)
{
    braid_op_desc *d = braid_op_begin(c->graph, op, NULL);
    braid_op_input(d, c->output_grads[0]);
    braid_op_attr_int(d, "block_size", bd_node_attr_int(c->op, "block_size"));
    braid_op_attr_string(d, "data_format", bd_node_attr_string(c->op, "data_format"));
    c->input_grads[0] = braid_op_end_out(d);
}

static void space_to_depth_gradient(bd_grad_ctx *c)
{
    inverse_gradient(c, "DepthToSpace");
}

static void depth_to_space_gradient(bd_grad_ctx *c)
{
    inverse_gradient(c, "SpaceToDepth");
}

BD_OP(SpaceToDepth) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type; block_size:int>=2; data_format:string{NHWC,NCHW,NCHW_VECT_C}='NHWC'",
    .shape = space_to_depth_shape,
    .gradient = space_to_depth_gradient,
    .kernels = BD_KERNELS({.run = space_to_depth_run}),
    .doc = "Moves each block of pixels into the channels of one pixel.",
};

BD_OP(DepthToSpace) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type; block_size:int>=2; data_format:string{NHWC,NCHW,NCHW_VECT_C}='NHWC'",
    .shape = depth_to_space_shape,
    .gradient = depth_to_space_gradient,
    .kernels = BD_KERNELS({.run = depth_to_space_run}),
    .doc = "The inverse of SpaceToDepth: channels become blocks of pixels.",
};
