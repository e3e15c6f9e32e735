// GraphDef as text: import and export in protobuf's text format.
#include "graph/graph.h"

#include "base/alloc.h"
#include "base/wire.h"
#include "proto/pack.h"
#include "proto/text_format.h"
#include "tensorflow/core/framework/graph.pb-c.h"
#include <stdlib.h>
#include <string.h>

braid_code braid_graph_import_text(braid_graph *g, const char *text, size_t len, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    bd_message m;
    bd_message_init(&m);
    braid_code code = bd_text_format_to_wire(&tensorflow__graph_def__descriptor, text, len, &m, st);
    if (!code) code = bd_graph_import_message(g, &m, st);
    bd_message_fini(&m);
    return code;
}

char *braid_graph_export_text(const braid_graph *g, braid_status *status)
{
    BD_STATUS(own);
    BD_PROTO_ARENA(arena);
    braid_status *st = status ? status : own;
    size_t len;
    void *data = braid_graph_export(g, &len, st);
    if (!data) return NULL;
    const ProtobufCMessage *m = bd_proto_unpack(&tensorflow__graph_def__descriptor, data, len, arena, st);
    free(data); // the caller's, by free(): we are the caller
    if (!m) return NULL;
    char *text = bd_text_format_print(m);
    char *given = strdup(text); // the caller's, by free(): not from our allocator
    bd_free(text);
    if (!given) bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "No memory for the text of a graph");
    return given;
}
