// Copying the part of a graph that some nodes need into a new graph, with outputs replaced on the way
// (feeds).
#ifndef BD_GRAPH_SUBGRAPH_H
#define BD_GRAPH_SUBGRAPH_H

#include "graph/graph.h"

// Every edge from output `from` (of the source graph) comes from `to` (a node already in the new graph)
// instead, and `from` is not followed. Index -1 in `from` stands for the control edges out of its node; they
// come from node `to.op` then, or are dropped when that is NULL. When `source.op` is set, they come from the
// copy of that output of the source graph instead.
typedef struct bd_replacement {
    braid_out from;
    braid_out to;
    braid_out source; // its node is needed where `from` is taken
} bd_replacement;

typedef struct bd_subgraph_spec {
    braid_op *const
        *roots; // nodes of the source graph that must be there; replaced outputs do not keep them away
    int root_count;
    const bd_replacement *replacements;
    int replacement_count;
} bd_subgraph_spec;

// Copies the roots and all nodes that they need (data and control, loops included) into `to` in the order of
// the source graph, with attrs, devices, types and shapes. `map` [node count of `from`] receives the copy of
// each node, NULL for a node that is not copied. Linear time, without recursion. AlreadyExists when a name
// exists in `to`; free `to` then.
braid_code bd_subgraph(const braid_graph *from, const bd_subgraph_spec *spec, braid_graph *to, braid_op **map,
                       braid_status *st);

#endif
