// Which checkpoints of a directory stay, and what is left of saves that were interrupted.
#include <braid/checkpoint.h>

#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/checkpoint.h"
#include "io/checkpoint_state.h"
#include "io/testing/temp_dir.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char *dir;

static int make_dir(void **state)
{
    (void)state;
    dir = bd_temp_dir_new();
    return 0;
}

static int free_dir(void **state)
{
    (void)state;
    bd_temp_dir_free(dir);
    return 0;
}

static void write_checkpoint(int step, char prefix[200])
{
    BD_STATUS(st);
    bd_bundle_writer *w;
    snprintf(prefix, 200, "%s/model.ckpt-%d", dir, step);
    assert_int_equal(bd_bundle_writer_open(bd_fs_current, prefix, NULL, &w, st), BRAID_OK);
    braid_tensor *t = braid_tensor_float(1);
    bd_bundle_add(w, "v", t, st);
    bd_bundle_finish(w, st);
    bd_bundle_writer_free(w);
    braid_tensor_free(t);
    braid_checkpoint_write_meta(prefix, "graph", 5, st);
    assert_ok(st);
}

static void record(int step, const braid_checkpoint_policy *policy)
{
    BD_STATUS(st);
    char prefix[200];
    write_checkpoint(step, prefix);
    braid_checkpoint_record(prefix, policy, st);
    assert_ok(st);
}

static void expect_checkpoints(const char *want)
{
    char got[200] = "";
    for (int step = 0; step < 20; step++) {
        char prefix[200], meta[220];
        snprintf(prefix, sizeof prefix, "%s/model.ckpt-%d", dir, step);
        snprintf(meta, sizeof meta, "%s.meta", prefix);
        assert_int_equal(braid_checkpoint_exists(prefix), bd_file_exists(bd_fs_current, meta));
        if (braid_checkpoint_exists(prefix)) snprintf(got + strlen(got), 20, "%d ", step);
    }
    assert_string_equal(got, want);
}

static void expect_latest(int step)
{
    BD_STATUS(st);
    char want[200];
    snprintf(want, sizeof want, "%s/model.ckpt-%d", dir, step);
    char *latest = braid_latest_checkpoint(dir, st);
    assert_ok(st);
    assert_string_equal(latest, want);
    free(latest);
}

static void the_last_five_stay(void **state)
{
    (void)state;
    for (int step = 1; step <= 7; step++)
        record(step, NULL);
    expect_checkpoints("3 4 5 6 7 ");
    expect_latest(7);
}

static void as_many_stay_as_the_policy_says(void **state)
{
    (void)state;
    const braid_checkpoint_policy two = {.max_to_keep = 2}, all = {.max_to_keep = -1};
    for (int step = 1; step <= 3; step++)
        record(step, &two);
    expect_checkpoints("2 3 ");
    for (int step = 4; step <= 10; step++)
        record(step, &all);
    expect_checkpoints("2 3 4 5 6 7 8 9 10 ");
}

static void one_of_every_n_hours_stays_for_ever(void **state)
{
    (void)state;
    BD_STATUS(st);
    const braid_checkpoint_policy policy = {.max_to_keep = 1, .keep_every_n_hours = 1};
    for (int step = 1; step <= 2; step++)
        record(step, &(braid_checkpoint_policy){.max_to_keep = -1});
    bd_checkpoint_state s; // as if the first had been written two hours after one that stays for ever
    bd_checkpoint_state_read(bd_fs_current, dir, NULL, &s, st);
    s.last_preserved = s.times[0] - 2 * 3600;
    bd_checkpoint_state_write(bd_fs_current, dir, NULL, &s, false, st);
    assert_ok(st);
    bd_checkpoint_state_fini(&s);
    record(3, &policy);
    record(4, &policy);
    expect_checkpoints("1 4 ");
}

