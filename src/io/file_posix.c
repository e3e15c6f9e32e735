// The file system of the machine, and parts of it.
#include "base/alloc.h"
#include "io/watch_posix.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct posix_file {
    bd_file base;
    int fd;
};

// The most bytes of one read or write: Linux does not go beyond 2^31 - 4096.
#define CALL_BYTES_MAX ((size_t)1 << 30)

// ---- Errors ----

static const struct {
    int error;
    braid_code code;
} codes[] = {
    {ENOENT, BRAID_NOT_FOUND},
    {ENODEV, BRAID_NOT_FOUND},
    {ENXIO, BRAID_NOT_FOUND},
    {EEXIST, BRAID_ALREADY_EXISTS},
    {EPERM, BRAID_PERMISSION_DENIED},
    {EACCES, BRAID_PERMISSION_DENIED},
    {EROFS, BRAID_PERMISSION_DENIED},
    {EINVAL, BRAID_INVALID_ARGUMENT},
    {ENAMETOOLONG, BRAID_INVALID_ARGUMENT},
    {ELOOP, BRAID_INVALID_ARGUMENT},
    {ENOTEMPTY, BRAID_FAILED_PRECONDITION},
    {EISDIR, BRAID_FAILED_PRECONDITION},
    {ENOTDIR, BRAID_FAILED_PRECONDITION},
    {EBUSY, BRAID_FAILED_PRECONDITION},
    {ETXTBSY, BRAID_FAILED_PRECONDITION},
    {EXDEV, BRAID_FAILED_PRECONDITION},
    {ESPIPE, BRAID_FAILED_PRECONDITION},
    {ENOSPC, BRAID_RESOURCE_EXHAUSTED},
    {EDQUOT, BRAID_RESOURCE_EXHAUSTED},
    {EMFILE, BRAID_RESOURCE_EXHAUSTED},
    {ENFILE, BRAID_RESOURCE_EXHAUSTED},
    {EMLINK, BRAID_RESOURCE_EXHAUSTED},
    {ENOMEM, BRAID_RESOURCE_EXHAUSTED},
    {EFBIG, BRAID_OUT_OF_RANGE},
    {EOVERFLOW, BRAID_OUT_OF_RANGE},
    {EIO, BRAID_DATA_LOSS},
    {ENOSYS, BRAID_UNIMPLEMENTED},
    {EOPNOTSUPP, BRAID_UNIMPLEMENTED},
    {EAGAIN, BRAID_UNAVAILABLE},
    {ETIMEDOUT, BRAID_DEADLINE_EXCEEDED},
    {ESTALE, BRAID_ABORTED},
};

braid_code bd_code_of_errno(int error)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].error == error) return codes[i].code;
    return BRAID_UNKNOWN;
}

braid_code bd_posix_failed(braid_status *st, const char *what, const char *path)
{
    int error = errno;
    char text[128];
    return bd_fail(st, bd_code_of_errno(error), "cannot %s %s: %s", what, path,
                   strerror_r(error, text, sizeof text));
}

// ---- Open files ----

static int fd_of(const bd_file *file)
{
    return ((const struct posix_file *)file)->fd;
}

// Without O_NONBLOCK to open a pipe would wait for its other end.
static int open_flags(bd_file_mode mode)
{
    switch (mode) {
    case BD_FILE_READ: return O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    case BD_FILE_CREATE: return O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK;
    case BD_FILE_CREATE_NEW: return O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NONBLOCK;
    case BD_FILE_APPEND: return O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
    }
    return -1;
}

static braid_code check_kind(int fd, const char *path, bd_file_mode mode, braid_status *st)
{
    struct stat info;
    if (fstat(fd, &info) != 0) return bd_posix_failed(st, "look at", path);
    if (S_ISREG(info.st_mode) || (S_ISCHR(info.st_mode) && mode != BD_FILE_READ)) return BRAID_OK;
    return bd_fail(st, BRAID_FAILED_PRECONDITION, "cannot open %s: it is %s", path,
                   S_ISDIR(info.st_mode) ? "a directory" : "not a regular file");
}

