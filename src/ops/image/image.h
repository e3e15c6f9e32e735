// Shared by ops on images: pixels as float, sizes in inputs.
#ifndef BD_OPS_IMAGE_IMAGE_H
#define BD_OPS_IMAGE_IMAGE_H

#include "graph/shape_fn.h"
#include "op/kernel.h"

// The types of images that TensorFlow's kernels take.
#define BD_IMAGE_TYPES "float|double|half|int8|int16|int32|int64|uint8|uint16"

// Makes `floats` the pixels of `x` as float: a reference when they are, else a copy. The caller ends it.
// False: the kernel has failed.
bool bd_image_floats(bd_op_ctx *c, const braid_tensor *x, braid_tensor *floats);

// Height and width from input `i`, a vector of two numbers above 0. False: the kernel has failed.
bool bd_image_size_input(bd_op_ctx *c, int i, int64_t size[2]);

// `x` must be images [batch, height, width, channels] of some pixels. False: the kernel has failed.
bool bd_image_check(bd_op_ctx *c, const char *what, const braid_tensor *x);

// Makes output 0 images like input 0, with the height and width of vector input `i` if it is a constant.
braid_code bd_image_sized_shape(bd_shape_ctx *c, int i, braid_status *st);

// Zeroed images, after a check of their size, as output 0. NULL: the kernel has failed.
braid_tensor *bd_image_output(bd_op_ctx *c, braid_dtype dtype, const braid_shape *shape);

#endif
