// The session on a server of another process: each function is a call of TensorFlow's MasterService,
// notifications of Braid's ClusterService.
//
// cancel ends the calls in progress; close tells the server, which may be gone by then. A call of Hold is
// open all the time, so that a server of Braid closes the session when this client vanishes; TensorFlow's
// does not know it.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/slab.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "base/wire.h"
#include "braid/cluster.pb-c.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/request_id.h"
#include "cluster/session/remote_session_internal.h"
#include "cluster/spec/cluster_def.h"
#include "cluster/spec/graph_options.h"
#include "cluster/transport/shm.h"
#include "graph/turns.h"
#include "proto/pack.h"
#include "tensor/named_tensor.h"
#include "tensorflow/core/protobuf/master.pb-c.h"
#include <string.h>

#define SCHEME "grpc://"
// A server that does not answer within this time has lost the session, or will drop it.
#define CLOSE_MS 5000
// The server ends a step at its timeout and gives the reason. If no answer arrives, the client ends the call
// this much later.
#define TIMEOUT_SLACK_MS 5000

// ---- Calls ----

bd_rpc_options bd_remote_rpc(bd_remote_session *s, const char *method)
{
    return (bd_rpc_options){.transport = s->transport,
                            .channel = s->channel,
                            .method = method,
                            .deadline_ns = BD_FOREVER,
                            .cancellation = s->cancellation,
                            .count = &s->calls};
}

braid_code bd_remote_call(const bd_remote_session *s, const bd_rpc_options *options, bd_message *request,
                          const char *what, bd_message *response, braid_status *st)
{
    bd_rpc_wait(options, request, what, s->target, response, st);
    if (st->code == BRAID_UNAVAILABLE) bd_status_prefix(st, "The server at %s is unavailable: ", s->target);
    bd_wire_error_unmark(st);
    st->derived = false;
    return st->code;
}

braid_code bd_remote_call_proto(const bd_remote_session *s, const bd_rpc_options *options,
                                const ProtobufCMessage *request, const char *what, bd_message *response,
                                braid_status *st)
{
    bd_message message;
    bd_message_init(&message);
    bd_proto_pack_message(request, &message);
    return bd_remote_call(s, options, &message, what, response, st);
}

void bd_remote_limit(const bd_remote_session *s, int64_t timeout_ms, bd_rpc_options *options)
{
    const int64_t limit_ms = timeout_ms > 0 ? timeout_ms : s->operation_timeout_ms;
    if (limit_ms > 0 && limit_ms < INT64_MAX - TIMEOUT_SLACK_MS)
        options->deadline_ns = bd_deadline_after_ms(limit_ms + TIMEOUT_SLACK_MS);
}

// ---- CreateSession ----

static braid_code create(bd_remote_session *s, const braid_session_options *o, braid_status *st)
{
    Tensorflow__ConfigProto config = TENSORFLOW__CONFIG_PROTO__INIT;
    config.device_filters = (char **)o->device_filters;
    config.n_device_filters = (size_t)o->device_filter_count;
    config.allow_soft_placement = o->allow_soft_placement;
    config.log_device_placement = o->log_device_placement;
    config.isolate_session_state = o->isolate_session_state;
    config.operation_timeout_in_ms = o->operation_timeout_ms;
    config.inter_op_parallelism_threads = o->inter_op_threads;
    config.intra_op_parallelism_threads = o->intra_op_threads;
    bd_graph_options graph_options;
    config.graph_options = bd_graph_options_make(o->disabled_rewrites, o->place_pruned_graph,
                                                 o->enable_bfloat16_sendrecv, &graph_options);
    Tensorflow__ConfigProto__Experimental experimental = TENSORFLOW__CONFIG_PROTO__EXPERIMENTAL__INIT;
    if (o->collective_leader) experimental.collective_group_leader = (char *)o->collective_leader;
    experimental.share_session_state_in_clusterspec_propagation = o->cluster && o->shares_session_state;
    if (o->collective_leader || o->cluster) config.experimental = &experimental;
    if (o->cluster) config.cluster_def = bd_cluster_def_new(o->cluster);
    Tensorflow__CreateSessionRequest request = TENSORFLOW__CREATE_SESSION_REQUEST__INIT;
    request.config = &config;
    request.target = s->target;
    bd_rpc_options options = bd_remote_rpc(s, BD_MASTER_SERVICE "CreateSession");
    options.wait_for_ready = true;
    if (o->cancellation) options.cancellation = bd_cancellation_of(o->cancellation);
    // Without a connection to the server only the client can watch the timeout.
    if (o->operation_timeout_ms > 0) options.deadline_ns = bd_deadline_after_ms(o->operation_timeout_ms);
    if (o->open_timeout_ms > 0)
        options.deadline_ns = bd_min(options.deadline_ns, bd_deadline_after_ms(o->open_timeout_ms));
    bd_message message;
    BD_PROTO_ARENA(arena);
    const Tensorflow__CreateSessionResponse *response = NULL;
    if (!bd_remote_call_proto(s, &options, &request.base, "CreateSession", &message, st))
        response =
            bd_proto_unpack_message(&tensorflow__create_session_response__descriptor, &message, arena, st);
    bd_cluster_def_free(config.cluster_def);
    if (st->code == BRAID_DEADLINE_EXCEEDED) bd_status_prefix(st, "CreateSession on %s: ", s->target);
    if (response) {
        s->handle = bd_strdup(response->session_handle);
        s->version = response->graph_version;
    }
    bd_message_fini(&message);
    return st->code;
}

