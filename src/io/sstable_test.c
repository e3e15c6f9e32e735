// Tables: bytes as TensorFlow writes them, random tables against a sorted list, damage, and deliberately
// malformed files.
#include "io/sstable.h"

#include "base/alloc.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "io/crc32c.h"
#include "io/little_endian.h"
#include "io/sstable_block.h"
#include "io/testing/bundle_case.h"
#include "io/testing/temp_dir.h"
#include <snappy-c.h>
#include <stdlib.h>

struct place {
    char *dir, *path;
};

static int set_up(void **state)
{
    struct place *p = bd_malloc(sizeof *p);
    p->dir = bd_temp_dir_new();
    p->path = bd_asprintf("%s/table", p->dir);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    bd_temp_dir_free(p->dir);
    bd_free(p->path);
    bd_free(p);
    return 0;
}

static bd_bytes text(const char *words)
{
    return (bd_bytes){(const uint8_t *)words, strlen(words)};
}

// ---- The model: a sorted array ----

struct pair {
    bd_bytes key, value; // owned
};

static int compare_pairs(const void *a, const void *b)
{
    return bd_bytes_compare(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

// Few different bytes, so that prefixes are shared; 0 and 255 among them.
static bd_bytes random_key(bd_rng *rng)
{
    static const uint8_t letters[] = {0, 1, 'a', 'b', 254, 255};
    size_t len = bd_rng_below(rng, 9);
    uint8_t *data = bd_malloc(len);
    for (size_t i = 0; i < len; i++)
        data[i] = letters[bd_rng_below(rng, sizeof letters)];
    return (bd_bytes){data, len};
}

static bd_bytes random_value(bd_rng *rng)
{
    size_t len = bd_rng_below(rng, bd_rng_below(rng, 20) ? 30 : 3000);
    uint8_t *data = bd_malloc(len);
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)bd_rng_next(rng);
    return (bd_bytes){data, len};
}

static void free_pair(struct pair *p)
{
    bd_free((void *)p->key.data);
    bd_free((void *)p->value.data);
}

// Sorted, without equal keys; returns how many are left.
static size_t random_pairs(bd_rng *rng, struct pair *pairs, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        pairs[i] = (struct pair){random_key(rng), random_value(rng)};
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && compare_pairs(&pairs[kept - 1], &pairs[i]) == 0) {
            free_pair(&pairs[i]);
        } else {
            pairs[kept++] = pairs[i];
        }
    }
    return kept;
}

static void write_table(const char *path, const bd_sstable_options *options, const struct pair *pairs,
                        size_t count)
{
    BD_STATUS(st);
    bd_output *out;
    bd_output_open(bd_fs_current, path, BD_FILE_CREATE, BD_COMPRESSION_NONE, &out, st);
    assert_ok(st);
    bd_sstable_writer *w = bd_sstable_writer_new(out, options);
    for (size_t i = 0; i < count; i++)
        bd_sstable_put(w, pairs[i].key, pairs[i].value, st);
    bd_sstable_finish(w, st);
    bd_sstable_writer_free(w);
    bd_output_close(out, st);
    assert_ok(st);
}

static void expect_at(bd_sstable_iter *it, const struct pair *pairs, size_t count, size_t i)
{
    assert_int_equal(bd_sstable_iter_valid(it), i < count);
    if (i >= count) return;
    assert_int_equal(bd_bytes_compare(bd_sstable_iter_key(it), pairs[i].key), 0);
    assert_int_equal(bd_bytes_compare(bd_sstable_iter_value(it), pairs[i].value), 0);
}

static size_t first_not_less(const struct pair *pairs, size_t count, bd_bytes key)
{
    size_t i = 0;
    while (i < count && bd_bytes_compare(pairs[i].key, key) < 0)
        i++;
    return i;
}

static void expect_table(const char *path, bd_rng *rng, const struct pair *pairs, size_t count)
{
    BD_STATUS(st);
    bd_sstable *t;
    bd_sstable_open(bd_fs_current, path, &t, st);
    assert_ok(st);
    bd_sstable_iter *it = bd_sstable_iter_new(t);
    assert_false(bd_sstable_iter_valid(it));
    bd_sstable_iter_seek(it, (bd_bytes){0}, st);
    for (size_t i = 0; i < count; i++) {
        assert_ok(st);
        expect_at(it, pairs, count, i);
        bd_sstable_iter_next(it, st);
    }
    assert_false(bd_sstable_iter_valid(it));
    for (int i = 0; i < 100; i++) {
        bd_bytes key = i < 50 || count == 0 ? random_key(rng) : pairs[bd_rng_below(rng, count)].key;
        size_t at = first_not_less(pairs, count, key);
        bd_sstable_iter_seek(it, key, st);
        for (size_t k = at; k < at + 3 && k <= count; k++) {
            assert_ok(st);
            expect_at(it, pairs, count, k);
            if (k < count) bd_sstable_iter_next(it, st);
        }
        if (i < 50 || count == 0) bd_free((void *)key.data);
    }
    assert_ok(st);
    bd_sstable_iter_free(it);
    bd_sstable_close(t);
}

