// MasterService on the wire: reads requests, calls the master, writes answers.
#include "cluster/service/master_service.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cluster/rpc/large_fields.h"
#include "cluster/rpc/server_call.h"
#include "cluster/service/services.h"
#include "cluster/spec/cluster_def.h"
#include "cluster/spec/graph_options.h"
#include "graph/graph_def_external.h"
#include "proto/pack.h"
#include "tensor/named_tensor.h"
#include "tensorflow/core/protobuf/master.pb-c.h"
#include <string.h>

bd_master_session *bd_service_session(bd_service_env *env, const bd_incoming *call, const char *handle,
                                      braid_status *st)
{
    bd_caller caller;
    call->transport->caller(call, &caller);
    bd_master_session *s = bd_master_find_session(env->master, handle, &caller, st);
    if (s) bd_master_called_by(s, call);
    return s;
}

// ---- The audit: what callers do to what outlives a step ----

static void audit(const bd_incoming *call, const char *what, const char *of)
{
    bd_caller caller;
    call->transport->caller(call, &caller);
    char *peer = call->transport->peer(call);
    bd_info("%s %s by %s from %s", what, of, caller.name[0] ? caller.name : "a caller", peer);
    bd_free(peer);
}

static void audit_reset(const bd_incoming *call, const Tensorflow__ResetRequest *request)
{
    bd_strbuf names = {0};
    for (size_t i = 0; i < request->n_container; i++)
        bd_strbuf_appendf(&names, "%s'%s'", i ? ", " : "", request->container[i]);
    audit(call, "Reset of", names.len ? bd_strbuf_str(&names) : "the default container");
    bd_strbuf_fini(&names);
}

// ---- CreateSession ----

typedef struct create_call {
    bd_server_call base;
    bd_service_env *env;
} create_call;

static void free_call(bd_server_call *base)
{
    bd_free(base); // the first member
}

static void session_created(void *arg, bd_master_session *session, const braid_status *st)
{
    create_call *c = arg;
    if (st->code) {
        bd_server_call_reply_error(&c->base, st);
        return;
    }
    // The client does not know the handle, so it cannot close the session.
    if (bd_server_call_is_cancelled(&c->base))
        bd_master_close_session(c->env->master, bd_master_session_handle(session), NULL, NULL);
    bd_master_called_by(session, c->base.call);
    audit(c->base.call, "Opened session", bd_master_session_handle(session));
    Tensorflow__CreateSessionResponse response = TENSORFLOW__CREATE_SESSION_RESPONSE__INIT;
    response.session_handle = (char *)bd_master_session_handle(session);
    bd_server_call_reply_proto(&c->base, &response.base);
    bd_master_session_unref(session);
}

// TensorFlow isolates sessions with a cluster of their own, and never those that share their state.
static bool is_isolated(const Tensorflow__ConfigProto *config)
{
    if (config->experimental && config->experimental->share_session_state_in_clusterspec_propagation)
        return false;
    return config->isolate_session_state || bd_cluster_def_is_given(config->cluster_def);
}

// Stores the cluster that the session is to have, with a reference; NULL for that of the server.
static braid_code find_cluster(bd_service_env *env, const bd_caller *caller,
                               const Tensorflow__CreateSessionRequest *request, bd_session_cluster **out,
                               braid_status *st)
{
    *out = NULL;
    const Tensorflow__ClusterDef *def = request->config ? request->config->cluster_def : NULL;
    if (!bd_cluster_def_is_given(def)) return BRAID_OK;
    braid_cluster *cluster = bd_cluster_def_read(def, "ConfigProto.cluster_def", st);
    if (!cluster) return st->code;
    const char *job;
    int index;
    if (!bd_session_cluster_find_self(env->session_clusters, cluster, request->target, &job, &index, st))
        bd_session_cluster_get(env->session_clusters, cluster, job, index, caller, out, st);
    braid_cluster_free(cluster);
    return st->code;
}

