// Declarations shared by the files of the gradient walk.
#ifndef BD_GRAPH_GRADIENTS_INTERNAL_H
#define BD_GRAPH_GRADIENTS_INTERNAL_H

#include "graph/graph.h"

// The sum of several gradients of one output.
braid_gradient bd_gradients_sum(braid_graph *g, const braid_gradient *grads, size_t count);

#endif
