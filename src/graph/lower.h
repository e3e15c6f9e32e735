// Lowering: functional conditionals, loops and calls become the nodes of their functions, joined by Switch,
// Merge and the nodes of loops, so that placing, pruning and partitioning see into them and their nodes may
// be on any task.
//
// Lowered are If, Case and While, stateless or not, with attr `_lower_using_switch_merge`, PartitionedCall
// and StatefulPartitionedCall, and those within their functions. What cannot be (a function that is not
// defined, or calls itself; a condition that is no bool) stays, and is called when it runs.
#ifndef BD_GRAPH_LOWER_H
#define BD_GRAPH_LOWER_H

#include "graph/graph.h"

// Lowers nodes [from, count), which nobody else sees yet: such a node keeps its name, id and outputs and
// hands on the values of what takes its place, which is added behind.
void bd_graph_lower(braid_graph *g, int from);

// Lowers the marked of nodes [0, count), all that there are, and those within their functions, whether or not
// they ask for it: gradients go through what takes their place. What is added has names that it does not get
// from bd_graph_lower, so that a session that has lowered the node takes it as well. Returns whether anything
// was lowered.
bool bd_graph_lower_for_gradients(braid_graph *g, const bool *marked, int count);
// Whether nodes of that op can be lowered.
bool bd_op_can_be_lowered(const char *op_type);

#endif
