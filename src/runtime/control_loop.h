// Control loops: what makes a loop whose body spans devices go round on each of them.
#ifndef BD_RUNTIME_CONTROL_LOOP_H
#define BD_RUNTIME_CONTROL_LOOP_H

#include "graph/graph.h"

// When `g` has loops, makes `out` a copy of it in which the nodes that steer a loop are beside its data, and
// every device that takes a value across within a loop has a control loop for it (*added true; the caller
// frees `out`). Without loops, or when the control loops are there already, *added is false. InvalidArgument
// for such a loop without a LoopCond.
braid_code bd_control_loops_add(const braid_graph *g, braid_graph *out, bool *added, braid_status *st);

// The Merge of the control loop that node `n` of a loop waits for; NULL when it waits for none.
const braid_op *bd_control_loop_of(const braid_op *n);

#endif
