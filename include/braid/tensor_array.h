// Arrays of tensors that the iterations of a loop read and write (tf.TensorArray).
//
// An array lasts as long as the step. Its ops are ordered by `flow`: a write returns the array with a new
// flow, which the next op must use, and which is the loop variable for arrays that a loop writes. Gradients
// go through arrays. Errors are the graph's (graph.h).
#ifndef BRAID_TENSOR_ARRAY_H
#define BRAID_TENSOR_ARRAY_H

#include <braid/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_tensor_array {
    braid_out handle, flow;    ///< a resource, and a float scalar; ops NULL when the graph has failed
    braid_dtype dtype;         ///< of its elements
    braid_shape element_shape; ///< of each element, as far as known
    bool varied_shapes;        ///< elements have different shapes
} braid_tensor_array;

/// Options of an array; all zero (or NULL): a fixed size, each element is read once.
typedef struct braid_tensor_array_options {
    bool dynamic_size;       ///< writes beyond the end make it longer
    bool keep_after_read;    ///< an element may be read several times (clear_after_read=False)
    bool varied_shapes;      ///< elements may have different shapes (infer_shape=False)
    const char *name;        ///< NULL: "TensorArray"
    const char *shared_name; ///< tensor_array_name; NULL: ""
} braid_tensor_array_options;

/// Makes an array of `size` (int32 scalar) elements.
BRAID_API braid_tensor_array braid_tensor_array_new(braid_graph *graph, braid_dtype dtype,
                                                    braid_shape element_shape, braid_out size,
                                                    const braid_tensor_array_options *options);
/// Element `index` (int32 scalar), which must have been written.
BRAID_API braid_out braid_tensor_array_read(braid_graph *graph, braid_tensor_array array, braid_out index);
/// Writes an element, once each; returns the array after it. Here and below, the graph fails when `value` has
/// another type or shape than the elements.
BRAID_API braid_tensor_array braid_tensor_array_write(braid_graph *graph, braid_tensor_array array,
                                                      braid_out index, braid_out value);
/// The elements `indices` (int32 [n]), joined along a new first dimension.
BRAID_API braid_out braid_tensor_array_gather(braid_graph *graph, braid_tensor_array array,
                                              braid_out indices);
/// Writes the slices of `value` along its first dimension to the elements `indices` (int32 [n]).
BRAID_API braid_tensor_array braid_tensor_array_scatter(braid_graph *graph, braid_tensor_array array,
                                                        braid_out indices, braid_out value);
/// All elements, joined along their first dimension, in which they may differ.
BRAID_API braid_out braid_tensor_array_concat(braid_graph *graph, braid_tensor_array array);
/// Writes pieces of `value` along its first dimension to the elements; `lengths` are their lengths (int32 or
/// int64 [size]).
BRAID_API braid_tensor_array braid_tensor_array_split(braid_graph *graph, braid_tensor_array array,
                                                      braid_out value, braid_out lengths);
/// A node that frees the array's elements before the step ends.
BRAID_API braid_op *braid_tensor_array_close(braid_graph *graph, braid_tensor_array array);
/// The number of elements, an int32 scalar.
BRAID_API braid_out braid_tensor_array_size(braid_graph *graph, braid_tensor_array array);
/// All elements, joined along a new first dimension.
BRAID_API braid_out braid_tensor_array_stack(braid_graph *graph, braid_tensor_array array);
/// Writes the slices of `value` along its first dimension to the elements; returns the array after it.
BRAID_API braid_tensor_array braid_tensor_array_unstack(braid_graph *graph, braid_tensor_array array,
                                                        braid_out value);

#ifdef __cplusplus
}
#endif
#endif
