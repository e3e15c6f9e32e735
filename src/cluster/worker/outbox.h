// The outbox of a step: collects the tensors for other tasks of Braid and pushes them (PushTensors of the
// ClusterService), all that are ready at the same time in one message.
//
// A step pushes when its master requests it (BD_RUN_GRAPH_PUSHES), because all its tasks accept pushes
// (BD_STATUS_TAKES_PUSHES); otherwise receivers ask for each tensor by RecvTensor. A receiver that has no
// room for a tensor refuses it, and asks for it by RecvTensor later.
#ifndef BD_CLUSTER_WORKER_OUTBOX_H
#define BD_CLUSTER_WORKER_OUTBOX_H

#include "cluster/rpc/peers.h"
#include "cluster/rpc/tensor_chunks.h"
#include "op/rendezvous.h"

typedef struct bd_outbox_options {
    int64_t step_id;
    bd_chunk_store *chunk_store; // for large tensors
    bd_rendezvous *refused;      // where a tensor that is refused waits to be asked for; a reference is taken
    // Of the execution: ends pushes, and is cancelled when one fails; a reference is taken.
    bd_cancellation *cancellation;
} bd_outbox_options;

typedef struct bd_outbox bd_outbox;

// A new one with count 1.
bd_outbox *bd_outbox_new(const bd_outbox_options *options);
void bd_outbox_ref(bd_outbox *o);
void bd_outbox_unref(bd_outbox *o); // NULL is accepted

// Adds the tensor (a reference is taken). It is sent by bd_outbox_flush, or at once when many bytes to be
// sent are waiting.
void bd_outbox_put(bd_outbox *o, const bd_peer *peer, const bd_rendezvous_key *key,
                   const braid_tensor *tensor, bool is_dead);
// Pushes the waiting tensors.
void bd_outbox_flush(bd_outbox *o);
// Writes the tensors that wait for `peer` as fields BD_RUN_GRAPH_RESPONSE_PUSHED, except large ones that it
// does not read from memory.
void bd_outbox_give(bd_outbox *o, const bd_peer *peer, bd_wire_writer *out);
// Frees the waiting tensors and cancels the pushes in progress; bd_outbox_finish reports `why`.
void bd_outbox_abort(bd_outbox *o, const braid_status *why);

typedef void (*bd_outbox_fn)(void *arg, const braid_status *st);
// Pushes the waiting tensors and calls `fn` once: when all pushed tensors have arrived, perhaps before this
// returns, or with the first error.
void bd_outbox_finish(bd_outbox *o, bd_outbox_fn fn, void *arg);

#endif
