// Descriptors of messages, and messages on the wire.
#include "ops/parsing/proto_source.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/thread.h"
#include "base/wire.h"

#include <string.h>

// ---- Descriptors ----

#define BYTES_SOURCE "bytes://"

void bd_proto_source_init(bd_proto_source *s)
{
    bd_mutex_init(&s->mu);
}

void bd_proto_source_fini(bd_proto_source *s)
{
    bd_descriptor_pool_free(s->pool);
    bd_free((void *)s->fields);
    bd_mutex_fini(&s->mu);
}

static bool begins_with(bd_bytes text, const char *prefix)
{
    return text.len >= strlen(prefix) && memcmp(text.data, prefix, strlen(prefix)) == 0;
}

// The pool that the node names, which `*owned` is unless it is Braid's own.
static const bd_descriptor_pool *read_pool(bd_op_ctx *c, bd_descriptor_pool **owned)
{
    const bd_bytes source = bd_node_attr(c->node, "descriptor_source")->s;
    char *read = NULL;
    size_t len = 0;
    BD_STATUS(st);
    if (source.len == 0 || (begins_with(source, "local://") && source.len == strlen("local://")))
        return bd_descriptor_pool_of_braid();
    const void *data;
    if (begins_with(source, BYTES_SOURCE)) {
        data = (const char *)source.data + strlen(BYTES_SOURCE);
        len = source.len - strlen(BYTES_SOURCE);
    } else {
        char *path = bd_strndup((const char *)source.data, source.len);
        const braid_code code = bd_file_read_all(bd_op_fs(c), path, INT32_MAX, &read, &len, st);
        bd_free(path);
        if (code) {
            bd_op_fail_status(c, st);
            return NULL;
        }
        data = read;
    }
    if (bd_descriptor_pool_new(data, len, owned, st)) {
        bd_status_prefix(st, "descriptor_source is not a FileDescriptorSet that can be used: ");
        bd_op_fail_status(c, st);
    }
    bd_free(read);
    return *owned;
}

static char *text_of(bd_bytes b)
{
    return bd_strndup((const char *)b.data, b.len);
}

static const bd_message_type *find_type(bd_op_ctx *c, const bd_descriptor_pool *pool)
{
    const char *name = bd_node_attr_string(c->node, "message_type");
    const bd_message_type *type = bd_descriptor_pool_find(pool, name);
    if (!type) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "No descriptor found for message type %s", name);
    return type;
}

static const bd_message_field **find_fields(bd_op_ctx *c, const bd_message_type *type)
{
    const bd_attr *names = bd_node_attr(c->node, "field_names");
    const bd_message_field **fields = bd_calloc((size_t)names->list.count + 1, sizeof *fields);
    for (int i = 0; i < names->list.count && !bd_op_failed(c); i++) {
        char *name = text_of(names->list.s[i]);
        fields[i] = bd_message_type_find(type, name);
        if (!fields[i])
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Unknown field: %s in message type %s", name,
                       bd_message_type_name(type));
        bd_free(name);
    }
    return fields;
}

static void find_locked(bd_op_ctx *c, bd_proto_source *s)
{
    bd_descriptor_pool *owned = NULL;
    const bd_descriptor_pool *pool = read_pool(c, &owned);
    const bd_message_type *type = pool ? find_type(c, pool) : NULL;
    const bd_message_field **fields = type ? find_fields(c, type) : NULL;
    if (bd_op_failed(c)) {
        bd_free((void *)fields);
        bd_descriptor_pool_free(owned);
        return;
    }
    s->pool = owned;
    s->fields = fields;
    s->type = type;
}

bool bd_proto_source_find(bd_op_ctx *c, bd_proto_source *s)
{
    bd_mutex_lock(&s->mu);
    if (!s->type) find_locked(c, s);
    bd_mutex_unlock(&s->mu);
    return !bd_op_failed(c);
}

bool bd_proto_field_has_dtype(bd_field_type type, braid_dtype dtype)
{
    switch (type) {
    case BD_FIELD_DOUBLE: return dtype == BRAID_DOUBLE;
    case BD_FIELD_FLOAT: return dtype == BRAID_FLOAT || dtype == BRAID_DOUBLE;
    case BD_FIELD_INT64:
    case BD_FIELD_SFIXED64:
    case BD_FIELD_SINT64: return dtype == BRAID_INT64;
    case BD_FIELD_UINT64:
    case BD_FIELD_FIXED64: return dtype == BRAID_UINT64;
    case BD_FIELD_INT32:
    case BD_FIELD_SFIXED32:
    case BD_FIELD_SINT32: return dtype == BRAID_INT32 || dtype == BRAID_INT64;
    case BD_FIELD_UINT32:
    case BD_FIELD_FIXED32: return dtype == BRAID_UINT32 || dtype == BRAID_UINT64;
    case BD_FIELD_BOOL: return dtype == BRAID_BOOL;
    case BD_FIELD_ENUM: return dtype == BRAID_INT32;
    default: return dtype == BRAID_STRING;
    }
}

// ---- Messages ----

bd_proto_wire bd_proto_wire_of(bd_field_type type)
{
    switch (type) {
    case BD_FIELD_DOUBLE:
    case BD_FIELD_FIXED64:
    case BD_FIELD_SFIXED64: return BD_PROTO_64_BITS;
    case BD_FIELD_FLOAT:
    case BD_FIELD_FIXED32:
    case BD_FIELD_SFIXED32: return BD_PROTO_32_BITS;
    case BD_FIELD_STRING:
    case BD_FIELD_BYTES:
    case BD_FIELD_MESSAGE: return BD_PROTO_LENGTH;
    case BD_FIELD_GROUP: return BD_PROTO_GROUP;
    default: return BD_PROTO_VARINT;
    }
}

