// Resolves paths within directories.
#include "io/file_roots.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/file_root_variable.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "io/path.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// As in the system.
#define LINKS_MAX 40
// Directories that are opened for one path: each ".." begins at the root of the file system again.
#define PARTS_MAX 10000

typedef struct root {
    char *named; // the path by which it was allowed, absolute
    char *real;  // without links; "" for "/"
} root;

struct bd_file_roots {
    bd_mutex mu;
    BD_ARRAY(root) list; // guarded by mu
};

bd_file_roots bd_file_roots_none = {.mu = BD_MUTEX_INIT};

bd_file_roots *bd_file_roots_new(void)
{
    bd_file_roots *roots = bd_calloc(1, sizeof *roots);
    bd_mutex_init(&roots->mu);
    return roots;
}

void bd_file_roots_free(bd_file_roots *roots)
{
    if (!roots) return;
    for (size_t i = 0; i < roots->list.len; i++) {
        bd_free(roots->list.items[i].named);
        bd_free(roots->list.items[i].real);
    }
    bd_array_free(&roots->list);
    bd_mutex_fini(&roots->mu);
    bd_free(roots);
}

// ---- Allowing ----

// The path without links, which the caller frees; NULL and errno on an error. The last parts need not
// exist.
static char *real_path(const char *path)
{
    char real[PATH_MAX];
    if (realpath(path, real)) return bd_strdup(strcmp(real, "/") == 0 ? "" : real);
    if (errno != ENOENT || strcmp(path, "/") == 0) return NULL;
    char *above = bd_strndup(path, (size_t)(strrchr(path, '/') - path)), *found = NULL;
    char *real_above = real_path(*above ? above : "/");
    if (real_above) found = bd_asprintf("%s%s", real_above, strrchr(path, '/'));
    bd_free(real_above);
    bd_free(above);
    return found;
}

static bool is_other_than_dir(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

static bool has_root_locked(const bd_file_roots *roots, const root *r)
{
    for (size_t i = 0; i < roots->list.len; i++) {
        const root *known = &roots->list.items[i];
        if (strcmp(known->named, r->named) == 0 && strcmp(known->real, r->real) == 0) return true;
    }
    return false;
}

static void add_root(bd_file_roots *roots, const root *r)
{
    bd_mutex_lock(&roots->mu);
    const bool is_known = has_root_locked(roots, r);
    if (!is_known) bd_array_push(&roots->list, *r);
    bd_mutex_unlock(&roots->mu);
    if (!is_known) return;
    bd_free(r->named);
    bd_free(r->real);
}

braid_code bd_file_roots_allow(bd_file_roots *roots, const char *dir, braid_status *st)
{
    if (!*dir) return bd_fail(st, BRAID_INVALID_ARGUMENT, "a directory of files without a name");
    root r = {.named = bd_path_absolute(dir)};
    char real[PATH_MAX];
    // The path as it was given goes first: ".." after a link leads elsewhere than its text says.
    r.real = real_path(realpath(dir, real) ? real : r.named);
    if (r.real && !is_other_than_dir(dir)) {
        add_root(roots, &r);
        return BRAID_OK;
    }
    if (r.real)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "cannot allow the files in %s: it is not a directory", dir);
    else
        bd_posix_failed(st, "allow the files in", dir);
    bd_free(r.real);
    bd_free(r.named);
    return st->code;
}

braid_code bd_file_roots_allow_list(bd_file_roots *roots, const char *list, braid_status *st)
{
    const char *piece;
    size_t len;
    if (strcmp(list, "none") == 0) return BRAID_OK;
    while (!st->code && bd_split_next(&list, ':', &piece, &len)) {
        char *dir = bd_strndup(piece, len);
        bd_file_roots_allow(roots, dir, st);
        bd_free(dir);
    }
    return st->code;
}

braid_code bd_file_roots_allow_current(bd_file_roots *roots, braid_status *st)
{
    char *dir = get_current_dir_name(); // $PWD where that is the current directory
    if (!dir) return bd_posix_failed(st, "allow the files in", "the current directory");
    const braid_code code = bd_file_roots_allow(roots, dir, st);
    free(dir); // the caller's, by free()
    return code;
}

// ---- What is allowed ----

// Whether `path` is `dir` or below it; both without a slash at the end: "" is the root of the file system.
static bool is_within(const char *path, const char *dir)
{
    const size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && (path[len] == 0 || path[len] == '/');
}

