// A transfer: the variables of the serving process that have changed, as the bytes of a ReplicaTransfer; and
// what the standby does with them.
#ifndef BD_CLUSTER_REPLICATION_TRANSFER_H
#define BD_CLUSTER_REPLICATION_TRANSFER_H

#include "base/array.h"
#include "base/wire.h"
#include "cluster/membership/membership.h"
#include "op/resource.h"
#include "op/variable.h"

// The variables of a task and the tasks that are done: what is replicated. Both are borrowed.
typedef struct bd_replicated {
    bd_resources *resources;
    bd_membership *membership;
} bd_replicated;

typedef struct bd_transfer {
    BD_ARRAY(bd_variable *) variables; // references
    bool is_full;                      // it lists all variables: those that are not in it do not exist
    bd_message message;
} bd_transfer;

// Builds a transfer of the variables that have changed since the last one, or of all when `is_full` or when a
// variable is gone. `copied` is the number of variables that the standby has; it is updated. Queues,
// accumulators, tables, iterators, the resources of steps and isolated sessions, and variables of variants
// are left out. ResourceExhausted: return the transfer.
braid_code bd_transfer_build(bd_transfer *t, const bd_replicated *from, bool is_full, bool is_complete,
                             size_t *copied, braid_status *st);
// The transfer has not been acknowledged: its variables count as changed again. When it is full, the next one
// must be full, too: `copied` does not show the variables that the standby still has and that are gone.
void bd_transfer_return(bd_transfer *t);
void bd_transfer_fini(bd_transfer *t);

// Applies a whole transfer. *is_complete: see ReplicaTransfer. InvalidArgument for a malformed one;
// ResourceExhausted.
braid_code bd_transfer_apply(const bd_message *message, const bd_replicated *to, bool *is_complete,
                             braid_status *st);

#endif
