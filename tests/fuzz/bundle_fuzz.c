// Fuzzes reading and merging of tensor bundles: whole files, blocks and entries of the index.
#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "io/bundle.h"
#include "io/bundle_entry.h"
#include "io/crc32c.h"
#include "io/file.h"
#include "io/little_endian.h"
#include "io/sstable_block.h"
#include "io/testing/memory_fs.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The unread part of the input.
struct input {
    const uint8_t *data;
    size_t len;
};

static bd_bytes take(struct input *in, size_t len)
{
    if (len > in->len) len = in->len;
    bd_bytes piece = {in->data, len};
    in->data += len;
    in->len -= len;
    return piece;
}

static size_t take_number(struct input *in, size_t bytes)
{
    bd_bytes piece = take(in, bytes);
    size_t number = 0;
    for (size_t i = 0; i < piece.len; i++)
        number = number << 8 | piece.data[i];
    return number;
}

static void write_file(const char *path, bd_bytes content)
{
    BD_STATUS(st);
    bd_file *file;
    bd_file_open(bd_fs_current, path, BD_FILE_CREATE, &file, st);
    bd_file_write(file, content.data, content.len, st);
    bd_file_close(file, st);
    BD_ASSERT(st->code == BRAID_OK);
}

// ---- An index with one block, whose bytes are the input's ----

static void append_block(bd_strbuf *out, bd_bytes block, uint8_t compression)
{
    uint8_t trailer[BD_TABLE_TRAILER_BYTES] = {compression};
    uint32_t crc = bd_crc32c_extend(bd_crc32c(block.data, block.len), trailer, 1);
    bd_put_le32(trailer + 1, bd_crc32c_mask(crc));
    bd_strbuf_append_n(out, block.data, block.len);
    bd_strbuf_append_n(out, trailer, sizeof trailer);
}

static void write_block_index(struct input *in)
{
    bd_strbuf out = {0};
    uint8_t compression = (uint8_t)(take_number(in, 1) & 1);
    bd_bytes block = take(in, take_number(in, 1) % 120);
    append_block(&out, block, compression);
    uint8_t index_at = (uint8_t)out.len;
    const uint8_t index[] = {0, 2, 2, 255, 255, 0, (uint8_t)block.len, 0, 0, 0, 0, 1, 0, 0, 0};
    append_block(&out, (bd_bytes){index, sizeof index}, BD_TABLE_PLAIN);
    uint8_t footer[BD_TABLE_FOOTER_BYTES] = {0, 0, index_at, sizeof index};
    if (index_at >= 128) {
        footer[2] = index_at;
        footer[3] = 1;
        footer[4] = sizeof index;
    }
    bd_put_le64(footer + BD_TABLE_FOOTER_BYTES - 8, BD_TABLE_MAGIC);
    bd_strbuf_append_n(&out, footer, sizeof footer);
    write_file("/v.index", (bd_bytes){(const uint8_t *)out.data, out.len});
    bd_strbuf_fini(&out);
}

// ---- An index whose entries are the input's, with right checksums of what is in the data file ----

struct pair {
    bd_bytes key, value;
};

static int compare_pairs(const void *a, const void *b)
{
    return bd_bytes_compare(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

static bd_bytes with_checksum(struct pair p, bd_bytes data, bd_arena *arena)
{
    BD_STATUS(st);
    bd_bundle_entry e;
    if (bd_bundle_entry_parse(p.key, p.value, "/v.index", &e, st)) return p.value;
    if ((uint64_t)e.offset <= data.len && (uint64_t)e.size <= data.len - (uint64_t)e.offset) {
        e.crc = bd_crc32c_mask(bd_crc32c(data.data + e.offset, (size_t)e.size));
    }
    bd_bytes value = bd_bundle_entry_pack(&e, arena);
    bd_bundle_entry_fini(&e);
    return value;
}

static void put_pairs(bd_sstable_writer *w, struct pair *pairs, size_t count, bd_bytes data)
{
    static const uint8_t header[] = {8, 1, 26, 2, 8, 1};
    BD_STATUS(st);
    bd_arena arena = {0};
    bd_bytes last = {0};
    bd_sstable_put(w, last, (bd_bytes){header, sizeof header}, st);
    for (size_t i = 0; i < count; i++) {
        if (bd_bytes_compare(last, pairs[i].key) >= 0) continue;
        bd_sstable_put(w, pairs[i].key, with_checksum(pairs[i], data, &arena), st);
        last = pairs[i].key;
    }
    bd_sstable_finish(w, st);
    bd_arena_fini(&arena);
    BD_ASSERT(st->code == BRAID_OK);
}

static void write_entry_index(struct input *in)
{
    BD_STATUS(st);
    BD_ARRAY(struct pair) pairs = {0};
    bd_bytes data = take(in, take_number(in, 1));
    while (in->len > 0 && pairs.len < 100) {
        bd_bytes key = take(in, take_number(in, 1) % 32);
        bd_array_push(&pairs, (struct pair){key, take(in, take_number(in, 1))});
    }
    if (pairs.len > 0) qsort(pairs.items, pairs.len, sizeof *pairs.items, compare_pairs);
    write_file("/v.data-00000-of-00001", data);
    bd_output *out;
    bd_output_open(bd_fs_current, "/v.index", BD_FILE_CREATE, BD_COMPRESSION_NONE, &out, st);
    bd_sstable_writer *w = bd_sstable_writer_new(out, NULL);
    put_pairs(w, pairs.items, pairs.len, data);
    bd_sstable_writer_free(w);
    bd_output_close(out, st);
    bd_array_free(&pairs);
}

// ---- Reading ----

static void read_tensor(const bd_bundle_info *info, void *arg)
{
    BD_STATUS(st);
    braid_tensor t;
    bd_tensor_slice s = bd_tensor_slice_all(info->shape.rank);
    if (bd_bundle_read(arg, info->name, &t, st) == BRAID_OK) {
        BD_ASSERT(t.dtype == info->dtype && braid_shape_equal(t.shape, info->shape));
    }
    bd_tensor_fini(&t);
    braid_status_clear(st);
    for (int d = 0; d < s.rank; d++) { // the second half
        int64_t half = info->shape.dims[d] / 2;
        s.start[d] = half;
        s.length[d] = info->shape.dims[d] - half;
    }
    bd_bundle_read_slice(arg, info->name, &s, &t, st);
    bd_tensor_fini(&t);
}

static void read_all(const char *prefix)
{
    BD_STATUS(st);
    bd_bundle *b;
    if (bd_bundle_open(bd_fs_current, prefix, &b, st) == BRAID_OK) bd_bundle_list(b, read_tensor, b, st);
    bd_bundle_close(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BD_STATUS(st);
    struct input in = {data, size};
    bd_buffer_pool_set_limit((size_t)1 << 24); // small files may speak of large tensors
    bd_memory_fs_install();
    switch (take_number(&in, 1) % 3) {
    case 0:
        write_file("/v.index", take(&in, take_number(&in, 2)));
        write_file("/v.data-00000-of-00001", (bd_bytes){in.data, in.len});
        break;
    case 1:
        write_block_index(&in);
        write_file("/v.data-00000-of-00001", (bd_bytes){in.data, in.len});
        break;
    default: write_entry_index(&in);
    }
    read_all("/v");
    if (bd_bundle_merge(bd_fs_current, (const char *[]){"/v"}, 1, "/m",
                        &(bd_bundle_merge_options){.remove_dirs = true}, st) == BRAID_OK)
        read_all("/m");
    bd_memory_fs_uninstall();
    return 0;
}
