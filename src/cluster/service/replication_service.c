// ReplicationService on the wire: the calls between the two processes of a replicated task.
#include "base/status.h"
#include "cluster/rpc/rpc.h"
#include "cluster/service/services.h"

static bool refuse_unreplicated(const bd_service_env *env, bd_incoming *call)
{
    if (env->replication) return false;
    BD_STATUS(st);
    bd_fail(st, BRAID_FAILED_PRECONDITION, "%s has one process", env->peers->self->label);
    bd_incoming_reply_error(call, st);
    return true;
}

static void hello(bd_service_env *env, bd_incoming *call)
{
    if (!refuse_unreplicated(env, call)) bd_replication_serve_hello(env->replication, call);
}

static void follow(bd_service_env *env, bd_incoming *call)
{
    if (!refuse_unreplicated(env, call)) bd_replication_serve_follow(env->replication, call);
}

static void transfer(bd_service_env *env, bd_incoming *call)
{
    if (!refuse_unreplicated(env, call)) bd_replication_serve_transfer(env->replication, call);
}

const bd_method bd_replication_methods[] = {
    {"Hello", BD_ON_ARRIVAL, hello},
    {"Follow", BD_ON_ARRIVAL, follow},
    {"Transfer", BD_ON_POOL, transfer},
    {NULL, BD_ON_ARRIVAL, NULL},
};
