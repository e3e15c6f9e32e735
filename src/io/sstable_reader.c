// Reading tables: one index block, and a few data blocks kept.
#include "base/alloc.h"
#include "base/check.h"
#include "io/crc32c.h"
#include "io/little_endian.h"
#include "io/sstable_block.h"
#include "io/varint.h"
#include <inttypes.h>
#include <snappy-c.h>
#include <string.h>

// Blocks kept. With TensorFlow's block size that is room for an index of some ten thousand tensors.
#define CACHE_BLOCKS 8

struct bd_sstable {
    bd_file *file; // owned
    uint64_t size; // of the file
    bd_block *index;
    bd_block *cache[CACHE_BLOCKS]; // by their turn
    size_t next_in_cache;
};

struct bd_sstable_iter {
    bd_sstable *table; // not owned
    bd_block_iter index, data;
    bd_strbuf floor; // the keys of the next block must be greater
    bool valid;
};

// ---- Blocks ----

static braid_code damaged(bd_sstable *t, uint64_t offset, const char *why, braid_status *st)
{
    return bd_fail(st, BRAID_DATA_LOSS, "damaged table %s: %s, at offset %" PRIu64, t->file->path, why,
                   offset);
}

static bool get_handle(const uint8_t **at, const uint8_t *end, bd_block_handle *handle)
{
    return bd_get_varint(at, end, &handle->offset) && bd_get_varint(at, end, &handle->size);
}

static braid_code no_memory(bd_sstable *t, uint64_t bytes, braid_status *st)
{
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a block of %" PRIu64 " bytes of %s", bytes,
                   t->file->path);
}

// Replaces *memory by its decompressed content.
static braid_code decompress(bd_sstable *t, bd_block_handle handle, uint8_t **memory, size_t *len,
                             braid_status *st)
{
    size_t full;
    // Three bytes make 64 at most: a length beyond that is not worth its memory.
    if (snappy_uncompressed_length((const char *)*memory, *len, &full) != SNAPPY_OK || full / 22 > *len) {
        return damaged(t, handle.offset, "a compressed block is malformed", st);
    }
    uint8_t *plain = bd_try_malloc(full);
    if (!plain) return no_memory(t, full, st);
    if (snappy_uncompress((const char *)*memory, *len, (char *)plain, &full) != SNAPPY_OK) {
        bd_free(plain);
        return damaged(t, handle.offset, "a compressed block is malformed", st);
    }
    bd_free(*memory);
    *memory = plain;
    *len = full;
    return BRAID_OK;
}

// Checks the trailer after the block in *memory and decompresses it.
static braid_code check_block(bd_sstable *t, bd_block_handle handle, uint8_t **memory, size_t *len,
                              braid_status *st)
{
    const uint8_t *trailer = *memory + *len;
    uint32_t crc = bd_crc32c(*memory, *len + 1);
    if (bd_crc32c_mask(crc) != bd_get_le32(trailer + 1)) {
        return damaged(t, handle.offset, "the checksum of a block is wrong", st);
    }
    switch (*trailer) {
    case BD_TABLE_PLAIN: return BRAID_OK;
    case BD_TABLE_SNAPPY: return decompress(t, handle, memory, len, st);
    default: return damaged(t, handle.offset, "a block has an unknown compression", st);
    }
}

// Reads the content of a block into new memory.
static braid_code load(bd_sstable *t, bd_block_handle handle, uint8_t **memory, size_t *len, braid_status *st)
{
    *memory = NULL;
    *len = 0;
    if (handle.offset > t->size || handle.size > t->size - handle.offset ||
        t->size - handle.offset - handle.size < BD_TABLE_TRAILER_BYTES) {
        return damaged(t, handle.offset, "a block lies beyond the end of the file", st);
    }
    *len = (size_t)handle.size;
    *memory = bd_try_malloc(*len + BD_TABLE_TRAILER_BYTES);
    if (!*memory) return no_memory(t, handle.size, st);
    braid_code code = bd_file_read_exact(t->file, handle.offset, *memory, *len + BD_TABLE_TRAILER_BYTES, st);
    return code ? code : check_block(t, handle, memory, len, st);
}

