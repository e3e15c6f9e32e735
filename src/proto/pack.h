// Packing and unpacking of protobuf-c messages: checked before the library recurses into them, held in an
// arena, gathered from and written to lists of slices.
//
// Messages that carry tensors are not unpacked whole: bd_wire_split takes the tensors out by hand and leaves
// the rest for the library. `type` is a generated descriptor, tensorflow__graph_def__descriptor for instance;
// errors name the message.
#ifndef BD_PROTO_PACK_H
#define BD_PROTO_PACK_H

#include "base/wire.h"
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

// The most bytes that go through the library in one message: protobuf's own limit.
#define BD_PROTO_BYTES_MAX ((size_t)INT32_MAX)

// Where unpacked messages live: memory that is taken piece by piece and given back at once. It grows on
// unpacking only, by at most BD_PROTO_EXPANSION_MAX times the bytes of the message (and one chunk), so that a
// small hostile message cannot claim much memory. Not thread safe. Zero-initialized is a valid empty arena.
typedef struct bd_proto_arena {
    struct bd_proto_chunk *chunks; // the newest first
    char *next, *end;              // free part of the newest
    size_t held, limit;            // bytes of all chunks, and their limit
    bool exhausted;                // the system had no memory, or the limit was met
} bd_proto_arena;

// The densest legitimate message: elements of two bytes that become a struct of a few hundred and a pointer
// to it.
#define BD_PROTO_EXPANSION_MAX 256

// Gives everything back; the arena is empty and usable afterwards. Messages in it are never freed one by one.
void bd_proto_arena_fini(bd_proto_arena *arena);

// `BD_PROTO_ARENA(arena);` declares an arena that is given back at the end of its scope.
#define BD_PROTO_ARENA(name)                                                                                 \
    __attribute__((cleanup(bd_proto_arena_fini))) bd_proto_arena name##_storage = {0};                       \
    bd_proto_arena *name = &name##_storage

// Unpacks a message of the given type into the arena. Returns it (to be used as a pointer to the type's
// struct; it does not refer to `data`), or NULL with `st` filled: InvalidArgument when it is malformed or
// nests deeper than BD_WIRE_DEPTH_MAX, ResourceExhausted when it is too large.
void *bd_proto_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t len,
                      bd_proto_arena *arena, braid_status *st);

// The same from a list of slices.
void *bd_proto_unpack_message(const ProtobufCMessageDescriptor *type, const bd_message *in,
                              bd_proto_arena *arena, braid_status *st);

// Returns whether a received message had a field that its type does not have.
bool bd_proto_has_unknown(const ProtobufCMessage *message, uint32_t field);
// Returns the value of such a field of type fixed64; 0: the message has none.
uint64_t bd_proto_unknown_fixed64(const ProtobufCMessage *message, uint32_t field);

// Returns the bytes of such a field of type bytes, within the message; NULL: the message has none.
const uint8_t *bd_proto_unknown_bytes(const ProtobufCMessage *message, uint32_t field, size_t *len);

// Appends a message, without an enclosing tag and length; bd_proto_put is one as field `field`.
void bd_proto_pack(const ProtobufCMessage *message, bd_wire_writer *out);
void bd_proto_put(const ProtobufCMessage *message, uint32_t field, bd_wire_writer *out);

// Packs a message as the whole of `out`, which is empty before.
void bd_proto_pack_message(const ProtobufCMessage *message, bd_message *out);

// A BYTES field that bd_wire_split takes out of a message: `take` gets each occurrence, in order. An error of
// it ends the split.
typedef struct bd_taken_field {
    uint32_t number;
    braid_code (*take)(bd_wire_reader *sub, void *arg, braid_status *st);
    void *arg;
} bd_taken_field;

// Goes through the top-level fields of `in`: calls field.take for each occurrence of the field and gathers
// all other fields, in order, into *rest (bd_slab_free), *rest_len bytes. InvalidArgument (naming `type`)
// when the top level is malformed, ResourceExhausted when the rest is too large. On an error *rest is NULL.
braid_code bd_wire_split(const bd_message *in, const ProtobufCMessageDescriptor *type, bd_taken_field field,
                         void **rest, size_t *rest_len, braid_status *st);

// bd_wire_split and bd_proto_unpack of the rest: the message without its field `field`.
void *bd_proto_unpack_split(const ProtobufCMessageDescriptor *type, const bd_message *in,
                            bd_taken_field field, bd_proto_arena *arena, braid_status *st);

#endif
