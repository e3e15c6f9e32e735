// Compares the cluster specification of this task with those of the tasks that it meets.
#ifndef BD_CLUSTER_MEMBERSHIP_SPEC_CHECK_H
#define BD_CLUSTER_MEMBERSHIP_SPEC_CHECK_H

#include "cluster/rpc/peers.h"
#include "op/cancellation.h"

typedef struct bd_spec_check bd_spec_check;

// `cluster` and `peers` must outlive it.
bd_spec_check *bd_spec_check_new(const braid_cluster *cluster, const bd_peers *peers);
// Call it when no call can arrive any more and the peers are closed.
void bd_spec_check_free(bd_spec_check *c);

// The fingerprint of this task's specification, which its status tells.
uint64_t bd_spec_check_fingerprint(const bd_spec_check *c);

// Compares with the specification of a peer that has answered get_status. Both tasks log a difference, once.
// Calls back exactly once, perhaps before it returns: InvalidArgument, naming the difference, when the two do
// not know the same tasks; OK for other differences, and for a peer that cannot be compared.
void bd_spec_check_peer(bd_spec_check *c, const bd_peer *peer, bd_cancellation *cancellation,
                        bd_worker_done_fn fn, void *arg);

// Serves the CompareSpecifications call of another task.
void bd_spec_check_serve(bd_spec_check *c, bd_incoming *call);

#endif
