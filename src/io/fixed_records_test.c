// Files of records of one length.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/file.h"
#include "io/fixed_records.h"
#include "io/testing/bundle_case.h"
#include "io/testing/memory_fs.h"
#include <zlib.h>

static const char content[] = "HHabcdefghijklFF"; // a header and a footer of two bytes

static void write_bytes(const void *data, size_t len)
{
    BD_STATUS(st);
    bd_file_write_atomic(bd_fs_current, "/t", data, len, st);
    assert_ok(st);
}

// Reads all and joins them with blanks.
static void expect_records(bd_fixed_format format, const char *want)
{
    BD_STATUS(st);
    char got[256] = "";
    bd_fixed_records *r;
    const char *data;
    uint64_t number, count = 0;
    bd_fixed_records_open(bd_fs_current, "/t", &format, &r, st);
    assert_ok(st);
    while (bd_fixed_records_next(r, &data, &number, st) == BRAID_OK && data) {
        assert_int_equal(number, count++);
        if (*got) strcat(got, " ");
        strncat(got, data, (size_t)format.record);
    }
    assert_ok(st);
    assert_string_equal(got, want);
    bd_fixed_records_close(r);
}

static void test_formats(bd_compression kind)
{
    expect_records((bd_fixed_format){2, 3, 2, 3, kind}, "abc def ghi jkl");
    expect_records((bd_fixed_format){2, 4, 2, 4, kind}, "abcd efgh ijkl");
    expect_records((bd_fixed_format){2, 5, 2, 5, kind}, "abcde fghij");
    expect_records((bd_fixed_format){2, 4, 2, 2, kind}, "abcd cdef efgh ghij ijkl");
    expect_records((bd_fixed_format){2, 1, 2, 5, kind}, "a f k");
    expect_records((bd_fixed_format){0, 16, 0, 16, kind}, "HHabcdefghijklFF");
    expect_records((bd_fixed_format){0, 17, 0, 17, kind}, "");
    expect_records((bd_fixed_format){100, 1, 0, 1, kind}, "");
}

static void records_lie_between_header_and_footer(void **state)
{
    (void)state;
    write_bytes(content, sizeof content - 1);
    test_formats(BD_COMPRESSION_NONE);
}

static void compressed_files_are_the_same(void **state)
{
    (void)state;
    Bytef packed[256];
    uLongf len = sizeof packed;
    assert_int_equal(compress(packed, &len, (const Bytef *)content, sizeof content - 1), Z_OK);
    write_bytes(packed, len);
    test_formats(BD_COMPRESSION_ZLIB);
}

static void memory_may_be_short(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_fixed_records *r;
    write_bytes(content, sizeof content - 1);
    bd_alloc_fail_after(0);
    bd_fixed_records_open(bd_fs_current, "/t", &(bd_fixed_format){0, 1, 0, 1, BD_COMPRESSION_NONE}, &r, st);
    bd_alloc_fail_after(-1);
    assert_null(r);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "/t: no memory for records of 1 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_lie_between_header_and_footer, bd_case_install,
                                        bd_case_uninstall),
        cmocka_unit_test_setup_teardown(compressed_files_are_the_same, bd_case_install, bd_case_uninstall),
        cmocka_unit_test_setup_teardown(memory_may_be_short, bd_case_install, bd_case_uninstall),
    };
    return BD_RUN_TESTS(tests);
}
