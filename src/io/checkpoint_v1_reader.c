// Reads V1 checkpoints.
#include "io/checkpoint_v1.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/map.h"
#include "base/wire.h"
#include "io/checkpoint_v1_meta.h"
#include "io/checkpoint_v1_wire.h"
#include "io/glob.h"
#include "io/slice_copy.h"
#include "io/sstable.h"
#include "io/varint.h"
#include "tensor/tensor_form.h"
#include "tensor/tensor_proto.h"

#include <string.h>

typedef struct shard {
    char *path; // owned
    bd_sstable *table;
} shard;

struct bd_checkpoint_v1 {
    BD_ARRAY(shard) shards;
    bd_map tensors; // name -> bd_stored_tensor, owned
};

static braid_code damaged(const char *path, const char *what, braid_status *st)
{
    return bd_fail(st, BRAID_DATA_LOSS, "%s: %s", path, what);
}

// ---- Opening ----

// Makes `sub` the reader of field `want` of a message.
static bool find_field(bd_wire_reader *in, uint32_t want, bd_wire_reader *sub)
{
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(in, &field, &type)) {
        if (type == BD_WIRE_BYTES && field == want) return bd_wire_get_sub(in, sub);
        bd_wire_skip(in, type);
    }
    return false;
}

static braid_code read_shard(bd_checkpoint_v1 *f, size_t file, braid_status *st)
{
    const shard *s = &f->shards.items[file];
    bd_sstable_iter *it = bd_sstable_iter_new(s->table);
    braid_code code = bd_sstable_iter_seek(it, (bd_bytes){0}, st);
    if (!code && (!bd_sstable_iter_valid(it) || bd_sstable_iter_key(it).len > 0))
        code = damaged(s->path, "it has no metadata, so it is not a V1 checkpoint", st);
    if (!code) {
        bd_slice slice;
        bd_bytes value = bd_sstable_iter_value(it);
        bd_wire_reader in = bd_wire_reader_block(&slice, value.data, value.len), meta;
        if (!find_field(&in, SLICES_META, &meta) || !bd_checkpoint_v1_meta_read(&meta, file, &f->tensors))
            code = damaged(s->path, "its metadata are damaged, or it is not a V1 checkpoint", st);
    }
    bd_sstable_iter_free(it);
    return code;
}

static braid_code open_shard(const bd_fs *fs, bd_checkpoint_v1 *f, const char *path, braid_status *st)
{
    shard s = {0};
    braid_code code = bd_sstable_open(fs, path, &s.table, st);
    if (code == BRAID_DATA_LOSS) {
        bd_status_prefix(st, "Unable to open table file %s: ", path);
        return bd_status_suffix(
            st, ": perhaps your file is in a different file format and you need to use a different "
                "restore operator?");
    }
    if (code) return code;
    s.path = bd_strdup(path);
    bd_array_push(&f->shards, s);
    return read_shard(f, f->shards.len - 1, st);
}

braid_code bd_checkpoint_v1_files(const bd_fs *fs, const char *pattern, bd_name_list *files, braid_status *st)
{
    const braid_code code = bd_glob(fs, pattern, files, st);
    if (code && code != BRAID_NOT_FOUND) return code;
    if (!code && files->len > 0) return BRAID_OK;
    braid_status_clear(st);
    bd_name_list_fini(files);
    return bd_fail(st, BRAID_NOT_FOUND, "Failed to find any matching files for %s", pattern);
}

braid_code bd_checkpoint_v1_open(const bd_fs *fs, const char *pattern, bd_checkpoint_v1 **f, braid_status *st)
{
    bd_name_list paths;
    *f = NULL;
    braid_code code = bd_checkpoint_v1_files(fs, pattern, &paths, st);
    if (code) return code;
    bd_checkpoint_v1 *made = bd_calloc(1, sizeof *made);
    bd_map_init(&made->tensors);
    for (size_t i = 0; i < paths.len && !code; i++)
        code = open_shard(fs, made, paths.items[i], st);
    bd_name_list_fini(&paths);
    if (code)
        bd_checkpoint_v1_close(made);
    else
        *f = made;
    return code;
}

