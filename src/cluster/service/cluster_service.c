// ClusterService on the wire: Braid's own messages between tasks.
#include "base/alloc.h"
#include "braid/cluster.pb-c.h"
#include "cluster/rpc/server_call.h"
#include "cluster/rpc/wire_fields.h"
#include "cluster/service/services.h"
#include "cluster/worker/outbox.h"
#include "proto/pack.h"

static void free_call(bd_server_call *base)
{
    bd_free(base);
}

static bd_server_call *serve(bd_service_env *env, bd_incoming *call)
{
    bd_server_call *s = bd_calloc(1, sizeof *s);
    bd_server_call_init(s, call, env->cancellation, env->cancellation, free_call);
    return s;
}

static void notify_done(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__NotifyDoneRequest *request =
        bd_proto_unpack_message(&braid__notify_done_request__descriptor, &call->request, arena, st);
    if (request) {
        const bd_done_notice notice = {request->job, request->task, request->incarnation,
                                       request->only_serves};
        bd_membership_done(env->membership, &notice, st);
    }
    if (st->code || !env->replication) {
        bd_incoming_reply_status(call, st);
        return;
    }
    bd_variables_count_change(); // the standby has to know it
    bd_replication_commit(env->replication, bd_server_call_reply_status, serve(env, call));
}

static void done_tasks(bd_service_env *env, bd_incoming *call)
{
    bd_done_notice *done;
    const int count = bd_membership_done_tasks(env->membership, &done);
    Braid__NotifyDoneRequest *tasks = bd_calloc((size_t)count + 1, sizeof *tasks);
    Braid__NotifyDoneRequest **pointers = bd_calloc((size_t)count + 1, sizeof *pointers);
    for (int i = 0; i < count; i++) {
        braid__notify_done_request__init(&tasks[i]);
        tasks[i].job = (char *)done[i].job;
        tasks[i].task = done[i].task;
        tasks[i].incarnation = done[i].incarnation;
        tasks[i].only_serves = done[i].only_serves;
        pointers[i] = &tasks[i];
    }
    Braid__DoneTasksResponse response = BRAID__DONE_TASKS_RESPONSE__INIT;
    response.n_task = (size_t)count;
    response.task = pointers;
    bd_incoming_reply_proto(call, &response.base);
    bd_free(pointers);
    bd_free(tasks);
    bd_free(done);
}

static void liveness(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__LivenessRequest *request =
        bd_proto_unpack_message(&braid__liveness_request__descriptor, &call->request, arena, st);
    bd_message_fini(&call->request); // not kept while the call is open
    if (request)
        bd_membership_serve_liveness(env->membership, call, request->job, request->task,
                                     request->incarnation);
    else
        bd_incoming_reply_error(call, st);
}

static void compare_specifications(bd_service_env *env, bd_incoming *call)
{
    bd_spec_check_serve(env->spec_check, call);
}

static void reply_generation(void *arg, int64_t generation, const braid_status *st)
{
    Braid__NotifyResponse response = BRAID__NOTIFY_RESPONSE__INIT;
    response.generation = (uint64_t)generation;
    if (st->code)
        bd_server_call_reply_error(arg, st);
    else
        bd_server_call_reply_proto(arg, &response.base);
}

static void notify(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__NotifyRequest *request =
        bd_proto_unpack_message(&braid__notify_request__descriptor, &call->request, arena, st);
    if (!request) {
        bd_incoming_reply_error(call, st);
        return;
    }
    bd_server_call *s = serve(env, call);
    bd_notifications_notify(env->notifications, request->key, request->forward, s->cancellation,
                            reply_generation, s);
}

static void reply_generation_or_gone(void *arg, int64_t generation, const braid_status *st)
{
    Braid__WaitNotificationResponse response = BRAID__WAIT_NOTIFICATION_RESPONSE__INIT;
    response.generation = (uint64_t)generation;
    // The chief is gone, or too few tasks are left. As an error, Unavailable would look like a lost
    // connection to the caller.
    if (st->code == BRAID_UNAVAILABLE) response.gone = st->message;
    if (st->code && st->code != BRAID_UNAVAILABLE)
        bd_server_call_reply_error(arg, st);
    else
        bd_server_call_reply_proto(arg, &response.base);
}

