// Partitioning: one graph into one per task or device, with Send and Recv at the cuts.
#ifndef BD_RUNTIME_PARTITION_H
#define BD_RUNTIME_PARTITION_H

#include "graph/graph.h"
#include "runtime/device.h"

typedef struct bd_partition {
    const char *location; // the task or device, as `locate` gave it; owned by the partition
    braid_graph graph;
} bd_partition;

typedef struct bd_partitions {
    bd_partition *items;
    int count;
} bd_partitions;

typedef struct bd_partition_options {
    // The part a node belongs to, from its assigned device: its task ("/job:ps/replica:0/task:0") or the
    // device itself.
    bool by_device;                // else by task
    const bd_device_info *devices; // for incarnations in keys
    int device_count;
    bool sends_bfloat16; // floats cross as bfloat16 (GraphOptions.enable_bfloat16_sendrecv)
} bd_partition_options;

// Cuts `g`, whose nodes are all placed, into partitions. An output with consumers in other partitions is sent
// once to each device that consumes it; a control edge is sent as an empty Const; a loop that spans
// partitions gets control nodes (Enter, Merge, Switch, NextIteration) in each of them. Consumers of the same
// output share one `_Recv`. With sends_bfloat16 a Cast truncates each float tensor to bfloat16 before its
// `_Send`, and a Cast after the `_Recv` makes it a float again, as in TensorFlow. Existing client-terminated
// Send and Recv nodes are unchanged.
braid_code bd_partition_graph(const braid_graph *g, const bd_partition_options *options, bd_partitions *out,
                              braid_status *st);
void bd_partitions_fini(bd_partitions *p);

#endif
