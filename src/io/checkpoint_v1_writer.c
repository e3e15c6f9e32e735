// Writes V1 checkpoints.
#include "io/checkpoint_v1.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/map.h"
#include "base/wire.h"
#include "io/checkpoint_v1_wire.h"
#include "io/little_endian.h"
#include "io/sstable.h"
#include "io/varint.h"
#include "tensor/tensor_form.h"

#include <stdlib.h>
#include <string.h>

braid_code bd_checkpoint_v1_check_dtype(braid_dtype dtype, braid_status *st)
{
    uint8_t kind = value_form_of((int)dtype).kind;
    if (kind == VALUE_FIXED || kind == VALUE_SIGNED || kind == VALUE_UNSIGNED || kind == VALUE_STRING)
        return BRAID_OK;
    return bd_fail(st, BRAID_UNIMPLEMENTED, "Saving data type %s not yet supported", braid_dtype_name(dtype));
}

// ---- Small messages, in memory that grows ----

static void put_varint(bd_strbuf *b, uint64_t value)
{
    uint8_t bytes[BD_VARINT_BYTES_MAX];
    bd_strbuf_append_n(b, bytes, bd_put_varint(bytes, value));
}

static void put_uint(bd_strbuf *b, uint32_t field, uint64_t value)
{
    put_varint(b, field << 3 | BD_WIRE_VARINT);
    put_varint(b, value);
}

static void put_bytes(bd_strbuf *b, uint32_t field, const void *data, size_t len)
{
    put_varint(b, field << 3 | BD_WIRE_BYTES);
    put_varint(b, len);
    bd_strbuf_append_n(b, data, len);
}

// Moves `message` into field `field`.
static void put_message(bd_strbuf *b, uint32_t field, bd_strbuf *message)
{
    put_bytes(b, field, bd_strbuf_str(message), message->len);
    bd_strbuf_fini(message);
}

static void put_slice(bd_strbuf *b, uint32_t field, const bd_tensor_slice *s)
{
    bd_strbuf slice = {0};
    for (int d = 0; d < s->rank; d++) {
        bd_strbuf extent = {0};
        if (s->length[d] != BD_EXTENT_ALL) {
            if (s->start[d] != 0) put_uint(&extent, EXTENT_START, (uint64_t)s->start[d]);
            put_uint(&extent, EXTENT_LENGTH, (uint64_t)s->length[d]);
        }
        put_message(&slice, SLICE_EXTENT, &extent);
    }
    put_message(b, field, &slice);
}

static void put_shape(bd_strbuf *b, uint32_t field, const braid_shape *s)
{
    bd_strbuf shape = {0};
    for (int d = 0; d < s->rank; d++) {
        bd_strbuf dim = {0};
        if (s->dims[d] != 0) put_uint(&dim, DIM_SIZE, (uint64_t)s->dims[d]);
        put_message(&shape, SHAPE_DIM, &dim);
    }
    put_message(b, field, &shape);
}

// ---- What the file holds ----

// Slices by tensor: each tensor's are a chain.
typedef struct chains {
    size_t *next;  // [count]; 0: no next one
    bool *is_head; // [count]
    bd_map last;   // name -> slice and one
} chains;

static braid_code link_slices(chains *c, const bd_saved_slice *slices, size_t count, braid_status *st)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    for (size_t i = 0; i < count; i++) {
        const bd_saved_slice *s = &slices[i];
        uintptr_t last = (uintptr_t)bd_map_put(&c->last, s->name, (void *)(uintptr_t)(i + 1));
        c->is_head[i] = last == 0;
        if (last == 0) continue;
        const bd_saved_slice *before = &slices[last - 1];
        c->next[last - 1] = i;
        if (!bd_shape_equal(&before->full, &s->full))
            return bd_fail(st, BRAID_INTERNAL,
                           "Mismatching shapes: existing tensor = %s, trying to add name %s, shape = %s",
                           bd_shape_str(&before->full, a), s->name, bd_shape_str(&s->full, b));
        if (before->tensor->dtype != s->tensor->dtype)
            return bd_fail(
                st, BRAID_INTERNAL, "Mismatching types: existing type = %s, trying to add name %s, type = %s",
                braid_dtype_name(before->tensor->dtype), s->name, braid_dtype_name(s->tensor->dtype));
    }
    return BRAID_OK;
}

static void put_tensor_meta(bd_strbuf *meta, const chains *c, const bd_saved_slice *slices, size_t head)
{
    bd_strbuf tensor = {0};
    const bd_saved_slice *s = &slices[head];
    put_bytes(&tensor, TENSOR_META_NAME, s->name, strlen(s->name));
    put_shape(&tensor, TENSOR_META_SHAPE, &s->full);
    put_uint(&tensor, TENSOR_META_TYPE, (uint64_t)s->tensor->dtype);
    put_slice(&tensor, TENSOR_META_SLICE, &s->slice);
    for (size_t i = c->next[head]; i != 0; i = c->next[i])
        put_slice(&tensor, TENSOR_META_SLICE, &slices[i].slice);
    put_message(meta, META_TENSOR, &tensor);
}

