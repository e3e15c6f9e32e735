// Shared by the versions of batch normalization: images by channel, attrs and checks.
#ifndef BD_OPS_NN_BATCH_NORM_H
#define BD_OPS_NN_BATCH_NORM_H

#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "kernels/batch_norm.h"
#include "op/kernel.h"

// Read attr data_format: whether channels are dimension 1; and the rank of images: 4, or 5 for volumes.
bool bd_batch_norm_is_nchw(const braid_op *node);
int bd_batch_norm_rank(const braid_op *node);

// Sets *out to input `i` as images by channel. False when its rank is not 4 or 5: the kernel has failed.
bool bd_batch_norm_images(bd_op_ctx *c, int i, const char *what, bool nchw, bd_channels *out);

// Checks that input `i` is a vector of `channels` elements. False: the kernel has failed.
bool bd_batch_norm_vector(bd_op_ctx *c, int i, const char *what, int64_t channels);

// Shape function: merges the number of channels of images `i` (-1: unknown) into *channels and sets *out to
// the images' shape.
braid_code bd_batch_norm_images_shape(bd_shape_ctx *c, int i, int64_t *channels, braid_shape *out,
                                      braid_status *st);
// Sets the channel dimension of *images.
void bd_batch_norm_set_channels(const bd_shape_ctx *c, int64_t channels, braid_shape *images);
// Merges the length of vector input `i` into *channels.
braid_code bd_batch_norm_vector_shape(bd_shape_ctx *c, int i, int64_t *channels, braid_status *st);

// The gradients of FusedBatchNorm and its later versions, and of FusedBatchNormGrad.
void bd_fused_batch_norm_gradient(bd_grad_ctx *c);
void bd_fused_batch_norm_grad_gradient(bd_grad_ctx *c);

#endif
