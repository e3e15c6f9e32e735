// The worker of another task, over its channel and TensorFlow's WorkerService.
#ifndef BD_CLUSTER_WORKER_REMOTE_WORKER_H
#define BD_CLUSTER_WORKER_REMOTE_WORKER_H

#include "cluster/rpc/worker_interface.h"
#include "op/rendezvous.h"

struct bd_peer;
struct bd_peers;

// Sets the worker of each peer but the server's own task. `peers` outlive the workers.
void bd_remote_workers_new(struct bd_peers *peers);
// After bd_peers_close, before bd_peers_fini.
void bd_remote_workers_free(struct bd_peers *peers);

// Asks for a tensor that the task sends in a step. Aborted when that step is over there, or the device is
// another one by now.
void bd_remote_recv_tensor(const struct bd_peer *peer, int64_t step_id, const bd_rendezvous_key *key,
                           bd_cancellation *cancellation, bd_recv_fn fn, void *arg);

#endif
