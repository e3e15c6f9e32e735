// The in-process transport: the life of a call on both sides. See inprocess.c for its states.
#include "base/alloc.h"
#include "cluster/transport/inprocess_internal.h"
#include <string.h>

// A call whose message is lost ends after this time, as by keepalive: without a deadline, and with one.
#define LOST_AFTER_NS 1000000000
#define LOST_BEFORE_DEADLINE_NS 20000000000

// ---- References ----

static void channel_unref_locked(bd_channel *c)
{
    if (--c->refs > 0) return;
    bd_free(c->from);
    bd_free(c->address);
    bd_free(c);
}

void bd_net_call_unref_locked(bd_call *call)
{
    if (--call->refs > 0) return;
    channel_unref_locked(call->channel);
    bd_message_fini(&call->message);
    bd_status_fini(&call->status);
    bd_free(call);
}

void bd_net_incoming_unref_locked(bd_net_incoming *in)
{
    if (--in->refs > 0) return;
    *in->link = in->next;
    if (in->next) in->next->link = in->link;
    bd_cond_broadcast(&in->listener->net->changed);
    bd_message_fini(&in->base.request);
    if (in->call) bd_net_call_unref_locked(in->call);
    bd_free(in);
}

// ---- The client's end of a call ----

static void complete(bd_net_event *e)
{
    bd_call *call = e->call;
    bd_network *net = e->host->net;
    call->done(call->arg, &call->message, &call->status);
    bd_mutex_lock(&net->mu);
    *call->link = call->next;
    if (call->next) call->next->link = call->link;
    bd_net_call_unref_locked(call); // done's
    bd_net_call_unref_locked(call); // the event's
    bd_mutex_unlock(&net->mu);
}

// The first event decides how the call ends; `status` is OK for a response (which is in call->message then).
void bd_net_finish_locked(bd_call *call, int64_t at_ns, braid_code code, const char *text)
{
    if (call->is_finishing) return;
    call->is_finishing = true;
    call->is_waiting = false;
    if (code) {
        bd_message_fini(&call->message);
        bd_fail(&call->status, code, "%s", text);
    }
    bd_net_host *client = call->channel->host;
    if (call->deadline_timer &&
        bd_net_cancel_event_locked(client, call->deadline_timer, call->deadline_event))
        bd_net_call_unref_locked(call);
    call->deadline_timer = 0;
    bd_net_add_event_locked(client, at_ns, complete, call, NULL, NULL);
}

// ---- The server's end of a call ----

static void tell_end(bd_net_event *e)
{
    bd_net_incoming *in = e->in;
    bd_network *net = e->host->net;
    bd_mutex_lock(&net->mu);
    in->is_ended = true;
    const bd_call_end_fn fn = in->end_fn;
    const bool was_cancelled = in->was_cancelled && !(in->is_duplicate && in->is_replied);
    bd_mutex_unlock(&net->mu);
    if (fn) fn(in->end_arg, was_cancelled);
    bd_mutex_lock(&net->mu);
    bd_net_incoming_unref_locked(in); // that until ended
    bd_net_incoming_unref_locked(in); // the event's
    bd_mutex_unlock(&net->mu);
}

void bd_net_tell_end_locked(bd_net_incoming *in, int64_t at_ns)
{
    bd_net_add_event_locked(in->listener->host, at_ns, tell_end, NULL, in, NULL);
}

// The call is over for the server, at most once.
void bd_net_end_incoming_locked(bd_net_incoming *in, int64_t at_ns, bool cancelled)
{
    if (in->is_ending) return;
    in->is_ending = true;
    in->was_cancelled = cancelled;
    bd_network *net = in->listener->net;
    if (cancelled && in->call && bd_net_link_locked(net, in->call->channel) == BD_LINK_SILENT) {
        bd_net_held *h = bd_net_hold_locked(net, in->call->channel);
        h->end = in;
        in->refs++;
    } else {
        bd_net_tell_end_locked(in, at_ns);
    }
    if (!in->call) return; // a duplicate
    in->call->incoming = NULL;
    bd_net_call_unref_locked(in->call);
    in->call = NULL;
}

