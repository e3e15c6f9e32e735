// Files: every call on the real disk, and the messages of errors.
#include "io/file.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "io/testing/temp_dir.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

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

static void put(const char *path, bd_file_mode mode, const char *text)
{
    BD_STATUS(st);
    bd_file *file;
    bd_file_open(bd_fs_current, path, mode, &file, st);
    assert_ok(st);
    bd_file_write(file, text, strlen(text), st);
    assert_ok(st);
    bd_file_sync(file, st);
    assert_ok(st);
    bd_file_close(file, st);
    assert_ok(st);
}

static void expect_content(const char *path, const char *text)
{
    BD_STATUS(st);
    char *data;
    size_t len;
    bd_file_read_all(bd_fs_current, path, 1 << 20, &data, &len, st);
    assert_ok(st);
    assert_int_equal(len, strlen(text));
    assert_string_equal(data, text);
    bd_free(data);
}

static void opening_modes_create_append_and_replace(void **state)
{
    BD_STATUS(st);
    bd_file *file;
    char *path = bd_path_join(*state, "a");
    put(path, BD_FILE_CREATE_NEW, "one");
    expect_content(path, "one");
    put(path, BD_FILE_APPEND, "+two");
    expect_content(path, "one+two");
    put(path, BD_FILE_CREATE, "3");
    expect_content(path, "3");
    bd_file_open(bd_fs_current, path, BD_FILE_CREATE_NEW, &file, st);
    assert_null(file);
    assert_error(st, BRAID_ALREADY_EXISTS, path);
    bd_free(path);
}

static void reads_at_offsets_end_with_the_file(void **state)
{
    BD_STATUS(st);
    bd_file *file;
    char buffer[8];
    size_t got;
    char *path = bd_path_join(*state, "a");
    put(path, BD_FILE_CREATE, "0123456789");
    bd_file_open(bd_fs_current, path, BD_FILE_READ, &file, st);
    assert_ok(st);
    bd_file_read_at(file, 3, buffer, 4, &got, st);
    assert_ok(st);
    assert_int_equal(got, 4);
    assert_memory_equal(buffer, "3456", 4);
    bd_file_read_at(file, 7, buffer, 8, &got, st);
    assert_ok(st);
    assert_int_equal(got, 3);
    bd_file_read_at(file, 100, buffer, 8, &got, st);
    assert_ok(st);
    assert_int_equal(got, 0);
    bd_file_read_at(file, UINT64_MAX - 3, buffer, 8, &got, st);
    assert_ok(st);
    assert_int_equal(got, 0);
    bd_file_read_exact(file, 7, buffer, 4, st);
    assert_error(st, BRAID_DATA_LOSS, "ends after 10 bytes, within 4 bytes at offset 7");
    bd_file_close(file, st);
    assert_ok(st);
    bd_free(path);
}

static void errors_have_the_path_and_the_reason(void **state)
{
    BD_STATUS(st);
    bd_file *file;
    bd_file_info info;
    char *missing = bd_path_join(*state, "missing"), *inside = bd_path_join(missing, "b");
    bd_file_open(bd_fs_current, missing, BD_FILE_READ, &file, st);
    assert_non_null(strstr(braid_status_message(st), missing));
    assert_error(st, BRAID_NOT_FOUND, "No such file or directory");
    bd_file_open(bd_fs_current, inside, BD_FILE_CREATE, &file, st);
    assert_error(st, BRAID_NOT_FOUND, inside);
    bd_file_get_info(bd_fs_current, missing, &info, st);
    assert_error(st, BRAID_NOT_FOUND, missing);
    bd_file_remove(bd_fs_current, missing, st);
    assert_error(st, BRAID_NOT_FOUND, missing);
    bd_file_rename(bd_fs_current, missing, inside, st);
    assert_error(st, BRAID_NOT_FOUND, missing);
    bd_file_open(bd_fs_current, *state, BD_FILE_READ, &file, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "is a directory");
    assert_int_equal(mkfifo(missing, 0600), 0);
    bd_file_open(bd_fs_current, missing, BD_FILE_READ, &file, st); // does not wait for a writer
    assert_error(st, BRAID_FAILED_PRECONDITION, "not a regular file");
    bd_file_write_atomic(bd_fs_current, missing, "x", 1, st); // a pipe or a device is not replaced by a file
    assert_error(st, BRAID_FAILED_PRECONDITION, "not a regular file");
    bd_free(missing);
    bd_free(inside);
}

