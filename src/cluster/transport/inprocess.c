// The in-process transport: a network of listeners and channels in one process, with faults by seed.
//
// Everything that travels (a request, a response, the news of an end, a deadline) is an event that the clock
// runs at its time, one after another: callbacks come from the clock's thread only, and with a clock from
// outside the whole history is a function of the seed and the calls made.
//
// States of a call: `begun` -> (waiting: nobody listens, wait_for_ready) -> delivered -> `finishing`, set
// once by whatever comes first (response, deadline, cancel, cut, refusal) -> its `done` has run. States of an
// incoming call: handled -> replied, and in any order ended. All fields are guarded by the network's mu
// unless said otherwise; callbacks run without it.
#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/timer.h"
#include "cluster/transport/transport.h"
#include <string.h>

// A call without a deadline whose message is lost ends after this long: as if keepalive had found out.
#define LOST_AFTER_NS 1000000000

typedef struct network {
    bd_transport base;
    bd_inprocess_faults faults;
    bd_inprocess_clock clock;
    bd_timers *timers; // its own; NULL when the clock came from outside
    bd_mutex mu;
    bd_cond changed;
    bd_rng rng;
    bd_map listeners; // address -> bd_listener, those that take calls
    bd_map down;      // address -> anything
    bd_call *calls;   // begun, `done` still to run
    int pending;      // events to come
    int next_port;
} network;

struct bd_listener {
    network *net; // not owned
    char *address;
    bd_handler_fn handler;
    void *arg;
    struct incoming *incomings; // live ones
    bool is_closed;
};

struct bd_channel {
    network *net; // not owned
    char *address;
    int refs; // the owner's and one a call
};

typedef struct incoming incoming;

struct bd_call {
    network *net;
    bd_channel *channel;
    const char *method;
    int64_t deadline_ns;
    bool wait_for_ready, is_waiting, is_finishing;
    bd_message message; // the request until delivered, then the response
    incoming *incoming; // not owned; NULL before delivery and after its reply
    bd_call_done_fn done;
    void *arg;
    braid_status status; // when finishing
    uint64_t deadline_timer;
    struct event *deadline_event;
    bd_call *next, **link; // in net->calls
    int refs;              // the handle's, `done`'s, and one an event
};

struct incoming {
    bd_incoming base;
    bd_listener *listener;
    bd_call *call; // a reference; NULL for a duplicate and when ending
    bool is_replied, is_ending, is_ended, was_cancelled;
    bd_call_end_fn end_fn;
    void *end_arg;
    incoming *next, **link; // in listener->incomings
    int refs;               // until replied, and until ended
};

// ---- Events ----

typedef struct event {
    network *net;
    void (*run)(struct event *e); // without the lock
    bd_call *call;
    incoming *in;
} event;

static void run_event(void *arg)
{
    event *e = arg;
    network *net = e->net;
    e->run(e);
    bd_free(e);
    bd_mutex_lock(&net->mu);
    net->pending--;
    bd_cond_broadcast(&net->changed);
    bd_mutex_unlock(&net->mu);
}

static uint64_t add_event_locked(network *net, int64_t at_ns, void (*run)(event *), bd_call *call,
                                 incoming *in, event **out)
{
    event *e = bd_malloc(sizeof *e);
    *e = (event){.net = net, .run = run, .call = call, .in = in};
    if (call) call->refs++;
    if (in) in->refs++;
    net->pending++;
    if (out) *out = e;
    return net->clock.add(net->clock.arg, at_ns, run_event, e);
}

static int64_t now(const network *net)
{
    return net->clock.now_ns(net->clock.arg);
}

static int64_t arrival_locked(network *net)
{
    const int64_t spread = net->faults.delay_max_ns - net->faults.delay_min_ns;
    return now(net) + net->faults.delay_min_ns +
           (spread > 0 ? (int64_t)bd_rng_below(&net->rng, (uint64_t)spread + 1) : 0);
}