static void begin_create(bd_service_env *env, bd_incoming *call, const bd_caller *owner,
                         const Tensorflow__ConfigProto *config, bd_session_cluster *cluster,
                         braid_graph *graph)
{
    static const Tensorflow__ConfigProto defaults = TENSORFLOW__CONFIG_PROTO__INIT;
    if (!config) config = &defaults;
    const bd_session_config wanted = {
        .device_filters = (const char *const *)config->device_filters,
        .device_filter_count = (int)config->n_device_filters,
        .allow_soft_placement = config->allow_soft_placement,
        .log_device_placement = config->log_device_placement,
        .place_pruned_graph = config->graph_options && config->graph_options->place_pruned_graph,
        .sends_bfloat16 = config->graph_options && config->graph_options->enable_bfloat16_sendrecv,
        .is_isolated = is_isolated(config),
        .operation_timeout_ms = config->operation_timeout_in_ms,
        .disabled_rewrites = bd_graph_options_read(config->graph_options),
        .cost_model_every = config->graph_options ? config->graph_options->build_cost_model : 0,
        .cost_model_after = config->graph_options ? config->graph_options->build_cost_model_after : 0,
        .collective_leader = config->experimental ? config->experimental->collective_group_leader : NULL,
        .cluster = cluster,
        .owner = *owner,
    };
    create_call *c = bd_calloc(1, sizeof *c);
    c->env = env;
    const int64_t deadline_ns = call->deadline_ns;
    bd_server_call_init(&c->base, call, env->cancellation, env->cancellation, free_call);
    bd_master_create_session(env->master, graph, &wanted, deadline_ns, c->base.cancellation, session_created,
                             c);
}

// Tasks have threads of their own, which all sessions share.
static braid_code check_config(const Tensorflow__ConfigProto *config, braid_status *st)
{
    if (config->use_per_session_threads || config->n_session_inter_op_thread_pool > 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Distributed session does not support session thread pool options. (ConfigProto.%s)",
                       config->use_per_session_threads ? "use_per_session_threads"
                                                       : "session_inter_op_thread_pool");
    return BRAID_OK;
}

static void import_graph(bd_service_env *env, const bd_caller *owner, const bd_message *graph_def,
                         braid_graph *graph, braid_status *st)
{
    const bd_account_turn turn = bd_account_enter(bd_master_account(env->master, owner));
    if (!bd_graph_def_check_external(graph_def, st)) bd_graph_import_message(graph, graph_def, st);
    bd_account_explain(st);
    bd_account_leave(turn);
}

static void create_session(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_message graph_def;
    bd_message_init(&graph_def);
    braid_graph graph;
    bd_graph_init(&graph);
    const Tensorflow__CreateSessionRequest *request =
        bd_proto_unpack_split(&tensorflow__create_session_request__descriptor, &call->request,
                              (bd_taken_field){1, bd_large_field_add, &graph_def}, arena, st);
    if (request && request->config) check_config(request->config, st);
    bd_caller owner;
    call->transport->caller(call, &owner);
    bd_session_cluster *cluster = NULL;
    if (request && !st->code) find_cluster(env, &owner, request, &cluster, st);
    if (request && !st->code) import_graph(env, &owner, &graph_def, &graph, st);
    bd_message_fini(&graph_def);
    bd_message_fini(&call->request); // not kept while the session waits for its tasks
    if (request && !st->code)
        begin_create(env, call, &owner, request->config, cluster, &graph);
    else
        bd_incoming_reply_error(call, st);
    bd_session_cluster_unref(cluster);
    bd_graph_fini(&graph);
}

// ---- ExtendSession ----

static void extend_session(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_message graph_def;
    bd_message_init(&graph_def);
    const Tensorflow__ExtendSessionRequest *request =
        bd_proto_unpack_split(&tensorflow__extend_session_request__descriptor, &call->request,
                              (bd_taken_field){2, bd_large_field_add, &graph_def}, arena, st);
    bd_master_session *s = request ? bd_service_session(env, call, request->session_handle, st) : NULL;
    int64_t version = s ? bd_max(request->current_graph_version, 0) : 0;
    if (s) bd_master_extend(s, &graph_def, &version, st);
    bd_message_fini(&graph_def);
    Tensorflow__ExtendSessionResponse response = TENSORFLOW__EXTEND_SESSION_RESPONSE__INIT;
    response.new_graph_version = version;
    if (st->code)
        bd_incoming_reply_error(call, st);
    else
        bd_incoming_reply_proto(call, &response.base);
    bd_master_session_unref(s);
}

// ---- RunStep ----

typedef struct run_call {
    bd_server_call base;
    bd_service_env *env;
    bd_proto_arena arena;
    const Tensorflow__RunStepRequest *request; // in the arena; without the feeds
    bd_master_session *session;
    BD_ARRAY(bd_named_tensor) feeds;
    const char **feed_names;          // [feeds]
    const braid_tensor **feed_values; // [feeds]
    braid_tensor *fetches;            // [request->n_fetch]
    bd_run_signature signature;
    bd_master_run_args args;
    bd_message metadata;
} run_call;

static void free_run(bd_server_call *base)
{
    run_call *c = BD_CONTAINER_OF(base, run_call, base);
    for (size_t i = 0; i < c->feeds.len; i++)
        bd_named_tensor_fini(&c->feeds.items[i]);
    for (int i = 0; c->fetches && i < c->signature.fetch_count; i++)
        bd_tensor_fini(&c->fetches[i]);
    bd_array_free(&c->feeds);
    bd_free(c->feed_names);
    bd_free(c->feed_values);
    bd_free(c->fetches);
    bd_message_fini(&c->metadata);
    bd_master_session_unref(c->session);
    bd_proto_arena_fini(&c->arena);
    bd_free(c);
}

