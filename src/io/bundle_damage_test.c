// Damaged bundles: every changed byte is found, and deliberately malformed files are refused.
#include "io/bundle.h"

#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/file.h"
#include "io/sstable.h"
#include "io/testing/bundle_case.h"
#include "io/testing/temp_dir.h"

// ---- Damage ----

static void missing_files_and_keys_are_not_found(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_case_expect_read_error("/none", "a", BRAID_NOT_FOUND, "Failed to find any matching files for /none");
    bd_case_write_published("/v");
    bd_file_remove(bd_fs_current, "/v.data-00000-of-00001", st);
    bd_case_expect_read_error("/v", "a", BRAID_NOT_FOUND, "/v.data-00000-of-00001");
}

static void each_changed_byte_of_the_data_is_detected(void **state)
{
    (void)state;
    bd_case_write_published("/v");
    uint8_t data[sizeof bd_case_data];
    memcpy(data, bd_case_data, sizeof data);
    for (size_t at = 0; at < sizeof data; at++) {
        const char *name = (const char *[]){"a", "b", "c"}[at / 4];
        data[at] ^= 0x20;
        bd_test_write("/v.data-00000-of-00001", data, sizeof data);
        data[at] ^= 0x20;
        bd_case_expect_read_error("/v", name, BRAID_DATA_LOSS, "/v.data-00000-of-00001");
        bd_case_expect_read_error("/v", name, BRAID_DATA_LOSS, "Checksum does not match");
    }
    for (size_t len = 0; len < sizeof data; len++) {
        bd_test_write("/v.data-00000-of-00001", data, len);
        bd_case_expect_read_error("/v", "c", BRAID_DATA_LOSS,
                                  "key c (4 bytes at offset 8): the file ends before");
    }
}

static void each_changed_byte_of_strings_is_detected(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_tensor t;
    bd_tensor_init(&t, BRAID_STRING, &BRAID_SHAPE(3), st);
    bd_tensor_string_set(&t, 0, "abc", 3);
    bd_tensor_string_set(&t, 2, "defghi", 6);
    bd_bundle_writer *w = bd_case_open_writer("/v");
    bd_bundle_add(w, "s", &t, st);
    bd_case_finish(w);
    bd_tensor_fini(&t);
    size_t len;
    char *data = bd_test_read("/v.data-00000-of-00001", &len);
    for (size_t at = 0; at < len; at++) {
        for (int bit = 0; bit < 8; bit++) {
            data[at] ^= (char)(1 << bit);
            bd_test_write("/v.data-00000-of-00001", data, len);
            data[at] ^= (char)(1 << bit);
            bd_case_expect_read_error("/v", "s", BRAID_DATA_LOSS, "/v.data-00000-of-00001: key s");
        }
    }
    bd_free(data);
}

static void a_damaged_index_is_detected(void **state)
{
    (void)state;
    bd_case_write_published("/v");
    uint8_t index[sizeof bd_case_index];
    memcpy(index, bd_case_index, sizeof index);
    for (size_t at = 0; at < 71; at++) {
        index[at] ^= 0x10;
        bd_test_write("/v.index", index, sizeof index);
        index[at] ^= 0x10;
        bd_case_expect_read_error("/v", "a", BRAID_DATA_LOSS, "/v.index");
    }
    for (size_t len = 0; len < sizeof index; len++) {
        bd_test_write("/v.index", index, len);
        bd_case_expect_read_error("/v", "a", BRAID_DATA_LOSS, "/v.index");
    }
}

// An index with this header and, under this key, this entry: right checksums around wrong content.
static void write_entry(const void *header, size_t header_len, bd_bytes key, const void *entry,
                        size_t entry_len)
{
    BD_STATUS(st);
    bd_output *out;
    bd_output_open(bd_fs_current, "/v.index", BD_FILE_CREATE, BD_COMPRESSION_NONE, &out, st);
    bd_sstable_writer *w = bd_sstable_writer_new(out, NULL);
    bd_sstable_put(w, (bd_bytes){0}, (bd_bytes){header, header_len}, st);
    bd_sstable_put(w, key, (bd_bytes){entry, entry_len}, st);
    bd_sstable_finish(w, st);
    bd_sstable_writer_free(w);
    bd_output_close(out, st);
    assert_ok(st);
}

static void write_index(const void *header, size_t header_len, const void *entry, size_t entry_len)
{
    write_entry(header, header_len, (bd_bytes){(const uint8_t *)"a", 1}, entry, entry_len);
}

#define HEADER "\x08\x01\x1a\x02\x08\x01"

static void expect_bad_entry(const char *entry, size_t len, braid_code code, const char *words)
{
    write_index(HEADER, sizeof HEADER - 1, entry, len);
    bd_case_expect_read_error("/v", "a", code, words);
}
#define BAD_ENTRY(entry, words) expect_bad_entry((entry), sizeof(entry) - 1, BRAID_DATA_LOSS, (words))
#define BAD_HEADER(header, code, words)                                                                      \
    (write_index((header), sizeof(header) - 1, "\x08\x01", 2),                                               \
     bd_case_expect_read_error("/v", "a", (code), (words)))

