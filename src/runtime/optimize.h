// Rewriting what a device of this process is to run (graph/rewrite.h), with its kernels at hand.
#ifndef BD_RUNTIME_OPTIMIZE_H
#define BD_RUNTIME_OPTIMIZE_H

#include "graph/graph.h"

// Rewrites `g`, whose nodes are all on one device, unless `disabled` (BRAID_REWRITE_...) says not to.
braid_code bd_optimize(braid_graph *g, unsigned disabled, braid_status *st);

#endif
