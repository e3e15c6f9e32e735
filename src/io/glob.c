// Finding files by a pattern, one part of the path after the other.
#include "io/glob.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/strbuf.h"
#include <fnmatch.h>
#include <string.h>

// Lists the names in a directory; the list is empty when it does not exist or is not a directory. The caller
// frees them.
static braid_code list_dir(const bd_fs *fs, const char *path, bd_name_list *names, braid_status *st)
{
    bd_file_info info;
    *names = (bd_name_list){0};
    braid_code code = bd_file_get_info(fs, path, &info, st);
    if (code == BRAID_NOT_FOUND || code == BRAID_FAILED_PRECONDITION) { // a file has no entries
        braid_status_clear(st);
        return BRAID_OK;
    }
    return code || !info.is_dir ? code : bd_dir_list(fs, path, names, st);
}

static braid_code expand(const bd_fs *fs, bd_strbuf *path, const char *rest, bd_name_list *list,
                         braid_status *st);

// Lists the names in the directory `path` that match the first `len` bytes of `rest`, and expands the
// remainder for each.
static braid_code expand_dir(const bd_fs *fs, bd_strbuf *path, const char *rest, size_t len,
                             bd_name_list *list, braid_status *st)
{
    bd_name_list names;
    size_t path_len = path->len, dir_len = path_len;
    while (dir_len > 1 && path->data[dir_len - 1] == '/')
        dir_len--;
    char *dir = path_len > 0 ? bd_strndup(path->data, dir_len) : bd_strdup("."),
         *part = bd_strndup(rest, len);
    braid_code code = list_dir(fs, dir, &names, st);
    for (size_t i = 0; i < names.len && !code; i++) {
        if (fnmatch(part, names.items[i], 0) != 0) continue;
        bd_strbuf_append(path, names.items[i]);
        code = expand(fs, path, rest + len, list, st);
        path->len = path_len;
        path->data[path_len] = 0;
    }
    bd_free(part);
    bd_free(dir);
    bd_name_list_fini(&names);
    return code;
}

// Adds the paths that match `rest` after `path`.
static braid_code expand(const bd_fs *fs, bd_strbuf *path, const char *rest, bd_name_list *list,
                         braid_status *st)
{
    bd_strbuf_append(path, ""); // so that the text is not NULL
    size_t path_len = path->len, len;
    braid_code code = BRAID_OK;
    for (; *rest; rest += len) {
        if (*rest == '/') {
            len = 1;
        } else {
            len = strcspn(rest, "/");
            if (strcspn(rest, "*?[\\") < len) {
                code = expand_dir(fs, path, rest, len, list, st);
                break;
            }
        }
        bd_strbuf_append_n(path, rest, len);
    }
    if (!*rest && bd_file_exists(fs, path->data)) bd_array_push(list, bd_strdup(path->data));
    path->len = path_len;
    path->data[path_len] = 0;
    return code;
}

// The length of the directories that a pattern names before its first special character.
static size_t fixed_length(const char *pattern)
{
    size_t len = strcspn(pattern, "*?[\\");
    while (len > 0 && pattern[len - 1] != '/')
        len--;
    return len;
}

// Whether no path matches, as in TensorFlow, because paths that are found have neither two slashes together
// nor one at their end. Two within the directories before the first special character stay as they are.
static bool matches_nothing(const char *pattern)
{
    size_t len = fixed_length(pattern), all = strlen(pattern);
    if (all == len || pattern[all - 1] == '/' || strstr(pattern + len, "//")) return true;
    return len > 1 && pattern[len - 2] == '/';
}

// Fails when what the pattern names before its first special character is not there or no directory, and
// where the pattern begins in the current directory, when that may not be looked at.
static braid_code check_fixed_dir(const bd_fs *fs, const char *pattern, braid_status *st)
{
    bd_file_info info;
    size_t len = fixed_length(pattern);
    while (len > 1 && pattern[len - 1] == '/')
        len--;
    if (len == 0) {
        if (bd_file_get_info(fs, ".", &info, st) == BRAID_PERMISSION_DENIED) return st->code;
        braid_status_clear(st);
        return BRAID_OK;
    }
    char *dir = bd_strndup(pattern, len);
    braid_code code = bd_file_get_info(fs, dir, &info, st);
    if (!code && !info.is_dir) code = bd_fail(st, BRAID_FAILED_PRECONDITION, "%s; Not a directory", dir);
    bd_free(dir);
    return code;
}

braid_code bd_glob(const bd_fs *fs, const char *pattern, bd_name_list *list, braid_status *st)
{
    bd_strbuf path = {0};
    *list = (bd_name_list){0};
    braid_code code = check_fixed_dir(fs, pattern, st);
    if (fixed_length(pattern) == 0) bd_strbuf_append(&path, "./"); // the path found begins so, too
    if (!code && !matches_nothing(pattern)) code = expand(fs, &path, pattern, list, st);
    bd_strbuf_fini(&path);
    if (code) {
        bd_name_list_fini(list);
    } else {
        bd_name_list_sort(list);
    }
    return code;
}
