// The protobuf wire format by hand: messages as lists of slices, a writer and a reader.
#include "base/wire.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/slab.h"
#include <stdatomic.h>
#include <string.h>

// ---- Message ----

void bd_message_init(bd_message *m)
{
    m->slices = m->inline_slices;
    m->slice_count = 0;
    m->slice_cap = BD_MESSAGE_INLINE;
    m->bytes = 0;
}

static void release_slice(const bd_slice *slice)
{
    if (slice->release) slice->release(slice->owner);
}

void bd_message_fini(bd_message *m)
{
    for (size_t i = 0; i < m->slice_count; i++)
        release_slice(&m->slices[i]);
    if (m->slices != m->inline_slices) bd_slab_free(m->slices);
    bd_message_init(m);
}

void bd_message_move(bd_message *to, bd_message *from)
{
    *to = *from;
    if (from->slices == from->inline_slices) to->slices = to->inline_slices;
    bd_message_init(from);
}

static void message_grow(bd_message *m)
{
    size_t cap = m->slice_cap * 2;
    bd_slice *slices = bd_slab_alloc_raw(cap * sizeof *slices);
    memcpy(slices, m->slices, m->slice_count * sizeof *slices);
    if (m->slices != m->inline_slices) bd_slab_free(m->slices);
    m->slices = slices;
    m->slice_cap = cap;
}

void bd_message_add(bd_message *m, bd_slice slice)
{
    if (slice.len == 0) {
        release_slice(&slice);
        return;
    }
    if (m->slice_count == m->slice_cap) message_grow(m);
    m->slices[m->slice_count++] = slice;
    m->bytes += slice.len;
}

void bd_message_add_copy(bd_message *m, const void *data, size_t len)
{
    if (len == 0) return;
    uint8_t *copy = memcpy(bd_slab_alloc_raw(len), data, len);
    bd_message_add(m, (bd_slice){.data = copy, .len = len, .release = bd_slab_free, .owner = copy});
}

void bd_message_gather(const bd_message *m, void *out)
{
    uint8_t *to = out;
    for (size_t i = 0; i < m->slice_count; i++) {
        memcpy(to, m->slices[i].data, m->slices[i].len);
        to += m->slices[i].len;
    }
}

// ---- Writer ----

// Memory that is being filled. Every slice that lies in it and the writer hold one count each.
typedef struct chunk {
    atomic_size_t refs;
    uint8_t bytes[];
} chunk;

// The first chunk of a writer: a small message with its few fields fits. Later ones double up to the second
// number.
#define CHUNK_MIN 480
#define CHUNK_MAX 65536

static void chunk_unref(void *owner)
{
    chunk *c = owner;
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1) bd_slab_free(c);
}

void bd_wire_writer_init(bd_wire_writer *w, bd_message *out)
{
    *w = (bd_wire_writer){.out = out};
}

// Hands the bytes written since the last time to `out`, as a slice.
static void hand_out(bd_wire_writer *w)
{
    if (w->used == w->sliced) return;
    chunk *c = w->chunk_owner;
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    bd_message_add(w->out, (bd_slice){.data = w->chunk + w->sliced,
                                      .len = w->used - w->sliced,
                                      .release = chunk_unref,
                                      .owner = c});
    w->sliced = w->used;
}

static void drop_chunk(bd_wire_writer *w)
{
    if (!w->chunk_owner) return;
    hand_out(w);
    chunk_unref(w->chunk_owner);
    w->chunk_owner = NULL;
    w->chunk = NULL;
}

void bd_wire_writer_finish(bd_wire_writer *w)
{
    drop_chunk(w);
    *w = (bd_wire_writer){.out = NULL};
}

static void new_chunk(bd_wire_writer *w, size_t need)
{
    size_t cap = w->cap ? w->cap * 2 : CHUNK_MIN;
    if (cap > CHUNK_MAX) cap = CHUNK_MAX;
    if (cap < need) cap = need;
    drop_chunk(w);
    chunk *c = bd_slab_alloc_raw(sizeof *c + cap);
    atomic_init(&c->refs, 1);
    w->chunk_owner = c;
    w->chunk = c->bytes;
    w->used = w->sliced = 0;
    w->cap = cap;
}

uint8_t *bd_wire_put_space(bd_wire_writer *w, size_t len)
{
    if (!w->chunk || w->cap - w->used < len) new_chunk(w, len);
    uint8_t *at = w->chunk + w->used;
    w->used += len;
    return at;
}

