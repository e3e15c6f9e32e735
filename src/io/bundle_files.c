// The files of a bundle.
//
// A commit goes so, with everything on the disk before the next step:
//   1. the index is written to a temporary name: a full disk is found before anything is renamed;
//   2. the data files get their names. Their number is not that of the bundle which may be there already, so
//      that no name of that one is touched; where it would be the same, an empty file is added;
//   3. the index gets its name: from here on the new bundle is there, until here the old one was;
//   4. the old data files are removed.
#include "io/bundle_files.h"

#include "base/alloc.h"
#include "io/bundle.h"
#include "proto/pack.h"
#include "tensorflow/core/protobuf/tensor_bundle.pb-c.h"
#include <stdlib.h>
#include <string.h>

// The version of the format that TensorFlow and we write.
#define FORMAT_VERSION 1

char *bd_bundle_index_path(const char *prefix)
{
    return bd_asprintf("%s.index", prefix);
}

char *bd_bundle_data_path(const char *prefix, int32_t shard, int32_t shard_count)
{
    return bd_asprintf("%s.data-%05d-of-%05d", prefix, (int)shard, (int)shard_count);
}

// ---- The header ----

static braid_code check_version(const Tensorflow__VersionDef *v, const char *path, braid_status *st)
{
    if (!v) return BRAID_OK;
    bool bad = false;
    for (size_t i = 0; i < v->n_bad_consumers; i++)
        bad = bad || v->bad_consumers[i] == FORMAT_VERSION;
    if (!bad && v->min_consumer <= FORMAT_VERSION) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "%s was written for readers of checkpoint version %d and above; this one reads version %d",
                   path, (int)v->min_consumer, FORMAT_VERSION);
}

static braid_code check_header(bd_bytes value, const char *path, int32_t *shard_count, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(unpack_st);
    Tensorflow__BundleHeaderProto *header = bd_proto_unpack(&tensorflow__bundle_header_proto__descriptor,
                                                            value.data, value.len, arena, unpack_st);
    if (!header) {
        return bd_fail(st, BRAID_DATA_LOSS, "%s: its header is damaged: %s", path,
                       braid_status_message(unpack_st));
    }
    if (header->endianness != TENSORFLOW__BUNDLE_HEADER_PROTO__ENDIANNESS__LITTLE) {
        return bd_fail(st, BRAID_UNIMPLEMENTED, "%s was written on a machine with the other byte order",
                       path);
    }
    if (header->num_shards < 0 || header->num_shards > BD_BUNDLE_SHARDS_MAX) {
        return bd_fail(st, BRAID_DATA_LOSS, "%s: its header gives %d data files", path,
                       (int)header->num_shards);
    }
    *shard_count = header->num_shards;
    return check_version(header->version, path, st);
}

static braid_code open_table(const bd_fs *fs, const char *prefix, const char *path, bd_sstable **t,
                             braid_status *st)
{
    braid_code code = bd_sstable_open(fs, path, t, st);
    if (code != BRAID_NOT_FOUND) return code;
    return bd_fail(st, BRAID_NOT_FOUND, "Failed to find any matching files for %s: there is no %s", prefix,
                   path);
}

static braid_code seek_header(bd_sstable_iter *it, const char *path, int32_t *shard_count, braid_status *st)
{
    braid_code code = bd_sstable_iter_seek(it, (bd_bytes){0}, st);
    if (code) return code;
    if (!bd_sstable_iter_valid(it) || bd_sstable_iter_key(it).len > 0) {
        return bd_fail(st, BRAID_DATA_LOSS, "%s has no header: it is not the index of a checkpoint", path);
    }
    return check_header(bd_sstable_iter_value(it), path, shard_count, st);
}

braid_code bd_bundle_index_open(const bd_fs *fs, const char *prefix, bd_sstable **t, bd_sstable_iter **it,
                                int32_t *shard_count, braid_status *st)
{
    char *path = bd_bundle_index_path(prefix);
    *it = NULL;
    braid_code code = open_table(fs, prefix, path, t, st);
    if (!code) {
        *it = bd_sstable_iter_new(*t);
        code = seek_header(*it, path, shard_count, st);
    }
    if (code) {
        bd_sstable_iter_free(*it);
        bd_sstable_close(*t);
        *it = NULL;
        *t = NULL;
    }
    bd_free(path);
    return code;
}

bool bd_bundle_exists(const bd_fs *fs, const char *prefix)
{
    char *path = bd_bundle_index_path(prefix);
    bool there = bd_file_exists(fs, path);
    bd_free(path);
    return there;
}

// The number of data files of a bundle; 0 without a readable bundle.
static int32_t count_shards(const bd_fs *fs, const char *prefix, braid_status *st)
{
    bd_sstable *t;
    bd_sstable_iter *it;
    int32_t count = 0;
    if (bd_bundle_index_open(fs, prefix, &t, &it, &count, st)) return 0;
    bd_sstable_iter_free(it);
    bd_sstable_close(t);
    return count;
}

static void remove_data(const bd_fs *fs, const char *prefix, int32_t shard_count)
{
    for (int32_t i = 0; i < shard_count; i++) {
        BD_STATUS(ignored);
        char *path = bd_bundle_data_path(prefix, i, shard_count);
        bd_file_remove(fs, path, ignored);
        bd_free(path);
    }
}

braid_code bd_bundle_remove(const bd_fs *fs, const char *prefix, braid_status *st)
{
    BD_STATUS(ignored);
    int32_t shard_count = count_shards(fs, prefix, ignored);
    char *path = bd_bundle_index_path(prefix);
    char *dir = bd_path_dir(prefix);
    braid_code code = bd_file_remove(fs, path, st);
    if (!code) code = bd_dir_sync(fs, dir, st); // else a crash could leave an index without its data
    if (!code) remove_data(fs, prefix, shard_count);
    bd_free(dir);
    bd_free(path);
    return code;
}

