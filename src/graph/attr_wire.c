// AttrValue messages: reading and writing. Field numbers are those of attr_value.proto.
#include "graph/attr_wire.h"

#include "base/check.h"
#include "tensor/shape_proto.h"
#include "tensor/tensor_proto.h"
#include <string.h>

enum {
    ATTR_LIST = 1,
    ATTR_S = 2,
    ATTR_I = 3,
    ATTR_F = 4,
    ATTR_B = 5,
    ATTR_TYPE = 6,
    ATTR_SHAPE = 7,
    ATTR_TENSOR = 8,
    ATTR_PLACEHOLDER = 9, // of AttrValue
    ATTR_FUNC = 10,       // of AttrValue
    LIST_FUNC = 9,        // of ListValue
};

typedef struct attr_reader {
    bd_arena *arena;
    bd_attr_tensors *tensors;
    braid_status *st;
} attr_reader;

static braid_code malformed(const attr_reader *r, const char *what)
{
    return bd_fail(r->st, BRAID_INVALID_ARGUMENT, "malformed %s", what);
}

bool bd_wire_get_bytes(bd_wire_reader *in, bd_bytes *out, bd_arena *arena)
{
    bd_wire_reader sub;
    if (!bd_wire_get_sub(in, &sub)) return false;
    size_t len = sub.left;
    char *data = bd_arena_alloc(arena, len + 1);
    if (len && !bd_wire_get_raw(&sub, data, len)) {
        in->failed = true;
        return false;
    }
    data[len] = 0;
    *out = (bd_bytes){.data = data, .len = len};
    return true;
}

// ---- Shapes ----

static braid_code read_shape(const attr_reader *r, const bd_wire_reader *in, braid_shape *out)
{
    bd_shape_proto p = {0};
    if (!bd_shape_proto_read(*in, &p)) return malformed(r, "shape");
    if (p.rank > BRAID_RANK_MAX)
        return bd_fail(r->st, BRAID_INVALID_ARGUMENT, "a shape has more than %d dimensions", BRAID_RANK_MAX);
    for (int i = 0; i < p.rank; i++)
        if (p.shape.dims[i] < -1)
            return bd_fail(r->st, BRAID_INVALID_ARGUMENT, "a shape has dimension %lld",
                           (long long)p.shape.dims[i]);
    p.shape.rank = p.rank;
    *out = p.unknown_rank ? BD_SHAPE_UNKNOWN : p.shape;
    return BRAID_OK;
}

// ---- Reading values ----

static braid_code read_tensor(const attr_reader *r, bd_wire_reader *in, braid_tensor **out)
{
    braid_tensor *t = bd_calloc(1, sizeof *t);
    bd_array_push(r->tensors, t);
    *out = t;
    return bd_tensor_proto_read(in, t, r->st);
}

static braid_code read_type(const attr_reader *r, uint64_t value, braid_dtype *out)
{
    if (value > INT32_MAX || (value != 0 && !bd_dtype_is_valid((int)value)))
        return bd_fail(r->st, BRAID_INVALID_ARGUMENT, "%llu is no element type", (unsigned long long)value);
    *out = (braid_dtype)value;
    return BRAID_OK;
}

static float float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

// Reads one value of a kind; for lists too. `type` is that of the field.
static braid_code read_value(const attr_reader *r, bd_wire_reader *in, bd_attr_kind kind, bd_attr *out)
{
    bd_wire_reader sub;
    uint64_t number = 0;
    uint32_t bits = 0;
    *out = (bd_attr){.kind = kind};
    switch (kind) {
    case BD_ATTR_STRING:
    case BD_ATTR_PLACEHOLDER:
    case BD_ATTR_FUNC:
        if (!bd_wire_get_bytes(in, &out->s, r->arena)) return malformed(r, "attr");
        return BRAID_OK;
    case BD_ATTR_INT:
    case BD_ATTR_BOOL:
    case BD_ATTR_TYPE:
        if (!bd_wire_get_varint(in, &number)) return malformed(r, "attr");
        if (kind == BD_ATTR_TYPE) return read_type(r, number, &out->type);
        if (kind == BD_ATTR_INT)
            out->i = (int64_t)number;
        else
            out->b = number != 0;
        return BRAID_OK;
    case BD_ATTR_FLOAT:
        if (!bd_wire_get_fixed32(in, &bits)) return malformed(r, "attr");
        out->f = float_of_bits(bits);
        return BRAID_OK;
    case BD_ATTR_SHAPE:
        return bd_wire_get_sub(in, &sub) ? read_shape(r, &sub, &out->shape) : malformed(r, "attr");
    case BD_ATTR_TENSOR:
        if (!bd_wire_get_sub(in, &sub)) return malformed(r, "attr");
        out->is_whole = bd_tensor_proto_has_content(sub);
        return read_tensor(r, &sub, &out->tensor);
    default: BD_UNREACHABLE();
    }
}

