// Training whose saves are hit by a fault at each call that changes the disk: the process is killed there, or
// the call fails. The newest checkpoint then restores exactly, training goes on from it, and the next save
// leaves nothing of the one that was hit.
// labels: slow
// timeout: 300
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/checkpoint_state.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include <braid/braid.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 1000
#define BASE_STEPS 4 // trained without a fault first
#define STEPS 8      // and to here with one
#define MORE_STEPS 10

// ---- A disk with a fault ----

static atomic_int calls_left;
static bool kills; // else the call fails
static bd_fs faulty;

static bool is_hit(void)
{
    if (atomic_fetch_sub(&calls_left, 1) != 1) return false;
    if (kills) raise(SIGKILL);
    return true;
}

#define FAIL(st, path) bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "%s: No space left on device", path)

static braid_code open_file(const bd_fs *fs, const char *path, bd_file_mode mode, bd_file **file,
                            braid_status *st)
{
    *file = NULL;
    if (mode != BD_FILE_READ && is_hit()) return FAIL(st, path);
    const braid_code code = bd_fs_posix.open(fs, path, mode, file, st);
    if (!code) (*file)->fs = &faulty;
    return code;
}

static braid_code lock_file(const bd_fs *fs, const char *path, bool make, bd_file **file, braid_status *st)
{
    *file = NULL;
    return is_hit() ? FAIL(st, path) : bd_fs_posix.lock(fs, path, make, file, st);
}

// The fault leaves the first half.
static braid_code write_file(bd_file *file, const void *data, size_t len, braid_status *st)
{
    const size_t half = len / 2;
    const braid_code code = bd_fs_posix.write(file, data, half, st);
    if (code) return code;
    if (is_hit()) return FAIL(st, file->path);
    return bd_fs_posix.write(file, (const char *)data + half, len - half, st);
}

static braid_code sync_file(bd_file *file, braid_status *st)
{
    return is_hit() ? FAIL(st, file->path) : bd_fs_posix.sync(file, st);
}

static braid_code rename_file(const bd_fs *fs, const char *from, const char *to, braid_status *st)
{
    return is_hit() ? FAIL(st, to) : bd_fs_posix.rename(fs, from, to, st);
}

static braid_code remove_file(const bd_fs *fs, const char *path, braid_status *st)
{
    return is_hit() ? FAIL(st, path) : bd_fs_posix.remove(fs, path, st);
}

static braid_code make_dir(const bd_fs *fs, const char *path, braid_status *st)
{
    return is_hit() ? FAIL(st, path) : bd_fs_posix.make_dir(fs, path, st);
}

static braid_code remove_dir(const bd_fs *fs, const char *path, braid_status *st)
{
    return is_hit() ? FAIL(st, path) : bd_fs_posix.remove_dir(fs, path, st);
}

static braid_code sync_dir(const bd_fs *fs, const char *path, braid_status *st)
{
    return is_hit() ? FAIL(st, path) : bd_fs_posix.sync_dir(fs, path, st);
}

static void make_disk_faulty(int call)
{
    faulty = bd_fs_posix;
    faulty.open = open_file;
    faulty.lock = lock_file;
    faulty.write = write_file;
    faulty.sync = sync_file;
    faulty.rename = rename_file;
    faulty.remove = remove_file;
    faulty.make_dir = make_dir;
    faulty.remove_dir = remove_dir;
    faulty.sync_dir = sync_dir;
    atomic_store(&calls_left, call);
    bd_fs_set(&faulty);
}

// ---- The program: each step adds 1 to all of w and to the global step ----

typedef struct model {
    braid_graph *g;
    braid_out w, step;
    braid_op *train;
} model;

static model make_model(void)
{
    model m = {.g = braid_graph_new()};
    m.step = braid_global_step(m.g);
    const braid_out zeros = braid_zeros(m.g, BRAID_FLOAT, BRAID_SHAPE(SIZE));
    const braid_out ones = braid_ones(m.g, BRAID_FLOAT, BRAID_SHAPE(SIZE));
    m.w = braid_variable_new(m.g, "w", zeros, true).ref;
    braid_op *added = braid_assign_add(m.g, m.w, ones).op;
    braid_push_control(m.g, &added, 1);
    m.train = braid_assign_add(m.g, m.step, braid_const_int64(m.g, NULL, 1)).op;
    braid_pop_control(m.g);
    return m;
}

static braid_code train(const char *dir, int64_t last_step)
{
    model m = make_model();
    braid_monitored_session *s = braid_monitored_session_open(
        m.g, &(braid_session_config){.checkpoint_dir = dir,
                                     .save_checkpoint_steps = 2,
                                     .save_summaries_steps = 2,
                                     .hooks = BRAID_HOOKS(braid_stop_at_step(last_step))});
    while (!braid_should_stop(s))
        braid_run(s, NULL, NULL, m.train);
    const braid_code code = braid_monitored_session_close(s);
    braid_graph_free(m.g);
    return code;
}