void bd_checkpoint_v1_close(bd_checkpoint_v1 *f)
{
    size_t pos = 0;
    const char *name;
    void *tensor;
    if (!f) return;
    while (bd_map_next(&f->tensors, &pos, &name, &tensor))
        bd_stored_tensor_free(tensor);
    bd_map_fini(&f->tensors);
    for (size_t i = 0; i < f->shards.len; i++) {
        bd_sstable_close(f->shards.items[i].table);
        bd_free(f->shards.items[i].path);
    }
    bd_array_free(&f->shards);
    bd_free(f);
}

bool bd_checkpoint_v1_find(const bd_checkpoint_v1 *f, const char *name, braid_dtype *dtype,
                           braid_shape *shape)
{
    const bd_stored_tensor *t = bd_map_get(&f->tensors, name);
    if (!t) return false;
    *dtype = t->dtype;
    *shape = t->shape;
    return true;
}

bool bd_checkpoint_v1_next(const bd_checkpoint_v1 *f, size_t *pos, const char **name, braid_dtype *dtype,
                           braid_shape *shape)
{
    void *tensor;
    if (!bd_map_next(&f->tensors, pos, name, &tensor)) return false;
    *dtype = ((const bd_stored_tensor *)tensor)->dtype;
    *shape = ((const bd_stored_tensor *)tensor)->shape;
    return true;
}

// ---- Reading ----

// A request to read a slice.
typedef struct request {
    bd_checkpoint_v1 *f;
    const char *name;
    const bd_stored_tensor *stored;
    bd_tensor_slice wanted; // resolved
    braid_tensor *t;
} request;

static void put_field(uint8_t *bytes, size_t *len, uint32_t field, bd_wire_type type, uint64_t value)
{
    *len += bd_put_varint(bytes + *len, field << 3 | type);
    *len += bd_put_varint(bytes + *len, value);
}

// The message of the values has neither type nor shape; with these prepended it is a TensorProto.
static braid_code read_values(bd_wire_reader *data, braid_dtype dtype, const braid_shape *shape,
                              braid_tensor *t, braid_status *st)
{
    uint8_t head[(BRAID_RANK_MAX + 2) * 2 * BD_VARINT_BYTES_MAX + 16],
        dims[BRAID_RANK_MAX * (BD_VARINT_BYTES_MAX + 4)];
    size_t head_len = 0, dims_len = 0;
    for (int d = 0; d < shape->rank; d++) {
        uint8_t dim[2 * BD_VARINT_BYTES_MAX];
        size_t len = 0;
        put_field(dim, &len, DIM_SIZE, BD_WIRE_VARINT, (uint64_t)shape->dims[d]);
        put_field(dims, &dims_len, SHAPE_DIM, BD_WIRE_BYTES, len);
        memcpy(dims + dims_len, dim, len);
        dims_len += len;
    }
    put_field(head, &head_len, TENSOR_DTYPE, BD_WIRE_VARINT, (uint64_t)dtype);
    put_field(head, &head_len, TENSOR_SHAPE, BD_WIRE_BYTES, dims_len);
    memcpy(head + head_len, dims, dims_len);
    bd_message message;
    bd_message_init(&message);
    bd_message_add(&message, (bd_slice){.data = head, .len = head_len + dims_len});
    const uint8_t *piece;
    size_t len;
    while (bd_wire_get_piece(data, &piece, &len))
        bd_message_add(&message, (bd_slice){.data = piece, .len = len});
    bd_wire_reader in = bd_wire_reader_of(&message);
    braid_code code = bd_tensor_proto_read(&in, t, st);
    bd_message_fini(&message);
    return code;
}

