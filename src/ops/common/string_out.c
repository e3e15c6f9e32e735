// Elements of string outputs.
#include "ops/common/string_out.h"

#include "base/alloc.h"
#include "tensor/tensor_form.h"
#include "tensor/tensor_proto.h"
#include <string.h>

char *bd_string_room(bd_op_ctx *c, const braid_tensor *y, int64_t i, size_t len)
{
    static char nothing;
    bd_string *s = &bd_tensor_str(y)[i];
    char *data = len > 0 ? bd_try_malloc(len) : &nothing;
    if (!data) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when making a string of %zu bytes", len);
        return NULL;
    }
    bd_free(s->data);
    *s = (bd_string){.data = len > 0 ? data : NULL, .len = len};
    return data;
}

bool bd_string_put(bd_op_ctx *c, const braid_tensor *y, int64_t i, const void *data, size_t len)
{
    char *room = bd_string_room(c, y, i, len);
    if (room && len > 0) memcpy(room, data, len);
    return room != NULL;
}

// Plain elements, also a single one, are written as the bytes they are, as TensorFlow's op does.
static void write_content(const braid_tensor *t, bd_wire_writer *out)
{
    bd_message shape;
    bd_wire_writer w;
    bd_message_init(&shape);
    bd_wire_writer_init(&w, &shape);
    for (int d = 0; d < t->shape.rank; d++) {
        bd_message dim;
        bd_wire_writer dw;
        bd_message_init(&dim);
        bd_wire_writer_init(&dw, &dim);
        if (t->shape.dims[d] > 0) bd_wire_put_uint(&dw, DIM_SIZE, (uint64_t)t->shape.dims[d]);
        bd_wire_writer_finish(&dw);
        bd_wire_put_message(&w, SHAPE_DIM, &dim);
    }
    bd_wire_writer_finish(&w);
    bd_wire_put_uint(out, TENSOR_DTYPE, (uint64_t)t->dtype);
    bd_wire_put_message(out, TENSOR_SHAPE, &shape);
    if (bd_tensor_count(t) == 0) return;
    size_t len = bd_tensor_bytes(t);
    bd_wire_put_tag(out, TENSOR_CONTENT, BD_WIRE_BYTES);
    bd_wire_put_varint(out, len);
    bd_wire_put_ref(out, (bd_slice){.data = t->data, .len = len});
}

bool bd_string_put_tensor(bd_op_ctx *c, const braid_tensor *y, int64_t i, const braid_tensor *t)
{
    bd_message message;
    bd_wire_writer w;
    bd_message_init(&message);
    bd_wire_writer_init(&w, &message);
    if (braid_dtype_size(t->dtype) > 0)
        write_content(t, &w);
    else
        bd_tensor_proto_write(t, &w);
    bd_wire_writer_finish(&w);
    char *room = bd_string_room(c, y, i, message.bytes);
    if (room) bd_message_gather(&message, room);
    bd_message_fini(&message);
    return room != NULL;
}
