// Opens a session: in this process, on a server of this process, or on a remote server.
#include "cluster/server_internal.h"
#include "cluster/session/client_session.h"

static braid_code open_session(braid_graph *graph, const braid_session_options *options, bd_session **out,
                               braid_status *st)
{
    if (!graph) return bd_fail(st, BRAID_INVALID_ARGUMENT, "A session needs a graph");
    const braid_code code = braid_graph_status(graph, st);
    if (code) return code;
    if (options->server) {
        const bd_service_env *env = &options->server->env;
        return bd_server_session_new(
            &(bd_server_session_env){env->master, env->notifications, env->cancellation}, options, out, st);
    }
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
