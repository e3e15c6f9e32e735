// Files: the file system as a struct of functions, so that tests can replace it by a simulated disk, and the
// file functions of Braid over it.
//
// All calls block on the disk. Any thread; one bd_file is used by one thread at a time, except that any
// number of threads may bd_file_read_at. Errors name the path and have the code of the system's error
// (NotFound, PermissionDenied, ResourceExhausted when the disk is full, ...: bd_code_of_errno).
#ifndef BD_IO_FILE_H
#define BD_IO_FILE_H

#include "io/file_roots.h"
#include <stddef.h>
#include <stdint.h>

typedef enum bd_file_mode {
    BD_FILE_READ,
    BD_FILE_CREATE,     // for writing; an existing file is truncated
    BD_FILE_CREATE_NEW, // for writing; AlreadyExists when it exists
    BD_FILE_APPEND      // for writing at the end; created when it does not exist
} bd_file_mode;

struct bd_fs;

// An open file. A file system's own file starts with this.
typedef struct bd_file {
    const struct bd_fs *fs;
    char *path; // owned; as it was given to open
} bd_file;

typedef struct bd_file_info {
    uint64_t size;          // bytes
    uint64_t device, inode; // the same for two paths of one file
    bool is_dir;
} bd_file_info;

// A watch over the names in a directory. A file system's own watch starts with this.
typedef struct bd_dir_watch {
    const struct bd_fs *fs;
} bd_dir_watch;

// ---- The interface ----

// The contracts are those of the functions below with the same arguments. No member is NULL.
typedef struct bd_fs {
    braid_code (*open)(const struct bd_fs *fs, const char *path, bd_file_mode mode, bd_file **file,
                       braid_status *st);
    braid_code (*read_at)(bd_file *file, uint64_t offset, void *out, size_t len, size_t *got,
                          braid_status *st);
    braid_code (*write)(bd_file *file, const void *data, size_t len, braid_status *st);
    braid_code (*sync)(bd_file *file, braid_status *st);
    braid_code (*close)(bd_file *file, braid_status *st);
    braid_code (*lock)(const struct bd_fs *fs, const char *path, bool make, bd_file **file, braid_status *st);

    braid_code (*info)(const struct bd_fs *fs, const char *path, bd_file_info *info, braid_status *st);
    braid_code (*rename)(const struct bd_fs *fs, const char *from, const char *to, braid_status *st);
    braid_code (*remove)(const struct bd_fs *fs, const char *path, braid_status *st);
    braid_code (*make_dir)(const struct bd_fs *fs, const char *path,
                           braid_status *st); // one level; AlreadyExists
    braid_code (*remove_dir)(const struct bd_fs *fs, const char *path, braid_status *st);
    braid_code (*sync_dir)(const struct bd_fs *fs, const char *path, braid_status *st);
    // Calls fn for each name in a directory but "." and "..", in no order.
    braid_code (*list)(const struct bd_fs *fs, const char *path, void (*fn)(const char *name, void *arg),
                       void *arg, braid_status *st);
    braid_code (*watch)(const struct bd_fs *fs, const char *path, bd_dir_watch **watch, braid_status *st);
    void (*watch_wait)(bd_dir_watch *watch, int64_t deadline_ns);
    void (*watch_close)(bd_dir_watch *watch);
    bd_file_roots *roots; // the directories that it is confined to; not owned; NULL: all files
} bd_fs;

extern const bd_fs bd_fs_posix;
extern const bd_fs bd_fs_none; // of no file: each call by path is PermissionDenied

// The file system in use, confined to the files in `roots`, which outlives it and all that was opened in it.
// (The simulated disk of tests is not confined.)
bd_fs bd_fs_within(bd_file_roots *roots);

// The file system of the program itself: all files. Kernels use that of their step instead: bd_op_fs. Read
// only.
extern const bd_fs *bd_fs_current;

// Puts another file system in place, while no file is open.
void bd_fs_set(const bd_fs *fs);

// The canonical code of an errno.
braid_code bd_code_of_errno(int error);

// ---- Open files ----

// On an error *file is NULL. Only regular files can be read; a directory, a pipe or a socket gives
// FailedPrecondition.
braid_code bd_file_open(const bd_fs *fs, const char *path, bd_file_mode mode, bd_file **file,
                        braid_status *st);
// Reads up to `len` bytes at `offset`; *got is less than `len` only where the file ends.
braid_code bd_file_read_at(bd_file *file, uint64_t offset, void *out, size_t len, size_t *got,
                           braid_status *st);
