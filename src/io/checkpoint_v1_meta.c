// The metadata of a file of a V1 checkpoint.
#include "io/checkpoint_v1_meta.h"

#include "base/alloc.h"
#include "io/checkpoint_v1_wire.h"
#include "tensor/tensor_form.h"

#include <string.h>

static bool read_extent(bd_wire_reader *in, int64_t *start, int64_t *length)
{
    uint32_t field;
    bd_wire_type type;
    *start = 0;
    *length = BD_EXTENT_ALL;
    while (bd_wire_next(in, &field, &type)) {
        uint64_t value;
        if (type != BD_WIRE_VARINT || field > EXTENT_LENGTH) {
            bd_wire_skip(in, type);
        } else if (bd_wire_get_varint(in, &value)) {
            *(field == EXTENT_START ? start : length) = (int64_t)value;
        }
    }
    return !in->failed && *start >= 0 && *length >= BD_EXTENT_ALL;
}

static bool read_slice(bd_wire_reader *in, bd_tensor_slice *s)
{
    uint32_t field;
    bd_wire_type type;
    *s = (bd_tensor_slice){0};
    while (bd_wire_next(in, &field, &type)) {
        bd_wire_reader extent;
        if (type != BD_WIRE_BYTES || field != SLICE_EXTENT) {
            bd_wire_skip(in, type);
            continue;
        }
        if (s->rank == BRAID_RANK_MAX || !bd_wire_get_sub(in, &extent) ||
            !read_extent(&extent, &s->start[s->rank], &s->length[s->rank]))
            return false;
        s->rank++;
    }
    return !in->failed;
}

static bool read_dim(bd_wire_reader *in, int64_t *size)
{
    uint32_t field;
    bd_wire_type type;
    uint64_t value;
    *size = 0;
    while (bd_wire_next(in, &field, &type)) {
        if (type != BD_WIRE_VARINT || field != DIM_SIZE)
            bd_wire_skip(in, type);
        else if (bd_wire_get_varint(in, &value))
            *size = (int64_t)value;
    }
    return !in->failed;
}

static bool read_shape(bd_wire_reader *in, braid_shape *s)
{
    uint32_t field;
    bd_wire_type type;
    int64_t count;
    BD_STATUS(ignored);
    *s = BD_SCALAR;
    while (bd_wire_next(in, &field, &type)) {
        bd_wire_reader dim;
        if (type != BD_WIRE_BYTES || field != SHAPE_DIM) {
            bd_wire_skip(in, type);
            continue;
        }
        if (s->rank == BRAID_RANK_MAX || !bd_wire_get_sub(in, &dim) || !read_dim(&dim, &s->dims[s->rank]))
            return false;
        s->rank++;
    }
    return !in->failed && bd_shape_checked_count(s, &count, ignored) == BRAID_OK;
}

// A tensor of a file's list.
typedef struct listed {
    char *name; // owned
    bd_stored_tensor *tensor;
} listed;

void bd_stored_tensor_free(bd_stored_tensor *t)
{
    if (t) bd_array_free(&t->slices);
    bd_free(t);
}

static bool read_listed_field(bd_wire_reader *in, uint32_t field, bd_wire_type type, size_t file, listed *l)
{
    bd_wire_reader sub;
    bd_stored_slice slice = {.file = file};
    uint64_t number;
    size_t len;
    if (field == TENSOR_META_TYPE && type == BD_WIRE_VARINT) {
        if (!bd_wire_get_varint(in, &number)) return false;
        l->tensor->dtype =
            number <= INT32_MAX && bd_dtype_is_valid((int)number) ? (braid_dtype)number : BRAID_INVALID;
        return true;
    }
    if (type != BD_WIRE_BYTES || field > TENSOR_META_SLICE) return bd_wire_skip(in, type);
    if (field == TENSOR_META_NAME) {
        bd_free(l->name);
        l->name = bd_wire_get_string(in, in->left, &len);
        return l->name && strlen(l->name) == len;
    }
    if (!bd_wire_get_sub(in, &sub)) return false;
    if (field == TENSOR_META_SHAPE) return read_shape(&sub, &l->tensor->shape);
    if (!read_slice(&sub, &slice.slice)) return false;
    bd_array_push(&l->tensor->slices, slice);
    return true;
}

static bool read_listed(bd_wire_reader *in, size_t file, listed *l)
{
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(in, &field, &type)) {
        if (!read_listed_field(in, field, type, file, l)) return false;
    }
    BD_STATUS(ignored);
    return !in->failed && l->name && l->tensor->dtype != BRAID_INVALID &&
           !bd_dtype_is_ref(l->tensor->dtype) &&
           bd_checkpoint_v1_check_dtype(l->tensor->dtype, ignored) == BRAID_OK;
}

// Several files may hold slices of one tensor.
static bool add_listed(bd_map *tensors, listed *l)
{
    bd_stored_tensor *there = bd_map_get(tensors, l->name);
    if (!there) {
        bd_map_put(tensors, l->name, l->tensor);
        l->tensor = NULL;
        return true;
    }
    if (there->dtype != l->tensor->dtype || !bd_shape_equal(&there->shape, &l->tensor->shape)) return false;
    for (size_t i = 0; i < l->tensor->slices.len; i++)
        bd_array_push(&there->slices, l->tensor->slices.items[i]);
    return true;
}

bool bd_checkpoint_v1_meta_read(bd_wire_reader *in, size_t file, bd_map *tensors)
{
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(in, &field, &type)) {
        bd_wire_reader sub;
        if (type != BD_WIRE_BYTES || field != META_TENSOR) {
            bd_wire_skip(in, type);
            continue;
        }
        if (!bd_wire_get_sub(in, &sub)) return false;
        listed l = {.tensor = bd_calloc(1, sizeof *l.tensor)};
        bool ok = read_listed(&sub, file, &l) && add_listed(tensors, &l);
        bd_free(l.name);
        bd_stored_tensor_free(l.tensor);
        if (!ok) return false;
    }
    return !in->failed;
}
