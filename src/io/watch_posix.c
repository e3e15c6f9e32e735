// Watches over directories of the machine's file system: an inotify instance each.
#include "io/watch_posix.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

struct posix_watch {
    bd_dir_watch base;
    int fd; // -1: the system has no instance or watch left, and nothing is reported
};

#define CHANGES (IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF)

// Inotify takes paths only: a directory that is open has one under /proc.
static int watch_at(int fd, const bd_file_place *at)
{
    char path[64];
    if (!at->is_plain) return inotify_add_watch(fd, at->name, CHANGES | IN_ONLYDIR);
    const int dir = openat(at->dir, at->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0) return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
    const int watch = inotify_add_watch(fd, path, CHANGES | IN_ONLYDIR), error = errno;
    close(dir);
    errno = error;
    return watch;
}

static bool is_used_up(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOSPC || error == ENOMEM || error == ENOSYS;
}

braid_code bd_posix_watch_at(const bd_file_place *at, bd_dir_watch **watch, braid_status *st)
{
    *watch = NULL;
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int error = fd < 0 || watch_at(fd, at) < 0 ? errno : 0;
    if (error && fd >= 0) close(fd);
    if (error && !is_used_up(error)) {
        errno = error;
        return bd_posix_failed(st, "watch", at->path);
    }
    struct posix_watch *w = bd_malloc(sizeof *w);
    *w = (struct posix_watch){.base.fs = &bd_fs_posix, .fd = error ? -1 : fd};
    *watch = &w->base;
    return BRAID_OK;
}

// The changes that have been reported belong to the past.
static void drain(int fd)
{
    _Alignas(struct inotify_event) char events[4096];
    while (read(fd, events, sizeof events) > 0) {}
}

void bd_posix_watch_wait(bd_dir_watch *watch, int64_t deadline_ns)
{
    const int fd = ((const struct posix_watch *)watch)->fd;
    struct pollfd polled = {.fd = fd, .events = POLLIN}; // poll ignores a negative fd
    const int64_t left_ms = bd_deadline_left_ms(deadline_ns);
    if (poll(&polled, 1, (int)bd_min(left_ms, INT_MAX)) > 0) drain(fd);
}

void bd_posix_watch_close(bd_dir_watch *watch)
{
    const int fd = ((const struct posix_watch *)watch)->fd;
    if (fd >= 0) close(fd);
    bd_free(watch);
}
