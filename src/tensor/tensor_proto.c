// Writing TensorProto.
#include "tensor/tensor_proto.h"

#include "base/check.h"
#include "tensor/shape_proto.h"
#include "tensor/tensor_form.h"
#include "tensor/variant_proto.h"
#include <string.h>

// ---- Sizes ----

static size_t text_size(uint32_t field, const char *text)
{
    return text && *text ? bd_wire_bytes_field_size(field, strlen(text)) : 0;
}

static size_t handle_size(const bd_resource_handle *h)
{
    size_t size = text_size(HANDLE_DEVICE, h->device) + text_size(HANDLE_CONTAINER, h->container) +
                  text_size(HANDLE_NAME, h->name) + text_size(HANDLE_TYPE_NAME, h->type_name);
    return size + (h->hash_code ? bd_wire_uint_field_size(HANDLE_HASH_CODE, h->hash_code) : 0);
}

// The only element as a varint of the wire format.
static uint64_t varint_of(const void *data, struct value_form form)
{
    uint64_t bits = 0;
    memcpy(&bits, data, form.unit);
    if (form.kind == VALUE_UNSIGNED || form.unit == 8) return bits;
    unsigned shift = 64 - 8 * form.unit;
    return (uint64_t)((int64_t)(bits << shift) >> shift);
}

// One element is written to its typed field, where small integers are shorter and texts readable; more
// elements to tensor_content.
static size_t plain_size(const braid_tensor *t, struct value_form form, int64_t count)
{
    if (count == 0) return 0;
    if (count > 1) return bd_wire_bytes_field_size(TENSOR_CONTENT, bd_tensor_bytes(t));
    if (form.kind == VALUE_FIXED)
        return bd_wire_bytes_field_size(form.field, (size_t)form.unit * form.per_element);
    return bd_wire_bytes_field_size(form.field, bd_wire_varint_size(varint_of(t->data, form)));
}

static size_t values_size(const braid_tensor *t, struct value_form form, int64_t count)
{
    size_t size = 0;
    switch (form.kind) {
    case VALUE_STRING:
        for (int64_t i = 0; i < count; i++)
            size += bd_wire_bytes_field_size(form.field, bd_tensor_str(t)[i].len);
        return size;
    case VALUE_HANDLE:
        for (int64_t i = 0; i < count; i++)
            size += bd_wire_bytes_field_size(form.field, handle_size(&bd_tensor_handle(t)[i]));
        return size;
    case VALUE_VARIANT:
        for (int64_t i = 0; i < count; i++)
            size += bd_wire_bytes_field_size(form.field, bd_variant_proto_size(bd_tensor_variant(t)[i]));
        return size;
    default: return plain_size(t, form, count);
    }
}

static size_t size_of(const braid_tensor *t, int64_t count)
{
    return bd_wire_uint_field_size(TENSOR_DTYPE, (uint64_t)t->dtype) +
           bd_wire_bytes_field_size(TENSOR_SHAPE, bd_shape_proto_size(&t->shape)) +
           values_size(t, value_form_of((int)t->dtype), count);
}

// How many elements must be written when a reader repeats the last: one where all are alike.
static int64_t short_count(const braid_tensor *t)
{
    const int64_t count = bd_tensor_count(t);
    const size_t bytes = bd_tensor_bytes(t);
    if (count < 2 || braid_dtype_size(t->dtype) == 0 || bytes > BD_TENSOR_PROTO_SPLAT_MAX) return count;
    const size_t element = bytes / (size_t)count;
    return memcmp(t->data, (const char *)t->data + element, bytes - element) == 0 ? 1 : count;
}

size_t bd_tensor_proto_size(const braid_tensor *t)
{
    return size_of(t, bd_tensor_count(t));
}

size_t bd_tensor_proto_short_size(const braid_tensor *t)
{
    return size_of(t, short_count(t));
}

// ---- Writing ----

static void unref_buffer(void *owner)
{
    bd_buffer_unref(owner);
}

// Bytes that lie in `t`'s buffer or belong to it.
static void put_content(const braid_tensor *t, uint32_t field, const void *data, size_t len,
                        bd_wire_writer *out)
{
    if (len < BD_WIRE_REF_MIN) {
        bd_wire_put_bytes(out, field, data, len);
        return;
    }
    bd_wire_put_head(out, field, len);
    bd_wire_put_ref(
        out,
        (bd_slice){.data = data, .len = len, .release = unref_buffer, .owner = bd_buffer_ref(t->buffer)});
}

static void put_text(uint32_t field, const char *text, bd_wire_writer *out)
{
    if (text && *text) bd_wire_put_bytes(out, field, text, strlen(text));
}

static void put_handle(const bd_resource_handle *h, uint32_t field, bd_wire_writer *out)
{
    bd_wire_put_head(out, field, handle_size(h));
    put_text(HANDLE_DEVICE, h->device, out);
    put_text(HANDLE_CONTAINER, h->container, out);
    put_text(HANDLE_NAME, h->name, out);
    if (h->hash_code) bd_wire_put_uint(out, HANDLE_HASH_CODE, h->hash_code);
    put_text(HANDLE_TYPE_NAME, h->type_name, out);
}

static void put_variant(const bd_variant *v, uint32_t field, bd_wire_writer *out)
{
    bd_wire_put_head(out, field, bd_variant_proto_size(v));
    bd_variant_proto_write(v, out);
}

static void put_plain(const braid_tensor *t, struct value_form form, int64_t count, bd_wire_writer *out)
{
    if (count == 0) return;
    if (count > 1) {
        put_content(t, TENSOR_CONTENT, t->data, bd_tensor_bytes(t), out);
    } else if (form.kind == VALUE_FIXED) {
        bd_wire_put_bytes(out, form.field, t->data, (size_t)form.unit * form.per_element);
    } else {
        uint64_t value = varint_of(t->data, form);
        bd_wire_put_head(out, form.field, bd_wire_varint_size(value));
        bd_wire_put_varint(out, value);
    }
}

static void write_values(const braid_tensor *t, int64_t count, bd_wire_writer *out)
{
    struct value_form form = value_form_of((int)t->dtype);
    BD_ASSERT(form.kind != VALUE_NONE);
    bd_wire_put_uint(out, TENSOR_DTYPE, (uint64_t)t->dtype);
    bd_wire_put_head(out, TENSOR_SHAPE, bd_shape_proto_size(&t->shape));
    bd_shape_proto_write(&t->shape, out);
    switch (form.kind) {
    case VALUE_STRING:
        for (int64_t i = 0; i < count; i++)
            put_content(t, form.field, bd_tensor_str(t)[i].data, bd_tensor_str(t)[i].len, out);
        break;
    case VALUE_HANDLE:
        for (int64_t i = 0; i < count; i++)
            put_handle(&bd_tensor_handle(t)[i], form.field, out);
        break;
    case VALUE_VARIANT:
        for (int64_t i = 0; i < count; i++)
            put_variant(bd_tensor_variant(t)[i], form.field, out);
        break;
    default: put_plain(t, form, count, out);
    }
}

void bd_tensor_proto_write(const braid_tensor *t, bd_wire_writer *out)
{
    write_values(t, bd_tensor_count(t), out);
}

void bd_tensor_proto_short_write(const braid_tensor *t, bd_wire_writer *out)
{
    write_values(t, short_count(t), out);
}

void bd_tensor_proto_put(const braid_tensor *t, uint32_t field, bd_wire_writer *out)
{
    bd_wire_put_head(out, field, bd_tensor_proto_size(t));
    bd_tensor_proto_write(t, out);
}
