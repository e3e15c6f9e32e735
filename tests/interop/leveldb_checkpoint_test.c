// A checkpoint that a graph saved, taken apart by others: LevelDB reads its index, a checksum written from
// its definition checks the tensors' bytes. Skipped where LevelDB is not installed.
// labels: concurrent
#include "base/testing/test.h"

#ifndef BD_HAVE_LEVELDB
int main(void)
{
    return BD_TEST_SKIPPED;
}
#else

#include "base/alloc.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "leveldb/table.h"
#include "proto/pack.h"
#include "support/saver_graph.h"
#include "tensorflow/core/protobuf/tensor_bundle.pb-c.h"
#include <stdlib.h>

// CRC-32C (Castagnoli) bit by bit, and masked as in records and tables.
static uint32_t masked_crc(const uint8_t *data, size_t len)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

// ---- The index ----

typedef struct entry {
    char *key; // owned
    size_t key_len;
    Tensorflow__BundleEntryProto *proto;
} entry;

typedef struct checkpoint {
    char *prefix;
    int shards;
    entry entries[16];
    int count;
    bd_proto_arena arena;
} checkpoint;

static void see(const char *key, size_t key_len, const char *value, size_t value_len, void *arg)
{
    BD_STATUS(st);
    checkpoint *c = arg;
    if (key_len == 0) {
        const Tensorflow__BundleHeaderProto *header =
            bd_proto_unpack(&tensorflow__bundle_header_proto__descriptor, value, value_len, &c->arena, st);
        assert_ok(st);
        assert_int_equal(header->endianness, TENSORFLOW__BUNDLE_HEADER_PROTO__ENDIANNESS__LITTLE);
        assert_int_equal(header->version->producer, 1);
        c->shards = header->num_shards;
        return;
    }
    assert_in_range(c->count, 0, 15);
    entry *e = &c->entries[c->count++];
    *e = (entry){bd_memdup(key, key_len), key_len, NULL};
    e->proto = bd_proto_unpack(&tensorflow__bundle_entry_proto__descriptor, value, value_len, &c->arena, st);
    assert_ok(st);
}

static checkpoint read_index(const char *prefix)
{
    checkpoint c = {.prefix = bd_strdup(prefix)};
    char *error, *path = bd_asprintf("%s.index", prefix);
    if (!leveldb_table_read(path, see, &c, &error)) fail_msg("LevelDB: %s", error);
    bd_free(path);
    return c;
}

static void close_index(checkpoint *c)
{
    for (int i = 0; i < c->count; i++)
        bd_free(c->entries[i].key);
    bd_proto_arena_fini(&c->arena);
    bd_free(c->prefix);
}

// The entry of a tensor, or of a slice of it that begins at row `start` (-1: of the whole).
static const Tensorflow__BundleEntryProto *find(const checkpoint *c, const char *name, int start)
{
    for (int i = 0; i < c->count; i++) {
        const entry *e = &c->entries[i];
        if (start < 0 && e->key_len == strlen(name) && memcmp(e->key, name, e->key_len) == 0) return e->proto;
        // Ordered code: 0, name, end of name, rank; then the first start, whose lowest byte is 128 + start.
        size_t at = 1 + strlen(name) + 2 + 2;
        bool is_slice = e->key_len > at && e->key[0] == 0 && memcmp(e->key + 1, name, strlen(name)) == 0;
        if (start >= 0 && is_slice && (uint8_t)e->key[at] == 128 + start) return e->proto;
    }
    fail_msg("there is no entry of %s from %d on", name, start);
    return NULL;
}

// ---- The data ----

static uint8_t *read_data(const checkpoint *c, const Tensorflow__BundleEntryProto *e)
{
    char *path = bd_asprintf("%s.data-%05d-of-%05d", c->prefix, e->shard_id, c->shards);
    size_t len;
    char *all = bd_test_read(path, &len);
    assert_in_range(e->offset + e->size, 0, len);
    uint8_t *data = bd_memdup(all + e->offset, (size_t)e->size);
    bd_free(all);
    bd_free(path);
    return data;
}

static void append(uint8_t *to, size_t *len, const void *data, size_t data_len)
{
    memcpy(to + *len, data, data_len);
    *len += data_len;
}

