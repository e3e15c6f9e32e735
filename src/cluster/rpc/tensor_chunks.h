// Large tensors between tasks of Braid, in chunks: a tensor that comes as one message lies in memory twice,
// in pieces and whole, and must have come before it is gathered; chunks that are on the way at the same time
// need little memory, which stays warm.
//
// The receiver says in its RecvTensor request that it takes chunks (BD_RECV_TAKES_CHUNKS). The sender then
// answers a large tensor with a description (BD_RECV_CHUNKS) and the first chunk (BD_RECV_FIRST_CHUNK), and
// holds the tensor until each chunk has been fetched by RecvChunk of the ClusterService.
#ifndef BD_CLUSTER_RPC_TENSOR_CHUNKS_H
#define BD_CLUSTER_RPC_TENSOR_CHUNKS_H

#include "base/timer.h"
#include "base/wire.h"
#include "cluster/rpc/peers.h"
#include "op/rendezvous.h"

// ---- The sender's side ----

typedef struct bd_chunk_store bd_chunk_store; // the tensors of a server that are being fetched

// Holds at most `bytes_max` (shared memory counts for each), or one tensor of any size. `timers` outlive it.
bd_chunk_store *bd_chunk_store_new(bd_timers *timers, size_t bytes_max);
void bd_chunk_store_free(bd_chunk_store *h); // no call is in progress; NULL is accepted

// Whether a tensor is worth it.
bool bd_tensor_is_chunked(const braid_tensor *t);
// Writes description and first chunk, and holds the tensor (a reference) for the others: for a minute after
// each. Its number, or 0, with nothing written, when too much is held: it is to be sent whole.
uint64_t bd_chunk_store_put(bd_chunk_store *h, int64_t step_id, const braid_tensor *t, bd_wire_writer *out);
// Lets go of a tensor whose receiver does not fetch it; 0 is accepted, and one that is not held any more.
void bd_chunk_store_forget(bd_chunk_store *h, uint64_t id);
// Lets go of the tensors of a step, which nobody receives any more.
void bd_chunk_store_drop(bd_chunk_store *h, int64_t step_id);
// A chunk that is still held, as a message. Aborted for a tensor that is not, OutOfRange for a chunk it does
// not have.
braid_code bd_chunk_store_get(bd_chunk_store *h, uint64_t id, uint64_t chunk, bd_message *out,
                              braid_status *st);

// ---- The receiver's side ----

// What an answer said: `chunks` is the description, `first` the first chunk. Fetches the others from the
// peer, several at a time; `fn` gets the tensor or the first error. `cancellation` (NULL: none) ends it.
void bd_fetch_chunks(const bd_peer *peer, bd_wire_reader *chunks, bd_wire_reader *first,
                     bd_cancellation *cancellation, bd_recv_fn fn, void *arg);

#endif
