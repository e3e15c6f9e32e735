// The fields of RecvTensorResponse, written and read.
#include "cluster/rpc/recv_tensor_response.h"
#include "base/clock.h"
#include "cluster/rpc/wire_fields.h"
#include "tensor/tensor_proto.h"

enum {
    TENSOR = 1,
    IS_DEAD = 2,
    SEND_START_MICROS = 3,
};

uint64_t bd_recv_tensor_response_put(bd_chunk_store *chunks, int64_t step_id, const braid_tensor *tensor,
                                     bool is_dead, const bd_peer *to, bd_wire_writer *out)
{
    const bool may_hold = !is_dead && chunks && bd_tensor_is_chunked(tensor, to);
    const uint64_t held = may_hold ? bd_chunk_store_put(chunks, step_id, tensor, to, out) : 0;
    if (!is_dead && !held) bd_tensor_proto_put(tensor, TENSOR, out);
    if (is_dead) bd_wire_put_uint(out, IS_DEAD, 1);
    bd_wire_put_uint(out, SEND_START_MICROS, (uint64_t)bd_wall_micros());
    return held;
}

void bd_recv_tensor_response_fini(bd_recv_tensor_response *a)
{
    bd_tensor_fini(&a->tensor);
    *a = (bd_recv_tensor_response){0};
}

static braid_code read_field(bd_wire_reader *in, uint32_t field, bd_wire_type type,
                             bd_recv_tensor_response *out, braid_status *st)
{
    bd_wire_reader sub;
    uint64_t value;
    if (field == TENSOR && type == BD_WIRE_BYTES) {
        if (!bd_wire_get_sub(in, &sub)) return BRAID_OK;
        bd_tensor_fini(&out->tensor);
        return bd_tensor_proto_read(&sub, &out->tensor, st);
    }
    if (field == IS_DEAD && type == BD_WIRE_VARINT) {
        if (bd_wire_get_varint(in, &value)) out->is_dead = value != 0;
    } else if (field == BD_RECV_CHUNKS && type == BD_WIRE_BYTES) {
        out->has_chunks = bd_wire_get_sub(in, &out->chunks);
    } else if (field == BD_RECV_FIRST_CHUNK && type == BD_WIRE_BYTES) {
        bd_wire_get_sub(in, &out->first_chunk);
    } else if (field == BD_PUSHED_KEY && type == BD_WIRE_BYTES) {
        bd_wire_get_sub(in, &out->key);
    } else {
        bd_wire_skip(in, type);
    }
    return BRAID_OK;
}

braid_code bd_recv_tensor_response_read(bd_wire_reader in, bd_recv_tensor_response *out, braid_status *st)
{
    uint32_t field;
    bd_wire_type type;
    *out = (bd_recv_tensor_response){0};
    while (!st->code && bd_wire_next(&in, &field, &type))
        read_field(&in, field, type, out, st);
    if (!st->code && (in.failed || (!out->is_dead && !out->has_chunks && !bd_tensor_is_set(&out->tensor))))
        bd_fail(st, BRAID_INTERNAL, "a tensor of it is malformed");
    if (st->code) bd_recv_tensor_response_fini(out);
    return st->code;
}
