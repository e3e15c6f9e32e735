// Entries of a bundle's index.
#include "io/bundle_entry.h"

#include "base/alloc.h"
#include "base/check.h"
#include "proto/pack.h"
#include "tensorflow/core/protobuf/tensor_bundle.pb-c.h"
#include <string.h>

void bd_bundle_entry_fini(bd_bundle_entry *e)
{
    bd_free(e->slices);
    *e = (bd_bundle_entry){0};
}

void bd_bundle_entry_add_slice(bd_bundle_entry *e, const bd_tensor_slice *s)
{
    if (e->slice_count == e->slice_cap) {
        e->slice_cap = e->slice_cap ? 2 * e->slice_cap : 4;
        e->slices = bd_realloc(e->slices, e->slice_cap * sizeof *e->slices);
    }
    e->slices[e->slice_count++] = *s;
}

char *bd_bundle_key_print(bd_bytes key)
{
    bd_strbuf out = {0};
    bd_tensor_slice s;
    if (bd_tensor_slice_key_parse(key.data, key.len, &out, &s)) {
        bd_strbuf_append(&out, " slice ");
        bd_tensor_slice_print(&s, &out);
    } else {
        bd_strbuf_clear(&out);
        bd_strbuf_append_n(&out, key.data, key.len);
    }
    return bd_strbuf_take(&out);
}

// ---- Packing ----

static Tensorflow__TensorShapeProto *pack_shape(const braid_shape *shape, bd_arena *arena)
{
    Tensorflow__TensorShapeProto *proto = BD_ARENA_NEW(arena, Tensorflow__TensorShapeProto);
    tensorflow__tensor_shape_proto__init(proto);
    proto->n_dim = (size_t)shape->rank;
    proto->dim = BD_ARENA_ARRAY(arena, Tensorflow__TensorShapeProto__Dim *, proto->n_dim);
    for (size_t d = 0; d < proto->n_dim; d++) {
        proto->dim[d] = BD_ARENA_NEW(arena, Tensorflow__TensorShapeProto__Dim);
        tensorflow__tensor_shape_proto__dim__init(proto->dim[d]);
        proto->dim[d]->size = shape->dims[d];
    }
    return proto;
}

static Tensorflow__TensorSliceProto *pack_slice(const bd_tensor_slice *s, bd_arena *arena)
{
    Tensorflow__TensorSliceProto *proto = BD_ARENA_NEW(arena, Tensorflow__TensorSliceProto);
    tensorflow__tensor_slice_proto__init(proto);
    proto->n_extent = (size_t)s->rank;
    proto->extent = BD_ARENA_ARRAY(arena, Tensorflow__TensorSliceProto__Extent *, proto->n_extent);
    for (size_t d = 0; d < proto->n_extent; d++) {
        Tensorflow__TensorSliceProto__Extent *e = BD_ARENA_NEW(arena, Tensorflow__TensorSliceProto__Extent);
        tensorflow__tensor_slice_proto__extent__init(e);
        proto->extent[d] = e;
        if (s->length[d] == BD_EXTENT_ALL) continue; // neither start nor length is given
        e->start = s->start[d];
        e->has_length_case = TENSORFLOW__TENSOR_SLICE_PROTO__EXTENT__HAS_LENGTH_LENGTH;
        e->length = s->length[d];
    }
    return proto;
}

bd_bytes bd_bundle_entry_pack(const bd_bundle_entry *e, bd_arena *arena)
{
    Tensorflow__BundleEntryProto proto = TENSORFLOW__BUNDLE_ENTRY_PROTO__INIT;
    proto.dtype = (Tensorflow__DataType)e->dtype;
    proto.shape = pack_shape(&e->shape, arena);
    proto.shard_id = e->shard;
    proto.offset = e->offset;
    proto.size = e->size;
    proto.crc32c = e->crc;
    proto.n_slices = e->slice_count;
    proto.slices = BD_ARENA_ARRAY(arena, Tensorflow__TensorSliceProto *, e->slice_count);
    for (size_t i = 0; i < e->slice_count; i++)
        proto.slices[i] = pack_slice(&e->slices[i], arena);
    size_t len = tensorflow__bundle_entry_proto__get_packed_size(&proto);
    uint8_t *bytes = bd_arena_alloc(arena, len);
    tensorflow__bundle_entry_proto__pack(&proto, bytes);
    return (bd_bytes){bytes, len};
}

// ---- Parsing; what is wrong is a constant text ----

