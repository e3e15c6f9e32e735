// The incoming calls of the gRPC transport.
//
// A listener keeps a number of requests for calls posted. Life of an incoming call, by the tags of struct
// incoming:
//   posted     the request of a call is with gRPC (tag `arrived`); it fails when the server shuts down
//   waiting    `arrived` ran, and many calls of its connection are before it (turns.h)
//   receiving  it has its turn: waits for the message (tag `received`) and the end of the call (tag `ended`)
//   handled    `received` ran: the handler has the call; a streaming method sends and receives messages
//              (tags `streamed` and `next`)
//   replied    bd_grpc_reply: response and status are being sent (tag `sent`)
// It is freed when both the chain to `sent` and `ended` have run, so the handler's call is valid until its
// reply whatever the client does. `ended` calls on_end; when it runs before the reply, the client is gone and
// the reply fails by itself.
#include "base/clock.h"
#include "base/slab.h"
#include "base/strbuf.h"
#include "cluster/transport/grpc_listener.h"
#include <grpc/byte_buffer.h>
#include <grpc/support/alloc.h>
#include <stdlib.h>
#include <string.h>

// No method has a longer path; it is truncated and then unknown.
#define METHOD_LEN_MAX 127

typedef struct incoming {
    bd_incoming base;
    bd_listener *listener; // not owned
    grpc_call *call;
    bd_connection *connection;
    struct incoming *next_admitted, **admitted_at; // guarded by the listener's mutex; NULL: in no list
    bd_turn turn;
    bool counts;          // among the calls in progress of its caller
    size_t request_bytes; // that count
    grpc_call_details details;
    grpc_metadata_array metadata;
    bd_grpc_tag arrived, received, ended, sent;
    grpc_byte_buffer *request, *response;
    grpc_slice error_message;
    grpc_metadata pings; // the answer to is_asked
    bool is_asked;       // whether this server is of Braid
    int cancelled;       // by gRPC, when `ended` runs
    atomic_int refs;
    bd_mutex mu;
    bool has_ended;        // guarded by mu
    bd_call_end_fn end_fn; // guarded by mu
    void *end_arg;
    char method[METHOD_LEN_MAX + 1];
    // Of methods that stream.
    bool has_begun_reply; // the headers have been sent
    bd_grpc_tag streamed, next;
    grpc_byte_buffer *stream_message, *next_message;
    void (*sent_fn)(void *arg);
    void *sent_arg;
    void (*received_fn)(void *arg, bd_message *message);
    void *received_arg;
} incoming;

static void end_turn(incoming *in);

// ---- The end of a call ----

static void add_live(bd_listener *l, int count)
{
    bd_mutex_lock(&l->mu);
    l->live += count;
    if (count < 0) bd_cond_broadcast(&l->changed);
    bd_mutex_unlock(&l->mu);
}

static void leave_admitted(incoming *in)
{
    bd_mutex_lock(&in->listener->mu);
    if (in->admitted_at) {
        *in->admitted_at = in->next_admitted;
        if (in->next_admitted) in->next_admitted->admitted_at = in->admitted_at;
    }
    bd_mutex_unlock(&in->listener->mu);
}

static void incoming_unref(incoming *in)
{
    if (atomic_fetch_sub_explicit(&in->refs, 1, memory_order_acq_rel) != 1) return;
    bd_listener *l = in->listener;
    if (l->external) leave_admitted(in);
    if (in->counts) bd_connection_end_call(in->connection, in->request_bytes);
    bd_connection_unref(in->connection);
    if (in->call) grpc_call_unref(in->call);
    grpc_call_details_destroy(&in->details);
    grpc_metadata_array_destroy(&in->metadata);
    bd_mutex_fini(&in->mu);
    bd_slab_free(in);
    add_live(l, -1);
}

static void call_ended(bd_grpc_tag *tag, bool ok)
{
    (void)ok;
    incoming *in = BD_CONTAINER_OF(tag, incoming, ended);
    bd_mutex_lock(&in->mu);
    in->has_ended = true;
    const bd_call_end_fn fn = in->end_fn;
    bd_mutex_unlock(&in->mu);
    if (in->cancelled && !bd_connection_cancelled(in->connection))
        bd_acceptor_end(in->listener->acceptor, in->connection, "it cancels calls as fast as it makes them");
    if (fn) fn(in->end_arg, in->cancelled);
    incoming_unref(in);
}

