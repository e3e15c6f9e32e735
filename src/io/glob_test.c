// Finding files by a pattern.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "io/glob.h"
#include "io/testing/bundle_case.h"
#include "io/testing/temp_dir.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(const char *path)
{
    BD_STATUS(st);
    char *dir = bd_path_dir(path);
    bd_dir_make(bd_fs_current, dir, st);
    bd_file_write_atomic(bd_fs_current, path, "x", 1, st);
    assert_ok(st);
    bd_free(dir);
}

static void expect_in(const bd_fs *fs, const char *pattern, const char *want)
{
    BD_STATUS(st);
    bd_name_list list;
    bd_strbuf got = {0};
    bd_glob(fs, pattern, &list, st);
    assert_ok(st);
    for (size_t i = 0; i < list.len; i++)
        bd_strbuf_appendf(&got, "%s%s", i ? " " : "", list.items[i]);
    assert_string_equal(bd_strbuf_str(&got), want);
    bd_strbuf_fini(&got);
    bd_name_list_fini(&list);
}

static void expect(const char *pattern, const char *want)
{
    expect_in(bd_fs_current, pattern, want);
}

static void patterns_match_files(void **state)
{
    (void)state;
    put("/data/train-00001");
    put("/data/train-00000");
    put("/data/train-00010.gz");
    put("/data/.hidden");
    put("/data/b/x1");
    put("/data/c/x1");
    put("/data/c/x2");
    put("/data/odd[1]*");
    expect("/data/train-0000?", "/data/train-00000 /data/train-00001");
    expect("/data/train-*", "/data/train-00000 /data/train-00001 /data/train-00010.gz");
    expect("/data/*/x1", "/data/b/x1 /data/c/x1");
    expect("/*/c/x[12]", "/data/c/x1 /data/c/x2");
    expect("/data/?", "/data/b /data/c");
    expect("/data/.*", "/data/.hidden");
    expect("/data/*idden", "/data/.hidden");
    expect("/data/c/x2", "/data/c/x2");
    expect("/data/odd\\[1]\\*", "/data/odd[1]*");
    expect("/d*a/c/x*/y", ""); // files are no directories
    expect("/data/train*0/*", "");
    expect("/data/*/none/*", "");
    expect("/none", "");
    expect("", "");
    expect("/data/b/", "");
    expect("/data/*/", "");
    expect("/data/b//x1", "");
    expect("/data/*//x1", "");
}

static void paths_in_the_current_directory_begin_with_a_dot(void **state)
{
    (void)state;
    char *dir = bd_temp_dir_new(), *here = getcwd(NULL, 0);
    assert_int_equal(chdir(dir), 0);
    bd_test_write("train-1", "x", 1);
    assert_int_equal(mkdir("d", 0777), 0);
    bd_test_write("d/x1", "x", 1);
    expect_in(&bd_fs_posix, "train-*", "./train-1");
    expect_in(&bd_fs_posix, "train-1", "./train-1");
    expect_in(&bd_fs_posix, "?/x1", "./d/x1");
    expect_in(&bd_fs_posix, "./train-*", "./train-1");
    expect_in(&bd_fs_posix, "d/x*", "d/x1");
    assert_int_equal(chdir(here), 0);
    free(here);
    bd_temp_dir_free(dir);
}

static void a_file_before_the_first_special_character_is_refused(void **state)
{
    (void)state;
    static const char *const patterns[] = {"/file/*", "/file/", "/file/*/x"};
    put("/file");
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        BD_STATUS(st);
        bd_name_list list;
        assert_int_equal(bd_glob(bd_fs_current, patterns[i], &list, st), BRAID_FAILED_PRECONDITION);
        assert_error(st, BRAID_FAILED_PRECONDITION, "/file; Not a directory");
        assert_int_equal(list.len, 0);
    }
}

// The directory before the first special character must exist.
static void a_missing_directory_is_not_found(void **state)
{
    (void)state;
    static const char *const patterns[] = {"/none/*", "/none/x", "/none/*/x", "/none/\\*"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        BD_STATUS(st);
        bd_name_list list;
        assert_int_equal(bd_glob(bd_fs_current, patterns[i], &list, st), BRAID_NOT_FOUND);
        assert_error(st, BRAID_NOT_FOUND, "/none");
        assert_int_equal(list.len, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(patterns_match_files, bd_case_install, bd_case_uninstall),
        cmocka_unit_test(paths_in_the_current_directory_begin_with_a_dot),
        cmocka_unit_test_setup_teardown(a_file_before_the_first_special_character_is_refused, bd_case_install,
                                        bd_case_uninstall),
        cmocka_unit_test_setup_teardown(a_missing_directory_is_not_found, bd_case_install, bd_case_uninstall),
    };
    return BD_RUN_TESTS(tests);
}
