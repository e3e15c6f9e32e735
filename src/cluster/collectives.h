// Collectives over the tasks of a cluster: groups are kept by their leader, which the others ask.
#ifndef BD_CLUSTER_COLLECTIVES_H
#define BD_CLUSTER_COLLECTIVES_H

#include "cluster/peers.h"
#include "op/collective.h"
#include "runtime/collective_groups.h"
#include "runtime/device.h"

typedef struct bd_task_collectives bd_task_collectives;

// Both outlive it. `device` is the only one of the task.
bd_task_collectives *bd_task_collectives_new(const bd_peers *peers, const bd_device *device);
void bd_task_collectives_free(bd_task_collectives *c); // nobody joins any more

bd_collectives *bd_task_collectives_base(bd_task_collectives *c);
// Those that this task leads.
bd_collective_groups *bd_task_collectives_groups(bd_task_collectives *c);

// The id of the next step that is run with a graph key: masters that run parts of one step ask the same task for it. ResourceExhausted
// for too many keys.
braid_code bd_task_collectives_next_step(bd_task_collectives *c, int64_t graph_key, int64_t *step_id,
                                         braid_status *st);

// Fields of CompleteGroup that TensorFlow does not have, and ignores: the incarnations of devices, of the one that joins and of all.
#define BD_COMPLETE_GROUP_INCARNATION 1000
#define BD_COMPLETE_GROUP_INCARNATIONS 1000

#endif
