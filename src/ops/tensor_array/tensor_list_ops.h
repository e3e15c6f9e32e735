// Shared by the ops of tensor lists.
#ifndef BD_OPS_TENSOR_ARRAY_TENSOR_LIST_OPS_H
#define BD_OPS_TENSOR_ARRAY_TENSOR_LIST_OPS_H

#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"
#include "tensor/tensor_list.h"

// ---- Kernels. On NULL or false the kernel has failed: return. ----

// The list in input `i`, a scalar; the input keeps the reference.
bd_tensor_list *bd_input_list(bd_op_ctx *c, int i);
// The same of an op with attr element_dtype, which the list's elements must have.
bd_tensor_list *bd_input_typed_list(bd_op_ctx *c, int i);

// Makes output `i` the list of checked input `input` and returns it for changes: the input's own list when it
// has no other holder, else a copy with room for `more` elements.
bd_tensor_list *bd_output_list(bd_op_ctx *c, int i, int input, int64_t more);
// The same for tensors of lists, all of which may be changed then.
braid_tensor *bd_output_lists(bd_op_ctx *c, int i, int input, int64_t more);

// Makes output `i` a scalar that holds a new list of `count` elements that are not set.
bd_tensor_list *bd_output_new_list(bd_op_ctx *c, int i, braid_dtype dtype, const braid_shape *element_shape,
                                   int64_t max_elements, int64_t count);

bool bd_list_resize(bd_op_ctx *c, bd_tensor_list *l, int64_t count);
// Puts `t` in place of element `i`.
bool bd_list_set(bd_op_ctx *c, bd_tensor_list *l, int64_t i, const braid_tensor *t);
// Puts the elements of `t` from element `at` on, in that shape, in place of element `i`.
bool bd_list_set_part(bd_op_ctx *c, bd_tensor_list *l, int64_t i, const braid_tensor *t, int64_t at,
                      const braid_shape *shape);

// Reads input `i` as the shape of elements: an int32 or int64 vector whose dimensions may be -1, or the
// scalar -1 for an unknown shape.
bool bd_input_element_shape(bd_op_ctx *c, int i, braid_shape *shape);
// The same, merged with the element shape of the list.
bool bd_input_list_shape(bd_op_ctx *c, int i, const bd_tensor_list *l, braid_shape *shape);
// Merges `other` into `shape`.
bool bd_merge_element_shape(bd_op_ctx *c, braid_shape *shape, const braid_shape *other);
// Merges the shapes of the elements that are set into `shape`.
bool bd_merge_shapes_of_list(bd_op_ctx *c, braid_shape *shape, const bd_tensor_list *l);

bool bd_shapes_fit(const braid_shape *a, const braid_shape *b); // may be of one tensor

// For messages: as bd_shape_str, but "<unknown>" where not even the rank is known.
const char *bd_element_shape_str(const braid_shape *s, char buf[BD_SHAPE_STR_MAX]);

// `shape` behind a first dimension. False: too many.
bool bd_shape_prepend(int64_t dim, const braid_shape *shape, braid_shape *out);
// `shape` without its first dimension; unknown stays unknown.
braid_shape bd_shape_behind_first(const braid_shape *shape);

// Makes a tensor of zeros; strings and variants are empty. Returns false when memory is short.
bool bd_tensor_zeros(braid_tensor *t, braid_dtype dtype, const braid_shape *shape);

// ---- Shape functions ----

// The shape of elements in input `i`, as far as it is known before the run.
braid_code bd_shape_ctx_element_shape(bd_shape_ctx *c, int i, braid_shape *shape, braid_status *st);

// ---- Gradients ----

void bd_list_push_back_gradient(bd_grad_ctx *c);
void bd_list_pop_back_gradient(bd_grad_ctx *c);
void bd_list_stack_gradient(bd_grad_ctx *c);
void bd_list_from_tensor_gradient(bd_grad_ctx *c);
void bd_list_concat_gradient(bd_grad_ctx *c);
void bd_list_split_gradient(bd_grad_ctx *c);
void bd_list_get_item_gradient(bd_grad_ctx *c);
void bd_list_set_item_gradient(bd_grad_ctx *c);
void bd_list_resize_gradient(bd_grad_ctx *c);
void bd_list_gather_gradient(bd_grad_ctx *c);
void bd_list_scatter_gradient(bd_grad_ctx *c);
void bd_list_scatter_into_gradient(bd_grad_ctx *c);

#endif
