// The server side of the shared-memory transport: listeners and incoming calls.
//
// An incoming call is in its link's table until it ends: with its reply, or by a cancellation or the end of
// the link, which `on_end` tells. Removing it from the table is the right to end it. It is freed when it has
// ended and was replied to.
#include "base/alloc.h"
#include "base/random.h"
#include "base/slab.h"
#include "base/strbuf.h"
#include "braid/cluster.pb-c.h"
#include "cluster/transport/host_identity.h"
#include "cluster/transport/shm_internal.h"
#include "proto/pack.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Clients that may be on their way; when there are more, the one that was told first has to ask again.
#define GUESTS_MAX 64
#define GUEST_NS INT64_C(5000000000) // in which a client that was told where to connect does so
#define PEER_PREFIX "memory:"

struct bd_shm_incoming {
    bd_incoming base;
    bd_shm_link *link;
    uint64_t id;
    char *method;
    size_t bytes;      // of the request
    atomic_int refs;   // until it has ended, until the reply, and of the timer
    bd_timer_id timer; // of the deadline; guarded by the link's mu; 0: none
    bd_mutex mu;
    bool has_ended;        // guarded by mu
    bd_call_end_fn end_fn; // guarded by mu
    void *end_arg;
};

typedef struct bd_shm_incoming incoming;

// ---- The end of a call ----

static void change_live(bd_listener *l, int change)
{
    bd_mutex_lock(&l->mu);
    l->live += change;
    bd_cond_broadcast(&l->changed);
    bd_mutex_unlock(&l->mu);
}

static void change_links(bd_listener *l, int change)
{
    bd_mutex_lock(&l->mu);
    l->links += change;
    bd_cond_broadcast(&l->changed);
    bd_mutex_unlock(&l->mu);
}

static void incoming_unref(incoming *in)
{
    if (atomic_fetch_sub_explicit(&in->refs, 1, memory_order_acq_rel) != 1) return;
    bd_shm_link *link = in->link;
    bd_connection_end_call(link->connection, in->bytes);
    bd_message_fini(&in->base.request);
    bd_slab_free(in->method);
    bd_mutex_fini(&in->mu);
    bd_slab_free(in);
    change_live(link->listener, -1);
    bd_shm_link_unref(link);
}

// By the thread that has removed it from the table.
static void end(incoming *in, bool cancelled)
{
    bd_mutex_lock(&in->link->mu);
    const bd_timer_id timer = in->timer;
    in->timer = 0;
    bd_mutex_unlock(&in->link->mu);
    if (timer && bd_timer_cancel(in->link->shm->timers, timer)) incoming_unref(in);
    bd_mutex_lock(&in->mu);
    in->has_ended = true;
    const bd_call_end_fn fn = in->end_fn;
    bd_mutex_unlock(&in->mu);
    if (fn) fn(in->end_arg, cancelled);
    incoming_unref(in);
}

void bd_shm_on_end(bd_incoming *call, bd_call_end_fn fn, void *arg)
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

incoming *bd_shm_request_cancelled(bd_shm_link *l, uint64_t id)
{
    bd_mutex_lock(&l->mu);
    incoming *in = bd_imap_remove(&l->calls, id);
    bd_mutex_unlock(&l->mu);
    return in;
}

void bd_shm_request_end(incoming *in)
{
    if (!bd_connection_cancelled(in->link->connection))
        bd_shm_link_end(in->link, "it cancels calls as fast as it makes them");
    end(in, true);
}

// The client has the same deadline, but may not be able to say so.
static void timed_out(void *arg)
{
    incoming *in = arg;
    bd_shm_link *l = in->link;
    bd_mutex_lock(&l->mu);
    in->timer = 0;
    const bool is_mine = bd_imap_get(&l->calls, in->id) == in;
    if (is_mine) bd_imap_remove(&l->calls, in->id);
    bd_mutex_unlock(&l->mu);
    if (is_mine) end(in, true);
    incoming_unref(in);
}

static void set_timer_locked(incoming *in)
{
    if (in->base.deadline_ns == BD_FOREVER) return;
    atomic_fetch_add_explicit(&in->refs, 1, memory_order_relaxed);
    in->timer = bd_timer_add(in->link->shm->timers, in->base.deadline_ns, timed_out, in);
}