static bd_file *file_of(int fd, const char *path)
{
    struct posix_file *f = bd_malloc(sizeof *f);
    *f = (struct posix_file){.base = {.fs = &bd_fs_posix, .path = bd_strdup(path)}, .fd = fd};
    return &f->base;
}

// The flag of a call that is to act on the link itself where the name is one, or 0.
static int no_follow(const bd_file_place *at, int flag)
{
    return at->is_plain ? flag : 0;
}

static braid_code at_open(const bd_file_place *at, bd_file_mode mode, bd_file **file, braid_status *st)
{
    *file = NULL;
    int fd = openat(at->dir, at->name, open_flags(mode) | no_follow(at, O_NOFOLLOW), 0666);
    if (fd < 0) return bd_posix_failed(st, mode == BD_FILE_READ ? "open" : "create", at->path);
    braid_code code = check_kind(fd, at->path, mode, st);
    if (code) {
        close(fd);
        return code;
    }
    *file = file_of(fd, at->path);
    return BRAID_OK;
}

static int stat_at(const bd_file_place *at, struct stat *info)
{
    return fstatat(at->dir, at->name, info, no_follow(at, AT_SYMLINK_NOFOLLOW));
}

// Whether the open file still has this name.
static bool is_named(int fd, const bd_file_place *at)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat_at(at, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

static braid_code at_lock(const bd_file_place *at, bool make, bd_file **file, braid_status *st)
{
    *file = NULL;
    const int flags = O_RDWR | (make ? O_CREAT : 0) | O_CLOEXEC | O_NONBLOCK | no_follow(at, O_NOFOLLOW);
    for (;;) {
        int fd = openat(at->dir, at->name, flags, 0666);
        if (fd < 0) return bd_posix_failed(st, make ? "create" : "open", at->path);
        const bool is_taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!is_taken && is_named(fd, at)) {
            *file = file_of(fd, at->path);
            return BRAID_OK;
        }
        close(fd);
        if (is_taken) return BRAID_OK;
        // It was removed between open and lock: its holder is done with it.
    }
}

static braid_code posix_read_at(bd_file *file, uint64_t offset, void *out, size_t len, size_t *got,
                                braid_status *st)
{
    *got = 0;
    while (*got < len) {
        size_t want = len - *got < CALL_BYTES_MAX ? len - *got : CALL_BYTES_MAX;
        if (offset > (uint64_t)INT64_MAX - *got) return BRAID_OK; // no file is that long
        ssize_t n = pread(fd_of(file), (char *)out + *got, want, (off_t)(offset + *got));
        if (n == 0) break;
        if (n < 0 && errno != EINTR) return bd_posix_failed(st, "read", file->path);
        if (n > 0) *got += (size_t)n;
    }
    return BRAID_OK;
}

