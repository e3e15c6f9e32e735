// The server side of the gRPC transport: listeners. Their calls are in grpc_incoming.c.
#include "base/strbuf.h"
#include "cluster/spec/cluster_spec.h"
#include "cluster/transport/grpc_listener.h"
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Calls that can arrive between two turns of the poll threads without waiting for each other.
#define POSTED_REQUESTS 16
#define SERVER_ARGS_MAX 32
// Each is busy with a connection that floods the server until that is ended.
#define CONNECTING_THREADS 4
#define OWN_ARGS 3
// gRPC holds up to three times the bytes of a message that arrives in small pieces.
#define QUOTA_OF_MESSAGES 4
// Of a connection in gRPC's counts: it is not there before the handshake of TLS has ended.
#define COUNT_SEARCHES_MAX 10
// Calls beyond the limit of calls that a connection may begin nevertheless, to be told so.
#define STREAMS_SPARE 100

// ---- Listeners ----

// Splits "host:port" or "[v6]:port" into the host (without brackets) and the port. Returns false when it is
// neither.
static bool split(const char *address, char *host, size_t host_size, int *port)
{
    const char *colon = strrchr(address, ':');
    if (!colon || !colon[1]) return false;
    char *end;
    const long number = strtol(colon + 1, &end, 10);
    if (*end || colon[1] < '0' || colon[1] > '9' || number > 65535) return false;
    size_t len = (size_t)(colon - address);
    if (len >= 2 && address[0] == '[' && colon[-1] == ']') {
        address++;
        len -= 2;
    }
    if (len == 0 || len >= host_size) return false;
    memcpy(host, address, len);
    host[len] = 0;
    *port = (int)number;
    return true;
}

// gRPC reads into memory of malloc, which by default returns to the system after each large message and costs
// a page fault for each 4 KB when it is allocated again. This changes malloc only in processes that serve.
static void keep_memory(void *arg)
{
    (void)arg;
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
#endif
}

// An argument of gRPC that points to what the caller keeps.
static void *copy_pointer(void *p)
{
    return p;
}

static void leave_pointer(void *p)
{
    (void)p;
}