void bd_net_cut_call_locked(bd_call *call)
{
    bd_network *net = call->net;
    if (call->incoming) bd_net_end_incoming_locked(call->incoming, bd_net_arrival_locked(net), true);
    if (call->wait_for_ready && !call->is_finishing && call->is_waiting) return;
    bd_net_finish_locked(call, bd_net_arrival_locked(net), BRAID_UNAVAILABLE, "the connection was cut");
}

void bd_net_cut_locked(bd_network *net, const char *address)
{
    for (bd_call *call = net->calls; call; call = call->next)
        if (strcmp(call->channel->address, address) == 0) bd_net_cut_call_locked(call);
}

static void deadline_passed(bd_net_event *e)
{
    bd_network *net = e->host->net;
    bd_mutex_lock(&net->mu);
    bd_call *call = e->call;
    call->deadline_timer = 0;
    if (call->incoming) bd_net_end_incoming_locked(call->incoming, bd_net_arrival_locked(net), true);
    bd_net_finish_locked(call, bd_net_now(net), BRAID_DEADLINE_EXCEEDED, "Deadline Exceeded");
    bd_net_call_unref_locked(call);
    bd_mutex_unlock(&net->mu);
}

static void message_was_lost(bd_net_event *e)
{
    bd_network *net = e->host->net;
    bd_mutex_lock(&net->mu);
    if (e->call->incoming) bd_net_end_incoming_locked(e->call->incoming, bd_net_now(net), true);
    bd_net_finish_locked(e->call, bd_net_now(net), BRAID_UNAVAILABLE, "the peer does not answer");
    bd_net_call_unref_locked(e->call);
    bd_mutex_unlock(&net->mu);
}

// Returns true when a message of this call is lost; the end of the call is then scheduled.
static bool goes_astray_locked(bd_call *call)
{
    bd_network *net = call->net;
    if (bd_net_happens_locked(net, net->faults.cut)) {
        bd_net_cut_locked(net, call->channel->address);
        return true;
    }
    if (!bd_net_happens_locked(net, net->faults.lose)) return false;
    const int64_t after = call->deadline_ns == BD_FOREVER ? LOST_AFTER_NS : LOST_BEFORE_DEADLINE_NS;
    bd_net_add_event_locked(call->channel->host, bd_net_now(net) + after, message_was_lost, call, NULL, NULL);
    return true;
}

// ---- Delivery of a request ----

static bd_net_incoming *incoming_new_locked(bd_listener *l, bd_call *call, bool is_duplicate)
{
    bd_net_incoming *in = bd_calloc(1, sizeof *in);
    in->base.transport = &l->host->base;
    in->base.method = call->method;
    in->base.deadline_ns = call->deadline_ns;
    bd_message_init(&in->base.request);
    in->listener = l;
    in->refs = 2;
    in->next = l->incomings;
    in->link = &l->incomings;
    if (in->next) in->next->link = &in->next;
    l->incomings = in;
    in->is_duplicate = is_duplicate;
    if (is_duplicate) return in;
    in->call = call;
    call->refs++;
    call->incoming = in;
    return in;
}

static bool reachable_locked(bd_network *net, const bd_channel *c)
{
    return bd_map_has(&net->listeners, c->address) && !bd_map_has(&net->down, c->address) &&
           bd_net_link_locked(net, c) != BD_LINK_BROKEN;
}

