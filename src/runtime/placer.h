// Placement: gives every node of a graph a device.
//
// Rules, in order: a node placed before keeps its device (stateful nodes keep theirs for a session's life);
// nodes bound by `_class` or by a reference edge share one; the fields a device string names must match; what
// is left is ordered by type priority, then by full device name over the whole cluster, and the first is
// taken (facts of TensorFlow that known programs rely on). A node whose device names no job and whose inputs
// do not bind it therefore lands on the first task of the first job by name.
#ifndef BD_RUNTIME_PLACER_H
#define BD_RUNTIME_PLACER_H

#include "graph/graph.h"
#include "runtime/device.h"

typedef struct bd_placer_options {
    const bd_device_info *devices; // those of all tasks a session may use
    int device_count;
    // Of the session's own task; may be NULL. The rule over the whole cluster leaves it no say.
    const char *default_device;
    bool allow_soft_placement; // a device nobody has is replaced by one that is there (of the same task)
    bool log_device_placement; // one line a node: "node: (Op): /job:ps/replica:0/task:1/device:CPU:0"
} bd_placer_options;

// Sets assigned_device of nodes [from, count) of `g` (strings live in the graph's arena). InvalidArgument
// "Cannot assign a device for operation NAME: ..." says what was asked for and what there is; then no node
// has been placed.
braid_code bd_place(braid_graph *g, int from, const bd_placer_options *options, braid_status *st);

// Of `g`, a part of a graph that was placed with allow_soft_placement: the error that bd_place without it has
// for a node which is not on the device it asks for.
braid_code bd_place_check(braid_graph *g, const bd_placer_options *options, braid_status *st);

#endif