void bd_grpc_on_end(bd_incoming *call, bd_call_end_fn fn, void *arg)
{
    incoming *in = BD_CONTAINER_OF(call, incoming, base);
    bd_mutex_lock(&in->mu);
    BD_ASSERT(!in->end_fn);
    in->end_fn = fn;
    in->end_arg = arg;
    const bool has_ended = in->has_ended;
    bd_mutex_unlock(&in->mu);
    if (has_ended) fn(arg, true); // before the reply: so it was cancelled
}

// ---- Connections ----

char *bd_grpc_decode_peer(const char *name)
{
    bd_strbuf plain = {0};
    for (const char *at = name; *at; at++) {
        const bool opens = bd_str_starts_with(at, "%5B"), closes = bd_str_starts_with(at, "%5D");
        bd_strbuf_append_char(&plain, opens ? '[' : closes ? ']' : *at);
        if (opens || closes) at += 2;
    }
    return bd_strbuf_take(&plain);
}

static bd_connection *find_decoded(bd_acceptor *a, const char *name)
{
    char *peer = bd_grpc_decode_peer(name);
    bd_connection *c = bd_acceptor_find_peer(a, peer);
    bd_free(peer);
    return c;
}

// gRPC names a connection after the descriptor that it was given, "fd:12", which is not closed as long as the
// connection has calls; one that speaks TLS after its other end.
static bd_connection *connection_of(const bd_listener *l, grpc_call *call)
{
    char *name = grpc_call_get_peer(call);
    bd_connection *c = bd_str_starts_with(name, "fd:") ? bd_acceptor_find(l->acceptor, atoi(name + 3))
                                                       : find_decoded(l->acceptor, name);
    gpr_free(name);
    return c;
}

// The first call over a connection says who calls.
static void identify(const incoming *in)
{
    bd_caller caller = {.role = BRAID_ROLE_TASK};
    if (bd_connection_caller(in->connection, &caller)) return;
    if (in->listener->external) bd_grpc_tls_caller(in->call, &caller);
    bd_connection_set_caller(in->connection, &caller);
}

char *bd_grpc_peer(const bd_incoming *call)
{
    return bd_strdup(BD_CONTAINER_OF(call, const incoming, base)->connection->peer);
}

void bd_grpc_caller(const bd_incoming *call, bd_caller *out)
{
    bd_connection_caller(BD_CONTAINER_OF(call, const incoming, base)->connection, out);
}

bd_callers *bd_grpc_callers(const bd_incoming *call)
{
    return BD_CONTAINER_OF(call, const incoming, base)->connection->callers;
}

// Calls in the list exist until they have left it.
void bd_grpc_listener_end_revoked(bd_listener *l)
{
    bd_mutex_lock(&l->mu);
    for (incoming *in = l->admitted; in; in = in->next_admitted) {
        BD_STATUS(st);
        if (bd_grpc_tls_check_revoked(l->transport->tls, in->call, in->connection, st))
            grpc_call_cancel_with_status(in->call, (grpc_status_code)st->code, st->message, NULL);
    }
    bd_mutex_unlock(&l->mu);
}

// ---- Reply ----

static void reply_sent(bd_grpc_tag *tag, bool ok)
{
    (void)ok; // false when the client is gone
    incoming *in = BD_CONTAINER_OF(tag, incoming, sent);
    bd_connection_progress(in->connection);
    if (in->response) grpc_byte_buffer_destroy(in->response);
    grpc_slice_unref(in->error_message);
    incoming_unref(in);
}

void bd_grpc_reply(bd_incoming *call, bd_message *response, const braid_status *st)
{
    incoming *in = BD_CONTAINER_OF(call, incoming, base);
    bd_message_fini(&in->base.request);
    in->pings = bd_grpc_pings();
    grpc_op ops[3] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}};
    size_t count = in->has_begun_reply ? 0 : 1;
    in->sent.run = reply_sent;
    in->error_message = grpc_empty_slice();
    if (st->code == BRAID_OK && response) {
        in->response = bd_grpc_from_message(response);
        ops[count++] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = in->response};
    } else if (st->code) {
        if (response) bd_message_fini(response);
        in->error_message = bd_grpc_error_message(st->message ? st->message : "");
    }
    ops[count++] = (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER,
                             .data.send_status_from_server = {.trailing_metadata_count = in->is_asked ? 1 : 0,
                                                              .trailing_metadata = &in->pings,
                                                              .status = (grpc_status_code)st->code,
                                                              .status_details = &in->error_message}};
    const bool started = bd_grpc_start(in->call, ops, count, &in->sent);
    BD_ASSERT(started);
}

// ---- Streams ----

