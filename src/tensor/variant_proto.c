// Variants on the wire. A list of tensors is its name, its tensors, and metadata: how many elements are not
// set and which, as varints; then element type, most elements, and the elements' shape as a message.
#include "tensor/variant_proto.h"

#include "base/alloc.h"
#include "tensor/shape_proto.h"
#include "tensor/tensor_form.h"
#include "tensor/tensor_list.h"
#include "tensor/tensor_proto.h"
#include <string.h>

// A limit for nested lists, and of their tensors in all (one list may occur in many places): deeper lists are
// written by name only.
#define DEPTH_MAX 32
#define TENSORS_MAX (INT64_C(1) << 24)

// ---- Writing ----

static bool fits(const bd_tensor_list *l, int depth, int64_t *left)
{
    *left -= l->count;
    if (depth == DEPTH_MAX || *left < 0) return false;
    for (int64_t i = 0; l->element_dtype == BRAID_VARIANT && i < l->count; i++) {
        const braid_tensor *t = &l->items[i];
        int64_t count = bd_tensor_is_set(t) ? bd_tensor_count(t) : 0;
        for (int64_t k = 0; k < count; k++) {
            const bd_tensor_list *inner = bd_tensor_list_of(bd_tensor_variant(t)[k]);
            if (--*left < 0 || (inner && !fits(inner, depth + 1, left))) return false;
        }
    }
    return true;
}

// The list that is written with its content; NULL: there is none.
static const bd_tensor_list *list_to_write(const bd_variant *v)
{
    int64_t left = TENSORS_MAX;
    const bd_tensor_list *l = bd_tensor_list_of((bd_variant *)v);
    return l && fits(l, 0, &left) ? l : NULL;
}

static int64_t count_unset(const bd_tensor_list *l)
{
    int64_t count = 0;
    for (int64_t i = 0; i < l->count; i++)
        count += !bd_tensor_is_set(&l->items[i]);
    return count;
}

static size_t metadata_size(const bd_tensor_list *l)
{
    size_t size = bd_wire_varint_size((uint64_t)count_unset(l)) +
                  bd_wire_varint_size((uint64_t)l->element_dtype) +
                  bd_wire_varint_size((uint64_t)l->max_elements);
    for (int64_t i = 0; i < l->count; i++)
        if (!bd_tensor_is_set(&l->items[i])) size += bd_wire_varint_size((uint64_t)i);
    return size + bd_shape_proto_size(&l->element_shape);
}

static void put_metadata(const bd_tensor_list *l, bd_wire_writer *out)
{
    bd_wire_put_head(out, VARIANT_METADATA, metadata_size(l));
    bd_wire_put_varint(out, (uint64_t)count_unset(l));
    for (int64_t i = 0; i < l->count; i++)
        if (!bd_tensor_is_set(&l->items[i])) bd_wire_put_varint(out, (uint64_t)i);
    bd_wire_put_varint(out, (uint64_t)l->element_dtype);
    bd_wire_put_varint(out, (uint64_t)l->max_elements);
    bd_shape_proto_write(&l->element_shape, out);
}

size_t bd_variant_proto_size(const bd_variant *v)
{
    if (!v) return 0;
    size_t size = bd_wire_bytes_field_size(VARIANT_TYPE_NAME, strlen(v->type->name));
    const bd_tensor_list *l = list_to_write(v);
    if (!l) return size;
    size += bd_wire_bytes_field_size(VARIANT_METADATA, metadata_size(l));
    for (int64_t i = 0; i < l->count; i++)
        if (bd_tensor_is_set(&l->items[i]))
            size += bd_wire_bytes_field_size(VARIANT_TENSORS, bd_tensor_proto_size(&l->items[i]));
    return size;
}

void bd_variant_proto_write(const bd_variant *v, bd_wire_writer *out)
{
    if (!v) return;
    bd_wire_put_bytes(out, VARIANT_TYPE_NAME, v->type->name, strlen(v->type->name));
    const bd_tensor_list *l = list_to_write(v);
    if (!l) return;
    put_metadata(l, out);
    for (int64_t i = 0; i < l->count; i++)
        if (bd_tensor_is_set(&l->items[i])) bd_tensor_proto_put(&l->items[i], VARIANT_TENSORS, out);
}

// ---- Reading ----

// The result of the first pass.
typedef struct parts {
    char *name; // owned; NULL when there is none
    bd_wire_reader whole, metadata;
    int64_t tensor_count;
} parts;

static braid_code malformed(braid_status *st)
{
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "TensorProto has a malformed variant of type %s",
                   bd_tensor_list_type.name);
}