static void a_full_disk_is_resource_exhausted(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_file *file;
    if (bd_file_open(bd_fs_current, "/dev/full", BD_FILE_CREATE, &file, st)) skip();
    bd_file_write(file, "x", 1, st);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "/dev/full: No space left on device");
    bd_file_close(file, st);
    assert_ok(st);
}

static void error_numbers_become_status_codes(void **state)
{
    (void)state;
    assert_int_equal(bd_code_of_errno(EACCES), BRAID_PERMISSION_DENIED);
    assert_int_equal(bd_code_of_errno(ENOSPC), BRAID_RESOURCE_EXHAUSTED);
    assert_int_equal(bd_code_of_errno(ENOTEMPTY), BRAID_FAILED_PRECONDITION);
    assert_int_equal(bd_code_of_errno(99999), BRAID_UNKNOWN);
}

// As a client may name it: an error, not a stack or a memory as deep as the path.
static void a_path_that_is_too_long_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_strbuf path = {0};
    for (int i = 0; i < 300000; i++)
        bd_strbuf_append(&path, "/x");
    bd_dir_make(bd_fs_current, bd_strbuf_str(&path), st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "/x/x");
    bd_strbuf_fini(&path);
}

static void directories_are_made_listed_and_removed(void **state)
{
    BD_STATUS(st);
    bd_name_list names;
    char *top = bd_path_join(*state, "d"), *deep = bd_path_join(top, "e/f/");
    bd_dir_make(bd_fs_current, deep, st);
    assert_ok(st);
    bd_dir_make(bd_fs_current, deep, st); // again is fine
    assert_ok(st);
    char *b = bd_path_join(top, "b"), *a = bd_path_join(top, "a");
    put(b, BD_FILE_CREATE, "");
    put(a, BD_FILE_CREATE, "");
    bd_dir_list(bd_fs_current, top, &names, st);
    assert_ok(st);
    assert_int_equal(names.len, 3);
    assert_string_equal(names.items[0], "a");
    assert_string_equal(names.items[1], "b");
    assert_string_equal(names.items[2], "e");
    bd_name_list_fini(&names);
    bd_dir_remove(bd_fs_current, top, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, top);
    bd_dir_make(bd_fs_current, a, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, a);
    bd_dir_remove(bd_fs_current, deep, st);
    assert_ok(st);
    assert_false(bd_file_exists(bd_fs_current, deep));
    bd_dir_list(bd_fs_current, deep, &names, st);
    assert_int_equal(names.len, 0);
    assert_error(st, BRAID_NOT_FOUND, deep);
    bd_free(top);
    bd_free(deep);
    bd_free(a);
    bd_free(b);
}

static void a_watch_sees_names_that_appear_and_go(void **state)
{
    BD_STATUS(st);
    char *file = bd_path_join(*state, "file"), *moved = bd_path_join(*state, "moved");
    bd_dir_watch *watch;
    bd_dir_watch_open(bd_fs_current, *state, &watch, st);
    assert_ok(st);
    const int64_t start_ns = bd_now_ns(), deadline_ns = bd_deadline_after_ms(60000);
    put(file, BD_FILE_CREATE, "text");
    bd_dir_watch_wait(watch, deadline_ns);
    bd_file_rename(bd_fs_current, file, moved, st);
    bd_dir_watch_wait(watch, deadline_ns);
    bd_file_remove(bd_fs_current, moved, st);
    bd_dir_watch_wait(watch, deadline_ns);
    assert_ok(st);
    assert_true(bd_now_ns() - start_ns < (int64_t)60e9);
    bd_dir_watch_wait(watch, bd_deadline_after_ms(1)); // no change any more
    bd_dir_watch_close(watch);

    assert_int_equal(bd_dir_watch_open(bd_fs_current, moved, &watch, st), BRAID_NOT_FOUND);
    assert_null(watch);
    assert_non_null(strstr(braid_status_message(st), moved));
    braid_status_clear(st);
    put(file, BD_FILE_CREATE, "text");
    assert_int_equal(bd_dir_watch_open(bd_fs_current, file, &watch, st), BRAID_FAILED_PRECONDITION);
    bd_dir_watch_close(watch);
    bd_free(file);
    bd_free(moved);
}

