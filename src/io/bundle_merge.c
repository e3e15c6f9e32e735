// Merging bundles that several tasks wrote into one.
#include "base/alloc.h"
#include "base/array.h"
#include "io/bundle.h"
#include "io/bundle_files.h"
#include <string.h>

struct merge {
    const char *prefix;                     // not owned
    const bd_bundle_merge_options *options; // not owned
    bd_bundle_index index;
    struct {
        char **items; // owned
        size_t len, cap;
    } data_paths;    // by the new number of a shard
    bd_map shard_of; // data path -> its new number + 1
};

static void merge_fini(struct merge *m)
{
    for (size_t i = 0; i < m->data_paths.len; i++)
        bd_free(m->data_paths.items[i]);
    bd_array_free(&m->data_paths);
    bd_map_fini(&m->shard_of);
    bd_bundle_index_fini(&m->index);
}

static braid_code check_cancelled(const struct merge *m, braid_status *st)
{
    if (!m->options->is_cancelled || !m->options->is_cancelled(m->options->arg)) return BRAID_OK;
    return bd_fail(st, BRAID_CANCELLED, "merging checkpoints into %s was cancelled", m->prefix);
}

// ---- Entries ----

static braid_code duplicate(bd_bytes key, const char *prefix, const char *why, braid_status *st)
{
    char *name = bd_bundle_key_print(key);
    bd_fail(st, BRAID_INVALID_ARGUMENT, "Duplicate tensor keyed by %s encountered, when merging prefix: %s%s",
            name, prefix, why);
    bd_free(name);
    return BRAID_INVALID_ARGUMENT;
}

// Joins slices of a tensor that occurs in several bundles.
static braid_code join_slices(bd_bundle_entry *whole, const bd_bundle_entry *e, bd_bytes key,
                              const char *prefix, braid_status *st)
{
    if (whole->slice_count == 0 || e->slice_count == 0) return duplicate(key, prefix, "", st);
    if (whole->dtype != e->dtype || !bd_shape_equal(&whole->shape, &e->shape)) {
        return duplicate(key, prefix, ": its slices differ in type or whole shape", st);
    }
    if (whole->slice_count + e->slice_count > BD_BUNDLE_SLICES_MAX) {
        return duplicate(key, prefix, ": there are too many slices", st);
    }
    for (size_t i = 0; i < e->slice_count; i++)
        bd_bundle_entry_add_slice(whole, &e->slices[i]);
    return BRAID_OK;
}

// The new number of a data file.
static int32_t new_shard(struct merge *m, const char *prefix, int32_t shard, int32_t shard_count)
{
    char *path = bd_bundle_data_path(prefix, shard, shard_count);
    uintptr_t number = (uintptr_t)bd_map_get(&m->shard_of, path);
    if (number > 0) {
        bd_free(path);
        return (int32_t)(number - 1);
    }
    bd_array_push(&m->data_paths, path);
    bd_map_put(&m->shard_of, path, (void *)(uintptr_t)m->data_paths.len); // NOLINT(performance-no-int-to-ptr)
    return (int32_t)(m->data_paths.len - 1);
}

static braid_code take_entry(struct merge *m, bd_bytes key, bd_bytes value, const char *prefix,
                             const char *path, int32_t shard_count, braid_status *st)
{
    bd_bundle_entry e, *old = bd_bundle_index_find(&m->index, key);
    braid_code code = bd_bundle_entry_parse(key, value, path, &e, st);
    if (code) return code;
    if (old) {
        code = join_slices(old, &e, key, prefix, st);
    } else if (e.shard >= shard_count) {
        code = bd_fail(st, BRAID_DATA_LOSS, "%s: an entry is in data file %d of %d", path, (int)e.shard,
                       (int)shard_count);
    } else {
        e.shard = new_shard(m, prefix, e.shard, shard_count);
        *bd_bundle_index_add(&m->index, key) = e;
        return BRAID_OK; // the index has its slices now
    }
    bd_bundle_entry_fini(&e);
    return code;
}

static braid_code take_entries(struct merge *m, const char *prefix, bd_sstable_iter *it, int32_t shard_count,
                               braid_status *st)
{
    char *path = bd_bundle_index_path(prefix);
    braid_code code = bd_sstable_iter_next(it, st); // past the header
    while (!code && bd_sstable_iter_valid(it)) {
        code =
            take_entry(m, bd_sstable_iter_key(it), bd_sstable_iter_value(it), prefix, path, shard_count, st);
        if (!code) code = bd_sstable_iter_next(it, st);
    }
    bd_free(path);
    return code;
}

