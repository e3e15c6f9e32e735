// Packing and unpacking of protobuf-c messages.
#include "proto/pack.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/slab.h"
#include <string.h>

// ---- Arena ----

struct bd_proto_chunk {
    struct bd_proto_chunk *older;
    _Alignas(16) char bytes[];
};

#define CHUNK_BYTES ((size_t)16320)

void bd_proto_arena_fini(bd_proto_arena *arena)
{
    for (struct bd_proto_chunk *chunk = arena->chunks, *older; chunk; chunk = older) {
        older = chunk->older;
        bd_slab_free(chunk);
    }
    *arena = (bd_proto_arena){0};
}

// Puts a chunk of at least `need` bytes in front. False when the limit or the system forbids it.
static bool add_chunk(bd_proto_arena *arena, size_t need)
{
    // Chunks double, so that a large message takes few of them.
    size_t bytes = arena->held < CHUNK_BYTES ? CHUNK_BYTES : arena->held;
    if (bytes > arena->limit - arena->held) bytes = arena->limit - arena->held;
    if (bytes < need) bytes = need;
    if (bytes > arena->limit - arena->held) return false;
    struct bd_proto_chunk *chunk = bd_slab_try_alloc(sizeof *chunk + bytes);
    if (!chunk) return false;
    chunk->older = arena->chunks;
    arena->chunks = chunk;
    arena->next = chunk->bytes;
    arena->end = chunk->bytes + bytes;
    arena->held += bytes;
    return true;
}

static void *arena_alloc(void *data, size_t size)
{
    bd_proto_arena *arena = data;
    if (size > PTRDIFF_MAX) return NULL;
    size = (size + 15) & ~(size_t)15;
    if (size > (size_t)(arena->end - arena->next) && !add_chunk(arena, size)) {
        arena->exhausted = true;
        return NULL;
    }
    void *at = arena->next;
    arena->next += size;
    return at;
}

static void arena_free(void *data, void *pointer)
{
    (void)data;
    (void)pointer;
}

// ---- Depth ----

// Checks the depth in one pass over the fields that are messages by their descriptor; bytes fields are
// skipped. The recursion ends at the limit.
static bool depth_ok(const ProtobufCMessageDescriptor *type, bd_wire_reader *in, int depth)
{
    uint32_t number;
    bd_wire_type wire;
    while (bd_wire_next(in, &number, &wire)) {
        const ProtobufCFieldDescriptor *field =
            wire == BD_WIRE_BYTES ? protobuf_c_message_descriptor_get_field(type, number) : NULL;
        if (!field || field->type != PROTOBUF_C_TYPE_MESSAGE) {
            bd_wire_skip(in, wire);
            continue;
        }
        bd_wire_reader sub;
        if (depth == BD_WIRE_DEPTH_MAX) return false;
        if (bd_wire_get_sub(in, &sub) && !depth_ok(field->descriptor, &sub, depth + 1)) return false;
    }
    return true; // damage is for the library to find
}

// ---- Unpacking ----

static braid_code too_large(const ProtobufCMessageDescriptor *type, size_t len, braid_status *st)
{
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "%s of %zu bytes: more than %zu", type->short_name, len,
                   BD_PROTO_BYTES_MAX);
}

static braid_code no_memory(const ProtobufCMessageDescriptor *type, size_t len, braid_status *st)
{
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "%s of %zu bytes: out of memory", type->short_name, len);
}

static braid_code malformed(const ProtobufCMessageDescriptor *type, size_t len, braid_status *st)
{
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s of %zu bytes is malformed", type->short_name, len);
}

void *bd_proto_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t len,
                      bd_proto_arena *arena, braid_status *st)
{
    if (len > BD_PROTO_BYTES_MAX) {
        too_large(type, len, st);
        return NULL;
    }
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, data, len);
    if (!depth_ok(type, &in, 0)) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "%s nests deeper than %d messages", type->short_name,
                BD_WIRE_DEPTH_MAX);
        return NULL;
    }
    arena->limit = arena->held + CHUNK_BYTES + len * BD_PROTO_EXPANSION_MAX;
    arena->exhausted = false;
    ProtobufCAllocator allocator = {.alloc = arena_alloc, .free = arena_free, .allocator_data = arena};
    void *message = protobuf_c_message_unpack(type, &allocator, len, data);
    if (message) return message;
    if (arena->exhausted)
        no_memory(type, len, st);
    else
        malformed(type, len, st);
    return NULL;
}

void *bd_proto_unpack_message(const ProtobufCMessageDescriptor *type, const bd_message *in,
                              bd_proto_arena *arena, braid_status *st)
{
    if (in->slice_count == 0) return bd_proto_unpack(type, "", 0, arena, st);
    if (in->slice_count == 1) return bd_proto_unpack(type, in->slices[0].data, in->bytes, arena, st);
    if (in->bytes > BD_PROTO_BYTES_MAX) {
        too_large(type, in->bytes, st);
        return NULL;
    }
    void *block = bd_slab_try_alloc(in->bytes);
    if (!block) {
        no_memory(type, in->bytes, st);
        return NULL;
    }
    bd_message_gather(in, block);
    void *message = bd_proto_unpack(type, block, in->bytes, arena, st);
    bd_slab_free(block);
    return message;
}

