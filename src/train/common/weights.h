// Weights of values in losses and metrics: TensorFlow's rules for their shapes.
#ifndef BD_TRAIN_WEIGHTS_H
#define BD_TRAIN_WEIGHTS_H

#include <braid/graph.h>

// Fails the graph unless both are there and their shapes may be equal. `what` is the caller, for the message.
bool train_shapes_agree(braid_graph *g, const char *what, braid_out labels, braid_out predictions);

// Returns `weights` for an element-wise product with `values`: a scalar, or of the rank of `values` with each
// dimension 1 or equal. Unknown dimensions are checked when the result is computed. The graph fails for
// others.
braid_out train_check_weights(braid_graph *g, const char *what, braid_out weights, braid_out values);

// Checked weights in the shape of `values`.
braid_out train_broadcast_weights(braid_graph *g, braid_out weights, braid_out values);

// x without its last dimension when that is 1 and x has `rank` + 1 dimensions; else x.
braid_out train_squeeze_last(braid_graph *g, braid_out x, int rank);

// The sum of all elements, called `name`, which may be a scope (NULL: "Sum").
braid_out train_sum_named(braid_graph *g, const char *name, braid_out x);

#endif
