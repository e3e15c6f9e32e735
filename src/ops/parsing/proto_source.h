// Shared by DecodeProtoV2 and EncodeProto: the message type of a node and its fields, from the descriptors
// that the node names.
#ifndef BD_OPS_PARSING_PROTO_SOURCE_H
#define BD_OPS_PARSING_PROTO_SOURCE_H

#include "op/kernel.h"
#include "proto/descriptor_pool.h"

typedef struct bd_proto_source {
    bd_mutex mu;
    bd_descriptor_pool *pool;        // guarded by mu; NULL: not read yet, or not the node's
    const bd_message_type *type;     // guarded by mu until it is set; NULL: not read yet
    const bd_message_field **fields; // [attr field_names], owned
} bd_proto_source;

void bd_proto_source_init(bd_proto_source *s);
void bd_proto_source_fini(bd_proto_source *s);

// Finds the type and the fields that the node names, once. False: the kernel has failed.
bool bd_proto_source_find(bd_op_ctx *c, bd_proto_source *s);

// Whether values of a field are elements of that dtype.
bool bd_proto_field_has_dtype(bd_field_type type, braid_dtype dtype);

// ---- Messages on the wire, in one piece ----

typedef struct bd_proto_bytes {
    const uint8_t *at, *end;
} bd_proto_bytes;

// The wire types, groups included.
typedef enum bd_proto_wire {
    BD_PROTO_VARINT = 0,
    BD_PROTO_64_BITS = 1,
    BD_PROTO_LENGTH = 2,
    BD_PROTO_GROUP = 3,
    BD_PROTO_GROUP_END = 4,
    BD_PROTO_32_BITS = 5
} bd_proto_wire;

bd_proto_wire bd_proto_wire_of(bd_field_type type);

// A value: bits of a number (a 32-bit one is not extended), or bytes.
typedef struct bd_proto_value {
    uint64_t bits;
    bd_proto_bytes bytes;
} bd_proto_value;

// Read and move on. False: the bytes are malformed.
bool bd_proto_read_tag(bd_proto_bytes *in, uint32_t *number, bd_proto_wire *wire);
// A value of the wire type; `number` is that of the field, for the end of its group.
bool bd_proto_read_value(bd_proto_bytes *in, uint32_t number, bd_proto_wire wire, bd_proto_value *value);

// Calls fn(arg, field index, value) for each value of the fields, packed ones too, in the order of the wire.
// Skips other fields, and fields of another wire type. False: the message is malformed.
typedef bool (*bd_proto_value_fn)(void *arg, int i, const bd_proto_value *value);
bool bd_proto_each(bd_proto_bytes message, const bd_message_field *const *fields, int count,
                   bd_proto_value_fn fn, void *arg);

// Whether a message and those in it are well-formed.
bool bd_proto_is_valid(const bd_message_type *type, bd_proto_bytes message);

#endif
