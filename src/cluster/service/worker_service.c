// WorkerService on the wire: reads requests, calls the local worker, writes answers.
#include "cluster/service/worker_service.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/slab.h"
#include "cluster/rpc/large_fields.h"
#include "cluster/rpc/recv_tensor_response.h"
#include "cluster/rpc/server_call.h"
#include "cluster/rpc/wire_fields.h"
#include "cluster/service/services.h"
#include "cluster/spec/cluster_def.h"
#include "cluster/spec/graph_options.h"
#include "cluster/worker/outbox.h"
#include "op/function.h"
#include "proto/pack.h"
#include "runtime/cost_graph.h"
#include "runtime/debug_nodes.h"
#include "tensor/named_tensor.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <string.h>

// ---- GetStatus ----

typedef struct status_call {
    const bd_service_env *env;
    bd_incoming *call;
} status_call;

static void give_status(void *arg, const bd_device_info *devices, int count, const braid_status *st)
{
    const status_call s = *(status_call *)arg;
    bd_slab_free(arg);
    bd_message response;
    bd_message_init(&response);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &response);
    for (int i = 0; i < count; i++)
        bd_device_attributes_put(&devices[i], 1, &writer);
    bd_wire_put_uint(&writer, BD_STATUS_TAKES_PUSHES, 1);
    bd_wire_put_fixed64(&writer, BD_STATUS_SPEC_FINGERPRINT, bd_spec_check_fingerprint(s.env->spec_check));
    bd_wire_writer_finish(&writer);
    bd_incoming_reply(s.call, &response, st);
}

static void get_status(bd_service_env *env, bd_incoming *call)
{
    bd_worker *w = bd_local_worker_base(env->worker);
    status_call *s = bd_slab_alloc(sizeof *s);
    *s = (status_call){env, call};
    w->ops->get_status(w, false, env->cancellation, give_status, s);
}

// ---- Requests that are answered with nothing ----

static const char *leader_in(const Tensorflow__CreateWorkerSessionRequest *request)
{
    const Tensorflow__ConfigProto *config =
        request->server_def ? request->server_def->default_session_config : NULL;
    return config && config->experimental ? config->experimental->collective_group_leader : "";
}

// Stores the cluster of the session with a reference; NULL for that of the server.
static braid_code find_cluster(bd_service_env *env, const bd_incoming *call,
                               const Tensorflow__ServerDef *server, bd_session_cluster **out,
                               braid_status *st)
{
    *out = NULL;
    if (!server || !bd_cluster_def_is_given(server->cluster)) return BRAID_OK;
    braid_cluster *cluster =
        bd_cluster_def_read(server->cluster, "CreateWorkerSessionRequest.server_def.cluster", st);
    if (!cluster) return st->code;
    bd_caller caller;
    call->transport->caller(call, &caller);
    if (!braid_cluster_address(cluster, server->job_name, server->task_index))
        bd_fail(st, BRAID_INVALID_ARGUMENT,
                "CreateWorkerSessionRequest.server_def is for /job:%.256s/task:%d, which its cluster has not",
                server->job_name, server->task_index);
    else
        bd_session_cluster_get(env->session_clusters, cluster, server->job_name, server->task_index, &caller,
                               out, st);
    braid_cluster_free(cluster);
    return st->code;
}

static void create_session(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_worker *w = bd_local_worker_base(env->worker);
    const Tensorflow__CreateWorkerSessionRequest *request = bd_proto_unpack_message(
        &tensorflow__create_worker_session_request__descriptor, &call->request, arena, st);
    bd_session_cluster *cluster = NULL;
    if (request) find_cluster(env, call, request->server_def, &cluster, st);
    // Without a handle the session is refused below.
    if (request && !st->code && *request->session_handle)
        bd_membership_session_opened(env->membership, request->session_handle, request->master_task,
                                     (uint64_t)request->master_incarnation);
    if (request && !st->code)
        w->ops->create_session(w, request->session_handle,
                               &(bd_session_owner){.task = request->master_task,
                                                   .incarnation = (uint64_t)request->master_incarnation,
                                                   .collective_leader = leader_in(request),
                                                   .client = request->client,
                                                   .cluster = cluster},
                               request->isolate_session_state, NULL, bd_incoming_reply_status, call);
    else
        bd_incoming_reply_error(call, st);
    bd_session_cluster_unref(cluster);
}