static void stream_sent(bd_grpc_tag *tag, bool ok)
{
    (void)ok; // false when the client is gone
    incoming *in = BD_CONTAINER_OF(tag, incoming, streamed);
    bd_connection_progress(in->connection);
    grpc_byte_buffer_destroy(in->stream_message);
    in->sent_fn(in->sent_arg);
    incoming_unref(in);
}

void bd_grpc_send(bd_incoming *call, bd_message *message, void (*sent)(void *arg), void *arg)
{
    incoming *in = BD_CONTAINER_OF(call, incoming, base);
    in->stream_message = bd_grpc_from_message(message);
    in->streamed.run = stream_sent;
    in->sent_fn = sent;
    in->sent_arg = arg;
    grpc_op ops[2] = {{.op = GRPC_OP_SEND_INITIAL_METADATA}};
    size_t count = in->has_begun_reply ? 0 : 1;
    ops[count++] =
        (grpc_op){.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = in->stream_message};
    in->has_begun_reply = true;
    atomic_fetch_add_explicit(&in->refs, 1, memory_order_relaxed);
    const bool started = bd_grpc_start(in->call, ops, count, &in->streamed);
    BD_ASSERT(started);
}

static void next_received(bd_grpc_tag *tag, bool ok)
{
    incoming *in = BD_CONTAINER_OF(tag, incoming, next);
    bd_connection_progress(in->connection);
    bd_message message;
    bd_message_init(&message);
    const bool is_there = ok && in->next_message;
    if (is_there) bd_grpc_to_message(in->next_message, &message);
    in->next_message = NULL;
    in->received_fn(in->received_arg, is_there ? &message : NULL);
    bd_message_fini(&message);
    incoming_unref(in);
}

void bd_grpc_receive(bd_incoming *call, void (*received)(void *arg, bd_message *message), void *arg)
{
    incoming *in = BD_CONTAINER_OF(call, incoming, base);
    in->next.run = next_received;
    in->received_fn = received;
    in->received_arg = arg;
    const grpc_op op = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &in->next_message};
    atomic_fetch_add_explicit(&in->refs, 1, memory_order_relaxed);
    const bool started = bd_grpc_start(in->call, &op, 1, &in->next);
    BD_ASSERT(started);
}

// ---- Arrival ----

static braid_code take_request(incoming *in, bool ok, braid_status *st)
{
    const bool is_there = ok && in->request;
    if (is_there) in->request_bytes = grpc_byte_buffer_length(in->request);
    if (bd_connection_hold(in->connection, in->request_bytes, &in->listener->transport->limits, st)) {
        if (is_there) grpc_byte_buffer_destroy(in->request);
    } else if (is_there) {
        bd_grpc_to_message(in->request, &in->base.request);
    } else {
        bd_fail(st, BRAID_INTERNAL, "The request has no message");
    }
    return st->code;
}

static void request_received(bd_grpc_tag *tag, bool ok)
{
    incoming *in = BD_CONTAINER_OF(tag, incoming, received);
    BD_STATUS(st);
    if (take_request(in, ok, st))
        bd_grpc_reply(&in->base, NULL, st);
    else
        in->listener->handler(in->listener->arg, &in->base);
    end_turn(in);
}

static void start_receiving(incoming *in)
{
    in->received.run = request_received;
    const grpc_op receive = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &in->request};
    const bool started = bd_grpc_start(in->call, &receive, 1, &in->received);
    BD_ASSERT(started);
}

// Replies without receiving the message.
static void refuse(incoming *in, const braid_status *st)
{
    atomic_store_explicit(&in->connection->has_refused, true, memory_order_relaxed);
    bd_grpc_reply(&in->base, NULL, st);
}

static void join_admitted(incoming *in)
{
    bd_listener *l = in->listener;
    bd_mutex_lock(&l->mu);
    in->next_admitted = l->admitted;
    in->admitted_at = &l->admitted;
    if (in->next_admitted) in->next_admitted->admitted_at = &in->next_admitted;
    l->admitted = in;
    bd_mutex_unlock(&l->mu);
}

static braid_code admit(incoming *in, braid_status *st)
{
    const bd_listener *l = in->listener;
    identify(in);
    if (l->external) {
        join_admitted(in); // before it is judged: what is revoked from now on ends it
        const braid_role needed = l->transport->needed ? l->transport->needed(in->method) : BRAID_ROLE_TASK;
        if (bd_grpc_tls_admit(l->transport->tls, in->call, in->connection, in->method, needed, st))
            return st->code;
    }
    if (bd_connection_begin_call(in->connection, &l->transport->limits, st)) return st->code;
    in->counts = true;
    return BRAID_OK;
}

// ---- Turns ----