static void random_tables_equal_a_sorted_list(void **state)
{
    enum {
        MAX = 1500
    };
    struct place *p = *state;
    struct pair *pairs = bd_malloc(MAX * sizeof *pairs);
    for (uint64_t seed = 0; seed < 60; seed++) {
        bd_rng rng = bd_rng_init(seed);
        bd_sstable_options options = {.block_bytes = 1 + bd_rng_below(&rng, 5000),
                                      .restart_interval = 1 + (int)bd_rng_below(&rng, 20)};
        size_t count = seed < 5 ? seed : bd_rng_below(&rng, MAX);
        count = random_pairs(&rng, pairs, count);
        write_table(p->path, seed % 3 ? &options : NULL, pairs, count);
        expect_table(p->path, &rng, pairs, count);
        for (size_t i = 0; i < count; i++)
            free_pair(&pairs[i]);
    }
    bd_free(pairs);
}

// ---- Bytes ----

// The content of the index that TensorFlow wrote.
static const struct pair published_pairs[] = {
    {{(const uint8_t *)"", 0}, {bd_case_index + 3, 6}},
    {{(const uint8_t *)"a", 1}, {bd_case_index + 13, 11}},
    {{(const uint8_t *)"b", 1}, {bd_case_index + 28, 13}},
    {{(const uint8_t *)"c", 1}, {bd_case_index + 45, 13}},
};

static void tables_have_the_bytes_of_tensorflow(void **state)
{
    struct place *p = *state;
    size_t len;
    write_table(p->path, NULL, published_pairs, BD_COUNTOF(published_pairs));
    char *bytes = bd_test_read(p->path, &len);
    assert_int_equal(len, BD_CASE_INDEX_LEN);
    assert_memory_equal(bytes, bd_case_index, len);
    bd_free(bytes);
}

// ---- The index's keys ----

// The keys of the index of a table with a block for each key, one after the other.
static void expect_index(const char *path, size_t count, const char *const *keys,
                         const char *const *separators)
{
    BD_STATUS(st);
    size_t len, size, index_offset = 0;
    struct pair *pairs = bd_malloc(count * sizeof *pairs);
    for (size_t i = 0; i < count; i++)
        pairs[i] = (struct pair){text(keys[i]), text("value")};
    write_table(path, &(bd_sstable_options){.block_bytes = 1}, pairs, count);
    bd_free(pairs);
    uint8_t *bytes = (uint8_t *)bd_test_read(path, &len);
    const uint8_t *footer = bytes + len - BD_TABLE_FOOTER_BYTES;
    index_offset = footer[2]; // small numbers: a byte each
    size = footer[3];
    bd_block *block = bd_malloc(sizeof *block);
    assert_true(bd_block_init(block, bd_memdup(bytes + index_offset, size), size, 0));
    bd_block_iter it = {0};
    bd_block_iter_reset(&it, block);
    for (size_t i = 0; i < count; i++) {
        bd_block_iter_next(&it);
        assert_true(it.valid);
        assert_int_equal(bd_bytes_compare(bd_block_iter_key(&it), text(separators[i])), 0);
    }
    bd_block_iter_fini(&it);
    bd_free(bytes);
    assert_ok(st);
}

static void the_index_has_short_separators(void **state)
{
    struct place *p = *state;
    expect_index(p->path, 2, (const char *[]){"the quick brown fox", "the who"},
                 (const char *[]){"the r", "u"});
    expect_index(p->path, 2, (const char *[]){"abc", "abd"}, (const char *[]){"abc", "b"});
    expect_index(p->path, 2, (const char *[]){"ab", "abc"}, (const char *[]){"ab", "b"});
    expect_index(p->path, 1, (const char *[]){"\xff\xff\x01z"}, (const char *[]){"\xff\xff\x02"});
    expect_index(p->path, 1, (const char *[]){"\xff\xff"}, (const char *[]){"\xff\xff"});
}

// ---- Damage ----

