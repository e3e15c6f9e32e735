// Finds the tasks of a session: asks each task for its devices and waits for missing tasks.
#ifndef BD_CLUSTER_MEMBERSHIP_DEVICE_FINDER_H
#define BD_CLUSTER_MEMBERSHIP_DEVICE_FINDER_H

#include "base/arena.h"
#include "base/timer.h"
#include "cluster/membership/membership.h"
#include "cluster/membership/spec_check.h"
#include "cluster/rpc/peers.h"
#include "op/cancellation.h"

typedef struct bd_found_task {
    const bd_peer *peer;
    bd_device_info *devices;
    int device_count;
} bd_found_task;

typedef struct bd_found_tasks {
    bd_found_task *items; // in the order of the peers
    int count;
    bd_arena arena; // holds all of it
} bd_found_tasks;

void bd_found_tasks_fini(bd_found_tasks *f);

typedef struct bd_find_options {
    const bd_peers *peers;
    bd_timers *timers;
    const char *what;              // the operation that waits, for messages: "CreateSession"; static
    const char *const *filters;    // device names; tasks that match none of them are excluded. Copied.
    int filter_count;              // 0: all tasks
    int64_t deadline_ns;           // BD_FOREVER: no deadline
    bd_cancellation *cancellation; // not NULL
    bd_spec_check *spec_check;     // NULL: the specifications of the tasks do not matter
    bd_membership *membership;     // knows which tasks are done with their work; NULL: all are waited for
    // The tasks are those of a cluster that a session names: the servers know their devices by other names,
    // and the found ones have those of this cluster.
    bool renames_devices;
} bd_find_options;

// `found` is valid only with OK; the callback may take it over (move the struct and zero it).
typedef void (*bd_find_fn)(void *arg, bd_found_tasks *found, const braid_status *st);

// Calls back exactly once, on any thread, perhaps before it returns. The server's own task is always among
// the found ones; one that does not answer and is done with its work is not. Logs, after a moment and then
// ever less often, the tasks that it waits for. DeadlineExceeded names them; InvalidArgument for a filter
// that is not a device name, and a task that knows other tasks than this one (spec_check.h); Cancelled.
void bd_find_devices(const bd_find_options *options, bd_find_fn fn, void *arg);

#endif
