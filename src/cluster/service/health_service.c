// gRPC's health checking: Check answers whether a service is served; Watch stays open and reports changes.
//
// A server serves from the moment it listens until it stops, so a watch has two messages: the state at its
// beginning, and NOT_SERVING when the server stops. States of a watch: sending -> waiting (for its token) ->
// sending the last -> replied.
#include "base/alloc.h"
#include "base/thread.h"
#include "cluster/rpc/server_call.h"
#include "cluster/service/services.h"
#include "grpc/health/v1/health.pb-c.h"
#include "proto/pack.h"
#include <string.h>

const char *const bd_public_services[] = {
    "grpc.health.v1.Health",
    "grpc.reflection.v1alpha.ServerReflection",
    "tensorflow.MasterService",
    "tensorflow.WorkerService",
    NULL,
};

// The server as a whole is the service without a name.
static bool is_served(const char *service)
{
    bool found = !service[0];
    for (int i = 0; bd_public_services[i]; i++)
        found = found || strcmp(service, bd_public_services[i]) == 0;
    return found;
}

static Grpc__Health__V1__HealthCheckResponse
answer(Grpc__Health__V1__HealthCheckResponse__ServingStatus status)
{
    Grpc__Health__V1__HealthCheckResponse response = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    response.status = status;
    return response;
}

// ---- Check ----

static void check(bd_service_env *env, bd_incoming *call)
{
    (void)env;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Grpc__Health__V1__HealthCheckRequest *request = bd_proto_unpack_message(
        &grpc__health__v1__health_check_request__descriptor, &call->request, arena, st);
    if (request && !is_served(request->service))
        bd_fail(st, BRAID_NOT_FOUND, "Health: there is no service '%.256s'", request->service);
    const Grpc__Health__V1__HealthCheckResponse response =
        answer(GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING);
    if (st->code)
        bd_incoming_reply_error(call, st);
    else
        bd_incoming_reply_proto(call, &response.base);
}

// ---- Watch ----

typedef struct watch {
    bd_server_call base;
    bd_cancel_hook hook;
    bd_mutex mu;
    bool is_sending, is_over; // guarded by mu; is_over: the server stops, or the client is gone
} watch;

static void free_watch(bd_server_call *base)
{
    watch *w = BD_CONTAINER_OF(base, watch, base);
    bd_mutex_fini(&w->mu);
    bd_free(w);
}

static void send_status(watch *w, Grpc__Health__V1__HealthCheckResponse__ServingStatus status,
                        void (*sent)(void *arg))
{
    const Grpc__Health__V1__HealthCheckResponse response = answer(status);
    bd_message message;
    bd_message_init(&message);
    bd_proto_pack_message(&response.base, &message);
    w->base.call->transport->send(w->base.call, &message, sent, w);
}

static void last_sent(void *arg)
{
    watch *w = arg;
    BD_STATUS(why);
    bd_cancellation_status(w->base.cancellation, why);
    bd_server_call_reply_error(&w->base, why);
}

static void end_watch(watch *w)
{
    send_status(w, GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING, last_sent);
}

static void first_sent(void *arg)
{
    watch *w = arg;
    bd_mutex_lock(&w->mu);
    w->is_sending = false;
    const bool is_over = w->is_over;
    bd_mutex_unlock(&w->mu);
    if (is_over) end_watch(w);
}

static void watch_over(bd_cancel_hook *hook, const braid_status *why)
{
    (void)why;
    watch *w = BD_CONTAINER_OF(hook, watch, hook);
    bd_mutex_lock(&w->mu);
    w->is_over = true;
    const bool is_sending = w->is_sending;
    bd_mutex_unlock(&w->mu);
    if (!is_sending) end_watch(w);
}

static void begin_watch(bd_service_env *env, bd_incoming *call, bool serves)
{
    watch *w = bd_calloc(1, sizeof *w);
    bd_mutex_init(&w->mu);
    w->is_sending = true;
    w->hook.fn = watch_over;
    bd_server_call_init(&w->base, call, env->cancellation, env->cancellation, free_watch);
    if (!bd_cancellation_add(w->base.cancellation, &w->hook)) watch_over(&w->hook, NULL);
    send_status(w,
                serves ? GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
                       : GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN,
                first_sent);
}

static void watch_health(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Grpc__Health__V1__HealthCheckRequest *request = bd_proto_unpack_message(
        &grpc__health__v1__health_check_request__descriptor, &call->request, arena, st);
    if (request && !call->transport->send)
        bd_fail(st, BRAID_UNIMPLEMENTED, "Health.Watch: the transport %s does not stream",
                call->transport->name);
    if (!request || st->code)
        bd_incoming_reply_error(call, st);
    else
        begin_watch(env, call, is_served(request->service));
}

const bd_method bd_health_methods[] = {
    {"Check", BD_ON_ARRIVAL, check},
    {"Watch", BD_ON_ARRIVAL, watch_health},
    {NULL, BD_ON_ARRIVAL, NULL},
};