// ---- Reading lists ----

typedef BD_ARRAY(bd_attr) item_list;

static const bd_attr_kind field_kinds[] = {
    [ATTR_S] = BD_ATTR_STRING,      [ATTR_I] = BD_ATTR_INT,     [ATTR_F] = BD_ATTR_FLOAT,
    [ATTR_B] = BD_ATTR_BOOL,        [ATTR_TYPE] = BD_ATTR_TYPE, [ATTR_SHAPE] = BD_ATTR_SHAPE,
    [ATTR_TENSOR] = BD_ATTR_TENSOR,
};

static bd_wire_type kind_wire_type(bd_attr_kind kind)
{
    if (kind == BD_ATTR_INT || kind == BD_ATTR_BOOL || kind == BD_ATTR_TYPE) return BD_WIRE_VARINT;
    return kind == BD_ATTR_FLOAT ? BD_WIRE_FIXED32 : BD_WIRE_BYTES;
}

static braid_code read_items(const attr_reader *r, bd_wire_reader *in, bd_attr_kind kind, bd_wire_type type,
                             item_list *items)
{
    bd_attr item;
    braid_code code;
    if (type == kind_wire_type(kind)) {
        if ((code = read_value(r, in, kind, &item))) return code;
        bd_array_push(items, item);
        return BRAID_OK;
    }
    bd_wire_reader packed;
    if (type != BD_WIRE_BYTES || !bd_wire_get_sub(in, &packed)) return malformed(r, "list");
    while (packed.left > 0) {
        if ((code = read_value(r, &packed, kind, &item))) return code;
        bd_array_push(items, item);
    }
    return BRAID_OK;
}

static size_t item_size(bd_attr_kind kind)
{
    switch (kind) {
    case BD_ATTR_INT: return sizeof(int64_t);
    case BD_ATTR_FLOAT: return sizeof(float);
    case BD_ATTR_BOOL: return sizeof(bool);
    case BD_ATTR_TYPE: return sizeof(braid_dtype);
    case BD_ATTR_SHAPE: return sizeof(braid_shape);
    case BD_ATTR_TENSOR: return sizeof(braid_tensor *);
    default: return sizeof(bd_bytes);
    }
}

// The members of an attr's union all start at the same place, that of `s`.
static void pack_list(const attr_reader *r, const item_list *items, bd_attr *out)
{
    size_t size = item_size(out->item_kind);
    char *data = bd_arena_alloc(r->arena, items->len * size);
    for (size_t i = 0; i < items->len; i++)
        memcpy(data + i * size, &items->items[i].s, size);
    out->list.count = (int)items->len;
    out->list.s = (bd_bytes *)(void *)data;
}

static braid_code read_list(const attr_reader *r, bd_wire_reader *in, bd_attr *out)
{
    item_list items = {0};
    uint32_t field;
    bd_wire_type type;
    braid_code code = BRAID_OK;
    *out = (bd_attr){.kind = BD_ATTR_LIST};
    while (!code && bd_wire_next(in, &field, &type)) {
        bd_attr_kind kind = field == LIST_FUNC                          ? BD_ATTR_FUNC
                            : field > ATTR_LIST && field <= ATTR_TENSOR ? field_kinds[field]
                                                                        : BD_ATTR_NONE;
        if (kind == BD_ATTR_NONE) {
            bd_wire_skip(in, type);
        } else if (out->item_kind != BD_ATTR_NONE && out->item_kind != kind) {
            code = bd_fail(r->st, BRAID_INVALID_ARGUMENT, "a list holds values of two kinds");
        } else {
            out->item_kind = kind;
            code = read_items(r, in, kind, type, &items);
        }
    }
    if (!code && in->failed) code = malformed(r, "list");
    if (!code && items.len > INT32_MAX) code = malformed(r, "list");
    if (!code) pack_list(r, &items, out);
    if (items.len == 0) out->item_kind = BD_ATTR_NONE;
    bd_array_free(&items);
    return code;
}