// Reads the whole table; the error it meets is left in `st`.
static size_t count_entries(const char *path, braid_status *st)
{
    bd_sstable *t;
    size_t count = 0;
    if (bd_sstable_open(bd_fs_current, path, &t, st)) return 0;
    bd_sstable_iter *it = bd_sstable_iter_new(t);
    bd_sstable_iter_seek(it, (bd_bytes){0}, st);
    while (bd_sstable_iter_valid(it)) {
        count++;
        bd_sstable_iter_next(it, st);
    }
    bd_sstable_iter_free(it);
    bd_sstable_close(t);
    return count;
}

static void each_changed_byte_is_detected(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    uint8_t bytes[BD_CASE_INDEX_LEN];
    memcpy(bytes, bd_case_index, sizeof bytes);
    for (size_t at = 0; at < sizeof bytes; at++) {
        bytes[at] ^= 1;
        bd_test_write(p->path, bytes, sizeof bytes);
        bytes[at] ^= 1;
        size_t count = count_entries(p->path, st);
        // The block of other kinds is not read, and padding has no meaning.
        bool unread = (at >= 71 && at < 84) || at == 103 || at == 104 || (at >= 107 && at < 143);
        if (unread && st->code == BRAID_OK) {
            assert_int_equal(count, 4);
            continue;
        }
        assert_int_equal(count, 0);
        assert_error(st, BRAID_DATA_LOSS, p->path);
    }
}

static void each_truncation_is_detected(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    for (size_t len = 0; len < BD_CASE_INDEX_LEN; len++) {
        bd_test_write(p->path, bd_case_index, len);
        assert_int_equal(count_entries(p->path, st), 0);
        assert_error(st, BRAID_DATA_LOSS, p->path);
    }
}

static void a_missing_file_is_not_found(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    count_entries(p->path, st);
    assert_error(st, BRAID_NOT_FOUND, p->path);
}

// ---- Malformed on purpose: right checksums around wrong content ----

static size_t put_block(uint8_t *file, size_t at, const void *block, size_t len, uint8_t compression)
{
    memcpy(file + at, block, len);
    file[at + len] = compression;
    bd_put_le32(file + at + len + 1, bd_crc32c_mask(bd_crc32c(file + at, len + 1)));
    return at + len + BD_TABLE_TRAILER_BYTES;
}

// Reads a table whose one data block has these bytes.
static size_t read_raw(const char *path, const void *block, size_t len, uint8_t compression, braid_status *st)
{
    uint8_t file[1024] = {0};
    uint8_t index[] = {0, 1, 2, 'z', 0, (uint8_t)len, 0, 0, 0, 0, 1, 0, 0, 0};
    assert_true(len < 128);
    size_t index_at = put_block(file, 0, block, len, compression);
    size_t footer = put_block(file, index_at, index, sizeof index, BD_TABLE_PLAIN);
    file[footer + 2] = (uint8_t)index_at;
    file[footer + 3] = sizeof index;
    bd_put_le64(file + footer + 40, BD_TABLE_MAGIC);
    bd_test_write(path, file, footer + BD_TABLE_FOOTER_BYTES);
    return count_entries(path, st);
}

#define RAW(...)                                                                                             \
    p->path, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), BD_TABLE_PLAIN, st
#define ONE_RESTART 0, 0, 0, 0, 1, 0, 0, 0