static void a_checkpoint_that_is_written_again_is_the_newest(void **state)
{
    (void)state;
    const braid_checkpoint_policy two = {.max_to_keep = 2};
    record(1, &two);
    record(2, &two);
    record(1, &two);
    expect_latest(1);
    record(3, &two);
    expect_checkpoints("1 3 ");
}

static void a_directory_listed_by_relative_paths_is_moved(void **state)
{
    (void)state;
    BD_STATUS(st);
    const braid_checkpoint_policy relative = {.max_to_keep = 2, .save_relative_paths = true};
    char *first = dir;
    dir = bd_asprintf("%s/a", first);
    record(1, &relative);
    record(2, &relative);
    char *list = bd_asprintf("%s/checkpoint", dir), *moved = bd_asprintf("%s/b", first);
    char *text = bd_test_read(list, &(size_t){0});
    assert_non_null(strstr(text, "model_checkpoint_path: \"model.ckpt-2\"\n"));
    assert_non_null(strstr(text, "all_model_checkpoint_paths: \"model.ckpt-1\"\n"));
    assert_int_equal(rename(dir, moved), 0);
    bd_free(dir);
    dir = moved;
    char *latest = braid_latest_checkpoint(dir, st), *want = bd_asprintf("%s/model.ckpt-2", dir);
    assert_ok(st);
    assert_string_equal(latest, want);
    record(3, &relative);
    expect_checkpoints("2 3 ");
    dir = first;
    bd_free(moved);
    bd_free(text);
    bd_free(list);
    bd_free(want);
    free(latest);
}

static void a_checkpoint_without_files_is_not_recorded(void **state)
{
    (void)state;
    BD_STATUS(st);
    char prefix[200];
    snprintf(prefix, sizeof prefix, "%s/model.ckpt-1", dir);
    braid_checkpoint_record(prefix, NULL, st);
    assert_error(st, BRAID_NOT_FOUND, prefix);
    assert_null(braid_latest_checkpoint(dir, st));
    assert_error(st, BRAID_NOT_FOUND, "checkpoint");
}

static void touch(const char *name)
{
    char *path = bd_path_join(dir, name);
    bd_test_write(path, "x", 1);
    bd_free(path);
}

