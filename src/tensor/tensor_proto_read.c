// Reads TensorProto: one pass over the fields finds type, shape and content, a second one (without
// tensor_content) the values. Large memory is allocated only after the message is known to fill it.
#include "tensor/tensor_proto.h"

#include "base/alloc.h"
#include "base/check.h"
#include "tensor/shape_proto.h"
#include "tensor/tensor_form.h"
#include "tensor/variant_proto.h"
#include <string.h>

// The result of the first pass.
struct parts {
    bd_wire_reader whole; // for the second pass
    int64_t dtype;
    bd_shape_proto shape;
    bd_wire_reader content; // empty when there is none
    int depth;              // lists of tensors that the message is in
};

static braid_code invalid(braid_status *st, const char *what)
{
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "TensorProto %s", what);
}

static braid_code truncated(braid_status *st)
{
    return invalid(st, "is truncated or malformed");
}

static braid_code no_memory(braid_status *st, size_t bytes)
{
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "TensorProto: out of memory for a string of %zu bytes",
                   bytes);
}

// ---- First pass ----

static bool find_parts(bd_wire_reader *in, int depth, struct parts *p)
{
    uint32_t field;
    bd_wire_type type;
    *p = (struct parts){.whole = *in, .depth = depth};
    while (bd_wire_next(in, &field, &type)) {
        bd_wire_reader sub;
        uint64_t value;
        if (field == TENSOR_DTYPE && type == BD_WIRE_VARINT) {
            if (bd_wire_get_varint(in, &value)) p->dtype = (int64_t)value;
        } else if (field == TENSOR_SHAPE && type == BD_WIRE_BYTES) {
            if (bd_wire_get_sub(in, &sub) && !bd_shape_proto_read(sub, &p->shape)) return false;
        } else if (field == TENSOR_CONTENT && type == BD_WIRE_BYTES) {
            bd_wire_get_sub(in, &p->content);
        } else {
            bd_wire_skip(in, type);
        }
    }
    return !in->failed;
}

bool bd_tensor_proto_has_content(bd_wire_reader in)
{
    struct parts p;
    return find_parts(&in, 0, &p) && p.content.left > 0;
}

static braid_code check_dtype(int64_t dtype, braid_status *st)
{
    if (dtype == BRAID_INVALID) return invalid(st, "has no element type");
    if (dtype > 0 && dtype < BD_REF_OFFSET && value_form_of((int)dtype).kind != VALUE_NONE) return BRAID_OK;
    if (dtype > BD_REF_OFFSET && dtype < 2 * BD_REF_OFFSET && bd_dtype_is_valid((int)dtype))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "TensorProto has the reference type %s",
                       braid_dtype_name((braid_dtype)dtype));
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "TensorProto has the unknown element type %lld",
                   (long long)dtype);
}

static braid_code check_shape(bd_shape_proto *p, int64_t *count, braid_status *st)
{
    if (p->unknown_rank) return invalid(st, "has a shape of unknown rank");
    if (p->rank > BRAID_RANK_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "TensorProto has %d dimensions; at most %d are supported",
                       p->rank, BRAID_RANK_MAX);
    p->shape.rank = p->rank;
    for (int i = 0; i < p->rank; i++)
        if (p->shape.dims[i] < 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "TensorProto has the negative dimension %lld",
                           (long long)p->shape.dims[i]);
    braid_code code = bd_shape_checked_count(&p->shape, count, st);
    return code ? bd_status_prefix(st, "TensorProto: ") : BRAID_OK;
}

// ---- Plain values ----

struct sink {
    uint8_t *next, *end; // the memory to fill; extra elements are ignored, as in TensorFlow
    struct value_form form;
    bool is_bool;
};

static void put_varint(struct sink *to, uint64_t value)
{
    if (to->next == to->end) return;
    if (to->is_bool) value = value != 0;
    memcpy(to->next, &value, to->form.unit);
    to->next += to->form.unit;
}

// As many values of fixed width as lie in `in`.
static bool take_fixed(bd_wire_reader *in, struct sink *to)
{
    size_t room = (size_t)(to->end - to->next), len = in->left;
    if (len % to->form.unit) return false;
    if (len > room) len = room;
    to->next += len;
    return bd_wire_get_raw(in, to->next - len, len);
}

static bool take_packed(bd_wire_reader *in, struct sink *to)
{
    uint64_t value;
    if (to->form.kind == VALUE_FIXED) return take_fixed(in, to);
    while (in->left && bd_wire_get_varint(in, &value))
        put_varint(to, value);
    return !in->failed;
}