static void delete_session(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_worker *w = bd_local_worker_base(env->worker);
    const Tensorflow__DeleteWorkerSessionRequest *request = bd_proto_unpack_message(
        &tensorflow__delete_worker_session_request__descriptor, &call->request, arena, st);
    if (request) bd_membership_session_closed(env->membership, request->session_handle);
    if (request)
        w->ops->delete_session(w, request->session_handle, bd_incoming_reply_status, call);
    else
        bd_incoming_reply_error(call, st);
}

static void deregister_graph(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_worker *w = bd_local_worker_base(env->worker);
    const Tensorflow__DeregisterGraphRequest *request =
        bd_proto_unpack_message(&tensorflow__deregister_graph_request__descriptor, &call->request, arena, st);
    if (request)
        w->ops->deregister_graph(w, request->session_handle, request->graph_handle, bd_incoming_reply_status,
                                 call);
    else
        bd_incoming_reply_error(call, st);
}

static void cleanup_graph(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_worker *w = bd_local_worker_base(env->worker);
    const Tensorflow__CleanupGraphRequest *request =
        bd_proto_unpack_message(&tensorflow__cleanup_graph_request__descriptor, &call->request, arena, st);
    if (request)
        w->ops->cleanup_graph(w, request->step_id, bd_incoming_reply_status, call);
    else
        bd_incoming_reply_error(call, st);
}

static void cleanup_all(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_worker *w = bd_local_worker_base(env->worker);
    const Tensorflow__CleanupAllRequest *request =
        bd_proto_unpack_message(&tensorflow__cleanup_all_request__descriptor, &call->request, arena, st);
    if (request)
        w->ops->cleanup_all(w, (const char *const *)request->container, (int)request->n_container,
                            request->client, NULL, bd_incoming_reply_status, call);
    else
        bd_incoming_reply_error(call, st);
}

// ---- RegisterGraph ----

static void registered(void *arg, const char *graph_handle, const braid_status *st)
{
    bd_incoming *call = arg;
    Tensorflow__RegisterGraphResponse response = TENSORFLOW__REGISTER_GRAPH_RESPONSE__INIT;
    response.graph_handle = (char *)graph_handle;
    if (st->code)
        bd_incoming_reply_error(call, st);
    else
        bd_incoming_reply_proto(call, &response.base);
}

static void register_graph(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_message graph_def;
    bd_message_init(&graph_def);
    braid_graph graph;
    bd_graph_init(&graph);
    const Tensorflow__RegisterGraphRequest *request =
        bd_proto_unpack_split(&tensorflow__register_graph_request__descriptor, &call->request,
                              (bd_taken_field){2, bd_large_field_add, &graph_def}, arena, st);
    const bd_account_turn turn =
        bd_account_enter(request ? bd_local_worker_account(env->worker, request->session_handle) : NULL);
    if (request) bd_graph_import_message(&graph, &graph_def, st);
    bd_account_explain(st);
    bd_account_leave(turn);
    const Tensorflow__DebugOptions *debug =
        request && !st->code ? bd_debug_watches(request->debug_options, st) : NULL;
    if (request && !st->code)
        bd_local_worker_register_graph(
            env->worker, request->session_handle, request->create_worker_session_called, &graph,
            bd_graph_options_read(request->graph_options), debug, registered, call);
    else
        bd_incoming_reply_error(call, st);
    bd_graph_fini(&graph);
    // shares memory with the request, which the reply may have freed: holds no reference
    bd_message_fini(&graph_def);
}

// ---- RunGraph ----

typedef struct run_call {
    bd_server_call base;
    bd_proto_arena arena;
    const Tensorflow__RunGraphRequest *request; // in the arena; without the values sent
    BD_ARRAY(bd_named_tensor) sent;
    bd_run_graph_send *sends; // [sent]
    braid_tensor *recvs;      // [request->n_recv_key]
    bd_message stats, partition_graphs, returned;
    bd_run_graph run;
} run_call;

