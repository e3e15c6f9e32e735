// Checkpoints' indexes read by LevelDB, and LevelDB's tables read by us. Skipped where LevelDB is not
// installed.
#include "base/alloc.h"
#include "base/testing/test.h"

#ifndef BD_HAVE_LEVELDB
int main(void)
{
    return BD_TEST_SKIPPED;
}
#else

#include "io/bundle.h"
#include "io/bundle_entry.h"
#include "io/file.h"
#include "io/testing/bundle_case.h"
#include "io/testing/temp_dir.h"
#include "leveldb/table.h"
#include "proto/pack.h"
#include "tensorflow/core/protobuf/tensor_bundle.pb-c.h"
#include <stdio.h>
#include <stdlib.h>

static int in_temp_dir(void **state)
{
    *state = bd_temp_dir_new();
    return 0;
}

static int remove_temp_dir(void **state)
{
    bd_temp_dir_free(*state);
    return 0;
}

static void assert_leveldb(bool ok, const char *error)
{
    if (!ok) fail_msg("LevelDB: %s", error);
}

// ---- Our indexes, read by LevelDB ----

struct seen {
    int names, slices;
    char last[64];
    size_t last_len;
};

// Each entry parses, and keys come in order.
static void see(const char *key, size_t key_len, const char *value, size_t value_len, void *arg)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    struct seen *s = arg;
    bd_bundle_entry e;
    bd_bytes k = {(const uint8_t *)key, key_len}, v = {(const uint8_t *)value, value_len};
    bool first = s->names + s->slices == 0 && key_len == 0;
    assert_true(first || bd_bytes_compare((bd_bytes){(const uint8_t *)s->last, s->last_len}, k) < 0);
    memcpy(s->last, key, s->last_len = key_len);
    if (key_len == 0) {
        const Tensorflow__BundleHeaderProto *header =
            bd_proto_unpack(&tensorflow__bundle_header_proto__descriptor, value, value_len, arena, st);
        assert_ok(st);
        assert_int_equal(header->num_shards, 2);
        assert_int_equal(header->version->producer, 1);
        return;
    }
    bd_bundle_entry_parse(k, v, "index", &e, st);
    assert_ok(st);
    assert_int_equal(e.dtype, BRAID_FLOAT);
    if (key[0] == 0) {
        s->slices++;
    } else {
        s->names++;
    }
    bd_bundle_entry_fini(&e);
}

enum {
    TENSORS = 9000 // some blocks of the index
};

static char *name_of(int part, int i)
{
    return bd_asprintf("part_%d/layer_%05d/weights", part, i);
}

static void write_part(const char *dir, int part)
{
    char *prefix = bd_asprintf("%s/temp/part-%d", dir, part);
    bd_bundle_writer *w = bd_case_open_writer(prefix);
    for (int i = 0; i < TENSORS; i++) {
        char *name = name_of(part, i);
        bd_case_add_floats(w, name, BRAID_SHAPE(3), (float)i);
        bd_free(name);
    }
    bd_case_add_part(w, "embedding", BRAID_SHAPE(10, 4), part ? "6,4:-" : "0,6:-");
    bd_case_finish(w);
    bd_free(prefix);
}

// Two parts saved and merged, as sharded saves are.
static char *write_checkpoint(const char *dir)
{
    BD_STATUS(st);
    char *parts[2], *prefix = bd_path_join(dir, "model.ckpt-100");
    for (int i = 0; i < 2; i++) {
        write_part(dir, i);
        parts[i] = bd_asprintf("%s/temp/part-%d", dir, i);
    }
    bd_bundle_merge(bd_fs_current, (const char *const *)parts, 2, prefix,
                    &(bd_bundle_merge_options){.remove_dirs = true}, st);
    assert_ok(st);
    bd_free(parts[0]);
    bd_free(parts[1]);
    return prefix;
}