static void wait_notification(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__WaitNotificationRequest *request =
        bd_proto_unpack_message(&braid__wait_notification_request__descriptor, &call->request, arena, st);
    bd_message_fini(&call->request); // not kept while the call waits
    if (!request) {
        bd_incoming_reply_error(call, st);
        return;
    }
    const int64_t deadline_ns = call->deadline_ns;
    bd_server_call *s = serve(env, call);
    const bd_notification_wait options = {
        .key = request->key,
        .seen = (int64_t)request->seen,
        .min_tasks = request->min_tasks,
        .successors = request->successors,
        .leads = request->leads,
        .job = request->job,
        .task = request->task,
        .forward = request->forward,
        .deadline_ns = deadline_ns,
        .cancellation = s->cancellation,
    };
    bd_notifications_wait(env->notifications, &options, reply_generation_or_gone, s);
}

// A call by which a client holds its session open.
typedef struct hold_call {
    bd_server_call base;
    bd_master_session *session; // a reference
    bd_cancel_hook hook;
} hold_call;

static void free_hold(bd_server_call *base)
{
    hold_call *h = BD_CONTAINER_OF(base, hold_call, base);
    bd_master_session_unref(h->session);
    bd_free(h);
}

// The client has disconnected, or the session is being closed.
static void hold_ended(bd_cancel_hook *hook, const braid_status *why)
{
    hold_call *h = BD_CONTAINER_OF(hook, hold_call, hook);
    bd_master_let_go(h->session);
    bd_server_call_reply_error(&h->base, why);
}

static void begin_hold(bd_service_env *env, bd_incoming *call, bd_master_session *session)
{
    hold_call *h = bd_calloc(1, sizeof *h);
    h->session = session;
    h->hook.fn = hold_ended;
    bd_server_call_init(&h->base, call, bd_master_session_cancellation(session), env->cancellation,
                        free_hold);
    BD_STATUS(st);
    if (!bd_master_hold(session)) {
        bd_fail(st, BRAID_ABORTED, "Session %s is not found.", bd_master_session_handle(session));
        bd_server_call_reply_error(&h->base, st);
    } else if (!bd_cancellation_add(h->base.cancellation, &h->hook)) {
        bd_cancellation_status(h->base.cancellation, st);
        hold_ended(&h->hook, st);
    }
}

static void hold(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__HoldRequest *request =
        bd_proto_unpack_message(&braid__hold_request__descriptor, &call->request, arena, st);
    bd_message_fini(&call->request); // not kept while the call is open
    bd_caller caller;
    call->transport->caller(call, &caller);
    bd_master_session *session =
        request ? bd_master_find_session(env->master, request->session_handle, &caller, st) : NULL;
    if (session)
        begin_hold(env, call, session);
    else
        bd_incoming_reply_error(call, st);
}

static void recv_chunk(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_message chunk;
    bd_message_init(&chunk);
    const Braid__RecvChunkRequest *request =
        bd_proto_unpack_message(&braid__recv_chunk_request__descriptor, &call->request, arena, st);
    if (!request || bd_chunk_store_get(env->chunk_store, request, &chunk, st))
        bd_incoming_reply_error(call, st);
    else
        bd_incoming_reply(call, &chunk, st);
}

static void release_tensor(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__ReleaseTensorRequest *request =
        bd_proto_unpack_message(&braid__release_tensor_request__descriptor, &call->request, arena, st);
    if (request) bd_chunk_store_forget(env->chunk_store, request->id);
    bd_incoming_reply_status(call, st);
}

