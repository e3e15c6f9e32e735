// Blocks of a table: building and reading.
#include "io/sstable_block.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "io/little_endian.h"
#include "io/varint.h"
#include <string.h>

int bd_bytes_compare(bd_bytes a, bd_bytes b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.data, b.data, len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static bd_bytes bytes_of(const bd_strbuf *b)
{
    return (bd_bytes){(const uint8_t *)bd_strbuf_str(b), b->len};
}

// ---- Building ----

void bd_block_builder_init(bd_block_builder *b, int restart_interval)
{
    *b = (bd_block_builder){.restart_interval = restart_interval};
    bd_block_builder_reset(b);
}

void bd_block_builder_fini(bd_block_builder *b)
{
    bd_strbuf_fini(&b->bytes);
    bd_strbuf_fini(&b->last_key);
    bd_array_free(&b->restarts);
}

void bd_block_builder_reset(bd_block_builder *b)
{
    bd_strbuf_clear(&b->bytes);
    bd_strbuf_clear(&b->last_key);
    b->restarts.len = 0;
    b->since_restart = 0;
    bd_array_push(&b->restarts, 0); // an empty block has one, too
}

bool bd_block_builder_is_empty(const bd_block_builder *b)
{
    return b->bytes.len == 0;
}

size_t bd_block_builder_size(const bd_block_builder *b)
{
    return b->bytes.len + 4 * b->restarts.len + 4;
}

static size_t common_prefix(bd_bytes a, bd_bytes b)
{
    size_t max = a.len < b.len ? a.len : b.len, n = 0;
    while (n < max && a.data[n] == b.data[n])
        n++;
    return n;
}

void bd_block_builder_add(bd_block_builder *b, bd_bytes key, bd_bytes value)
{
    BD_ASSERT(key.len <= UINT32_MAX && value.len <= UINT32_MAX);
    size_t shared = 0;
    if (b->since_restart < b->restart_interval) {
        shared = common_prefix(bytes_of(&b->last_key), key);
    } else {
        bd_array_push(&b->restarts, (uint32_t)b->bytes.len);
        b->since_restart = 0;
    }
    bd_bytes rest = {shared > 0 ? key.data + shared : key.data, key.len - shared};
    uint8_t head[3 * BD_VARINT_BYTES_MAX];
    size_t n = bd_put_varint(head, shared);
    n += bd_put_varint(head + n, rest.len);
    n += bd_put_varint(head + n, value.len);
    bd_strbuf_append_n(&b->bytes, head, n);
    bd_strbuf_append_n(&b->bytes, rest.data, rest.len);
    bd_strbuf_append_n(&b->bytes, value.data, value.len);
    b->last_key.len = shared; // truncated to the shared prefix, then the rest of the key
    bd_strbuf_append_n(&b->last_key, rest.data, rest.len);
    b->since_restart++;
}

bd_bytes bd_block_builder_finish(bd_block_builder *b)
{
    uint8_t number[4];
    for (size_t i = 0; i <= b->restarts.len; i++) {
        bd_put_le32(number, i < b->restarts.len ? b->restarts.items[i] : (uint32_t)b->restarts.len);
        bd_strbuf_append_n(&b->bytes, number, sizeof number);
    }
    return bytes_of(&b->bytes);
}

// ---- Reading ----

bool bd_block_init(bd_block *b, uint8_t *memory, size_t len, uint64_t offset)
{
    *b = (bd_block){.refs = 1, .offset = offset, .bytes = memory, .memory = memory};
    if (len < 4) return false;
    b->restart_count = bd_get_le32(memory + len - 4);
    if (b->restart_count > (len - 4) / 4) return false;
    b->entries_len = len - 4 - 4 * (size_t)b->restart_count;
    // Without a restart no entry can be found.
    return b->restart_count > 0 || b->entries_len == 0;
}

void bd_block_unref(bd_block *b)
{
    if (!b || --b->refs > 0) return;
    bd_free(b->memory);
    bd_free(b);
}

void bd_block_iter_fini(bd_block_iter *it)
{
    bd_block_unref(it->block);
    bd_strbuf_fini(&it->key);
    *it = (bd_block_iter){0};
}

void bd_block_iter_reset(bd_block_iter *it, bd_block *block)
{
    bd_block_unref(it->block);
    it->block = block;
    it->next = 0;
    it->valid = it->damaged = false;
    bd_strbuf_clear(&it->key);
}

bd_bytes bd_block_iter_key(const bd_block_iter *it)
{
    return bytes_of(&it->key);
}

static void stop_damaged(bd_block_iter *it)
{
    it->valid = false;
    it->damaged = true;
}

static bool get_varint32(const uint8_t **at, const uint8_t *end, size_t *value)
{
    uint64_t wide;
    if (!bd_get_varint(at, end, &wide) || wide > UINT32_MAX) return false;
    *value = (size_t)wide;
    return true;
}

struct entry {
    size_t shared;
    bd_bytes suffix, value;
    size_t end; // offset of the entry after it
};

static bool read_entry(const bd_block *b, size_t offset, struct entry *e)
{
    const uint8_t *at = b->bytes + offset, *end = b->bytes + b->entries_len;
    if (!get_varint32(&at, end, &e->shared) || !get_varint32(&at, end, &e->suffix.len) ||
        !get_varint32(&at, end, &e->value.len)) {
        return false;
    }
    if (e->suffix.len > (size_t)(end - at) || e->value.len > (size_t)(end - at) - e->suffix.len) return false;
    e->suffix.data = at;
    e->value.data = at + e->suffix.len;
    e->end = (size_t)(e->value.data + e->value.len - b->bytes);
    return true;
}

// The entry at it->next becomes the current one. `ordered`: the key in `it` is the one before it, and must be
// less.
static void step(bd_block_iter *it, bool ordered)
{
    struct entry e;
    if (it->next >= it->block->entries_len) {
        it->valid = false;
        return;
    }
    if (!read_entry(it->block, it->next, &e) || e.shared > it->key.len) {
        stop_damaged(it);
        return;
    }
    bd_bytes old = bytes_of(&it->key), old_suffix = {old.data + e.shared, old.len - e.shared};
    if (ordered && bd_bytes_compare(old_suffix, e.suffix) >= 0) {
        stop_damaged(it);
        return;
    }
    it->key.len = e.shared;
    bd_strbuf_append_n(&it->key, e.suffix.data, e.suffix.len);
    it->value = e.value;
    it->next = e.end;
    it->valid = true;
}

void bd_block_iter_next(bd_block_iter *it)
{
    if (it->damaged) return;
    step(it, it->valid);
}

// The key at restart `i`. Returns false when it is malformed.
static bool restart_key(const bd_block *b, uint32_t i, size_t *offset, bd_bytes *key)
{
    struct entry e;
    *offset = bd_get_le32(b->bytes + b->entries_len + 4 * (size_t)i);
    if (*offset >= b->entries_len || !read_entry(b, *offset, &e) || e.shared != 0) return false;
    *key = e.suffix;
    return true;
}

// Finds the offset of the last restart whose key is less than `key`, else of the first. Returns false when
// the block is malformed.
static bool find_restart(const bd_block *b, bd_bytes key, size_t *offset)
{
    uint32_t low = 0, high = b->restart_count; // the one looked for is in [low, high)
    bd_bytes at;
    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        if (!restart_key(b, mid, offset, &at)) return false;
        if (bd_bytes_compare(at, key) < 0) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return restart_key(b, low, offset, &at);
}

void bd_block_iter_seek(bd_block_iter *it, bd_bytes key)
{
    it->valid = it->damaged = false;
    bd_strbuf_clear(&it->key);
    it->next = 0;
    if (it->block->entries_len == 0) return;
    if (!find_restart(it->block, key, &it->next)) {
        stop_damaged(it);
        return;
    }
    step(it, false);
    while (it->valid && bd_bytes_compare(bd_block_iter_key(it), key) < 0)
        step(it, true);
}
