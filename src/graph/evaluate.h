// Running a kernel while the graph is built or rewritten: constant folding, and shapes that follow from
// constants.
#ifndef BD_GRAPH_EVALUATE_H
#define BD_GRAPH_EVALUATE_H

#include "graph/graph.h"

// Runs the kernel of `node`, as long as the thread is not interrupted (Cancelled), over `inputs`
// [input_count], outside of any step, into `outputs` [output_count], "no tensor" before. On an error all
// outputs are "no tensor". A tensor without memory gives only its type and shape (for BD_ROLE_METADATA).
typedef braid_code (*bd_evaluate_fn)(const braid_op *node, const braid_tensor *inputs, braid_tensor *outputs,
                                     braid_status *st);

// Uses the CPU's kernels, which are above this module (op/evaluate.c). Unimplemented in programs without
// them.
braid_code bd_evaluate_node(const braid_op *node, const braid_tensor *inputs, braid_tensor *outputs,
                            braid_status *st);

#endif
