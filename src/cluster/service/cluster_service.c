// ClusterService on the wire: Braid's own messages between tasks.
#include "base/alloc.h"
#include "braid/cluster.pb-c.h"
#include "cluster/worker/outbox.h"
#include "cluster/rpc/server_call.h"
#include "cluster/server_internal.h"
#include "cluster/service/services.h"
#include "proto/pack.h"

static void done(braid_server *server, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__DoneRequest *request =
        bd_proto_unpack_message(&braid__done_request__descriptor, &call->request, arena, st);
    if (request) bd_attendance_done(server->attendance, request->job, request->task, st);
    bd_incoming_reply_status(call, st);
}

static void attend(braid_server *server, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__AttendRequest *request =
        bd_proto_unpack_message(&braid__attend_request__descriptor, &call->request, arena, st);
    bd_message_fini(&call->request); // not kept while the call is open
    if (request)
        bd_attendance_attend(server->attendance, call, request->job, request->task, request->incarnation);
    else
        bd_incoming_reply_error(call, st);
}

static void free_served(bd_served *base)
{
    bd_free(base);
}

static bd_served *serve(braid_server *server, bd_incoming *call)
{
    bd_served *s = bd_calloc(1, sizeof *s);
    bd_served_init(s, call, server->cancellation, server->cancellation, free_served);
    return s;
}

static void announced(void *arg, int64_t generation, const braid_status *st)
{
    Braid__AnnounceResponse response = BRAID__ANNOUNCE_RESPONSE__INIT;
    response.generation = (uint64_t)generation;
    if (st->code)
        bd_served_reply_error(arg, st);
    else
        bd_served_reply_proto(arg, &response.base);
}

static void announce(braid_server *server, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__AnnounceRequest *request =
        bd_proto_unpack_message(&braid__announce_request__descriptor, &call->request, arena, st);
    if (!request) {
        bd_incoming_reply_error(call, st);
        return;
    }
    bd_served *s = serve(server, call);
    bd_announcements_announce(server->announcements, request->key, request->forward, s->cancellation,
                              announced, s);
}

static void awaited(void *arg, int64_t generation, const braid_status *st)
{
    Braid__AwaitResponse response = BRAID__AWAIT_RESPONSE__INIT;
    response.generation = (uint64_t)generation;
    // Nobody is left to announce it: not to be taken for a loss of the connection.
    if (st->code == BRAID_UNAVAILABLE) response.gone = st->message;
    if (st->code && st->code != BRAID_UNAVAILABLE)
        bd_served_reply_error(arg, st);
    else
        bd_served_reply_proto(arg, &response.base);
}

static void await(braid_server *server, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__AwaitRequest *request =
        bd_proto_unpack_message(&braid__await_request__descriptor, &call->request, arena, st);
    bd_message_fini(&call->request); // not kept while the call waits
    if (!request) {
        bd_incoming_reply_error(call, st);
        return;
    }
    const int64_t deadline_ns = call->deadline_ns;
    bd_served *s = serve(server, call);
    bd_announcements_await(server->announcements, request->key, (int64_t)request->seen, request->forward,
                           deadline_ns, s->cancellation, awaited, s);
}

// A client that holds its session.
typedef struct hold_call {
    bd_served base;
    bd_master_session *session; // a reference
    bd_cancel_hook hook;
} hold_call;

static void free_hold(bd_served *base)
{
    hold_call *h = BD_CONTAINER_OF(base, hold_call, base);
    bd_master_session_unref(h->session);
    bd_free(h);
}

// The client is gone, or the session is being closed.
static void hold_ended(bd_cancel_hook *hook, const braid_status *why)
{
    hold_call *h = BD_CONTAINER_OF(hook, hold_call, hook);
    bd_master_let_go(h->session);
    bd_served_reply_error(&h->base, why);
}

static void begin_hold(braid_server *server, bd_incoming *call, bd_master_session *session)
{
    hold_call *h = bd_calloc(1, sizeof *h);
    h->session = session;
    h->hook.fn = hold_ended;
    bd_served_init(&h->base, call, bd_master_session_cancellation(session), server->cancellation, free_hold);
    BD_STATUS(st);
    if (!bd_master_hold(session)) {
        bd_fail(st, BRAID_ABORTED, "Session %s is not found.", bd_master_session_handle(session));
        bd_served_reply_error(&h->base, st);
    } else if (!bd_cancellation_add(h->base.cancellation, &h->hook)) {
        bd_cancellation_status(h->base.cancellation, st);
        hold_ended(&h->hook, st);
    }
}

static void hold(braid_server *server, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__HoldRequest *request =
        bd_proto_unpack_message(&braid__hold_request__descriptor, &call->request, arena, st);
    bd_message_fini(&call->request); // not kept while the call is open
    bd_master_session *session =
        request ? bd_master_find_session(server->master, request->session_handle, st) : NULL;
    if (session)
        begin_hold(server, call, session);
    else
        bd_incoming_reply_error(call, st);
}

static void recv_part(braid_server *server, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_message part;
    bd_message_init(&part);
    const Braid__RecvPartRequest *request =
        bd_proto_unpack_message(&braid__recv_part_request__descriptor, &call->request, arena, st);
    if (!request || bd_held_parts_get(server->held_parts, request->id, request->part, &part, st))
        bd_incoming_reply_error(call, st);
    else
        bd_incoming_reply(call, &part, st);
}

// What stands before the tensors in a PushTensors request.
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

// Takes the tensors of a well-formed request; writes the answer, which names those that were refused.
static braid_code take_pushed(braid_server *server, const bd_message *request, int64_t step_id,
                              bd_message *response, braid_status *st)
{
    bd_wire_reader in = bd_wire_reader_of(request), tensor;
    bd_wire_writer out;
    uint32_t field, count = 0;
    bd_wire_type type;
    bd_wire_writer_init(&out, response);
    while (!st->code && bd_wire_next(&in, &field, &type)) {
        if (field != BD_PUSH_TENSOR || type != BD_WIRE_BYTES) {
            bd_wire_skip(&in, type);
            continue;
        }
        bool is_refused = false;
        bd_wire_get_sub(&in, &tensor);
        bd_local_worker_take_pushed(server->worker, step_id, tensor, &is_refused, st);
        if (is_refused) bd_wire_put_uint(&out, BD_PUSH_REFUSED, count);
        count++;
    }
    bd_wire_writer_finish(&out);
    return st->code;
}

static void push_tensors(braid_server *server, bd_incoming *call)
{
    BD_STATUS(st);
    bd_message response;
    bd_message_init(&response);
    int64_t step_id, request_id;
    braid_code code = read_push(&call->request, &step_id, &request_id, st);
    if (!code && !bd_request_ids_add(&server->recv_ids, request_id))
        code = bd_fail(st, BRAID_ABORTED, "PushTensors: request %lld has come before", (long long)request_id);
    if (!code) code = take_pushed(server, &call->request, step_id, &response, st);
    if (code)
        bd_incoming_reply_error(call, st);
    else
        bd_incoming_reply(call, &response, st);
    bd_message_fini(&response);
}

const bd_method bd_cluster_methods[] = {
    {"Attend", BD_ON_ARRIVAL, attend},
    {"Done", BD_ON_ARRIVAL, done},
    {"Announce", BD_ON_ARRIVAL, announce},
    {"Await", BD_ON_ARRIVAL, await},
    {"Hold", BD_ON_ARRIVAL, hold},
    {"RecvPart", BD_ON_ARRIVAL, recv_part},
    {"PushTensors", BD_ON_ARRIVAL, push_tensors},
    {NULL, BD_ON_ARRIVAL, NULL},
};