static const char *parse_shape(const Tensorflow__TensorShapeProto *proto, braid_shape *shape)
{
    *shape = (braid_shape){.rank = 0};
    if (!proto) return NULL; // a scalar
    if (proto->unknown_rank) return "its shape is unknown";
    if (proto->n_dim > BRAID_RANK_MAX) return "it has more than 12 dimensions";
    shape->rank = (int)proto->n_dim;
    int64_t count = 1;
    for (int d = 0; d < shape->rank; d++) {
        shape->dims[d] = proto->dim[d]->size;
        if (shape->dims[d] < 0) return "a dimension is negative";
        if (__builtin_mul_overflow(count, shape->dims[d], &count)) return "its shape is too large";
    }
    return NULL;
}

static const char *parse_slice(const Tensorflow__TensorSliceProto *proto, const braid_shape *full,
                               bd_tensor_slice *s)
{
    BD_STATUS(ignored);
    bd_tensor_slice resolved;
    if (proto->n_extent != (size_t)full->rank) return "a slice has another number of dimensions";
    *s = bd_tensor_slice_all(full->rank);
    for (int d = 0; d < s->rank; d++) {
        const Tensorflow__TensorSliceProto__Extent *e = proto->extent[d];
        s->start[d] = e->start;
        if (e->has_length_case != TENSORFLOW__TENSOR_SLICE_PROTO__EXTENT__HAS_LENGTH_LENGTH) continue;
        s->length[d] = e->length;
        if (e->length == BD_EXTENT_ALL && e->start == 0) continue;
        if (e->length <= 0) return "a slice is empty";
    }
    if (bd_tensor_slice_is_all(s)) return "a slice is the whole tensor";
    return bd_tensor_slice_resolve(s, full, &resolved, ignored) ? "a slice is not in its shape" : NULL;
}

static const char *parse_fields(const Tensorflow__BundleEntryProto *proto, bd_bundle_entry *e)
{
    if (!bd_dtype_is_valid((int)proto->dtype) || bd_dtype_is_ref((braid_dtype)proto->dtype)) {
        return "its type is unknown";
    }
    e->dtype = (braid_dtype)proto->dtype;
    e->shard = proto->shard_id;
    e->offset = proto->offset;
    e->size = proto->size;
    e->crc = proto->crc32c;
    if (e->shard < 0 || e->offset < 0 || e->size < 0) return "shard, offset or size is negative";
    if (proto->n_slices > BD_BUNDLE_SLICES_MAX) return "it has too many slices";
    const char *wrong = parse_shape(proto->shape, &e->shape);
    for (size_t i = 0; i < proto->n_slices && !wrong; i++) {
        bd_tensor_slice s;
        wrong = parse_slice(proto->slices[i], &e->shape, &s);
        if (!wrong) bd_bundle_entry_add_slice(e, &s);
    }
    return wrong;
}

static braid_code bad_entry(bd_bytes key, const char *path, const char *wrong, braid_status *st)
{
    char *name = bd_bundle_key_print(key);
    bd_fail(st, BRAID_DATA_LOSS, "%s: the entry for key %s is damaged: %s", path, name, wrong);
    bd_free(name);
    return BRAID_DATA_LOSS;
}

braid_code bd_bundle_entry_parse(bd_bytes key, bd_bytes value, const char *path, bd_bundle_entry *e,
                                 braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(unpack_st);
    *e = (bd_bundle_entry){0};
    Tensorflow__BundleEntryProto *proto =
        bd_proto_unpack(&tensorflow__bundle_entry_proto__descriptor, value.data, value.len, arena, unpack_st);
    const char *wrong = proto ? parse_fields(proto, e) : braid_status_message(unpack_st);
    if (!wrong) return BRAID_OK;
    bd_bundle_entry_fini(e);
    return bad_entry(key, path, wrong, st);
}

// ---- An index ----

void bd_bundle_index_fini(bd_bundle_index *index)
{
    size_t pos = 0;
    void *value;
    while (bd_map_next(&index->nodes, &pos, NULL, &value)) {
        bd_bundle_entry_fini(value);
        bd_free(value);
    }
    bd_map_fini(&index->nodes);
}

bd_bundle_entry *bd_bundle_index_find(const bd_bundle_index *index, bd_bytes key)
{
    return bd_map_get_n(&index->nodes, (const char *)key.data, key.len);
}

bd_bundle_entry *bd_bundle_index_add(bd_bundle_index *index, bd_bytes key)
{
    bd_bundle_entry *e = bd_calloc(1, sizeof *e);
    void *old = bd_map_put_n(&index->nodes, (const char *)key.data, key.len, e);
    BD_ASSERT(!old);
    return e;
}
