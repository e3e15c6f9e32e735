// MonitoringService: the task describes itself.
#include "base/alloc.h"
#include "cluster/rpc/server_call.h"
#include "cluster/service/services.h"

// On the thread that has received the call: a pool may be busy, and that is when somebody looks.
static void describe(bd_service_env *env, bd_incoming *call)
{
    bd_arena arena = {0};
    const Braid__DescribeResponse *response =
        bd_describe(&env->description, bd_health_is_serving(env->health), &arena);
    bd_incoming_reply_proto(call, &response->base);
    bd_arena_fini(&arena);
}

// ---- Trace ----

static void free_trace_call(bd_server_call *c)
{
    bd_free(c);
}

static void traced(void *arg, bd_message *metadata, const braid_status *st)
{
    bd_server_call *c = arg;
    if (metadata)
        bd_server_call_reply(c, metadata);
    else
        bd_server_call_reply_error(c, st);
}

static void trace(bd_service_env *env, bd_incoming *call)
{
    bd_server_call *c = bd_calloc(1, sizeof *c);
    bd_server_call_init(c, call, env->cancellation, env->cancellation, free_trace_call);
    bd_master_trace(env->master, c->cancellation, traced, c);
}

const bd_method bd_monitoring_methods[] = {
    {"Describe", BD_ON_ARRIVAL, describe},
    {"Trace", BD_ON_ARRIVAL, trace},
    {NULL, BD_ON_ARRIVAL, NULL},
};
