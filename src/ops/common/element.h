// Shared by ops that only move elements: copies of any type, and small integer inputs read as shapes or axes.
#ifndef BD_OPS_COMMON_ELEMENT_H
#define BD_OPS_COMMON_ELEMENT_H

#include "graph/shape_fn.h"
#include "kernels/strided.h"
#include "op/kernel.h"

// Bytes from one element to the next in a tensor's memory, also of strings, handles and variants.
size_t bd_element_size(braid_dtype dtype);

// Copies elements [from_at, from_at + count) to those from `to_at` on; both tensors have the same type. When
// memory is short for strings, `to` is marked incomplete (tensor.h).
void bd_elements_copy(const braid_tensor *to, int64_t to_at, const braid_tensor *from, int64_t from_at,
                      int64_t count);

// Copies a block that begins at element `from_at` of `from` to element `to_at` of `to`.
void bd_elements_copy_block(const braid_tensor *to, int64_t to_at, const braid_tensor *from, int64_t from_at,
                            const bd_strided *block);

// Copies `part` to [at, at + part_dim) of `whole` along `axis`: all sizes but that along the axis agree (a
// `part` of size 1 there may lack the axis).
void bd_elements_join(const braid_tensor *whole, int axis, int64_t at, const braid_tensor *part,
                      int64_t part_dim);

// Makes output `i` the elements [at, at + size) of `whole` along `axis`: a view of it when they are
// contiguous. False: the kernel has failed.
bool bd_output_piece(bd_op_ctx *c, int i, const braid_tensor *whole, int axis, int64_t at, int64_t size);

// Makes output `i`, of shape `out`, the block of `x` from `begin` on, each `strides` on (NULL: 1):
// block->dims elements along each dimension, all within `x`. A contiguous block is a view of `x`.
void bd_output_block(bd_op_ctx *c, int i, const braid_tensor *x, const int64_t *begin, const int64_t *strides,
                     const braid_shape *block, const braid_shape *out);
// The inverse: output `i` is zeros (empty strings) of shape `out` with the elements of `x`, taken as of shape
// `block`, put at `begin`, each `strides` on.
void bd_output_spread(bd_op_ctx *c, int i, const braid_tensor *x, const braid_shape *block,
                      const int64_t *begin, const int64_t *strides, const braid_shape *out);

// Makes `t` a copy of `from` in memory of its own, also when `from` is the memory of a variable that changes
// meanwhile (use_locking=false): each word is either old or new. Returns false when memory is short.
bool bd_tensor_snapshot(braid_tensor *t, const braid_tensor *from);

// Keeps the content of `from` for later: a reference, or a copy of a variable's memory. False when memory is
// short.
bool bd_tensor_keep(braid_tensor *t, const braid_tensor *from);

// Row-major strides of a shape, in elements.
void bd_row_strides(const braid_shape *s, int64_t strides[BRAID_RANK_MAX]);

// A block of `shape` that is row-major in both memories, to be adjusted by the caller.
bd_strided bd_strided_of(const braid_shape *shape);

// Formats the index of element `at` of a tensor of shape `s`, for messages: "[0,2]", and "" for a scalar.
// Returns `buf`.
const char *bd_element_place(const braid_shape *s, int64_t at, char buf[BD_SHAPE_STR_MAX]);

// A view of elements of `t` from element `at` on, without a copy.
void bd_tensor_view(braid_tensor *view, const braid_tensor *t, int64_t at, const braid_shape *shape);

// ---- Inputs of kernels. On false the kernel has failed: return. ----

// Reads input `i` (int32 or int64 vector of at most BRAID_RANK_MAX elements, each at least 0) as a shape.
// `what` is its name in messages.
bool bd_input_shape(bd_op_ctx *c, int i, const char *what, braid_shape *shape);
// Input `i` (int32 or int64 vector of `count` elements) into `values`.
bool bd_input_ints(bd_op_ctx *c, int i, const char *what, int count, int64_t values[BRAID_RANK_MAX]);
// Input `i`, an int32 or int64 scalar.
bool bd_input_scalar_index(bd_op_ctx *c, int i, const char *what, int64_t *value);
// The same, or a vector of one element, which TensorFlow allows in the older ops.
bool bd_input_int(bd_op_ctx *c, int i, const char *what, int64_t *value);

// ---- Shape functions ----

// Returns whether input `i` is a constant scalar of int32 or int64, and stores its value.
bool bd_shape_ctx_constant_int(bd_shape_ctx *c, int i, int64_t *value);
// Normalizes `axis`, which may count from the end, to [0, rank). Fails the shape function when it is out of
// range.
braid_code bd_shape_ctx_axis(bd_shape_ctx *c, int rank, int64_t *axis, braid_status *st);

#endif
