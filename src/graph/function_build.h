// The bodies of functions while they are built (braid/function.h): what the builder must know of them.
#ifndef BD_GRAPH_FUNCTION_BUILD_H
#define BD_GRAPH_FUNCTION_BUILD_H

#include "graph/graph.h"

// The value of `from` in `g`: a captured argument when `g` is a body and `from` of a graph around it. `from`
// itself in every other case.
braid_out bd_function_capture(braid_graph *g, braid_out from);

#endif