static braid_code read_block(bd_sstable *t, bd_block_handle handle, bd_block **block, braid_status *st)
{
    uint8_t *memory = NULL;
    size_t len = 0;
    *block = NULL;
    braid_code code = load(t, handle, &memory, &len, st);
    if (code) {
        bd_free(memory);
        return code;
    }
    bd_block *b = bd_malloc(sizeof *b);
    if (!bd_block_init(b, memory, len, handle.offset)) {
        bd_block_unref(b);
        return damaged(t, handle.offset, "a block has no list of restarts", st);
    }
    *block = b;
    return BRAID_OK;
}

// A data block with a reference for the caller, from the cache or from the file.
static braid_code get_block(bd_sstable *t, bd_block_handle handle, bd_block **block, braid_status *st)
{
    for (size_t i = 0; i < CACHE_BLOCKS; i++) {
        if (t->cache[i] && t->cache[i]->offset == handle.offset) {
            *block = t->cache[i];
            (*block)->refs++;
            return BRAID_OK;
        }
    }
    braid_code code = read_block(t, handle, block, st);
    if (code) return code;
    bd_block **place = &t->cache[t->next_in_cache++ % CACHE_BLOCKS];
    bd_block_unref(*place);
    *place = *block;
    (*block)->refs++;
    return BRAID_OK;
}

// ---- Opening ----

static braid_code read_footer(bd_sstable *t, bd_block_handle *index, braid_status *st)
{
    uint8_t footer[BD_TABLE_FOOTER_BYTES];
    if (t->size < sizeof footer) {
        return bd_fail(st, BRAID_DATA_LOSS, "%s is no table: %" PRIu64 " bytes are less than its footer has",
                       t->file->path, t->size);
    }
    uint64_t offset = t->size - sizeof footer;
    braid_code code = bd_file_read_exact(t->file, offset, footer, sizeof footer, st);
    if (code) return code;
    if (bd_get_le64(footer + sizeof footer - 8) != BD_TABLE_MAGIC) {
        return damaged(t, offset, "it does not end with a table's magic number", st);
    }
    const uint8_t *at = footer, *end = footer + sizeof footer - 8;
    bd_block_handle meta;
    if (!get_handle(&at, end, &meta) || !get_handle(&at, end, index)) {
        return damaged(t, offset, "its footer is malformed", st);
    }
    return BRAID_OK;
}

braid_code bd_sstable_open(const bd_fs *fs, const char *path, bd_sstable **t, braid_status *st)
{
    *t = NULL;
    bd_file *file;
    bd_block_handle index;
    braid_code code = bd_file_open(fs, path, BD_FILE_READ, &file, st);
    if (code) return code;
    bd_sstable *table = bd_calloc(1, sizeof *table);
    table->file = file;
    code = bd_file_size(fs, path, &table->size, st);
    if (!code) code = read_footer(table, &index, st);
    if (!code) code = read_block(table, index, &table->index, st);
    if (code) {
        bd_sstable_close(table);
        return code;
    }
    *t = table;
    return BRAID_OK;
}

void bd_sstable_close(bd_sstable *t)
{
    if (!t) return;
    BD_STATUS(ignored); // it was only read
    for (size_t i = 0; i < CACHE_BLOCKS; i++)
        bd_block_unref(t->cache[i]);
    bd_block_unref(t->index);
    bd_file_close(t->file, ignored);
    bd_free(t);
}

// ---- Positions ----

bd_sstable_iter *bd_sstable_iter_new(bd_sstable *t)
{
    bd_sstable_iter *it = bd_calloc(1, sizeof *it);
    it->table = t;
    t->index->refs++;
    bd_block_iter_reset(&it->index, t->index);
    return it;
}

