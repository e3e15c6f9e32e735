// What a step sends to other tasks of Braid without being asked: tensors are gathered here and pushed
// (PushTensors of the ClusterService), those that are ready at the same time in one message.
//
// A step pushes when its master says so (BD_RUN_GRAPH_PUSHES), since all its tasks have said that they take
// it (BD_STATUS_TAKES_PUSHES); else its tensors are asked for, one by one, by RecvTensor. A receiver that has
// no room yet refuses a tensor, which is then asked for, too.
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

// The tensor (a reference is taken) waits for bd_outbox_flush, or for so many others that they go now.
void bd_outbox_put(bd_outbox *o, const bd_peer *peer, const bd_rendezvous_key *key,
                   const braid_tensor *tensor, bool is_dead);
// Pushes what waits.
void bd_outbox_flush(bd_outbox *o);
// Writes what waits for `peer` as fields BD_RUN_GRAPH_RESPONSE_PUSHED, but for large tensors.
void bd_outbox_give(bd_outbox *o, const bd_peer *peer, bd_wire_writer *out);
// What waits is freed, what is on its way is cancelled; bd_outbox_finish says why.
void bd_outbox_abort(bd_outbox *o, const braid_status *why);

typedef void (*bd_outbox_fn)(void *arg, const braid_status *st);
// Pushes what waits and calls `fn` when all that was pushed has arrived, perhaps before this returns, or with
// the first error. Once.
void bd_outbox_finish(bd_outbox *o, bd_outbox_fn fn, void *arg);

#endif
