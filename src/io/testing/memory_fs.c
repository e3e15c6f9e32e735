// A file system in memory, with power cuts.
//
// One mutex guards all of it; each operation of the interface takes it (`locked` below), after the delay.
//
// Names refer to nodes in two tables: `names` is the programs' view, `durable` the state of the disk. Each
// change of names that is not on the disk yet waits in `pending`, in order, until one of its directories is
// synced.
#include "io/testing/memory_fs.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "io/file.h"
#include <string.h>

struct node {
    uint64_t number;
    bool is_dir;
    bd_strbuf content, durable;
    int writer;        // the process that wrote last what is not durable
    struct node *next; // of all nodes that ever were
};

struct memory_file {
    bd_file base;
    struct node *node; // not owned
};

struct memory_watch {
    bd_dir_watch base;
    uint64_t seen; // of disk.changes
};

// A change of names: `gone` leads nowhere afterwards, `made` to `node`. Either may be NULL.
struct change {
    char *gone, *made; // owned
    struct node *node;
    int by; // the process
};

static struct {
    bd_map names, durable;
    BD_ARRAY(struct change) pending;
    struct node *nodes;
    uint64_t next_number;
    uint64_t changes; // of names
    int64_t fail_after;
    bool fail_for_good, failed, is_full;
    bd_memory_fs_hooks hooks;
} disk;

static bd_mutex mu = BD_MUTEX_INIT;
static bd_cond changed = BD_COND_INIT; // with mu: disk.changes has grown

static int process(void)
{
    return disk.hooks.process ? disk.hooks.process() : 0;
}

// ---- Failing ----

static braid_code failure(const char *path, braid_status *st)
{
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "cannot write %s: simulated failure", path);
}

static braid_code check_alive(const char *path, braid_status *st)
{
    return disk.failed && disk.fail_for_good ? failure(path, st) : BRAID_OK;
}

static braid_code check_change(const char *path, braid_status *st)
{
    if (check_alive(path, st)) return st->code;
    if (disk.fail_after < 0 || disk.fail_after-- > 0) return BRAID_OK;
    disk.failed = true;
    return failure(path, st);
}

// A change that needs room.
static braid_code check_growth(const char *path, braid_status *st)
{
    if (disk.is_full)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "cannot write %s: No space left on device", path);
    return check_change(path, st);
}

static braid_code not_found(const char *path, braid_status *st)
{
    return bd_fail(st, BRAID_NOT_FOUND, "cannot find %s: No such file or directory", path);
}

// ---- Nodes and names ----

static struct node *new_node(bool is_dir)
{
    struct node *n = bd_calloc(1, sizeof *n);
    n->number = disk.next_number++;
    n->is_dir = is_dir;
    n->next = disk.nodes;
    disk.nodes = n;
    return n;
}

// A path that begins with "/@NAME/" means the same without it.
static const char *plain(const char *path)
{
    if (strncmp(path, "/@", 2) != 0) return path;
    const char *rest = strchr(path + 1, '/');
    return rest ? rest : "/";
}

static struct node *find(const char *path)
{
    return bd_map_get(&disk.names, plain(path));
}

static bool has_parent(const char *path)
{
    char *dir = bd_path_dir(path);
    struct node *n = find(dir);
    bd_free(dir);
    return n && n->is_dir;
}

static void apply(bd_map *names, const struct change *c)
{
    if (c->gone) bd_map_remove(names, c->gone);
    if (c->made) bd_map_put(names, c->made, c->node);
}

static void free_change(struct change *c)
{
    bd_free(c->gone);
    bd_free(c->made);
}

static void change_names(const char *gone, const char *made, struct node *node)
{
    struct change c = {gone ? bd_strdup(plain(gone)) : NULL, made ? bd_strdup(plain(made)) : NULL, node,
                       process()};
    apply(&disk.names, &c);
    bd_array_push(&disk.pending, c);
    disk.changes++;
    bd_cond_broadcast(&changed);
}