// The same when the file must hold all of it: DataLoss, naming file and offset, when it ends before.
braid_code bd_file_read_exact(bd_file *file, uint64_t offset, void *out, size_t len, braid_status *st);
// Appends all of `data`. After an error a part of it may have been written.
braid_code bd_file_write(bd_file *file, const void *data, size_t len, braid_status *st);
// Returns when the content would survive a power cut (its name may not: bd_dir_sync). Also of a file that is
// open to read.
braid_code bd_file_sync(bd_file *file, braid_status *st);
// Closes and frees, also on an error; NULL is accepted.
braid_code bd_file_close(bd_file *file, braid_status *st);

// Opens a file to write it, and takes its lock, which ends when the file is closed or the process ends. *file
// is NULL without an error when the lock is taken: by another process, or by another open file of this one.
// NotFound without the file, unless `make`. A file system without locks opens the file alone.
braid_code bd_file_lock(const bd_fs *fs, const char *path, bool make, bd_file **file, braid_status *st);

// ---- By path ----

braid_code bd_file_get_info(const bd_fs *fs, const char *path, bd_file_info *info, braid_status *st);
bool bd_file_exists(const bd_fs *fs,
                    const char *path); // a file or a directory; false too when that cannot be found out
// The size of a file in bytes.
braid_code bd_file_size(const bd_fs *fs, const char *path, uint64_t *size, braid_status *st);
// Renames atomically; replaces an existing `to`. FailedPrecondition when `to` is a pipe, a socket or a
// device.
braid_code bd_file_rename(const bd_fs *fs, const char *from, const char *to, braid_status *st);
braid_code bd_file_remove(const bd_fs *fs, const char *path, braid_status *st);
// Syncs the file of this path to the disk: its content survives a power cut.
braid_code bd_file_sync_path(const bd_fs *fs, const char *path, braid_status *st);

// Makes a directory and its parents; accepts an existing one; FailedPrecondition for a file of its name. New
// directories survive a power cut.
braid_code bd_dir_make(const bd_fs *fs, const char *path, braid_status *st);
braid_code bd_dir_remove(const bd_fs *fs, const char *path, braid_status *st); // an empty one
// Returns when the names in a directory would survive a power cut.
braid_code bd_dir_sync(const bd_fs *fs, const char *path, braid_status *st);

// Names; sorted bytewise where a function gives it.
typedef struct bd_name_list {
    char **items; // owned
    size_t len, cap;
} bd_name_list;
void bd_name_list_fini(bd_name_list *list);
void bd_name_list_sort(bd_name_list *list);
// The names in a directory, without it. On an error the list is empty.
braid_code bd_dir_list(const bd_fs *fs, const char *path, bd_name_list *list, braid_status *st);

// Begins to watch a directory: its names, not the files below its directories. NotFound;
// FailedPrecondition for a file. On an error *watch is NULL.
braid_code bd_dir_watch_open(const bd_fs *fs, const char *path, bd_dir_watch **watch, braid_status *st);
// Returns when a name in the directory was made, renamed or removed since the watch was opened or the last
// wait returned, or at the deadline (bd_now_ns). May return earlier. A change that another host makes on a
// network file system may go unseen, and so do all changes when the system has no watch left.
void bd_dir_watch_wait(bd_dir_watch *watch, int64_t deadline_ns);
void bd_dir_watch_close(bd_dir_watch *watch); // NULL is accepted

// Reads the whole content to new zero-terminated memory (bd_free); *len is without the zero.
// ResourceExhausted when it is longer than `max` or memory is short. On an error *data is NULL.
braid_code bd_file_read_all(const bd_fs *fs, const char *path, size_t max, char **data, size_t *len,
                            braid_status *st);

// Replaces the content of a file so that a crash at any instant leaves the old or the new: a temporary name,
// fsync, rename, fsync of the directory. On an error the old content stays (but for one of the last fsync,
// when it may be either) and the temporary file is removed.
braid_code bd_file_write_atomic(const bd_fs *fs, const char *path, const void *data, size_t len,
                                braid_status *st);

// ---- Paths; results are the caller's (bd_free) ----

char *bd_path_dir(const char *path); // "a/b" of "a/b/c", "." of "c", "/" of "/c"
char *bd_path_join(const char *dir,
                   const char *name); // one slash in between; `name` alone when `dir` is empty
char *bd_path_temp(const char *path); // an unused name beside `path`, of TensorFlow's form

#endif