static void leveldb_reads_written_indexes(void **state)
{
    char *prefix = write_checkpoint(*state), *index = bd_asprintf("%s.index", prefix), *error, *value;
    size_t value_len;
    struct seen s = {0};
    assert_leveldb(leveldb_table_read(index, see, &s, &error), error);
    assert_int_equal(s.names, 2 * TENSORS + 1);
    assert_int_equal(s.slices, 2);
    for (int i = 0; i < TENSORS; i += 997) {
        BD_STATUS(st);
        bd_bundle_entry e;
        char *name = name_of(1, i);
        bd_bytes key = {(const uint8_t *)name, strlen(name)};
        assert_leveldb(leveldb_table_get(index, name, strlen(name), &value, &value_len, &error), error);
        assert_non_null(value);
        bd_bundle_entry_parse(key, (bd_bytes){(const uint8_t *)value, value_len}, index, &e, st);
        assert_ok(st);
        assert_int_equal(e.shard, 1);
        assert_int_equal(e.offset, i * 12);
        assert_int_equal(e.size, 12);
        bd_bundle_entry_fini(&e);
        free(value);
        bd_free(name);
    }
    assert_leveldb(leveldb_table_get(index, "no such name", 12, &value, &value_len, &error), error);
    assert_null(value);
    bd_free(prefix);
    bd_free(index);
}

// ---- LevelDB's tables, read by us ----

static void expect_pair(bd_sstable_iter *it, const char *key, const char *value)
{
    assert_true(bd_sstable_iter_valid(it));
    assert_int_equal(bd_sstable_iter_key(it).len, strlen(key));
    assert_memory_equal(bd_sstable_iter_key(it).data, key, strlen(key));
    assert_int_equal(bd_sstable_iter_value(it).len, strlen(value));
    assert_memory_equal(bd_sstable_iter_value(it).data, value, strlen(value));
}

static void expect_table(const char *path, char *const *keys, char *const *values, size_t count)
{
    BD_STATUS(st);
    bd_sstable *t;
    bd_sstable_open(bd_fs_current, path, &t, st);
    assert_ok(st);
    bd_sstable_iter *it = bd_sstable_iter_new(t);
    bd_sstable_iter_seek(it, (bd_bytes){0}, st);
    for (size_t i = 0; i < count; i++) {
        expect_pair(it, keys[i], values[i]);
        bd_sstable_iter_next(it, st);
    }
    assert_false(bd_sstable_iter_valid(it));
    for (size_t i = 0; i < count; i += 7) {
        bd_sstable_iter_seek(it, (bd_bytes){(const uint8_t *)keys[i], strlen(keys[i])}, st);
        expect_pair(it, keys[i], values[i]);
    }
    assert_ok(st);
    bd_sstable_iter_free(it);
    bd_sstable_close(t);
}

static void tables_of_leveldb_are_read(void **state)
{
    enum {
        COUNT = 5000
    };
    char *path = bd_path_join(*state, "table"), *error;
    char **keys = bd_malloc(COUNT * sizeof *keys), **values = bd_malloc(COUNT * sizeof *values);
    for (int i = 0; i < COUNT; i++) {
        keys[i] = bd_asprintf("some/common/prefix/%06d", i * 3);
        values[i] = bd_asprintf("value %d %0*d", i, i % 300 + 1, 0);
    }
    static const size_t block_sizes[] = {1, 4096, 262144};
    for (size_t b = 0; b < BD_COUNTOF(block_sizes); b++) {
        for (int compressed = 0; compressed < 2; compressed++) {
            assert_leveldb(leveldb_table_write(path, block_sizes[b], compressed, (const char *const *)keys,
                                               (const char *const *)values, COUNT, &error),
                           error);
            expect_table(path, keys, values, COUNT);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        bd_free(keys[i]);
        bd_free(values[i]);
    }
    bd_free(keys);
    bd_free(values);
    bd_free(path);
}

#define IN_TEMP_DIR(test) cmocka_unit_test_setup_teardown((test), in_temp_dir, remove_temp_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_TEMP_DIR(leveldb_reads_written_indexes),
        IN_TEMP_DIR(tables_of_leveldb_are_read),
    };
    return BD_RUN_TESTS(tests);
}
#endif