// ---- Writing an index ----

static bd_bytes pack_header(int32_t shard_count, bd_arena *arena)
{
    Tensorflow__VersionDef version = TENSORFLOW__VERSION_DEF__INIT;
    Tensorflow__BundleHeaderProto header = TENSORFLOW__BUNDLE_HEADER_PROTO__INIT;
    version.producer = FORMAT_VERSION;
    header.num_shards = shard_count;
    header.version = &version;
    size_t len = tensorflow__bundle_header_proto__get_packed_size(&header);
    uint8_t *bytes = bd_arena_alloc(arena, len);
    tensorflow__bundle_header_proto__pack(&header, bytes);
    return (bd_bytes){bytes, len};
}

static bd_bytes key_of(const bd_map_entry *node)
{
    return (bd_bytes){(const uint8_t *)node->key, node->key_len};
}

static int compare_nodes(const void *a, const void *b)
{
    return bd_bytes_compare(key_of(*(const bd_map_entry *const *)a), key_of(*(const bd_map_entry *const *)b));
}

// The entries in the order of keys; an array of bd_map_count (bd_free).
static const bd_map_entry **sort_nodes(const bd_map *nodes)
{
    const bd_map_entry **sorted = bd_malloc(bd_map_count(nodes) * sizeof *sorted);
    size_t count = 0;
    for (size_t i = 0; i < nodes->entry_len; i++)
        if (nodes->entries[i].key) sorted[count++] = &nodes->entries[i];
    if (count > 0) qsort(sorted, count, sizeof *sorted, compare_nodes);
    return sorted;
}

static braid_code put_entries(bd_sstable_writer *w, const bd_bundle_index *index, int32_t shard_count,
                              bd_arena *arena, braid_status *st)
{
    const bd_map_entry **sorted = sort_nodes(&index->nodes);
    braid_code code = bd_sstable_put(w, (bd_bytes){0}, pack_header(shard_count, arena), st);
    for (size_t i = 0; i < bd_map_count(&index->nodes) && !code; i++) {
        code = bd_sstable_put(w, key_of(sorted[i]), bd_bundle_entry_pack(sorted[i]->value, arena), st);
        bd_arena_reset(arena);
    }
    bd_free(sorted);
    return code ? code : bd_sstable_finish(w, st);
}

static braid_code write_index(const bd_fs *fs, const char *path, const bd_bundle_index *index,
                              int32_t shard_count, braid_status *st)
{
    bd_output *out;
    bd_arena arena;
    braid_code code = bd_output_open(fs, path, BD_FILE_CREATE_NEW, BD_COMPRESSION_NONE, &out, st);
    if (code) return code;
    bd_arena_init(&arena);
    bd_sstable_writer *w = bd_sstable_writer_new(out, NULL);
    code = put_entries(w, index, shard_count, &arena, st);
    bd_sstable_writer_free(w);
    bd_arena_fini(&arena);
    if (!code) return bd_output_close_synced(out, st);
    bd_output_abandon(out);
    return code;
}

// ---- Commit ----

static braid_code make_empty(const bd_fs *fs, const char *path, braid_status *st)
{
    bd_output *out;
    braid_code code = bd_output_open(fs, path, BD_FILE_CREATE, BD_COMPRESSION_NONE, &out, st);
    return code ? code : bd_output_close_synced(out, st);
}

// Step 2.
static braid_code name_data(const bd_fs *fs, const char *prefix, char *const *data_paths, int32_t data_count,
                            int32_t shard_count, const char *dir, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int32_t i = 0; i < shard_count && !code; i++) {
        char *path = bd_bundle_data_path(prefix, i, shard_count);
        code = i < data_count ? bd_file_rename(fs, data_paths[i], path, st) : make_empty(fs, path, st);
        bd_free(path);
    }
    return code ? code : bd_dir_sync(fs, dir, st);
}

// Steps 1 to 3.
static braid_code place(const bd_fs *fs, const char *prefix, const bd_bundle_index *index,
                        char *const *data_paths, int32_t data_count, int32_t shard_count, braid_status *st)
{
    BD_STATUS(ignored);
    char *path = bd_bundle_index_path(prefix), *temp = bd_path_temp(path), *dir = bd_path_dir(path);
    braid_code code = write_index(fs, temp, index, shard_count, st);
    if (!code) code = name_data(fs, prefix, data_paths, data_count, shard_count, dir, st);
    if (!code) code = bd_file_rename(fs, temp, path, st);
    if (code) {
        bd_file_remove(fs, temp, ignored);
    } else {
        code = bd_dir_sync(fs, dir, st);
    }
    bd_free(path);
    bd_free(temp);
    bd_free(dir);
    return code;
}

braid_code bd_bundle_commit(const bd_fs *fs, const char *prefix, const bd_bundle_index *index,
                            char *const *data_paths, int32_t data_count, braid_status *st)
{
    BD_STATUS(ignored);
    int32_t old_count = count_shards(fs, prefix, ignored), shard_count = data_count > 0 ? data_count : 1;
    if (shard_count == old_count) shard_count++;
    if (shard_count > BD_BUNDLE_SHARDS_MAX) {
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "a checkpoint of %d data files: %s", (int)shard_count,
                       prefix);
    }
    braid_code code = place(fs, prefix, index, data_paths, data_count, shard_count, st);
    if (!code && old_count > 0) remove_data(fs, prefix, old_count);
    return code;
}