size_t bd_wire_varint_size(uint64_t value)
{
    size_t bits = 64 - (size_t)__builtin_clzll(value | 1);
    return (bits + 6) / 7;
}

void bd_wire_put_varint(bd_wire_writer *w, uint64_t value)
{
    uint8_t *at = bd_wire_put_space(w, bd_wire_varint_size(value));
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at = (uint8_t)value;
}

void bd_wire_put_tag(bd_wire_writer *w, uint32_t field, bd_wire_type type)
{
    bd_wire_put_varint(w, (uint64_t)field << 3 | type);
}

void bd_wire_put_raw(bd_wire_writer *w, const void *data, size_t len)
{
    if (len) memcpy(bd_wire_put_space(w, len), data, len);
}

void bd_wire_put_ref(bd_wire_writer *w, bd_slice slice)
{
    if (w->chunk) hand_out(w);
    bd_message_add(w->out, slice);
}

void bd_wire_put_uint(bd_wire_writer *w, uint32_t field, uint64_t value)
{
    bd_wire_put_tag(w, field, BD_WIRE_VARINT);
    bd_wire_put_varint(w, value);
}

void bd_wire_put_head(bd_wire_writer *w, uint32_t field, size_t len)
{
    bd_wire_put_tag(w, field, BD_WIRE_BYTES);
    bd_wire_put_varint(w, len);
}

void bd_wire_put_bytes(bd_wire_writer *w, uint32_t field, const void *data, size_t len)
{
    bd_wire_put_head(w, field, len);
    bd_wire_put_raw(w, data, len);
}

void bd_wire_append(bd_wire_writer *w, bd_message *m)
{
    for (size_t i = 0; i < m->slice_count; i++) {
        bd_slice *s = &m->slices[i];
        if (s->len < BD_WIRE_REF_MIN) {
            bd_wire_put_raw(w, s->data, s->len);
            continue;
        }
        bd_wire_put_ref(w, *s);
        s->release = NULL;
    }
    bd_message_fini(m);
}

void bd_wire_put_message(bd_wire_writer *w, uint32_t field, bd_message *m)
{
    bd_wire_put_tag(w, field, BD_WIRE_BYTES);
    bd_wire_put_varint(w, m->bytes);
    bd_wire_append(w, m);
}

void bd_wire_put_fixed64(bd_wire_writer *w, uint32_t field, uint64_t value)
{
    bd_wire_put_tag(w, field, BD_WIRE_FIXED64);
    bd_wire_put_raw(w, &value, sizeof value);
}

// Fixed-width values and tensor content go to the wire as they lie in memory.
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire format is little-endian");

// ---- Reader ----

bd_wire_reader bd_wire_reader_of(const bd_message *m)
{
    return (bd_wire_reader){.slices = m->slices, .slice_count = m->slice_count, .left = m->bytes};
}

bd_wire_reader bd_wire_reader_block(bd_slice *slice, const void *data, size_t len)
{
    *slice = (bd_slice){.data = data, .len = len};
    return (bd_wire_reader){.slices = slice, .slice_count = 1, .left = len};
}

static bool fail(bd_wire_reader *r)
{
    r->failed = true;
    r->left = 0;
    return false;
}

// The number of contiguous bytes at the position, at most the rest. At least 1 if there is a rest.
static size_t contiguous(bd_wire_reader *r)
{
    if (r->left == 0) return 0;
    while (r->pos == r->slices[r->index].len) {
        r->index++;
        r->pos = 0;
    }
    size_t len = r->slices[r->index].len - r->pos;
    return len < r->left ? len : r->left;
}

static const uint8_t *position(const bd_wire_reader *r)
{
    return r->slices[r->index].data + r->pos;
}

static void advance(bd_wire_reader *r, size_t len)
{
    r->pos += len;
    r->left -= len;
}

#define VARINT_BYTES_MAX 10

// A varint in `len` contiguous bytes; returns the bytes it takes, 0 when it does not end in them.
static size_t decode_varint(const uint8_t *data, size_t len, uint64_t *value)
{
    uint64_t v = 0;
    if (len > VARINT_BYTES_MAX) len = VARINT_BYTES_MAX;
    for (size_t i = 0; i < len; i++) {
        v |= (uint64_t)(data[i] & 0x7f) << (7 * i);
        if (data[i] < 0x80) {
            *value = v;
            return i + 1;
        }
    }
    return 0;
}

