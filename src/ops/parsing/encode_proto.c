// EncodeProto: serialized messages of tensors that are their fields.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/wire.h"
#include "graph/shape_fn.h"
#include "ops/common/string_out.h"
#include "ops/parsing/proto_source.h"

#include <stdlib.h>
#include <string.h>

typedef struct encode_state {
    bd_proto_source source; // first member
} encode_state;

static void encode_destroy(void *state)
{
    bd_proto_source_fini(state);
}

static braid_code encode_create(const braid_op *node, void *state, braid_status *st)
{
    (void)node;
    (void)st;
    bd_proto_source_init(state);
    return BRAID_OK;
}

// ---- Checks ----

static bool check_values(bd_op_ctx *c, const encode_state *s, int count)
{
    const braid_shape *first = &bd_input(c, 1)->shape;
    char text[BD_SHAPE_STR_MAX];
    for (int i = 0; i < count && !bd_op_failed(c); i++) {
        const braid_tensor *v = bd_input(c, 1 + i);
        const bd_message_field *f = s->source.fields[i];
        braid_shape alike = v->shape;
        if (!bd_proto_field_has_dtype(f->type, v->dtype)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Incompatible type for field %s.  Saw dtype: %s but field type is: %s", f->name,
                       braid_dtype_name(v->dtype), bd_field_type_name(f->type));
        } else if (v->shape.rank < 2) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Invalid shape for field %s.  Saw shape %s but it should be at least a matrix.",
                       f->name, bd_shape_str(&v->shape, text));
        } else {
            alike.dims[alike.rank - 1] = first->dims[first->rank - 1];
            if (!bd_shape_equal(&alike, first))
                bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Values must match up to the last dimension");
        }
    }
    return !bd_op_failed(c);
}

static bool check_sizes(bd_op_ctx *c, int count)
{
    const braid_tensor *sizes = bd_input(c, 0);
    braid_shape wanted = bd_input(c, 1)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    wanted.dims[wanted.rank - 1] = count;
    if (!bd_shape_equal(&wanted, &sizes->shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "sizes should be batch_size + [len(field_names)].  Saw: %s but expected: %s",
                   bd_shape_str(&sizes->shape, a), bd_shape_str(&wanted, b));
        return false;
    }
    for (int64_t k = 0; k < bd_tensor_count(sizes) && !bd_interrupted_at(k); k++) {
        const braid_shape *v = &bd_input(c, 1 + (int)(k % count))->shape;
        if (bd_tensor_i32(sizes)[k] <= v->dims[v->rank - 1]) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Size to write must not be larger than value tensor; but saw: %d > %lld at message %lld "
                   "field %d",
                   bd_tensor_i32(sizes)[k], (long long)v->dims[v->rank - 1], (long long)(k / count),
                   (int)(k % count));
        return false;
    }
    return !bd_op_interrupted(c);
}

// ---- Writing: once to count the bytes, once to write them ----

typedef struct sink {
    uint8_t *to; // NULL: counts only
    size_t len;
} sink;

static void put_bytes(sink *out, const void *data, size_t len)
{
    if (out->to && len > 0) memcpy(out->to + out->len, data, len);
    out->len += len;
}

static void put_varint(sink *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t len = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[len++] = (uint8_t)(value | 0x80);
    bytes[len++] = (uint8_t)value;
    put_bytes(out, bytes, len);
}