braid_code bd_attr_read(bd_wire_reader *in, bd_attr *out, bd_arena *arena, bd_attr_tensors *tensors,
                        braid_status *st)
{
    attr_reader r = {.arena = arena, .tensors = tensors, .st = st};
    uint32_t field;
    bd_wire_type type;
    *out = (bd_attr){.kind = BD_ATTR_NONE};
    while (bd_wire_next(in, &field, &type)) {
        bd_attr_kind kind = field == ATTR_FUNC                          ? BD_ATTR_FUNC
                            : field == ATTR_PLACEHOLDER                 ? BD_ATTR_PLACEHOLDER
                            : field > ATTR_LIST && field <= ATTR_TENSOR ? field_kinds[field]
                                                                        : BD_ATTR_NONE;
        braid_code code = BRAID_OK;
        bd_wire_reader sub;
        if (field == ATTR_LIST && type == BD_WIRE_BYTES)
            code = bd_wire_get_sub(in, &sub) ? read_list(&r, &sub, out) : malformed(&r, "attr");
        else if (kind != BD_ATTR_NONE && type == kind_wire_type(kind))
            code = read_value(&r, in, kind, out);
        else if (field <= ATTR_FUNC)
            code = malformed(&r, "attr");
        else
            bd_wire_skip(in, type);
        if (code) return code;
    }
    return in->failed ? malformed(&r, "attr") : BRAID_OK;
}

braid_code bd_attr_parse(const void *data, size_t len, bd_attr *out, bd_arena *arena,
                         bd_attr_tensors *tensors, braid_status *st)
{
    if (!data && len) return bd_fail(st, BRAID_INVALID_ARGUMENT, "there is no AttrValue");
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, data, len);
    const braid_code code = bd_attr_read(&in, out, arena, tensors, st);
    if (code || out->kind != BD_ATTR_NONE) return code;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "the AttrValue holds no value");
}

// ---- Writing ----

static void put_message(bd_wire_writer *out, uint32_t field, size_t size)
{
    bd_wire_put_tag(out, field, BD_WIRE_BYTES);
    bd_wire_put_varint(out, size);
}

static void put_float_bits(bd_wire_writer *out, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint8_t bytes[4] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16), (uint8_t)(bits >> 24)};
    bd_wire_put_raw(out, bytes, sizeof bytes);
}

static void put_float(bd_wire_writer *out, uint32_t field, float value)
{
    bd_wire_put_tag(out, field, BD_WIRE_FIXED32);
    put_float_bits(out, value);
}

static void put_shape(bd_wire_writer *out, uint32_t field, const braid_shape *shape)
{
    put_message(out, field, bd_shape_proto_size(shape));
    bd_shape_proto_write(shape, out);
}

// A tensor whose elements came one by one is written as it came, however alike they are: programs read
// tensor_content. Another one is written with few values.
static size_t tensor_size(const braid_tensor *t, bool is_whole)
{
    return is_whole ? bd_tensor_proto_size(t) : bd_tensor_proto_short_size(t);
}

static void put_tensor(bd_wire_writer *out, uint32_t field, const braid_tensor *t, bool is_whole)
{
    put_message(out, field, tensor_size(t, is_whole));
    if (is_whole)
        bd_tensor_proto_write(t, out);
    else
        bd_tensor_proto_short_write(t, out);
}

// Numbers of a list are packed.
static size_t packed_size(const bd_attr *a)
{
    size_t size = 0;
    for (int i = 0; i < a->list.count; i++) {
        switch (a->item_kind) {
        case BD_ATTR_INT: size += bd_wire_varint_size((uint64_t)a->list.i[i]); break;
        case BD_ATTR_TYPE: size += bd_wire_varint_size((uint64_t)a->list.type[i]); break;
        case BD_ATTR_BOOL: size += 1; break;
        case BD_ATTR_FLOAT: size += 4; break;
        default: BD_UNREACHABLE();
        }
    }
    return size;
}

static size_t list_size(const bd_attr *a)
{
    size_t size = 0;
    if (a->list.count == 0) return 0;
    switch (a->item_kind) {
    case BD_ATTR_STRING:
    case BD_ATTR_FUNC:
        for (int i = 0; i < a->list.count; i++)
            size += bd_wire_bytes_size(a->list.s[i].len);
        return size;
    case BD_ATTR_SHAPE:
        for (int i = 0; i < a->list.count; i++)
            size += bd_wire_bytes_size(bd_shape_proto_size(&a->list.shape[i]));
        return size;
    case BD_ATTR_TENSOR:
        for (int i = 0; i < a->list.count; i++)
            size += bd_wire_bytes_size(bd_tensor_proto_short_size(a->list.tensor[i]));
        return size;
    default: return bd_wire_bytes_size(packed_size(a));
    }
}

