// Elements of string outputs.
#include "ops/string_out.h"

#include "base/alloc.h"
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

bool bd_string_put_tensor(bd_op_ctx *c, const braid_tensor *y, int64_t i, const braid_tensor *t)
{
    bd_message message;
    bd_wire_writer w;
    bd_message_init(&message);
    bd_wire_writer_init(&w, &message);
    bd_tensor_proto_write(t, &w);
    bd_wire_writer_finish(&w);
    char *room = bd_string_room(c, y, i, message.bytes);
    if (room) bd_message_gather(&message, room);
    bd_message_fini(&message);
    return room != NULL;
}