void bd_shm_requests_lost(bd_shm_link *l)
{
    BD_ARRAY(incoming *) calls = {0};
    size_t pos = 0;
    void *in;
    bd_mutex_lock(&l->mu);
    while (bd_imap_next(&l->calls, &pos, NULL, &in))
        bd_array_push(&calls, in);
    bd_imap_fini(&l->calls);
    bd_mutex_unlock(&l->mu);
    for (size_t i = 0; i < calls.len; i++)
        end(calls.items[i], true);
    bd_array_free(&calls);
}

// ---- Replies ----

// The end of a text that is longer is cut off, between UTF-8 characters.
static size_t error_len(const char *text)
{
    size_t len = (size_t)bd_min((int64_t)strlen(text), (int64_t)BD_SHM_HEAD_BYTES_MAX);
    if (text[len])
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--;
    return len;
}

static void send_response(bd_shm_link *l, uint64_t id, bd_message *response, const braid_status *st)
{
    const char *text = st->code && st->message ? st->message : "";
    bd_shm_header header = {
        .kind = BD_SHM_RESPONSE, .code = (uint32_t)st->code, .id = id, .head_bytes = error_len(text)};
    bd_shm_link_send(l, &header, text, st->code ? NULL : response);
}

void bd_shm_reply(bd_incoming *call, bd_message *response, const braid_status *st)
{
    incoming *in = BD_CONTAINER_OF(call, incoming, base);
    bd_shm_link *l = in->link;
    bd_mutex_lock(&l->mu);
    const bool is_awaited = bd_imap_get(&l->calls, in->id) == in;
    if (is_awaited) bd_imap_remove(&l->calls, in->id);
    bd_mutex_unlock(&l->mu);
    bd_message_fini(&in->base.request);
    if (is_awaited) send_response(l, in->id, response, st);
    if (response) bd_message_fini(response);
    if (is_awaited) end(in, false);
    incoming_unref(in);
}

// ---- Arrival ----

// Counts the call. When it is refused, it does not count.
static braid_code admit(bd_shm_link *l, size_t bytes, braid_status *st)
{
    bd_listener *listener = l->listener;
    bd_mutex_lock(&listener->mu);
    const bool is_closed = listener->is_closed;
    if (!is_closed) listener->live++;
    bd_mutex_unlock(&listener->mu);
    if (is_closed) return bd_fail(st, BRAID_UNAVAILABLE, "The server is stopping");
    const bd_transport_limits *limits = &l->shm->limits;
    if (bd_connection_begin_call(l->connection, limits, st)) {
        change_live(listener, -1);
    } else if (bd_connection_hold(l->connection, bytes, limits, st)) {
        bd_connection_end_call(l->connection, bytes);
        change_live(listener, -1);
    }
    return st->code;
}

static incoming *incoming_new(bd_shm_link *l, bd_shm_frame *f)
{
    incoming *in = bd_slab_alloc(sizeof *in);
    bd_shm_link_ref(l);
    in->link = l;
    in->id = f->header.id;
    in->bytes = f->body.bytes;
    in->method = f->head;
    f->head = NULL;
    in->base.transport = &l->shm->own;
    in->base.method = in->method;
    const int64_t timeout_ns = f->header.timeout_ns, now_ns = bd_now_ns();
    in->base.deadline_ns = timeout_ns < BD_FOREVER - now_ns ? now_ns + bd_max(timeout_ns, 0) : BD_FOREVER;
    bd_message_init(&in->base.request);
    bd_message_move(&in->base.request, &f->body);
    bd_mutex_init(&in->mu);
    atomic_init(&in->refs, 2);
    return in;
}

void bd_shm_refuse(bd_shm_link *l, uint64_t id, const braid_status *st)
{
    send_response(l, id, NULL, st);
}

incoming *bd_shm_request(bd_shm_link *l, bd_shm_frame *f, braid_status *st)
{
    if (admit(l, f->body.bytes, st)) return NULL;
    incoming *in = incoming_new(l, f);
    bd_mutex_lock(&l->mu);
    const bool is_new = atomic_load(&l->state) == BD_SHM_UP && !bd_imap_get(&l->calls, in->id);
    if (is_new) {
        bd_imap_put(&l->calls, in->id, in);
        set_timer_locked(in);
    }
    bd_mutex_unlock(&l->mu);
    if (is_new) return in;
    incoming_unref(in); // the link has ended, or the number is that of another call
    incoming_unref(in);
    return NULL;
}

