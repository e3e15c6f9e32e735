// The rendezvous of one step on one task: a local table, and RecvTensor or pushes for what other tasks send.
#ifndef BD_CLUSTER_WORKER_REMOTE_RENDEZVOUS_H
#define BD_CLUSTER_WORKER_REMOTE_RENDEZVOUS_H

#include "cluster/rpc/peers.h"
#include "cluster/rpc/recv_tensor_response.h"
#include "cluster/worker/outbox.h"
#include "op/rendezvous.h"
#include "runtime/step_stats_collector.h"

// A new one with count 1. `peers` outlive it.
bd_rendezvous *bd_remote_rendezvous_new(int64_t step_id, const bd_peers *peers);

// Sends what the client feeds: its receiver finds it in the local table. InvalidArgument for a key that is
// none.
braid_code bd_remote_rendezvous_feed(bd_rendezvous *r, const bd_rendezvous_key *key,
                                     const braid_tensor *tensor, braid_status *st);

// A receive from the local table alone: what another task asks for, or what the graph gives to the client.
void bd_remote_rendezvous_recv_local(bd_rendezvous *r, const bd_rendezvous_key *key, bd_recv_fn fn,
                                     void *arg);

// From now on what is sent to other tasks goes to the outbox (a reference is taken), and what they send is
// waited for. Before a graph of the step runs. False when the step has one already.
bool bd_remote_rendezvous_push(bd_rendezvous *r, bd_outbox *outbox);

// A tensor that another task has pushed; no tensor: it was refused, and is to be asked for.
braid_code bd_remote_rendezvous_arrive(bd_rendezvous *r, const bd_rendezvous_key *key,
                                       const braid_tensor *tensor, bool is_dead, braid_status *st);
// The beginning of a large one: the rest is fetched from the peer.
void bd_remote_rendezvous_arrive_in_chunks(bd_rendezvous *r, const bd_peer *peer,
                                           const bd_rendezvous_key *key, bd_recv_tensor_response *answer);

// From now on each tensor that comes from another task is recorded in `stats` (a reference is taken) as
// received by `device` (not owned, outlives it). The first call counts.
void bd_remote_rendezvous_trace(bd_rendezvous *r, bd_step_stats_collector *stats, const char *device);

// The local table, where other tasks find what they ask for. Borrowed.
bd_rendezvous *bd_remote_rendezvous_local(bd_rendezvous *r);

// Whether nothing waits in the local table.
bool bd_remote_rendezvous_is_empty(bd_rendezvous *r);

#endif
