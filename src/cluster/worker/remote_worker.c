// The worker of another task: each function is one call of TensorFlow's WorkerService.
#include "cluster/worker/remote_worker.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/slab.h"
#include "base/timer.h"
#include "base/wire.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/peers.h"
#include "cluster/rpc/recv_tensor_response.h"
#include "cluster/rpc/request_id.h"
#include "cluster/rpc/rpc.h"
#include "cluster/rpc/tensor_chunks.h"
#include "cluster/rpc/wire_fields.h"
#include "cluster/spec/graph_options.h"
#include "cluster/worker/local_worker.h"
#include "cluster/worker/outbox.h"
#include "cluster/worker/remote_worker_internal.h"
#include "proto/pack.h"
#include "tensor/named_tensor.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <string.h>

// A call in progress, with the state for its end.
typedef struct pending {
    const bd_peer *peer;
    const char *method; // static; the name without the service
    union {
        bd_worker_done_fn done;
        bd_worker_devices_fn devices;
        bd_worker_graph_fn graph;
        bd_recv_fn recv;
    } fn;
    void *arg;
    bd_cancellation *cancellation; // of a RecvTensor, for its parts; a reference; NULL
} pending;

static pending *pending_new(const bd_peer *peer, const char *method, void *arg)
{
    pending *p = bd_slab_alloc(sizeof *p);
    p->peer = peer;
    p->method = method;
    p->arg = arg;
    return p;
}

static void explain(const pending *p, const braid_status *from, braid_status *st)
{
    bd_peer_explain(p->peer, p->method, from, st);
}

// Unpacks a response; a malformed one is an error of the peer.
static void *unpack(const pending *p, const ProtobufCMessageDescriptor *type, const bd_message *response,
                    bd_proto_arena *arena, braid_status *st)
{
    void *message = bd_proto_unpack_message(type, response, arena, st);
    if (!message) bd_status_prefix(st, "%s: the answer of %s: ", p->method, p->peer->label);
    return message;
}

// ---- Calls whose answer says nothing ----

static void simple_done(void *arg, bd_message *response, const braid_status *from)
{
    (void)response;
    pending *p = arg;
    BD_STATUS(st);
    if (from->code) explain(p, from, st);
    if (p->fn.done) p->fn.done(p->arg, st);
    bd_slab_free(p);
}

void remote_worker_start_simple(bd_worker *w, const char *method, const ProtobufCMessage *request,
                                bd_cancellation *cancellation, bd_worker_done_fn fn, void *arg)
{
    const bd_peer *peer = BD_CONTAINER_OF(w, remote_worker, base)->peer;
    pending *p = pending_new(peer, strrchr(method, '/') + 1, arg);
    p->fn.done = fn;
    bd_rpc_options options = bd_peer_rpc(peer, method);
    options.cancellation = cancellation;
    bd_rpc_start_proto(&options, request, simple_done, p);
}

static void deregister_graph(bd_worker *w, const char *session_handle, const char *graph_handle,
                             bd_worker_done_fn fn, void *arg)
{
    Tensorflow__DeregisterGraphRequest request = TENSORFLOW__DEREGISTER_GRAPH_REQUEST__INIT;
    request.session_handle = (char *)session_handle;
    request.create_worker_session_called = true;
    request.graph_handle = (char *)graph_handle;
    remote_worker_start_simple(w, BD_WORKER_SERVICE "DeregisterGraph", &request.base, NULL, fn, arg);
}

static void cleanup_graph(bd_worker *w, int64_t step_id, bd_worker_done_fn fn, void *arg)
{
    Tensorflow__CleanupGraphRequest request = TENSORFLOW__CLEANUP_GRAPH_REQUEST__INIT;
    request.step_id = step_id;
    remote_worker_start_simple(w, BD_WORKER_SERVICE "CleanupGraph", &request.base, NULL, fn, arg);
}

static void cleanup_all(bd_worker *w, const char *const *containers, int count, const char *client,
                        bd_cancellation *cancellation, bd_worker_done_fn fn, void *arg)
{
    Tensorflow__CleanupAllRequest request = TENSORFLOW__CLEANUP_ALL_REQUEST__INIT;
    request.container = (char **)containers;
    request.n_container = (size_t)count;
    request.client = (char *)client;
    remote_worker_start_simple(w, BD_WORKER_SERVICE "CleanupAll", &request.base, cancellation, fn, arg);
}

// ---- GetStatus ----

// Tasks have few devices; more is no task.
#define DEVICES_MAX 1024

