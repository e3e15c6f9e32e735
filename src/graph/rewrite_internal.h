// Declarations shared by the files of the rewriter.
#ifndef BD_GRAPH_REWRITE_INTERNAL_H
#define BD_GRAPH_REWRITE_INTERNAL_H

#include "graph/rewrite.h"

// Properties of a node during rewriting; by node id.
typedef struct bd_rewrite_info {
    BD_ARRAY(bd_consumer) consumers; // all edges, and some removed ones (rewriter.c)
    bool is_root;                    // had no consumers when rewriting began: it is kept for its effect
    bool may_be_dead;
    bool is_ordered;
    bool follows_update;
    bool is_removed;
} bd_rewrite_info;

struct bd_rewriter {
    braid_graph *graph;
    const bd_rewrite_options *options;
    bd_op_list order;
    BD_ARRAY(bd_rewrite_info) info; // [nodes of the graph]
};

// rewriter.c
// InvalidArgument: the graph cannot be run.
braid_code bd_rewriter_init(bd_rewriter *r, braid_graph *g, const bd_rewrite_options *options,
                            braid_status *st);
void bd_rewriter_fini(bd_rewriter *r);
// Removes from the graph the removed nodes and those that are not needed any more.
void bd_rewriter_sweep(bd_rewriter *r);
// Returns whether `n` may run although some of its outputs are dead. A control edge from it is then not
// equivalent to a data edge.
bool bd_rewriter_brings_death(const braid_op *n);
// Returns whether `n` runs after a node that is not pure, or is not pure itself, so that nodes after it run
// after that node, too.
bool bd_rewriter_is_ordered(const bd_rewriter *r, const braid_op *n);
// `n` runs after `control`, too.
void bd_rewriter_add_control(bd_rewriter *r, braid_op *n, braid_op *control);

// The passes of this module.
braid_code bd_rewrite_fold(bd_rewriter *r, braid_status *st);         // rewrite_fold.c
braid_code bd_rewrite_merge(bd_rewriter *r, braid_status *st);        // rewrite_merge.c
braid_code bd_rewrite_dependencies(bd_rewriter *r, braid_status *st); // rewrite_dependencies.c

#endif