static bool happens_locked(network *net, double probability)
{
    return probability > 0 && bd_rng_double(&net->rng) < probability;
}

// ---- References ----

static void channel_unref_locked(bd_channel *c)
{
    if (--c->refs > 0) return;
    bd_free(c->address);
    bd_free(c);
}

static void call_unref_locked(bd_call *call)
{
    if (--call->refs > 0) return;
    channel_unref_locked(call->channel);
    bd_message_fini(&call->message);
    bd_status_fini(&call->status);
    bd_free(call);
}

static void incoming_unref_locked(incoming *in)
{
    if (--in->refs > 0) return;
    *in->link = in->next;
    if (in->next) in->next->link = in->link;
    bd_cond_broadcast(&in->listener->net->changed);
    bd_message_fini(&in->base.request);
    if (in->call) call_unref_locked(in->call);
    bd_free(in);
}

// ---- The client's end of a call ----

static void complete(event *e)
{
    bd_call *call = e->call;
    network *net = e->net;
    call->done(call->arg, &call->message, &call->status);
    bd_mutex_lock(&net->mu);
    *call->link = call->next;
    if (call->next) call->next->link = call->link;
    call_unref_locked(call); // done's
    call_unref_locked(call); // the event's
    bd_mutex_unlock(&net->mu);
}

// What comes first decides how the call ends; `status` is OK for a response (which is in call->message then).
static void finish_locked(bd_call *call, int64_t at_ns, braid_code code, const char *text)
{
    network *net = call->net;
    if (call->is_finishing) return;
    call->is_finishing = true;
    call->is_waiting = false;
    if (code) {
        bd_message_fini(&call->message);
        bd_fail(&call->status, code, "%s", text);
    }
    if (call->deadline_timer && net->clock.cancel(net->clock.arg, call->deadline_timer)) {
        bd_free(call->deadline_event);
        net->pending--;
        call_unref_locked(call);
    }
    call->deadline_timer = 0;
    add_event_locked(net, at_ns, complete, call, NULL, NULL);
}

// ---- The server's end of a call ----

static void tell_end(event *e)
{
    incoming *in = e->in;
    network *net = e->net;
    bd_mutex_lock(&net->mu);
    in->is_ended = true;
    const bd_call_end_fn fn = in->end_fn;
    bd_mutex_unlock(&net->mu);
    if (fn) fn(in->end_arg, in->was_cancelled);
    bd_mutex_lock(&net->mu);
    incoming_unref_locked(in); // that until ended
    incoming_unref_locked(in); // the event's
    bd_mutex_unlock(&net->mu);
}

// The call is over for the server, at most once.
static void end_incoming_locked(incoming *in, int64_t at_ns, bool cancelled)
{
    if (in->is_ending) return;
    in->is_ending = true;
    in->was_cancelled = cancelled;
    add_event_locked(in->listener->net, at_ns, tell_end, NULL, in, NULL);
    if (!in->call) return; // a duplicate
    in->call->incoming = NULL;
    call_unref_locked(in->call);
    in->call = NULL;
}

static void cut_call_locked(bd_call *call)
{
    network *net = call->net;
    if (call->incoming) end_incoming_locked(call->incoming, arrival_locked(net), true);
    if (call->wait_for_ready && !call->is_finishing && call->is_waiting) return;
    finish_locked(call, arrival_locked(net), BRAID_UNAVAILABLE, "the connection was cut");
}

static void cut_address_locked(network *net, const char *address)
{
    for (bd_call *call = net->calls; call; call = call->next)
        if (strcmp(call->channel->address, address) == 0) cut_call_locked(call);
}

static void deadline_passed(event *e)
{
    network *net = e->net;
    bd_mutex_lock(&net->mu);
    bd_call *call = e->call;
    call->deadline_timer = 0;
    if (call->incoming) end_incoming_locked(call->incoming, arrival_locked(net), true);
    finish_locked(call, now(net), BRAID_DEADLINE_EXCEEDED, "Deadline Exceeded");
    call_unref_locked(call);
    bd_mutex_unlock(&net->mu);
}