// The bytes at the position, up to the longest varint, in one block.
static size_t peek_varint(bd_wire_reader r, uint8_t block[VARINT_BYTES_MAX])
{
    size_t n = 0;
    while (n < VARINT_BYTES_MAX && contiguous(&r)) {
        block[n++] = *position(&r);
        advance(&r, 1);
    }
    return n;
}

static bool go_past(bd_wire_reader *r, size_t len)
{
    if (len > r->left) return fail(r);
    while (len) {
        size_t piece = contiguous(r);
        if (piece > len) piece = len;
        advance(r, piece);
        len -= piece;
    }
    return true;
}

bool bd_wire_get_varint(bd_wire_reader *r, uint64_t *value)
{
    size_t len = contiguous(r);
    if (len) {
        if (*position(r) < 0x80) { // most tags, lengths and small numbers
            *value = *position(r);
            advance(r, 1);
            return true;
        }
        size_t used = decode_varint(position(r), len, value);
        if (used) {
            advance(r, used);
            return true;
        }
    }
    uint8_t block[VARINT_BYTES_MAX];
    size_t used = decode_varint(block, peek_varint(*r, block), value);
    return used ? go_past(r, used) : fail(r);
}

bool bd_wire_next(bd_wire_reader *r, uint32_t *field, bd_wire_type *type)
{
    uint64_t tag;
    if (r->left == 0) return false;
    if (!bd_wire_get_varint(r, &tag)) return false;
    if (tag > UINT32_MAX || tag >> 3 == 0) return fail(r);
    switch (tag & 7) {
    case BD_WIRE_VARINT:
    case BD_WIRE_FIXED64:
    case BD_WIRE_BYTES:
    case BD_WIRE_FIXED32: break;
    default: return fail(r); // groups, which proto3 does not have, and no type at all
    }
    *field = (uint32_t)(tag >> 3);
    *type = (bd_wire_type)(tag & 7);
    return true;
}

bool bd_wire_get_raw(bd_wire_reader *r, void *out, size_t len)
{
    if (len > r->left) return fail(r);
    for (uint8_t *to = out; len;) {
        size_t piece = contiguous(r);
        if (piece > len) piece = len;
        memcpy(to, position(r), piece);
        advance(r, piece);
        to += piece;
        len -= piece;
    }
    return true;
}

bool bd_wire_get_fixed32(bd_wire_reader *r, uint32_t *value)
{
    return bd_wire_get_raw(r, value, sizeof *value);
}

bool bd_wire_get_fixed64(bd_wire_reader *r, uint64_t *value)
{
    return bd_wire_get_raw(r, value, sizeof *value);
}

bool bd_wire_get_span(bd_wire_reader *r, size_t len, bd_wire_reader *sub)
{
    if (len > r->left) return fail(r);
    *sub = *r;
    sub->left = len;
    return go_past(r, len);
}

bool bd_wire_get_sub(bd_wire_reader *r, bd_wire_reader *sub)
{
    uint64_t len;
    return bd_wire_get_varint(r, &len) && bd_wire_get_span(r, (size_t)len, sub);
}

char *bd_wire_get_string(bd_wire_reader *r, size_t max, size_t *len)
{
    bd_wire_reader sub;
    if (!bd_wire_get_sub(r, &sub)) return NULL;
    size_t bytes = sub.left;
    char *text = bytes <= max ? bd_try_malloc(bytes + 1) : NULL;
    if (!text) {
        fail(r);
        return NULL;
    }
    bool whole = bd_wire_get_raw(&sub, text, bytes);
    BD_ASSERT(whole);
    text[bytes] = '\0';
    if (len) *len = bytes;
    return text;
}

bool bd_wire_skip(bd_wire_reader *r, bd_wire_type type)
{
    uint64_t value;
    bd_wire_reader sub;
    switch (type) {
    case BD_WIRE_VARINT: return bd_wire_get_varint(r, &value);
    case BD_WIRE_FIXED64: return go_past(r, 8);
    case BD_WIRE_BYTES: return bd_wire_get_sub(r, &sub);
    case BD_WIRE_FIXED32: return go_past(r, 4);
    }
    return fail(r);
}

bool bd_wire_get_piece(bd_wire_reader *r, const uint8_t **data, size_t *len)
{
    size_t piece = contiguous(r);
    if (piece == 0) return false;
    *data = position(r);
    *len = piece;
    advance(r, piece);
    return true;
}
