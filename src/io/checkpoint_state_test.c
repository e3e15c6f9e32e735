// Tests of the file that lists the checkpoints of a directory.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/checkpoint_state.h"
#include "io/testing/bundle_case.h"
#include "io/testing/memory_fs.h"
#include "io/testing/temp_dir.h"
#include <stdlib.h>
#include <unistd.h>

static void expect_file(const char *path, const char *want)
{
    BD_STATUS(st);
    char *text;
    size_t len;
    bd_file_read_all(bd_fs_current, path, 10000, &text, &len, st);
    assert_ok(st);
    assert_string_equal(text, want);
    bd_free(text);
}

static void write_text(const char *path, const char *text)
{
    BD_STATUS(st);
    bd_file_write_atomic(bd_fs_current, path, text, strlen(text), st);
    assert_ok(st);
}

static void expect_state(const char *dir, const char *latest, const char *first, size_t count)
{
    BD_STATUS(st);
    bd_checkpoint_state s;
    bd_checkpoint_state_read(bd_fs_current, dir, NULL, &s, st);
    assert_ok(st);
    assert_string_equal(s.latest, latest);
    assert_int_equal(s.all.len, count);
    assert_string_equal(s.all.items[0], first);
    assert_string_equal(s.all.items[count - 1], latest);
    bd_checkpoint_state_fini(&s);
}

typedef struct write_case {
    const char *dir, *old, *latest;
    bool relative;
    const char *want_old, *want_latest;
} write_case;

static void expect_writes(const write_case *cases, size_t count)
{
    BD_STATUS(st);
    for (const write_case *w = cases; w < cases + count; w++) {
        char *old = (char *)w->old;
        bd_checkpoint_state s = {.latest = (char *)w->latest, .all = {&old, 1, 1}};
        bd_dir_make(bd_fs_current, w->dir, st);
        bd_checkpoint_state_write(bd_fs_current, w->dir, NULL, &s, w->relative, st);
        assert_ok(st);
        char *path = bd_path_join(w->dir, "checkpoint");
        char *want = bd_asprintf("model_checkpoint_path: \"%s\"\n"
                                 "all_model_checkpoint_paths: \"%s\"\n"
                                 "all_model_checkpoint_paths: \"%s\"\n",
                                 w->want_latest, w->want_old, w->want_latest);
        expect_file(path, want);
        bd_free(path);
        bd_free(want);
    }
}

// The text that TensorFlow writes.
static void the_state_has_the_text_of_tensorflow(void **state)
{
    (void)state;
    static const write_case cases[] = {
        {"/log", "/log/m-10", "/log/m-20", false, "/log/m-10", "/log/m-20"},
        {"/log", "/log/m-10", "/log/m-20", true, "m-10", "m-20"},
        {"/log", "/old/m-10", "/log/m-20", true, "../old/m-10", "m-20"},
    };
    expect_writes(cases, BD_COUNTOF(cases));
}

static void relative_directories_give_relative_paths(void **state)
{
    (void)state;
    static const write_case cases[] = {
        {"log", "log/m-10", "log/m-20", false, "m-10", "m-20"},
        {"log", "/log/m-10", "log/sub/m-20", false, "/log/m-10", "sub/m-20"},
    };
    char *dir = bd_temp_dir_new(), *here = getcwd(NULL, 0);
    assert_int_equal(chdir(dir), 0);
    expect_writes(cases, BD_COUNTOF(cases));
    expect_state("log", "log/sub/m-20", "/log/m-10", 2);
    assert_int_equal(chdir(here), 0);
    free(here);
    bd_temp_dir_free(dir);
}

static void the_state_of_tensorflow_is_read(void **state)
{
    (void)state;
    write_text("/checkpoint", "model_checkpoint_path: \"m-20\"\n"
                              "all_model_checkpoint_paths: \"/old/m-10\"  # moved\n"
                              "all_model_checkpoint_paths: 'm-20'\n");
    expect_state("/", "/m-20", "/old/m-10", 2);
}