// A string tensor: the lengths as varints, the masked checksum of the lengths, the bytes. The entry's
// checksum takes the lengths as words of four bytes.
static void expect_strings(const braid_tensor *t, const uint8_t *data, size_t len, uint32_t crc)
{
    uint8_t file[1024], summed[1024], lengths[64];
    size_t file_len = 0, summed_len = 0, lengths_len = 0;
    int64_t count = bd_tensor_count(t);
    for (int64_t i = 0; i < count; i++) {
        uint32_t n = (uint32_t)bd_tensor_str(t)[i].len;
        append(lengths, &lengths_len, &n, 4);
        uint8_t varint[] = {(uint8_t)(n < 128 ? n : n | 128), (uint8_t)(n >> 7)};
        append(file, &file_len, varint, n < 128 ? 1 : 2);
    }
    uint32_t lengths_crc = masked_crc(lengths, lengths_len);
    append(summed, &summed_len, lengths, lengths_len);
    append(summed, &summed_len, &lengths_crc, 4);
    append(file, &file_len, &lengths_crc, 4);
    for (int64_t i = 0; i < count; i++) {
        append(file, &file_len, bd_tensor_str(t)[i].data, bd_tensor_str(t)[i].len);
        append(summed, &summed_len, bd_tensor_str(t)[i].data, bd_tensor_str(t)[i].len);
    }
    assert_int_equal(len, file_len);
    assert_memory_equal(data, file, len);
    assert_int_equal(crc, masked_crc(summed, summed_len));
}

static void expect_variable(const checkpoint *c, int i, int start)
{
    const saved_variable *v = &saved_variables[i];
    const Tensorflow__BundleEntryProto *e = find(c, v->name, start);
    braid_tensor t;
    saved_content(i, 1, &t);
    assert_int_equal(e->dtype, v->dtype);
    assert_int_equal(e->shape ? e->shape->n_dim : 0, v->shape.rank);
    for (int d = 0; d < v->shape.rank; d++)
        assert_int_equal(e->shape->dim[d]->size, v->shape.dims[d]);
    uint8_t *data = read_data(c, e);
    if (v->dtype == BRAID_STRING) {
        expect_strings(&t, data, (size_t)e->size, e->crc32c);
    } else {
        assert_int_equal(e->size, bd_tensor_bytes(&t));
        assert_memory_equal(data, t.data, (size_t)e->size);
        assert_int_equal(e->crc32c, masked_crc(data, (size_t)e->size));
    }
    bd_free(data);
    bd_tensor_fini(&t);
}

// The whole of the partitioned variable lists its slices and has no data.
static void expect_slices(const checkpoint *c)
{
    const Tensorflow__BundleEntryProto *table = find(c, "table", -1);
    assert_int_equal(table->size, 0);
    assert_int_equal(table->shape->dim[0]->size, 10);
    assert_int_equal(table->shape->dim[1]->size, 4);
    assert_int_equal(table->n_slices, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(table->slices[i]->n_extent, 2);
        assert_int_equal(table->slices[i]->extent[0]->start, i ? 6 : 0);
        assert_int_equal(table->slices[i]->extent[0]->length, i ? 4 : 6);
    }
}

// ---- Tests ----

static void saved_checkpoints_are_read_by_the_bundle_reader(void **state)
{
    (void)state;
    char *dir = bd_temp_dir_new(), *prefix = bd_path_join(dir, "new/model.ckpt-7");
    saver_graph s;
    saver_graph_open(&s);
    saver_graph_set(&s, 1);
    saver_graph_save(&s, prefix);

    checkpoint c = read_index(prefix);
    assert_int_equal(c.shards, SAVED_SHARDS);
    assert_int_equal(c.count, SAVED_COUNT + 1);
    for (int i = 0; i < SAVED_COUNT; i++)
        expect_variable(&c, i, strcmp(saved_variables[i].name, "table") != 0 ? -1 : i == 1 ? 0 : 6);
    expect_slices(&c);
    close_index(&c);

    saver_graph_set(&s, 2);
    assert_int_equal(saver_graph_round(&s, 2), 2);
    saver_graph_restore(&s, prefix);
    assert_int_equal(saver_graph_round(&s, 2), 1);
    saver_graph_close(&s);
    bd_free(prefix);
    bd_temp_dir_free(dir);
}

// The directory of the parts is removed; only the checkpoint is left.
static void a_save_leaves_no_other_file(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *dir = bd_temp_dir_new(), *prefix = bd_path_join(dir, "m");
    saver_graph s;
    saver_graph_open(&s);
    for (int round = 1; round <= 2; round++) {
        saver_graph_set(&s, round);
        saver_graph_save(&s, prefix);
    }
    saver_graph_close(&s);
    checkpoint c = read_index(prefix);
    bd_name_list names;
    bd_dir_list(bd_fs_current, dir, &names, st);
    assert_ok(st);
    assert_int_equal(names.len, c.shards + 1);
    close_index(&c);
    bd_name_list_fini(&names);
    bd_free(prefix);
    bd_temp_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(saved_checkpoints_are_read_by_the_bundle_reader),
                                       cmocka_unit_test(a_save_leaves_no_other_file)};
    return BD_RUN_TESTS(tests);
}
#endif