// The fields of a PushTensors request that precede its tensors.
static braid_code read_push(const bd_message *request, int64_t *step_id, int64_t *request_id,
                            braid_status *st)
{
    bd_wire_reader in = bd_wire_reader_of(request);
    uint32_t field;
    bd_wire_type type;
    uint64_t values[3] = {0};
    while (bd_wire_next(&in, &field, &type)) {
        if ((field == BD_PUSH_STEP_ID || field == BD_PUSH_REQUEST_ID) && type == BD_WIRE_VARINT)
            bd_wire_get_varint(&in, &values[field]);
        else
            bd_wire_skip(&in, type);
    }
    *step_id = (int64_t)values[BD_PUSH_STEP_ID];
    *request_id = (int64_t)values[BD_PUSH_REQUEST_ID];
    return in.failed ? bd_fail(st, BRAID_INVALID_ARGUMENT, "PushTensors: the request is malformed")
                     : BRAID_OK;
}

static void put_offer(const bd_peer *to, bd_wire_writer *out)
{
    uint8_t offer[BD_CROSS_MEMORY_OFFER_BYTES];
    const size_t len = bd_cross_memory_offer(to->memory, offer);
    if (len) bd_wire_put_bytes(out, BD_PUSH_OFFER, offer, len);
}

// Takes the tensors of a well-formed request. Writes the response, which lists the refused tensors.
static braid_code take_pushed(bd_service_env *env, const bd_message *request, int64_t step_id,
                              bd_message *response, braid_status *st)
{
    bd_wire_reader in = bd_wire_reader_of(request), tensor;
    bd_wire_writer out;
    uint32_t field, count = 0;
    bd_wire_type type;
    const bd_peer *read_from = NULL;
    bd_wire_writer_init(&out, response);
    while (!st->code && bd_wire_next(&in, &field, &type)) {
        if (field != BD_PUSH_TENSOR || type != BD_WIRE_BYTES) {
            bd_wire_skip(&in, type);
            continue;
        }
        bool is_refused = false;
        bd_wire_get_sub(&in, &tensor);
        bd_local_worker_take_pushed(env->worker, step_id, tensor, &is_refused, &read_from, st);
        if (is_refused) bd_wire_put_uint(&out, BD_PUSH_REFUSED, count);
        count++;
    }
    if (read_from) put_offer(read_from, &out);
    bd_wire_writer_finish(&out);
    return st->code;
}

static void push_tensors(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    bd_message response;
    bd_message_init(&response);
    bd_continuations continuations;
    int64_t step_id, request_id;
    bd_local_worker_begin_pushed(env->worker, &continuations);
    braid_code code = read_push(&call->request, &step_id, &request_id, st);
    if (!code && !bd_request_ids_add(&env->recv_ids, request_id))
        code = bd_fail(st, BRAID_ABORTED, "PushTensors of %s: request %lld has come before",
                       env->peers->self->label, (long long)request_id);
    if (!code) code = take_pushed(env, &call->request, step_id, &response, st);
    if (code)
        bd_incoming_reply_error(call, st);
    else
        bd_incoming_reply(call, &response, st);
    bd_message_fini(&response);
    bd_local_worker_end_pushed(env->worker, &continuations);
}

const bd_method bd_cluster_methods[] = {
    {"Liveness", BD_ON_ARRIVAL, liveness},
    {"NotifyDone", BD_ON_ARRIVAL, notify_done},
    {"DoneTasks", BD_ON_ARRIVAL, done_tasks},
    {"CompareSpecifications", BD_ON_POOL, compare_specifications},
    {"RecvChunk", BD_ON_ARRIVAL, recv_chunk},
    {"ReleaseTensor", BD_ON_ARRIVAL, release_tensor},
    {"SendByMpi", BD_ON_ARRIVAL, bd_serve_send_by_mpi},
    {"PushTensors", BD_ON_ARRIVAL, push_tensors},
    {NULL, BD_ON_ARRIVAL, NULL},
};

const bd_method bd_cluster_session_methods[] = {
    {"Notify", BD_ON_ARRIVAL, notify},
    {"WaitNotification", BD_ON_ARRIVAL, wait_notification},
    {"Hold", BD_ON_ARRIVAL, hold},
    {NULL, BD_ON_ARRIVAL, NULL},
};