static braid_code add_feed(bd_wire_reader *sub, void *arg, braid_status *st)
{
    run_call *c = arg;
    bd_named_tensor named = {0};
    braid_code code = bd_named_tensor_read(sub, &named, st);
    if (!code && !bd_is_name((const uint8_t *)named.name, strlen(named.name)))
        code = bd_fail(st, BRAID_NOT_FOUND, "FeedInputs: unable to find feed output %s", named.name);
    if (code)
        bd_named_tensor_fini(&named);
    else
        bd_array_push(&c->feeds, named);
    return code;
}

// Checks the names on the wire: as C strings they would end at a zero byte.
static braid_code check_names(const bd_message *request, braid_status *st)
{
    enum {
        FETCH = 3,
        TARGET = 4
    };
    bd_wire_reader in = bd_wire_reader_of(request), sub;
    uint32_t field;
    bd_wire_type type;
    const uint8_t *data;
    size_t len;
    while (bd_wire_next(&in, &field, &type)) {
        if ((field != FETCH && field != TARGET) || type != BD_WIRE_BYTES) {
            bd_wire_skip(&in, type);
            continue;
        }
        if (!bd_wire_get_sub(&in, &sub)) break;
        while (bd_wire_get_piece(&sub, &data, &len))
            if (!bd_is_name(data, len))
                return bd_fail(st, BRAID_NOT_FOUND,
                               field == FETCH
                                   ? "FetchOutputs node %.*s: not found: the name holds a control character"
                                   : "PruneForTargets: Some target nodes not found: %.*s (the name holds a "
                                     "control character)",
                               (int)bd_min((int64_t)len, 256), (const char *)data);
    }
    return BRAID_OK; // unpacking reports malformed messages
}

static void write_response(run_call *c, bd_message *out)
{
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, out);
    for (size_t i = 0; i < c->request->n_fetch; i++)
        bd_named_tensor_put(c->request->fetch[i], &c->fetches[i], 1, &writer);
    if (c->metadata.bytes) bd_large_field_put(&c->metadata, 2, &writer);
    bd_wire_writer_finish(&writer);
}

// The step's error in the answer, for clients that ask for it there.
static void write_error(const braid_status *st, bd_message *out)
{
    Tensorflow__RunStepResponse response = TENSORFLOW__RUN_STEP_RESPONSE__INIT;
    response.status_code = (Tensorflow__Error__Code)st->code;
    response.status_error_message = st->message;
    bd_proto_pack_message(&response.base, out);
}

static void step_done(void *arg, const braid_status *from)
{
    run_call *c = arg;
    BD_STATUS(st);
    bd_server_call_error(&c->base, from, st);
    if (st->code && !(c->request && c->request->store_errors_in_response_body)) {
        bd_server_call_reply_error(&c->base, st);
        return;
    }
    bd_message response;
    bd_message_init(&response);
    if (st->code)
        write_error(st, &response);
    else
        write_response(c, &response);
    bd_server_call_reply(&c->base, &response);
}

static void set_args(run_call *c)
{
    const Tensorflow__RunStepRequest *request = c->request;
    c->feed_names = bd_calloc(c->feeds.len, sizeof *c->feed_names);
    c->feed_values = bd_calloc(c->feeds.len, sizeof *c->feed_values);
    for (size_t i = 0; i < c->feeds.len; i++) {
        c->feed_names[i] = c->feeds.items[i].name;
        c->feed_values[i] = &c->feeds.items[i].tensor;
    }
    c->fetches = bd_calloc(request->n_fetch, sizeof *c->fetches);
    c->signature = (bd_run_signature){
        .feeds = c->feed_names,
        .feed_count = (int)c->feeds.len,
        .fetches = (const char *const *)request->fetch,
        .fetch_count = (int)request->n_fetch,
        .targets = (const char *const *)request->target,
        .target_count = (int)request->n_target,
    };
    c->args =
        (bd_master_run_args){.signature = &c->signature, .feeds = c->feed_values, .fetches = c->fetches};
}

static braid_code read_run(run_call *c, bd_incoming *call, braid_status *st)
{
    if (check_names(&call->request, st)) return st->code;
    c->request = bd_proto_unpack_split(&tensorflow__run_step_request__descriptor, &call->request,
                                       (bd_taken_field){2, add_feed, c}, &c->arena, st);
    bd_message_fini(&call->request); // its memory is the network's
    if (!c->request) return st->code;
    c->session = bd_service_session(c->env, call, c->request->session_handle, st);
    if (!c->session) return st->code;
    set_args(c);
    if (bd_run_options_read(c->request->options, &c->args, &c->signature, st)) return st->code;
    c->args.metadata = &c->metadata;
    return bd_run_id_check(c->env, "RunStep", c->request->request_id, st);
}

