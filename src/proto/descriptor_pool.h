// Types of messages that a FileDescriptorSet describes, found by name.
#ifndef BD_PROTO_DESCRIPTOR_POOL_H
#define BD_PROTO_DESCRIPTOR_POOL_H

#include "base/status.h"
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bd_descriptor_pool bd_descriptor_pool;
typedef struct bd_message_type bd_message_type;

// The types of fields, as descriptor.proto numbers them.
typedef enum bd_field_type {
    BD_FIELD_DOUBLE = 1,
    BD_FIELD_FLOAT,
    BD_FIELD_INT64,
    BD_FIELD_UINT64,
    BD_FIELD_INT32,
    BD_FIELD_FIXED64,
    BD_FIELD_FIXED32,
    BD_FIELD_BOOL,
    BD_FIELD_STRING,
    BD_FIELD_GROUP,
    BD_FIELD_MESSAGE,
    BD_FIELD_BYTES,
    BD_FIELD_UINT32,
    BD_FIELD_ENUM,
    BD_FIELD_SFIXED32,
    BD_FIELD_SFIXED64,
    BD_FIELD_SINT32,
    BD_FIELD_SINT64
} bd_field_type;

// The name of a type in .proto files: "int32".
const char *bd_field_type_name(bd_field_type type);

// A field of a message. Strings belong to the pool.
typedef struct bd_message_field {
    const char *name;
    uint32_t number;
    bd_field_type type;
    bool is_repeated, is_packed;    // packed: the options say so
    const bd_message_type *message; // of a message or group; else NULL
    // The default: the bits of an integer or an enumerator (zigzag done, signs extended), a floating point
    // number, or bytes.
    uint64_t default_bits;
    double default_number;
    const char *default_bytes;
    size_t default_len;
} bd_message_field;

// Reads a serialized FileDescriptorSet. InvalidArgument when it is malformed, a name is defined twice or is
// missing, or a field is invalid. On an error *pool is NULL.
braid_code bd_descriptor_pool_new(const void *data, size_t len, bd_descriptor_pool **pool, braid_status *st);
void bd_descriptor_pool_free(bd_descriptor_pool *pool); // NULL is accepted

// The messages of src/proto. Made at the first call; it stays to the end of the process.
const bd_descriptor_pool *bd_descriptor_pool_of_braid(void);

// The message of that full name ("tensorflow.Example"); NULL: there is none.
const bd_message_type *bd_descriptor_pool_find(const bd_descriptor_pool *pool, const char *name);

const char *bd_message_type_name(const bd_message_type *type);
int bd_message_type_field_count(const bd_message_type *type);
const bd_message_field *bd_message_type_field(const bd_message_type *type, int i); // by growing number
// The field of that name, or the extension of that full name; NULL: there is none.
const bd_message_field *bd_message_type_find(const bd_message_type *type, const char *name);

// The type for the text format (proto/text_format.h, bd_text_format_to_wire only). It lacks groups;
// extensions are fields called "[full.name]".
const ProtobufCMessageDescriptor *bd_message_type_descriptor(const bd_message_type *type);

#endif