static void free_run(bd_server_call *base)
{
    run_call *c = BD_CONTAINER_OF(base, run_call, base);
    for (size_t i = 0; i < c->sent.len; i++)
        bd_named_tensor_fini(&c->sent.items[i]);
    for (int i = 0; i < c->run.recv_count; i++)
        bd_tensor_fini(&c->recvs[i]);
    bd_array_free(&c->sent);
    bd_slab_free(c->sends);
    bd_slab_free(c->recvs);
    bd_message_fini(&c->stats);
    bd_message_fini(&c->partition_graphs);
    bd_message_fini(&c->returned);
    bd_proto_arena_fini(&c->arena);
    bd_slab_free(c);
}

static braid_code add_sent(bd_wire_reader *sub, void *arg, braid_status *st)
{
    run_call *c = arg;
    bd_named_tensor named = {0};
    const braid_code code = bd_named_tensor_read(sub, &named, st);
    if (!code) bd_array_push(&c->sent, named);
    return code;
}

// RunMetadata's `repeated GraphDef = 3` as RunGraphResponse's = 4.
static void put_partition_graphs(const bd_message *graphs, bd_wire_writer *out)
{
    bd_wire_reader in = bd_wire_reader_of(graphs), sub;
    uint32_t field;
    bd_wire_type type;
    const uint8_t *data;
    size_t len;
    while (bd_wire_next(&in, &field, &type) && bd_wire_get_sub(&in, &sub)) {
        bd_wire_put_tag(out, 4, BD_WIRE_BYTES);
        bd_wire_put_varint(out, sub.left);
        while (bd_wire_get_piece(&sub, &data, &len))
            bd_wire_put_raw(out, data, len);
    }
}

static const Tensorflow__ExecutorOpts *options_of(const Tensorflow__RunGraphRequest *request)
{
    static const Tensorflow__ExecutorOpts none = TENSORFLOW__EXECUTOR_OPTS__INIT;
    return request->exec_opts ? request->exec_opts : &none;
}

// Writes the requested records: step_stats = 2, cost_graph = 3, partition_graph = 4.
static void put_records(const run_call *c, bd_wire_writer *out)
{
    const Tensorflow__ExecutorOpts *o = options_of(c->request);
    BD_STATUS(st);
    if (o->record_timeline && c->stats.bytes) bd_large_field_put(&c->stats, 2, out);
    if (o->record_costs && bd_cost_graph_put(&c->stats, &c->partition_graphs, 3, out, st))
        bd_warn("No cost model of step %lld: %s", (long long)c->request->step_id, st->message);
    if (o->record_partition_graphs) put_partition_graphs(&c->partition_graphs, out);
}

static void write_response(run_call *c, const braid_status *st, bd_message *out)
{
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, out);
    for (int i = 0; !st->code && i < c->run.recv_count; i++)
        bd_named_tensor_put(c->run.recv_keys[i], &c->recvs[i], 1, &writer);
    put_records(c, &writer);
    if (!st->code) bd_wire_append(&writer, &c->returned);
    if (c->run.ends_by_itself) bd_wire_put_uint(&writer, BD_RUN_GRAPH_RESPONSE_ENDS_BY_ITSELF, 1);
    if (st->code) {
        char *text = bd_wire_error_message(st);
        Tensorflow__RunGraphResponse error = TENSORFLOW__RUN_GRAPH_RESPONSE__INIT;
        error.status_code = (Tensorflow__Error__Code)st->code;
        error.status_error_message = text;
        bd_proto_pack(&error.base, &writer);
        bd_free(text);
    }
    bd_wire_writer_finish(&writer);
}

static void run_done(void *arg, const braid_status *from)
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
    write_response(c, st, &response);
    bd_server_call_reply(&c->base, &response);
}

