// Collectives over the tasks of a cluster: groups are kept by their leader, which the others ask.
#ifndef BD_CLUSTER_WORKER_COLLECTIVES_H
#define BD_CLUSTER_WORKER_COLLECTIVES_H

#include "cluster/rpc/peers.h"
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

// ---- Steps ----

// Masters that run parts of one step give it the same graph key and the same leader, and get the same id:
// that of the step that is the next, which it is until it ends here. Each runs its steps of a key one after
// the other.

// What this task, as a leader, says is the next: one after `after`, which has failed elsewhere (0: none).
// ResourceExhausted for too many keys.
braid_code bd_task_collectives_next_step(bd_task_collectives *c, int64_t graph_key, int64_t after,
                                         int64_t *step_id, braid_status *st);
// The same for a step of this task's master; asks `leader` (NULL: this task) where it is not known. Calls
// back once.
void bd_task_collectives_begin_step(bd_task_collectives *c, const bd_peer *leader, int64_t graph_key,
                                    bd_cancellation *cancellation,
                                    void (*fn)(void *arg, int64_t step_id, const braid_status *st),
                                    void *arg);
// It has ended: the next one is another. After one that has failed, perhaps at this task alone, the leader is
// asked for one after it: a leader that runs no steps of the key knows of none.
void bd_task_collectives_end_step(bd_task_collectives *c, const bd_peer *leader, int64_t graph_key,
                                  int64_t step_id, bool has_failed);

#endif
