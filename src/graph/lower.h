// Lowering: replaces functional conditionals, loops and calls by the nodes of their functions, connected by
// Switch, Merge and the nodes of loops. Placement, pruning and partitioning then apply to the nodes of
// functions, which may be on any task.
//
// The lowered ops are If, Case and While (and their stateless forms) with attr `_lower_using_switch_merge`,
// PartitionedCall and StatefulPartitionedCall, and these ops within their functions. A node remains as it is
// when its function is not defined or is recursive, or when its condition is not a bool; it calls its
// functions when it runs.
#ifndef BD_GRAPH_LOWER_H
#define BD_GRAPH_LOWER_H

#include "graph/graph.h"

// Lowers nodes [from, count) of a graph that is not published. A lowered node keeps its name, id and outputs
// and passes on the values of the nodes that replace it, which are appended.
void bd_graph_lower(braid_graph *g, int from);

// Lowers the marked ones of nodes [0, count), which are all nodes, and those within their functions,
// regardless of the attr: gradients go through the replacing nodes. Names of new nodes differ from those of
// bd_graph_lower, so that a session that has lowered the node accepts them, too. Returns whether a node was
// lowered.
bool bd_graph_lower_for_gradients(braid_graph *g, const bool *marked, int count);
// Whether nodes of that op can be lowered.
bool bd_op_can_be_lowered(const char *op_type);

#endif
