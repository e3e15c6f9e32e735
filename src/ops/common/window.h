// Windows that slide over the height and width of images, or the depth, height and width of volumes, for
// convolutions and pooling.
#ifndef BD_OPS_COMMON_WINDOW_H
#define BD_OPS_COMMON_WINDOW_H

#include "graph/shape_fn.h"
#include "kernels/primitive_cache.h"
#include "op/kernel.h"

typedef enum bd_padding {
    BD_PADDING_VALID,
    BD_PADDING_SAME,
    BD_PADDING_EXPLICIT
} bd_padding;

#define BD_SPATIAL_MAX 3

// Arrays begin with height and width of images, or depth, height and width of volumes.
typedef struct bd_window {
    int spatial;         // dimensions: 2 for images, 3 for volumes
    bool channels_first; // NCHW, NCDHW
    bd_padding padding;
    int64_t size[BD_SPATIAL_MAX]; // attr ksize; 0 without it
    int64_t stride[BD_SPATIAL_MAX], dilation[BD_SPATIAL_MAX];
    int64_t before[BD_SPATIAL_MAX], after[BD_SPATIAL_MAX]; // explicit padding
} bd_window;

// Axes of a tensor of images or volumes; its rank.
static inline int bd_window_rank(const bd_window *w)
{
    return w->spatial + 2;
}
static inline int bd_window_axis(const bd_window *w, int d)
{
    return (w->channels_first ? 2 : 1) + d;
}
static inline int bd_window_channel_axis(const bd_window *w)
{
    return w->channels_first ? 1 : w->spatial + 1;
}

// The dimension of kernels' triples (kernels/volume.h) that dimension `d` of the window is.
static inline int bd_window_triple(const bd_window *w, int d)
{
    return BD_SPATIAL_MAX - w->spatial + d;
}

// A shape of the window's rank whose sizes are unknown.
static inline braid_shape bd_window_unknown_shape(const bd_window *w)
{
    return (braid_shape){.rank = bd_window_rank(w), .dims = {-1, -1, -1, -1, -1}};
}

// Reads attrs strides and padding, and data_format, ksize (ksizes), dilations (rates) and explicit_paddings
// where the op has them. The data format tells whether the window slides over volumes; without one it
// slides over images. InvalidArgument for numbers that cannot be.
braid_code bd_window_read(const braid_op *node, bd_window *w, braid_status *st);
// The same for an op over volumes without a data format.
braid_code bd_window_read_volumes(const braid_op *node, bd_window *w, braid_status *st);

// Gives a window that inputs describe its sizes and strides, of all four axes.
void bd_window_set(bd_window *w, const int64_t size[4], const int64_t stride[4]);

// For kernels, which slide over the spatial dimensions alone: InvalidArgument (strides, dilations) or
// Unimplemented (ksize) when the window has an extent along images or channels.
braid_code bd_window_check_axes(const braid_op *node, const bd_window *w, braid_status *st);

// The placement of a window of `size` elements along a dimension of `in` elements.
typedef struct bd_window_fit {
    int64_t out, before, after; // positions; padding
} bd_window_fit;
// InvalidArgument when the window is larger than the dimension.
braid_code bd_window_fit_dimension(const bd_window *w, int d, int64_t in, int64_t size, bd_window_fit *fit,
                                   braid_status *st);

// For shape functions: sets output 0 to the shape that input `i` holds, whose rank must be the window's.
braid_code bd_window_shape_in_input(bd_shape_ctx *c, const bd_window *w, int i, braid_status *st);

// For shape functions: the positions, -1 when `in` or `size` is unknown.
braid_code bd_shape_ctx_window(bd_shape_ctx *c, const bd_window *w, int d, int64_t in, int64_t size,
                               int64_t *out, braid_status *st);

// Copies the window attrs of `op` to a node of its gradient.
void bd_window_copy_attrs(braid_op_desc *d, const braid_op *op);

// Runs a primitive over `data`, with temporary memory, and gives it back to its cache. False when the
// primitive is NULL: run the plain loops then. The kernel may have failed.
bool bd_run_primitive(bd_op_ctx *c, bd_primitive_cache *cache, bd_primitive *p, const void *data);

// Allocates output 0 after a check of its size, which a client may choose. Returns NULL when the kernel has
// failed.
braid_tensor *bd_window_output(bd_op_ctx *c, braid_dtype dtype, const braid_shape *shape);

#endif