static bool read_varint(bd_proto_bytes *in, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 70 && in->at < in->end; shift += 7) {
        const uint8_t byte = *in->at++;
        if (shift < 64) *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool read_little_endian(bd_proto_bytes *in, int bytes, uint64_t *value)
{
    *value = 0;
    if (in->end - in->at < bytes) return false;
    for (int i = 0; i < bytes; i++)
        *value |= (uint64_t)*in->at++ << (8 * i);
    return true;
}

bool bd_proto_read_tag(bd_proto_bytes *in, uint32_t *number, bd_proto_wire *wire)
{
    uint64_t tag;
    if (!read_varint(in, &tag) || tag > UINT32_MAX || tag >> 3 == 0) return false;
    *number = (uint32_t)(tag >> 3);
    *wire = (bd_proto_wire)(tag & 7);
    return true;
}

static bool read_one(bd_proto_bytes *in, uint32_t number, bd_proto_wire wire, int depth,
                     bd_proto_value *value);

// Moves behind the end of group `number`; `bytes` are those of the group.
static bool read_group(bd_proto_bytes *in, uint32_t number, int depth, bd_proto_bytes *bytes)
{
    bytes->at = in->at;
    while (depth < BD_WIRE_DEPTH_MAX) {
        uint32_t inner;
        bd_proto_wire wire;
        bd_proto_value ignored;
        bytes->end = in->at;
        if (!bd_proto_read_tag(in, &inner, &wire)) return false;
        if (wire == BD_PROTO_GROUP_END) return inner == number;
        if (!read_one(in, inner, wire, depth + 1, &ignored)) return false;
    }
    return false;
}

static bool read_one(bd_proto_bytes *in, uint32_t number, bd_proto_wire wire, int depth,
                     bd_proto_value *value)
{
    uint64_t len;
    switch (wire) {
    case BD_PROTO_VARINT: return read_varint(in, &value->bits);
    case BD_PROTO_64_BITS: return read_little_endian(in, 8, &value->bits);
    case BD_PROTO_32_BITS: return read_little_endian(in, 4, &value->bits);
    case BD_PROTO_GROUP: return read_group(in, number, depth, &value->bytes);
    case BD_PROTO_LENGTH:
        if (!read_varint(in, &len) || len > (uint64_t)(in->end - in->at)) return false;
        value->bytes = (bd_proto_bytes){in->at, in->at + len};
        in->at += len;
        return true;
    default: return false;
    }
}

bool bd_proto_read_value(bd_proto_bytes *in, uint32_t number, bd_proto_wire wire, bd_proto_value *value)
{
    return read_one(in, number, wire, 0, value);
}

static bool is_packable(bd_proto_wire wire)
{
    return wire != BD_PROTO_LENGTH && wire != BD_PROTO_GROUP;
}

// The values that a field on the wire has for one that is wanted. False: it is malformed.
static bool give_values(const bd_message_field *field, bd_proto_wire wire, const bd_proto_value *value, int i,
                        bd_proto_value_fn fn, void *arg)
{
    const bd_proto_wire wanted = bd_proto_wire_of(field->type);
    if (wire == wanted) return fn(arg, i, value);
    if (wire != BD_PROTO_LENGTH || !is_packable(wanted)) return true;
    bd_proto_bytes packed = value->bytes;
    for (int64_t k = 0; packed.at < packed.end && !bd_interrupted_at(k); k++) {
        bd_proto_value one;
        if (!bd_proto_read_value(&packed, field->number, wanted, &one) || !fn(arg, i, &one)) return false;
    }
    return true;
}

bool bd_proto_each(bd_proto_bytes message, const bd_message_field *const *fields, int count,
                   bd_proto_value_fn fn, void *arg)
{
    for (int64_t k = 0; message.at < message.end && !bd_interrupted_at(k); k++) {
        uint32_t number;
        bd_proto_wire wire;
        bd_proto_value value = {0};
        if (!bd_proto_read_tag(&message, &number, &wire) ||
            !bd_proto_read_value(&message, number, wire, &value))
            return false;
        for (int i = 0; i < count; i++)
            if (fields[i]->number == number && !give_values(fields[i], wire, &value, i, fn, arg))
                return false;
    }
    return true;
}

static bool take_nothing(void *arg, int i, const bd_proto_value *value)
{
    (void)arg;
    (void)i;
    (void)value;
    return true;
}

static const bd_message_field *field_numbered(const bd_message_type *type, uint32_t number)
{
    int from = 0, to = bd_message_type_field_count(type);
    while (from < to) {
        const int middle = from + (to - from) / 2;
        const bd_message_field *f = bd_message_type_field(type, middle);
        if (f->number == number) return f;
        if (f->number < number)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

static bool is_valid(const bd_message_type *type, bd_proto_bytes message, int depth)
{
    if (depth >= BD_WIRE_DEPTH_MAX) return false;
    for (int64_t k = 0; message.at < message.end && !bd_interrupted_at(k); k++) {
        uint32_t number;
        bd_proto_wire wire;
        bd_proto_value value = {0};
        if (!bd_proto_read_tag(&message, &number, &wire) ||
            !bd_proto_read_value(&message, number, wire, &value))
            return false;
        const bd_message_field *f = field_numbered(type, number);
        if (!f) continue;
        if (!give_values(f, wire, &value, 0, take_nothing, NULL)) return false;
        if (f->message && wire == bd_proto_wire_of(f->type) && !is_valid(f->message, value.bytes, depth + 1))
            return false;
    }
    return true;
}

bool bd_proto_is_valid(const bd_message_type *type, bd_proto_bytes message)
{
    return is_valid(type, message, 0);
}