static braid_code take_bundle(const bd_fs *fs, struct merge *m, const char *prefix, braid_status *st)
{
    bd_sstable *t;
    bd_sstable_iter *it;
    int32_t shard_count;
    braid_code code = check_cancelled(m, st);
    if (!code) code = bd_bundle_index_open(fs, prefix, &t, &it, &shard_count, st);
    if (code) return code;
    code = take_entries(m, prefix, it, shard_count, st);
    bd_sstable_iter_free(it);
    bd_sstable_close(t);
    return code;
}

// ---- Files ----

// All data must be on the disk before any file is renamed.
static braid_code sync_data(const bd_fs *fs, const struct merge *m, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (size_t i = 0; i < m->data_paths.len && !code; i++) {
        code = check_cancelled(m, st);
        if (!code) code = bd_file_sync_path(fs, m->data_paths.items[i], st);
    }
    return code ? code : check_cancelled(m, st);
}

static bool index_info(const bd_fs *fs, const char *prefix, bd_file_info *info)
{
    BD_STATUS(ignored);
    char *path = bd_bundle_index_path(prefix);
    bool there = bd_file_get_info(fs, path, info, ignored) == BRAID_OK;
    bd_free(path);
    return there;
}

// Whether both prefixes lead to the same index, which may be written in different ways.
static bool same_bundle(const bd_fs *fs, const char *a, const char *b)
{
    bd_file_info a_info, b_info;
    return index_info(fs, a, &a_info) && index_info(fs, b, &b_info) && a_info.device == b_info.device &&
           a_info.inode == b_info.inode;
}

// Removes the rest of the old bundles: indexes, data files without an entry, directories. Errors are ignored.
static void clean_up(const bd_fs *fs, const struct merge *m, const char *const *prefixes, size_t count)
{
    char *dir = bd_path_dir(m->prefix);
    for (size_t i = 0; i < count; i++) {
        BD_STATUS(ignored);
        char *old_dir = bd_path_dir(prefixes[i]);
        if (!same_bundle(fs, prefixes[i], m->prefix)) bd_bundle_remove(fs, prefixes[i], ignored);
        if (m->options->remove_dirs && strcmp(old_dir, dir) != 0) bd_dir_remove(fs, old_dir, ignored);
        bd_free(old_dir);
    }
    bd_free(dir);
}

static braid_code commit(const bd_fs *fs, const struct merge *m, braid_status *st)
{
    char *dir = bd_path_dir(m->prefix);
    braid_code code = sync_data(fs, m, st);
    if (!code) code = bd_dir_make(fs, dir, st);
    bd_free(dir);
    if (code) return code;
    return bd_bundle_commit(fs, m->prefix, &m->index, m->data_paths.items, (int32_t)m->data_paths.len, st);
}

braid_code bd_bundle_merge(const bd_fs *fs, const char *const *prefixes, size_t count, const char *prefix,
                           const bd_bundle_merge_options *options, braid_status *st)
{
    struct merge m = {.prefix = prefix, .options = options};
    braid_code code = BRAID_OK;
    if (count == 0) return bd_fail(st, BRAID_INVALID_ARGUMENT, "no checkpoints to merge into %s", prefix);
    size_t missing = 0;
    for (size_t i = 0; i < count && !code; i++) {
        code = take_bundle(fs, &m, prefixes[i], st);
        if (code != BRAID_NOT_FOUND || !options->allow_missing) continue;
        braid_status_clear(st);
        code = BRAID_OK;
        missing++;
    }
    if (missing == count)
        code = bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "At least one prefix checkpoint file must exist, but none of %zu does: %s", count,
                       prefixes[0]);
    if (!code && m.data_paths.len >= BD_BUNDLE_SHARDS_MAX) {
        code = bd_fail(st, BRAID_INVALID_ARGUMENT, "too many data files to merge into %s", prefix);
    }
    if (!code) code = commit(fs, &m, st);
    if (!code) clean_up(fs, &m, prefixes, count);
    merge_fini(&m);
    return code;
}
