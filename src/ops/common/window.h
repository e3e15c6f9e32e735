// Windows that slide over the height and width of images, for convolutions and pooling.
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

// Pairs are height, width.
typedef struct bd_window {
    bool channels_first; // NCHW
    bd_padding padding;
    int64_t size[2]; // attr ksize; 0 without it
    int64_t stride[2], dilation[2];
    int64_t before[2], after[2]; // explicit padding
} bd_window;

// Axes of a tensor of images.
static inline int bd_window_axis(const bd_window *w, int d) // 0: height, 1: width
{
    return (w->channels_first ? 2 : 1) + d;
}
static inline int bd_window_channel_axis(const bd_window *w)
{
    return w->channels_first ? 1 : 3;
}

// Reads attrs strides and padding, and data_format, ksize (ksizes), dilations (rates) and explicit_paddings
// where the op has them. InvalidArgument for numbers that cannot be.
braid_code bd_window_read(const braid_op *node, bd_window *w, braid_status *st);

// Gives a window that inputs describe its sizes and strides, of all four axes.
void bd_window_set(bd_window *w, const int64_t size[4], const int64_t stride[4]);

// For kernels, which slide over height and width alone: InvalidArgument (strides, dilations) or Unimplemented
// (ksize) when the window has an extent along images or channels.
braid_code bd_window_check_axes(const braid_op *node, const bd_window *w, braid_status *st);

// The placement of a window of `size` elements along a dimension of `in` elements.
typedef struct bd_window_fit {
    int64_t out, before, after; // positions; padding
} bd_window_fit;
// InvalidArgument when the window is larger than the dimension.
braid_code bd_window_fit_dimension(const bd_window *w, int d, int64_t in, int64_t size, bd_window_fit *fit,
                                   braid_status *st);

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
