// Opens a session: in this process, on a server of this process, or on a remote server.
#include "cluster/server_internal.h"
#include "cluster/session/client_session.h"

static bd_server_session_env env_of(const braid_server *server)
{
    const bd_service_env *env = &server->env;
    return (bd_server_session_env){env->master, env->notifications, env->cancellation, env->session_clusters};
}

static braid_code open_session(braid_graph *graph, const braid_session_options *options, bd_session **out,
                               braid_status *st)
{
    if (!graph) return bd_fail(st, BRAID_INVALID_ARGUMENT, "A session needs a graph");
    const braid_code code = braid_graph_status(graph, st);
    if (code) return code;
    if (options->server) {
        const bd_server_session_env env = env_of(options->server);
        return bd_server_session_new(&env, options, out, st);
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

braid_code braid_session_reset(const braid_session_options *options, const char *const *containers, int count,
                               braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    if (options && options->server) {
        const bd_server_session_env env = env_of(options->server);
        return bd_server_session_reset(&env, options, containers, count, st);
    }
    if (options && options->target && options->target[0])
        return bd_remote_session_reset(options, containers, count, st);
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "Reset needs the target of a server: a session in this process has its own resources, and "
                   "closing it frees them");
}