static void leftovers_of_interrupted_saves_are_removed_and_nothing_else(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const char *const left[] = {"model.ckpt-2.data-00000-of-00001.tempstate17",
                                       "model.ckpt-2.index.tempstate18",
                                       "checkpoint.tempstate1",
                                       "graph.pbtxt.tempstate2",
                                       "model.ckpt-5.meta",
                                       "model.ckpt-3_temp_0123/part-00000-of-00002.data-00000-of-00001",
                                       "model.ckpt-4.data-00000-of-00001"};
    static const char *const others[] = {"model.ckpt-x.tempstate1", "other.ckpt-2.index.tempstate18",
                                         "events"};
    char *temp = bd_path_join(dir, "model.ckpt-3_temp_0123");
    bd_dir_make(bd_fs_current, temp, st);
    record(1, NULL);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        touch(left[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        touch(others[i]);
    char *name = bd_path_join(dir, "model.ckpt");
    braid_checkpoint_clean(name, st);
    assert_ok(st);
    bd_name_list names;
    bd_dir_list(bd_fs_current, dir, &names, st);
    assert_int_equal(names.len, 3 + 1 + 3); // a checkpoint, the list, the others
    bd_name_list_fini(&names);
    expect_checkpoints("1 ");
    bd_free(name);
    bd_free(temp);
}

static void a_checkpoint_that_was_begun_and_not_recorded_is_removed(void **state)
{
    (void)state;
    BD_STATUS(st);
    char prefix[200];
    record(1, NULL);
    for (int step = 1; step <= 3; step++) { // 1 is written again
        write_checkpoint(step, prefix);
        if (step < 3) braid_checkpoint_begin(prefix, st);
        braid_checkpoint_end(prefix); // as the end of the process does
        assert_ok(st);
    }
    char *name = bd_path_join(dir, "model.ckpt");
    braid_checkpoint_clean(name, st);
    assert_ok(st);
    expect_checkpoints("1 3 ");
    bd_free(name);
}

static bool is_there(const char *name)
{
    char *path = bd_path_join(dir, name);
    const bool there = bd_file_exists(bd_fs_current, path);
    bd_free(path);
    return there;
}

// ---- V1 checkpoints ----

static void write_v1(const char *name)
{
    BD_STATUS(st);
    char *path = bd_path_join(dir, name);
    braid_tensor *t = braid_tensor_float(1);
    const bd_saved_slice v = {.name = "v", .slice = bd_tensor_slice_all(0), .tensor = t};
    bd_checkpoint_v1_write(bd_fs_current, path, &v, 1, NULL, NULL, st);
    assert_ok(st);
    braid_tensor_free(t);
    bd_free(path);
}

static void list_v1(const char *name)
{
    char *path = bd_path_join(dir, "checkpoint");
    char *text =
        bd_asprintf("model_checkpoint_path: \"%s\"\nall_model_checkpoint_paths: \"%s\"\n", name, name);
    bd_test_write(path, text, strlen(text));
    bd_free(text);
    bd_free(path);
}

// Of one file, and of two.
static const char *const v1_names[] = {"model.ckpt-1", "model.ckpt-1-????\?-of-00002"};

static void write_v1_checkpoint(bool is_sharded)
{
    if (is_sharded) write_v1("model.ckpt-1-00000-of-00002");
    write_v1(is_sharded ? "model.ckpt-1-00001-of-00002" : "model.ckpt-1");
    touch("model.ckpt-1.meta");
}

static void a_v1_checkpoint_is_found(void **state)
{
    (void)state;
    BD_STATUS(st);
    for (int is_sharded = 0; is_sharded < 2; is_sharded++) {
        char *prefix = bd_path_join(dir, v1_names[is_sharded]);
        list_v1(v1_names[is_sharded]);
        assert_false(braid_checkpoint_exists(prefix));
        assert_null(braid_latest_checkpoint(dir, st));
        assert_error(st, BRAID_NOT_FOUND, "Couldn't match files for checkpoint");
        write_v1_checkpoint(is_sharded);
        assert_true(braid_checkpoint_exists(prefix));
        char *latest = braid_latest_checkpoint(dir, st);
        assert_ok(st);
        assert_string_equal(latest, prefix);
        free(latest);
        braid_checkpoint_remove(prefix, st);
        bd_free(prefix);
    }
    assert_false(braid_checkpoint_exists(dir)); // it has the name of V1 files, but is a directory
}

static void a_v1_checkpoint_goes_with_its_graph_when_its_time_has_come(void **state)
{
    (void)state;
    for (int is_sharded = 0; is_sharded < 2; is_sharded++) {
        list_v1(v1_names[is_sharded]);
        write_v1_checkpoint(is_sharded);
        record(2, &(braid_checkpoint_policy){.max_to_keep = 2});
        assert_true(is_there("model.ckpt-1.meta"));
        record(3, &(braid_checkpoint_policy){.max_to_keep = 2});
        assert_false(is_there("model.ckpt-1") || is_there("model.ckpt-1-00001-of-00002"));
        assert_false(is_there("model.ckpt-1-00000-of-00002") || is_there("model.ckpt-1.meta"));
        expect_checkpoints("2 3 ");
    }
}

static void the_graph_of_a_v1_checkpoint_is_no_leftover(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *name = bd_path_join(dir, "model.ckpt");
    for (int is_sharded = 0; is_sharded < 2; is_sharded++) {
        char *prefix = bd_path_join(dir, v1_names[is_sharded]);
        write_v1_checkpoint(is_sharded);
        braid_checkpoint_clean(name, st);
        assert_ok(st);
        assert_true(braid_checkpoint_exists(prefix) && is_there("model.ckpt-1.meta"));
        braid_checkpoint_remove(prefix, st);
        assert_ok(st);
        assert_false(is_there("model.ckpt-1.meta"));
        bd_free(prefix);
    }
    bd_free(name);
}

// ---- Savers in several processes ----

// Another process: it begins a save, says so, and lives until its standard input ends.
static pid_t start_saver(const char *prefix, int *hold)
{
    int go[2], begun[2];
    char byte = 0;
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(begun), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        close(go[1]);
        const bool ok = !braid_checkpoint_begin(prefix, NULL);
        if (ok && write(begun[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 0) _exit(0);
        _exit(1);
    }
    close(go[0]);
    close(begun[1]);
    assert_int_equal(read(begun[0], &byte, 1), 1); // 0: it has failed
    close(begun[0]);
    *hold = go[1];
    return pid;
}

static void end_saver(pid_t pid, int hold)
{
    int status;
    close(hold);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void two_savers_that_live_leave_the_files_of_each_other(void **state)
{
    (void)state;
    BD_STATUS(st);
    char other[200], own[200];
    record(1, NULL);
    snprintf(other, sizeof other, "%s/model.ckpt-2", dir);
    snprintf(own, sizeof own, "%s/model.ckpt-23", dir);
    int hold;
    const pid_t pid = start_saver(other, &hold);
    braid_checkpoint_begin(own, st);
    assert_ok(st);
    touch("model.ckpt-2.data-00000-of-00001.tempstate17");
    touch("model.ckpt-2.data-00000-of-00001");
    touch("model.ckpt-23.index.tempstate18");
    touch("checkpoint.tempstate19");
    touch("model.ckpt-4.index.tempstate20"); // of a third, which has been interrupted
    char *name = bd_path_join(dir, "model.ckpt");
    braid_checkpoint_clean(name, st);
    assert_ok(st);
    assert_true(is_there("model.ckpt-2.tempstate-save") && is_there("checkpoint.tempstate19"));
    assert_true(is_there("model.ckpt-2.data-00000-of-00001.tempstate17"));
    assert_true(is_there("model.ckpt-2.data-00000-of-00001"));
    assert_true(is_there("model.ckpt-23.index.tempstate18"));
    assert_false(is_there("model.ckpt-4.index.tempstate20"));

    braid_checkpoint_end(own);
    braid_checkpoint_clean(name, st);
    assert_false(is_there("model.ckpt-23.index.tempstate18"));
    assert_true(is_there("model.ckpt-2.data-00000-of-00001.tempstate17"));

    end_saver(pid, hold); // without braid_checkpoint_end: its lock ends with it
    braid_checkpoint_clean(name, st);
    assert_ok(st);
    assert_false(is_there("model.ckpt-2.data-00000-of-00001.tempstate17"));
    assert_false(is_there("model.ckpt-2.tempstate-save") || is_there("checkpoint.tempstate19"));
    expect_checkpoints("1 ");
    bd_free(name);
}

static void a_directory_that_does_not_exist_yet_is_clean(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *name = bd_path_join(dir, "none/model.ckpt");
    braid_checkpoint_clean(name, st);
    assert_ok(st);
    bd_free(name);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make_dir, free_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_last_five_stay),
        TEST(as_many_stay_as_the_policy_says),
        TEST(one_of_every_n_hours_stays_for_ever),
        TEST(a_checkpoint_that_is_written_again_is_the_newest),
        TEST(a_directory_listed_by_relative_paths_is_moved),
        TEST(a_checkpoint_without_files_is_not_recorded),
        TEST(leftovers_of_interrupted_saves_are_removed_and_nothing_else),
        TEST(a_checkpoint_that_was_begun_and_not_recorded_is_removed),
        TEST(two_savers_that_live_leave_the_files_of_each_other),
        TEST(a_directory_that_does_not_exist_yet_is_clean),
        TEST(a_v1_checkpoint_is_found),
        TEST(a_v1_checkpoint_goes_with_its_graph_when_its_time_has_come),
        TEST(the_graph_of_a_v1_checkpoint_is_no_leftover),
    };
    return BD_RUN_TESTS(tests);
}
