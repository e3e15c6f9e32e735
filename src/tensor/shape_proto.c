// TensorShapeProto on the wire.
#include "tensor/shape_proto.h"

#include "tensor/tensor_form.h"

static bool read_dim(bd_wire_reader in, int64_t *dim)
{
    uint32_t field;
    bd_wire_type type;
    uint64_t value = 0;
    while (bd_wire_next(&in, &field, &type)) {
        if (field == DIM_SIZE && type == BD_WIRE_VARINT)
            bd_wire_get_varint(&in, &value);
        else
            bd_wire_skip(&in, type);
    }
    *dim = (int64_t)value;
    return !in.failed;
}

bool bd_shape_proto_read(bd_wire_reader in, bd_shape_proto *p)
{
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(&in, &field, &type)) {
        bd_wire_reader sub;
        uint64_t value;
        int64_t dim;
        if (field == SHAPE_DIM && type == BD_WIRE_BYTES) {
            if (!bd_wire_get_sub(&in, &sub) || !read_dim(sub, &dim)) return false;
            if (p->rank < BRAID_RANK_MAX) p->shape.dims[p->rank] = dim;
            if (p->rank < INT32_MAX) p->rank++;
        } else if (field == SHAPE_UNKNOWN_RANK && type == BD_WIRE_VARINT) {
            if (bd_wire_get_varint(&in, &value)) p->unknown_rank = value != 0;
        } else {
            bd_wire_skip(&in, type);
        }
    }
    return !in.failed;
}

// Readers take a missing field as zero.
static size_t dim_size(int64_t dim)
{
    return dim ? bd_wire_uint_field_size(DIM_SIZE, (uint64_t)dim) : 0;
}

size_t bd_shape_proto_size(const braid_shape *s)
{
    size_t size = s->rank < 0 ? bd_wire_uint_field_size(SHAPE_UNKNOWN_RANK, 1) : 0;
    for (int i = 0; i < s->rank; i++)
        size += bd_wire_bytes_field_size(SHAPE_DIM, dim_size(s->dims[i]));
    return size;
}

void bd_shape_proto_write(const braid_shape *s, bd_wire_writer *out)
{
    if (s->rank < 0) bd_wire_put_uint(out, SHAPE_UNKNOWN_RANK, 1);
    for (int i = 0; i < s->rank; i++) {
        bd_wire_put_head(out, SHAPE_DIM, dim_size(s->dims[i]));
        if (s->dims[i]) bd_wire_put_uint(out, DIM_SIZE, (uint64_t)s->dims[i]);
    }
}
