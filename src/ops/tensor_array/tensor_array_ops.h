// Shared by the ops of TensorArrays.
#ifndef BD_OPS_TENSOR_ARRAY_TENSOR_ARRAY_OPS_H
#define BD_OPS_TENSOR_ARRAY_TENSOR_ARRAY_OPS_H

#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"
#include "ops/tensor_array/tensor_array.h"

// The array in input 0; the caller gives the reference back. NULL: the kernel has failed.
bd_tensor_array *bd_tensor_array_input(bd_op_ctx *c);
void bd_tensor_array_unref(bd_tensor_array *a);

// Fails the kernel with the name of the array before the message.
void bd_tensor_array_fail(bd_op_ctx *c, const braid_status *st);

// Checks that the array holds elements of the type of output 0, or of the tensor to write. False: the kernel
// has failed.
bool bd_tensor_array_check_read(bd_op_ctx *c, const bd_tensor_array *a);
bool bd_tensor_array_check_written(bd_op_ctx *c, const bd_tensor_array *a, braid_dtype dtype);

// Kernels and shape functions that all versions of an op share: handles are resources, strings, or references
// to strings; the oldest ops have no `indices`, and mean all elements.
void bd_tensor_array_run(bd_op_ctx *c);
void bd_tensor_array_grad_run(bd_op_ctx *c);
void bd_tensor_array_write_run(bd_op_ctx *c);
void bd_tensor_array_read_run(bd_op_ctx *c);
void bd_tensor_array_gather_run(bd_op_ctx *c);
void bd_tensor_array_scatter_run(bd_op_ctx *c);
void bd_tensor_array_concat_run(bd_op_ctx *c);
void bd_tensor_array_split_run(bd_op_ctx *c);
void bd_tensor_array_size_run(bd_op_ctx *c);
void bd_tensor_array_close_run(bd_op_ctx *c);
braid_code bd_tensor_array_new_shape(bd_shape_ctx *c, braid_status *st);
braid_code bd_tensor_array_grad_shape(bd_shape_ctx *c, braid_status *st);
braid_code bd_tensor_array_write_shape(bd_shape_ctx *c, braid_status *st);
braid_code bd_tensor_array_read_shape(bd_shape_ctx *c, braid_status *st);
braid_code bd_tensor_array_gather_shape(bd_shape_ctx *c, braid_status *st);
braid_code bd_tensor_array_scatter_shape(bd_shape_ctx *c, braid_status *st);
braid_code bd_tensor_array_concat_shape(bd_shape_ctx *c, braid_status *st);
braid_code bd_tensor_array_split_shape(bd_shape_ctx *c, braid_status *st);
braid_code bd_tensor_array_size_shape(bd_shape_ctx *c, braid_status *st);

// That input `i` is a vector. False: the kernel has failed.
bool bd_tensor_array_check_vector(bd_op_ctx *c, int i, const char *what);

// For messages: as bd_shape_str, but "<unknown>" where not even the rank is known.
const char *bd_tensor_array_shape_str(const braid_shape *s, char text[BD_SHAPE_STR_MAX]);

// Elements that have been read, to be put together.
typedef struct bd_array_parts {
    braid_tensor *items;
    int64_t count;
} bd_array_parts;
// Reads the elements that `indices` name (NULL: the first `count`). False: the kernel has failed; *p is to be
// ended, too.
bool bd_array_parts_read(bd_op_ctx *c, bd_tensor_array *a, const braid_tensor *indices, int64_t count,
                         bd_array_parts *p);
// The shape of `count` elements of shape `one`, stacked. False: the kernel has failed.
bool bd_array_parts_shape(bd_op_ctx *c, int64_t count, const braid_shape *one, braid_shape *out);
// Puts elements one after the other into output 0.
void bd_array_parts_output(bd_op_ctx *c, const bd_array_parts *p, const braid_shape *shape);
void bd_array_parts_fini(bd_array_parts *p);

// For shape functions: checks that the handle in input 0 is a scalar, and that the inputs whose digits are in
// `scalars` are.
braid_code bd_tensor_array_check_shapes(bd_shape_ctx *c, const char *scalars, braid_status *st);

// Gradients: the gradient of a read writes to the array of gradients, that of a write reads from it; flows
// keep the order.
void bd_tensor_array_read_gradient(bd_grad_ctx *c);
void bd_tensor_array_write_gradient(bd_grad_ctx *c);
void bd_tensor_array_gather_gradient(bd_grad_ctx *c);
void bd_tensor_array_scatter_gradient(bd_grad_ctx *c);
void bd_tensor_array_concat_gradient(bd_grad_ctx *c);
void bd_tensor_array_split_gradient(bd_grad_ctx *c);

#endif