// The value under the empty key.
static braid_code make_meta(const bd_saved_slice *slices, size_t count, bd_strbuf *out, braid_status *st)
{
    chains c = {.next = bd_calloc(count, sizeof *c.next), .is_head = bd_calloc(count, sizeof *c.is_head)};
    bd_map_init(&c.last);
    braid_code code = link_slices(&c, slices, count, st);
    bd_strbuf meta = {0}, versions = {0};
    for (size_t i = 0; i < count && !code; i++) {
        if (c.is_head[i]) put_tensor_meta(&meta, &c, slices, i);
    }
    put_uint(&versions, VERSION_PRODUCER, CHECKPOINT_V1_VERSION);
    put_message(&meta, META_VERSIONS, &versions);
    put_message(out, SLICES_META, &meta);
    bd_map_fini(&c.last);
    bd_free(c.next);
    bd_free(c.is_head);
    return code;
}

// ---- Values ----

// Value `i` of a varint field.
static uint64_t value_at(const braid_tensor *t, const struct value_form *f, int64_t i)
{
    const void *data = t->data;
    bool is_signed = f->kind == VALUE_SIGNED;
    switch (f->unit) {
    case 1: return is_signed ? (uint64_t)((const int8_t *)data)[i] : ((const uint8_t *)data)[i];
    case 2: return is_signed ? (uint64_t)((const int16_t *)data)[i] : ((const uint16_t *)data)[i];
    case 4: return is_signed ? (uint64_t)((const int32_t *)data)[i] : ((const uint32_t *)data)[i];
    default: return ((const uint64_t *)data)[i];
    }
}

// Bytes of the values in a packed field, without tag and length.
static size_t packed_size(const braid_tensor *t, const struct value_form *f)
{
    int64_t count = bd_tensor_count(t) * f->per_element;
    if (f->kind == VALUE_FIXED) return (size_t)count * f->unit;
    size_t size = 0;
    for (int64_t i = 0; i < count; i++)
        size += bd_wire_varint_size(value_at(t, f, i));
    return size;
}

static size_t field_size(size_t field, size_t len)
{
    return bd_wire_varint_size(field << 3) + bd_wire_varint_size(len) + len;
}

// The size of the TensorProto, which has only values.
static size_t values_size(const braid_tensor *t, const struct value_form *f)
{
    size_t size = 0;
    if (bd_tensor_count(t) == 0) return 0;
    if (f->kind != VALUE_STRING) return field_size(f->field, packed_size(t, f));
    for (int64_t i = 0; i < bd_tensor_count(t); i++)
        size += field_size(f->field, bd_tensor_str(t)[i].len);
    return size;
}

static uint8_t *write_head(uint8_t *at, size_t field, size_t len)
{
    at += bd_put_varint(at, field << 3 | BD_WIRE_BYTES);
    return at + bd_put_varint(at, len);
}

static uint8_t *write_fixed(uint8_t *at, const braid_tensor *t, const struct value_form *f)
{
    int64_t count = bd_tensor_count(t) * f->per_element;
    for (int64_t i = 0; i < count; i++, at += f->unit) {
        if (f->unit == 4)
            bd_put_le32(at, ((const uint32_t *)t->data)[i]);
        else
            bd_put_le64(at, ((const uint64_t *)t->data)[i]);
    }
    return at;
}

static uint8_t *write_values(uint8_t *at, const braid_tensor *t, const struct value_form *f)
{
    int64_t count = bd_tensor_count(t);
    if (count == 0) return at;
    if (f->kind == VALUE_STRING) {
        for (int64_t i = 0; i < count; i++) {
            const bd_string *s = &bd_tensor_str(t)[i];
            at = write_head(at, f->field, s->len);
            if (s->len > 0) at = mempcpy(at, s->data, s->len);
        }
        return at;
    }
    at = write_head(at, f->field, packed_size(t, f));
    if (f->kind == VALUE_FIXED) return write_fixed(at, t, f);
    for (int64_t i = 0; i < count * f->per_element; i++)
        at += bd_put_varint(at, value_at(t, f, i));
    return at;
}

