// Short sequences of nodes that gradient functions of array ops share, named as TensorFlow's Python names
// them.
//
// Each is one Python call: tf.rank(x), tf.size(x), tf.stack([x, 1]), x[1:], tf.reduce_sum(x), ...
#ifndef BD_OPS_COMMON_GRAD_STEPS_H
#define BD_OPS_COMMON_GRAD_STEPS_H

#include "graph/grad.h"

// tf.reduce_sum(x): over all axes.
braid_out bd_grad_sum_all(braid_graph *g, braid_out x);
// tf.shape(x, out_type): a Const when the shape is fully known.
braid_out bd_grad_shape(braid_graph *g, braid_out x, braid_dtype out_type);
// The shape of a variable's value: a Const when the variable says it.
braid_out bd_grad_variable_shape(braid_graph *g, braid_out handle);
// tf.rank(x): a Const when the rank is known.
braid_out bd_grad_rank(braid_graph *g, braid_out x);
// tf.size(x): a Const when the shape is fully known.
braid_out bd_grad_size(braid_graph *g, braid_out x);
// tf.reshape(x, [-1])
braid_out bd_grad_flatten(braid_graph *g, braid_out x);
// tf.reshape(x, tf.shape(like))
braid_out bd_grad_reshape_like(braid_graph *g, braid_out x, braid_out like);
// tf.stack([x, last], name=name) of a scalar and a number.
braid_out bd_grad_stack_with(braid_graph *g, const char *name, braid_out x, int32_t last);
// x[...], as the operator [] of tf.Tensor makes it, with all steps 1; the masks are those of StridedSlice.
typedef struct bd_grad_index {
    int count; // of dimensions
    int32_t begin[BRAID_RANK_MAX], end[BRAID_RANK_MAX];
    int begin_mask, end_mask, new_axis_mask, shrink_axis_mask;
} bd_grad_index;
braid_out bd_grad_slice(braid_graph *g, braid_out x, const bd_grad_index *index);
// tf.gather(params, indices), of the first axis.
braid_out bd_grad_gather(braid_graph *g, braid_out params, braid_out indices);
// tf.range(0, limit, delta)
braid_out bd_grad_range(braid_graph *g, braid_out limit, int32_t delta);
// tf.concat(values, axis)
braid_out bd_grad_concat(braid_graph *g, const braid_out *values, int count, int32_t axis);

#endif
