// MaxPool's window along the depth (channels), which excludes a window over height and width.
#ifndef BD_OPS_NN_POOL_DEPTH_H
#define BD_OPS_NN_POOL_DEPTH_H

#include "ops/common/window.h"

typedef struct bd_depth_window {
    int64_t size, stride; // both 1: no window along the depth
} bd_depth_window;

// The window along the depth, from sizes and strides along all axes.
bd_depth_window bd_depth_window_of(const bd_window *w, const int64_t size[4], const int64_t stride[4]);
static inline bool bd_depth_window_is_none(const bd_depth_window *d)
{
    return d->size == 1;
}

// For kernels: Unimplemented when the window also covers images, height or width, or when windows overlap.
braid_code bd_depth_window_check(const bd_window *w, const int64_t size[4], const int64_t stride[4],
                                 braid_status *st);
// For shape functions: sets *out to the number of output channels; -1 if `channels` is unknown.
braid_code bd_shape_ctx_depth_window(bd_shape_ctx *c, const bd_window *w, const bd_depth_window *d,
                                     int64_t channels, int64_t *out, braid_status *st);

// Output 0 is the greatest element of each group of `d->size` channels of input 0.
void bd_depth_pool_run(bd_op_ctx *c, const bd_depth_window *d);

#endif