static void deliver(bd_net_event *e)
{
    bd_network *net = e->host->net;
    bd_call *call = e->call;
    bd_net_incoming *in = NULL;
    bd_listener *l = NULL;
    bd_mutex_lock(&net->mu);
    if (call->is_finishing) {
        // It ended before it arrived.
    } else if (!reachable_locked(net, call->channel)) {
        call->is_waiting = call->wait_for_ready;
        if (!call->is_waiting)
            bd_net_finish_locked(call, bd_net_now(net), BRAID_UNAVAILABLE, "no server listens there");
    } else {
        l = bd_map_get(&net->listeners, call->channel->address);
        in = incoming_new_locked(l, call, false);
        bd_message_move(&in->base.request, &call->message);
    }
    bd_mutex_unlock(&net->mu);
    if (in) l->handler(l->arg, &in->base);
    bd_mutex_lock(&net->mu);
    bd_net_call_unref_locked(call);
    bd_mutex_unlock(&net->mu);
}

static void deliver_copy(bd_net_event *e)
{
    bd_network *net = e->host->net;
    bd_net_incoming *in = NULL;
    bd_mutex_lock(&net->mu);
    bd_listener *l = reachable_locked(net, e->call->channel)
                         ? bd_map_get(&net->listeners, e->call->channel->address)
                         : NULL;
    if (l) {
        in = incoming_new_locked(l, e->call, true);
        bd_message_move(&in->base.request, &e->copy);
        bd_net_end_incoming_locked(in, bd_net_arrival_locked(net), true);
    }
    bd_mutex_unlock(&net->mu);
    if (in) l->handler(l->arg, &in->base);
    bd_message_fini(&e->copy);
    bd_mutex_lock(&net->mu);
    bd_net_call_unref_locked(e->call);
    bd_mutex_unlock(&net->mu);
}

static void duplicate_locked(bd_call *call)
{
    bd_net_event *e;
    bd_net_host *server = bd_net_host_at_locked(call->net, call->channel->address);
    bd_net_add_event_locked(server, bd_net_arrival_locked(call->net), deliver_copy, call, NULL, &e);
    uint8_t *block = bd_malloc(call->message.bytes);
    bd_message_gather(&call->message, block);
    bd_message_add(&e->copy,
                   (bd_slice){.data = block, .len = call->message.bytes, .release = bd_free, .owner = block});
}

void bd_net_send_locked(bd_call *call)
{
    bd_network *net = call->net;
    call->is_waiting = false;
    if (bd_net_link_locked(net, call->channel) == BD_LINK_SILENT) {
        bd_net_held *h = bd_net_hold_locked(net, call->channel);
        h->call = call;
        call->refs++;
        return;
    }
    if (bd_net_happens_locked(net, net->faults.duplicate)) duplicate_locked(call);
    if (goes_astray_locked(call)) return;
    bd_net_host *server = bd_net_host_at_locked(net, call->channel->address);
    bd_net_add_event_locked(server, bd_net_arrival_locked(net), deliver, call, NULL, NULL);
}

void bd_net_wake_locked(bd_network *net, const char *address)
{
    for (bd_call *call = net->calls; call; call = call->next) {
        if (!call->is_waiting || strcmp(call->channel->address, address) != 0) continue;
        if (reachable_locked(net, call->channel)) bd_net_send_locked(call);
    }
}

// ---- Calls ----

bd_call *bd_net_call(bd_channel *c, const bd_call_options *options, bd_message *request, bd_call_done_fn done,
                     void *arg)
{
    bd_network *net = c->net;
    bd_call *call = bd_calloc(1, sizeof *call);
    call->net = net;
    call->channel = c;
    call->method = options->method;
    call->deadline_ns = options->deadline_ns;
    call->wait_for_ready = options->wait_for_ready;
    bd_message_init(&call->message);
    bd_message_move(&call->message, request);
    call->done = done;
    call->arg = arg;
    call->refs = 2;
    bd_mutex_lock(&net->mu);
    c->refs++;
    call->next = net->calls;
    call->link = &net->calls;
    if (call->next) call->next->link = &call->next;
    net->calls = call;
    if (call->deadline_ns != BD_FOREVER)
        call->deadline_timer = bd_net_add_event_locked(c->host, call->deadline_ns, deadline_passed, call,
                                                       NULL, &call->deadline_event);
    bd_net_send_locked(call);
    bd_mutex_unlock(&net->mu);
    return call;
}