typedef enum relation {
    OUTSIDE,
    ABOVE, // a root is below it
    INSIDE
} relation;

// A directory or file without links in its path, to the roots.
static relation relation_of(bd_file_roots *roots, const char *real)
{
    relation found = OUTSIDE;
    bd_mutex_lock(&roots->mu);
    for (size_t i = 0; i < roots->list.len && found != INSIDE; i++) {
        const root *r = &roots->list.items[i];
        if (is_within(real, r->real))
            found = INSIDE;
        else if (is_within(r->real, real) || is_within(r->named, real))
            found = ABOVE;
    }
    bd_mutex_unlock(&roots->mu);
    return found;
}

// ---- The walk ----

// Steps: the first part of `rest` is taken off; it is a directory, and becomes `dir`, or a link, whose text
// is put before `rest`, or "..", which begins again with the path of the directory above.
typedef struct walk {
    bd_file_roots *roots;
    bd_file_place_use use;
    int dir;        // the open directory in which `rest` begins; -1: none yet
    bd_strbuf real; // its path, without links; "" at the root of the file system
    char *rest;
    int links, parts; // so far
} walk;

static void close_dir(walk *w)
{
    const int error = errno;
    if (w->dir >= 0) close(w->dir);
    w->dir = -1;
    errno = error;
}

static void set_rest(walk *w, char *rest)
{
    bd_free(w->rest);
    w->rest = rest;
}

static bool go_to_root(walk *w)
{
    close_dir(w);
    bd_strbuf_clear(&w->real);
    w->dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return w->dir >= 0;
}

static bool is_last(const char *after)
{
    return after[strspn(after, "/")] == 0;
}

static bool follows(const walk *w)
{
    return w->use == BD_FILE_PLACE_FOLLOW || w->use == BD_FILE_PLACE_LOOK;
}

// Puts the text of a link before what is `after` it.
static bool take_link(walk *w, const char *text, const char *after)
{
    if (++w->links > LINKS_MAX) {
        errno = ELOOP;
        return false;
    }
    const bool is_absolute = bd_path_is_absolute(text);
    set_rest(w, bd_asprintf("%s%s", text, after));
    return !is_absolute || go_to_root(w);
}

static bool go_up(walk *w, const char *after)
{
    const char *real = bd_strbuf_str(&w->real), *slash = strrchr(real, '/');
    set_rest(w, bd_asprintf("%.*s/%s", slash ? (int)(slash - real) : 0, real, after));
    return go_to_root(w);
}

static void append_part(bd_strbuf *path, const char *name)
{
    bd_strbuf_append_char(path, '/');
    bd_strbuf_append(path, name);
}

