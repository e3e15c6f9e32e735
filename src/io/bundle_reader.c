// Reading a bundle: looking entries up, and reading tensors of them.
#include "io/bundle.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "io/bundle_reader.h"
#include <string.h>

struct bd_bundle {
    const bd_fs *fs;           // not owned
    char *prefix, *index_path; // owned
    int32_t shard_count;
    const bd_team *team; // not owned; NULL
    bd_mutex mu;
    bd_sstable *table;       // guarded by mu
    bd_sstable_iter *it;     // guarded by mu
    bd_bundle_shard *shards; // [shard_count]; a file, once open, stays: guarded by mu until then
};

braid_code bd_bundle_open(const bd_fs *fs, const char *prefix, bd_bundle **b, braid_status *st)
{
    bd_sstable *t;
    bd_sstable_iter *it;
    int32_t shard_count;
    *b = NULL;
    braid_code code = bd_bundle_index_open(fs, prefix, &t, &it, &shard_count, st);
    if (code) return code;
    *b = bd_calloc(1, sizeof **b);
    (*b)->fs = fs;
    (*b)->prefix = bd_strdup(prefix);
    (*b)->index_path = bd_bundle_index_path(prefix);
    (*b)->shard_count = shard_count;
    (*b)->table = t;
    (*b)->it = it;
    (*b)->shards = bd_calloc((size_t)shard_count, sizeof *(*b)->shards);
    bd_mutex_init(&(*b)->mu);
    return BRAID_OK;
}

void bd_bundle_set_team(bd_bundle *b, const bd_team *team)
{
    b->team = team;
}

void bd_bundle_close(bd_bundle *b)
{
    if (!b) return;
    for (int32_t i = 0; i < b->shard_count; i++) {
        BD_STATUS(ignored); // it was only read
        bd_file_close(b->shards[i].file, ignored);
    }
    bd_sstable_iter_free(b->it);
    bd_sstable_close(b->table);
    bd_mutex_fini(&b->mu);
    bd_free(b->shards);
    bd_free(b->prefix);
    bd_free(b->index_path);
    bd_free(b);
}

// ---- Entries ----

static braid_code find_locked(bd_bundle *b, bd_bytes key, bd_bundle_entry *e, braid_status *st)
{
    braid_code code = bd_sstable_iter_seek(b->it, key, st);
    if (code) return code;
    if (bd_sstable_iter_valid(b->it) && bd_bytes_compare(bd_sstable_iter_key(b->it), key) == 0) {
        return bd_bundle_entry_parse(key, bd_sstable_iter_value(b->it), b->index_path, e, st);
    }
    char *name = bd_bundle_key_print(key);
    bd_fail(st, BRAID_NOT_FOUND, "Key %s not found in checkpoint %s", name, b->prefix);
    bd_free(name);
    return BRAID_NOT_FOUND;
}

braid_code bd_bundle_find_entry(bd_bundle *b, bd_bytes key, bd_bundle_entry *e, braid_status *st)
{
    *e = (bd_bundle_entry){0};
    bd_mutex_lock(&b->mu);
    braid_code code = find_locked(b, key, e, st);
    bd_mutex_unlock(&b->mu);
    return code;
}

bd_bytes bd_bundle_name_key(const char *name)
{
    return (bd_bytes){(const uint8_t *)name, strlen(name)};
}

static bd_bundle_info info_of(const char *name, const bd_bundle_entry *e)
{
    return (bd_bundle_info){
        .name = name, .dtype = e->dtype, .shape = e->shape, .slice_count = e->slice_count};
}

braid_code bd_bundle_find(bd_bundle *b, const char *name, bd_bundle_info *info, braid_status *st)
{
    bd_bundle_entry e;
    if (!*name) return bd_fail(st, BRAID_INVALID_ARGUMENT, "no tensor of %s has an empty name", b->prefix);
    braid_code code = bd_bundle_find_entry(b, bd_bundle_name_key(name), &e, st);
    *info = info_of(name, &e);
    bd_bundle_entry_fini(&e);
    return code;
}