// ---- Open files ----

static const bd_fs memory_fs;

static braid_code memory_open(const char *path, bd_file_mode mode, bd_file **file, braid_status *st)
{
    *file = NULL;
    struct node *n = find(path);
    braid_code code = mode == BD_FILE_READ ? check_alive(path, st)
                      : n                  ? check_change(path, st)
                                           : check_growth(path, st);
    if (code) return code;
    if (n && n->is_dir)
        return bd_fail(st, BRAID_FAILED_PRECONDITION, "cannot open %s: it is a directory", path);
    if (n && mode == BD_FILE_CREATE_NEW)
        return bd_fail(st, BRAID_ALREADY_EXISTS, "cannot create %s: it is there", path);
    if (!n && (mode == BD_FILE_READ || !has_parent(path))) return not_found(path, st);
    if (!n) change_names(NULL, path, n = new_node(false));
    if (mode == BD_FILE_CREATE) bd_strbuf_clear(&n->content);
    if (mode != BD_FILE_READ) n->writer = process();
    struct memory_file *f = bd_malloc(sizeof *f);
    *f = (struct memory_file){.base = {.fs = &memory_fs, .path = bd_strdup(path)}, .node = n};
    *file = &f->base;
    return BRAID_OK;
}

static struct node *node_of(const bd_file *file)
{
    return ((const struct memory_file *)file)->node;
}

static braid_code memory_read_at(bd_file *file, uint64_t offset, void *out, size_t len, size_t *got,
                                 braid_status *st)
{
    const bd_strbuf *content = &node_of(file)->content;
    *got = 0;
    if (check_alive(file->path, st)) return st->code;
    if (offset >= content->len) return BRAID_OK;
    *got = len < content->len - offset ? len : content->len - (size_t)offset;
    if (*got) memcpy(out, content->data + offset, *got);
    return BRAID_OK;
}

static braid_code memory_write(bd_file *file, const void *data, size_t len, braid_status *st)
{
    braid_code code = check_growth(file->path, st);
    if (code) len /= 2; // some of it got there
    bd_strbuf_append_n(&node_of(file)->content, data, len);
    node_of(file)->writer = process();
    return code;
}

static void copy_content(bd_strbuf *to, const bd_strbuf *from, size_t len)
{
    bd_strbuf_clear(to);
    bd_strbuf_append_n(to, bd_strbuf_str(from), len);
}

static braid_code memory_sync(bd_file *file, braid_status *st)
{
    struct node *n = node_of(file);
    braid_code code = check_change(file->path, st);
    if (!code) copy_content(&n->durable, &n->content, n->content.len);
    return code;
}

static braid_code memory_close(bd_file *file, braid_status *st)
{
    (void)st;
    bd_free(file->path);
    bd_free(file);
    return BRAID_OK;
}

// ---- By path ----

static braid_code memory_info(const char *path, bd_file_info *info, braid_status *st)
{
    struct node *n = find(path);
    if (check_alive(path, st)) return st->code;
    if (!n) return not_found(path, st);
    *info = (bd_file_info){.size = n->content.len, .inode = n->number, .is_dir = n->is_dir};
    return BRAID_OK;
}

static braid_code memory_rename(const char *from, const char *to, braid_status *st)
{
    struct node *n = find(from);
    braid_code code = check_change(from, st);
    if (code) return code;
    if (!n || !has_parent(to)) return not_found(n ? to : from, st);
    change_names(from, to, n);
    return BRAID_OK;
}

static braid_code memory_remove(const char *path, braid_status *st)
{
    struct node *n = find(path);
    braid_code code = check_change(path, st);
    if (code) return code;
    if (!n || n->is_dir) return not_found(path, st);
    change_names(path, NULL, NULL);
    return BRAID_OK;
}

