// Evaluates constant subgraphs of any ops, for shape functions.
#ifndef BD_GRAPH_SUBGRAPH_EVAL_H
#define BD_GRAPH_SUBGRAPH_EVAL_H

#include "graph/graph.h"

// Stores the value of `from` where it follows from constants, and shapes that are known, by nodes without
// state: their CPU kernels run now. False when it does not, when a kernel fails, or when it takes many nodes,
// large tensors or long. The caller ends `out`.
bool bd_subgraph_eval(braid_out from, braid_tensor *out);

#endif
