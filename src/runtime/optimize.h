// Rewrites the graph of a device of this process (graph/rewrite.h); rewrites may run its kernels.
#ifndef BD_RUNTIME_OPTIMIZE_H
#define BD_RUNTIME_OPTIMIZE_H

#include "graph/graph.h"

// Rewrites `g`, whose nodes are all on one device, without the rewrites in `disabled` (BRAID_REWRITE_...).
braid_code bd_optimize(braid_graph *g, unsigned disabled, braid_status *st);

#endif
