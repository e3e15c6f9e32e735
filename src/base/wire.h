// The protobuf wire format over lists of slices, so that the content of tensors is never copied through a
// protobuf library. Small messages use protobuf-c (src/proto).
#ifndef BD_BASE_WIRE_H
#define BD_BASE_WIRE_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

// A piece of memory with an owner: `release(owner)` releases it, once; NULL when it is static or borrowed.
typedef struct bd_slice {
    const uint8_t *data;
    size_t len;
    void (*release)(void *owner);
    void *owner;
} bd_slice;

// A message: slices in order. The first few are in the struct, so that a small message allocates nothing.
#define BD_MESSAGE_INLINE 4
typedef struct bd_message {
    bd_slice *slices; // inline_slices or recycled memory
    size_t slice_count, slice_cap;
    size_t bytes; // sum of lengths
    bd_slice inline_slices[BD_MESSAGE_INLINE];
} bd_message;

void bd_message_init(bd_message *m);
void bd_message_fini(bd_message *m);                    // releases every slice
void bd_message_move(bd_message *to, bd_message *from); // `from` is left empty
void bd_message_add(bd_message *m, bd_slice slice);     // takes over the slice
void bd_message_add_copy(bd_message *m, const void *data, size_t len);
// All bytes in one block of the caller's, which must hold m->bytes.
void bd_message_gather(const bd_message *m, void *out);

// Content shorter than this is copied into the header slice; longer is referenced.
#define BD_WIRE_REF_MIN 4096
// No message nests deeper: protobuf's own limit. Checked before a library unpacks with recursion
// (src/proto/pack.h).
#define BD_WIRE_DEPTH_MAX 100

typedef enum bd_wire_type {
    BD_WIRE_VARINT = 0,
    BD_WIRE_FIXED64 = 1,
    BD_WIRE_BYTES = 2,
    BD_WIRE_FIXED32 = 5
} bd_wire_type;

// Writes a message into growing memory, with references in between.
typedef struct bd_wire_writer {
    bd_message *out;          // not owned
    uint8_t *chunk;           // memory being filled; becomes a slice of `out`
    size_t used, cap, sliced; // filled bytes of the chunk, its size, and the bytes that are in `out` already
    void *chunk_owner;        // counted, since several slices may lie in it
} bd_wire_writer;

void bd_wire_writer_init(bd_wire_writer *w, bd_message *out);
void bd_wire_writer_finish(bd_wire_writer *w); // moves the last piece to `out`; the writer is done
void bd_wire_put_varint(bd_wire_writer *w, uint64_t value);
void bd_wire_put_tag(bd_wire_writer *w, uint32_t field, bd_wire_type type);
void bd_wire_put_raw(bd_wire_writer *w, const void *data, size_t len);
void bd_wire_put_ref(bd_wire_writer *w, bd_slice slice);                  // takes over the slice
void bd_wire_put_uint(bd_wire_writer *w, uint32_t field, uint64_t value); // tag and varint
void bd_wire_put_bytes(bd_wire_writer *w, uint32_t field, const void *data, size_t len); // tag, length, copy
// the tag and the length of a field's content
void bd_wire_put_head(bd_wire_writer *w, uint32_t field, size_t len);
// Appends the content of a message, which becomes empty: small slices are copied, large ones taken over.
// bd_wire_put_message appends it as a field.
void bd_wire_append(bd_wire_writer *w, bd_message *m);
void bd_wire_put_message(bd_wire_writer *w, uint32_t field, bd_message *m);
void bd_wire_put_fixed64(bd_wire_writer *w, uint32_t field, uint64_t value);
// Room for `len` bytes, contiguous, to be filled before the next call on the writer.
uint8_t *bd_wire_put_space(bd_wire_writer *w, size_t len);
size_t bd_wire_varint_size(uint64_t value);
// The size of a field with its tag: an integer, and bytes with their length.
static inline size_t bd_wire_uint_field_size(uint32_t field, uint64_t value)
{
    return bd_wire_varint_size((uint64_t)field << 3) + bd_wire_varint_size(value);
}
static inline size_t bd_wire_bytes_field_size(uint32_t field, size_t len)
{
    return bd_wire_uint_field_size(field, len) + len;
}

// Reads from slices in order. All functions return false after any error (truncated, malformed): check
// `failed` once.
typedef struct bd_wire_reader {
    const bd_slice *slices;         // borrowed for the reader's life
    size_t slice_count, index, pos; // position: byte `pos` of slice `index`
    size_t left;                    // bytes up to the end of the (sub)message
    bool failed;
} bd_wire_reader;

bd_wire_reader bd_wire_reader_of(const bd_message *m);
// `*slice` must outlive the reader; it is set to borrow the block.
bd_wire_reader bd_wire_reader_block(bd_slice *slice, const void *data, size_t len);
// The next field's number and type; false at the end or on an error.
bool bd_wire_next(bd_wire_reader *r, uint32_t *field, bd_wire_type *type);
bool bd_wire_get_varint(bd_wire_reader *r, uint64_t *value);
bool bd_wire_get_fixed32(bd_wire_reader *r, uint32_t *value);
bool bd_wire_get_fixed64(bd_wire_reader *r, uint64_t *value);
// Copies `len` bytes and moves past them.
bool bd_wire_get_raw(bd_wire_reader *r, void *out, size_t len);
// Reads the length of a BYTES field and makes `sub` a reader of its bytes; `r` moves past them.
bool bd_wire_get_sub(bd_wire_reader *r, bd_wire_reader *sub);
// Makes `sub` a reader of the next `len` bytes; `r` moves past them.
bool bd_wire_get_span(bd_wire_reader *r, size_t len, bd_wire_reader *sub);
// A BYTES field as new zero-terminated memory (bd_free), at most `max` bytes long; NULL on an error.
char *bd_wire_get_string(bd_wire_reader *r, size_t max, size_t *len);
// Moves past a field of the given type.
bool bd_wire_skip(bd_wire_reader *r, bd_wire_type type);
// Returns the next contiguous piece without a copy and skips it. False at the end.
bool bd_wire_get_piece(bd_wire_reader *r, const uint8_t **data, size_t *len);

#endif
