// Writing of messages within each other.
#include "ops/common/message_out.h"

#include "base/wire.h"
#include "ops/common/string_out.h"
#include <string.h>

static void put_raw(bd_message_out *out, const void *data, size_t len)
{
    if (out->to && len > 0) {
        memcpy(out->to, data, len);
        out->to += len;
    }
    out->len += len;
}

void bd_emit_varint(bd_message_out *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t len = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[len++] = (uint8_t)(value | 0x80);
    bytes[len++] = (uint8_t)value;
    put_raw(out, bytes, len);
}

static void put_tag(bd_message_out *out, uint32_t field, bd_wire_type type)
{
    bd_emit_varint(out, (uint64_t)field << 3 | type);
}

void bd_emit_int(bd_message_out *out, uint32_t field, int64_t value)
{
    put_tag(out, field, BD_WIRE_VARINT);
    bd_emit_varint(out, (uint64_t)value);
}

void bd_emit_float(bd_message_out *out, uint32_t field, float value)
{
    put_tag(out, field, BD_WIRE_FIXED32);
    put_raw(out, &value, sizeof value);
}

void bd_emit_bytes(bd_message_out *out, uint32_t field, const void *data, size_t len)
{
    put_tag(out, field, BD_WIRE_BYTES);
    bd_emit_varint(out, len);
    put_raw(out, data, len);
}

void bd_emit_message(bd_message_out *out, uint32_t field, bd_emit_fn put, const void *arg)
{
    bd_message_out size = {0};
    put(&size, arg);
    put_tag(out, field, BD_WIRE_BYTES);
    bd_emit_varint(out, size.len);
    if (out->to)
        put(out, arg);
    else
        out->len += size.len;
}

bool bd_output_message(bd_op_ctx *c, const braid_tensor *y, int64_t at, bd_emit_fn put, const void *arg)
{
    bd_message_out size = {0};
    put(&size, arg);
    bd_message_out out = {bd_string_room(c, y, at, size.len), 0};
    if (out.to) put(&out, arg);
    return out.to != NULL;
}
