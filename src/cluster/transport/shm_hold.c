// The call that holds a link: the client keeps it in progress over the base transport as long as the link
// lasts. So a link does not outlive what its ends know of each other: when the base ends the call, because
// the connection is lost or a certificate was revoked, each end notices it by itself. A client that does not
// hold its link is cut off after a while (shm_watch.c).
#include "braid/cluster.pb-c.h"
#include "cluster/transport/shm_internal.h"
#include "proto/pack.h"
#include <string.h>

// ---- The client ----

// The server has ended the link, or the base the call.
static void hold_done(void *arg, bd_message *response, const braid_status *st)
{
    (void)response;
    bd_shm_link *l = arg;
    bd_mutex_lock(&l->mu);
    bd_call *call = l->holding;
    l->holding = NULL;
    bd_mutex_unlock(&l->mu);
    l->shm->base->call_release(call);
    if (st->code == BRAID_OK || st->code == BRAID_UNAVAILABLE)
        bd_shm_link_drain(l); // what the server has sent before
    else
        atomic_store(&l->hold_refused, true);
    bd_shm_link_end(l, st->code ? st->message : "the server has ended the link");
    bd_shm_link_unref(l);
}

void bd_shm_hold_begin_locked(bd_shm_link *l, bd_channel *base)
{
    Braid__HoldSharedMemoryRequest request = BRAID__HOLD_SHARED_MEMORY_REQUEST__INIT;
    const bd_call_options options = {.method = BD_SHM_HOLD_METHOD, .deadline_ns = BD_FOREVER};
    bd_message message;
    bd_message_init(&message);
    request.token = (ProtobufCBinaryData){BD_SHM_TOKEN_BYTES, l->secrets.token};
    bd_proto_pack_message(&request.base, &message);
    bd_shm_link_ref(l);
    bd_mutex_lock(&l->mu); // until the call is known to hold_done
    l->holding = l->shm->base->call(base, &options, &message, hold_done, l);
    if (atomic_load(&l->state) == BD_SHM_ENDED) l->shm->base->call_cancel(l->holding);
    bd_mutex_unlock(&l->mu);
}

// ---- The server ----

static bd_incoming *take_held(bd_shm_link *l)
{
    bd_mutex_lock(&l->mu);
    bd_incoming *call = l->held;
    l->held = NULL;
    bd_mutex_unlock(&l->mu);
    return call;
}

static void reply_to_held(bd_shm_link *l)
{
    BD_STATUS(ok);
    bd_message none;
    bd_message_init(&none);
    bd_incoming *call = take_held(l);
    if (call) bd_incoming_reply(call, &none, ok);
}

static void hold_ended(void *arg, bool cancelled)
{
    bd_shm_link *l = arg;
    if (cancelled) bd_shm_link_end(l, "it does not hold the link any more");
    bd_shm_link_unref(l);
}

// Finds the link of a token, which nothing holds yet; it is held from then on. With a reference; NULL: there
// is none.
static bd_shm_link *find(bd_listener *l, const ProtobufCBinaryData *token)
{
    bd_shm *shm = l->shm;
    bd_shm_link *found = NULL;
    bd_mutex_lock(&shm->mu);
    for (size_t i = 0; i < shm->links.len && !found; i++) {
        bd_shm_link *link = shm->links.items[i];
        const bool is_it =
            link->listener == l && memcmp(link->secrets.token, token->data, BD_SHM_TOKEN_BYTES) == 0;
        if (is_it && !atomic_exchange(&link->is_held, true)) found = link;
    }
    if (found) bd_shm_link_ref(found);
    bd_mutex_unlock(&shm->mu);
    return found;
}

static bool is_callers(bd_shm_link *l, const bd_incoming *call)
{
    bd_caller caller = {0}, of_link = {0};
    call->transport->caller(call, &caller);
    return bd_connection_caller(l->connection, &of_link) && caller.role == of_link.role &&
           strcmp(caller.name, of_link.name) == 0;
}

void bd_shm_hold_arrived(bd_listener *l, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__HoldSharedMemoryRequest *request =
        bd_proto_unpack_message(&braid__hold_shared_memory_request__descriptor, &call->request, arena, st);
    bd_shm_link *link = request && request->token.len == BD_SHM_TOKEN_BYTES ? find(l, &request->token) : NULL;
    if (!link || !is_callers(link, call)) {
        if (!st->code)
            bd_fail(st, BRAID_FAILED_PRECONDITION, "The caller has no link through shared memory to hold");
        bd_incoming_reply(call, NULL, st);
        if (link) atomic_store(&link->is_held, false);
        if (link) bd_shm_link_unref(link);
        return;
    }
    bd_shm_link_ref(link);
    call->transport->on_end(call, hold_ended, link);
    bd_mutex_lock(&link->mu);
    link->held = call;
    bd_mutex_unlock(&link->mu);
    if (atomic_load(&link->state) == BD_SHM_ENDED) reply_to_held(link);
    bd_shm_link_unref(link);
}

// ---- The end of the link ----

void bd_shm_hold_end(bd_shm_link *l)
{
    bd_mutex_lock(&l->mu);
    if (l->holding) l->shm->base->call_cancel(l->holding);
    bd_mutex_unlock(&l->mu);
    reply_to_held(l);
}
