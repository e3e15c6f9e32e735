// Writing tables.
#include "base/alloc.h"
#include "base/check.h"
#include "io/crc32c.h"
#include "io/little_endian.h"
#include "io/sstable_block.h"
#include "io/varint.h"
#include <string.h>

struct bd_sstable_writer {
    bd_output *out; // not owned
    uint64_t start; // of the table in `out`
    size_t block_bytes;
    bd_block_builder data, index;
    bd_strbuf last_key;
    bool any;               // a key was put
    bool pending;           // the last data block is written and not yet in the index; `data` is empty then
    bd_block_handle handle; // of that block
};

bd_sstable_writer *bd_sstable_writer_new(bd_output *out, const bd_sstable_options *options)
{
    bd_sstable_options o = options ? *options : (bd_sstable_options){0};
    bd_sstable_writer *w = bd_calloc(1, sizeof *w);
    w->out = out;
    w->start = bd_output_offset(out);
    w->block_bytes = o.block_bytes ? o.block_bytes : 262144;
    bd_block_builder_init(&w->data, o.restart_interval ? o.restart_interval : 16);
    bd_block_builder_init(&w->index, 1);
    return w;
}

void bd_sstable_writer_free(bd_sstable_writer *w)
{
    if (!w) return;
    bd_block_builder_fini(&w->data);
    bd_block_builder_fini(&w->index);
    bd_strbuf_fini(&w->last_key);
    bd_free(w);
}

// Writes a block with its trailer, and empties the builder.
static braid_code write_block(bd_sstable_writer *w, bd_block_builder *b, bd_block_handle *handle,
                              braid_status *st)
{
    bd_bytes block = bd_block_builder_finish(b);
    uint8_t trailer[BD_TABLE_TRAILER_BYTES] = {BD_TABLE_PLAIN};
    uint32_t crc = bd_crc32c_extend(bd_crc32c(block.data, block.len), trailer, 1);
    bd_put_le32(trailer + 1, bd_crc32c_mask(crc));
    *handle = (bd_block_handle){.offset = bd_output_offset(w->out) - w->start, .size = block.len};
    braid_code code = bd_output_put(w->out, block.data, block.len, st);
    if (!code) code = bd_output_put(w->out, trailer, sizeof trailer, st);
    bd_block_builder_reset(b);
    return code;
}

static size_t put_handle(uint8_t *at, bd_block_handle handle)
{
    size_t n = bd_put_varint(at, handle.offset);
    return n + bd_put_varint(at + n, handle.size);
}

static void add_to_index(bd_sstable_writer *w, bd_bytes key)
{
    uint8_t value[BD_TABLE_HANDLE_BYTES_MAX];
    bd_block_builder_add(&w->index, key, (bd_bytes){value, put_handle(value, w->handle)});
    w->pending = false;
}

// Cuts the last key down to a short one that is not less than it and less than `next`.
static void shorten_between(bd_strbuf *last, bd_bytes next)
{
    size_t at = 0, max = last->len < next.len ? last->len : next.len;
    while (at < max && (uint8_t)last->data[at] == next.data[at])
        at++;
    if (at == max) return; // one is a prefix of the other
    uint8_t byte = (uint8_t)last->data[at];
    if (byte == 0xff || byte + 1 >= next.data[at]) return;
    last->data[at] = (char)(byte + 1);
    last->len = at + 1;
}

// Cuts the last key of all down to a short one that is not less than it.
static void shorten_last(bd_strbuf *last)
{
    for (size_t i = 0; i < last->len; i++) {
        if ((uint8_t)last->data[i] == 0xff) continue;
        last->data[i]++;
        last->len = i + 1;
        return;
    }
}

static bd_bytes last_key(const bd_sstable_writer *w)
{
    return (bd_bytes){(const uint8_t *)bd_strbuf_str(&w->last_key), w->last_key.len};
}

static braid_code end_block(bd_sstable_writer *w, braid_status *st)
{
    if (bd_block_builder_is_empty(&w->data)) return BRAID_OK;
    w->pending = true;
    return write_block(w, &w->data, &w->handle, st);
}

braid_code bd_sstable_put(bd_sstable_writer *w, bd_bytes key, bd_bytes value, braid_status *st)
{
    BD_ASSERT(!w->any || bd_bytes_compare(last_key(w), key) < 0);
    w->any = true;
    // An entry as large as two blocks gets a block of its own.
    if (key.len + value.len >= 2 * w->block_bytes) {
        braid_code code = end_block(w, st);
        if (code) return code;
    }
    if (w->pending) {
        shorten_between(&w->last_key, key);
        add_to_index(w, last_key(w));
    }
    bd_strbuf_clear(&w->last_key);
    bd_strbuf_append_n(&w->last_key, key.data, key.len);
    bd_block_builder_add(&w->data, key, value);
    return bd_block_builder_size(&w->data) >= w->block_bytes ? end_block(w, st) : BRAID_OK;
}

braid_code bd_sstable_finish(bd_sstable_writer *w, braid_status *st)
{
    bd_block_builder meta; // would index blocks of other kinds; it is empty
    bd_block_handle meta_handle, index_handle;
    braid_code code = end_block(w, st);
    if (code) return code;
    bd_block_builder_init(&meta, 1);
    code = write_block(w, &meta, &meta_handle, st);
    bd_block_builder_fini(&meta);
    if (code) return code;
    if (w->pending) {
        shorten_last(&w->last_key);
        add_to_index(w, last_key(w));
    }
    code = write_block(w, &w->index, &index_handle, st);
    if (code) return code;
    uint8_t footer[BD_TABLE_FOOTER_BYTES] = {0};
    size_t n = put_handle(footer, meta_handle);
    put_handle(footer + n, index_handle);
    bd_put_le64(footer + BD_TABLE_FOOTER_BYTES - 8, BD_TABLE_MAGIC);
    return bd_output_put(w->out, footer, sizeof footer, st);
}