static void times_survive_a_round_trip(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *all[] = {"/m-10", "/m-20"};
    double times[] = {1000.25, 2000.5};
    bd_checkpoint_state s = {.latest = "/m-30", .all = {all, 2, 2}, .times = times, .last_preserved = 5.5},
                        read;
    bd_checkpoint_state_write(bd_fs_current, "/", "other", &s, false, st);
    assert_ok(st);
    bd_checkpoint_state_read(bd_fs_current, "/", "other", &read, st);
    assert_ok(st);
    assert_int_equal(read.all.len, 3);
    assert_true(read.times[0] == 1000.25 && read.times[1] == 2000.5 && read.times[2] > 1e9);
    assert_true(read.last_preserved == 5.5);
    bd_checkpoint_state_fini(&read);
}

static void expect_error(const char *text, braid_code code, const char *words)
{
    BD_STATUS(st);
    bd_checkpoint_state s;
    if (text) write_text("/checkpoint", text);
    bd_checkpoint_state_read(bd_fs_current, "/", NULL, &s, st);
    assert_error(st, code, words);
    assert_null(s.latest);
}

static void malformed_states_are_data_loss(void **state)
{
    (void)state;
    BD_STATUS(st);
    expect_error(NULL, BRAID_NOT_FOUND, "/checkpoint");
    expect_error("model_checkpoint_path: \"a\"\nmodel_ch", BRAID_DATA_LOSS, "/checkpoint: ");
    expect_error("\n\nno_such_field: 1", BRAID_DATA_LOSS, "line 3, column 1");
    expect_error("", BRAID_DATA_LOSS, "Invalid checkpoint state loaded from /checkpoint");
    bd_checkpoint_state s = {.latest = "/checkpoint"};
    bd_checkpoint_state_write(bd_fs_current, "/", NULL, &s, false, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Save path '/checkpoint' conflicts with path");
}

static void the_latest_checkpoint_is_found(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *prefix;
    bd_checkpoint_state s = {.latest = "/log/m-1"};
    bd_dir_make(bd_fs_current, "/log", st);
    bd_checkpoint_latest(bd_fs_current, "/log", NULL, &prefix, st);
    assert_error(st, BRAID_NOT_FOUND, "/log/checkpoint");
    bd_checkpoint_state_write(bd_fs_current, "/log", NULL, &s, true, st);
    assert_ok(st);
    bd_checkpoint_latest(bd_fs_current, "/log", NULL, &prefix, st);
    assert_error(st, BRAID_NOT_FOUND, "Couldn't match files for checkpoint /log/m-1");
    assert_null(prefix);
    bd_case_write_published("/log/m-1");
    bd_checkpoint_latest(bd_fs_current, "/log", NULL, &prefix, st);
    assert_ok(st);
    assert_string_equal(prefix, "/log/m-1");
    bd_free(prefix);
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_checkpoint_state s = {.latest = "/m-1"};
    bd_checkpoint_state_write(bd_fs_current, "/", NULL, &s, false, st);
    assert_ok(st);
    s.latest = "/m-2";
    for (int64_t n = 0; n < 4; n++) {
        bd_memory_fs_fail_after(n, false);
        bd_checkpoint_state_write(bd_fs_current, "/", NULL, &s, false, st);
        if (!st->code) break;
        braid_status_clear(st);
        if (n < 3) expect_state("/", "/m-1", "/m-1", 1); // the fourth is the directory's: old or new
        assert_int_equal(bd_memory_fs_file_count(), 1);
    }
}

#define WITH_DISK(TEST) cmocka_unit_test_setup_teardown(TEST, bd_case_install, bd_case_uninstall)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DISK(the_state_has_the_text_of_tensorflow),
        cmocka_unit_test(relative_directories_give_relative_paths),
        WITH_DISK(the_state_of_tensorflow_is_read),
        WITH_DISK(times_survive_a_round_trip),
        WITH_DISK(malformed_states_are_data_loss),
        WITH_DISK(the_latest_checkpoint_is_found),
        WITH_DISK(a_full_disk_leaves_the_old_file),
    };
    return BD_RUN_TESTS(tests);
}