// One occurrence of the value field, packed or not. A field of another wire type is unknown and skipped.
static bool take_value(bd_wire_reader *in, bd_wire_type type, struct sink *to)
{
    bd_wire_reader sub;
    uint64_t value;
    bool fixed = to->form.kind == VALUE_FIXED;
    if (type == BD_WIRE_BYTES) return bd_wire_get_sub(in, &sub) && take_packed(&sub, to);
    if (!fixed && type == BD_WIRE_VARINT) {
        if (!bd_wire_get_varint(in, &value)) return false;
        put_varint(to, value);
        return true;
    }
    if (fixed && type == (to->form.unit == 4 ? BD_WIRE_FIXED32 : BD_WIRE_FIXED64))
        return bd_wire_get_span(in, to->form.unit, &sub) && take_fixed(&sub, to);
    return bd_wire_skip(in, type);
}

// Repeats the last of `filled` elements of `size` bytes (zeros, if there is none) up to `bytes`.
static void splat(uint8_t *data, size_t filled, size_t size, size_t bytes)
{
    size_t done = filled * size;
    if (done == 0) {
        memset(data, 0, bytes);
        return;
    }
    const uint8_t *last = data + done - size;
    for (size_t run = size; done < bytes; run = (size_t)(data + done - last)) {
        if (run > bytes - done) run = bytes - done;
        memcpy(data + done, last, run);
        done += run;
    }
}

static braid_code read_values(struct parts *p, struct value_form form, braid_tensor *t, braid_status *st)
{
    size_t bytes = t->buffer->size, element = (size_t)form.unit * form.per_element;
    struct sink to = {
        .next = t->data, .end = (uint8_t *)t->data + bytes, .form = form, .is_bool = t->dtype == BRAID_BOOL};
    bd_wire_reader in = p->whole;
    uint32_t field;
    bd_wire_type type;
    if (bytes == 0) return BRAID_OK;
    while (bd_wire_next(&in, &field, &type))
        if (!(field == form.field ? take_value(&in, type, &to) : bd_wire_skip(&in, type)))
            return truncated(st);
    splat(t->data, (size_t)(to.next - (uint8_t *)t->data) / element, element, bytes);
    return BRAID_OK;
}

static void make_bools(braid_tensor *t)
{
    uint8_t *data = t->data;
    for (size_t i = 0; i < t->buffer->size; i++)
        data[i] = data[i] != 0;
}

static braid_code read_plain(struct parts *p, struct value_form form, braid_tensor *t, braid_status *st)
{
    if (p->content.left == 0) return read_values(p, form, t, st);
    bool whole = bd_wire_get_raw(&p->content, t->data, t->buffer->size);
    BD_ASSERT(whole); // the length was compared before
    if (t->dtype == BRAID_BOOL) make_bools(t);
    return BRAID_OK;
}

// ---- Strings, handles and variants ----

static braid_code read_string(bd_wire_reader *in, bd_string *s, braid_status *st)
{
    size_t len = in->left;
    char *data = len ? bd_try_malloc(len) : NULL;
    if (len && !data) return no_memory(st, len);
    bd_wire_get_raw(in, data, len);
    *s = (bd_string){.data = data, .len = len};
    return BRAID_OK;
}

static braid_code read_handle(bd_wire_reader *in, bd_resource_handle *h, braid_status *st)
{
    uint32_t field;
    bd_wire_type type;
    char **const texts[] = {[HANDLE_DEVICE] = &h->device,
                            [HANDLE_CONTAINER] = &h->container,
                            [HANDLE_NAME] = &h->name,
                            [HANDLE_TYPE_NAME] = &h->type_name};
    while (bd_wire_next(in, &field, &type)) {
        if (type == BD_WIRE_BYTES && field < BD_COUNTOF(texts) && texts[field]) {
            bd_free(*texts[field]);
            *texts[field] = bd_wire_get_string(in, SIZE_MAX - 1, NULL);
        } else if (field == HANDLE_HASH_CODE && type == BD_WIRE_VARINT) {
            bd_wire_get_varint(in, &h->hash_code);
        } else {
            bd_wire_skip(in, type);
        }
    }
    return in->failed ? truncated(st) : BRAID_OK;
}

static braid_code read_item(const struct parts *p, bd_wire_reader *in, braid_tensor *t, int64_t i,
                            braid_status *st)
{
    switch (t->dtype) {
    case BRAID_STRING: return read_string(in, &bd_tensor_str(t)[i], st);
    case BRAID_VARIANT: return bd_variant_proto_read(*in, p->depth, &bd_tensor_variant(t)[i], st);
    default: return read_handle(in, &bd_tensor_handle(t)[i], st);
    }
}

// The form of tensor_content: all lengths as varints, then all bytes.
static braid_code read_item_list(const struct parts *p, int64_t count, braid_tensor *t, braid_status *st)
{
    uint64_t len, sum = 0;
    bd_wire_reader lengths = p->content, bytes = lengths, item;
    for (int64_t i = 0; i < count; i++)
        if (!bd_wire_get_varint(&bytes, &len) || __builtin_add_overflow(sum, len, &sum)) return truncated(st);
    if (sum != bytes.left)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "TensorProto has strings of %llu bytes in content of %zu",
                       (unsigned long long)sum, bytes.left);
    for (int64_t i = 0; i < count; i++) {
        bd_wire_get_varint(&lengths, &len);
        bd_wire_get_span(&bytes, (size_t)len, &item);
        braid_code code = read_item(p, &item, t, i, st);
        if (code) return code;
    }
    return BRAID_OK;
}

