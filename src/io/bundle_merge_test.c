// Merging bundles, removing them, and putting one in the place of another.
#include "io/bundle.h"

#include "base/testing/test.h"
#include "io/file.h"
#include "io/testing/bundle_case.h"
#include "io/testing/memory_fs.h"
#include "io/testing/temp_dir.h"

// ---- Merging ----

static const bd_bundle_merge_options remove_dirs = {.remove_dirs = true}, keep_dirs = {0};

static void write_parts(void)
{
    bd_bundle_writer *w = bd_case_open_writer("/dir/temp/part-0");
    bd_case_add_floats(w, "a", BRAID_SHAPE(3), 1);
    bd_case_add_part(w, "p", BRAID_SHAPE(4, 5), "0,3:-");
    bd_case_finish(w);
    w = bd_case_open_writer("/dir/temp/part-1");
    bd_case_add_part(w, "p", BRAID_SHAPE(4, 5), "3,1:-");
    bd_case_add_floats(w, "b", BRAID_SHAPE(3), 2);
    bd_case_finish(w);
}

static void expect_merged(const char *prefix)
{
    bd_bundle *b = bd_case_open_bundle(prefix);
    bd_case_expect_floats(b, "a", BRAID_SHAPE(3), 1);
    bd_case_expect_floats(b, "b", BRAID_SHAPE(3), 2);
    bd_case_expect_floats(b, "p", BRAID_SHAPE(4, 5), 0);
    bd_bundle_close(b);
}

static void merging_joins_the_parts_and_removes_them(void **state)
{
    (void)state;
    BD_STATUS(st);
    write_parts();
    bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/temp/part-0", "/dir/temp/part-1"}, 2, "/dir/v",
                    &remove_dirs, st);
    assert_ok(st);
    expect_merged("/dir/v");
    assert_false(bd_file_exists(bd_fs_current, "/dir/temp"));
    assert_true(bd_file_exists(bd_fs_current, "/dir/v.data-00000-of-00002"));
    assert_true(bd_file_exists(bd_fs_current, "/dir/v.data-00001-of-00002"));
    assert_int_equal(bd_memory_fs_file_count(), 3);
}

static void merging_keeps_directories_on_request(void **state)
{
    (void)state;
    BD_STATUS(st);
    write_parts();
    bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/temp/part-0", "/dir/temp/part-1"}, 2, "/dir/v",
                    &keep_dirs, st);
    assert_ok(st);
    assert_true(bd_file_exists(bd_fs_current, "/dir/temp"));
    write_parts();
    bd_test_write("/dir/temp/mine", "x", 1);
    bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/temp/part-0", "/dir/temp/part-1"}, 2, "/dir/w",
                    &remove_dirs, st);
    assert_ok(st);
    assert_true(bd_file_exists(bd_fs_current, "/dir/temp/mine"));
    expect_merged("/dir/w");
}

static void a_merged_bundle_merges_again(void **state)
{
    (void)state;
    BD_STATUS(st);
    write_parts();
    bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/temp/part-0", "/dir/temp/part-1"}, 2, "/dir/v",
                    &remove_dirs, st);
    bd_bundle_writer *w = bd_case_open_writer("/dir/more");
    bd_case_add_floats(w, "c", BRAID_SCALAR, 9);
    bd_case_finish(w);
    w = bd_case_open_writer("/dir/empty"); // has an empty data file
    bd_case_finish(w);
    bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/v", "/dir/empty", "/dir/more"}, 3, "/dir/v",
                    &remove_dirs, st);
    assert_ok(st);
    expect_merged("/dir/v");
    bd_bundle *b = bd_case_open_bundle("/dir/v");
    bd_case_expect_floats(b, "c", BRAID_SCALAR, 9);
    bd_bundle_close(b);
    assert_int_equal(bd_memory_fs_file_count(), 4);
}

static void merging_can_skip_missing_parts(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const bd_bundle_merge_options allow = {.remove_dirs = true, .allow_missing = true};
    write_parts();
    bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/none", "/dir/temp/part-0", "/dir/temp/part-1"}, 3,
                    "/dir/v", &allow, st);
    assert_ok(st);
    expect_merged("/dir/v");
    bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/none"}, 1, "/dir/v", &allow, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "At least one prefix checkpoint file must exist");
    expect_merged("/dir/v");
}