// ---- Packing ----

void bd_proto_pack(const ProtobufCMessage *message, bd_wire_writer *out)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    if (size == 0) return;
    size_t written = protobuf_c_message_pack(message, bd_wire_put_space(out, size));
    BD_ASSERT(written == size);
}

void bd_proto_put(const ProtobufCMessage *message, uint32_t field, bd_wire_writer *out)
{
    bd_wire_put_tag(out, field, BD_WIRE_BYTES);
    bd_wire_put_varint(out, protobuf_c_message_get_packed_size(message));
    bd_proto_pack(message, out);
}

void bd_proto_pack_message(const ProtobufCMessage *message, bd_message *out)
{
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, out);
    bd_proto_pack(message, &writer);
    bd_wire_writer_finish(&writer);
}

// ---- Splitting ----

// Finds the next top-level field: `whole` reads its bytes with the tag, `sub` its content if it is BYTES.
// Returns false at the end and on an error.
static bool next_whole(bd_wire_reader *in, uint32_t *field, bd_wire_type *wire, bd_wire_reader *whole,
                       bd_wire_reader *sub)
{
    *whole = *in;
    if (!bd_wire_next(in, field, wire)) return false;
    if (!(*wire == BD_WIRE_BYTES ? bd_wire_get_sub(in, sub) : bd_wire_skip(in, *wire))) return false;
    whole->left -= in->left;
    return true;
}

// The bytes of all fields but `field`; SIZE_MAX when the top level is malformed.
static size_t measure_rest(bd_wire_reader in, uint32_t field)
{
    bd_wire_reader whole, sub;
    uint32_t number;
    bd_wire_type wire;
    size_t len = 0;
    while (next_whole(&in, &number, &wire, &whole, &sub))
        if (number != field || wire != BD_WIRE_BYTES) len += whole.left;
    return in.failed ? SIZE_MAX : len;
}

static braid_code split(bd_wire_reader in, bd_taken_field field, uint8_t *rest, braid_status *st)
{
    bd_wire_reader whole, sub;
    uint32_t number;
    bd_wire_type wire;
    while (next_whole(&in, &number, &wire, &whole, &sub)) {
        if (number == field.number && wire == BD_WIRE_BYTES) {
            braid_code code = field.take(&sub, field.arg, st);
            if (code) return code;
        } else {
            size_t len = whole.left;
            bool copied = bd_wire_get_raw(&whole, rest, len);
            BD_ASSERT(copied);
            rest += len;
        }
    }
    return BRAID_OK;
}

braid_code bd_wire_split(const bd_message *in, const ProtobufCMessageDescriptor *type, bd_taken_field field,
                         void **rest, size_t *rest_len, braid_status *st)
{
    *rest = NULL;
    *rest_len = 0;
    size_t len = measure_rest(bd_wire_reader_of(in), field.number);
    if (len == SIZE_MAX) return malformed(type, in->bytes, st);
    if (len > BD_PROTO_BYTES_MAX) return too_large(type, len, st);
    uint8_t *block = bd_slab_try_alloc(len);
    if (!block) return no_memory(type, len, st);
    braid_code code = split(bd_wire_reader_of(in), field, block, st);
    if (code) {
        bd_slab_free(block);
        return code;
    }
    *rest = block;
    *rest_len = len;
    return BRAID_OK;
}

void *bd_proto_unpack_split(const ProtobufCMessageDescriptor *type, const bd_message *in,
                            bd_taken_field field, bd_proto_arena *arena, braid_status *st)
{
    void *rest;
    size_t len;
    if (bd_wire_split(in, type, field, &rest, &len, st)) return NULL;
    void *message = bd_proto_unpack(type, rest, len, arena, st);
    bd_slab_free(rest);
    return message;
}

bool bd_proto_has_unknown(const ProtobufCMessage *message, uint32_t field)
{
    for (unsigned i = 0; i < message->n_unknown_fields; i++)
        if (message->unknown_fields[i].tag == field) return true;
    return false;
}

uint64_t bd_proto_unknown_fixed64(const ProtobufCMessage *message, uint32_t field)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < message->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *f = &message->unknown_fields[i];
        if (f->tag == field && f->wire_type == PROTOBUF_C_WIRE_TYPE_64BIT && f->len == sizeof value)
            memcpy(&value, f->data, sizeof value); // little endian, as on the wire
    }
    return value;
}

const uint8_t *bd_proto_unknown_bytes(const ProtobufCMessage *message, uint32_t field, size_t *len)
{
    for (unsigned i = 0; i < message->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *f = &message->unknown_fields[i];
        if (f->tag != field || f->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) continue;
        size_t at = 0; // behind the length
        while (at < f->len && f->data[at] & 0x80)
            at++;
        if (at == f->len) continue;
        *len = f->len - at - 1;
        return f->data + at + 1;
    }
    return NULL;
}
