// TensorShapeProto on the wire: a part of TensorProto and of tensor lists.
#ifndef BD_TENSOR_SHAPE_PROTO_H
#define BD_TENSOR_SHAPE_PROTO_H

#include "base/wire.h"
#include "tensor/shape.h"

// The shape as received, unchecked: zeroed before the first message is read; a further message adds
// dimensions.
typedef struct bd_shape_proto {
    int rank;          // dimensions seen; perhaps more than the shape holds
    braid_shape shape; // its first dimensions, perhaps negative; its rank is not set
    bool unknown_rank;
} bd_shape_proto;

// False: malformed.
bool bd_shape_proto_read(bd_wire_reader in, bd_shape_proto *p);

// The encoded size, and the message without an enclosing tag and length. Dimensions and rank may be unknown.
size_t bd_shape_proto_size(const braid_shape *s);
void bd_shape_proto_write(const braid_shape *s, bd_wire_writer *out);

#endif