// ---- ExtendSession ----

static braid_code extend(bd_session *base, const braid_graph *graph, int from, braid_status *st)
{
    bd_remote_session *s = bd_remote_of(base);
    Tensorflow__ExtendSessionRequest rest = TENSORFLOW__EXTEND_SESSION_REQUEST__INIT;
    rest.session_handle = s->handle;
    rest.current_graph_version = s->version;
    bd_message request, message;
    bd_message_init(&request);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &request);
    bd_proto_pack(&rest.base, &writer);
    bd_wire_put_tag(&writer, 2, BD_WIRE_BYTES); // graph_def
    bd_wire_put_varint(&writer, bd_graph_write_size(graph, from, 0));
    bd_graph_write(graph, from, 0, &writer);
    bd_graph_unlock(graph);
    bd_wire_writer_finish(&writer);
    const bd_rpc_options options = bd_remote_rpc(s, BD_MASTER_SERVICE "ExtendSession");
    BD_PROTO_ARENA(arena);
    const Tensorflow__ExtendSessionResponse *response = NULL;
    if (!bd_remote_call(s, &options, &request, NULL, &message, st))
        response =
            bd_proto_unpack_message(&tensorflow__extend_session_response__descriptor, &message, arena, st);
    if (response) s->version = response->new_graph_version;
    bd_message_fini(&message);
    return st->code;
}

// ---- RunStep ----

void bd_remote_ask_records(Tensorflow__RunOptions *options, unsigned records)
{
    if (records & BRAID_RECORD_STATS) options->trace_level = TENSORFLOW__RUN_OPTIONS__TRACE_LEVEL__FULL_TRACE;
    options->output_partition_graphs = records & BRAID_RECORD_GRAPHS;
}

static void write_run(const bd_remote_session *s, const bd_session_run *run, const char *partial_run,
                      bd_message *request)
{
    const bd_run_signature *signature = run->signature;
    Tensorflow__RunOptions options = TENSORFLOW__RUN_OPTIONS__INIT;
    options.timeout_in_ms = run->timeout_ms;
    bd_remote_ask_records(&options, run->records);
    Tensorflow__RunStepRequest rest = TENSORFLOW__RUN_STEP_REQUEST__INIT;
    rest.session_handle = s->handle;
    rest.fetch = (char **)signature->fetches;
    rest.n_fetch = (size_t)signature->fetch_count;
    rest.target = (char **)signature->targets;
    rest.n_target = (size_t)signature->target_count;
    rest.request_id = bd_request_id_next();
    options.debug_options = (Tensorflow__DebugOptions *)signature->debug;
    if (run->timeout_ms > 0 || run->records || signature->debug) rest.options = &options;
    if (partial_run) rest.partial_run_handle = (char *)partial_run;
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, request);
    bd_proto_pack(&rest.base, &writer);
    for (int i = 0; i < signature->feed_count; i++)
        bd_named_tensor_put(signature->feeds[i], run->feeds[i], 2, &writer);
    bd_wire_writer_finish(&writer);
}

typedef struct fetching {
    const bd_run_signature *signature;
    braid_tensor *values;
} fetching;

