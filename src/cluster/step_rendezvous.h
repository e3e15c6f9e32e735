// The rendezvous of one step on one task: a local table, and RecvTensor for what other tasks send.
#ifndef BD_CLUSTER_STEP_RENDEZVOUS_H
#define BD_CLUSTER_STEP_RENDEZVOUS_H

#include "cluster/peers.h"
#include "op/rendezvous.h"

// A new one with count 1. `peers` outlive it.
bd_rendezvous *bd_step_rendezvous_new(int64_t step_id, const bd_peers *peers);

// Sends what the client feeds: its receiver finds it here, though the key may name another task as the
// sender.
braid_code bd_step_rendezvous_feed(bd_rendezvous *r, const bd_rendezvous_key *key, const braid_tensor *tensor,
                                   braid_status *st);

// A receive from the local table alone: what another task asks for, or what the graph gives to the client.
void bd_step_rendezvous_recv_local(bd_rendezvous *r, const bd_rendezvous_key *key, bd_recv_fn fn, void *arg);

// Whether nothing waits in the local table.
bool bd_step_rendezvous_is_empty(bd_rendezvous *r);

#endif