static braid_code posix_write(bd_file *file, const void *data, size_t len, braid_status *st)
{
    const char *at = data;
    while (len > 0) {
        ssize_t n = write(fd_of(file), at, len < CALL_BYTES_MAX ? len : CALL_BYTES_MAX);
        if (n < 0 && errno != EINTR) return bd_posix_failed(st, "write", file->path);
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
    return BRAID_OK;
}

// Files that cannot be synced (devices, some network file systems) need no sync.
static bool is_sync_error(int rc)
{
    return rc != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP;
}

static braid_code posix_sync(bd_file *file, braid_status *st)
{
    if (is_sync_error(fsync(fd_of(file)))) return bd_posix_failed(st, "sync", file->path);
    return BRAID_OK;
}

static braid_code posix_close(bd_file *file, braid_status *st)
{
    braid_code code = BRAID_OK;
    if (close(fd_of(file)) != 0 && errno != EINTR) code = bd_posix_failed(st, "close", file->path);
    bd_free(file->path);
    bd_free(file);
    return code;
}

// ---- By path ----

static braid_code at_info(const bd_file_place *at, bd_file_info *info, braid_status *st)
{
    struct stat s;
    if (stat_at(at, &s) != 0) return bd_posix_failed(st, "find", at->path);
    *info = (bd_file_info){
        .size = (uint64_t)s.st_size, .device = s.st_dev, .inode = s.st_ino, .is_dir = S_ISDIR(s.st_mode)};
    return BRAID_OK;
}

// The system itself would put a file in the place of /dev/null.
static bool is_special(const bd_file_place *at)
{
    struct stat info;
    return fstatat(at->dir, at->name, &info, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(info.st_mode) &&
           !S_ISDIR(info.st_mode) && !S_ISLNK(info.st_mode);
}

static braid_code at_rename(const bd_file_place *from, const bd_file_place *to, braid_status *st)
{
    if (is_special(to))
        return bd_fail(st, BRAID_FAILED_PRECONDITION, "cannot replace %s: it is not a regular file",
                       to->path);
    if (renameat(from->dir, from->name, to->dir, to->name) == 0) return BRAID_OK;
    bd_posix_failed(st, "rename", from->path);
    return bd_status_suffix(st, " (to %s)", to->path);
}

static braid_code at_remove(const bd_file_place *at, braid_status *st)
{
    return unlinkat(at->dir, at->name, 0) == 0 ? BRAID_OK : bd_posix_failed(st, "remove", at->path);
}

static braid_code at_make_dir(const bd_file_place *at, braid_status *st)
{
    return mkdirat(at->dir, at->name, 0777) == 0 ? BRAID_OK : bd_posix_failed(st, "make directory", at->path);
}

static braid_code at_remove_dir(const bd_file_place *at, braid_status *st)
{
    if (unlinkat(at->dir, at->name, AT_REMOVEDIR) == 0) return BRAID_OK;
    return bd_posix_failed(st, "remove directory", at->path);
}

static int open_dir(const bd_file_place *at)
{
    return openat(at->dir, at->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_follow(at, O_NOFOLLOW));
}

static braid_code at_sync_dir(const bd_file_place *at, braid_status *st)
{
    int fd = open_dir(at);
    if (fd < 0) return bd_posix_failed(st, "open directory", at->path);
    braid_code code = is_sync_error(fsync(fd)) ? bd_posix_failed(st, "sync directory", at->path) : BRAID_OK;
    close(fd);
    return code;
}

static braid_code at_list(const bd_file_place *at, void (*fn)(const char *name, void *arg), void *arg,
                          braid_status *st)
{
    int fd = open_dir(at);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        bd_posix_failed(st, "list directory", at->path);
        if (fd >= 0) close(fd);
        return st->code;
    }
    struct dirent *entry;
    while (errno = 0, (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) fn(entry->d_name, arg);
    braid_code code = errno ? bd_posix_failed(st, "list directory", at->path) : BRAID_OK;
    closedir(dir);
    return code;
}

// ---- The members of the file system: they find the place and act on it ----

static braid_code posix_open(const bd_fs *fs, const char *path, bd_file_mode mode, bd_file **file,
                             braid_status *st)
{
    bd_file_place at;
    // An exclusive open sees a link as a file that is there.
    const bd_file_place_use use = mode == BD_FILE_CREATE_NEW ? BD_FILE_PLACE_NAME : BD_FILE_PLACE_FOLLOW;
    *file = NULL;
    if (bd_file_place_find(fs->roots, path, use, mode == BD_FILE_READ ? "open" : "create", &at, st))
        return st->code;
    const braid_code code = at_open(&at, mode, file, st);
    bd_file_place_release(&at);
    return code;
}

static braid_code posix_lock(const bd_fs *fs, const char *path, bool make, bd_file **file, braid_status *st)
{
    bd_file_place at;
    *file = NULL;
    if (bd_file_place_find(fs->roots, path, BD_FILE_PLACE_FOLLOW, make ? "create" : "open", &at, st))
        return st->code;
    const braid_code code = at_lock(&at, make, file, st);
    bd_file_place_release(&at);
    return code;
}

static braid_code posix_info(const bd_fs *fs, const char *path, bd_file_info *info, braid_status *st)
{
    bd_file_place at;
    if (bd_file_place_find(fs->roots, path, BD_FILE_PLACE_LOOK, "find", &at, st)) return st->code;
    const braid_code code = at_info(&at, info, st);
    bd_file_place_release(&at);
    return code;
}

static braid_code posix_rename(const bd_fs *fs, const char *from, const char *to, braid_status *st)
{
    bd_file_place at, at_to;
    if (bd_file_place_find(fs->roots, from, BD_FILE_PLACE_NAME, "rename", &at, st)) return st->code;
    braid_code code = bd_file_place_find(fs->roots, to, BD_FILE_PLACE_NAME, "replace", &at_to, st);
    if (!code) {
        code = at_rename(&at, &at_to, st);
        bd_file_place_release(&at_to);
    }
    bd_file_place_release(&at);
    return code;
}

static braid_code posix_remove(const bd_fs *fs, const char *path, braid_status *st)
{
    bd_file_place at;
    if (bd_file_place_find(fs->roots, path, BD_FILE_PLACE_NAME, "remove", &at, st)) return st->code;
    const braid_code code = at_remove(&at, st);
    bd_file_place_release(&at);
    return code;
}

static braid_code posix_make_dir(const bd_fs *fs, const char *path, braid_status *st)
{
    bd_file_place at;
    if (bd_file_place_find(fs->roots, path, BD_FILE_PLACE_MAKE, "make directory", &at, st)) return st->code;
    const braid_code code = at_make_dir(&at, st);
    bd_file_place_release(&at);
    return code;
}

static braid_code posix_remove_dir(const bd_fs *fs, const char *path, braid_status *st)
{
    bd_file_place at;
    if (bd_file_place_find(fs->roots, path, BD_FILE_PLACE_NAME, "remove directory", &at, st)) return st->code;
    const braid_code code = at_remove_dir(&at, st);
    bd_file_place_release(&at);
    return code;
}

static braid_code posix_sync_dir(const bd_fs *fs, const char *path, braid_status *st)
{
    bd_file_place at;
    if (bd_file_place_find(fs->roots, path, BD_FILE_PLACE_LOOK, "open directory", &at, st)) return st->code;
    const braid_code code = at_sync_dir(&at, st);
    bd_file_place_release(&at);
    return code;
}

static braid_code posix_list(const bd_fs *fs, const char *path, void (*fn)(const char *name, void *arg),
                             void *arg, braid_status *st)
{
    bd_file_place at;
    if (bd_file_place_find(fs->roots, path, BD_FILE_PLACE_FOLLOW, "list directory", &at, st)) return st->code;
    const braid_code code = at_list(&at, fn, arg, st);
    bd_file_place_release(&at);
    return code;
}

static braid_code posix_watch(const bd_fs *fs, const char *path, bd_dir_watch **watch, braid_status *st)
{
    bd_file_place at;
    *watch = NULL;
    if (bd_file_place_find(fs->roots, path, BD_FILE_PLACE_FOLLOW, "watch", &at, st)) return st->code;
    const braid_code code = bd_posix_watch_at(&at, watch, st);
    bd_file_place_release(&at);
    return code;
}

#define MEMBERS                                                                                              \
    .open = posix_open, .read_at = posix_read_at, .write = posix_write, .sync = posix_sync,                  \
    .close = posix_close, .lock = posix_lock, .info = posix_info, .rename = posix_rename,                    \
    .remove = posix_remove, .make_dir = posix_make_dir, .remove_dir = posix_remove_dir,                      \
    .sync_dir = posix_sync_dir, .list = posix_list, .watch = posix_watch, .watch_wait = bd_posix_watch_wait, \
    .watch_close = bd_posix_watch_close

const bd_fs bd_fs_posix = {MEMBERS};
const bd_fs bd_fs_none = {MEMBERS, .roots = &bd_file_roots_none};