static void parts_that_contradict_are_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_bundle_merge(bd_fs_current, NULL, 0, "/v", &remove_dirs, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "no checkpoints to merge into /v");
    write_parts();
    bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/temp/part-0", "/dir/temp/none"}, 2, "/dir/v",
                    &remove_dirs, st);
    assert_error(st, BRAID_NOT_FOUND, "Failed to find any matching files for /dir/temp/none");
    bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/temp/part-0", "/dir/temp/part-0"}, 2, "/dir/v",
                    &remove_dirs, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Duplicate tensor keyed by p slice 0,3:-");
    bd_bundle_writer *w = bd_case_open_writer("/dir/x");
    bd_case_add_part(w, "p", BRAID_SHAPE(4, 6), "3,1:-");
    bd_case_finish(w);
    bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/temp/part-0", "/dir/x"}, 2, "/dir/v", &remove_dirs,
                    st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "differ in type or whole shape");
    bd_file_remove(bd_fs_current, "/dir/temp/part-1.data-00000-of-00001", st);
    bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/temp/part-0", "/dir/temp/part-1"}, 2, "/dir/v",
                    &remove_dirs, st);
    assert_error(st, BRAID_NOT_FOUND, "/dir/temp/part-1.data-00000-of-00001");
    bd_bundle *b = bd_case_open_bundle("/dir/temp/part-0"); // no file was moved
    bd_case_expect_floats(b, "a", BRAID_SHAPE(3), 1);
    bd_bundle_close(b);
}

// Returns true after this number of calls.
static bool is_cancelled_after(void *questions)
{
    return (*(int *)questions)-- == 0;
}

static void a_cancelled_merge_changes_nothing(void **state)
{
    (void)state;
    enum {
        QUESTIONS = 5 // two indexes, two data files, and before anything is renamed
    };
    BD_STATUS(st);
    bd_bundle_writer *w = bd_case_open_writer("/dir/v");
    bd_case_add_floats(w, "a", BRAID_SHAPE(3), 7);
    bd_case_finish(w);
    write_parts();
    for (int n = 0; n <= QUESTIONS; n++) {
        int questions = n;
        bd_bundle_merge_options options = {
            .remove_dirs = true, .is_cancelled = is_cancelled_after, .arg = &questions};
        bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/temp/part-0", "/dir/temp/part-1"}, 2, "/dir/v",
                        &options, st);
        if (n == QUESTIONS) break;
        assert_error(st, BRAID_CANCELLED, "merging checkpoints into /dir/v was cancelled");
        assert_int_equal(bd_memory_fs_file_count(), 6);
        bd_bundle *b = bd_case_open_bundle("/dir/v");
        bd_case_expect_floats(b, "a", BRAID_SHAPE(3), 7);
        bd_bundle_close(b);
    }
    assert_ok(st);
    expect_merged("/dir/v");
}

static void removing_a_bundle_removes_its_files(void **state)
{
    (void)state;
    BD_STATUS(st);
    write_parts();
    bd_bundle_remove(bd_fs_current, "/dir/temp/part-0", st);
    bd_bundle_remove(bd_fs_current, "/dir/temp/part-1", st);
    assert_ok(st);
    assert_int_equal(bd_memory_fs_file_count(), 0);
    bd_bundle_remove(bd_fs_current, "/dir/temp/part-0", st);
    assert_error(st, BRAID_NOT_FOUND, "/dir/temp/part-0.index");
}

// ---- In the place of another ----

static void a_rename_replaces_a_bundle(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        bd_bundle_writer *w = bd_case_open_writer("/v");
        bd_case_add_floats(w, "a", BRAID_SHAPE(10), (float)i);
        bd_case_finish(w);
        bd_bundle *b = bd_case_open_bundle("/v");
        bd_case_expect_floats(b, "a", BRAID_SHAPE(10), (float)i);
        bd_bundle_close(b);
        assert_int_equal(bd_memory_fs_file_count(), i % 2 ? 3 : 2);
    }
}

static void an_unfinished_bundle_leaves_no_file(void **state)
{
    (void)state;
    bd_bundle_writer *w = bd_case_open_writer("/v");
    bd_case_add_floats(w, "a", BRAID_SCALAR, 1);
    bd_bundle_writer_free(w);
    assert_int_equal(bd_memory_fs_file_count(), 0);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown((test), bd_case_install, bd_case_uninstall)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DISK(merging_joins_the_parts_and_removes_them),
        ON_DISK(merging_keeps_directories_on_request),
        ON_DISK(a_merged_bundle_merges_again),
        ON_DISK(merging_can_skip_missing_parts),
        ON_DISK(parts_that_contradict_are_refused),
        ON_DISK(a_cancelled_merge_changes_nothing),
        ON_DISK(removing_a_bundle_removes_its_files),
        ON_DISK(a_rename_replaces_a_bundle),
        ON_DISK(an_unfinished_bundle_leaves_no_file),
    };
    return BD_RUN_TESTS(tests);
}
