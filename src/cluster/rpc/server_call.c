// Calls that a server works on.
#include "cluster/rpc/server_call.h"

static void unref(bd_server_call *s)
{
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
    bd_cancellation_unref(s->cancellation);
    s->destroy(s);
}

static void ended(void *arg, bool cancelled)
{
    bd_server_call *s = arg;
    if (cancelled) {
        BD_STATUS(why);
        bd_fail(why, BRAID_CANCELLED, "The caller has cancelled, or is gone");
        why->derived = true;
        bd_cancellation_cancel(s->cancellation, why);
    }
    unref(s);
}

void bd_server_call_init(bd_server_call *s, bd_incoming *call, bd_cancellation *parent,
                         const bd_cancellation *server, void (*destroy)(bd_server_call *s))
{
    s->server = server;
    s->call = call;
    s->cancellation = bd_cancellation_new(parent);
    s->destroy = destroy;
    atomic_init(&s->refs, 2);
    call->transport->on_end(call, ended, s);
}

void bd_server_call_reply(bd_server_call *s, bd_message *response)
{
    BD_STATUS(ok);
    bd_incoming_reply(s->call, response, ok);
    unref(s);
}

void bd_server_call_reply_proto(bd_server_call *s, const ProtobufCMessage *response)
{
    bd_incoming_reply_proto(s->call, response);
    unref(s);
}

void bd_server_call_error(const bd_server_call *s, const braid_status *from, braid_status *st)
{
    bd_status_copy(st, from);
    if (st->code != BRAID_CANCELLED || !bd_cancellation_is_cancelled(s->server)) return;
    bd_cancellation_status(s->server, st);
    st->code = BRAID_ABORTED;
    st->derived = from->derived;
}

void bd_server_call_reply_error(bd_server_call *s, const braid_status *from)
{
    bd_server_call_reply_status(s, from);
}

void bd_server_call_reply_status(void *served, const braid_status *from)
{
    bd_server_call *s = served;
    BD_STATUS(st);
    bd_server_call_error(s, from, st);
    bd_incoming_reply_status(s->call, st);
    unref(s);
}