void bd_shm_request_handle(incoming *in)
{
    in->link->listener->handler(in->link->listener->arg, &in->base);
}

// ---- Who calls ----

char *bd_shm_peer(const bd_incoming *call)
{
    return bd_strdup(BD_CONTAINER_OF(call, const incoming, base)->link->connection->peer);
}

void bd_shm_caller(const bd_incoming *call, bd_caller *out)
{
    bd_connection_caller(BD_CONTAINER_OF(call, const incoming, base)->link->connection, out);
}

bool bd_shm_is_connected(bd_transport *t, const char *peer)
{
    bd_shm *shm = BD_CONTAINER_OF(t, bd_shm, own);
    if (!bd_str_starts_with(peer, PEER_PREFIX)) return shm->base->is_connected(shm->base, peer);
    bd_shm_link *l = bd_shm_link_find(shm, strtoull(peer + strlen(PEER_PREFIX), NULL, 10));
    if (l) bd_shm_link_unref(l);
    return l != NULL;
}

// ---- Clients that want a link ----

static void add_guest_locked(bd_shm *shm, const bd_shm_guest *guest)
{
    if (shm->guests.len == GUESTS_MAX)
        memmove(shm->guests.items, shm->guests.items + 1, --shm->guests.len * sizeof *shm->guests.items);
    bd_array_push(&shm->guests, *guest);
}

static void answer(bd_shm *shm, const bd_shm_guest *guest, bd_incoming *call)
{
    Braid__OpenSharedMemoryResponse response = BRAID__OPEN_SHARED_MEMORY_RESPONSE__INIT;
    BD_STATUS(st);
    bd_message message;
    bd_message_init(&message);
    bd_mutex_lock(&shm->mu);
    if (!bd_shm_open_socket_locked(shm, st)) {
        add_guest_locked(shm, guest);
        response.socket = shm->name;
        response.token = (ProtobufCBinaryData){BD_SHM_TOKEN_BYTES, (uint8_t *)guest->secrets.token};
        response.answer = (ProtobufCBinaryData){BD_SHM_TOKEN_BYTES, (uint8_t *)guest->secrets.answer};
        response.pid = (uint32_t)getpid();
        bd_proto_pack_message(&response.base, &message);
    }
    bd_mutex_unlock(&shm->mu);
    bd_incoming_reply(call, &message, st);
}

static void open_link(bd_listener *l, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__OpenSharedMemoryRequest *request =
        bd_proto_unpack_message(&braid__open_shared_memory_request__descriptor, &call->request, arena, st);
    if (request && (!request->host || request->host != bd_host_identity()))
        bd_fail(st, BRAID_FAILED_PRECONDITION,
                "The client is on another host than the server, or of another user");
    bd_shm_guest guest = {.listener = l, .callers = call->transport->callers(call)};
    call->transport->caller(call, &guest.caller);
    // What a role may call is checked by the base for each call: over a link nothing is.
    if (request && !st->code && guest.caller.role != BRAID_ROLE_TASK)
        bd_fail(st, BRAID_PERMISSION_DENIED,
                "Only tasks share memory with this server, and %s has the role %s", guest.caller.name,
                braid_role_name(guest.caller.role));
    if (!request || st->code || bd_shm_begin(l->shm, st)) {
        bd_incoming_reply(call, NULL, st);
        return;
    }
    guest.told_ns = bd_now_ns();
    guest.secrets.process = (pid_t)request->pid;
    bd_random_bytes(guest.secrets.token, sizeof guest.secrets.token);
    bd_random_bytes(guest.secrets.answer, sizeof guest.secrets.answer);
    answer(l->shm, &guest, call);
}

bool bd_shm_admit_guest(bd_shm_link *l, const uint8_t token[BD_SHM_TOKEN_BYTES])
{
    bd_shm *shm = l->shm;
    bd_shm_guest guest = {0};
    const pid_t process = bd_shm_process_of(l->socket);
    bd_mutex_lock(&shm->mu);
    for (size_t i = 0; i < shm->guests.len && !guest.listener; i++) {
        const bd_shm_secrets *known = &shm->guests.items[i].secrets;
        const bool is_late = bd_now_ns() - shm->guests.items[i].told_ns > GUEST_NS;
        if (is_late || known->process != process || memcmp(known->token, token, BD_SHM_TOKEN_BYTES) != 0)
            continue;
        guest = shm->guests.items[i];
        shm->guests.items[i] = shm->guests.items[--shm->guests.len];
        l->secrets = guest.secrets;
        l->connection = bd_connection_new(guest.callers, bd_asprintf(PEER_PREFIX "%" PRIu64, l->number));
        l->listener = guest.listener;
        change_links(l->listener, +1);
    }
    bd_mutex_unlock(&shm->mu);
    if (!guest.listener) return false;
    bd_connection_set_caller(l->connection, &guest.caller);
    l->pipe.body_bytes_max = l->pipe.waiting_bytes_max = (size_t)shm->limits.message_bytes;
    return true;
}