static braid_code memory_make_dir(const char *path, braid_status *st)
{
    braid_code code = check_growth(path, st);
    if (code) return code;
    if (find(path)) return bd_fail(st, BRAID_ALREADY_EXISTS, "cannot make directory %s: it is there", path);
    if (!has_parent(path)) return not_found(path, st);
    change_names(NULL, path, new_node(true));
    return BRAID_OK;
}

// Calls fn with the last part of each name that is in a directory.
static void each_name(const char *dir, void (*fn)(const char *name, void *arg), void *arg)
{
    dir = plain(dir);
    size_t pos = 0, len = strcmp(dir, "/") == 0 ? 0 : strlen(dir);
    const char *path;
    while (bd_map_next(&disk.names, &pos, &path, NULL)) {
        if (strncmp(path, dir, len) != 0 || path[len] != '/' || !path[len + 1]) continue;
        if (!strchr(path + len + 1, '/')) fn(path + len + 1, arg);
    }
}

static void count_one(const char *name, void *arg)
{
    (void)name;
    ++*(int *)arg;
}

static braid_code memory_remove_dir(const char *path, braid_status *st)
{
    struct node *n = find(path);
    int inside = 0;
    braid_code code = check_change(path, st);
    if (code) return code;
    if (!n || !n->is_dir) return not_found(path, st);
    each_name(path, count_one, &inside);
    if (inside > 0)
        return bd_fail(st, BRAID_FAILED_PRECONDITION, "cannot remove directory %s: not empty", path);
    change_names(path, NULL, NULL);
    return BRAID_OK;
}

static bool is_in(const char *path, const char *dir)
{
    if (!path) return false;
    char *parent = bd_path_dir(path);
    bool in = strcmp(parent, plain(dir)) == 0;
    bd_free(parent);
    return in;
}

static braid_code memory_sync_dir(const char *path, braid_status *st)
{
    size_t kept = 0;
    braid_code code = check_change(path, st);
    if (code) return code;
    if (!find(path)) return not_found(path, st);
    for (size_t i = 0; i < disk.pending.len; i++) {
        struct change c = disk.pending.items[i];
        if (is_in(c.gone, path) || is_in(c.made, path)) {
            apply(&disk.durable, &c);
            free_change(&c);
        } else {
            disk.pending.items[kept++] = c;
        }
    }
    disk.pending.len = kept;
    return BRAID_OK;
}

static braid_code memory_list(const char *path, void (*fn)(const char *name, void *arg), void *arg,
                              braid_status *st)
{
    if (check_alive(path, st)) return st->code;
    if (!find(path)) return not_found(path, st);
    each_name(path, fn, arg);
    return BRAID_OK;
}

// ---- Watches; a change in any directory ends a wait ----

static braid_code memory_watch(const char *path, bd_dir_watch **watch, braid_status *st)
{
    *watch = NULL;
    const struct node *n = find(path);
    if (!n) return not_found(path, st);
    if (!n->is_dir) return bd_fail(st, BRAID_FAILED_PRECONDITION, "cannot watch %s: it is a file", path);
    struct memory_watch *w = bd_malloc(sizeof *w);
    *w = (struct memory_watch){.base.fs = &memory_fs, .seen = disk.changes};
    *watch = &w->base;
    return BRAID_OK;
}

static void memory_watch_wait(bd_dir_watch *watch, int64_t deadline_ns)
{
    struct memory_watch *w = (struct memory_watch *)watch;
    bd_mutex_lock(&mu);
    while (w->seen == disk.changes && !bd_cond_wait_until(&changed, &mu, deadline_ns)) {}
    w->seen = disk.changes;
    bd_mutex_unlock(&mu);
}

static void memory_watch_close(bd_dir_watch *watch)
{
    bd_free(watch);
}

// ---- Any thread ----

static void begin(bd_memory_fs_call call, const char *path)
{
    if (disk.hooks.before) disk.hooks.before(call, plain(path));
    bd_mutex_lock(&mu);
}

