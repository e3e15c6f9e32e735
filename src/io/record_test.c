// TFRecord files: published bytes, round trips in each compression, and every kind of damage found.
#include "io/record.h"

#include "base/alloc.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "io/crc32c.h"
#include "io/little_endian.h"
#include "io/testing/temp_dir.h"

static const bd_compression kinds[] = {BD_COMPRESSION_NONE, BD_COMPRESSION_ZLIB, BD_COMPRESSION_GZIP};

struct place {
    char *dir, *path;
};

static int set_up(void **state)
{
    struct place *p = bd_malloc(sizeof *p);
    p->dir = bd_temp_dir_new();
    p->path = bd_asprintf("%s/records", p->dir);
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

static void write_texts(const char *path, bd_compression kind, int count, const char *const *texts)
{
    BD_STATUS(st);
    bd_record_writer *w;
    bd_record_writer_open(bd_fs_current, path, BD_FILE_CREATE, kind, &w, st);
    assert_ok(st);
    for (int i = 0; i < count; i++) {
        bd_record_write(w, texts[i], strlen(texts[i]), st);
        assert_ok(st);
    }
    bd_record_writer_close(w, st);
    assert_ok(st);
}

// The example of TensorFlow's own event_file_loader_test.py: an Event with a wall time and file_version
// "brain.Event:1".
static const uint8_t event_record[] = "\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7fK\"\t\x00\x00\xc0%\xddu"
                                      "\xd5"
                                      "A\x1a\rbrain.Event:1\xec\xf3"
                                      "2\x8d";
#define EVENT_RECORD_LEN (sizeof event_record - 1)

static void records_have_the_bytes_of_tensorflow(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    bd_record_writer *w;
    size_t len;
    assert_int_equal(EVENT_RECORD_LEN, 24 + BD_RECORD_OVERHEAD);
    bd_record_writer_open(bd_fs_current, p->path, BD_FILE_CREATE, BD_COMPRESSION_NONE, &w, st);
    bd_record_write(w, event_record + 12, 24, st);
    bd_record_writer_close(w, st);
    assert_ok(st);
    char *bytes = bd_test_read(p->path, &len);
    assert_int_equal(len, EVENT_RECORD_LEN);
    assert_memory_equal(bytes, event_record, len);
    bd_free(bytes);

    bd_record_reader *r;
    const uint8_t *data;
    bd_record_reader_open(bd_fs_current, p->path, BD_COMPRESSION_NONE, &r, st);
    bd_record_read(r, &data, &len, st);
    assert_ok(st);
    assert_int_equal(len, 24);
    assert_memory_equal(data, event_record + 12, 24);
    bd_record_reader_close(r);
}

// ---- Round trips ----

// Record `i` of a file: lengths around all buffer sizes, content that compresses and content that does not.
static uint8_t *record_of(int i, size_t *len)
{
    static const size_t lengths[] = {0, 1, 100, 4096, 65520, 65536, 262143, 262144, 300000, 3, 1000000};
    bd_rng rng = bd_rng_init((uint64_t)i);
    *len = lengths[i % (int)BD_COUNTOF(lengths)];
    uint8_t *data = bd_malloc(*len);
    for (size_t k = 0; k < *len; k++)
        data[k] = i & 1 ? (uint8_t)bd_rng_next(&rng) : (uint8_t)(k / 100);
    return data;
}

static void expect_record(bd_record_reader *r, int i)
{
    BD_STATUS(st);
    const uint8_t *data;
    size_t len, expected_len;
    bd_record_read(r, &data, &len, st);
    assert_ok(st);
    uint8_t *expected = record_of(i, &expected_len);
    assert_int_equal(len, expected_len);
    assert_memory_equal(data, expected, len);
    bd_free(expected);
}

static void records_survive_a_round_trip(void **state)
{
    enum {
        COUNT = 22
    };
    struct place *p = *state;
    BD_STATUS(st);
    for (size_t k = 0; k < BD_COUNTOF(kinds); k++) {
        bd_record_writer *w;
        bd_record_writer_open(bd_fs_current, p->path, BD_FILE_CREATE, kinds[k], &w, st);
        for (int i = 0; i < COUNT; i++) {
            size_t len;
            uint8_t *data = record_of(i, &len);
            bd_record_write(w, data, len, st);
            bd_free(data);
        }
        bd_record_writer_close(w, st);
        assert_ok(st);

        bd_record_reader *r;
        uint64_t offsets[COUNT + 1];
        bd_record_reader_open(bd_fs_current, p->path, kinds[k], &r, st);
        assert_ok(st);
        for (int i = 0; i < COUNT; i++) {
            offsets[i] = bd_record_reader_offset(r);
            expect_record(r, i);
        }
        for (int twice = 0; twice < 2; twice++) {
            const uint8_t *data;
            size_t len;
            bd_record_read(r, &data, &len, st);
            assert_error(st, BRAID_OUT_OF_RANGE, p->path);
        }
        for (int i = COUNT - 1; i >= 0; i -= 3) {
            bd_record_reader_seek(r, offsets[i], st);
            assert_ok(st);
            expect_record(r, i);
        }
        bd_record_reader_close(r);
    }
}

static void flushed_records_can_be_read(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    for (size_t k = 0; k < BD_COUNTOF(kinds); k++) {
        bd_record_writer *w;
        bd_record_reader *r;
        const uint8_t *data;
        size_t len;
        bd_record_writer_open(bd_fs_current, p->path, BD_FILE_CREATE, kinds[k], &w, st);
        bd_record_reader_open(bd_fs_current, p->path, kinds[k], &r, st);
        for (int i = 0; i < 3; i++) {
            bd_record_write(w, "text", 4, st);
            if (i & 1) {
                bd_record_writer_flush(w, st);
            } else {
                bd_record_writer_sync(w, st);
            }
            bd_record_read(r, &data, &len, st);
            assert_ok(st);
            assert_int_equal(len, 4);
        }
        bd_record_writer_close(w, st);
        bd_record_read(r, &data, &len, st);
        assert_error(st, BRAID_OUT_OF_RANGE, "end of file");
        bd_record_reader_close(r);
    }
}

static void appending_continues_at_the_end(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    bd_record_writer *w;
    write_texts(p->path, BD_COMPRESSION_NONE, 1, (const char *[]){"one"});
    bd_record_writer_open(bd_fs_current, p->path, BD_FILE_APPEND, BD_COMPRESSION_NONE, &w, st);
    bd_record_write(w, "two", 3, st);
    bd_record_writer_close(w, st);
    bd_record_reader *r;
    const uint8_t *data;
    size_t len;
    bd_record_reader_open(bd_fs_current, p->path, BD_COMPRESSION_NONE, &r, st);
    bd_record_read(r, &data, &len, st);
    assert_memory_equal(data, "one", 3);
    bd_record_read(r, &data, &len, st);
    assert_memory_equal(data, "two", 3);
    assert_ok(st);
    bd_record_reader_close(r);
}

// gzip files may be put one after another.
static void gzip_members_follow_each_other(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    size_t len;
    write_texts(p->path, BD_COMPRESSION_GZIP, 2, (const char *[]){"one", "two"});
    char *once = bd_test_read(p->path, &len), *twice = bd_malloc(2 * len);
    memcpy(twice, once, len);
    memcpy(twice + len, once, len);
    bd_test_write(p->path, twice, 2 * len);
    bd_record_reader *r;
    const uint8_t *data;
    bd_record_reader_open(bd_fs_current, p->path, BD_COMPRESSION_GZIP, &r, st);
    for (int i = 0; i < 4; i++) {
        bd_record_read(r, &data, &len, st);
        assert_ok(st);
        assert_memory_equal(data, i & 1 ? "two" : "one", 3);
    }
    bd_record_read(r, &data, &len, st);
    assert_error(st, BRAID_OUT_OF_RANGE, "end of file");
    bd_record_reader_close(r);
    bd_free(once);
    bd_free(twice);
}

// ---- Damage ----

// Reads all records; returns the number of whole ones. `st` has the error that ended it.
static int count_records(const char *path, bd_compression kind, braid_status *st)
{
    bd_record_reader *r;
    const uint8_t *data;
    size_t len;
    int count = 0;
    bd_record_reader_open(bd_fs_current, path, kind, &r, st);
    assert_ok(st);
    while (bd_record_read(r, &data, &len, st) == BRAID_OK)
        count++;
    bd_record_reader_close(r);
    return count;
}

static void each_truncation_is_detected(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    for (size_t k = 0; k < BD_COUNTOF(kinds); k++) {
        size_t len;
        write_texts(p->path, kinds[k], 2, (const char *[]){"first record", "the second"});
        char *bytes = bd_test_read(p->path, &len);
        for (size_t cut = 1; cut < len; cut++) {
            bd_test_write(p->path, bytes, cut);
            int count = count_records(p->path, kinds[k], st);
            if (kinds[k] == BD_COMPRESSION_NONE && cut == 12 + 16) { // between the two
                assert_int_equal(count, 1);
                assert_error(st, BRAID_OUT_OF_RANGE, "end of file");
                continue;
            }
            assert_true(count <= 2);
            assert_non_null(strstr(braid_status_message(st), p->path));
            assert_error(st, BRAID_DATA_LOSS,
                         kinds[k] == BD_COMPRESSION_NONE ? "truncated record at " : "cut off");
        }
        bd_free(bytes);
    }
}

static void each_changed_byte_is_detected(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    size_t len;
    write_texts(p->path, BD_COMPRESSION_NONE, 2, (const char *[]){"first record", "the second"});
    char *bytes = bd_test_read(p->path, &len);
    for (size_t at = 0; at < len; at++) {
        bytes[at] ^= 0x40;
        bd_test_write(p->path, bytes, len);
        bytes[at] ^= 0x40;
        assert_int_equal(count_records(p->path, BD_COMPRESSION_NONE, st), at < 28 ? 0 : 1);
        assert_error(st, BRAID_DATA_LOSS,
                     at < 28 ? "corrupted record at 0 of " : "corrupted record at 28 of ");
    }
    bd_free(bytes);
}

static void damaged_compression_is_detected(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    for (size_t k = 1; k < BD_COUNTOF(kinds); k++) {
        size_t len;
        write_texts(p->path, kinds[k], 2, (const char *[]){"first record", "the second"});
        char *bytes = bd_test_read(p->path, &len);
        bytes[len - 6] ^= 0x40; // zlib's own checksum, or its last block
        bd_test_write(p->path, bytes, len);
        count_records(p->path, kinds[k], st);
        assert_error(st, BRAID_DATA_LOSS, p->path);
        bd_test_write(p->path, "no such thing", 13);
        count_records(p->path, kinds[k], st);
        assert_error(st, BRAID_DATA_LOSS, "the compressed content is damaged");
        bd_free(bytes);
    }
}

// Writes a record whose length field is `len`, with a correct checksum, and `have` bytes of data.
static void write_header(const char *path, uint64_t len, size_t have)
{
    char bytes[64] = {0};
    bd_put_le64(bytes, len);
    bd_put_le32(bytes + 8, bd_crc32c_mask(bd_crc32c(bytes, 8)));
    bd_test_write(path, bytes, 12 + have);
}

static void a_false_length_allocates_no_memory(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    write_header(p->path, (uint64_t)2000 << 20, 20); // no 2 GB are taken for it
    bd_alloc_fail_after(4);
    count_records(p->path, BD_COMPRESSION_NONE, st);
    bd_alloc_fail_after(-1);
    assert_error(st, BRAID_DATA_LOSS, "truncated record at 0");
    write_header(p->path, UINT64_MAX, 20);
    count_records(p->path, BD_COMPRESSION_NONE, st);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "18446744073709551615 bytes long");
}

