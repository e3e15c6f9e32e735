// A tensor as the answer to RecvTensor holds it, and as a task of Braid pushes it: whole, dead, or in chunks.
#ifndef BD_CLUSTER_RPC_RECV_TENSOR_RESPONSE_H
#define BD_CLUSTER_RPC_RECV_TENSOR_RESPONSE_H

#include "cluster/rpc/tensor_chunks.h"
#include "tensor/tensor.h"

// A key consists of two device names, a tensor's name and a few numbers. It is stored while a tensor waits.
#define BD_RENDEZVOUS_KEY_LEN_MAX 4096

// Writes the fields of a RecvTensorResponse. `chunks` stores a large tensor, which is then sent in chunks;
// NULL: the tensor is sent whole. `to` is the receiver, NULL: not known. Returns the id of the stored tensor;
// 0 when it was not stored.
uint64_t bd_recv_tensor_response_put(bd_chunk_store *chunks, int64_t step_id, const braid_tensor *tensor,
                                     bool is_dead, const bd_peer *to, bd_wire_writer *out);

// An all-zero struct is empty.
typedef struct bd_recv_tensor_response {
    braid_tensor tensor;
    bool is_dead, has_chunks;
    bd_wire_reader chunks, first_chunk; // for bd_fetch_chunks; within the message
    bd_wire_reader key;                 // within the message; empty without a key
} bd_recv_tensor_response;

// Internal for a malformed message; the errors of bd_tensor_proto_read for its tensor. On an error `out` is
// empty.
braid_code bd_recv_tensor_response_read(bd_wire_reader in, bd_recv_tensor_response *out, braid_status *st);
void bd_recv_tensor_response_fini(bd_recv_tensor_response *a);

#endif