static braid_code end(braid_code code)
{
    bd_mutex_unlock(&mu);
    return code;
}

static braid_code locked_open(const bd_fs *fs, const char *path, bd_file_mode mode, bd_file **file,
                              braid_status *st)
{
    (void)fs;
    begin(mode == BD_FILE_READ ? BD_MEMORY_FS_READS : BD_MEMORY_FS_CHANGES, path);
    return end(memory_open(path, mode, file, st));
}

// No lock is ever taken: a process that the simulation has ended holds none.
static braid_code locked_lock(const bd_fs *fs, const char *path, bool make, bd_file **file, braid_status *st)
{
    return locked_open(fs, path, make ? BD_FILE_CREATE : BD_FILE_READ, file, st);
}

static braid_code locked_read_at(bd_file *file, uint64_t offset, void *out, size_t len, size_t *got,
                                 braid_status *st)
{
    begin(BD_MEMORY_FS_READS, file->path);
    return end(memory_read_at(file, offset, out, len, got, st));
}

static braid_code locked_write(bd_file *file, const void *data, size_t len, braid_status *st)
{
    begin(BD_MEMORY_FS_CHANGES, file->path);
    return end(memory_write(file, data, len, st));
}

static braid_code locked_sync(bd_file *file, braid_status *st)
{
    begin(BD_MEMORY_FS_SYNCS, file->path);
    return end(memory_sync(file, st));
}

static braid_code locked_info(const bd_fs *fs, const char *path, bd_file_info *info, braid_status *st)
{
    (void)fs;
    begin(BD_MEMORY_FS_READS, path);
    return end(memory_info(path, info, st));
}

static braid_code locked_rename(const bd_fs *fs, const char *from, const char *to, braid_status *st)
{
    (void)fs;
    begin(BD_MEMORY_FS_CHANGES, from);
    return end(memory_rename(from, to, st));
}

static braid_code locked_remove(const bd_fs *fs, const char *path, braid_status *st)
{
    (void)fs;
    begin(BD_MEMORY_FS_CHANGES, path);
    return end(memory_remove(path, st));
}

static braid_code locked_make_dir(const bd_fs *fs, const char *path, braid_status *st)
{
    (void)fs;
    begin(BD_MEMORY_FS_CHANGES, path);
    return end(memory_make_dir(path, st));
}

static braid_code locked_remove_dir(const bd_fs *fs, const char *path, braid_status *st)
{
    (void)fs;
    begin(BD_MEMORY_FS_CHANGES, path);
    return end(memory_remove_dir(path, st));
}

static braid_code locked_sync_dir(const bd_fs *fs, const char *path, braid_status *st)
{
    (void)fs;
    begin(BD_MEMORY_FS_SYNCS, path);
    return end(memory_sync_dir(path, st));
}

static braid_code locked_list(const bd_fs *fs, const char *path, void (*fn)(const char *name, void *arg),
                              void *arg, braid_status *st)
{
    (void)fs;
    begin(BD_MEMORY_FS_READS, path);
    return end(memory_list(path, fn, arg, st));
}

static braid_code locked_watch(const bd_fs *fs, const char *path, bd_dir_watch **watch, braid_status *st)
{
    (void)fs;
    begin(BD_MEMORY_FS_READS, path);
    return end(memory_watch(path, watch, st));
}

static const bd_fs memory_fs = {
    .open = locked_open,
    .read_at = locked_read_at,
    .write = locked_write,
    .sync = locked_sync,
    .close = memory_close,
    .lock = locked_lock,
    .info = locked_info,
    .rename = locked_rename,
    .remove = locked_remove,
    .make_dir = locked_make_dir,
    .remove_dir = locked_remove_dir,
    .sync_dir = locked_sync_dir,
    .list = locked_list,
    .watch = locked_watch,
    .watch_wait = memory_watch_wait,
    .watch_close = memory_watch_close,
};