static void message_was_lost(event *e)
{
    network *net = e->net;
    bd_mutex_lock(&net->mu);
    if (e->call->incoming) end_incoming_locked(e->call->incoming, now(net), true);
    finish_locked(e->call, now(net), BRAID_UNAVAILABLE, "the peer does not answer");
    call_unref_locked(e->call);
    bd_mutex_unlock(&net->mu);
}

// True when a message of this call goes astray; its end is arranged then.
static bool goes_astray_locked(bd_call *call)
{
    network *net = call->net;
    if (happens_locked(net, net->faults.cut)) {
        cut_address_locked(net, call->channel->address);
        return true;
    }
    if (!happens_locked(net, net->faults.lose)) return false;
    if (call->deadline_ns == BD_FOREVER)
        add_event_locked(net, now(net) + LOST_AFTER_NS, message_was_lost, call, NULL, NULL);
    return true;
}

// ---- Delivery of a request ----

static incoming *incoming_new_locked(bd_listener *l, bd_call *call, bool is_duplicate)
{
    incoming *in = bd_calloc(1, sizeof *in);
    in->base.transport = &l->net->base;
    in->base.method = call->method;
    in->base.deadline_ns = call->deadline_ns;
    bd_message_init(&in->base.request);
    in->listener = l;
    in->refs = 2;
    in->next = l->incomings;
    in->link = &l->incomings;
    if (in->next) in->next->link = &in->next;
    l->incomings = in;
    if (is_duplicate) return in;
    in->call = call;
    call->refs++;
    call->incoming = in;
    return in;
}

static incoming *duplicate_locked(bd_listener *l, bd_call *call)
{
    incoming *in = incoming_new_locked(l, call, true);
    uint8_t *block = bd_malloc(call->message.bytes);
    bd_message_gather(&call->message, block);
    bd_message_add(&in->base.request,
                   (bd_slice){.data = block, .len = call->message.bytes, .release = bd_free, .owner = block});
    return in;
}

static bool reachable_locked(network *net, const char *address)
{
    return bd_map_has(&net->listeners, address) && !bd_map_has(&net->down, address);
}

static void deliver(event *e)
{
    network *net = e->net;
    bd_call *call = e->call;
    incoming *in = NULL, *second = NULL;
    bd_listener *l = NULL;
    bd_mutex_lock(&net->mu);
    if (call->is_finishing) {
        // It ended before it arrived.
    } else if (!reachable_locked(net, call->channel->address)) {
        call->is_waiting = call->wait_for_ready;
        if (!call->is_waiting) finish_locked(call, now(net), BRAID_UNAVAILABLE, "nobody listens there");
    } else {
        l = bd_map_get(&net->listeners, call->channel->address);
        if (happens_locked(net, net->faults.duplicate)) second = duplicate_locked(l, call);
        in = incoming_new_locked(l, call, false);
        bd_message_move(&in->base.request, &call->message);
    }
    bd_mutex_unlock(&net->mu);
    if (in) l->handler(l->arg, &in->base);
    if (second) l->handler(l->arg, &second->base);
    bd_mutex_lock(&net->mu);
    call_unref_locked(call);
    bd_mutex_unlock(&net->mu);
}

static void send_locked(bd_call *call)
{
    call->is_waiting = false;
    if (!goes_astray_locked(call))
        add_event_locked(call->net, arrival_locked(call->net), deliver, call, NULL, NULL);
}

// Sends what waited for `address` to be reachable.
static void wake_waiting_locked(network *net, const char *address)
{
    if (!reachable_locked(net, address)) return;
    for (bd_call *call = net->calls; call; call = call->next)
        if (call->is_waiting && strcmp(call->channel->address, address) == 0) send_locked(call);
}

// ---- Calls ----

