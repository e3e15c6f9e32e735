// Opening a session: in this process, on a server of this process, or on a server elsewhere.
#include "base/alloc.h"
#include "cluster/session/client_session.h"
#include <string.h>

bd_device_info *bd_device_infos_copy(const bd_device_info *devices, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += strlen(devices[i].name) + strlen(devices[i].type) + 2;
    bd_device_info *copy = bd_malloc((size_t)count * sizeof *copy + bytes);
    char *text = (char *)(copy + count);
    for (int i = 0; i < count; i++) {
        copy[i] = devices[i];
        copy[i].name = strcpy(text, devices[i].name);
        text += strlen(text) + 1;
        copy[i].type = strcpy(text, devices[i].type);
        text += strlen(text) + 1;
    }
    return copy;
}

static braid_code open_session(braid_graph *graph, const braid_session_options *options, bd_session **out,
                               braid_status *st)
{
    if (!graph) return bd_fail(st, BRAID_INVALID_ARGUMENT, "A session needs a graph");
    const braid_code code = braid_graph_status(graph, st);
    if (code) return code;
    if (options->server) return bd_server_session_new(options, out, st);
    if (!options->target || !options->target[0]) return bd_direct_session_new(options, out, st);
    return bd_remote_session_new(options, NULL, out, st);
}

braid_session *braid_session_open(braid_graph *graph, const braid_session_options *options,
                                  braid_status *status)
{
    static const braid_session_options defaults;
    BD_STATUS(unwanted);
    bd_session *impl;
    if (open_session(graph, options ? options : &defaults, &impl, status ? status : unwanted)) return NULL;
    return bd_session_wrap(graph, impl);
}
