// The worker of another task, over its channel and TensorFlow's WorkerService.
#ifndef BD_CLUSTER_WORKER_REMOTE_WORKER_H
#define BD_CLUSTER_WORKER_REMOTE_WORKER_H

#include "cluster/rpc/worker_interface.h"
#include "op/rendezvous.h"

struct bd_peer;

// `peer` outlives it. Freed after its transport is gone.
bd_worker *bd_remote_worker_new(const struct bd_peer *peer);
void bd_remote_worker_free(bd_worker *w);

// Asks for a tensor that the task sends in a step. Aborted when that step is over there, or the device is
// another one by now.
void bd_remote_recv_tensor(const struct bd_peer *peer, int64_t step_id, const bd_rendezvous_key *key,
                           bd_cancellation *cancellation, bd_recv_fn fn, void *arg);

#endif
