// The file system of the machine.
#include "base/alloc.h"
#include "io/file.h"
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

// Sets the error for a failed call on a path, with the reason in errno.
static braid_code failed(braid_status *st, const char *what, const char *path)
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
    if (fstat(fd, &info) != 0) return failed(st, "look at", path);
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

static braid_code posix_open(const char *path, bd_file_mode mode, bd_file **file, braid_status *st)
{
    *file = NULL;
    int fd = open(path, open_flags(mode), 0666);
    if (fd < 0) return failed(st, mode == BD_FILE_READ ? "open" : "create", path);
    braid_code code = check_kind(fd, path, mode, st);
    if (code) {
        close(fd);
        return code;
    }
    *file = file_of(fd, path);
    return BRAID_OK;
}

// Whether the open file still has this name.
static bool is_named(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

static braid_code posix_lock(const char *path, bool make, bd_file **file, braid_status *st)
{
    *file = NULL;
    for (;;) {
        int fd = open(path, O_RDWR | (make ? O_CREAT : 0) | O_CLOEXEC | O_NONBLOCK, 0666);
        if (fd < 0) return failed(st, make ? "create" : "open", path);
        const bool is_taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!is_taken && is_named(fd, path)) {
            *file = file_of(fd, path);
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
        if (n < 0 && errno != EINTR) return failed(st, "read", file->path);
        if (n > 0) *got += (size_t)n;
    }
    return BRAID_OK;
}

static braid_code posix_write(bd_file *file, const void *data, size_t len, braid_status *st)
{
    const char *at = data;
    while (len > 0) {
        ssize_t n = write(fd_of(file), at, len < CALL_BYTES_MAX ? len : CALL_BYTES_MAX);
        if (n < 0 && errno != EINTR) return failed(st, "write", file->path);
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
    if (is_sync_error(fsync(fd_of(file)))) return failed(st, "sync", file->path);
    return BRAID_OK;
}

static braid_code posix_close(bd_file *file, braid_status *st)
{
    braid_code code = BRAID_OK;
    if (close(fd_of(file)) != 0 && errno != EINTR) code = failed(st, "close", file->path);
    bd_free(file->path);
    bd_free(file);
    return code;
}

// ---- By path ----

static braid_code posix_info(const char *path, bd_file_info *info, braid_status *st)
{
    struct stat s;
    if (stat(path, &s) != 0) return failed(st, "find", path);
    *info = (bd_file_info){
        .size = (uint64_t)s.st_size, .device = s.st_dev, .inode = s.st_ino, .is_dir = S_ISDIR(s.st_mode)};
    return BRAID_OK;
}

// The system itself would put a file in the place of /dev/null.
static bool is_special(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode) &&
           !S_ISLNK(info.st_mode);
}

static braid_code posix_rename(const char *from, const char *to, braid_status *st)
{
    if (is_special(to))
        return bd_fail(st, BRAID_FAILED_PRECONDITION, "cannot replace %s: it is not a regular file", to);
    if (rename(from, to) == 0) return BRAID_OK;
    failed(st, "rename", from);
    return bd_status_suffix(st, " (to %s)", to);
}

static braid_code posix_remove(const char *path, braid_status *st)
{
    return unlink(path) == 0 ? BRAID_OK : failed(st, "remove", path);
}

static braid_code posix_make_dir(const char *path, braid_status *st)
{
    return mkdir(path, 0777) == 0 ? BRAID_OK : failed(st, "make directory", path);
}

static braid_code posix_remove_dir(const char *path, braid_status *st)
{
    return rmdir(path) == 0 ? BRAID_OK : failed(st, "remove directory", path);
}

static braid_code posix_sync_dir(const char *path, braid_status *st)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return failed(st, "open directory", path);
    braid_code code = is_sync_error(fsync(fd)) ? failed(st, "sync directory", path) : BRAID_OK;
    close(fd);
    return code;
}

static braid_code posix_list(const char *path, void (*fn)(const char *name, void *arg), void *arg,
                             braid_status *st)
{
    DIR *dir = opendir(path);
    if (!dir) return failed(st, "list directory", path);
    struct dirent *entry;
    while (errno = 0, (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) fn(entry->d_name, arg);
    braid_code code = errno ? failed(st, "list directory", path) : BRAID_OK;
    closedir(dir);
    return code;
}

const bd_fs bd_fs_posix = {
    .open = posix_open,
    .read_at = posix_read_at,
    .write = posix_write,
    .sync = posix_sync,
    .close = posix_close,
    .lock = posix_lock,
    .info = posix_info,
    .rename = posix_rename,
    .remove = posix_remove,
    .make_dir = posix_make_dir,
    .remove_dir = posix_remove_dir,
    .sync_dir = posix_sync_dir,
    .list = posix_list,
};