// The response has values by name; a name that was fetched twice occurs twice.
static braid_code take_fetch(bd_wire_reader *sub, void *arg, braid_status *st)
{
    const fetching *f = arg;
    bd_named_tensor named = {0};
    const braid_code code = bd_named_tensor_read(sub, &named, st);
    for (int i = 0; !code && i < f->signature->fetch_count; i++) {
        if (bd_tensor_is_set(&f->values[i]) || strcmp(f->signature->fetches[i], named.name) != 0) continue;
        bd_tensor_move(&f->values[i], &named.tensor);
        break;
    }
    bd_named_tensor_fini(&named);
    return code;
}

braid_code bd_remote_take_metadata(const void *rest, size_t len, bd_message *metadata, braid_status *st)
{
    bd_slice block;
    bd_wire_reader in = bd_wire_reader_block(&block, rest, len), sub;
    uint32_t field;
    bd_wire_type type;
    while (bd_wire_next(&in, &field, &type)) {
        const uint8_t *data;
        size_t piece;
        if (field != 2 || type != BD_WIRE_BYTES)
            bd_wire_skip(&in, type);
        else if (bd_wire_get_sub(&in, &sub))
            while (bd_wire_get_piece(&sub, &data, &piece))
                bd_message_add_copy(metadata, data, piece);
    }
    return in.failed ? bd_fail(st, BRAID_INTERNAL, "The server's answer is malformed") : BRAID_OK;
}

static braid_code take_fetches(const bd_message *response, const bd_run_signature *signature,
                               braid_tensor *values, bd_message *metadata, braid_status *st)
{
    void *rest;
    size_t len;
    fetching f = {signature, values};
    braid_code code = bd_wire_split(response, &tensorflow__run_step_response__descriptor,
                                    (bd_taken_field){1, take_fetch, &f}, &rest, &len, st);
    if (!code && metadata) code = bd_remote_take_metadata(rest, len, metadata, st);
    bd_slab_free(rest);
    for (int i = 0; !code && i < signature->fetch_count; i++)
        if (!bd_tensor_is_set(&values[i]))
            code = bd_fail(st, BRAID_INTERNAL, "The server's answer holds no value for '%s'",
                           signature->fetches[i]);
    for (int i = 0; code && i < signature->fetch_count; i++)
        bd_tensor_fini(&values[i]);
    return code;
}

braid_code bd_remote_run_step(bd_remote_session *s, const bd_session_run *run, const char *partial_run,
                              braid_status *st)
{
    bd_message request, response;
    bd_message_init(&request);
    write_run(s, run, partial_run, &request);
    bd_rpc_options options = bd_remote_rpc(s, BD_MASTER_SERVICE "RunStep");
    if (run->cancellation) options.cancellation = run->cancellation;
    bd_remote_limit(s, run->timeout_ms, &options);
    if (!bd_remote_call(s, &options, &request, NULL, &response, st))
        take_fetches(&response, run->signature, run->fetches, run->metadata, st);
    bd_message_fini(&response);
    return st->code;
}

static braid_code run_step(bd_session *base, const bd_session_run *run, braid_status *st)
{
    return bd_remote_run_step(bd_remote_of(base), run, NULL, st);
}

// ---- ListDevices ----

static void keep_devices(const Tensorflow__ListDevicesResponse *response, bd_device_info **devices,
                         int *count)
{
    const size_t local = response->n_local_device, all = local + response->n_remote_device;
    bd_device_info *infos = bd_calloc(all, sizeof *infos);
    for (size_t i = 0; i < all; i++) {
        const Tensorflow__DeviceAttributes *d =
            i < local ? response->local_device[i] : response->remote_device[i - local];
        infos[i] = (bd_device_info){d->name, d->device_type, d->incarnation, d->memory_limit};
    }
    *devices = bd_device_infos_copy(infos, (int)all);
    *count = (int)all;
    bd_free(infos);
}

static braid_code list_devices(bd_session *base, bd_device_info **devices, int *count, braid_status *st)
{
    bd_remote_session *s = bd_remote_of(base);
    Tensorflow__ListDevicesRequest request = TENSORFLOW__LIST_DEVICES_REQUEST__INIT;
    request.session_handle = s->handle;
    const bd_rpc_options options = bd_remote_rpc(s, BD_MASTER_SERVICE "ListDevices");
    bd_message message;
    BD_PROTO_ARENA(arena);
    const Tensorflow__ListDevicesResponse *response = NULL;
    if (!bd_remote_call_proto(s, &options, &request.base, NULL, &message, st))
        response =
            bd_proto_unpack_message(&tensorflow__list_devices_response__descriptor, &message, arena, st);
    if (response) keep_devices(response, devices, count);
    bd_message_fini(&message);
    return st->code;
}

