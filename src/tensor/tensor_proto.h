// TensorProto on the wire: read into a tensor and written from one without a copy of large content.
#ifndef BD_TENSOR_TENSOR_PROTO_H
#define BD_TENSOR_TENSOR_PROTO_H

#include "base/wire.h"
#include "tensor/tensor.h"

// The limit for tensors that a few bytes describe: a short list of values that is repeated. Other tensors
// arrive with all their content.
#define BD_TENSOR_PROTO_SPLAT_MAX ((size_t)2 << 30)

// Reads a TensorProto from `in` up to its end: tensor_content or the typed value fields (a short list repeats
// its last value, an empty one means zeros), every dtype of the protocol. The content is gathered once from
// the slices into pool memory. InvalidArgument names the mistake (dtype, negative or too large shape, content
// of the wrong length, truncated field); Unimplemented for a variant other than a tensor list, naming its
// type; ResourceExhausted when memory is short or the tensor is larger than BD_TENSOR_PROTO_SPLAT_MAX. Both
// forms of a string tensor are read: string_val, and all lengths then all bytes in tensor_content. On an
// error `t` is "no tensor".
braid_code bd_tensor_proto_read(bd_wire_reader *in, braid_tensor *t, braid_status *st);

// The same from one block of memory.
braid_code bd_tensor_proto_parse(const void *data, size_t len, braid_tensor *t, braid_status *st);

// Returns whether the message has tensor_content.
bool bd_tensor_proto_has_content(bd_wire_reader in);

// The encoded size of `t`.
size_t bd_tensor_proto_size(const braid_tensor *t);

// Writes `t` (its message, without an enclosing tag and length) to `out`. Content of at least BD_WIRE_REF_MIN
// bytes is referenced, not copied: `out` holds a reference to the buffer until it is done. One element,
// strings, handles and variants are written to the typed value fields, other tensors to tensor_content. Of a
// variant other than a tensor list only the name of its type is written; the reader refuses it with that
// name.
void bd_tensor_proto_write(const braid_tensor *t, bd_wire_writer *out);

// The same for a graph that is stored or sent: a tensor of equal elements becomes one value, which
// bd_tensor_proto_read repeats. Looks at all elements.
size_t bd_tensor_proto_short_size(const braid_tensor *t);
void bd_tensor_proto_short_write(const braid_tensor *t, bd_wire_writer *out);

// Writes `t` as field `field` of the message around it: tag, length, message.
void bd_tensor_proto_put(const braid_tensor *t, uint32_t field, bd_wire_writer *out);

#endif