static bool find_parts(bd_wire_reader in, parts *p)
{
    enum {
        NAME_MAX_LEN = 256
    };
    uint32_t field;
    bd_wire_type type;
    bd_wire_reader tensor;
    *p = (parts){.whole = in};
    while (bd_wire_next(&in, &field, &type)) {
        if (field == VARIANT_TYPE_NAME && type == BD_WIRE_BYTES) {
            bd_free(p->name);
            p->name = bd_wire_get_string(&in, NAME_MAX_LEN, NULL);
        } else if (field == VARIANT_METADATA && type == BD_WIRE_BYTES) {
            bd_wire_get_sub(&in, &p->metadata);
        } else if (field == VARIANT_TENSORS && type == BD_WIRE_BYTES) {
            if (bd_wire_get_sub(&in, &tensor)) p->tensor_count++;
        } else {
            bd_wire_skip(&in, type);
        }
    }
    return !in.failed;
}

static bool next_varint(bd_wire_reader *in, uint64_t *value)
{
    return in->left > 0 && bd_wire_get_varint(in, value);
}

// The list of unset elements is first, and is read again when they are placed; `m` is moved past it.
static bool find_count(bd_wire_reader *m, int64_t tensor_count, int64_t *count)
{
    uint64_t unset, index, before = 0;
    if (!next_varint(m, &unset) || unset > m->left) return false;
    *count = tensor_count + (int64_t)unset;
    for (uint64_t i = 0; i < unset; i++) {
        if (!next_varint(m, &index) || index >= (uint64_t)*count || (i > 0 && index <= before)) return false;
        before = index;
    }
    return true;
}

static bool read_header(bd_wire_reader *m, bd_tensor_list **l)
{
    uint64_t dtype, max_elements;
    bd_shape_proto shape = {0};
    if (!next_varint(m, &dtype) || !next_varint(m, &max_elements) || !bd_shape_proto_read(*m, &shape) ||
        dtype == BRAID_INVALID || dtype >= BD_REF_OFFSET || value_form_of((int)dtype).kind == VALUE_NONE ||
        (!shape.unknown_rank && shape.rank > BRAID_RANK_MAX))
        return false;
    shape.shape.rank = shape.unknown_rank ? -1 : shape.rank;
    for (int i = 0; i < shape.shape.rank; i++)
        if (shape.shape.dims[i] < -1) return false;
    *l = bd_tensor_list_new((braid_dtype)dtype, &shape.shape, (int32_t)max_elements);
    return true;
}

static braid_code read_element(bd_wire_reader *in, int depth, const bd_tensor_list *l, braid_tensor *t,
                               braid_status *st)
{
    uint32_t field;
    bd_wire_type type;
    bd_wire_reader sub;
    while (bd_wire_next(in, &field, &type) && (field != VARIANT_TENSORS || type != BD_WIRE_BYTES))
        bd_wire_skip(in, type);
    if (!bd_wire_get_sub(in, &sub)) return malformed(st);
    braid_code code = bd_tensor_proto_read_nested(&sub, depth + 1, t, st);
    return !code && t->dtype != l->element_dtype ? malformed(st) : code;
}

// The elements, in a list that has a place for each.
static braid_code read_elements(const parts *p, int depth, bd_tensor_list *l, braid_status *st)
{
    bd_wire_reader in = p->whole, unset = p->metadata;
    uint64_t left, next = UINT64_MAX;
    braid_code code = BRAID_OK;
    bd_wire_get_varint(&unset, &left);
    if (left > 0) bd_wire_get_varint(&unset, &next);
    for (int64_t i = 0; i < l->count && !code; i++) {
        if ((uint64_t)i != next)
            code = read_element(&in, depth, l, &l->items[i], st);
        else if (--left > 0)
            bd_wire_get_varint(&unset, &next);
    }
    return code;
}

static braid_code read_list(const parts *p, int depth, bd_variant **v, braid_status *st)
{
    bd_wire_reader m = p->metadata;
    bd_tensor_list *l;
    int64_t count;
    if (depth == DEPTH_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "TensorProto has lists of tensors nested more than %d deep", DEPTH_MAX);
    if (!find_count(&m, p->tensor_count, &count) || !read_header(&m, &l)) return malformed(st);
    braid_code code = bd_tensor_list_resize(l, count)
                          ? read_elements(p, depth, l, st)
                          : bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "TensorProto has a list of %lld tensors",
                                    (long long)count);
    if (code)
        bd_variant_unref(&l->base);
    else
        *v = &l->base;
    return code;
}

braid_code bd_variant_proto_read(bd_wire_reader in, int depth, bd_variant **v, braid_status *st)
{
    parts p;
    braid_code code;
    *v = NULL;
    if (in.left == 0) return BRAID_OK;
    if (!find_parts(in, &p))
        code = bd_fail(st, BRAID_INVALID_ARGUMENT, "TensorProto has a truncated or malformed variant");
    else if (p.name && strcmp(p.name, bd_tensor_list_type.name) == 0 && p.metadata.left > 0)
        code = read_list(&p, depth, v, st);
    else
        code = bd_fail(
            st, BRAID_UNIMPLEMENTED,
            "TensorProto of type variant cannot be read: a value of type %s cannot leave the process that "
            "made it; place the ops that make and use it on one task",
            p.name ? p.name : "unknown");
    bd_free(p.name);
    return code;
}