static void write_packed(const bd_attr *a, bd_wire_writer *out)
{
    for (int i = 0; i < a->list.count; i++) {
        switch (a->item_kind) {
        case BD_ATTR_INT: bd_wire_put_varint(out, (uint64_t)a->list.i[i]); break;
        case BD_ATTR_TYPE: bd_wire_put_varint(out, (uint64_t)a->list.type[i]); break;
        case BD_ATTR_BOOL: bd_wire_put_varint(out, a->list.b[i]); break;
        case BD_ATTR_FLOAT: put_float_bits(out, a->list.f[i]); break;
        default: BD_UNREACHABLE();
        }
    }
}

static void write_list(const bd_attr *a, bd_wire_writer *out)
{
    static const uint32_t fields[] = {[BD_ATTR_INT] = ATTR_I,
                                      [BD_ATTR_FLOAT] = ATTR_F,
                                      [BD_ATTR_BOOL] = ATTR_B,
                                      [BD_ATTR_TYPE] = ATTR_TYPE};
    if (a->list.count == 0) return;
    switch (a->item_kind) {
    case BD_ATTR_STRING:
    case BD_ATTR_FUNC:
        for (int i = 0; i < a->list.count; i++)
            bd_wire_put_bytes(out, a->item_kind == BD_ATTR_FUNC ? LIST_FUNC : ATTR_S, a->list.s[i].data,
                              a->list.s[i].len);
        break;
    case BD_ATTR_SHAPE:
        for (int i = 0; i < a->list.count; i++)
            put_shape(out, ATTR_SHAPE, &a->list.shape[i]);
        break;
    case BD_ATTR_TENSOR:
        for (int i = 0; i < a->list.count; i++)
            put_tensor(out, ATTR_TENSOR, a->list.tensor[i], false);
        break;
    default:
        put_message(out, fields[a->item_kind], packed_size(a));
        write_packed(a, out);
        break;
    }
}

size_t bd_attr_size(const bd_attr *a)
{
    switch (a->kind) {
    case BD_ATTR_NONE: return 0;
    case BD_ATTR_STRING:
    case BD_ATTR_PLACEHOLDER:
    case BD_ATTR_FUNC: return bd_wire_bytes_size(a->s.len);
    case BD_ATTR_INT: return 1 + bd_wire_varint_size((uint64_t)a->i);
    case BD_ATTR_FLOAT: return 5;
    case BD_ATTR_BOOL: return 2;
    case BD_ATTR_TYPE: return 1 + bd_wire_varint_size((uint64_t)a->type);
    case BD_ATTR_SHAPE: return bd_wire_bytes_size(bd_shape_proto_size(&a->shape));
    case BD_ATTR_TENSOR: return bd_wire_bytes_size(tensor_size(a->tensor, a->is_whole));
    case BD_ATTR_LIST: return bd_wire_bytes_size(list_size(a));
    }
    BD_UNREACHABLE();
}

// A member of a oneof is written even when it is zero, because its presence tells which member is set.
void bd_attr_write(const bd_attr *a, bd_wire_writer *out)
{
    switch (a->kind) {
    case BD_ATTR_NONE: break;
    case BD_ATTR_STRING: bd_wire_put_bytes(out, ATTR_S, a->s.data, a->s.len); break;
    case BD_ATTR_PLACEHOLDER: bd_wire_put_bytes(out, ATTR_PLACEHOLDER, a->s.data, a->s.len); break;
    case BD_ATTR_FUNC: bd_wire_put_bytes(out, ATTR_FUNC, a->s.data, a->s.len); break;
    case BD_ATTR_INT: bd_wire_put_uint(out, ATTR_I, (uint64_t)a->i); break;
    case BD_ATTR_FLOAT: put_float(out, ATTR_F, a->f); break;
    case BD_ATTR_BOOL: bd_wire_put_uint(out, ATTR_B, a->b); break;
    case BD_ATTR_TYPE: bd_wire_put_uint(out, ATTR_TYPE, (uint64_t)a->type); break;
    case BD_ATTR_SHAPE: put_shape(out, ATTR_SHAPE, &a->shape); break;
    case BD_ATTR_TENSOR: put_tensor(out, ATTR_TENSOR, a->tensor, a->is_whole); break;
    case BD_ATTR_LIST:
        put_message(out, ATTR_LIST, list_size(a));
        write_list(a, out);
        break;
    }
}