static void give_devices(const pending *p, const Tensorflow__GetStatusResponse *response)
{
    BD_STATUS(st);
    atomic_store(&p->peer->worker->takes_pushes,
                 bd_proto_has_unknown(&response->base, BD_STATUS_TAKES_PUSHES));
    atomic_store(&p->peer->worker->spec_fingerprint,
                 bd_proto_unknown_fixed64(&response->base, BD_STATUS_SPEC_FINGERPRINT));
    const size_t count = response->n_device_attributes;
    if (count > DEVICES_MAX) {
        bd_fail(st, BRAID_INTERNAL, "GetStatus: %s has %zu devices", p->peer->label, count);
        p->fn.devices(p->arg, NULL, 0, st);
        return;
    }
    bd_device_info *devices = bd_calloc(count, sizeof *devices);
    for (size_t i = 0; i < count; i++) {
        const Tensorflow__DeviceAttributes *d = response->device_attributes[i];
        devices[i] = (bd_device_info){d->name, d->device_type, d->incarnation, d->memory_limit};
    }
    p->fn.devices(p->arg, devices, (int)count, st);
    bd_free(devices);
}

static void status_done(void *arg, bd_message *response, const braid_status *from)
{
    pending *p = arg;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__GetStatusResponse *message = NULL;
    if (from->code)
        explain(p, from, st);
    else
        message = unpack(p, &tensorflow__get_status_response__descriptor, response, arena, st);
    if (message)
        give_devices(p, message);
    else
        p->fn.devices(p->arg, NULL, 0, st);
    bd_slab_free(p);
}

static void get_status(bd_worker *w, bool wait, bd_cancellation *cancellation, bd_worker_devices_fn fn,
                       void *arg)
{
    const bd_peer *peer = BD_CONTAINER_OF(w, remote_worker, base)->peer;
    pending *p = pending_new(peer, "GetStatus", arg);
    p->fn.devices = fn;
    bd_rpc_options options = bd_peer_rpc(peer, BD_WORKER_SERVICE "GetStatus");
    options.wait_for_ready = wait;
    options.cancellation = cancellation;
    const Tensorflow__GetStatusRequest request = TENSORFLOW__GET_STATUS_REQUEST__INIT;
    bd_rpc_start_proto(&options, &request.base, status_done, p);
}

// ---- RegisterGraph ----

static void register_done(void *arg, bd_message *response, const braid_status *from)
{
    pending *p = arg;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__RegisterGraphResponse *message = NULL;
    if (from->code)
        explain(p, from, st);
    else
        message = unpack(p, &tensorflow__register_graph_response__descriptor, response, arena, st);
    p->fn.graph(p->arg, message ? message->graph_handle : NULL, st);
    bd_slab_free(p);
}

static void register_graph(bd_worker *w, const char *session_handle, braid_graph *graph,
                           unsigned disabled_rewrites, const Tensorflow__DebugOptions *debug,
                           bd_cancellation *cancellation, bd_worker_graph_fn fn, void *arg)
{
    const bd_peer *peer = BD_CONTAINER_OF(w, remote_worker, base)->peer;
    pending *p = pending_new(peer, "RegisterGraph", arg);
    p->fn.graph = fn;
    Tensorflow__RegisterGraphRequest rest = TENSORFLOW__REGISTER_GRAPH_REQUEST__INIT;
    bd_graph_options options_message;
    rest.session_handle = (char *)session_handle;
    rest.create_worker_session_called = true;
    rest.debug_options = (Tensorflow__DebugOptions *)debug;
    rest.graph_options = bd_graph_options_make(disabled_rewrites, false, false, &options_message);
    bd_message request;
    bd_message_init(&request);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &request);
    bd_proto_pack(&rest.base, &writer);
    bd_wire_put_tag(&writer, 2, BD_WIRE_BYTES); // graph_def
    // TensorFlow 1.15 does not fill in defaults of a graph that is registered.
    const bool is_braid = atomic_load(&peer->worker->spec_fingerprint) != 0;
    const unsigned what = BD_GRAPH_PLACED | (is_braid ? 0 : BD_GRAPH_DEFAULTS);
    bd_wire_put_varint(&writer, bd_graph_write_size(graph, 0, what));
    bd_graph_write(graph, 0, what, &writer);
    bd_wire_writer_finish(&writer);
    bd_graph_fini(graph);
    bd_graph_init(graph);
    bd_rpc_options options = bd_peer_rpc(peer, BD_WORKER_SERVICE "RegisterGraph");
    options.cancellation = cancellation;
    bd_rpc_start(&options, &request, register_done, p);
}

// ---- RunGraph ----

