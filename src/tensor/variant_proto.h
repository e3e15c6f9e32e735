// Variants on the wire (VariantTensorDataProto): lists of tensors are written with their content, other
// variants as the type's name.
#ifndef BD_TENSOR_VARIANT_PROTO_H
#define BD_TENSOR_VARIANT_PROTO_H

#include "base/wire.h"
#include "tensor/tensor.h"

// The encoded size, and the message without an enclosing tag and length. NULL: an empty message.
size_t bd_variant_proto_size(const bd_variant *v);
void bd_variant_proto_write(const bd_variant *v, bd_wire_writer *out);

// Reads a message up to its end, in a tensor that is in `depth` lists; *v is NULL where it is empty.
// InvalidArgument: malformed, or too deep. Unimplemented: not a list. ResourceExhausted.
braid_code bd_variant_proto_read(bd_wire_reader in, int depth, bd_variant **v, braid_status *st);

// bd_tensor_proto_read of a tensor that is in `depth` lists.
braid_code bd_tensor_proto_read_nested(bd_wire_reader *in, int depth, braid_tensor *t, braid_status *st);

#endif