// Reads a stored slice, all of it.
static braid_code read_stored(const request *r, const bd_stored_slice *s, const braid_shape *shape,
                              braid_tensor *t, braid_status *st)
{
    const shard *file = &r->f->shards.items[s->file];
    bd_strbuf key = {0};
    bd_tensor_slice_key(r->name, strlen(r->name), &s->slice, &key);
    bd_bytes want = {(const uint8_t *)key.data, key.len};
    bd_sstable_iter *it = bd_sstable_iter_new(file->table);
    braid_code code = bd_sstable_iter_seek(it, want, st);
    if (!code && (!bd_sstable_iter_valid(it) || bd_bytes_compare(bd_sstable_iter_key(it), want) != 0))
        code = bd_fail(st, BRAID_DATA_LOSS, "%s lacks a slice of tensor %s that its metadata list",
                       file->path, r->name);
    if (!code) {
        bd_slice slice;
        bd_bytes value = bd_sstable_iter_value(it);
        bd_wire_reader in = bd_wire_reader_block(&slice, value.data, value.len), saved, data;
        bool found = find_field(&in, SLICES_DATA, &saved) && find_field(&saved, SAVED_DATA, &data);
        code = found ? read_values(&data, r->stored->dtype, shape, t, st)
                     : bd_fail(st, BRAID_DATA_LOSS, "a slice of tensor %s is damaged", r->name);
        if (!code && (t->dtype != r->stored->dtype || !bd_shape_equal(&t->shape, shape))) {
            bd_tensor_fini(t);
            code = bd_fail(st, BRAID_DATA_LOSS,
                           "a slice of tensor %s has another type or shape than it should", r->name);
        }
        if (code) bd_status_prefix(st, "%s: ", file->path);
    }
    bd_sstable_iter_free(it);
    bd_strbuf_fini(&key);
    return code;
}

// Copies the requested elements of a stored slice. *covered counts them.
static braid_code read_part(const request *r, size_t i, int64_t *covered, braid_status *st)
{
    const bd_stored_slice *s = &r->stored->slices.items[i];
    bd_tensor_slice resolved, common;
    braid_tensor part = {0};
    braid_code code = bd_tensor_slice_resolve(&s->slice, &r->stored->shape, &resolved, st);
    if (code || !bd_tensor_slice_intersect(&resolved, &r->wanted, &common)) return code;
    for (size_t k = 0; k < i; k++) {
        bd_tensor_slice other, twice;
        code = bd_tensor_slice_resolve(&r->stored->slices.items[k].slice, &r->stored->shape, &other, st);
        if (code) return code;
        if (bd_tensor_slice_intersect(&other, &common, &twice))
            return bd_fail(st, BRAID_DATA_LOSS, "%s: slices of tensor %s overlap",
                           r->f->shards.items[s->file].path, r->name);
    }
    braid_shape shape = bd_tensor_slice_shape(&resolved);
    code = read_stored(r, s, &shape, &part, st);
    if (code) return code;
    bd_slice_copy(&common, &part, &resolved, r->t, &r->wanted);
    bd_tensor_fini(&part);
    *covered += bd_tensor_slice_count(&common);
    return BRAID_OK;
}

static braid_code read_scalar(const request *r, braid_status *st)
{
    if (r->stored->slices.len == 0)
        return bd_fail(st, BRAID_DATA_LOSS, "the checkpoint has no value of tensor %s", r->name);
    return read_stored(r, &r->stored->slices.items[0], &r->stored->shape, r->t, st);
}

static braid_code read_parts(const request *r, braid_status *st)
{
    braid_shape shape = bd_tensor_slice_shape(&r->wanted);
    int64_t covered = 0;
    braid_code code = bd_tensor_init(r->t, r->stored->dtype, &shape, st);
    for (size_t i = 0; i < r->stored->slices.len && !code; i++)
        code = read_part(r, i, &covered, st);
    if (!code && covered != bd_tensor_slice_count(&r->wanted)) {
        bd_strbuf text = {0};
        bd_tensor_slice_print(&r->wanted, &text);
        code =
            bd_fail(st, BRAID_INVALID_ARGUMENT,
                    "Does not have sufficient slices for partitioned tensor %s to restore in slice_spec: %s",
                    r->name, bd_strbuf_str(&text));
        bd_strbuf_fini(&text);
    }
    if (code) bd_tensor_fini(r->t);
    return code;
}

braid_code bd_checkpoint_v1_read(bd_checkpoint_v1 *f, const char *name, const bd_tensor_slice *slice,
                                 braid_tensor *t, braid_status *st)
{
    request r = {.f = f, .name = name, .stored = bd_map_get(&f->tensors, name), .t = t};
    *t = (braid_tensor){0};
    if (!r.stored) return bd_fail(st, BRAID_NOT_FOUND, "Key %s not found in checkpoint", name);
    bd_tensor_slice all = bd_tensor_slice_all(r.stored->shape.rank);
    braid_code code = bd_tensor_slice_resolve(slice ? slice : &all, &r.stored->shape, &r.wanted, st);
    if (code) return bd_status_prefix(st, "tensor %s: ", name);
    return r.wanted.rank == 0 ? read_scalar(&r, st) : read_parts(&r, st);
}
