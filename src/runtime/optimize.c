// Rewriting with the CPU's kernels at hand.
#include "runtime/optimize.h"

#include "graph/rewrite.h"

braid_code bd_optimize(braid_graph *g, unsigned disabled, braid_status *st)
{
    return bd_rewrite_graph(g, &(bd_rewrite_options){.off = disabled, .evaluate = bd_evaluate_node}, st);
}
