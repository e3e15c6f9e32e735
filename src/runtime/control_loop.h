// Control loops: nodes that iterate a loop on every device that its body spans.
#ifndef BD_RUNTIME_CONTROL_LOOP_H
#define BD_RUNTIME_CONTROL_LOOP_H

#include "graph/graph.h"

// When `g` has loops, makes `out` a copy of it in which the control nodes of each loop are colocated with its
// data, and every device that receives a value within a loop has a control loop for it (*added true; the
// caller frees `out`). Without loops, or when the control loops exist already, *added is false.
// InvalidArgument for a loop that spans devices and has no LoopCond.
braid_code bd_control_loops_add(const braid_graph *g, braid_graph *out, bool *added, braid_status *st);

// Returns the Merge of the control loop that node `n` of a loop waits for; NULL when there is none.
const braid_op *bd_control_loop_of(const braid_op *n);

#endif