static void set_run(run_call *c)
{
    const Tensorflow__RunGraphRequest *request = c->request;
    const Tensorflow__ExecutorOpts *o = options_of(request);
    const uint64_t depth = bd_proto_unknown_fixed64(&request->base, BD_RUN_GRAPH_CALL_DEPTH);
    c->sends = bd_slab_alloc(c->sent.len * sizeof *c->sends);
    for (size_t i = 0; i < c->sent.len; i++)
        c->sends[i] = (bd_run_graph_send){c->sent.items[i].name, &c->sent.items[i].tensor};
    c->recvs = bd_slab_alloc(request->n_recv_key * sizeof *c->recvs);
    c->run = (bd_run_graph){
        .session_handle = request->session_handle,
        .graph_handle = request->graph_handle,
        .step_id = request->step_id,
        .sends = c->sends,
        .send_count = (int)c->sent.len,
        .recv_keys = (const char *const *)request->recv_key,
        .recvs = c->recvs,
        .recv_count = (int)request->n_recv_key,
        .wants_stats = o->record_timeline || o->record_costs,
        .wants_partition_graphs = o->record_partition_graphs || o->record_costs,
        .stats = &c->stats,
        .partition_graphs = &c->partition_graphs,
        .is_partial = request->is_partial,
        .is_last_partial = request->is_last_partial_run,
        .pushes = !request->is_partial && bd_proto_has_unknown(&request->base, BD_RUN_GRAPH_PUSHES),
        .call_depth = (int)bd_min(depth, BD_CALL_DEPTH_MAX),
        .returned = &c->returned,
    };
}

static braid_code read_run(bd_service_env *env, run_call *c, bd_incoming *call, braid_status *st)
{
    c->request = bd_proto_unpack_split(&tensorflow__run_graph_request__descriptor, &call->request,
                                       (bd_taken_field){3, add_sent, c}, &c->arena, st);
    bd_message_fini(&call->request); // its memory is the network's
    if (!c->request) return st->code;
    if (!bd_request_ids_add(&env->run_ids, c->request->request_id))
        return bd_fail(st, BRAID_ABORTED, "RunGraph of %s: request %lld has come before",
                       env->peers->self->label, (long long)c->request->request_id);
    set_run(c);
    return BRAID_OK;
}

static void run_graph(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    run_call *c = bd_slab_alloc(sizeof *c);
    bd_message_init(&c->stats);
    bd_message_init(&c->partition_graphs);
    bd_message_init(&c->returned);
    const braid_code code = read_run(env, c, call, st);
    bd_server_call_init(&c->base, call, env->cancellation, env->cancellation, free_run);
    bd_worker *w = bd_local_worker_base(env->worker);
    if (code)
        run_done(c, st);
    else
        w->ops->run_graph(w, &c->run, c->base.cancellation, run_done, c);
}

const bd_method bd_worker_methods[] = {
    {"RunGraph", BD_ON_ARRIVAL, run_graph},
    {"RecvTensor", BD_ON_ARRIVAL, bd_serve_recv_tensor},
    {"CleanupGraph", BD_ON_ARRIVAL, cleanup_graph},
    {"GetStatus", BD_ON_ARRIVAL, get_status},
    {"CreateWorkerSession", BD_ON_ARRIVAL, create_session},
    {"DeleteWorkerSession", BD_ON_POOL, delete_session},
    {"RegisterGraph", BD_ON_POOL, register_graph},
    {"DeregisterGraph", BD_ON_POOL, deregister_graph},
    {"CleanupAll", BD_ON_POOL, cleanup_all},
    {"Logging", BD_ON_ARRIVAL, bd_serve_logging},
    {"Tracing", BD_ON_ARRIVAL, bd_serve_tracing},
    {"RecvBuf", BD_ON_ARRIVAL, bd_serve_recv_buf},
    {"MarkRecvFinished", BD_ON_ARRIVAL, bd_serve_mark_recv_finished},
    {"GetStepSequence", BD_ON_ARRIVAL, bd_serve_get_step_sequence},
    {"CompleteGroup", BD_ON_ARRIVAL, bd_serve_complete_group},
    {"CompleteInstance", BD_ON_ARRIVAL, bd_serve_complete_instance},
    {NULL, BD_ON_ARRIVAL, NULL},
};