static int compare_pointers(void *a, void *b)
{
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static void server_shut_down(bd_grpc_tag *tag, bool ok)
{
    (void)ok;
    bd_listener *l = BD_CONTAINER_OF(tag, bd_listener, shut_down);
    bd_mutex_lock(&l->mu);
    l->is_shut_down = true;
    bd_cond_broadcast(&l->changed);
    bd_mutex_unlock(&l->mu);
}

static void shut_down(bd_listener *l)
{
    bd_grpc_tag_publish(&l->shut_down);
    grpc_server_shutdown_and_notify(l->server, l->transport->cq, &l->shut_down);
}

typedef struct handover {
    bd_listener *listener;
    int fd;
} handover;

static void end_handover(bd_listener *l)
{
    bd_mutex_lock(&l->mu);
    const bool is_last = --l->handovers == 0 && l->is_closed;
    bd_mutex_unlock(&l->mu);
    if (is_last) shut_down(l);
}

static void hand_over(void *arg)
{
    const handover h = *(handover *)arg;
    bd_listener *l = h.listener;
    bd_free(arg);
    bd_grpc_count_connection();
    if (l->external)
        bd_grpc_hand_over(l->external, h.fd);
    else
        grpc_server_add_channel_from_fd(l->server, h.fd, l->credentials);
    end_handover(l);
}

// gRPC reads from a new connection on the thread that brings it, as long as something arrives: not on that of
// the acceptor, which ends connections that flood the server.
static void connected(void *arg, int fd)
{
    bd_listener *l = arg;
    handover *h = bd_malloc(sizeof *h);
    *h = (handover){l, fd};
    bd_mutex_lock(&l->mu);
    l->handovers++;
    bd_mutex_unlock(&l->mu);
    if (bd_thread_pool_submit(l->connecting, hand_over, h)) return;
    bd_free(h);
    close(fd);
    end_handover(l);
}

static void starved(void *arg)
{
    bd_grpc_help(((bd_listener *)arg)->transport);
}

// gRPC's name of the connection, as in connection_of().
static bool is_name_of(const void *connection, const char *name)
{
    const bd_connection *c = connection;
    if (bd_str_starts_with(name, "fd:")) return atoi(name + 3) == c->fd;
    char *peer = bd_grpc_decode_peer(name);
    const bool is_it = strcmp(peer, c->peer) == 0;
    bd_free(peer);
    return is_it;
}

static int64_t open_calls(void *arg, bd_connection *c)
{
    const bd_listener *l = arg;
    if (!c->count_id && c->count_searches++ < COUNT_SEARCHES_MAX)
        c->count_id = bd_grpc_find_connection(&l->counts, is_name_of, c);
    return bd_grpc_open_calls(c->count_id);
}

// gRPC stores the handler of connections from outside in its argument when the port is added. The quota
// bounds what gRPC holds of messages that are arriving: it ends calls when there is more.
static grpc_server *create_server(bd_listener *l)
{
    static const grpc_arg_pointer_vtable kept = {copy_pointer, leave_pointer, compare_pointers};
    const bd_transport_limits *limits = &l->transport->limits;
    const grpc_channel_args *common = bd_grpc_server_args();
    grpc_resource_quota *quota = grpc_resource_quota_create("braid");
    grpc_resource_quota_resize(quota, (size_t)limits->message_bytes * QUOTA_OF_MESSAGES);
    grpc_arg args[SERVER_ARGS_MAX] = {
        {.type = GRPC_ARG_POINTER,
         .key = (char *)BD_GRPC_EXTERNAL_PORT,
         .value.pointer = {.p = &l->external, .vtable = &kept}},
        {.type = GRPC_ARG_POINTER,
         .key = (char *)GRPC_ARG_RESOURCE_QUOTA,
         .value.pointer = {.p = quota, .vtable = grpc_resource_quota_arg_vtable()}},
        {.type = GRPC_ARG_INTEGER,
         .key = (char *)GRPC_ARG_MAX_CONCURRENT_STREAMS,
         .value.integer = limits->calls < INT_MAX - STREAMS_SPARE ? limits->calls + STREAMS_SPARE : INT_MAX},
    };
    BD_ASSERT(common->num_args + OWN_ARGS <= SERVER_ARGS_MAX);
    memcpy(args + OWN_ARGS, common->args, common->num_args * sizeof *args);
    grpc_server *server =
        bd_grpc_server_create(&(grpc_channel_args){common->num_args + OWN_ARGS, args}, &l->counts);
    grpc_resource_quota_unref(quota);
    return server;
}

static braid_code make_server(bd_listener *l, bool uses_tls, braid_status *st)
{
    l->server = create_server(l);
    grpc_server_register_completion_queue(l->server, l->transport->cq, NULL);
    l->credentials = uses_tls ? bd_grpc_tls_server_credentials(l->transport->tls)
                              : grpc_insecure_server_credentials_create();
    if (uses_tls) grpc_server_add_http2_port(l->server, BD_GRPC_EXTERNAL_PORT, l->credentials);
    if (uses_tls && !l->external)
        bd_fail(st, BRAID_INTERNAL, "gRPC takes no connections from outside for TLS");
    grpc_server_start(l->server);
    return st->code;
}

static bd_listener *listener_new(bd_grpc *g, bd_acceptor *acceptor, bool uses_tls, bd_handler_fn handler,
                                 void *arg, braid_status *st)
{
    bd_listener *l = bd_calloc(1, sizeof *l);
    l->transport = g;
    l->acceptor = acceptor;
    l->handler = handler;
    l->arg = arg;
    l->shut_down.run = server_shut_down;
    l->handovers = 1;
    bd_mutex_init(&l->mu);
    bd_cond_init(&l->changed);
    if (!make_server(l, uses_tls, st))
        bd_thread_pool_new("bd-connect", CONNECTING_THREADS, &l->connecting, st);
    if (!st->code) bd_timers_new(&l->timers, st);
    bd_mutex_lock(&g->mu);
    l->next = g->listeners;
    l->at = &g->listeners;
    if (l->next) l->next->at = &l->next;
    g->listeners = l;
    bd_mutex_unlock(&g->mu);
    return l;
}

braid_code bd_grpc_listen(bd_transport *t, const char *address, bd_handler_fn handler, void *arg,
                          bd_listener **out, char **bound, braid_status *st)
{
    bd_grpc *g = BD_CONTAINER_OF(t, bd_grpc, base);
    char host[256];
    int port = 0;
    const char *path = bd_address_unix_path(address);
    if (!path && !split(address, host, sizeof host, &port))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Cannot listen on '%s': it is no host:port and no unix:/path", address);
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, keep_memory, NULL);
    const bool uses_tls = g->tls && !path;
    bd_acceptor *acceptor = NULL;
    if (path ? bd_acceptor_new_unix(path, g->users, &acceptor, st)
             : bd_acceptor_new(host, &port, uses_tls ? NULL : g->users, &acceptor, st))
        return st->code;
    bd_acceptor_watch(acceptor, &g->limits, &(bd_acceptor_events){starved, open_calls});
    bd_listener *l = listener_new(g, acceptor, uses_tls, handler, arg, st);
    for (int i = 0; i < POSTED_REQUESTS; i++)
        bd_grpc_listener_post(l);
    if (st->code || bd_acceptor_start(acceptor, connected, l, st)) {
        bd_grpc_listener_stop(l, 0);
        bd_grpc_listener_free(l);
        return st->code;
    }
    *bound = path                ? bd_strdup(address)
             : strchr(host, ':') ? bd_asprintf("[%s]:%d", host, port)
                                 : bd_asprintf("%s:%d", host, port);
    *out = l;
    return BRAID_OK;
}

