// File functions over the current file system.
#include "io/file.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "base/random.h"
#include "io/path.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const bd_fs *bd_fs_current = &bd_fs_posix;

void bd_fs_set(const bd_fs *fs)
{
    BD_ASSERT(fs->open && fs->read_at && fs->write && fs->sync && fs->close && fs->info && fs->rename);
    BD_ASSERT(fs->remove && fs->make_dir && fs->remove_dir && fs->sync_dir && fs->list);
    bd_fs_current = fs;
}

bd_fs bd_fs_within(bd_file_roots *roots)
{
    bd_fs fs = *bd_fs_current;
    fs.roots = roots;
    return fs;
}

// ---- Open files ----

braid_code bd_file_open(const bd_fs *fs, const char *path, bd_file_mode mode, bd_file **file,
                        braid_status *st)
{
    return fs->open(fs, path, mode, file, st);
}

braid_code bd_file_lock(const bd_fs *fs, const char *path, bool make, bd_file **file, braid_status *st)
{
    return fs->lock(fs, path, make, file, st);
}

braid_code bd_file_read_at(bd_file *file, uint64_t offset, void *out, size_t len, size_t *got,
                           braid_status *st)
{
    return file->fs->read_at(file, offset, out, len, got, st);
}

braid_code bd_file_read_exact(bd_file *file, uint64_t offset, void *out, size_t len, braid_status *st)
{
    size_t got;
    braid_code code = bd_file_read_at(file, offset, out, len, &got, st);
    if (code || got == len) return code;
    return bd_fail(st, BRAID_DATA_LOSS,
                   "%s ends after %" PRIu64 " bytes, within %zu bytes at offset %" PRIu64, file->path,
                   offset + got, len, offset);
}

braid_code bd_file_write(bd_file *file, const void *data, size_t len, braid_status *st)
{
    return file->fs->write(file, data, len, st);
}

braid_code bd_file_sync(bd_file *file, braid_status *st)
{
    return file->fs->sync(file, st);
}

braid_code bd_file_close(bd_file *file, braid_status *st)
{
    return file ? file->fs->close(file, st) : BRAID_OK;
}

// ---- By path ----

braid_code bd_file_get_info(const bd_fs *fs, const char *path, bd_file_info *info, braid_status *st)
{
    return fs->info(fs, path, info, st);
}

bool bd_file_exists(const bd_fs *fs, const char *path)
{
    BD_STATUS(st);
    bd_file_info info;
    return bd_file_get_info(fs, path, &info, st) == BRAID_OK;
}

braid_code bd_file_size(const bd_fs *fs, const char *path, uint64_t *size, braid_status *st)
{
    bd_file_info info;
    braid_code code = bd_file_get_info(fs, path, &info, st);
    if (code) return code;
    if (info.is_dir) return bd_fail(st, BRAID_FAILED_PRECONDITION, "%s is a directory", path);
    *size = info.size;
    return BRAID_OK;
}

braid_code bd_file_rename(const bd_fs *fs, const char *from, const char *to, braid_status *st)
{
    return fs->rename(fs, from, to, st);
}

braid_code bd_file_remove(const bd_fs *fs, const char *path, braid_status *st)
{
    return fs->remove(fs, path, st);
}

braid_code bd_file_sync_path(const bd_fs *fs, const char *path, braid_status *st)
{
    bd_file *file;
    braid_code code = bd_file_open(fs, path, BD_FILE_READ, &file, st);
    if (code) return code;
    BD_STATUS(close_st);
    code = bd_file_sync(file, st);
    bd_file_close(file, close_st); // no byte was written through it
    return code;
}

braid_code bd_dir_remove(const bd_fs *fs, const char *path, braid_status *st)
{
    return fs->remove_dir(fs, path, st);
}

braid_code bd_dir_sync(const bd_fs *fs, const char *path, braid_status *st)
{
    return fs->sync_dir(fs, path, st);
}

// Makes one directory whose parent exists.
static braid_code make_one_dir(const bd_fs *fs, const char *path, braid_status *st)
{
    BD_STATUS(make_st);
    bd_file_info info;
    braid_code code = fs->make_dir(fs, path, make_st);
    if (code == BRAID_ALREADY_EXISTS && bd_file_get_info(fs, path, &info, st) == BRAID_OK) {
        if (info.is_dir) return BRAID_OK; // another process was faster
        return bd_fail(st, BRAID_FAILED_PRECONDITION, "cannot make directory %s: a file has this name", path);
    }
    if (code) return bd_status_copy(st, make_st);
    char *parent = bd_path_dir(path);
    code = bd_dir_sync(fs, parent, st);
    bd_free(parent);
    return code;
}

braid_code bd_dir_make(const bd_fs *fs, const char *path, braid_status *st)
{
    bd_file_info info;
    path = bd_path_of_uri(path); // what is above a URI of a file is no directory
    braid_code code = bd_file_get_info(fs, path, &info, st);
    if (code == BRAID_OK && info.is_dir) return BRAID_OK;
    if (code != BRAID_OK && code != BRAID_NOT_FOUND) return code; // too long, for one: it ends here
    braid_status_clear(st);
    char *parent = bd_path_dir(path);
    code = strcmp(parent, path) == 0 ? BRAID_OK : bd_dir_make(fs, parent, st);
    bd_free(parent);
    return code ? code : make_one_dir(fs, path, st);
}