static void run_step(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    run_call *c = bd_calloc(1, sizeof *c);
    c->env = env;
    bd_message_init(&c->metadata);
    const braid_code code = read_run(c, call, st);
    bd_cancellation *parent = c->session ? bd_master_session_cancellation(c->session) : env->cancellation;
    bd_server_call_init(&c->base, call, parent, env->cancellation, free_run);
    if (code)
        step_done(c, st);
    else if (c->request->partial_run_handle[0])
        bd_master_run_partial(c->session, c->request->partial_run_handle, &c->args, c->base.cancellation,
                              step_done, c);
    else
        bd_master_run(c->session, &c->args, c->base.cancellation, step_done, c);
}

// ---- CloseSession ----

static void close_session(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__CloseSessionRequest *request =
        bd_proto_unpack_message(&tensorflow__close_session_request__descriptor, &call->request, arena, st);
    bd_master_session *s = request ? bd_service_session(env, call, request->session_handle, st) : NULL;
    if (!s) {
        bd_incoming_reply_error(call, st);
        return;
    }
    audit(call, "Closed session", request->session_handle);
    bd_master_close_session(env->master, request->session_handle, bd_incoming_reply_status, call);
    bd_master_session_unref(s);
}

// ---- ListDevices ----

typedef struct list_call {
    bd_server_call base;
    bd_service_env *env;
} list_call;

static void devices_listed(void *arg, const bd_device_info *devices, int count, const braid_status *st)
{
    list_call *c = arg;
    if (st->code) {
        bd_server_call_reply_error(&c->base, st);
        return;
    }
    // the own task's come first, by its name in the session's cluster
    const char *own = count > 0 ? devices[0].name : "";
    const size_t own_len = bd_task_name_len(own, strlen(own));
    bd_message response;
    bd_message_init(&response);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &response);
    for (int i = 0; i < count; i++) {
        const bool is_local = bd_task_name_len(devices[i].name, strlen(devices[i].name)) == own_len &&
                              strncmp(devices[i].name, own, own_len) == 0;
        bd_device_attributes_put(&devices[i], is_local ? 1 : 2, &writer);
    }
    bd_wire_writer_finish(&writer);
    bd_server_call_reply(&c->base, &response);
}

static void list_devices(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__ListDevicesRequest *request =
        bd_proto_unpack_message(&tensorflow__list_devices_request__descriptor, &call->request, arena, st);
    if (!request) {
        bd_incoming_reply_error(call, st);
        return;
    }
    list_call *c = bd_calloc(1, sizeof *c);
    c->env = env;
    bd_server_call_init(&c->base, call, env->cancellation, env->cancellation, free_call);
    bd_master_list_devices(env->master, request->session_handle, c->base.cancellation, devices_listed, c);
}

// ---- Reset ----

static void reset(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__ResetRequest *request =
        bd_proto_unpack_message(&tensorflow__reset_request__descriptor, &call->request, arena, st);
    if (!request) {
        bd_incoming_reply_error(call, st);
        return;
    }
    bd_caller caller;
    call->transport->caller(call, &caller);
    audit_reset(call, request);
    bd_server_call *s = bd_calloc(1, sizeof *s);
    bd_server_call_init(s, call, env->cancellation, env->cancellation, free_call);
    bd_master_reset(env->master, &caller, (const char *const *)request->container, (int)request->n_container,
                    (const char *const *)request->device_filters, (int)request->n_device_filters,
                    s->cancellation, bd_server_call_reply_status, s);
}

const bd_method bd_master_methods[] = {
    {"RunStep", BD_ON_ARRIVAL, run_step},
    {"CreateSession", BD_ON_POOL, create_session},
    {"ExtendSession", BD_ON_POOL, extend_session},
    {"CloseSession", BD_ON_ARRIVAL, close_session},
    {"ListDevices", BD_ON_ARRIVAL, list_devices},
    {"Reset", BD_ON_POOL, reset},
    {"PartialRunSetup", BD_ON_ARRIVAL, bd_serve_partial_run_setup},
    {"MakeCallable", BD_ON_ARRIVAL, bd_serve_make_callable},
    {"RunCallable", BD_ON_ARRIVAL, bd_serve_run_callable},
    {"ReleaseCallable", BD_ON_ARRIVAL, bd_serve_release_callable},
    {NULL, BD_ON_ARRIVAL, NULL},
};
