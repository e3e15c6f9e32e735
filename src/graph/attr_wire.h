// AttrValue messages: bd_attr on the wire.
#ifndef BD_GRAPH_ATTR_WIRE_H
#define BD_GRAPH_ATTR_WIRE_H

#include "base/wire.h"
#include "graph/attr.h"

// Reads an AttrValue up to the end of `in`. Strings and lists go to `arena`, tensors to `tensors` (also on an
// error). InvalidArgument names the malformed field.
braid_code bd_attr_read(bd_wire_reader *in, bd_attr *out, bd_arena *arena, bd_attr_tensors *tensors,
                        braid_status *st);

// Reads a whole AttrValue message. InvalidArgument too when it holds no value.
braid_code bd_attr_parse(const void *data, size_t len, bd_attr *out, bd_arena *arena,
                         bd_attr_tensors *tensors, braid_status *st);

// The size of an AttrValue, and its bytes without an enclosing tag and length.
size_t bd_attr_size(const bd_attr *attr);
void bd_attr_write(const bd_attr *attr, bd_wire_writer *out);

// Reads the length of a BYTES field and its content into `arena`, zero-terminated. False on an error.
bool bd_wire_get_bytes(bd_wire_reader *in, bd_bytes *out, bd_arena *arena);

// The size of a BYTES field of `len` bytes with its tag (of a field number below 16) and length.
static inline size_t bd_wire_bytes_size(size_t len)
{
    return 1 + bd_wire_varint_size(len) + len;
}

#endif
