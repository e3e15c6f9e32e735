// Lines of text files.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/file.h"
#include "io/lines.h"
#include "io/testing/bundle_case.h"

static void write_text(const char *text, size_t len)
{
    BD_STATUS(st);
    bd_file_write_atomic(bd_fs_current, "/t", text, len, st);
    assert_ok(st);
}

static void expect_line(bd_lines *l, const char *want)
{
    BD_STATUS(st);
    const char *line;
    size_t len;
    bd_lines_next(l, &line, &len, st);
    assert_ok(st);
    assert_int_equal(len, strlen(want));
    assert_memory_equal(line, want, len);
}

static void expect_end(bd_lines *l)
{
    BD_STATUS(st);
    const char *line;
    size_t len;
    bd_lines_next(l, &line, &len, st);
    assert_error(st, BRAID_OUT_OF_RANGE, "/t: there are no more lines");
}

static bd_lines *open_lines(void)
{
    BD_STATUS(st);
    bd_lines *l;
    bd_lines_open(bd_fs_current, "/t", BD_COMPRESSION_NONE, &l, st);
    assert_ok(st);
    return l;
}

static void ends_of_lines_are_cut(void **state)
{
    (void)state;
    write_text("a\n\nb\r\n\rc\r\r\nlast", 15);
    bd_lines *l = open_lines();
    expect_line(l, "a");
    expect_line(l, "");
    expect_line(l, "b");
    expect_line(l, "\rc\r");
    expect_line(l, "last");
    expect_end(l);
    expect_end(l);
    bd_lines_close(l);
}

static void an_empty_file_has_no_events(void **state)
{
    (void)state;
    write_text("", 0);
    bd_lines *l = open_lines();
    expect_end(l);
    bd_lines_close(l);
}

static void long_lines_go_over_blocks(void **state)
{
    (void)state;
    const size_t sizes[] = {65535, 65536, 65537, 200000};
    for (size_t i = 0; i < BD_COUNTOF(sizes); i++) {
        char *text = bd_malloc(sizes[i] + 3);
        memset(text, 'x', sizes[i]);
        memcpy(text + sizes[i], "\ny", 3);
        write_text(text, sizes[i] + 2);
        text[sizes[i]] = 0;
        bd_lines *l = open_lines();
        expect_line(l, text);
        expect_line(l, "y");
        expect_end(l);
        bd_lines_close(l);
        bd_free(text);
    }
}

static void missing_files_are_named(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_lines *l;
    bd_lines_open(bd_fs_current, "/none", BD_COMPRESSION_NONE, &l, st);
    assert_null(l);
    assert_error(st, BRAID_NOT_FOUND, "/none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ends_of_lines_are_cut, bd_case_install, bd_case_uninstall),
        cmocka_unit_test_setup_teardown(an_empty_file_has_no_events, bd_case_install, bd_case_uninstall),
        cmocka_unit_test_setup_teardown(long_lines_go_over_blocks, bd_case_install, bd_case_uninstall),
        cmocka_unit_test_setup_teardown(missing_files_are_named, bd_case_install, bd_case_uninstall),
    };
    return BD_RUN_TESTS(tests);
}