static void await_end(incoming *in)
{
    in->ended.run = call_ended;
    atomic_fetch_add_explicit(&in->refs, 2, memory_order_relaxed); // until `ended`, and until `sent`
    const grpc_op end = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER,
                         .data.recv_close_on_server.cancelled = &in->cancelled};
    const bool started = bd_grpc_start(in->call, &end, 1, &in->ended);
    BD_ASSERT(started);
}

// False: it is refused, and its turn is over.
static bool begin_turn(incoming *in)
{
    BD_STATUS(st);
    const bool is_admitted = admit(in, st) == BRAID_OK;
    await_end(in);
    if (is_admitted)
        start_receiving(in);
    else
        refuse(in, st);
    return is_admitted;
}

static void end_turn(incoming *in)
{
    while (in) { // ends: with those that wait, or the first that is not refused
        bd_turn *next = bd_turns_end(&in->connection->turns, &in->turn);
        incoming_unref(in);
        in = next ? BD_CONTAINER_OF(next, incoming, turn) : NULL;
        if (in && begin_turn(in)) break;
    }
}

// Of BD_TURN_MS.
typedef struct turn_timer {
    bd_listener *listener;
    bd_connection *connection; // a reference
} turn_timer;

static void turns_are_late(void *arg);

static void start_turn_timer(turn_timer *t)
{
    bd_timer_add(t->listener->timers, bd_deadline_after_ms(BD_TURN_MS), turns_are_late, t);
}

static void turns_are_late(void *arg)
{
    turn_timer *t = arg;
    bool time_it;
    bd_turn *next, *turn = bd_turns_late(&t->connection->turns, &time_it);
    for (; turn; turn = next) {
        next = turn->next;
        incoming *in = BD_CONTAINER_OF(turn, incoming, turn);
        if (!begin_turn(in)) end_turn(in);
    }
    if (time_it) {
        start_turn_timer(t);
        return;
    }
    bd_listener *l = t->listener;
    bd_connection_unref(t->connection);
    bd_free(t);
    add_live(l, -1);
}

static void time_turns(bd_listener *l, bd_connection *c)
{
    turn_timer *t = bd_malloc(sizeof *t);
    *t = (turn_timer){l, c};
    bd_connection_ref(c);
    add_live(l, 1);
    start_turn_timer(t);
}

static void take_turn(incoming *in)
{
    bool time_it;
    atomic_fetch_add_explicit(&in->refs, 1, memory_order_relaxed); // until end_turn
    const bool has_turn = bd_turns_take(&in->connection->turns, &in->turn, &time_it);
    if (time_it) time_turns(in->listener, in->connection);
    if (has_turn && !begin_turn(in)) end_turn(in);
}

static void call_arrived(bd_grpc_tag *tag, bool ok)
{
    incoming *in = BD_CONTAINER_OF(tag, incoming, arrived);
    if (!ok) { // the server shuts down
        incoming_unref(in);
        return;
    }
    bd_grpc_listener_post(in->listener);
    const size_t len = (size_t)bd_min((int64_t)GRPC_SLICE_LENGTH(in->details.method), METHOD_LEN_MAX);
    memcpy(in->method, GRPC_SLICE_START_PTR(in->details.method), len);
    in->base.deadline_ns = bd_grpc_deadline_ns(in->details.deadline);
    in->is_asked = bd_grpc_has_pings(&in->metadata);
    in->connection = connection_of(in->listener, in->call);
    if (!in->connection) { // it has ended
        grpc_call_cancel_with_status(in->call, GRPC_STATUS_UNAVAILABLE, "The connection has ended", NULL);
        incoming_unref(in);
        return;
    }
    bd_connection_arrived(in->connection);
    take_turn(in);
    incoming_unref(in);
}

void bd_grpc_listener_post(bd_listener *l)
{
    incoming *in = bd_slab_alloc(sizeof *in);
    in->base.transport = &l->transport->base;
    in->base.method = in->method;
    in->listener = l;
    in->arrived.run = call_arrived;
    bd_message_init(&in->base.request);
    bd_mutex_init(&in->mu);
    atomic_init(&in->refs, 1);
    grpc_call_details_init(&in->details);
    grpc_metadata_array_init(&in->metadata);
    add_live(l, 1);
    bd_grpc_tag_publish(&in->arrived);
    grpc_completion_queue *cq = l->transport->cq;
    const grpc_call_error error =
        grpc_server_request_call(l->server, &in->call, &in->details, &in->metadata, cq, cq, &in->arrived);
    if (error != GRPC_CALL_OK) incoming_unref(in); // the server shuts down
}
