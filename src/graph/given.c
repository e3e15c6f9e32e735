// Messages for callers: written, then copied into one block.
#include "graph/given.h"

#include <stdlib.h>

bd_wire_writer *bd_given_begin(bd_given *g)
{
    bd_message_init(&g->message);
    bd_wire_writer_init(&g->w, &g->message);
    return &g->w;
}

void *bd_given_end(bd_given *g, const char *what, size_t *len, braid_status *st)
{
    bd_wire_writer_finish(&g->w);
    const size_t bytes = g->message.bytes;
    void *data = malloc(bytes ? bytes : 1); // the caller's, by free(): not from our allocator
    if (data)
        bd_message_gather(&g->message, data);
    else
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "No memory for %s of %zu bytes", what, bytes);
    *len = data ? bytes : 0;
    bd_message_fini(&g->message);
    return data;
}

void bd_given_drop(bd_given *g)
{
    bd_wire_writer_finish(&g->w);
    bd_message_fini(&g->message);
}

void bd_given_put(bd_given *g, bd_wire_writer *outer, uint32_t field)
{
    bd_wire_writer_finish(&g->w);
    bd_wire_put_message(outer, field, &g->message);
    bd_message_fini(&g->message);
}
