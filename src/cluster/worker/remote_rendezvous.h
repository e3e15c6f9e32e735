// The rendezvous of one step on one task: a local table, with RecvTensor or pushes for tensors of other
// tasks.
#ifndef BD_CLUSTER_WORKER_REMOTE_RENDEZVOUS_H
#define BD_CLUSTER_WORKER_REMOTE_RENDEZVOUS_H

#include "cluster/rpc/peers.h"
#include "cluster/rpc/recv_tensor_response.h"
#include "cluster/worker/outbox.h"
#include "op/rendezvous.h"
#include "runtime/step_stats_collector.h"

// A new one with count 1. `peers` outlive it.
bd_rendezvous *bd_remote_rendezvous_new(int64_t step_id, const bd_peers *peers);
// The tasks that the names in the step's keys stand for, before its first graph runs. Returns whether they
// are `peers` now.
bool bd_remote_rendezvous_use_peers(bd_rendezvous *r, const bd_peers *peers, bool may_change);

// Sends a value that the client feeds: its receiver finds it in the local table. InvalidArgument for a
// malformed key.
braid_code bd_remote_rendezvous_feed(bd_rendezvous *r, const bd_rendezvous_key *key,
                                     const braid_tensor *tensor, braid_status *st);

// Receives from the local table alone: a tensor that another task asks for, or that the graph returns to the
// client.
void bd_remote_rendezvous_recv_local(bd_rendezvous *r, const bd_rendezvous_key *key, bd_recv_fn fn,
                                     void *arg);

// From now on tensors for other tasks go to the outbox (a reference is taken), and tensors of other tasks are
// expected as pushes. Call it before a graph of the step runs. False when the step has an outbox already.
bool bd_remote_rendezvous_push(bd_rendezvous *r, bd_outbox *outbox);

// A tensor that another task has pushed; no tensor: it was refused, and is to be asked for.
braid_code bd_remote_rendezvous_arrive(bd_rendezvous *r, const bd_rendezvous_key *key,
                                       const braid_tensor *tensor, bool is_dead, braid_status *st);
// The beginning of a large one: the rest is fetched from the peer.
void bd_remote_rendezvous_arrive_in_chunks(bd_rendezvous *r, const bd_peer *peer,
                                           const bd_rendezvous_key *key, bd_recv_tensor_response *answer);

// From now on each tensor from another task is recorded in `stats` (a reference is taken) as received by
// `device` (not owned, outlives it). Later calls are ignored.
void bd_remote_rendezvous_trace(bd_rendezvous *r, bd_step_stats_collector *stats, const char *device);

// The local table, in which other tasks' requests find their tensors. Borrowed.
bd_rendezvous *bd_remote_rendezvous_local(bd_rendezvous *r);

// Returns whether the local table holds neither tensors nor receivers.
bool bd_remote_rendezvous_is_empty(bd_rendezvous *r);

#endif
