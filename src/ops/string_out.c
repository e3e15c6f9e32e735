// Elements of string outputs.
#include "ops/string_out.h"

#include "base/alloc.h"
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