// The next entry of a whole tensor from the position on; NULL in *name at the end. The caller frees both.
static braid_code next_tensor_locked(bd_bundle *b, char **name, bd_bundle_entry *e, braid_status *st)
{
    bd_tensor_slice slice;
    bd_strbuf sliced = {0};
    braid_code code = BRAID_OK;
    *name = NULL;
    while (!code && bd_sstable_iter_valid(b->it)) {
        bd_bytes key = bd_sstable_iter_key(b->it);
        bd_strbuf_clear(&sliced);
        if (key.len > 0 && !bd_tensor_slice_key_parse(key.data, key.len, &sliced, &slice)) break;
        code = bd_sstable_iter_next(b->it, st);
    }
    if (!code && bd_sstable_iter_valid(b->it)) {
        bd_bytes key = bd_sstable_iter_key(b->it);
        if (memchr(key.data, 0, key.len)) {
            code = bd_fail(st, BRAID_DATA_LOSS, "%s: a key is neither a name nor that of a slice",
                           b->index_path);
        } else {
            code = bd_bundle_entry_parse(key, bd_sstable_iter_value(b->it), b->index_path, e, st);
        }
        if (!code) *name = bd_strndup((const char *)key.data, key.len);
    }
    bd_strbuf_fini(&sliced);
    return code;
}

// Moves after `after` (NULL: to the start) and finds the next tensor.
static braid_code find_next(bd_bundle *b, const char *after, char **name, bd_bundle_entry *e,
                            braid_status *st)
{
    *name = NULL;
    *e = (bd_bundle_entry){0};
    bd_bytes key = after ? bd_bundle_name_key(after) : (bd_bytes){0};
    bd_mutex_lock(&b->mu);
    braid_code code = bd_sstable_iter_seek(b->it, key, st);
    if (!code && after && bd_sstable_iter_valid(b->it) &&
        bd_bytes_compare(bd_sstable_iter_key(b->it), key) == 0) {
        code = bd_sstable_iter_next(b->it, st);
    }
    if (!code) code = next_tensor_locked(b, name, e, st);
    bd_mutex_unlock(&b->mu);
    return code;
}

braid_code bd_bundle_list(bd_bundle *b, void (*fn)(const bd_bundle_info *info, void *arg), void *arg,
                          braid_status *st)
{
    char *name = NULL, *next;
    bd_bundle_entry e;
    braid_code code;
    while (!(code = find_next(b, name, &next, &e, st)) && next) { // fn may use the bundle
        bd_bundle_info info = info_of(next, &e);
        fn(&info, arg);
        bd_bundle_entry_fini(&e);
        bd_free(name);
        name = next;
    }
    bd_free(name);
    return code;
}

// ---- Data files ----

static braid_code open_shard_locked(bd_bundle *b, int32_t number, braid_status *st)
{
    bd_bundle_shard *shard = &b->shards[number];
    if (shard->file) return BRAID_OK;
    shard->team = b->team;
    char *path = bd_bundle_data_path(b->prefix, number, b->shard_count);
    braid_code code = bd_file_size(b->fs, path, &shard->size, st);
    if (!code) code = bd_file_open(b->fs, path, BD_FILE_READ, &shard->file, st);
    bd_free(path);
    return code;
}

braid_code bd_bundle_get_shard(bd_bundle *b, bd_bytes key, const bd_bundle_entry *e,
                               const bd_bundle_shard **shard, braid_status *st)
{
    if (e->shard >= b->shard_count) {
        char *name = bd_bundle_key_print(key);
        bd_fail(st, BRAID_DATA_LOSS, "%s: key %s is in data file %d of %d", b->index_path, name,
                (int)e->shard, (int)b->shard_count);
        bd_free(name);
        return BRAID_DATA_LOSS;
    }
    bd_mutex_lock(&b->mu);
    braid_code code = open_shard_locked(b, e->shard, st);
    bd_mutex_unlock(&b->mu);
    *shard = &b->shards[e->shard];
    return code;
}

// ---- Tensors ----

braid_code bd_bundle_read_entry(bd_bundle *b, bd_bytes key, const bd_bundle_entry *e, braid_tensor *t,
                                braid_status *st)
{
    const bd_bundle_shard *shard;
    *t = (braid_tensor){0};
    if (!bd_bundle_type_ok(e->dtype)) {
        char *name = bd_bundle_key_print(key);
        bd_fail(st, BRAID_UNIMPLEMENTED, "key %s of %s is of type %s, which cannot be read", name, b->prefix,
                braid_dtype_name(e->dtype));
        bd_free(name);
        return BRAID_UNIMPLEMENTED;
    }
    braid_code code = bd_bundle_get_shard(b, key, e, &shard, st);
    return code ? code : bd_bundle_data_read(shard, key, e, t, st);
}

braid_code bd_bundle_read(bd_bundle *b, const char *name, braid_tensor *t, braid_status *st)
{
    bd_bundle_info info;
    *t = (braid_tensor){0};
    braid_code code = bd_bundle_find(b, name, &info, st);
    if (code) return code;
    bd_tensor_slice all = bd_tensor_slice_all(info.shape.rank);
    return bd_bundle_read_slice(b, name, &all, t, st);
}