static bd_call *begin_call(bd_channel *c, const bd_call_options *options, bd_message *request,
                           bd_call_done_fn done, void *arg)
{
    network *net = c->net;
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
        call->deadline_timer =
            add_event_locked(net, call->deadline_ns, deadline_passed, call, NULL, &call->deadline_event);
    send_locked(call);
    bd_mutex_unlock(&net->mu);
    return call;
}

static void cancel_locked(bd_call *call, const char *why)
{
    if (call->incoming) end_incoming_locked(call->incoming, arrival_locked(call->net), true);
    finish_locked(call, now(call->net), BRAID_CANCELLED, why);
}

static void cancel_call(bd_call *call)
{
    bd_mutex_lock(&call->net->mu);
    cancel_locked(call, "the call was cancelled");
    bd_mutex_unlock(&call->net->mu);
}

static void release_call(bd_call *call)
{
    network *net = call->net;
    bd_mutex_lock(&net->mu);
    call_unref_locked(call);
    bd_mutex_unlock(&net->mu);
}

static bd_channel *connect_to(bd_transport *t, const char *address)
{
    bd_channel *c = bd_calloc(1, sizeof *c);
    c->net = BD_CONTAINER_OF(t, network, base);
    c->address = bd_strdup(address);
    c->refs = 1;
    return c;
}

static void close_channel(bd_channel *c)
{
    network *net = c->net;
    bd_mutex_lock(&net->mu);
    for (bd_call *call = net->calls; call; call = call->next)
        if (call->channel == c) cancel_locked(call, "the channel was closed");
    channel_unref_locked(c);
    bd_mutex_unlock(&net->mu);
}

// ---- Replies ----

static void reply(bd_incoming *base, bd_message *response, const braid_status *st)
{
    incoming *in = BD_CONTAINER_OF(base, incoming, base);
    network *net = in->listener->net;
    bd_mutex_lock(&net->mu);
    BD_ASSERT(!in->is_replied);
    in->is_replied = true;
    bd_call *call = in->call;
    if (call && !call->is_finishing) {
        call->refs++;
        end_incoming_locked(in, now(net), false);
        if (!goes_astray_locked(call)) {
            if (st->code == BRAID_OK) bd_message_move(&call->message, response);
            finish_locked(call, arrival_locked(net), st->code, st->message ? st->message : "");
        }
        call_unref_locked(call);
    } else {
        end_incoming_locked(in, now(net), call != NULL);
    }
    incoming_unref_locked(in);
    bd_mutex_unlock(&net->mu);
    if (response) bd_message_fini(response);
}

static void on_end(bd_incoming *base, bd_call_end_fn fn, void *arg)
{
    incoming *in = BD_CONTAINER_OF(base, incoming, base);
    network *net = in->listener->net;
    bd_mutex_lock(&net->mu);
    BD_ASSERT(!in->end_fn);
    in->end_fn = fn;
    in->end_arg = arg;
    const bool has_ended = in->is_ended;
    bd_mutex_unlock(&net->mu);
    if (has_ended) fn(arg, true);
}

// ---- Listeners ----

static braid_code listen_at(bd_transport *t, const char *address, bd_handler_fn handler, void *arg,
                            bd_listener **out, char **bound, braid_status *st)
{
    network *net = BD_CONTAINER_OF(t, network, base);
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address || !colon[1])
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Cannot listen on '%s': it is no host:port", address);
    bd_mutex_lock(&net->mu);
    char *actual = strcmp(colon, ":0") == 0
                       ? bd_asprintf("%.*s:%d", (int)(colon - address), address, ++net->next_port)
                       : bd_strdup(address);
    if (bd_map_has(&net->listeners, actual)) {
        bd_mutex_unlock(&net->mu);
        bd_fail(st, BRAID_ALREADY_EXISTS, "Cannot listen on %s: the address is in use", actual);
        bd_free(actual);
        return st->code;
    }
    bd_listener *l = bd_calloc(1, sizeof *l);
    *l = (bd_listener){.net = net, .address = actual, .handler = handler, .arg = arg};
    bd_map_put(&net->listeners, actual, l);
    *out = l;
    *bound = bd_strdup(actual);
    wake_waiting_locked(net, actual);
    bd_mutex_unlock(&net->mu);
    return BRAID_OK;
}

