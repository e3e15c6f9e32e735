// MonitoringService: the task describes itself.
#include "cluster/rpc/rpc.h"
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

const bd_method bd_monitoring_methods[] = {
    {"Describe", BD_ON_ARRIVAL, describe},
    {NULL, BD_ON_ARRIVAL, NULL},
};
