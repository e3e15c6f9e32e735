// The in-process transport: hosts, their crashes, and the links between them.
//
// States of a host: connected -> crashed, or -> ending (free) -> freed. A connected host is in `hosts` and
// gets the events of calls to its address. A link that is silent keeps messages in `held`; they go on when
// the link is up, and their calls end when it is broken.
#include "base/alloc.h"
#include "cluster/transport/inprocess_internal.h"
#include <string.h>

// ---- Links ----

static char *link_key(const char *from, const char *to)
{
    return bd_asprintf("%s>%s", from, to);
}

bd_link_state bd_net_link_locked(bd_network *net, const bd_channel *c)
{
    if (!c->from || net->links.count == 0) return BD_LINK_UP;
    char *key = link_key(c->from, c->address);
    const bd_link_state state = (bd_link_state)(uintptr_t)bd_map_get(&net->links, key);
    bd_free(key);
    return state;
}

bd_net_held *bd_net_hold_locked(bd_network *net, const bd_channel *c)
{
    bd_net_held *h = bd_calloc(1, sizeof *h), **link = &net->held;
    bd_message_init(&h->response);
    h->from = bd_strdup(c->from);
    h->to = bd_strdup(c->address);
    while (*link)
        link = &(*link)->next;
    return *link = h;
}

static void free_held(bd_net_held *h)
{
    bd_message_fini(&h->response);
    bd_status_fini(&h->status);
    bd_free(h->from);
    bd_free(h->to);
    bd_free(h);
}

static void let_go_locked(bd_network *net, bd_net_held *h)
{
    if (h->end) {
        bd_net_tell_end_locked(h->end, bd_net_arrival_locked(net));
        bd_net_incoming_unref_locked(h->end);
        return;
    }
    if (!h->call->is_finishing && h->is_response) bd_net_respond_locked(h->call, &h->response, &h->status);
    if (!h->call->is_finishing && !h->is_response) bd_net_send_locked(h->call);
    bd_net_call_unref_locked(h->call);
}

// The link has changed: messages go on, or end with their calls, which are cut already.
static void let_all_go_locked(bd_network *net, const char *from, const char *to)
{
    bd_net_held **link = &net->held;
    while (*link) {
        bd_net_held *h = *link;
        if (strcmp(h->from, from) != 0 || strcmp(h->to, to) != 0) {
            link = &h->next;
            continue;
        }
        *link = h->next;
        let_go_locked(net, h);
        free_held(h);
    }
}

static void cut_link_locked(bd_network *net, const char *from, const char *to)
{
    for (bd_call *call = net->calls; call; call = call->next) {
        const char *client = call->channel->from;
        if (client && strcmp(client, from) == 0 && strcmp(call->channel->address, to) == 0)
            bd_net_cut_call_locked(call);
    }
}

static void set_link_locked(bd_network *net, const char *from, const char *to, bd_link_state state)
{
    char *key = link_key(from, to);
    if (state == BD_LINK_UP)
        bd_map_remove(&net->links, key);
    else
        bd_map_put(&net->links, key, (void *)(uintptr_t)state);
    bd_free(key);
    if (state == BD_LINK_SILENT) return;
    if (state == BD_LINK_BROKEN) cut_link_locked(net, from, to);
    let_all_go_locked(net, from, to);
    if (state == BD_LINK_UP) bd_net_wake_locked(net, to);
}

void bd_inprocess_set_link(bd_transport *network, const char *from, const char *to, bd_link_state state)
{
    bd_network *net = BD_CONTAINER_OF(network, bd_net_host, base)->net;
    bd_mutex_lock(&net->mu);
    set_link_locked(net, from, to, state);
    bd_mutex_unlock(&net->mu);
}

// ---- Hosts ----

bd_net_host *bd_net_host_at_locked(bd_network *net, const char *address)
{
    bd_net_host *h = net->hosts;
    while (h && strcmp(h->address, address) != 0)
        h = h->next;
    return h ? h : &net->own;
}

static void disconnect_locked(bd_net_host *host)
{
    bd_net_host **link = &host->net->hosts;
    while (*link != host)
        link = &(*link)->next;
    *link = host->next;
}

// Ends all calls from and to the address for those at the other end.
static void cut_host_locked(bd_network *net, const char *address)
{
    for (bd_call *call = net->calls; call; call = call->next) {
        const char *client = call->channel->from;
        if (strcmp(call->channel->address, address) == 0 || (client && strcmp(client, address) == 0))
            bd_net_cut_call_locked(call);
    }
}

static void host_free(bd_transport *t)
{
    bd_net_host *host = BD_CONTAINER_OF(t, bd_net_host, base);
    bd_network *net = host->net;
    bd_mutex_lock(&net->mu);
    disconnect_locked(host);
    host->is_ending = true;
    bd_cond_broadcast(&host->due);
    bd_mutex_unlock(&net->mu);
    bd_thread_join(&host->thread);
    BD_ASSERT(host->pending == 0);
    bd_cond_fini(&host->due);
    bd_free(host->address);
    bd_free(host);
}

bd_transport *bd_inprocess_host_new(bd_transport *network, const char *address, braid_status *st)
{
    bd_network *net = BD_CONTAINER_OF(network, bd_net_host, base)->net;
    bd_net_host *host = bd_calloc(1, sizeof *host);
    *host = (bd_net_host){.base = bd_net_functions, .net = net, .address = bd_strdup(address)};
    host->base.free = host_free;
    bd_cond_init(&host->due);
    if (bd_thread_start(&host->thread, "network", bd_net_host_run, host, st)) {
        bd_cond_fini(&host->due);
        bd_free(host->address);
        bd_free(host);
        return NULL;
    }
    bd_mutex_lock(&net->mu);
    cut_host_locked(net, address); // connections of an earlier host that has crashed silently
    host->next = net->hosts;
    net->hosts = host;
    bd_mutex_unlock(&net->mu);
    return &host->base;
}

static void close_listeners_locked(bd_net_host *host)
{
    size_t pos = 0;
    const char *address;
    void *value;
    while (bd_map_next(&host->net->listeners, &pos, &address, &value)) {
        bd_listener *l = value;
        if (l->host != host) continue;
        l->is_closed = true;
        bd_map_remove(&host->net->listeners, address);
        pos = 0;
    }
}

void bd_inprocess_host_crash(bd_transport *network, const char *address, bool silent)
{
    bd_network *net = BD_CONTAINER_OF(network, bd_net_host, base)->net;
    bd_mutex_lock(&net->mu);
    bd_net_host *host = bd_net_host_at_locked(net, address);
    if (host->address) {
        disconnect_locked(host);
        host->is_crashed = true;
        host->events = NULL;
        close_listeners_locked(host);
    }
    if (!silent) cut_host_locked(net, address);
    bd_mutex_unlock(&net->mu);
}