enum {
    ENDS_WELL = 0,
    ENDS_WITH_ERROR = 1,
    IS_NOT_HIT = 2
};

static int run_program(const char *dir, const char *last_step, const char *call, const char *kind)
{
    if (call) {
        kills = strcmp(kind, "kill") == 0;
        make_disk_faulty(atoi(call));
    }
    const braid_code code = train(dir, atoll(last_step));
    if (call && atomic_load(&calls_left) > 0) return IS_NOT_HIT;
    return code ? ENDS_WITH_ERROR : ENDS_WELL;
}

// ---- Running it ----

// Trains in another process; `call` 0: without a fault. Returns how it ended; SIGKILL when it was killed.
static int run(const char *dir, int last_step, int call, const char *kind)
{
    char steps[16], calls[16];
    snprintf(steps, sizeof steps, "%d", last_step);
    snprintf(calls, sizeof calls, "%d", call);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execl("/proc/self/exe", "save_faults", dir, steps, call ? calls : NULL, kind, NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    return SIGKILL;
}

static void newest_restores(const char *dir, int step_min)
{
    BD_STATUS(st);
    model m = make_model();
    braid_saver *saver = braid_saver_new(m.g, NULL);
    braid_session *s = braid_session_open(m.g, NULL, st);
    char *prefix = braid_latest_checkpoint(dir, st);
    assert_ok(st);
    braid_saver_restore(saver, s, prefix, st);
    assert_ok(st);
    braid_tensor *values[2] = {NULL, NULL};
    const braid_fetch fetches[] = {{m.w, &values[0]}, {m.step, &values[1]}};
    braid_session_run(s, &(braid_run_args){.fetches = fetches, .fetch_count = 2}, st);
    assert_ok(st);
    const int64_t step = *(const int64_t *)braid_tensor_data(values[1]);
    assert_true(step >= step_min);
    for (int i = 0; i < SIZE; i++)
        assert_float_equal(((const float *)braid_tensor_data(values[0]))[i], (float)step, 0);
    for (int i = 0; i < 2; i++)
        braid_tensor_free(values[i]);
    free(prefix);
    braid_session_close(s, st);
    braid_graph_free(m.g);
}

// The directory has the files of the checkpoints that `checkpoint` lists, and nothing else of a save.
static void nothing_is_left_over(const char *dir)
{
    BD_STATUS(st);
    bd_checkpoint_state state;
    bd_checkpoint_state_read(bd_fs_current, dir, NULL, &state, st);
    assert_ok(st);
    bd_name_list names;
    bd_dir_list(bd_fs_current, dir, &names, st);
    assert_ok(st);
    size_t of_saves = 0;
    for (size_t i = 0; i < names.len; i++) {
        const char *name = names.items[i];
        if (strncmp(name, "events.out.tfevents.", 20) == 0) continue;
        const bool is_known = strcmp(name, "checkpoint") == 0 || strcmp(name, "graph.pbtxt") == 0;
        if (!is_known && !strstr(name, "temp")) of_saves++;
        if (strstr(name, "temp")) fail_msg("%s is left", name);
    }
    assert_int_equal(of_saves, 3 * state.all.len);
    bd_name_list_fini(&names);
    bd_checkpoint_state_fini(&state);
}

static void survive_faults(const char *kind)
{
    int call = 1, hits = 0;
    for (int how = ENDS_WELL; how != IS_NOT_HIT; call++) {
        char *dir = bd_temp_dir_new();
        assert_int_equal(run(dir, BASE_STEPS, 0, NULL), ENDS_WELL);
        how = run(dir, STEPS, call, kind);
        hits += how == SIGKILL || how == ENDS_WITH_ERROR;
        newest_restores(dir, how == ENDS_WELL || how == IS_NOT_HIT ? STEPS : BASE_STEPS);
        assert_int_equal(run(dir, MORE_STEPS, 0, NULL), ENDS_WELL);
        newest_restores(dir, MORE_STEPS);
        nothing_is_left_over(dir);
        bd_temp_dir_free(dir);
    }
    print_message("%d calls change the disk, at %d of them training ended\n", call - 2, hits);
    assert_true(hits > 20);
}

static void a_kill_at_any_call_loses_no_checkpoint(void **state)
{
    (void)state;
    survive_faults("kill");
}

static void a_failure_of_any_call_loses_no_checkpoint(void **state)
{
    (void)state;
    survive_faults("fail");
}

int main(int argc, char **argv)
{
    if (argc > 2) return run_program(argv[1], argv[2], argc > 3 ? argv[3] : NULL, argc > 4 ? argv[4] : "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_at_any_call_loses_no_checkpoint),
        cmocka_unit_test(a_failure_of_any_call_loses_no_checkpoint),
    };
    return BD_RUN_TESTS(tests);
}