// The value under the key of a slice: memory of the caller's.
static braid_code make_value(const bd_saved_slice *s, bd_bytes *value, braid_status *st)
{
    struct value_form form = value_form_of((int)s->tensor->dtype);
    size_t values = values_size(s->tensor, &form);
    if (values > INT32_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Tensor slice is too large to serialize (conservative estimate: %zu bytes): tensor %s",
                       values, s->name);
    bd_strbuf head = {0};
    put_bytes(&head, SAVED_NAME, s->name, strlen(s->name));
    put_slice(&head, SAVED_SLICE, &s->slice);
    size_t saved = head.len + field_size(SAVED_DATA, values), size = field_size(SLICES_DATA, saved);
    uint8_t *data = bd_try_malloc(size), *at = data;
    if (data) {
        at = write_head(at, SLICES_DATA, saved);
        at = mempcpy(at, head.data, head.len);
        at = write_head(at, SAVED_DATA, values);
        at = write_values(at, s->tensor, &form);
        BD_ASSERT(at == data + size);
    }
    bd_strbuf_fini(&head);
    *value = (bd_bytes){data, size};
    if (data) return BRAID_OK;
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory to write tensor %s (%zu bytes)", s->name, size);
}

// ---- The file ----

typedef struct keyed {
    bd_strbuf key; // owned
    const bd_saved_slice *slice;
} keyed;

static bd_bytes key_of(const keyed *k)
{
    return (bd_bytes){(const uint8_t *)k->key.data, k->key.len};
}

static int compare_keys(const void *a, const void *b)
{
    return bd_bytes_compare(key_of(a), key_of(b));
}

// Sorts the slices by key. InvalidArgument when a key occurs twice.
static braid_code sort_slices(const bd_saved_slice *slices, size_t count, keyed *sorted, braid_status *st)
{
    for (size_t i = 0; i < count; i++) {
        sorted[i].slice = &slices[i];
        bd_tensor_slice_key(slices[i].name, strlen(slices[i].name), &slices[i].slice, &sorted[i].key);
    }
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < count; i++) {
        if (compare_keys(&sorted[i - 1], &sorted[i]) == 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "Tensor %s is to be saved twice",
                           sorted[i].slice->name);
    }
    return BRAID_OK;
}

typedef struct writing {
    const keyed *sorted;
    size_t count;
    const bd_strbuf *meta;
    bool (*is_cancelled)(void *arg);
    void *arg;
} writing;

static braid_code put_entries(const writing *w, bd_sstable_writer *table, braid_status *st)
{
    bd_bytes meta = {(const uint8_t *)bd_strbuf_str(w->meta), w->meta->len};
    braid_code code = bd_sstable_put(table, (bd_bytes){0}, meta, st);
    for (size_t i = 0; i < w->count && !code; i++) {
        bd_bytes value = {0};
        if (w->is_cancelled && w->is_cancelled(w->arg))
            return bd_fail(st, BRAID_CANCELLED, "saving was cancelled before tensor %s",
                           w->sorted[i].slice->name);
        code = make_value(w->sorted[i].slice, &value, st);
        if (code) return code;
        code = bd_sstable_put(table, key_of(&w->sorted[i]), value, st);
        bd_free((void *)value.data);
    }
    return code ? code : bd_sstable_finish(table, st);
}

static braid_code write_table(const bd_fs *fs, const writing *w, const char *path, braid_status *st)
{
    bd_output *out;
    braid_code code = bd_output_open(fs, path, BD_FILE_CREATE, BD_COMPRESSION_NONE, &out, st);
    if (code) return code;
    bd_sstable_writer *table = bd_sstable_writer_new(out, NULL);
    code = put_entries(w, table, st);
    bd_sstable_writer_free(table);
    if (code)
        bd_output_abandon(out);
    else
        code = bd_output_close_synced(out, st);
    return code;
}

// Writes under a temporary name first, so that the file at `path` is always whole.
static braid_code write_file(const bd_fs *fs, const writing *w, const char *path, braid_status *st)
{
    char *temp = bd_path_temp(path), *dir = bd_path_dir(path);
    BD_STATUS(ignored);
    braid_code code = write_table(fs, w, temp, st);
    if (!code) code = bd_file_rename(fs, temp, path, st);
    if (code)
        bd_file_remove(fs, temp, ignored);
    else
        code = bd_dir_sync(fs, dir, st);
    bd_free(temp);
    bd_free(dir);
    return code;
}

braid_code bd_checkpoint_v1_write(const bd_fs *fs, const char *path, const bd_saved_slice *slices,
                                  size_t count, bool (*is_cancelled)(void *arg), void *arg, braid_status *st)
{
    bd_strbuf meta = {0};
    keyed *sorted = bd_calloc(count, sizeof *sorted);
    braid_code code = make_meta(slices, count, &meta, st);
    if (!code) code = sort_slices(slices, count, sorted, st);
    writing w = {.sorted = sorted, .count = count, .meta = &meta, .is_cancelled = is_cancelled, .arg = arg};
    if (!code) code = write_file(fs, &w, path, st);
    for (size_t i = 0; i < count; i++)
        bd_strbuf_fini(&sorted[i].key);
    bd_free(sorted);
    bd_strbuf_fini(&meta);
    return code;
}
