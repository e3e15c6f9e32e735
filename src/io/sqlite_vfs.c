// SQLite's interface to the operating system (https://www.sqlite.org/vfs.html), in its first version, which
// has no shared memory: a connection reads a log only with locking_mode=EXCLUSIVE.
#include "io/sqlite_vfs.h"

#include "base/alloc.h"
#include "base/status.h"
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

// SQLite's paths end within this.
#define PATH_MAX_BYTES 4096

struct bd_sqlite_vfs {
    sqlite3_vfs base;   // first
    sqlite3_vfs *given; // of the system: clock and random numbers
    const bd_fs *fs;    // not owned
    char name[40];
    braid_status error;
};

typedef struct vfs_file {
    sqlite3_file base;  // first
    bd_sqlite_vfs *vfs; // not owned
    bd_file *file;      // owned; NULL: a log that is not there, which is empty
} vfs_file;

static bd_sqlite_vfs *vfs_of(sqlite3_vfs *v)
{
    return (bd_sqlite_vfs *)v;
}

static int failed(bd_sqlite_vfs *v, braid_status *st, int code)
{
    bd_status_move(&v->error, st);
    return code;
}

// ---- Open files ----

static int file_close(sqlite3_file *f)
{
    BD_STATUS(st);
    bd_file_close(((vfs_file *)f)->file, st);
    return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *out, int len, sqlite3_int64 offset)
{
    BD_STATUS(st);
    vfs_file *f = (vfs_file *)base;
    size_t got = 0;
    if (f->file && bd_file_read_at(f->file, (uint64_t)offset, out, (size_t)len, &got, st))
        return failed(f->vfs, st, SQLITE_IOERR_READ);
    if (got == (size_t)len) return SQLITE_OK;
    memset((char *)out + got, 0, (size_t)len - got); // SQLite's wish
    return SQLITE_IOERR_SHORT_READ;
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
    BD_STATUS(st);
    vfs_file *f = (vfs_file *)base;
    uint64_t bytes = 0;
    if (f->file && bd_file_size(f->vfs->fs, f->file->path, &bytes, st))
        return failed(f->vfs, st, SQLITE_IOERR_FSTAT);
    *size = (sqlite3_int64)bytes;
    return SQLITE_OK;
}

static int file_write(sqlite3_file *f, const void *data, int len, sqlite3_int64 offset)
{
    (void)f, (void)data, (void)len, (void)offset;
    return SQLITE_READONLY;
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    (void)f, (void)size;
    return SQLITE_READONLY;
}

static int file_sync(sqlite3_file *f, int flags)
{
    (void)f, (void)flags;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *f, int kind)
{
    (void)f, (void)kind;
    return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *f, int *is_reserved)
{
    (void)f;
    *is_reserved = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
    (void)f, (void)op, (void)arg;
    return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *f)
{
    (void)f;
    return 0; // SQLite's default
}

static int file_characteristics(sqlite3_file *f)
{
    (void)f;
    return 0;
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_lock,
    .xCheckReservedLock = file_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
};

// ---- The file system ----

static int vfs_open(sqlite3_vfs *base, const char *path, sqlite3_file *file, int flags, int *out_flags)
{
    BD_STATUS(st);
    bd_sqlite_vfs *v = vfs_of(base);
    vfs_file *f = (vfs_file *)file;
    f->base.pMethods = NULL; // not open
    f->vfs = v;
    f->file = NULL;
    if (!path || !(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)))
        return SQLITE_CANTOPEN; // temporary files: connections keep them in memory
    if (!(flags & SQLITE_OPEN_WAL) || bd_file_exists(v->fs, path))
        if (bd_file_open(v->fs, path, BD_FILE_READ, &f->file, st)) return failed(v, st, SQLITE_CANTOPEN);
    f->base.pMethods = &file_methods;
    if (out_flags)
        *out_flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *v, const char *path, int sync)
{
    (void)v, (void)path, (void)sync;
    return SQLITE_READONLY;
}

static int vfs_access(sqlite3_vfs *v, const char *path, int flags, int *result)
{
    *result = flags != SQLITE_ACCESS_READWRITE && bd_file_exists(vfs_of(v)->fs, path);
    return SQLITE_OK;
}

// Paths stay as they are: the file system resolves them.
static int vfs_full_path(sqlite3_vfs *v, const char *path, int max, char *out)
{
    (void)v;
    if (strlen(path) >= (size_t)max) return SQLITE_CANTOPEN;
    memcpy(out, path, strlen(path) + 1);
    return SQLITE_OK;
}

static void *vfs_library(sqlite3_vfs *v, const char *path)
{
    (void)v, (void)path;
    return NULL; // there are no extensions
}

static void vfs_library_error(sqlite3_vfs *v, int max, char *message)
{
    (void)v;
    snprintf(message, (size_t)max, "extensions are not loaded");
}

static int vfs_randomness(sqlite3_vfs *v, int len, char *out)
{
    sqlite3_vfs *given = vfs_of(v)->given;
    return given->xRandomness(given, len, out);
}

static int vfs_sleep(sqlite3_vfs *v, int microseconds)
{
    (void)v, (void)microseconds; // SQLite sleeps for locks, of which there are none
    return 0;
}

static int vfs_time(sqlite3_vfs *v, double *days)
{
    sqlite3_vfs *given = vfs_of(v)->given;
    return given->xCurrentTime(given, days);
}

static int vfs_last_error(sqlite3_vfs *v, int max, char *message)
{
    (void)v, (void)max, (void)message;
    return 0;
}

bd_sqlite_vfs *bd_sqlite_vfs_new(const bd_fs *fs)
{
    sqlite3_vfs *given = sqlite3_initialize() == SQLITE_OK ? sqlite3_vfs_find(NULL) : NULL;
    if (!given) return NULL;
    bd_sqlite_vfs *v = bd_calloc(1, sizeof *v);
    v->base = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(vfs_file),
        .mxPathname = PATH_MAX_BYTES,
        .zName = v->name,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_full_path,
        .xDlOpen = vfs_library,
        .xDlError = vfs_library_error,
        .xRandomness = vfs_randomness,
        .xSleep = vfs_sleep,
        .xCurrentTime = vfs_time,
        .xGetLastError = vfs_last_error,
    };
    v->given = given;
    v->fs = fs;
    snprintf(v->name, sizeof v->name, "braid-%p", (void *)v); // SQLite finds it by its name
    if (sqlite3_vfs_register(&v->base, 0) == SQLITE_OK) return v;
    bd_free(v);
    return NULL;
}

void bd_sqlite_vfs_free(bd_sqlite_vfs *v)
{
    if (!v) return;
    sqlite3_vfs_unregister(&v->base);
    bd_status_fini(&v->error);
    bd_free(v);
}

const char *bd_sqlite_vfs_name(const bd_sqlite_vfs *v)
{
    return v->name;
}

const braid_status *bd_sqlite_vfs_error(const bd_sqlite_vfs *v)
{
    return &v->error;
}