// ---- Notifications ----

static braid_code notify(bd_session *base, const char *key, braid_status *st)
{
    bd_remote_session *s = bd_remote_of(base);
    Braid__NotifyRequest request = BRAID__NOTIFY_REQUEST__INIT;
    request.key = (char *)key;
    request.forward = true;
    const bd_rpc_options options = bd_remote_rpc(s, BD_CLUSTER_SERVICE "Notify");
    bd_message message;
    bd_remote_call_proto(s, &options, &request.base, NULL, &message, st);
    bd_message_fini(&message);
    return st->code;
}

static braid_code wait_notification(bd_session *base, const braid_notification_wait *wanted,
                                    int64_t *generation, braid_status *st)
{
    bd_remote_session *s = bd_remote_of(base);
    Braid__WaitNotificationRequest request = BRAID__WAIT_NOTIFICATION_REQUEST__INIT;
    request.key = (char *)wanted->key;
    request.seen = (uint64_t)wanted->seen;
    request.min_tasks = wanted->min_tasks;
    request.successors = wanted->successors;
    request.leads = wanted->leads;
    request.forward = true;
    bd_rpc_options options = bd_remote_rpc(s, BD_CLUSTER_SERVICE "WaitNotification");
    if (wanted->timeout_ms > 0) options.deadline_ns = bd_deadline_after_ms(wanted->timeout_ms);
    if (wanted->cancellation) options.cancellation = bd_cancellation_of(wanted->cancellation);
    bd_message message;
    BD_PROTO_ARENA(arena);
    const Braid__WaitNotificationResponse *response = NULL;
    if (!bd_remote_call_proto(s, &options, &request.base, NULL, &message, st))
        response =
            bd_proto_unpack_message(&braid__wait_notification_response__descriptor, &message, arena, st);
    if (st->code == BRAID_DEADLINE_EXCEEDED)
        bd_fail(st, st->code, "No notification of '%s' arrived in time", wanted->key);
    if (response && response->gone[0]) bd_fail(st, BRAID_UNAVAILABLE, "%s", response->gone);
    if (response) *generation = (int64_t)response->generation;
    bd_message_fini(&message);
    return st->code;
}

// ---- Hold ----

static void hold(bd_remote_session *s);

// Again when the connection was lost. Else the session is gone, or the server does not know the method.
static void hold_done(void *arg, bd_message *response, const braid_status *st)
{
    (void)response;
    if (st->code == BRAID_UNAVAILABLE)
        hold(arg);
    else
        bd_debug("Hold: %s", st->message);
}

static void hold(bd_remote_session *s)
{
    Braid__HoldRequest request = BRAID__HOLD_REQUEST__INIT;
    request.session_handle = s->handle;
    bd_rpc_options options = bd_remote_rpc(s, BD_CLUSTER_SERVICE "Hold");
    options.wait_for_ready = true;
    options.watches = true;
    bd_mutex_lock(&s->mu);
    if (!s->is_ending) bd_rpc_start_proto(&options, &request.base, hold_done, s);
    bd_mutex_unlock(&s->mu);
}

// ---- Beginning and end ----

static void destroy(bd_remote_session *s)
{
    bd_mutex_lock(&s->mu);
    s->is_ending = true;
    bd_mutex_unlock(&s->mu);
    if (s->channel) s->transport->channel_close(s->channel);
    bd_rpc_count_wait(&s->calls);
    if (s->owns_transport) s->transport->free(s->transport);
    bd_rpc_count_fini(&s->calls);
    bd_mutex_fini(&s->mu);
    bd_cancellation_unref(s->cancellation);
    bd_free(s->handle);
    bd_free(s->target);
    bd_free(s);
}

static bd_cancellation *cancellation(bd_session *base)
{
    return bd_remote_of(base)->cancellation;
}

static void cancel(bd_session *base)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, BD_SESSION_CLOSED);
    bd_cancellation_cancel(bd_remote_of(base)->cancellation, why);
}

