// Large tensors between tasks of Braid are sent in chunks. A tensor that is received in one message lies in
// memory twice, in slices and whole, and is gathered only after its last byte has arrived; the few chunks in
// flight need little memory, which stays in the cache.
//
// The receiver announces in its RecvTensor request that it takes chunks (BD_RECV_TAKES_CHUNKS). The sender
// answers for a large tensor with a description (BD_RECV_CHUNKS) and the first chunk (BD_RECV_FIRST_CHUNK),
// and stores the tensor until the receiver has fetched each chunk by RecvChunk of the ClusterService. A
// receiver on the sender's host reads the tensor from the sender's memory instead, and says so by
// ReleaseTensor (cross_memory.h); a receiver that is another rank of the sender's MPI world has it sent by
// SendByMpi (mpi_engine.h).
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

// Whether a tensor for this receiver (NULL: not known) is worth it.
bool bd_tensor_is_chunked(const braid_tensor *t, const bd_peer *to);
// Whether the receiver reads it from memory: then its description is all that is written.
bool bd_tensor_is_read(const braid_tensor *t, const bd_peer *to);
// Writes the description and the first chunk, or how else the receiver may get it; stores the tensor (a
// reference) until a minute after the last fetch of a chunk. Returns its id; 0, with nothing written, when
// the store is full: the tensor is then sent whole.
uint64_t bd_chunk_store_put(bd_chunk_store *h, int64_t step_id, const braid_tensor *t, const bd_peer *to,
                            bd_wire_writer *out);
// Drops a tensor that the receiver has read, or will not fetch. 0 and the id of a dropped tensor are
// accepted.
void bd_chunk_store_forget(bd_chunk_store *h, uint64_t id);
// Takes a tensor out, to send it otherwise. False: it is not held any more.
bool bd_chunk_store_take(bd_chunk_store *h, uint64_t id, braid_tensor *out);
// Drops the tensors of a step that has ended.
void bd_chunk_store_drop(bd_chunk_store *h, int64_t step_id);
// A chunk that is still held, as a message; also takes the receiver's offer to read memory. Aborted for a
// tensor that is not held, OutOfRange for a chunk it does not have.
braid_code bd_chunk_store_get(bd_chunk_store *h, const Braid__RecvChunkRequest *request, bd_message *out,
                              braid_status *st);

// ---- The receiver's side ----

// Gets the tensor from the peer's memory, by MPI, or in the remaining chunks, several at a time: `chunks` is
// the description, `first` the first chunk in the peer's response. `fn` gets the tensor or the first error.
// `cancellation` (NULL: none) ends it.
void bd_fetch_chunks(const bd_peer *peer, bd_wire_reader *chunks, bd_wire_reader *first,
                     bd_cancellation *cancellation, bd_recv_fn fn, void *arg);

#endif
