// A tensor as the answer to RecvTensor holds it, and as a task of Braid pushes it: whole, dead, or in parts.
#ifndef BD_CLUSTER_RPC_RECV_TENSOR_RESPONSE_H
#define BD_CLUSTER_RPC_RECV_TENSOR_RESPONSE_H

#include "cluster/rpc/tensor_chunks.h"
#include "tensor/tensor.h"

// The rendezvous key of a tensor that is pushed: a field beside those of RecvTensorResponse.
#define BD_PUSHED_KEY 1002
// A key is two device names, a tensor's name and a few numbers; it is kept while a tensor waits.
#define BD_RENDEZVOUS_KEY_LEN_MAX 4096

// Writes the fields of a RecvTensorResponse. `parts` is where a large tensor is held; NULL: it goes as a whole. What it is held as;
// 0: it is not.
uint64_t bd_tensor_answer_put(bd_held_parts *parts, int64_t step_id, const braid_tensor *tensor, bool is_dead,
                              bd_wire_writer *out);

// An all-zero struct is empty.
typedef struct bd_tensor_answer {
    braid_tensor tensor;
    bool is_dead, has_parts;
    bd_wire_reader parts, first_part; // for bd_fetch_parts; within the message
    bd_wire_reader key;               // within the message; empty where none was sent
} bd_tensor_answer;

// Internal when it is malformed; what bd_tensor_proto_read says of the tensor. On an error `out` is empty.
braid_code bd_tensor_answer_read(bd_wire_reader in, bd_tensor_answer *out, braid_status *st);
void bd_tensor_answer_fini(bd_tensor_answer *a);

#endif
