// Compares the specifications of a cluster that two tasks were started with.
#ifndef BD_CLUSTER_SPEC_CLUSTER_COMPARE_H
#define BD_CLUSTER_SPEC_CLUSTER_COMPARE_H

#include "base/strbuf.h"
#include "cluster/spec/cluster_spec.h"

// Returns a number that is the same for specifications with the same tasks and addresses, as they are
// written; never 0.
uint64_t bd_cluster_fingerprint(const braid_cluster *c);

// From the least to the most serious.
typedef enum bd_cluster_difference {
    BD_CLUSTERS_AGREE,
    // Addresses are written differently: bd_address_is_same, or one is 0.0.0.0 or [::], by which a task lists
    // its own port on all addresses.
    BD_CLUSTERS_SPELLING,
    // A task has another address. It may be the same task, behind a proxy or by another name of its host.
    BD_CLUSTERS_ADDRESS,
    // A task is missing in one of them, which is not sparse.
    BD_CLUSTERS_TASKS,
} bd_cluster_difference;

// Returns the most serious difference of another task's cluster from this task's `own`, and appends the
// differences of this kind to `text`, the first few by name: "it has /job:ps/task:1 at b:1, this task has
// none".
bd_cluster_difference bd_cluster_compare(const braid_cluster *own, const braid_cluster *other,
                                         bd_strbuf *text);

#endif
