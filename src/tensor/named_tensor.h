// NamedTensorProto on the wire: a tensor with its name, as feeds, fetches and a step's tensors travel.
#ifndef BD_TENSOR_NAMED_TENSOR_H
#define BD_TENSOR_NAMED_TENSOR_H

#include "tensor/tensor_proto.h"

// An all-zero struct is empty.
typedef struct bd_named_tensor {
    char *name; // owned, zero-terminated; NULL when empty
    braid_tensor tensor;
} bd_named_tensor;

// A name is a node's or a rendezvous key; longer ones are refused.
#define BD_TENSOR_NAME_MAX 65536

void bd_named_tensor_fini(bd_named_tensor *named); // empty and usable afterwards

// Reads a NamedTensorProto from `in` up to its end. InvalidArgument when it is malformed, has no tensor, or
// has a name that is too long or contains a zero byte; errors of bd_tensor_proto_read with the name before
// them. On an error `named` is empty.
braid_code bd_named_tensor_read(bd_wire_reader *in, bd_named_tensor *named, braid_status *st);

// Writes one as field `field` of the enclosing message: tag, length, message. Large content is referenced, as
// by bd_tensor_proto_write.
void bd_named_tensor_put(const char *name, const braid_tensor *t, uint32_t field, bd_wire_writer *out);

#endif