static void malformed_entries_are_refused(void **state)
{
    (void)state;
    bd_test_write("/v.data-00000-of-00001", "0123456789", 10);
    BAD_ENTRY("\xff", "the entry for key a is damaged: BundleEntryProto of 1 bytes is malformed");
    BAD_ENTRY("\x08\x63\x12\x00", "its type is unknown");
    BAD_ENTRY("\x08\x65\x12\x00", "its type is unknown"); // a reference
    BAD_ENTRY("\x08\x01\x12\x02\x18\x01", "its shape is unknown");
    BAD_ENTRY("\x08\x01\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
              "a dimension is negative");
    BAD_ENTRY(
        "\x08\x01\x12\x14\x12\x08\x08\xff\xff\xff\xff\xff\xff\x7f\x12\x08\x08\xff\xff\xff\xff\xff\xff\x7f",
        "its shape is too large");
    BAD_ENTRY(
        "\x08\x01\x12\x1a\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00",
        "more than 12 dimensions");
    BAD_ENTRY("\x08\x01\x18\x01\x28\x04", "key a is in data file 1 of 1");
    BAD_ENTRY("\x08\x01\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "shard, offset or size is negative");
    BAD_ENTRY("\x08\x01\x28\x05", "Invalid size in bundle entry");
    BAD_ENTRY("\x08\x01\x12\x08\x12\x06\x08\x80\x80\x80\x80\x10\x28\x04", "Invalid size in bundle entry");
    BAD_ENTRY("\x08\x01\x20\x07\x28\x04", "the file ends before");
    BAD_ENTRY("\x08\x07\x12\x06\x12\x04\x08\xff\xff\x7f\x28\x0a", "Invalid size in bundle entry");
    BAD_ENTRY("\x08\x01\x12\x04\x12\x02\x08\x04\x3a\x00", "a slice has another number of dimensions");
    BAD_ENTRY("\x08\x01\x12\x04\x12\x02\x08\x04\x3a\x02\x0a\x00", "a slice is the whole tensor");
    BAD_ENTRY("\x08\x01\x12\x04\x12\x02\x08\x04\x3a\x06\x0a\x04\x08\x03\x10\x02",
              "a slice is not in its shape");
    BAD_ENTRY("\x08\x01\x12\x04\x12\x02\x08\x04\x3a\x06\x0a\x04\x08\x03\x10\x00", "a slice is empty");
    expect_bad_entry("\x08\x14\x12\x00", 4, BRAID_UNIMPLEMENTED, "type resource, which cannot be read");
    // A slice that is listed, but not there.
    expect_bad_entry(
        "\x08\x01\x12\x04\x12\x02\x08\x02\x3a\x04\x0a\x02\x10\x01\x3a\x06\x0a\x04\x08\x01\x10\x01", 22,
        BRAID_NOT_FOUND, "Key a slice 0,1 not found in checkpoint /v");
}

static void ignore(const bd_bundle_info *info, void *arg)
{
    (void)info;
    (void)arg;
}

static void a_key_that_is_not_a_name_is_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    write_entry(HEADER, sizeof HEADER - 1, (bd_bytes){(const uint8_t *)"a\0b", 3}, "\x08\x01", 2);
    bd_bundle *b = bd_case_open_bundle("/v");
    bd_bundle_list(b, ignore, NULL, st);
    assert_error(st, BRAID_DATA_LOSS, "/v.index: a key is neither a name nor that of a slice");
    bd_bundle_close(b);
}

static void malformed_headers_are_refused(void **state)
{
    (void)state;
    BAD_HEADER("\xff", BRAID_DATA_LOSS, "/v.index: its header is damaged");
    BAD_HEADER("\x08\x01\x10\x01", BRAID_UNIMPLEMENTED, "the other byte order");
    BAD_HEADER("\x08\xa0\x8d\x06", BRAID_DATA_LOSS, "100000 data files");
    BAD_HEADER("\x08\x01\x1a\x04\x08\x02\x10\x02", BRAID_INVALID_ARGUMENT, "checkpoint version 2 and above");
    BAD_HEADER("\x08\x01\x1a\x05\x08\x02\x1a\x01\x01", BRAID_INVALID_ARGUMENT, "this one reads version 1");
    BD_STATUS(st);
    bd_output *out;
    bd_output_open(bd_fs_current, "/v.index", BD_FILE_CREATE, BD_COMPRESSION_NONE, &out, st);
    bd_sstable_writer *w = bd_sstable_writer_new(out, NULL);
    bd_sstable_finish(w, st);
    bd_sstable_writer_free(w);
    bd_output_close(out, st);
    bd_case_expect_read_error("/v", "a", BRAID_DATA_LOSS, "/v.index has no header");
}

static void a_failed_allocation_is_an_error(void **state)
{
    (void)state;
    bd_bundle_writer *w = bd_case_open_writer("/v");
    bd_case_add_floats(w, "a", BRAID_SHAPE(10), 0);
    bd_case_finish(w);
    bd_buffer_pool_trim(0);
    bd_buffer_pool_set_limit(1);
    bd_case_expect_read_error("/v", "a", BRAID_RESOURCE_EXHAUSTED, "");
    bd_buffer_pool_set_limit(SIZE_MAX);
    bd_alloc_fail_after(0);
    bd_case_expect_read_error("/v", "a", BRAID_RESOURCE_EXHAUSTED, "no memory for a block");
    bd_alloc_fail_after(-1);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown((test), bd_case_install, bd_case_uninstall)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DISK(missing_files_and_keys_are_not_found),
        ON_DISK(each_changed_byte_of_the_data_is_detected),
        ON_DISK(each_changed_byte_of_strings_is_detected),
        ON_DISK(a_damaged_index_is_detected),
        ON_DISK(malformed_entries_are_refused),
        ON_DISK(a_key_that_is_not_a_name_is_refused),
        ON_DISK(malformed_headers_are_refused),
        ON_DISK(a_failed_allocation_is_an_error),
    };
    return BD_RUN_TESTS(tests);
}
