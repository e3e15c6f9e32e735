// The in-process transport: a network of listeners and channels in one process, with faults drawn from a
// seed.
//
// Every delivery (a request, a response, the end of a call, a deadline) is an event that the clock runs at
// its time, one after another: callbacks come from the clock's thread only, and with a given clock the whole
// history is a function of the seed and the calls.
//
// States of a call: `begun` -> (waiting for a listener, with wait_for_ready) -> delivered -> `finishing`, set
// once by the first of response, deadline, cancel, cut and refusal -> its `done` has run. States of an
// incoming call: handled -> replied, and in any order ended. All fields are guarded by the network's mu
// unless stated otherwise; callbacks run without it.
#include "base/alloc.h"
#include "cluster/transport/inprocess_internal.h"
#include <string.h>

// ---- Events ----

static void event_has_run_locked(bd_net_event *e)
{
    e->host->pending--;
    bd_cond_broadcast(&e->host->net->changed);
    bd_free(e);
}

static void run_event(void *arg)
{
    bd_net_event *e = arg;
    bd_network *net = e->host->net;
    e->run(e);
    bd_mutex_lock(&net->mu);
    event_has_run_locked(e);
    bd_mutex_unlock(&net->mu);
}

static uint64_t add_to_host_locked(bd_net_host *host, bd_net_event *e)
{
    static uint64_t last_id;
    bd_net_event **link = &host->events;
    while (*link && (*link)->at_ns <= e->at_ns)
        link = &(*link)->next;
    if (link == &host->events) bd_cond_broadcast(&host->due);
    e->next = *link;
    *link = e;
    return e->id = ++last_id;
}

uint64_t bd_net_add_event_locked(bd_net_host *host, int64_t at_ns, void (*run)(bd_net_event *), bd_call *call,
                                 bd_net_incoming *in, bd_net_event **out)
{
    bd_network *net = host->net;
    bd_net_event *e = bd_malloc(sizeof *e);
    *e = (bd_net_event){.host = host, .run = run, .call = call, .in = in, .at_ns = at_ns};
    bd_message_init(&e->copy);
    if (call) call->refs++;
    if (in) in->refs++;
    if (out) *out = e;
    if (host->is_crashed) return 0;
    host->pending++;
    return host->address ? add_to_host_locked(host, e) : net->clock.add(net->clock.arg, at_ns, run_event, e);
}

static bool remove_from_host_locked(bd_net_host *host, const bd_net_event *e)
{
    bd_net_event **link = &host->events;
    while (*link && *link != e)
        link = &(*link)->next;
    if (!*link) return false;
    *link = e->next;
    return true;
}

bool bd_net_cancel_event_locked(bd_net_host *host, uint64_t id, bd_net_event *e)
{
    const bd_inprocess_clock *clock = &host->net->clock;
    const bool is_cancelled =
        host->address ? remove_from_host_locked(host, e) : clock->cancel(clock->arg, id);
    if (is_cancelled) event_has_run_locked(e);
    return is_cancelled;
}

void bd_net_host_run(void *arg)
{
    bd_net_host *host = arg;
    bd_network *net = host->net;
    bd_mutex_lock(&net->mu);
    while (!host->is_ending || host->events) {
        bd_net_event *e = host->events;
        // Those that are left at the end concern calls that are over, or come too late.
        if (e && (host->is_ending || e->at_ns <= bd_net_now(net))) {
            host->events = e->next;
            bd_mutex_unlock(&net->mu);
            e->run(e);
            bd_mutex_lock(&net->mu);
            event_has_run_locked(e);
        } else {
            (void)bd_cond_wait_until(&host->due, &net->mu, e ? e->at_ns : BD_FOREVER);
        }
    }
    bd_mutex_unlock(&net->mu);
}

int64_t bd_net_now(const bd_network *net)
{
    return net->clock.now_ns(net->clock.arg);
}

int64_t bd_net_arrival_locked(bd_network *net)
{
    const int64_t spread = net->faults.delay_max_ns - net->faults.delay_min_ns;
    return bd_net_now(net) + net->faults.delay_min_ns +
           (spread > 0 ? (int64_t)bd_rng_below(&net->rng, (uint64_t)spread + 1) : 0);
}

