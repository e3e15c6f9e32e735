// A process that is killed while a graph saves, at every call that changes the disk, leaves the old
// checkpoint or the new one.
// labels: concurrent
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "support/saver_graph.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- A disk that kills its process ----

static atomic_int calls_left;

static void live_on(void)
{
    if (atomic_fetch_sub(&calls_left, 1) == 1) raise(SIGKILL);
}

static bd_fs deadly;

static braid_code open_file(const bd_fs *fs, const char *path, bd_file_mode mode, bd_file **file,
                            braid_status *st)
{
    if (mode != BD_FILE_READ) live_on();
    braid_code code = bd_fs_posix.open(fs, path, mode, file, st);
    if (!code) (*file)->fs = &deadly;
    return code;
}

static braid_code lock_file(const bd_fs *fs, const char *path, bool make, bd_file **file, braid_status *st)
{
    live_on();
    return bd_fs_posix.lock(fs, path, make, file, st);
}

static braid_code write_file(bd_file *file, const void *data, size_t len, braid_status *st)
{
    live_on();
    size_t half = len / 2; // a kill may leave a truncated file
    braid_code code = bd_fs_posix.write(file, data, half, st);
    if (code) return code;
    live_on();
    return bd_fs_posix.write(file, (const char *)data + half, len - half, st);
}

static braid_code rename_file(const bd_fs *fs, const char *from, const char *to, braid_status *st)
{
    live_on();
    return bd_fs_posix.rename(fs, from, to, st);
}

static braid_code remove_file(const bd_fs *fs, const char *path, braid_status *st)
{
    live_on();
    return bd_fs_posix.remove(fs, path, st);
}

static braid_code remove_dir(const bd_fs *fs, const char *path, braid_status *st)
{
    live_on();
    return bd_fs_posix.remove_dir(fs, path, st);
}

static void make_disk_deadly(int calls)
{
    deadly = bd_fs_posix;
    deadly.open = open_file;
    deadly.lock = lock_file;
    deadly.write = write_file;
    deadly.rename = rename_file;
    deadly.remove = remove_file;
    deadly.remove_dir = remove_dir;
    atomic_store(&calls_left, calls);
    bd_fs_set(&deadly);
}

// ---- Saving ----

static void save_round(const char *prefix, int round)
{
    saver_graph s;
    saver_graph_open(&s);
    saver_graph_set(&s, round);
    saver_graph_save(&s, prefix);
    saver_graph_close(&s);
}

static int restored_round(const char *prefix, int round_max)
{
    saver_graph s;
    saver_graph_open(&s);
    saver_graph_restore(&s, prefix);
    int round = saver_graph_round(&s, round_max);
    saver_graph_close(&s);
    return round;
}

// Saves round 2 in a process that dies at call `n`. False when it lived.
static bool die_saving(const char *prefix, int n)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        make_disk_deadly(n);
        save_round(prefix, 2);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void a_kill_leaves_the_old_or_the_new(void **state)
{
    (void)state;
    int old = 0, calls = 1;
    for (;; calls++) {
        char *dir = bd_temp_dir_new(), *prefix = bd_path_join(dir, "model.ckpt-7");
        save_round(prefix, 1);
        bool died = die_saving(prefix, calls);
        int round = restored_round(prefix, 2);
        old += round == 1;
        assert_true(died || round == 2);
        if (calls % 4 == 1) { // remaining files do not disturb
            save_round(prefix, 3);
            assert_int_equal(restored_round(prefix, 3), 3);
        }
        bd_free(prefix);
        bd_temp_dir_free(dir);
        if (!died) break;
    }
    assert_true(calls > 10 && old > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_kill_leaves_the_old_or_the_new)};
    return BD_RUN_TESTS(tests);
}