void bd_sstable_iter_free(bd_sstable_iter *it)
{
    if (!it) return;
    bd_block_iter_fini(&it->index);
    bd_block_iter_fini(&it->data);
    bd_strbuf_fini(&it->floor);
    bd_free(it);
}

bool bd_sstable_iter_valid(const bd_sstable_iter *it)
{
    return it->valid;
}

bd_bytes bd_sstable_iter_key(const bd_sstable_iter *it)
{
    return bd_block_iter_key(&it->data);
}

bd_bytes bd_sstable_iter_value(const bd_sstable_iter *it)
{
    return it->data.value;
}

static braid_code check_position(bd_sstable_iter *it, const bd_block_iter *in, braid_status *st)
{
    if (!in->damaged) return BRAID_OK;
    return damaged(it->table, in->block->offset, "a block's entries are malformed or out of order", st);
}

// Opens the data block of the current index entry; it->data is before its first entry.
static braid_code open_data(bd_sstable_iter *it, braid_status *st)
{
    bd_block *block;
    bd_block_handle handle;
    const uint8_t *at = it->index.value.data;
    if (!get_handle(&at, at + it->index.value.len, &handle)) {
        return damaged(it->table, it->index.block->offset, "the index has a malformed entry", st);
    }
    if (it->data.block && it->data.block->offset == handle.offset) return BRAID_OK;
    braid_code code = get_block(it->table, handle, &block, st);
    if (!code) bd_block_iter_reset(&it->data, block);
    return code;
}

static bd_bytes floor_of(const bd_sstable_iter *it)
{
    return (bd_bytes){(const uint8_t *)bd_strbuf_str(&it->floor), it->floor.len};
}

static braid_code out_of_order(bd_sstable_iter *it, braid_status *st)
{
    return damaged(it->table, it->data.block->offset, "a block's keys are not those of its place", st);
}

// Moves from the end of a data block to the first entry of the next one, if there is one. The index's keys
// increase and separate the blocks' keys: so all keys of a table increase.
static braid_code enter_next_block(bd_sstable_iter *it, braid_status *st)
{
    bd_bytes separator = bd_block_iter_key(&it->index);
    if (bd_bytes_compare(bd_block_iter_key(&it->data), separator) > 0) return out_of_order(it, st);
    bd_strbuf_clear(&it->floor);
    bd_strbuf_append_n(&it->floor, separator.data, separator.len);
    bd_block_iter_next(&it->index);
    braid_code code = check_position(it, &it->index, st);
    if (code || !it->index.valid) return code;
    code = open_data(it, st);
    if (code) return code;
    bd_block_iter_seek(&it->data, (bd_bytes){0});
    if (it->data.valid && bd_bytes_compare(bd_block_iter_key(&it->data), floor_of(it)) <= 0) {
        return out_of_order(it, st);
    }
    return check_position(it, &it->data, st);
}

// Moves past ended blocks; the position is valid unless the table ends.
static braid_code settle(bd_sstable_iter *it, braid_status *st)
{
    braid_code code = check_position(it, &it->data, st);
    while (!code && it->index.valid && !it->data.valid)
        code = enter_next_block(it, st);
    it->valid = !code && it->index.valid;
    return code;
}

braid_code bd_sstable_iter_seek(bd_sstable_iter *it, bd_bytes key, braid_status *st)
{
    it->valid = false;
    bd_block_iter_seek(&it->index, key);
    braid_code code = check_position(it, &it->index, st);
    if (code || !it->index.valid) return code;
    code = open_data(it, st);
    if (code) return code;
    bd_block_iter_seek(&it->data, key);
    return settle(it, st);
}

braid_code bd_sstable_iter_next(bd_sstable_iter *it, braid_status *st)
{
    BD_ASSERT(it->valid);
    it->valid = false;
    bd_block_iter_next(&it->data);
    return settle(it, st);
}