static braid_code close_session(bd_session *base, braid_status *st)
{
    bd_remote_session *s = bd_remote_of(base);
    Tensorflow__CloseSessionRequest request = TENSORFLOW__CLOSE_SESSION_REQUEST__INIT;
    request.session_handle = s->handle;
    bd_rpc_options options = bd_remote_rpc(s, BD_MASTER_SERVICE "CloseSession");
    options.cancellation = NULL;
    options.deadline_ns = bd_deadline_after_ms(CLOSE_MS);
    bd_message message;
    BD_STATUS(closed);
    bd_remote_call_proto(s, &options, &request.base, NULL, &message, closed);
    bd_message_fini(&message);
    // A server that is gone, or has forgotten the session, has closed it.
    if (closed->code != BRAID_UNAVAILABLE && closed->code != BRAID_ABORTED) bd_status_move(st, closed);
    destroy(s);
    return st->code;
}

static braid_code check_target(const char *target, braid_status *st)
{
    if (!bd_str_starts_with(target, SCHEME))
        return bd_fail(
            st, BRAID_NOT_FOUND,
            "No session factory registered for the given session options: the target '%s' is neither "
            "\"\" (in this process) nor %shost:port",
            target, SCHEME);
    const braid_code code = bd_address_check(target + strlen(SCHEME), st);
    if (code) bd_status_prefix(st, "'%s' is no target of a session: ", target);
    return code;
}

// A session that is not created yet.
static bd_remote_session *connect_to(const braid_session_options *options, bd_transport *transport,
                                     braid_status *st)
{
    if (check_target(options->target, st)) return NULL;
    const bool owns_transport = transport == NULL;
    braid_role role;
    if (owns_transport) transport = bd_grpc_transport_new(st);
    if (!transport) return NULL;
    if (owns_transport && bd_grpc_transport_use_tls(transport, options->tls_dir, &role, st)) {
        transport->free(transport);
        return NULL;
    }
    const bool may_share = owns_transport && (role == BRAID_ROLE_NONE || role == BRAID_ROLE_TASK);
    if (may_share) transport = bd_shm_transport_new(transport, NULL);
    bd_remote_session *s = bd_calloc(1, sizeof *s);
    s->target = bd_strdup(options->target);
    s->transport = transport;
    s->owns_transport = owns_transport;
    s->operation_timeout_ms = options->operation_timeout_ms;
    s->channel = transport->connect(transport, s->target + strlen(SCHEME));
    s->cancellation = bd_cancellation_new(NULL);
    bd_rpc_count_init(&s->calls);
    bd_mutex_init(&s->mu);
    return s;
}

braid_code bd_remote_session_new(const braid_session_options *options, bd_transport *transport,
                                 bd_session **out, braid_status *st)
{
    static const bd_session_ops ops = {.extend = extend,
                                       .run = run_step,
                                       .make_callable = bd_remote_make_callable,
                                       .run_callable = bd_remote_run_callable,
                                       .release_callable = bd_remote_release_callable,
                                       .setup_partial_run = bd_remote_setup_partial_run,
                                       .run_partial = bd_remote_run_partial,
                                       .end_partial_run = bd_remote_end_partial_run,
                                       .list_devices = list_devices,
                                       .notify = notify,
                                       .wait_notification = wait_notification,
                                       .cancellation = cancellation,
                                       .cancel = cancel,
                                       .close = close_session};
    bd_remote_session *s = connect_to(options, transport, st);
    if (!s) return st->code;
    s->base.ops = &ops;
    if (create(s, options, st)) {
        destroy(s);
        return st->code;
    }
    hold(s);
    *out = &s->base;
    return BRAID_OK;
}

braid_code bd_remote_session_reset(const braid_session_options *options, const char *const *containers,
                                   int count, braid_status *st)
{
    bd_remote_session *s = connect_to(options, NULL, st);
    if (!s) return st->code;
    Tensorflow__ResetRequest request = TENSORFLOW__RESET_REQUEST__INIT;
    request.container = (char **)containers;
    request.n_container = (size_t)count;
    request.device_filters = (char **)options->device_filters;
    request.n_device_filters = (size_t)options->device_filter_count;
    bd_rpc_options rpc = bd_remote_rpc(s, BD_MASTER_SERVICE "Reset");
    if (s->operation_timeout_ms > 0) rpc.deadline_ns = bd_deadline_after_ms(s->operation_timeout_ms);
    bd_message message;
    bd_remote_call_proto(s, &rpc, &request.base, "Reset", &message, st);
    bd_message_fini(&message);
    destroy(s);
    return st->code;
}
