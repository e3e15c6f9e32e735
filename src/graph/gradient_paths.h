// The paths of a gradient: the nodes through which xs lead to ys, and the loops among them.
#ifndef BD_GRAPH_GRADIENT_PATHS_H
#define BD_GRAPH_GRADIENT_PATHS_H

#include "graph/gradient_returns.h"

typedef struct bd_gradient_paths {
    braid_graph *g;                         // not owned
    const braid_gradients_options *options; // not owned
    int count;                              // nodes there were at the start: only these are differentiated
    bool *reached;                          // [count] an x leads to it, and it is not known to be on a path
    int *depths;                            // [count] how many loops it is in
    bool *between;                          // [count] on a path from xs to ys
    bd_op_list nodes;                       // those on paths, from the ys on
    bd_gradient_loops *loops;               // NULL: no loop is on a path
    bd_returns returns;                     // for gradients of gradients of loops
} bd_gradient_paths;

// Functional conditionals, loops and calls on a path are lowered, and variables of loops get Exits. Nodes
// that are made later are in no frame: a constant is in no loop until the caller has placed it.
void bd_gradient_paths_find(bd_gradient_paths *p, braid_graph *g, const braid_gradients_options *options,
                            const braid_out *ys, int num_ys, const braid_out *xs, int num_xs);
void bd_gradient_paths_fini(bd_gradient_paths *p);
// Builds the gradient loops of the loops on paths. Which other Exits these have, and what leads to them, is
// then on a path, too.
void bd_gradient_paths_add_loops(bd_gradient_paths *p);

#endif