static void malformed_blocks_are_refused(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    assert_int_equal(read_raw(RAW(0, 1, 1, 'a', 'x', 1, 1, 1, 'b', 'y', ONE_RESTART)), 2);
    assert_ok(st);
    assert_int_equal(read_raw(RAW(ONE_RESTART)), 0); // empty is fine
    assert_ok(st);
    assert_int_equal(read_raw(RAW(0, 0, 0, 0)), 0); // as a block without restarts
    assert_ok(st);
    read_raw(RAW(0, 1, 1, 'a', 'x', 0, 0, 0, 0));
    assert_error(st, BRAID_DATA_LOSS, "no list of restarts");
    read_raw(RAW(1, 2, 3));
    assert_error(st, BRAID_DATA_LOSS, "no list of restarts");
    read_raw(RAW(0, 1, 1, 'a', 'x', 0, 0, 0, 0, 99, 0, 0, 0));
    assert_error(st, BRAID_DATA_LOSS, "no list of restarts");
    read_raw(RAW(0, 1, 1, 'a', 'x', 50, 0, 0, 0, 1, 0, 0, 0));
    assert_error(st, BRAID_DATA_LOSS, "malformed or out of order"); // the restart is beyond the entries
    read_raw(RAW(0, 1, 200, 'a', 'x', ONE_RESTART));
    assert_error(st, BRAID_DATA_LOSS, "malformed"); // 200 is half a varint, and too long
    read_raw(RAW(0, 9, 1, 'a', 'x', ONE_RESTART));
    assert_error(st, BRAID_DATA_LOSS, "malformed");
    read_raw(RAW(0, 1, 9, 'a', 'x', ONE_RESTART));
    assert_error(st, BRAID_DATA_LOSS, "malformed");
    read_raw(RAW(1, 1, 1, 'a', 'x', ONE_RESTART));
    assert_error(st, BRAID_DATA_LOSS, "malformed"); // shares bytes with no previous key
    assert_int_equal(read_raw(RAW(0, 1, 0, 'a', 2, 1, 0, 'b', ONE_RESTART)), 1);
    assert_error(st, BRAID_DATA_LOSS, "malformed"); // shares more bytes than the previous key has
    assert_int_equal(read_raw(RAW(0, 1, 0, 'b', 0, 1, 0, 'a', ONE_RESTART)), 1);
    assert_error(st, BRAID_DATA_LOSS, "out of order");
    assert_int_equal(read_raw(RAW(0, 1, 0, 'b', 1, 0, 0, ONE_RESTART)), 1);
    assert_error(st, BRAID_DATA_LOSS, "out of order"); // twice the same
    read_raw(p->path, "\x00\x00\x00\x00", 4, 7, st);
    assert_error(st, BRAID_DATA_LOSS, "unknown compression");
}

// Index entries that lead to one block twice, or to a block with keys out of range.
static void keys_must_fit_their_block(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    for (int second = 0; second < 3; second++) {
        uint8_t file[256] = {0};
        const uint8_t first_block[] = {0, 1, 0, 'b', ONE_RESTART}, low_block[] = {0, 1, 0, 'a', ONE_RESTART};
        size_t low = put_block(file, 0, first_block, sizeof first_block, BD_TABLE_PLAIN);
        size_t index_at = put_block(file, low, low_block, sizeof low_block, BD_TABLE_PLAIN);
        const uint8_t offset = second == 1 ? (uint8_t)low : 0, separator = second == 2 ? 'a' : 'c';
        const uint8_t index[] = {0, 1, 2, separator, 0, 12, 0, 1, 2, 'd', offset, 12, ONE_RESTART};
        size_t footer = put_block(file, index_at, index, sizeof index, BD_TABLE_PLAIN);
        file[footer + 2] = (uint8_t)index_at;
        file[footer + 3] = sizeof index;
        bd_put_le64(file + footer + 40, BD_TABLE_MAGIC);
        bd_test_write(p->path, file, footer + BD_TABLE_FOOTER_BYTES);
        assert_int_equal(count_entries(p->path, st), 1);
        assert_error(st, BRAID_DATA_LOSS, "a block's keys are not those of its place");
    }
}

static void blocks_may_be_compressed_by_snappy(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    const uint8_t block[] = {0, 1, 1, 'a', 'x', 0, 1, 1, 'b', 'y', ONE_RESTART};
    char packed[128];
    size_t len = sizeof packed;
    assert_int_equal(snappy_compress((const char *)block, sizeof block, packed, &len), SNAPPY_OK);
    assert_int_equal(read_raw(p->path, packed, len, BD_TABLE_SNAPPY, st), 2);
    assert_ok(st);
    packed[1] ^= 0x7f;
    read_raw(p->path, packed, len, BD_TABLE_SNAPPY, st);
    assert_error(st, BRAID_DATA_LOSS, "a compressed block is malformed, at offset 0");
    read_raw(p->path, "\xff\xff\xff\xff\x0f", 5, BD_TABLE_SNAPPY, st); // 4 GB that the data do not have
    assert_error(st, BRAID_DATA_LOSS, "a compressed block is malformed");
}

#define IN_TEMP_DIR(test) cmocka_unit_test_setup_teardown((test), set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_TEMP_DIR(tables_have_the_bytes_of_tensorflow), IN_TEMP_DIR(random_tables_equal_a_sorted_list),
        IN_TEMP_DIR(the_index_has_short_separators),      IN_TEMP_DIR(each_changed_byte_is_detected),
        IN_TEMP_DIR(each_truncation_is_detected),         IN_TEMP_DIR(a_missing_file_is_not_found),
        IN_TEMP_DIR(malformed_blocks_are_refused),        IN_TEMP_DIR(keys_must_fit_their_block),
        IN_TEMP_DIR(blocks_may_be_compressed_by_snappy),
    };
    return BD_RUN_TESTS(tests);
}
