// The images, attributes and checks that the forms of batch normalization share.
#ifndef BD_OPS_NN_BATCH_NORM_H
#define BD_OPS_NN_BATCH_NORM_H

#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "kernels/batch_norm.h"
#include "op/kernel.h"

// Attr data_format: whether channels come second, and how many dimensions images have (5 of volumes).
bool bd_batch_norm_is_nchw(const braid_op *node);
int bd_batch_norm_rank(const braid_op *node);

// Images of a kernel's input `i` by channel. False when they are not of rank 4 or 5: the kernel has failed.
bool bd_batch_norm_images(bd_op_ctx *c, int i, const char *what, bool nchw, bd_channels *out);

// Input `i` must be a vector of `channels` elements. False: the kernel has failed.
bool bd_batch_norm_vector(bd_op_ctx *c, int i, const char *what, int64_t channels);

// Merges the channels of images `i`, -1 where unknown, into *channels, and makes *out the images' shape.
braid_code bd_batch_norm_images_shape(bd_shape_ctx *c, int i, int64_t *channels, braid_shape *out,
                                      braid_status *st);
// Puts them into that shape.
void bd_batch_norm_set_channels(const bd_shape_ctx *c, int64_t channels, braid_shape *images);
// Merges the length of vector input `i` into *channels.
braid_code bd_batch_norm_vector_shape(bd_shape_ctx *c, int i, int64_t *channels, braid_status *st);

// The gradients of FusedBatchNorm and its later versions, and of FusedBatchNormGrad.
void bd_fused_batch_norm_gradient(bd_grad_ctx *c);
void bd_fused_batch_norm_grad_gradient(bd_grad_ctx *c);

#endif