static void write_run(const bd_run_graph *run, bd_message *request)
{
    Tensorflow__RunGraphRequest rest = TENSORFLOW__RUN_GRAPH_REQUEST__INIT;
    Tensorflow__ExecutorOpts opts = TENSORFLOW__EXECUTOR_OPTS__INIT;
    rest.session_handle = (char *)run->session_handle;
    rest.create_worker_session_called = true;
    rest.graph_handle = (char *)run->graph_handle;
    rest.step_id = run->step_id;
    rest.n_recv_key = (size_t)run->recv_count;
    rest.recv_key = (char **)run->recv_keys;
    rest.store_errors_in_response_body = true;
    rest.request_id = bd_request_id_next();
    rest.is_partial = run->is_partial;
    rest.is_last_partial_run = run->is_last_partial;
    opts.record_timeline = run->wants_stats;
    opts.record_partition_graphs = run->wants_partition_graphs;
    if (run->wants_stats || run->wants_partition_graphs) rest.exec_opts = &opts;
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, request);
    bd_proto_pack(&rest.base, &writer);
    if (run->pushes) bd_wire_put_uint(&writer, BD_RUN_GRAPH_PUSHES, 1);
    if (run->call_depth > 0) bd_wire_put_fixed64(&writer, BD_RUN_GRAPH_CALL_DEPTH, (uint64_t)run->call_depth);
    for (int i = 0; i < run->send_count; i++)
        bd_named_tensor_put(run->sends[i].key, run->sends[i].tensor, 3, &writer);
    bd_wire_writer_finish(&writer);
}

// The fields of RunGraphResponse.
enum {
    RESPONSE_RECV = 1,
    RESPONSE_STEP_STATS = 2,
    RESPONSE_PARTITION_GRAPH = 4,
    RESPONSE_STATUS_CODE = 5,
    RESPONSE_STATUS_MESSAGE = 6,
    METADATA_PARTITION_GRAPHS = 3, // of RunMetadata
};

static braid_code read_recv(bd_wire_reader *sub, const bd_run_graph *run, braid_status *st)
{
    bd_named_tensor named = {0};
    braid_code code = bd_named_tensor_read(sub, &named, st);
    for (int i = 0; !code && i < run->recv_count; i++) {
        if (strcmp(run->recv_keys[i], named.name) != 0) continue;
        bd_tensor_fini(&run->recvs[i]);
        bd_tensor_move(&run->recvs[i], &named.tensor);
        break;
    }
    bd_named_tensor_fini(&named);
    return code;
}

// Appends a copy of a field; used only in traced runs.
static void append_field(bd_message *out, uint32_t field, bd_wire_reader *sub)
{
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, out);
    if (field) {
        bd_wire_put_tag(&writer, field, BD_WIRE_BYTES);
        bd_wire_put_varint(&writer, sub->left);
    }
    const uint8_t *data;
    size_t len;
    while (bd_wire_get_piece(sub, &data, &len))
        bd_wire_put_raw(&writer, data, len);
    bd_wire_writer_finish(&writer);
}

static braid_code read_response_field(bd_wire_reader *in, uint32_t field, bd_wire_type type,
                                      bd_run_graph *run, uint64_t *code, char **text, braid_status *st)
{
    bd_wire_reader sub;
    if (field == RESPONSE_STATUS_CODE && type == BD_WIRE_VARINT) {
        bd_wire_get_varint(in, code);
    } else if (field == BD_RUN_GRAPH_RESPONSE_ENDS_BY_ITSELF && type == BD_WIRE_VARINT) {
        uint64_t ends_by_itself;
        if (bd_wire_get_varint(in, &ends_by_itself)) run->ends_by_itself = ends_by_itself != 0;
    } else if (field == RESPONSE_STATUS_MESSAGE && type == BD_WIRE_BYTES) {
        bd_free(*text);
        // at most as long as the response, which is in memory
        *text = bd_wire_get_string(in, SIZE_MAX - 1, NULL);
    } else if (field == BD_RUN_GRAPH_RESPONSE_PUSHED && type == BD_WIRE_BYTES && run->home) {
        if (bd_wire_get_sub(in, &sub))
            return bd_local_worker_take_pushed(run->home, run->step_id, sub, NULL, NULL, st);
    } else if (type == BD_WIRE_BYTES && (field == RESPONSE_RECV || field == RESPONSE_STEP_STATS ||
                                         field == RESPONSE_PARTITION_GRAPH)) {
        if (!bd_wire_get_sub(in, &sub)) return BRAID_OK;
        if (field == RESPONSE_RECV) return read_recv(&sub, run, st);
        if (field == RESPONSE_STEP_STATS && run->wants_stats) append_field(run->stats, 0, &sub);
        if (field == RESPONSE_PARTITION_GRAPH && run->wants_partition_graphs)
            append_field(run->partition_graphs, METADATA_PARTITION_GRAPHS, &sub);
    } else {
        bd_wire_skip(in, type);
    }
    return BRAID_OK;
}