static void put_little_endian(sink *out, uint64_t value, int count)
{
    uint8_t bytes[8];
    for (int i = 0; i < count; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    put_bytes(out, bytes, (size_t)count);
}

static void put_tag(sink *out, uint32_t number, bd_proto_wire wire)
{
    put_varint(out, (uint64_t)number << 3 | wire);
}

// The bits of an element as they are in memory, signs extended.
static uint64_t bits_at(const braid_tensor *v, int64_t at)
{
    uint64_t bits;
    uint32_t half;
    switch (v->dtype) {
    case BRAID_BOOL: return ((const bool *)v->data)[at];
    case BRAID_INT32: return (uint64_t)(int64_t)bd_tensor_i32(v)[at];
    case BRAID_UINT32: return ((const uint32_t *)v->data)[at];
    case BRAID_FLOAT: memcpy(&half, &bd_tensor_f32(v)[at], sizeof half); return half;
    case BRAID_DOUBLE: memcpy(&bits, &bd_tensor_f64(v)[at], sizeof bits); return bits;
    default: return ((const uint64_t *)v->data)[at];
    }
}

static void put_number(sink *out, bd_field_type type, const braid_tensor *v, int64_t at)
{
    uint64_t bits = bits_at(v, at);
    uint32_t half = (uint32_t)bits;
    switch (type) {
    case BD_FIELD_FLOAT: {
        const float narrow = v->dtype == BRAID_DOUBLE ? (float)bd_tensor_f64(v)[at] : bd_tensor_f32(v)[at];
        memcpy(&half, &narrow, sizeof half);
        put_little_endian(out, half, 4);
        return;
    }
    case BD_FIELD_FIXED32:
    case BD_FIELD_SFIXED32: put_little_endian(out, half, 4); return;
    case BD_FIELD_DOUBLE:
    case BD_FIELD_FIXED64:
    case BD_FIELD_SFIXED64: put_little_endian(out, bits, 8); return;
    case BD_FIELD_INT32:
    case BD_FIELD_ENUM: put_varint(out, (uint64_t)(int64_t)(int32_t)half); return;
    case BD_FIELD_UINT32: put_varint(out, half); return;
    case BD_FIELD_SINT32: put_varint(out, (half << 1) ^ -(half >> 31)); return;
    case BD_FIELD_SINT64: put_varint(out, (bits << 1) ^ -(bits >> 63)); return;
    default: put_varint(out, bits); return;
    }
}

static void put_string(sink *out, const bd_message_field *f, const bd_string *s)
{
    const bool is_group = f->type == BD_FIELD_GROUP;
    put_tag(out, f->number, is_group ? BD_PROTO_GROUP : BD_PROTO_LENGTH);
    if (!is_group) put_varint(out, s->len);
    put_bytes(out, s->data, s->len);
    if (is_group) put_tag(out, f->number, BD_PROTO_GROUP_END);
}

// Elements [at, at + size) of `v`.
static void put_field(sink *out, const bd_message_field *f, const braid_tensor *v, int64_t at, int64_t size)
{
    const bd_proto_wire wire = bd_proto_wire_of(f->type);
    const bool is_string = v->dtype == BRAID_STRING, is_packed = f->is_packed && !is_string;
    if (size <= 0) return;
    if (is_packed) {
        sink content = {0};
        for (int64_t i = at; i < at + size && !bd_interrupted_at(i); i++)
            put_number(&content, f->type, v, i);
        put_tag(out, f->number, BD_PROTO_LENGTH);
        put_varint(out, content.len);
    }
    for (int64_t i = at; i < at + size && !bd_interrupted_at(i); i++) {
        if (is_string) {
            put_string(out, f, &bd_tensor_str(v)[i]);
            continue;
        }
        if (!is_packed) put_tag(out, f->number, wire);
        put_number(out, f->type, v, i);
    }
}

// Message `m`: its fields in the order of `order`.
static void put_message(sink *out, const bd_op_ctx *c, const encode_state *s, const int *order, int count,
                        int64_t m)
{
    for (int k = 0; k < count && !bd_interrupted(); k++) {
        const int i = order[k];
        const braid_tensor *v = bd_input(c, 1 + i);
        put_field(out, s->source.fields[i], v, m * v->shape.dims[v->shape.rank - 1],
                  bd_tensor_i32(bd_input(c, 0))[m * count + i]);
    }
}

// ---- The op ----

typedef struct numbered {
    uint32_t number;
    int i;
} numbered;

static int compare_numbers(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return x->i - y->i;
}

// The indices of the fields by growing number, the caller's (bd_free).
static int *order_of(const encode_state *s, int count)
{
    numbered *fields = bd_calloc((size_t)count, sizeof *fields);
    int *order = bd_calloc((size_t)count, sizeof *order);
    for (int i = 0; i < count; i++)
        fields[i] = (numbered){s->source.fields[i]->number, i};
    qsort(fields, (size_t)count, sizeof *fields, compare_numbers);
    for (int i = 0; i < count; i++)
        order[i] = fields[i].i;
    bd_free(fields);
    return order;
}

static void encode_run(bd_op_ctx *c)
{
    encode_state *s = c->state;
    const int count = c->input_count - 1;
    if (bd_node_attr(c->node, "field_names")->list.count != count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Length of inputs list must match field_names");
        return;
    }
    if (!bd_proto_source_find(c, &s->source) || !check_values(c, s, count) || !check_sizes(c, count)) return;
    braid_shape batch = bd_input(c, 1)->shape;
    batch.rank--;
    const braid_tensor *y = bd_output(c, 0, BRAID_STRING, &batch);
    if (!y) return;
    int *order = order_of(s, count);
    for (int64_t m = 0; m < bd_tensor_count(y) && !bd_op_failed(c) && !bd_interrupted(); m++) {
        sink counted = {0}, written = {0};
        put_message(&counted, c, s, order, count, m);
        if (bd_op_interrupted(c)) break; // the loops may have ended early
        written.to = (uint8_t *)bd_string_room(c, y, m, counted.len);
        if (written.to) put_message(&written, c, s, order, count, m);
    }
    bd_free(order);
}

// The inputs agree but for their last dimension.
static braid_code encode_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape batch = {.rank = -1};
    for (int i = 0; i < c->input_count; i++) {
        braid_shape input = c->inputs[i], merged;
        if (input.rank < 0) continue;
        if (input.rank < 2)
            return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", input.rank);
        input.rank--;
        if (!bd_shape_merge(&batch, &input, &merged))
            return bd_shape_ctx_fail(c, st, "Values must match up to the last dimension");
        batch = merged;
    }
    c->outputs[0] = batch;
    return BRAID_OK;
}

BD_OP(EncodeProto) = {
    .signature = "(sizes: int32, values: Tinput_types...) -> (bytes: string)",
    .attrs = "field_names:list(string); message_type:string; descriptor_source:string='local://'; "
             "Tinput_types:list(type)>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = encode_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(encode_state),
                           .create = encode_create,
                           .destroy = encode_destroy,
                           .run = encode_run}),
    .doc = "Writes protocol buffer messages: of each field as many values as `sizes` says. Descriptors are "
           "found as by DecodeProtoV2.",
};
