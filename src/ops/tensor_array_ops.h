// What the ops of TensorArrays share.
#ifndef BD_OPS_TENSOR_ARRAY_OPS_H
#define BD_OPS_TENSOR_ARRAY_OPS_H

#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"
#include "ops/tensor_array.h"

// The array in input 0; the caller gives the reference back. NULL: the kernel has failed.
bd_tensor_array *bd_tensor_array_input(bd_op_ctx *c);
void bd_tensor_array_unref(bd_tensor_array *a);

// Fails the kernel with the name of the array before the message.
void bd_tensor_array_fail(bd_op_ctx *c, const braid_status *st);

// That the array holds what output 0 is to be. False: the kernel has failed.
bool bd_tensor_array_check_dtype(bd_op_ctx *c, const bd_tensor_array *a);

// For shape functions: the handle in input 0 is a scalar, and so are the inputs whose digits `scalars` has.
braid_code bd_tensor_array_check_shapes(bd_shape_ctx *c, const char *scalars, braid_status *st);

// Gradients: what was read is written to the array of gradients, what was written is read there; flows keep that in order.
void bd_tensor_array_read_gradient(bd_grad_ctx *c);
void bd_tensor_array_write_gradient(bd_grad_ctx *c);
void bd_tensor_array_gather_gradient(bd_grad_ctx *c);
void bd_tensor_array_scatter_gradient(bd_grad_ctx *c);
void bd_tensor_array_concat_gradient(bd_grad_ctx *c);
void bd_tensor_array_split_gradient(bd_grad_ctx *c);

#endif
