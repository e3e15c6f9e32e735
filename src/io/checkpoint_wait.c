// Waits for a new checkpoint in a directory.
//
// A watch is opened before the directory is looked at, so that no change in between is missed. While the
// directory does not exist, the nearest one above it is watched, until the next one on the way is made.
#include <braid/checkpoint.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "io/file.h"
#include <string.h>

// A network file system does not report what other hosts change.
#define LOOK_AGAIN_MS 10000

static braid_code watch_nearest(const char *dir, bd_dir_watch **watch, braid_status *st);

// Watches the directory above `dir`, or the nearest above that.
static braid_code watch_above(const char *dir, bd_dir_watch **watch, braid_status *st)
{
    char *above = bd_path_dir(dir);
    if (strcmp(above, dir) != 0) { // else the root, or the current directory, is gone
        braid_status_clear(st);
        watch_nearest(above, watch, st);
    }
    bd_free(above);
    return st->code;
}

static braid_code watch_nearest(const char *dir, bd_dir_watch **watch, braid_status *st)
{
    while (bd_dir_watch_open(bd_fs_current, dir, watch, st) == BRAID_NOT_FOUND) {
        if (watch_above(dir, watch, st) || !bd_file_exists(bd_fs_current, dir)) break;
        bd_dir_watch_close(*watch); // `dir` was made before the one above it was watched
    }
    return st->code;
}

// The newest checkpoint if it is not `last`; NULL without an error: there is no other.
static char *newer_than(const char *last, const char *dir, braid_status *st)
{
    char *latest = braid_latest_checkpoint(dir, st);
    if (st->code == BRAID_NOT_FOUND) braid_status_clear(st);
    if (!latest || !last || strcmp(latest, last) != 0) return latest;
    bd_free(latest);
    return NULL;
}

// Looks for a checkpoint, and waits for a change unless the wait is over.
static char *look_and_wait(const char *dir, const char *last, int64_t deadline, braid_status *st)
{
    bd_dir_watch *watch;
    if (watch_nearest(dir, &watch, st)) return NULL;
    char *found = newer_than(last, dir, st);
    if (!found && !st->code) bd_dir_watch_wait(watch, bd_min(deadline, bd_deadline_after_ms(LOOK_AGAIN_MS)));
    bd_dir_watch_close(watch);
    return found;
}

char *braid_wait_for_new_checkpoint(const char *dir, const char *last, int64_t timeout_ms,
                                    braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    const int64_t deadline = timeout_ms < 0 ? BD_FOREVER : bd_deadline_after_ms(timeout_ms);
    bool is_over = false;
    for (;;) {
        char *found = look_and_wait(dir, last, deadline, st);
        if (found || st->code) return found;
        if (is_over) break;
        is_over = bd_deadline_left_ms(deadline) == 0; // looks once more after the deadline
    }
    bd_fail(st, BRAID_DEADLINE_EXCEEDED, "%s has no %scheckpoint after %.3g s", dir, last ? "new " : "",
            (double)timeout_ms / 1e3);
    return NULL;
}
