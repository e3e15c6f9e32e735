// Placement: assigns a device to every node of a graph.
//
// Rules, in order: a node that was placed before keeps its device (stateful nodes keep theirs for the life of
// a session); nodes bound by `_class` or by a reference edge share one device; the fields that a device
// string names must match; of the remaining devices the first is taken, ordered by type priority, then by
// full device name over the whole cluster (known programs rely on this order of TensorFlow's). So a node
// whose device names no job and whose inputs do not bind it is placed on the first task of the first job by
// name.
#ifndef BD_RUNTIME_PLACER_H
#define BD_RUNTIME_PLACER_H

#include "graph/graph.h"
#include "runtime/device.h"

typedef struct bd_placer_options {
    const bd_device_info *devices; // the devices of all tasks that the session may use
    int device_count;
    // Of the session's own task; may be NULL. It is ignored when the op has a rule for the whole cluster.
    const char *default_device;
    bool allow_soft_placement; // replaces a device that does not exist by one of the same task: soft_device.h
    bool log_soft_placement;   // one line for each device that is replaced
    bool log_device_placement; // one line a node: "node: (Op): /job:ps/replica:0/task:1/device:CPU:0"
} bd_placer_options;

// Sets assigned_device of nodes [from, count) of `g` (strings live in the graph's arena). InvalidArgument
// "Cannot assign a device for operation NAME: ..." names the requested and the available devices; then no
// node has been placed.
braid_code bd_place(braid_graph *g, int from, const bd_placer_options *options, braid_status *st);

// For a partition `g` of a graph that was placed with allow_soft_placement: returns the error that bd_place
// without it reports for a node that is not on the requested device.
braid_code bd_place_check(braid_graph *g, const bd_placer_options *options, braid_status *st);

#endif