static void read_all_is_bounded(void **state)
{
    BD_STATUS(st);
    char *data;
    size_t len;
    char *path = bd_path_join(*state, "a");
    put(path, BD_FILE_CREATE, "0123456789");
    bd_file_read_all(bd_fs_current, path, 10, &data, &len, st);
    assert_ok(st);
    assert_int_equal(len, 10);
    bd_free(data);
    bd_file_read_all(bd_fs_current, path, 9, &data, &len, st);
    assert_null(data);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "is longer than 9 bytes");
    bd_file_read_all(bd_fs_current, "/proc/self/stat", 1 << 20, &data, &len, st); // its size is reported as 0
    assert_ok(st);
    assert_true(len > 20);
    bd_free(data);
    bd_free(path);
}

static void an_atomic_write_replaces_the_file_and_leaves_no_other(void **state)
{
    BD_STATUS(st);
    bd_name_list names;
    char *path = bd_path_join(*state, "a"), *missing = bd_path_join(*state, "no/a");
    bd_file_write_atomic(bd_fs_current, path, "old", 3, st);
    assert_ok(st);
    bd_file_write_atomic(bd_fs_current, path, "new", 3, st);
    assert_ok(st);
    expect_content(path, "new");
    bd_file_write_atomic(bd_fs_current, missing, "x", 1, st);
    assert_error(st, BRAID_NOT_FOUND, "no/a");
    bd_dir_list(bd_fs_current, *state, &names, st);
    assert_int_equal(names.len, 1);
    bd_name_list_fini(&names);
    bd_free(path);
    bd_free(missing);
}

static void expect_taken(char *made, const char *expected)
{
    assert_string_equal(made, expected);
    bd_free(made);
}

static void a_uri_of_a_file_is_its_path(void **state)
{
    BD_STATUS(st);
    char *path = bd_path_join(*state, "d/e/f"), *uri = bd_asprintf("file://%s", path);
    char *dir = bd_path_dir(uri);
    bd_dir_make(bd_fs_current, dir, st);
    assert_ok(st);
    put(uri, BD_FILE_CREATE, "text");
    expect_content(path, "text");
    expect_content(uri, "text");
    bd_free(dir);
    bd_free(uri);
    bd_free(path);
}

static void paths_are_joined_and_taken_apart(void **state)
{
    (void)state;
    expect_taken(bd_path_dir("a/b/c"), "a/b");
    expect_taken(bd_path_dir("a//b/"), "a");
    expect_taken(bd_path_dir("c"), ".");
    expect_taken(bd_path_dir("/c"), "/");
    expect_taken(bd_path_dir("/"), "/");
    expect_taken(bd_path_dir(""), ".");
    expect_taken(bd_path_join("a", "b"), "a/b");
    expect_taken(bd_path_join("a/", "b"), "a/b");
    expect_taken(bd_path_join("", "b"), "b");
    char *one = bd_path_temp("x"), *other = bd_path_temp("x");
    assert_true(strncmp(one, "x.tempstate", 11) == 0);
    assert_string_not_equal(one, other);
    bd_free(one);
    bd_free(other);
}

#define IN_TEMP_DIR(test) cmocka_unit_test_setup_teardown((test), in_temp_dir, remove_temp_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_TEMP_DIR(opening_modes_create_append_and_replace),
        IN_TEMP_DIR(reads_at_offsets_end_with_the_file),
        IN_TEMP_DIR(errors_have_the_path_and_the_reason),
        cmocka_unit_test(a_full_disk_is_resource_exhausted),
        cmocka_unit_test(error_numbers_become_status_codes),
        cmocka_unit_test(a_path_that_is_too_long_is_an_error),
        IN_TEMP_DIR(directories_are_made_listed_and_removed),
        IN_TEMP_DIR(a_watch_sees_names_that_appear_and_go),
        IN_TEMP_DIR(read_all_is_bounded),
        IN_TEMP_DIR(an_atomic_write_replaces_the_file_and_leaves_no_other),
        IN_TEMP_DIR(a_uri_of_a_file_is_its_path),
        cmocka_unit_test(paths_are_joined_and_taken_apart),
    };
    return BD_RUN_TESTS(tests);
}