static bool enter(walk *w, const char *name, const char *after)
{
    const int fd = openat(w->dir, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return false;
    close_dir(w);
    w->dir = fd;
    append_part(&w->real, name);
    set_rest(w, bd_strdup(after));
    return true;
}

// Takes one part. False and errno on an error.
static bool take_part(walk *w, const char *name, const char *after)
{
    if (++w->parts > PARTS_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (strcmp(name, "..") == 0) return go_up(w, after);
    char text[PATH_MAX];
    const ssize_t len = readlinkat(w->dir, name, text, sizeof text - 1);
    if (len >= 0) {
        text[len] = 0;
        return take_link(w, text, after);
    }
    return errno == EINVAL && enter(w, name, after); // it is not a link
}

// Whether the call is to act on this name in `dir`.
static bool ends_at(const walk *w, const char *name, const char *after)
{
    char c;
    if (strcmp(name, "..") == 0) return false;
    if (!follows(w)) return is_last(after);
    return !*after && readlinkat(w->dir, name, &c, 1) < 0;
}

// The path that the walk would have reached, by its text; NULL when ".." is in it. The caller frees it.
static char *path_ahead(const walk *w, const char *rest)
{
    bd_strbuf path = {0};
    const char *part;
    size_t len;
    bool goes_up = false;
    bd_strbuf_append(&path, bd_strbuf_str(&w->real));
    while (bd_split_next(&rest, '/', &part, &len)) {
        goes_up = goes_up || (len == 2 && memcmp(part, "..", 2) == 0);
        if (len == 0 || (len == 1 && *part == '.')) continue;
        bd_strbuf_append_char(&path, '/');
        bd_strbuf_append_n(&path, part, len);
    }
    if (!goes_up) return bd_strbuf_take(&path);
    bd_strbuf_fini(&path);
    return NULL;
}

static bool is_allowed(const walk *w, const char *real)
{
    const relation r = relation_of(w->roots, real);
    return r == INSIDE || (r == ABOVE && (w->use == BD_FILE_PLACE_LOOK || w->use == BD_FILE_PLACE_MAKE));
}

static braid_code refuse(const char *what, const char *path, braid_status *st)
{
    return bd_fail(st, BRAID_PERMISSION_DENIED,
                   "cannot %s %s: it is not in a directory that the server opens to graphs (start the server "
                   "with --file-root DIR, or its program with " BD_FILE_ROOT_VARIABLE
                   "=DIR, where DIR is the directory of the file)",
                   what, path);
}

// A walk that ends early: with the system's reason only where the path may be looked at.
static braid_code end_early(const walk *w, const char *what, const char *path, braid_status *st)
{
    const int error = errno;
    char *ahead = path_ahead(w, w->rest);
    const bool is_open =
        relation_of(w->roots, bd_strbuf_str(&w->real)) == INSIDE || (ahead && is_allowed(w, ahead));
    bd_free(ahead);
    errno = error;
    return is_open ? bd_posix_failed(st, what, path) : refuse(what, path, st);
}

// Ends at `name` in the directory that was reached.
static braid_code end_at(walk *w, const char *name, const char *what, const char *path, bd_file_place *place,
                         braid_status *st)
{
    bd_strbuf real = {0};
    bd_strbuf_append(&real, bd_strbuf_str(&w->real));
    if (strcmp(name, ".") != 0) append_part(&real, name);
    const bool allowed = is_allowed(w, bd_strbuf_str(&real));
    bd_strbuf_fini(&real);
    if (!allowed) return refuse(what, path, st);
    *place = (bd_file_place){.dir = w->dir, .name = bd_strdup(name), .is_plain = true, .path = path};
    w->dir = -1; // the place's
    return BRAID_OK;
}

static braid_code run_walk(walk *w, const char *what, const char *path, bd_file_place *place,
                           braid_status *st)
{
    for (;;) {
        if (relation_of(w->roots, bd_strbuf_str(&w->real)) == OUTSIDE) return refuse(what, path, st);
        const char *begin = w->rest + strspn(w->rest, "/");
        const size_t len = strcspn(begin, "/");
        if (len == 0) return end_at(w, ".", what, path, place, st);
        const char *after = begin + len;
        char *name = bd_strndup(begin, len);
        braid_code code = BRAID_OK;
        bool is_over = false;
        if (strcmp(name, ".") == 0) {
            set_rest(w, bd_strdup(after));
        } else if (ends_at(w, name, after)) {
            is_over = true;
            code = end_at(w, name, what, path, place, st);
        } else if (!take_part(w, name, after)) {
            code = end_early(w, what, path, st);
        }
        bd_free(name);
        if (code || is_over) return code;
    }
}

// ---- Places ----

static braid_code find_within(bd_file_roots *roots, const char *path, bd_file_place_use use, const char *what,
                              bd_file_place *place, braid_status *st)
{
    char here[PATH_MAX] = "";
    const char *local = bd_path_of_uri(path);
    const size_t len = strlen(local);
    if (len == 0) errno = ENOENT;
    if (len >= PATH_MAX) errno = ENAMETOOLONG; // as without roots: what makes directories goes up the path
    if (len == 0 || len >= PATH_MAX || (!bd_path_is_absolute(local) && !getcwd(here, sizeof here)))
        return bd_posix_failed(st, what, path);
    walk w = {.roots = roots, .use = use, .dir = -1, .rest = bd_asprintf("%s/%s", here, local)};
    const braid_code code =
        go_to_root(&w) ? run_walk(&w, what, path, place, st) : bd_posix_failed(st, what, path);
    close_dir(&w);
    bd_strbuf_fini(&w.real);
    bd_free(w.rest);
    return code;
}

braid_code bd_file_place_find(bd_file_roots *roots, const char *path, bd_file_place_use use, const char *what,
                              bd_file_place *place, braid_status *st)
{
    if (roots && relation_of(roots, "") != INSIDE) return find_within(roots, path, use, what, place, st);
    *place = (bd_file_place){.dir = AT_FDCWD, .name = (char *)bd_path_of_uri(path), .path = path};
    return BRAID_OK;
}

void bd_file_place_release(bd_file_place *place)
{
    const int error = errno;
    if (place->is_plain) {
        close(place->dir);
        bd_free(place->name);
    }
    errno = error;
}