// ---- Lists ----

void bd_name_list_fini(bd_name_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        bd_free(list->items[i]);
    bd_array_free(list);
}

static void add_name(const char *name, void *arg)
{
    bd_name_list *list = arg;
    bd_array_push(list, bd_strdup(name));
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void bd_name_list_sort(bd_name_list *list)
{
    if (list->len > 0) qsort(list->items, list->len, sizeof *list->items, compare_names);
}

braid_code bd_dir_list(const bd_fs *fs, const char *path, bd_name_list *list, braid_status *st)
{
    *list = (bd_name_list){0};
    braid_code code = fs->list(fs, path, add_name, list, st);
    if (code) {
        bd_name_list_fini(list);
    } else {
        bd_name_list_sort(list);
    }
    return code;
}

braid_code bd_dir_watch_open(const bd_fs *fs, const char *path, bd_dir_watch **watch, braid_status *st)
{
    return fs->watch(fs, path, watch, st);
}

void bd_dir_watch_wait(bd_dir_watch *watch, int64_t deadline_ns)
{
    watch->fs->watch_wait(watch, deadline_ns);
}

void bd_dir_watch_close(bd_dir_watch *watch)
{
    if (watch) watch->fs->watch_close(watch);
}

// ---- Whole files ----

// Reads to the end, whatever the size is: files of /proc have size 0, others grow.
static braid_code read_to_end(bd_file *file, size_t max, size_t cap, char **data, size_t *len,
                              braid_status *st)
{
    for (;;) {
        char *grown = bd_try_realloc(*data, cap + 1);
        if (!grown) {
            return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for %zu bytes of %s", cap, file->path);
        }
        *data = grown;
        size_t got;
        braid_code code = bd_file_read_at(file, *len, *data + *len, cap + 1 - *len, &got, st);
        if (code) return code;
        *len += got;
        if (*len <= cap) break;
        if (cap >= max) {
            return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "%s is longer than %zu bytes", file->path, max);
        }
        cap = cap < max / 2 ? 2 * cap + 4096 : max;
    }
    (*data)[*len] = 0;
    return BRAID_OK;
}

braid_code bd_file_read_all(const bd_fs *fs, const char *path, size_t max, char **data, size_t *len,
                            braid_status *st)
{
    bd_file *file;
    uint64_t size;
    *data = NULL;
    *len = 0;
    braid_code code = bd_file_open(fs, path, BD_FILE_READ, &file, st);
    if (code) return code;
    code = bd_file_size(fs, path, &size, st);
    if (!code) code = read_to_end(file, max, size < max ? (size_t)size : max, data, len, st);
    BD_STATUS(close_st);
    bd_file_close(file, close_st); // it was only read
    if (code) {
        bd_free(*data);
        *data = NULL;
        *len = 0;
    }
    return code;
}

// A new file of this content, on the disk when it returns.
static braid_code write_synced(const bd_fs *fs, const char *path, const void *data, size_t len,
                               braid_status *st)
{
    bd_file *file;
    BD_STATUS(close_st);
    braid_code code = bd_file_open(fs, path, BD_FILE_CREATE_NEW, &file, st);
    if (code) return code;
    code = bd_file_write(file, data, len, st);
    if (!code) code = bd_file_sync(file, st);
    braid_code close_code = bd_file_close(file, close_st);
    return code || !close_code ? code : bd_status_copy(st, close_st);
}

braid_code bd_file_write_atomic(const bd_fs *fs, const char *path, const void *data, size_t len,
                                braid_status *st)
{
    BD_STATUS(ignored);
    char *temp = bd_path_temp(path), *dir = bd_path_dir(path);
    braid_code code = write_synced(fs, temp, data, len, st);
    if (!code) code = bd_file_rename(fs, temp, path, st);
    if (code) {
        bd_file_remove(fs, temp, ignored);
    } else {
        code = bd_dir_sync(fs, dir, st);
    }
    bd_free(temp);
    bd_free(dir);
    return code;
}

// ---- Paths ----

char *bd_path_dir(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') // "a/b/" is "a/b"
        len--;
    while (len > 0 && path[len - 1] != '/')
        len--;
    if (len == 0) return bd_strdup(".");
    while (len > 1 && path[len - 1] == '/')
        len--;
    return bd_strndup(path, len);
}

char *bd_path_join(const char *dir, const char *name)
{
    size_t len = strlen(dir);
    if (len == 0) return bd_strdup(name);
    return bd_asprintf("%s%s%s", dir, dir[len - 1] == '/' ? "" : "/", name);
}

char *bd_path_temp(const char *path)
{
    return bd_asprintf("%s.tempstate%" PRIu64, path, bd_random_u64());
}
