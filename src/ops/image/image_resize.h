// The attributes of ops that resize images, and how output pixels take from input pixels.
#ifndef BD_OPS_IMAGE_IMAGE_RESIZE_H
#define BD_OPS_IMAGE_IMAGE_RESIZE_H

#include "kernels/resize.h"
#include "op/kernel.h"

typedef struct bd_resize_attrs {
    bool align_corners, half_pixel_centers;
} bd_resize_attrs;

// Reads the node's attrs; InvalidArgument when both are set.
braid_code bd_resize_create(const braid_op *node, void *state, braid_status *st);

// Prepares resizing of `in` to `out` [height, width]; the caller frees it. False: the kernel has failed.
bool bd_resize_begin(bd_op_ctx *c, bd_resize_method method, int64_t channels, const int64_t in[2],
                     const int64_t out[2], bd_resize *r);
void bd_resize_end(bd_resize *r);

#endif