static void cancel_locked(bd_call *call, const char *why)
{
    if (call->incoming) bd_net_end_incoming_locked(call->incoming, bd_net_arrival_locked(call->net), true);
    bd_net_finish_locked(call, bd_net_now(call->net), BRAID_CANCELLED, why);
}

void bd_net_call_cancel(bd_call *call)
{
    bd_mutex_lock(&call->net->mu);
    cancel_locked(call, "the call was cancelled");
    bd_mutex_unlock(&call->net->mu);
}

void bd_net_call_release(bd_call *call)
{
    bd_network *net = call->net;
    bd_mutex_lock(&net->mu);
    bd_net_call_unref_locked(call);
    bd_mutex_unlock(&net->mu);
}

bd_channel *bd_net_connect(bd_transport *t, const char *address)
{
    bd_channel *c = bd_calloc(1, sizeof *c);
    c->host = BD_CONTAINER_OF(t, bd_net_host, base);
    c->net = c->host->net;
    if (c->host->address) c->from = bd_strdup(c->host->address);
    c->address = bd_strdup(address);
    c->refs = 1;
    return c;
}

void bd_net_channel_close(bd_channel *c)
{
    bd_network *net = c->net;
    bd_mutex_lock(&net->mu);
    for (bd_call *call = net->calls; call; call = call->next)
        if (call->channel == c) cancel_locked(call, "the channel was closed");
    channel_unref_locked(c);
    bd_mutex_unlock(&net->mu);
}

// ---- Replies ----

void bd_net_respond_locked(bd_call *call, bd_message *response, const braid_status *st)
{
    bd_network *net = call->net;
    if (bd_net_link_locked(net, call->channel) == BD_LINK_SILENT) {
        bd_net_held *h = bd_net_hold_locked(net, call->channel);
        h->call = call;
        call->refs++;
        h->is_response = true;
        if (st->code == BRAID_OK) bd_message_move(&h->response, response);
        bd_status_copy(&h->status, st);
    } else if (!goes_astray_locked(call)) {
        if (st->code == BRAID_OK) bd_message_move(&call->message, response);
        bd_net_finish_locked(call, bd_net_arrival_locked(net), st->code, st->message ? st->message : "");
    }
}

void bd_net_reply(bd_incoming *base, bd_message *response, const braid_status *st)
{
    bd_net_incoming *in = BD_CONTAINER_OF(base, bd_net_incoming, base);
    bd_network *net = in->listener->net;
    bd_mutex_lock(&net->mu);
    BD_ASSERT(!in->is_replied);
    in->is_replied = true;
    bd_call *call = in->call;
    if (call && !call->is_finishing) {
        call->refs++;
        bd_net_end_incoming_locked(in, bd_net_now(net), false);
        bd_net_respond_locked(call, response, st);
        bd_net_call_unref_locked(call);
    } else {
        bd_net_end_incoming_locked(in, bd_net_now(net), call != NULL);
    }
    bd_net_incoming_unref_locked(in);
    bd_mutex_unlock(&net->mu);
    if (response) bd_message_fini(response);
}

void bd_net_on_end(bd_incoming *base, bd_call_end_fn fn, void *arg)
{
    bd_net_incoming *in = BD_CONTAINER_OF(base, bd_net_incoming, base);
    bd_network *net = in->listener->net;
    bd_mutex_lock(&net->mu);
    BD_ASSERT(!in->end_fn);
    in->end_fn = fn;
    in->end_arg = arg;
    const bool has_ended = in->is_ended;
    bd_mutex_unlock(&net->mu);
    if (has_ended) fn(arg, true);
}
