// Lowering: functional conditionals, loops and calls become the nodes of their functions, joined by Switch, Merge and the nodes of
// loops, so that placing, pruning and partitioning see into them and their nodes may be on any task.
//
// Lowered are If, StatelessIf, While and StatelessWhile with attr `_lower_using_switch_merge`, PartitionedCall and
// StatefulPartitionedCall, and those within their functions. What cannot be (a function that is not defined, or calls itself; a
// condition that is no bool) stays, and is called when it runs.
#ifndef BD_GRAPH_LOWER_H
#define BD_GRAPH_LOWER_H

#include "graph/graph.h"

// Lowers nodes [from, count), which nobody else sees yet: such a node keeps its name, id and outputs and hands on the values of what
// takes its place, which is added behind.
void bd_graph_lower(braid_graph *g, int from);

#endif