static void a_failed_allocation_is_an_error(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    write_texts(p->path, BD_COMPRESSION_NONE, 1, (const char *[]){"text"});
    bd_alloc_fail_after(0);
    count_records(p->path, BD_COMPRESSION_NONE, st);
    bd_alloc_fail_after(-1);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "no memory for the record at 0");
}

static void a_reader_goes_on_when_the_file_grows(void **state)
{
    struct place *p = *state;
    BD_STATUS(st);
    bd_record_reader *r;
    const uint8_t *data;
    size_t len;
    bd_test_write(p->path, event_record, 20);
    bd_record_reader_open(bd_fs_current, p->path, BD_COMPRESSION_NONE, &r, st);
    bd_record_read(r, &data, &len, st);
    assert_error(st, BRAID_DATA_LOSS, "truncated record at 0");
    bd_test_write(p->path, event_record, EVENT_RECORD_LEN);
    bd_record_read(r, &data, &len, st);
    assert_ok(st);
    assert_int_equal(len, 24);
    bd_record_reader_close(r);
}

static void a_failed_write_stays_failed(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_record_writer *w;
    if (bd_record_writer_open(bd_fs_current, "/dev/full", BD_FILE_CREATE, BD_COMPRESSION_NONE, &w, st))
        skip();
    bd_record_write(w, "text", 4, st);
    assert_ok(st); // it is in the buffer
    bd_record_writer_flush(w, st);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "/dev/full");
    bd_record_write(w, "text", 4, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "writing to /dev/full failed before");
    bd_record_writer_close(w, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "/dev/full");
}

