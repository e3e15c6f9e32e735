// Waiting for a checkpoint, on the real disk and on one in memory.
#include <braid/checkpoint.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/testing/test.h"
#include "io/bundle.h"
#include "io/file.h"
#include "io/testing/memory_fs.h"
#include "io/testing/temp_dir.h"
#include <stdlib.h>

// A test that would wait for ever ends with this.
#define LONG_MS 60000

static char *dir; // of a test; not there at its start

static int on_disk(void **state)
{
    char *root = bd_temp_dir_new();
    *state = root;
    dir = bd_asprintf("%s/models/mnist", root);
    return 0;
}

static int off_disk(void **state)
{
    bd_free(dir);
    bd_temp_dir_free(*state);
    return 0;
}

static int in_memory(void **state)
{
    (void)state;
    bd_memory_fs_install();
    dir = bd_strdup("/models/mnist");
    return 0;
}

static int out_of_memory(void **state)
{
    (void)state;
    bd_free(dir);
    bd_memory_fs_uninstall();
    return 0;
}

// Returns the prefix; the caller's.
static char *save(int step)
{
    BD_STATUS(st);
    char *prefix = bd_asprintf("%s/model.ckpt-%d", dir, step);
    bd_bundle_writer *w;
    braid_checkpoint_begin(prefix, st);
    bd_bundle_writer_open(bd_fs_current, prefix, NULL, &w, st);
    assert_ok(st);
    braid_tensor *t = braid_tensor_float(1);
    bd_bundle_add(w, "v", t, st);
    bd_bundle_finish(w, st);
    bd_bundle_writer_free(w);
    braid_tensor_free(t);
    braid_checkpoint_record(prefix, NULL, st);
    braid_checkpoint_end(prefix);
    assert_ok(st);
    return prefix;
}

// ---- A checkpoint that is saved when the wait for it has begun ----

static const bd_fs *below; // of `saving`
static bd_fs saving;       // saves the checkpoint of `next_step` in the first wait for a change
static int next_step;
static bool saw_change; // in that wait

static braid_code watch_and_save(const bd_fs *fs, const char *path, bd_dir_watch **watch, braid_status *st)
{
    (void)fs;
    const braid_code code = below->watch(below, path, watch, st);
    if (!code) (*watch)->fs = &saving;
    return code;
}

static void save_and_wait(bd_dir_watch *watch, int64_t deadline_ns)
{
    if (!next_step) {
        below->watch_wait(watch, deadline_ns);
        return;
    }
    bd_free(save(next_step));
    next_step = 0;
    // The wait's own deadline comes after some seconds, to look for a change that was missed.
    const int64_t patience_ns = bd_deadline_after_ms(LONG_MS / 2);
    below->watch_wait(watch, patience_ns);
    saw_change = bd_now_ns() < patience_ns;
}

static void expect_saved_meanwhile(int step, const char *last)
{
    BD_STATUS(st);
    below = bd_fs_current;
    saving = *below;
    saving.watch = watch_and_save;
    saving.watch_wait = save_and_wait;
    next_step = step;
    bd_fs_set(&saving);
    saw_change = false;
    char *found = braid_wait_for_new_checkpoint(dir, last, LONG_MS, st);
    assert_ok(st);
    assert_true(saw_change);
    bd_fs_set(below);
    char *want = bd_asprintf("%s/model.ckpt-%d", dir, step);
    assert_string_equal(found, want);
    bd_free(want);
    free(found);
}

static void a_wait_ends_when_the_first_checkpoint_is_saved(void **state)
{
    (void)state;
    expect_saved_meanwhile(1, NULL);
}

static void a_checkpoint_that_is_there_ends_a_wait_at_once(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *prefix = save(3), *found = braid_wait_for_new_checkpoint(dir, NULL, 0, st);
    assert_ok(st);
    assert_string_equal(found, prefix);
    bd_free(prefix);
    free(found);
}

static void a_wait_for_another_checkpoint_passes_over_the_last(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *last = save(3);
    assert_null(braid_wait_for_new_checkpoint(dir, last, 1, st));
    assert_int_equal(st->code, BRAID_DEADLINE_EXCEEDED);
    expect_saved_meanwhile(4, last);
    bd_free(last);
}

static void the_end_of_the_time_names_the_directory(void **state)
{
    (void)state;
    BD_STATUS(st);
    assert_null(braid_wait_for_new_checkpoint(dir, NULL, 20, st));
    assert_int_equal(st->code, BRAID_DEADLINE_EXCEEDED);
    char *want = bd_asprintf("%s has no checkpoint after 0.02 s", dir);
    assert_string_equal(braid_status_message(st), want);
    bd_free(want);
}

static void a_damaged_list_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *list = bd_asprintf("%s/checkpoint", dir);
    braid_checkpoint_make_dir(dir, st);
    bd_test_write(list, "model_checkpoint_path: 7", 24);
    assert_null(braid_wait_for_new_checkpoint(dir, NULL, LONG_MS, st));
    assert_int_equal(st->code, BRAID_DATA_LOSS);
    bd_free(list);
}

#define IN_BOTH(test)                                                                                        \
    cmocka_unit_test_setup_teardown((test), on_disk, off_disk),                                              \
        cmocka_unit_test_setup_teardown((test), in_memory, out_of_memory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_BOTH(a_wait_ends_when_the_first_checkpoint_is_saved),
        IN_BOTH(a_checkpoint_that_is_there_ends_a_wait_at_once),
        IN_BOTH(a_wait_for_another_checkpoint_passes_over_the_last),
        IN_BOTH(the_end_of_the_time_names_the_directory),
        cmocka_unit_test_setup_teardown(a_damaged_list_is_an_error, on_disk, off_disk),
    };
    return BD_RUN_TESTS(tests);
}