bool bd_net_happens_locked(bd_network *net, double probability)
{
    return probability > 0 && bd_rng_double(&net->rng) < probability;
}

// ---- Listeners ----

static braid_code listen_at(bd_transport *t, const char *address, bd_handler_fn handler, void *arg,
                            bd_listener **out, char **bound, braid_status *st)
{
    bd_net_host *host = BD_CONTAINER_OF(t, bd_net_host, base);
    bd_network *net = host->net;
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
    *l = (bd_listener){.host = host, .net = net, .address = actual, .handler = handler, .arg = arg};
    bd_map_put(&net->listeners, actual, l);
    *out = l;
    *bound = bd_strdup(actual);
    bd_net_wake_locked(net, actual);
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
    bd_network *net = l->net;
    bd_mutex_lock(&net->mu);
    listener_close_locked(l);
    bool late = false;
    while (l->incomings && !late)
        late = bd_cond_wait_until(&net->changed, &net->mu, deadline_ns);
    for (bd_net_incoming *in = l->incomings; in; in = in->next) {
        if (in->call)
            bd_net_finish_locked(in->call, bd_net_now(net), BRAID_UNAVAILABLE, "the server has stopped");
        bd_net_end_incoming_locked(in, bd_net_now(net), true);
    }
    while (l->incomings) // ends: the handlers are notified, and reply
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
    bd_network *net = BD_CONTAINER_OF(t, bd_net_host, base)->net;
    bd_mutex_lock(&net->mu);
    if (down) {
        bd_map_put(&net->down, address, net);
        bd_net_cut_locked(net, address);
    } else {
        bd_map_remove(&net->down, address);
        bd_net_wake_locked(net, address);
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
    bd_network *net = BD_CONTAINER_OF(t, bd_net_host, base)->net;
    bd_mutex_lock(&net->mu);
    while (net->own.pending > 0) // ends: each call has finished or is finishing, and the clock continues
        bd_cond_wait(&net->changed, &net->mu);
    bd_mutex_unlock(&net->mu);
    bd_timers_free(net->timers);
    bd_map_fini(&net->listeners);
    bd_map_fini(&net->down);
    bd_map_fini(&net->links);
    bd_cond_fini(&net->changed);
    bd_mutex_fini(&net->mu);
    bd_free(net);
}

static char *net_peer(const bd_incoming *call)
{
    (void)call;
    return bd_strdup("in-process");
}

static void net_caller(const bd_incoming *call, bd_caller *out)
{
    (void)call;
    *out = (bd_caller){.role = BRAID_ROLE_TASK};
}

static bool net_is_connected(bd_transport *t, const char *peer)
{
    (void)t, (void)peer;
    return true;
}

const bd_transport bd_net_functions = {
    .name = "in-process",
    .listen = listen_at,
    .listener_close = listener_close,
    .listener_stop = listener_stop,
    .listener_free = listener_free,
    .connect = bd_net_connect,
    .channel_close = bd_net_channel_close,
    .call = bd_net_call,
    .call_cancel = bd_net_call_cancel,
    .call_release = bd_net_call_release,
    .reply = bd_net_reply,
    .on_end = bd_net_on_end,
    .peer = net_peer,
    .caller = net_caller,
    .is_connected = net_is_connected,
    .free = network_free,
};

bd_transport *bd_inprocess_transport_new(const bd_inprocess_faults *faults, const bd_inprocess_clock *clock,
                                         braid_status *st)
{
    bd_timers *timers = NULL;
    if (!clock && bd_timers_new(&timers, st)) return NULL;
    bd_network *net = bd_calloc(1, sizeof *net);
    net->own = (bd_net_host){.base = bd_net_functions, .net = net};
    if (faults) net->faults = *faults;
    net->timers = timers;
    net->clock = clock ? *clock : (bd_inprocess_clock){timers, default_now, default_add, default_cancel};
    net->rng = bd_rng_init(net->faults.seed);
    bd_mutex_init(&net->mu);
    bd_cond_init(&net->changed);
    return &net->own.base;
}
