// MakeCallable, RunCallable and ReleaseCallable on the wire.
#include "base/alloc.h"
#include "base/array.h"
#include "cluster/rpc/large_fields.h"
#include "cluster/rpc/server_call.h"
#include "cluster/service/master_service.h"
#include "cluster/service/services.h"
#include "proto/pack.h"
#include "tensor/tensor_proto.h"
#include "tensorflow/core/protobuf/master.pb-c.h"

// ---- MakeCallable ----

typedef struct make_call {
    bd_server_call base;
    bd_proto_arena arena;
    const Tensorflow__MakeCallableRequest *request; // in the arena
    bd_master_session *session;
    bd_run_signature signature;
    bd_master_run_args args;
    const char **connections; // from, then to
} make_call;

static void free_make(bd_server_call *base)
{
    make_call *c = BD_CONTAINER_OF(base, make_call, base);
    bd_master_session_unref(c->session);
    bd_proto_arena_fini(&c->arena);
    bd_free(c->connections);
    bd_free(c);
}

static void callable_made(void *arg, int64_t handle, const braid_status *st)
{
    make_call *c = arg;
    if (st->code) {
        bd_server_call_reply_error(&c->base, st);
        return;
    }
    // The client does not know the handle, so it cannot release it.
    if (bd_server_call_is_cancelled(&c->base)) bd_master_release_callable(c->session, handle);
    Tensorflow__MakeCallableResponse response = TENSORFLOW__MAKE_CALLABLE_RESPONSE__INIT;
    response.handle = handle;
    bd_server_call_reply_proto(&c->base, &response.base);
}

// As in TensorFlow, whose remote sessions pass values in host memory.
static braid_code check_devices(const Tensorflow__CallableOptions *o, braid_status *st)
{
    if (!o->n_feed_devices && !o->n_fetch_devices) return BRAID_OK;
    return bd_fail(
        st, BRAID_UNIMPLEMENTED,
        "CallableOptions.feed_devices and fetch_devices, which would leave tensors in the memory of a "
        "device, are not supported when using a remote session: leave them out");
}

static void set_make_args(make_call *c, const Tensorflow__CallableOptions *o)
{
    const size_t connections = o->n_tensor_connection;
    c->connections = bd_calloc(2 * connections, sizeof *c->connections);
    for (size_t i = 0; i < connections; i++) {
        c->connections[i] = o->tensor_connection[i]->from_tensor;
        c->connections[connections + i] = o->tensor_connection[i]->to_tensor;
    }
    c->signature = (bd_run_signature){
        .feeds = (const char *const *)o->feed,
        .feed_count = (int)o->n_feed,
        .fetches = (const char *const *)o->fetch,
        .fetch_count = (int)o->n_fetch,
        .targets = (const char *const *)o->target,
        .target_count = (int)o->n_target,
        .connect_from = c->connections,
        .connect_to = c->connections + connections,
        .connection_count = (int)connections,
    };
    c->args.signature = &c->signature;
}

static braid_code read_make(bd_service_env *env, make_call *c, bd_incoming *call, braid_status *st)
{
    static const Tensorflow__CallableOptions no_options = TENSORFLOW__CALLABLE_OPTIONS__INIT;
    c->request = bd_proto_unpack_message(&tensorflow__make_callable_request__descriptor, &call->request,
                                         &c->arena, st);
    bd_message_fini(&call->request); // its memory is the network's
    if (!c->request) return st->code;
    const Tensorflow__CallableOptions *o = c->request->options ? c->request->options : &no_options;
    set_make_args(c, o);
    if (bd_run_options_read(o->run_options, &c->args, &c->signature, st) ||
        bd_signature_check(&c->signature, st) || check_devices(o, st))
        return st->code;
    c->session = bd_service_session(env, call, c->request->session_handle, st);
    if (!c->session) return st->code;
    return bd_run_id_check(env, "MakeCallable", c->request->request_id, st);
}

void bd_serve_make_callable(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    make_call *c = bd_calloc(1, sizeof *c);
    const braid_code code = read_make(env, c, call, st);
    bd_cancellation *parent = c->session ? bd_master_session_cancellation(c->session) : env->cancellation;
    bd_server_call_init(&c->base, call, parent, env->cancellation, free_make);
    if (code)
        bd_server_call_reply_error(&c->base, st);
    else
        bd_master_make_callable(c->session, &c->args, c->base.cancellation, callable_made, c);
}

// ---- RunCallable ----