void bd_grpc_listener_close(bd_listener *l)
{
    bd_mutex_lock(&l->mu);
    const bool was_closed = l->is_closed;
    l->is_closed = true;
    bd_mutex_unlock(&l->mu);
    if (was_closed) return;
    bd_acceptor_close(l->acceptor);
    end_handover(l);
}

// Waits until gRPC has no more calls and each handler has replied. Returns true when the deadline passed
// first.
static bool wait_for_end(bd_listener *l, int64_t deadline_ns)
{
    bool late = false;
    bd_mutex_lock(&l->mu);
    while ((!l->is_shut_down || l->live > 0) && !late)
        late = bd_cond_wait_until(&l->changed, &l->mu, deadline_ns);
    bd_mutex_unlock(&l->mu);
    return late;
}

void bd_grpc_listener_stop(bd_listener *l, int64_t deadline_ns)
{
    bd_grpc_listener_close(l);
    if (!wait_for_end(l, deadline_ns)) return;
    grpc_server_cancel_all_calls(l->server);
    wait_for_end(l, BD_FOREVER); // ends: the calls are cancelled, and their handlers are notified
}

void bd_grpc_listener_free(bd_listener *l)
{
    bd_mutex_lock(&l->transport->mu);
    *l->at = l->next;
    if (l->next) l->next->at = l->at;
    bd_mutex_unlock(&l->transport->mu);
    bd_thread_pool_free(l->connecting);
    bd_timers_free(l->timers);
    grpc_server_destroy(l->server);
    grpc_server_credentials_release(l->credentials);
    bd_acceptor_free(l->acceptor);
    bd_cond_fini(&l->changed);
    bd_mutex_fini(&l->mu);
    bd_free(l);
}

// ---- All listeners of a transport ----

static bool is_peer_of(const bd_listener *l, const char *peer)
{
    bd_connection *c = bd_acceptor_find_peer(l->acceptor, peer);
    bd_connection_unref(c);
    return c != NULL;
}

bool bd_grpc_is_connected(bd_transport *t, const char *peer)
{
    bd_grpc *g = BD_CONTAINER_OF(t, bd_grpc, base);
    bool is_connected = false;
    bd_mutex_lock(&g->mu);
    for (bd_listener *l = g->listeners; l && !is_connected; l = l->next)
        is_connected = is_peer_of(l, peer);
    bd_mutex_unlock(&g->mu);
    return is_connected;
}

void bd_grpc_end_revoked(void *arg)
{
    bd_grpc *g = arg;
    bd_mutex_lock(&g->mu);
    for (bd_listener *l = g->listeners; l; l = l->next)
        bd_grpc_listener_end_revoked(l);
    bd_grpc_end_revoked_channels_locked(g);
    bd_mutex_unlock(&g->mu);
}
