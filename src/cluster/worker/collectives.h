// Collectives over the tasks of a cluster: the leader of a group stores it, and the other tasks ask the
// leader.
#ifndef BD_CLUSTER_WORKER_COLLECTIVES_H
#define BD_CLUSTER_WORKER_COLLECTIVES_H

#include "cluster/rpc/peers.h"
#include "op/collective.h"
#include "runtime/collective_groups.h"
#include "runtime/device.h"

typedef struct bd_task_collectives bd_task_collectives;

// Both outlive it. `devices` are those of the task.
bd_task_collectives *bd_task_collectives_new(const bd_peers *peers, const bd_local_devices *devices);
void bd_task_collectives_free(bd_task_collectives *c); // no more members may join

bd_collectives *bd_task_collectives_base(bd_task_collectives *c);
// The groups that this task leads.
bd_collective_groups *bd_task_collectives_groups(bd_task_collectives *c);

// ---- Steps ----

// Masters that run parts of one step pass the same graph key and the same leader, and get the same step id:
// that of the next step, until that step ends here. Each master runs the steps of a key one after the other.

// Returns this task's, the leader's, next step: one after `after`, which has failed elsewhere (0: none).
// ResourceExhausted for too many keys.
braid_code bd_task_collectives_next_step(bd_task_collectives *c, int64_t graph_key, int64_t after,
                                         int64_t *step_id, braid_status *st);
// The same for a step of this task's master; asks `leader` (NULL: this task) when the next step is not known.
// Calls back once.
void bd_task_collectives_begin_step(bd_task_collectives *c, const bd_peer *leader, int64_t graph_key,
                                    bd_cancellation *cancellation,
                                    void (*fn)(void *arg, int64_t step_id, const braid_status *st),
                                    void *arg);
// The step has ended: the next one gets another id. After a step that failed, perhaps at this task alone, the
// leader is asked for the one after it, because a leader that runs no steps of the key does not learn of the
// failure.
void bd_task_collectives_end_step(bd_task_collectives *c, const bd_peer *leader, int64_t graph_key,
                                  int64_t step_id, bool has_failed);

#endif