typedef struct run_call {
    bd_server_call base;
    bd_master_session *session;
    bd_callable *callable;
    BD_ARRAY(braid_tensor) feeds;
    const braid_tensor **feed_values; // [feeds]
    braid_tensor *fetches;            // [fetches of the callable]
    bd_master_run_args args;
    bd_message metadata;
} run_call;

static void free_run(bd_server_call *base)
{
    run_call *c = BD_CONTAINER_OF(base, run_call, base);
    for (size_t i = 0; i < c->feeds.len; i++)
        bd_tensor_fini(&c->feeds.items[i]);
    for (int i = 0; c->fetches && i < c->args.signature->fetch_count; i++)
        bd_tensor_fini(&c->fetches[i]);
    bd_array_free(&c->feeds);
    bd_free(c->feed_values);
    bd_free(c->fetches);
    bd_message_fini(&c->metadata);
    bd_callable_unref(c->callable);
    bd_master_session_unref(c->session);
    bd_free(c);
}

static braid_code add_feed(bd_wire_reader *sub, void *arg, braid_status *st)
{
    run_call *c = arg;
    braid_tensor t = {0};
    const braid_code code = bd_tensor_proto_read(sub, &t, st);
    if (code)
        bd_status_prefix(st, "RunCallable: feed %zu: ", c->feeds.len);
    else
        bd_array_push(&c->feeds, t);
    return code;
}

static void callable_run(void *arg, const braid_status *st)
{
    run_call *c = arg;
    if (st->code) {
        bd_server_call_reply_error(&c->base, st);
        return;
    }
    bd_message response;
    bd_message_init(&response);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &response);
    for (int i = 0; i < c->args.signature->fetch_count; i++)
        bd_tensor_proto_put(&c->fetches[i], 1, &writer);
    if (c->metadata.bytes) bd_large_field_put(&c->metadata, 2, &writer);
    bd_wire_writer_finish(&writer);
    bd_server_call_reply(&c->base, &response);
}

static braid_code set_run_args(run_call *c, braid_status *st)
{
    c->args = bd_callable_args(c->callable);
    const bd_run_signature *s = c->args.signature;
    if (c->feeds.len != (size_t)s->feed_count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Expected %d feed tensors, but got %zu", s->feed_count,
                       c->feeds.len);
    c->feed_values = bd_calloc(c->feeds.len, sizeof *c->feed_values);
    for (size_t i = 0; i < c->feeds.len; i++)
        c->feed_values[i] = &c->feeds.items[i];
    c->fetches = bd_calloc((size_t)s->fetch_count, sizeof *c->fetches);
    c->args.feeds = c->feed_values;
    c->args.fetches = c->fetches;
    c->args.metadata = &c->metadata;
    return BRAID_OK;
}

static braid_code read_run(bd_service_env *env, run_call *c, bd_incoming *call, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    const Tensorflow__RunCallableRequest *request =
        bd_proto_unpack_split(&tensorflow__run_callable_request__descriptor, &call->request,
                              (bd_taken_field){3, add_feed, c}, arena, st);
    bd_message_fini(&call->request); // its memory is the network's
    if (!request) return st->code;
    c->session = bd_service_session(env, call, request->session_handle, st);
    if (!c->session) return st->code;
    c->callable = bd_master_find_callable(c->session, request->handle, st);
    if (!c->callable || set_run_args(c, st)) return st->code;
    return bd_run_id_check(env, "RunCallable", request->request_id, st);
}

void bd_serve_run_callable(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    run_call *c = bd_calloc(1, sizeof *c);
    bd_message_init(&c->metadata);
    const braid_code code = read_run(env, c, call, st);
    bd_cancellation *parent = c->session ? bd_master_session_cancellation(c->session) : env->cancellation;
    bd_server_call_init(&c->base, call, parent, env->cancellation, free_run);
    if (code)
        bd_server_call_reply_error(&c->base, st);
    else
        bd_master_run(c->session, &c->args, c->base.cancellation, callable_run, c);
}

// ---- ReleaseCallable ----

void bd_serve_release_callable(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__ReleaseCallableRequest *request =
        bd_proto_unpack_message(&tensorflow__release_callable_request__descriptor, &call->request, arena, st);
    bd_master_session *s = request ? bd_service_session(env, call, request->session_handle, st) : NULL;
    if (s) bd_master_release_callable(s, request->handle);
    bd_master_session_unref(s);
    bd_incoming_reply_status(call, st);
}