void bd_shm_leave_listener(bd_shm_link *l)
{
    bd_connection_unref(l->connection);
    change_links(l->listener, -1);
}

// ---- Listeners ----

static void receive(void *arg, bd_incoming *call)
{
    bd_listener *l = arg;
    if (strcmp(call->method, BD_SHM_OPEN_METHOD) == 0)
        open_link(l, call);
    else if (strcmp(call->method, BD_SHM_HOLD_METHOD) == 0)
        bd_shm_hold_arrived(l, call);
    else
        l->handler(l->arg, call);
}

braid_code bd_shm_listen(bd_transport *t, const char *address, bd_handler_fn handler, void *arg,
                         bd_listener **out, char **bound, braid_status *st)
{
    bd_shm *shm = BD_CONTAINER_OF(t, bd_shm, own);
    bd_listener *l = bd_calloc(1, sizeof *l);
    *l = (bd_listener){.shm = shm, .handler = handler, .arg = arg};
    bd_mutex_init(&l->mu);
    bd_cond_init(&l->changed);
    *out = l; // before calls arrive
    if (shm->base->listen(shm->base, address, receive, l, &l->base, bound, st)) {
        *out = NULL;
        bd_shm_listener_free(l);
    }
    return st->code;
}

void bd_shm_listener_close(bd_listener *l)
{
    bd_mutex_lock(&l->mu);
    l->is_closed = true;
    bd_mutex_unlock(&l->mu);
    l->shm->base->listener_close(l->base);
}

static void wait_for_calls(bd_listener *l, int64_t deadline_ns)
{
    bool late = false;
    bd_mutex_lock(&l->mu);
    while (l->live > 0 && !late)
        late = bd_cond_wait_until(&l->changed, &l->mu, deadline_ns);
    bd_mutex_unlock(&l->mu);
}

// One of the listener's links, with a reference; NULL: there is none. Forgets its guests.
static bd_shm_link *find_link_of(bd_listener *l)
{
    bd_shm *shm = l->shm;
    bd_shm_link *found = NULL;
    bd_mutex_lock(&shm->mu);
    size_t kept = 0;
    for (size_t i = 0; i < shm->guests.len; i++)
        if (shm->guests.items[i].listener != l) shm->guests.items[kept++] = shm->guests.items[i];
    shm->guests.len = kept;
    for (size_t i = 0; i < shm->links.len && !found; i++)
        if (shm->links.items[i]->listener == l) found = shm->links.items[i];
    if (found) bd_shm_link_ref(found);
    bd_mutex_unlock(&shm->mu);
    return found;
}

static void end_links(bd_listener *l, int64_t deadline_ns)
{
    for (bd_shm_link *link = find_link_of(l); link; link = find_link_of(l)) {
        bd_shm_pipe_await_sent(&link->pipe, deadline_ns);
        bd_shm_link_end(link, "the server has stopped");
        bd_shm_link_unref(link);
    }
}

void bd_shm_listener_stop(bd_listener *l, int64_t deadline_ns)
{
    bd_shm_listener_close(l);
    wait_for_calls(l, deadline_ns);
    end_links(l, deadline_ns);
    wait_for_calls(l, BD_FOREVER); // ends: their handlers are notified
    l->shm->base->listener_stop(l->base, deadline_ns);
    end_links(l, 0); // that were asked for in the last moment
}

void bd_shm_listener_free(bd_listener *l)
{
    bd_mutex_lock(&l->mu);
    while (l->links > 0) // ends: they have ended, and a thread that looks at one goes on
        bd_cond_wait(&l->changed, &l->mu);
    bd_mutex_unlock(&l->mu);
    if (l->base) l->shm->base->listener_free(l->base);
    bd_mutex_fini(&l->mu);
    bd_cond_fini(&l->changed);
    bd_free(l);
}
