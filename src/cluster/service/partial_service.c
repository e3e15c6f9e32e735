// PartialRunSetup on the wire; the calls of a partial run are RunSteps (master_service.c).
#include "base/alloc.h"
#include "cluster/rpc/server_call.h"
#include "cluster/service/master_service.h"
#include "cluster/service/services.h"
#include "proto/pack.h"
#include "tensorflow/core/protobuf/master.pb-c.h"

typedef struct setup_call {
    bd_server_call base;
    bd_proto_arena arena;
    const Tensorflow__PartialRunSetupRequest *request; // in the arena
    bd_master_session *session;
    bd_run_signature signature;
} setup_call;

static void free_setup(bd_server_call *base)
{
    setup_call *c = BD_CONTAINER_OF(base, setup_call, base);
    bd_master_session_unref(c->session);
    bd_proto_arena_fini(&c->arena);
    bd_free(c);
}

static void set_up(void *arg, const char *handle, const braid_status *st)
{
    setup_call *c = arg;
    if (st->code) {
        bd_server_call_reply_error(&c->base, st);
        return;
    }
    // The client does not know the handle, so it cannot continue the run.
    if (bd_server_call_is_cancelled(&c->base)) bd_master_end_partial(c->session, handle);
    Tensorflow__PartialRunSetupResponse response = TENSORFLOW__PARTIAL_RUN_SETUP_RESPONSE__INIT;
    response.partial_run_handle = (char *)handle;
    bd_server_call_reply_proto(&c->base, &response.base);
}

static braid_code read_setup(bd_service_env *env, setup_call *c, bd_incoming *call, braid_status *st)
{
    c->request = bd_proto_unpack_message(&tensorflow__partial_run_setup_request__descriptor, &call->request,
                                         &c->arena, st);
    bd_message_fini(&call->request); // its memory is the network's
    if (!c->request) return st->code;
    c->signature = (bd_run_signature){
        .feeds = (const char *const *)c->request->feed,
        .feed_count = (int)c->request->n_feed,
        .fetches = (const char *const *)c->request->fetch,
        .fetch_count = (int)c->request->n_fetch,
        .targets = (const char *const *)c->request->target,
        .target_count = (int)c->request->n_target,
    };
    if (bd_signature_check(&c->signature, st)) return st->code;
    c->session = bd_service_session(env, call, c->request->session_handle, st);
    if (!c->session) return st->code;
    return bd_run_id_check(env, "PartialRunSetup", c->request->request_id, st);
}

void bd_serve_partial_run_setup(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    setup_call *c = bd_calloc(1, sizeof *c);
    const braid_code code = read_setup(env, c, call, st);
    bd_cancellation *parent = c->session ? bd_master_session_cancellation(c->session) : env->cancellation;
    bd_server_call_init(&c->base, call, parent, env->cancellation, free_setup);
    if (code)
        bd_server_call_reply_error(&c->base, st);
    else
        bd_master_setup_partial_run(c->session, &c->signature, c->base.cancellation, set_up, c);
}