// ---- The disk as a whole ----

void bd_memory_fs_install(void)
{
    BD_ASSERT(!disk.nodes);
    struct node *root = new_node(true);
    bd_map_put(&disk.names, "/", root);
    bd_map_put(&disk.durable, "/", root);
    bd_memory_fs_fail_after(-1, false);
    bd_fs_set(&memory_fs);
}

void bd_memory_fs_uninstall(void)
{
    for (struct node *n = disk.nodes, *next; n; n = next) {
        next = n->next;
        bd_strbuf_fini(&n->content);
        bd_strbuf_fini(&n->durable);
        bd_free(n);
    }
    disk.nodes = NULL;
    for (size_t i = 0; i < disk.pending.len; i++)
        free_change(&disk.pending.items[i]);
    bd_array_free(&disk.pending);
    disk.hooks = (bd_memory_fs_hooks){0};
    disk.is_full = false;
    bd_map_fini(&disk.names);
    bd_map_fini(&disk.durable);
    bd_fs_set(&bd_fs_posix);
}

void bd_memory_fs_fail_after(int64_t n, bool for_good)
{
    disk.fail_after = n;
    disk.fail_for_good = for_good;
    disk.failed = false;
}

// Keeps all of the written content, only the synced content, or a part of the written.
static void cut_content(struct node *n, bd_rng *rng)
{
    uint64_t choice = bd_rng_below(rng, 3);
    if (choice == 1) copy_content(&n->durable, &n->content, n->content.len);
    if (choice == 2) copy_content(&n->durable, &n->content, bd_rng_below(rng, n->content.len + 1));
    copy_content(&n->content, &n->durable, n->durable.len);
}

static bool is_synced(const struct node *n)
{
    return n->content.len == n->durable.len &&
           memcmp(bd_strbuf_str(&n->content), bd_strbuf_str(&n->durable), n->content.len) == 0;
}

// What reached the disk is what programs see from now on, and the changes of others.
static void show_durable(void)
{
    bd_map_clear(&disk.names);
    size_t pos = 0;
    const char *path;
    void *node;
    while (bd_map_next(&disk.durable, &pos, &path, &node))
        bd_map_put(&disk.names, path, node);
    for (size_t i = 0; i < disk.pending.len; i++)
        apply(&disk.names, &disk.pending.items[i]);
}

static void lose_unsynced(bd_rng *rng, int of)
{
    size_t kept = 0;
    for (struct node *n = disk.nodes; n; n = n->next)
        if ((of < 0 || n->writer == of) && !is_synced(n)) cut_content(n, rng);
    for (size_t i = 0; i < disk.pending.len; i++) {
        struct change *c = &disk.pending.items[i];
        if (of >= 0 && c->by != of) {
            disk.pending.items[kept++] = *c;
            continue;
        }
        if (bd_rng_next(rng) & 1) apply(&disk.durable, c);
        free_change(c);
    }
    disk.pending.len = kept;
    show_durable();
}

void bd_memory_fs_power_cut(bd_rng *rng)
{
    lose_unsynced(rng, -1);
    bd_memory_fs_fail_after(-1, false);
}

void bd_memory_fs_lose(bd_rng *rng, int lost)
{
    bd_mutex_lock(&mu);
    lose_unsynced(rng, lost);
    bd_mutex_unlock(&mu);
}

void bd_memory_fs_set_hooks(const bd_memory_fs_hooks *hooks)
{
    disk.hooks = *hooks;
}

void bd_memory_fs_set_full(bool is_full)
{
    bd_mutex_lock(&mu);
    disk.is_full = is_full;
    bd_mutex_unlock(&mu);
}

int bd_memory_fs_file_count(void)
{
    size_t pos = 0;
    void *node;
    int count = 0;
    while (bd_map_next(&disk.names, &pos, NULL, &node))
        count += !((struct node *)node)->is_dir;
    return count;
}