static braid_code check_all_received(const bd_run_graph *run, braid_status *st)
{
    for (int i = 0; i < run->recv_count; i++)
        if (!bd_tensor_is_set(&run->recvs[i]))
            return bd_fail(st, BRAID_INTERNAL, "the answer holds no value for %s", run->recv_keys[i]);
    return BRAID_OK;
}

static braid_code read_run_response(const bd_peer *peer, const bd_message *response, bd_run_graph *run,
                                    braid_status *st)
{
    bd_wire_reader in = bd_wire_reader_of(response);
    uint32_t field;
    bd_wire_type type;
    uint64_t status_code = 0;
    char *text = NULL;
    braid_code code = BRAID_OK;
    while (!code && bd_wire_next(&in, &field, &type))
        code = read_response_field(&in, field, type, run, &status_code, &text, st);
    if (!code && in.failed) code = bd_fail(st, BRAID_INTERNAL, "the answer is malformed");
    if (!code && status_code) {
        bd_wire_error_read(st, status_code < INT32_MAX ? (int)status_code : BRAID_UNKNOWN, text ? text : "");
        code = st->code;
    } else {
        if (!code) code = check_all_received(run, st);
        if (code) bd_status_prefix(st, "%s: the answer of RunGraph: ", peer->label);
    }
    bd_free(text);
    return code;
}

// Cancelling has two phases: first the task is told to end the step (CleanupGraph) and answers RunGraph when
// it has, so that a step whose end is known holds nothing any more, and a root cause is not lost. When no
// answer comes, the call is cancelled. References: the call's, the hook's while it is registered or runs, the
// timer's.
typedef struct running {
    const bd_peer *peer;
    bd_run_graph *run; // until the callback
    bd_worker_done_fn fn;
    void *arg;
    int64_t step_id;
    bd_cancellation *caller, *call; // references; `call` is the call's own
    bd_cancel_hook hook;
    bd_timer_id grace_timer; // set by the hook
    atomic_int refs;
} running;

// A task that is alive has answered by then.
#define CANCEL_GRACE_MS 400

static void running_unref(running *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    bd_cancellation_unref(r->caller);
    bd_cancellation_unref(r->call);
    bd_slab_free(r);
}

static void grace_is_over(void *arg)
{
    running *r = arg;
    BD_STATUS(why);
    bd_cancellation_status(r->caller, why);
    bd_cancellation_cancel(r->call, why);
    running_unref(r);
}

static void caller_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    (void)why;
    running *r = BD_CONTAINER_OF(hook, running, hook);
    r->peer->worker->ops->cleanup_graph(r->peer->worker, r->step_id, NULL, NULL);
    // It takes over the hook's reference.
    r->grace_timer = bd_timer_add(r->peer->timers, bd_deadline_after_ms(CANCEL_GRACE_MS), grace_is_over, r);
}

// For a cancelled step, derived errors are replaced by the reason of the cancellation.
static void explain_run(const running *r, const bd_message *response, const braid_status *from,
                        braid_status *st)
{
    const pending p = {.peer = r->peer, .method = "RunGraph"};
    if (from->code)
        explain(&p, from, st);
    else
        read_run_response(r->peer, response, r->run, st);
    if (st->code && (st->derived || st->code == BRAID_CANCELLED) && bd_cancellation_is_cancelled(r->caller))
        bd_cancellation_status(r->caller, st);
}

static void run_done(void *arg, bd_message *response, const braid_status *from)
{
    running *r = arg;
    BD_STATUS(st);
    explain_run(r, response, from, st);
    for (int i = 0; st->code && i < r->run->recv_count; i++)
        bd_tensor_fini(&r->run->recvs[i]);
    // Either the hook has not run and never will, or it has run and left its reference to the timer.
    if (bd_cancellation_remove(r->caller, &r->hook) || bd_timer_cancel(r->peer->timers, r->grace_timer))
        running_unref(r);
    r->fn(r->arg, st);
    running_unref(r);
}