static void compressions_have_names(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_compression kind;
    bd_compression_parse("", &kind, st);
    assert_int_equal(kind, BD_COMPRESSION_NONE);
    bd_compression_parse("ZLIB", &kind, st);
    assert_int_equal(kind, BD_COMPRESSION_ZLIB);
    bd_compression_parse("GZIP", &kind, st);
    assert_int_equal(kind, BD_COMPRESSION_GZIP);
    assert_ok(st);
    bd_compression_parse("gzip", &kind, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "unknown compression 'gzip'");
}

#define IN_TEMP_DIR(test) cmocka_unit_test_setup_teardown((test), set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_TEMP_DIR(records_have_the_bytes_of_tensorflow), IN_TEMP_DIR(records_survive_a_round_trip),
        IN_TEMP_DIR(flushed_records_can_be_read),          IN_TEMP_DIR(appending_continues_at_the_end),
        IN_TEMP_DIR(gzip_members_follow_each_other),       IN_TEMP_DIR(each_truncation_is_detected),
        IN_TEMP_DIR(each_changed_byte_is_detected),        IN_TEMP_DIR(damaged_compression_is_detected),
        IN_TEMP_DIR(a_false_length_allocates_no_memory),   IN_TEMP_DIR(a_failed_allocation_is_an_error),
        IN_TEMP_DIR(a_reader_goes_on_when_the_file_grows), cmocka_unit_test(a_failed_write_stays_failed),
        cmocka_unit_test(compressions_have_names),
    };
    return BD_RUN_TESTS(tests);
}