static void listener_close_locked(bd_listener *l)
{
    if (!l->is_closed) bd_map_remove(&l->net->listeners, l->address);
    l->is_closed = true;
}

static void listener_close(bd_listener *l)
{
    bd_mutex_lock(&l->net->mu);
    listener_close_locked(l);
    bd_mutex_unlock(&l->net->mu);
}

static void listener_stop(bd_listener *l, int64_t deadline_ns)
{
    network *net = l->net;
    bd_mutex_lock(&net->mu);
    listener_close_locked(l);
    bool late = false;
    while (l->incomings && !late)
        late = bd_cond_wait_until(&net->changed, &net->mu, deadline_ns);
    for (incoming *in = l->incomings; in; in = in->next) {
        if (in->call) finish_locked(in->call, now(net), BRAID_UNAVAILABLE, "the server has stopped");
        end_incoming_locked(in, now(net), true);
    }
    while (l->incomings) // ends: the handlers are told, and reply
        bd_cond_wait(&net->changed, &net->mu);
    bd_mutex_unlock(&net->mu);
}

static void listener_free(bd_listener *l)
{
    bd_free(l->address);
    bd_free(l);
}

void bd_inprocess_set_down(bd_transport *t, const char *address, bool down)
{
    network *net = BD_CONTAINER_OF(t, network, base);
    bd_mutex_lock(&net->mu);
    if (down) {
        bd_map_put(&net->down, address, net);
        cut_address_locked(net, address);
    } else {
        bd_map_remove(&net->down, address);
        wake_waiting_locked(net, address);
    }
    bd_mutex_unlock(&net->mu);
}

// ---- The network ----

static int64_t default_now(void *arg)
{
    (void)arg;
    return bd_now_ns();
}

static uint64_t default_add(void *arg, int64_t at_ns, void (*fn)(void *), void *fn_arg)
{
    return bd_timer_add(arg, at_ns, fn, fn_arg);
}

static bool default_cancel(void *arg, uint64_t id)
{
    return bd_timer_cancel(arg, id);
}

static void network_free(bd_transport *t)
{
    network *net = BD_CONTAINER_OF(t, network, base);
    bd_mutex_lock(&net->mu);
    while (net->pending > 0) // ends: every call has finished or is finishing, and the clock goes on
        bd_cond_wait(&net->changed, &net->mu);
    bd_mutex_unlock(&net->mu);
    bd_timers_free(net->timers);
    bd_map_fini(&net->listeners);
    bd_map_fini(&net->down);
    bd_cond_fini(&net->changed);
    bd_mutex_fini(&net->mu);
    bd_free(net);
}

bd_transport *bd_inprocess_transport_new(const bd_inprocess_faults *faults, const bd_inprocess_clock *clock,
                                         braid_status *st)
{
    bd_timers *timers = NULL;
    if (!clock && bd_timers_new(&timers, st)) return NULL;
    network *net = bd_calloc(1, sizeof *net);
    net->base = (bd_transport){
        .name = "in-process",
        .listen = listen_at,
        .listener_close = listener_close,
        .listener_stop = listener_stop,
        .listener_free = listener_free,
        .connect = connect_to,
        .channel_close = close_channel,
        .call = begin_call,
        .call_cancel = cancel_call,
        .call_release = release_call,
        .reply = reply,
        .on_end = on_end,
        .free = network_free,
    };
    if (faults) net->faults = *faults;
    net->timers = timers;
    net->clock = clock ? *clock : (bd_inprocess_clock){timers, default_now, default_add, default_cancel};
    net->rng = bd_rng_init(net->faults.seed);
    bd_mutex_init(&net->mu);
    bd_cond_init(&net->changed);
    return &net->base;
}
