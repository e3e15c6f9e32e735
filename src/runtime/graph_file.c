// Graphs as files: GraphDef in binary form, or as text, by the file's name.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "graph/graph.h"
#include "io/file.h"
#include "proto/pack.h"
#include <stdlib.h>
#include <string.h>

static bool is_text(const char *path)
{
    return bd_str_ends_with(path, ".pbtxt");
}

braid_code braid_graph_read(braid_graph *g, const char *path, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    char *data;
    size_t len;
    braid_code code = bd_file_read_all(bd_fs_current, path, BD_PROTO_BYTES_MAX, &data, &len, st);
    if (code) return code;
    code = is_text(path) ? braid_graph_import_text(g, data, len, st) : braid_graph_import(g, data, len, st);
    if (code) bd_status_prefix(st, "'%s': ", path);
    bd_free(data);
    return code;
}

braid_code braid_graph_write(const braid_graph *g, const char *path, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    size_t len = 0;
    char *data = is_text(path) ? braid_graph_export_text(g, st) : braid_graph_export(g, &len, st);
    if (!data) return bd_status_prefix(st, "'%s': ", path);
    braid_code code = bd_file_write_atomic(bd_fs_current, path, data, is_text(path) ? strlen(data) : len, st);
    free(data); // the caller's, by free(): we are the caller
    return code;
}
