// gRPC's health checking: Check answers whether a service is served; Watch stays open and reports changes.
//
// A server of a task with one address serves from the moment it listens until it stops. A process of a task
// with two addresses serves while bd_health_set_serving says so. A watch sends the state at its beginning,
// each change, and NOT_SERVING when the server stops. States of a watch:
//
//   sending -> idle      the message is sent
//   idle -> sending      the state is another one than the watch has sent
//   idle -> sending the last -> replied      the server stops, or the client is gone (is_over)
//
// The thread that sets is_sending under the lock sends the message after it. No other thread may touch the
// watch without the lock.
#include "base/alloc.h"
#include "base/check.h"
#include "base/thread.h"
#include "cluster/rpc/server_call.h"
#include "cluster/service/services.h"
#include "grpc/health/v1/health.pb-c.h"
#include "proto/pack.h"
#include <string.h>

const char *const bd_public_services[] = {
    "braid.MonitoringService",  "grpc.health.v1.Health",    "grpc.reflection.v1alpha.ServerReflection",
    "tensorflow.MasterService", "tensorflow.WorkerService", NULL,
};

// The server as a whole is the service without a name.
static bool is_served(const char *service)
{
    bool found = !service[0];
    for (int i = 0; bd_public_services[i]; i++)
        found = found || strcmp(service, bd_public_services[i]) == 0;
    return found;
}

// ---- The state of a server ----

typedef struct watch watch;

struct bd_health {
    bd_mutex mu;
    watch *watches;         // open ones; guarded by mu
    atomic_bool is_serving; // changed under mu
};

bd_health *bd_health_new(bool is_serving)
{
    bd_health *h = bd_calloc(1, sizeof *h);
    bd_mutex_init(&h->mu);
    atomic_init(&h->is_serving, is_serving);
    return h;
}

void bd_health_free(bd_health *h)
{
    BD_ASSERT(!h->watches);
    bd_mutex_fini(&h->mu);
    bd_free(h);
}

bool bd_health_is_serving(const bd_health *h)
{
    return atomic_load(&h->is_serving);
}

typedef Grpc__Health__V1__HealthCheckResponse__ServingStatus serving_status;
#define SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVING
#define NOT_SERVING GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__NOT_SERVING
#define SERVICE_UNKNOWN GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__SERVICE_UNKNOWN

static serving_status status_of(const bd_health *h)
{
    return bd_health_is_serving(h) ? SERVING : NOT_SERVING;
}

static Grpc__Health__V1__HealthCheckResponse answer(serving_status status)
{
    Grpc__Health__V1__HealthCheckResponse response = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    response.status = status;
    return response;
}

// ---- Check ----

static void check(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Grpc__Health__V1__HealthCheckRequest *request = bd_proto_unpack_message(
        &grpc__health__v1__health_check_request__descriptor, &call->request, arena, st);
    if (request && !is_served(request->service))
        bd_fail(st, BRAID_NOT_FOUND, "Health: there is no service '%.256s'", request->service);
    const Grpc__Health__V1__HealthCheckResponse response = answer(status_of(env->health));
    if (st->code)
        bd_incoming_reply_error(call, st);
    else
        bd_incoming_reply_proto(call, &response.base);
}

// ---- Watch ----

struct watch {
    bd_server_call base;
    bd_cancel_hook hook;
    bd_health *health;   // not owned
    watch *next, **link; // in health->watches; these and the rest are guarded by its mu
    bool is_known;       // the service
    bool is_over;        // the server stops, or the client is gone
    bool is_sending;
    serving_status told; // sent last, or being sent
    void (*sent)(void *arg);
    watch *next_due; // of those that bd_health_set_serving sends to
};

static void free_watch(bd_server_call *base)
{
    bd_free(BD_CONTAINER_OF(base, watch, base));
}

static void last_sent(void *arg)
{
    watch *w = arg;
    BD_STATUS(why);
    bd_cancellation_status(w->base.cancellation, why);
    bd_server_call_reply_error(&w->base, why);
}

static void status_sent(void *arg);

// Returns whether the client is to be told something, by send_status once the lock is released. If not,
// another thread may free the watch from then on.
static bool begin_sending_locked(watch *w)
{
    if (w->is_sending) return false;
    const serving_status status = w->is_known && !w->is_over ? status_of(w->health) : w->told;
    if (status == w->told && !w->is_over) return false;
    w->is_sending = true;
    w->told = w->is_over ? NOT_SERVING : status;
    w->sent = w->is_over ? last_sent : status_sent;
    if (w->is_over) {
        *w->link = w->next;
        if (w->next) w->next->link = w->link;
    }
    return true;
}

static void send_status(watch *w)
{
    const Grpc__Health__V1__HealthCheckResponse response = answer(w->told);
    bd_message message;
    bd_message_init(&message);
    bd_proto_pack_message(&response.base, &message);
    w->base.call->transport->send(w->base.call, &message, w->sent, w);
}

static void status_sent(void *arg)
{
    watch *w = arg;
    bd_health *h = w->health;
    bd_mutex_lock(&h->mu);
    w->is_sending = false;
    const bool sends = begin_sending_locked(w);
    bd_mutex_unlock(&h->mu);
    if (sends) send_status(w);
}

static void watch_over(bd_cancel_hook *hook, const braid_status *why)
{
    (void)why;
    watch *w = BD_CONTAINER_OF(hook, watch, hook);
    bd_health *h = w->health;
    bd_mutex_lock(&h->mu);
    w->is_over = true;
    const bool sends = begin_sending_locked(w);
    bd_mutex_unlock(&h->mu);
    if (sends) send_status(w);
}

void bd_health_set_serving(bd_health *h, bool is_serving)
{
    watch *due = NULL;
    bd_mutex_lock(&h->mu);
    atomic_store(&h->is_serving, is_serving);
    for (watch *w = h->watches; w; w = w->next)
        if (begin_sending_locked(w)) {
            w->next_due = due;
            due = w;
        }
    bd_mutex_unlock(&h->mu);
    while (due) {
        watch *w = due;
        due = w->next_due; // before it is sent, which may free it
        send_status(w);
    }
}

static void begin_watch(bd_service_env *env, bd_incoming *call, bool is_known)
{
    bd_health *h = env->health;
    watch *w = bd_calloc(1, sizeof *w);
    *w = (watch){.health = h, .is_known = is_known, .is_sending = true, .sent = status_sent};
    w->hook.fn = watch_over;
    bd_server_call_init(&w->base, call, env->cancellation, env->cancellation, free_watch);
    bd_mutex_lock(&h->mu);
    w->told = is_known ? status_of(h) : SERVICE_UNKNOWN;
    w->next = h->watches;
    w->link = &h->watches;
    if (w->next) w->next->link = &w->next;
    h->watches = w;
    bd_mutex_unlock(&h->mu);
    if (!bd_cancellation_add(w->base.cancellation, &w->hook)) watch_over(&w->hook, NULL);
    send_status(w);
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