// The last value is repeated for all following elements.
static braid_code splat_items(const struct parts *p, bd_wire_reader last, int64_t from, int64_t count,
                              braid_tensor *t, braid_status *st)
{
    size_t bytes;
    if (t->dtype == BRAID_VARIANT) {
        for (int64_t i = from; i < count; i++)
            bd_tensor_variant_set(t, i, bd_tensor_variant(t)[from - 1]);
        return BRAID_OK;
    }
    if (__builtin_mul_overflow(last.left, (size_t)(count - from), &bytes) ||
        bytes > BD_TENSOR_PROTO_SPLAT_MAX)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "TensorProto repeats a string of %zu bytes %lld times",
                       last.left, (long long)(count - from));
    for (int64_t i = from; i < count; i++) {
        bd_wire_reader in = last;
        braid_code code = read_item(p, &in, t, i, st);
        if (code) return code;
    }
    return BRAID_OK;
}

static braid_code read_items(const struct parts *p, struct value_form form, int64_t count, braid_tensor *t,
                             braid_status *st)
{
    if (p->content.left) return read_item_list(p, count, t, st);
    bd_wire_reader in = p->whole, sub, last = {0};
    uint32_t field;
    bd_wire_type type;
    int64_t i = 0;
    while (i < count && bd_wire_next(&in, &field, &type)) {
        if (field != form.field || type != BD_WIRE_BYTES) {
            bd_wire_skip(&in, type);
            continue;
        }
        if (!bd_wire_get_sub(&in, &sub)) break;
        last = sub;
        braid_code code = read_item(p, &sub, t, i++, st);
        if (code) return code;
    }
    if (in.failed) return truncated(st);
    return i ? splat_items(p, last, i, count, t, st) : BRAID_OK;
}

// ---- The whole ----

static bool is_plain(struct value_form form)
{
    return form.kind != VALUE_STRING && form.kind != VALUE_HANDLE && form.kind != VALUE_VARIANT;
}

// Refuses a tensor that the message cannot fill, before memory is taken for it.
static braid_code check_size(const struct parts *p, struct value_form form, int64_t count, braid_status *st)
{
    char text[BD_SHAPE_STR_MAX];
    const char *name = braid_dtype_name((braid_dtype)p->dtype);
    bool plain = is_plain(form);
    size_t element = plain                        ? (size_t)form.unit * form.per_element
                     : form.kind == VALUE_STRING  ? sizeof(bd_string)
                     : form.kind == VALUE_VARIANT ? sizeof(bd_variant *)
                                                  : sizeof(bd_resource_handle);
    size_t bytes;
    bool fits = !__builtin_mul_overflow((size_t)count, element, &bytes);
    if (p->content.left) {
        bool holds = plain ? fits && p->content.left == bytes : count > 0 && (size_t)count <= p->content.left;
        if (holds) return BRAID_OK;
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "TensorProto has %zu bytes of content for a %s tensor of shape %s", p->content.left,
                       name, bd_shape_str(&p->shape.shape, text));
    }
    // A value takes at least one byte of the message; a shorter list of values is repeated, within limits.
    if (fits && (bytes <= BD_TENSOR_PROTO_SPLAT_MAX || (size_t)count <= p->whole.left)) return BRAID_OK;
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED,
                   "TensorProto of %zu bytes represents a %s tensor of shape %s", p->whole.left, name,
                   bd_shape_str(&p->shape.shape, text));
}

braid_code bd_tensor_proto_read_nested(bd_wire_reader *in, int depth, braid_tensor *t, braid_status *st)
{
    struct parts parts;
    int64_t count = 0;
    *t = (braid_tensor){0};
    if (!find_parts(in, depth, &parts)) return truncated(st);
    struct value_form form = value_form_of((int)parts.dtype);
    braid_code code = check_dtype(parts.dtype, st);
    if (!code) code = check_shape(&parts.shape, &count, st);
    if (!code) code = check_size(&parts, form, count, st);
    if (!code) code = bd_tensor_init(t, (braid_dtype)parts.dtype, &parts.shape.shape, st);
    if (code) return code;
    code = is_plain(form) ? read_plain(&parts, form, t, st) : read_items(&parts, form, count, t, st);
    if (code) bd_tensor_fini(t);
    return code;
}

braid_code bd_tensor_proto_read(bd_wire_reader *in, braid_tensor *t, braid_status *st)
{
    return bd_tensor_proto_read_nested(in, 0, t, st);
}

braid_code bd_tensor_proto_parse(const void *data, size_t len, braid_tensor *t, braid_status *st)
{
    bd_slice slice;
    bd_wire_reader in = bd_wire_reader_block(&slice, data, len);
    return bd_tensor_proto_read(&in, t, st);
}