static void run_graph(bd_worker *w, bd_run_graph *run, bd_cancellation *cancellation, bd_worker_done_fn fn,
                      void *arg)
{
    const bd_peer *peer = BD_CONTAINER_OF(w, remote_worker, base)->peer;
    running *r = bd_slab_alloc(sizeof *r);
    *r = (running){.peer = peer, .run = run, .fn = fn, .arg = arg, .step_id = run->step_id};
    r->caller = bd_cancellation_ref(cancellation);
    r->call = bd_cancellation_new(NULL);
    r->hook.fn = caller_cancelled;
    atomic_init(&r->refs, 2);
    BD_STATUS(why);
    if (!bd_cancellation_add(cancellation, &r->hook)) { // it need not begin
        bd_cancellation_status(cancellation, why);
        fn(arg, why);
        atomic_store(&r->refs, 1);
        running_unref(r);
        return;
    }
    bd_message request;
    bd_message_init(&request);
    write_run(run, &request);
    bd_rpc_options options = bd_peer_rpc(peer, BD_WORKER_SERVICE "RunGraph");
    options.cancellation = r->call;
    bd_rpc_start(&options, &request, run_done, r);
}

// ---- RecvTensor ----

static void recv_done(void *arg, bd_message *response, const braid_status *from)
{
    pending *p = arg;
    BD_STATUS(st);
    bd_recv_tensor_response answer = {0};
    if (from->code)
        explain(p, from, st);
    else if (bd_recv_tensor_response_read(bd_wire_reader_of(response), &answer, st))
        bd_status_prefix(st, "%s: the answer of RecvTensor: ", p->peer->label);
    if (!st->code && answer.has_chunks)
        bd_fetch_chunks(p->peer, &answer.chunks, &answer.first_chunk, p->cancellation, p->fn.recv, p->arg);
    else
        p->fn.recv(p->arg, &answer.tensor, answer.is_dead, st);
    bd_recv_tensor_response_fini(&answer);
    bd_cancellation_unref(p->cancellation);
    bd_slab_free(p);
}

void bd_remote_recv_tensor(const bd_peer *peer, int64_t step_id, const bd_rendezvous_key *key,
                           bd_cancellation *cancellation, bd_recv_fn fn, void *arg)
{
    pending *p = pending_new(peer, "RecvTensor", arg);
    p->fn.recv = fn;
    Tensorflow__RecvTensorRequest request = TENSORFLOW__RECV_TENSOR_REQUEST__INIT;
    request.step_id = step_id;
    request.rendezvous_key = (char *)key->text;
    request.request_id = bd_request_id_next();
    bd_rpc_options options = bd_peer_rpc(peer, BD_WORKER_SERVICE "RecvTensor");
    p->cancellation = cancellation ? bd_cancellation_ref(cancellation) : NULL;
    bd_message message;
    bd_message_init(&message);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &message);
    bd_proto_pack(&request.base, &writer);
    bd_wire_put_uint(&writer, BD_RECV_TAKES_CHUNKS, 1);
    if (peer->is_of_session) bd_wire_put_uint(&writer, BD_RECV_OF_SESSION, 1);
    uint8_t offer[BD_CROSS_MEMORY_OFFER_BYTES];
    const size_t offer_len = bd_cross_memory_offer(peer->memory, offer);
    if (offer_len) bd_wire_put_bytes(&writer, BD_RECV_MEMORY_OFFER, offer, offer_len);
    bd_wire_writer_finish(&writer);
    options.cancellation = p->cancellation;
    bd_peer_start(peer, &options, &message, recv_done, p);
}

static bd_worker *worker_new(const bd_peer *peer)
{
    static const bd_worker_ops ops = {
        .get_status = get_status,
        .create_session = remote_worker_create_session,
        .delete_session = remote_worker_delete_session,
        .deregister_graph = deregister_graph,
        .cleanup_graph = cleanup_graph,
        .register_graph = register_graph,
        .run_graph = run_graph,
        .cleanup_all = cleanup_all,
    };
    remote_worker *w = bd_calloc(1, sizeof *w);
    w->base.ops = &ops;
    w->peer = peer;
    bd_mutex_init(&w->mu);
    return &w->base;
}

static void worker_free(remote_worker *w)
{
    bd_map_fini(&w->deleted);
    bd_mutex_fini(&w->mu);
    bd_free(w);
}

void bd_remote_workers_new(bd_peers *peers)
{
    for (int i = 0; i < peers->count; i++)
        if (!peers->items[i].is_self) peers->items[i].worker = worker_new(&peers->items[i]);
}

void bd_remote_workers_free(bd_peers *peers)
{
    for (int i = 0; i < peers->count; i++) {
        bd_peer *p = &peers->items[i];
        if (!p->is_self && p->worker) worker_free(BD_CONTAINER_OF(p->worker, remote_worker, base));
        p->worker = NULL;
    }
}
