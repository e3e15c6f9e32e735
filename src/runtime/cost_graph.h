// The cost model of a step (CostGraphDef): the time, memory and inputs of each node.
#ifndef BD_RUNTIME_COST_GRAPH_H
#define BD_RUNTIME_COST_GRAPH_H

#include "base/wire.h"

// Appends a CostGraphDef as field `field` of a message. `stats` is a StepStats message, `graphs` the
// partition_graphs of a RunMetadata message. Both are untrusted, since they may come from other tasks. A
// malformed message is an error, and no bytes are appended.
braid_code bd_cost_graph_put(const bd_message *stats, const bd_message *graphs, uint32_t field,
                             bd_wire_writer *out, braid_status *st);

#endif
