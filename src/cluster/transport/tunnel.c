// A tunnel has three threads. That of its acceptor prepares a connection: it reads the certificate and looks
// up the target, which may take a while. One reads the revocation list. The third carries the bytes of all
// connections and waits for nothing but epoll.
#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "cluster/keys/certificate.h"
#include "cluster/spec/cluster_spec.h"
#include "cluster/transport/grpc_accept.h"
#include "cluster/transport/grpc_revocation.h"
#include "cluster/transport/tunnel_link.h"
#include <braid/tunnel.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 64 // taken at once
#define LISTEN_DEFAULT "127.0.0.1:0"

typedef BD_ARRAY(bd_tunnel_link *) link_list;

struct braid_tunnel {
    char *address, *target, *tls_dir;
    bd_users users;
    bd_acceptor *acceptor;
    bd_grpc_revocations *revocations;
    atomic_bool has_new_list; // of revoked certificates
    int epoll, wake;
    bd_thread thread;
    bool is_started;
    bd_event ended;
    link_list links; // of the thread

    bd_mutex mu;
    // The rest is guarded by mu.
    bool is_closed;
    link_list arrived;
    char *reported; // the last warning; NULL: a connection was carried since
};

// ---- Warnings ----

// Clients try again and again: what was said is not said again.
static void report(braid_tunnel *t, const braid_status *st)
{
    bd_mutex_lock(&t->mu);
    const bool is_new = !t->reported || strcmp(t->reported, st->message) != 0;
    if (is_new) {
        bd_free(t->reported);
        t->reported = bd_strdup(st->message);
    }
    bd_mutex_unlock(&t->mu);
    if (is_new) bd_warn("%s", st->message);
}

static void forget_reports(braid_tunnel *t)
{
    bd_mutex_lock(&t->mu);
    bd_free(t->reported);
    t->reported = NULL;
    bd_mutex_unlock(&t->mu);
}

// ---- Connections arrive ----

static void wake(const braid_tunnel *t)
{
    const uint64_t one = 1;
    if (write(t->wake, &one, sizeof one) < 0) BD_ASSERT(errno == EAGAIN); // it is awake
}

static struct addrinfo *look_up(const braid_tunnel *t, braid_status *st)
{
    char host[BD_HOST_LEN_MAX + 1], service[16];
    int port;
    if (bd_host_port_parse(t->target, host, &port, st)) return NULL;
    snprintf(service, sizeof service, "%d", port);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    const int error = getaddrinfo(host, service, &hints, &found);
    if (!error) return found;
    bd_fail(st, BRAID_UNAVAILABLE, "Cannot reach %s: %s", t->target, gai_strerror(error));
    return NULL;
}

static bd_tunnel_link *prepare(braid_tunnel *t, int fd, braid_status *st)
{
    bd_tunnel_tls *tls = bd_tunnel_tls_new(t->tls_dir, t->target, t->revocations, st);
    struct addrinfo *addresses = tls ? look_up(t, st) : NULL;
    if (addresses) return bd_tunnel_link_new(t->epoll, fd, tls, addresses, t->target);
    bd_tunnel_tls_free(tls);
    return NULL;
}

static void accepted(void *arg, int fd)
{
    braid_tunnel *t = arg;
    BD_STATUS(st);
    bd_tunnel_link *l = prepare(t, fd, st);
    if (l) {
        bd_mutex_lock(&t->mu);
        bd_array_push(&t->arrived, l);
        bd_mutex_unlock(&t->mu);
        wake(t);
        return;
    }
    report(t, st);
    shutdown(fd, SHUT_RDWR); // the acceptor has a duplicate of it
    close(fd);
}

// ---- The thread that carries ----

// Returns false when the tunnel is closed.
static bool take_arrived(braid_tunnel *t)
{
    uint64_t count;
    if (read(t->wake, &count, sizeof count) < 0) BD_ASSERT(errno == EAGAIN); // nobody has written
    bd_mutex_lock(&t->mu);
    for (size_t i = 0; i < t->arrived.len; i++)
        bd_array_push(&t->links, t->arrived.items[i]);
    t->arrived.len = 0;
    const bool is_open = !t->is_closed;
    bd_mutex_unlock(&t->mu);
    return is_open;
}

static void finish(braid_tunnel *t, bd_tunnel_link *l, const braid_status *st)
{
    if (bd_tunnel_link_has_answer(l))
        forget_reports(t);
    else if (st->code && st->code != BRAID_CANCELLED)
        report(t, st);
    if (st->code) bd_debug("A connection through %s ends: %s", t->address, st->message);
    bd_tunnel_link_free(l);
}

static void take_list(void *arg)
{
    braid_tunnel *t = arg;
    atomic_store(&t->has_new_list, true);
    wake(t);
}

static void end_revoked(braid_tunnel *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->links.len; i++) {
        BD_STATUS(st);
        bd_tunnel_link *l = t->links.items[i];
        if (!bd_tunnel_link_check_revoked(l, st)) {
            t->links.items[kept++] = l;
            continue;
        }
        report(t, st);
        bd_tunnel_link_free(l);
    }
    t->links.len = kept;
}

// Steps the links that are due. Returns until when the thread may wait.
static int64_t step_due(braid_tunnel *t)
{
    int64_t until_ns = BD_FOREVER;
    size_t kept = 0;
    for (size_t i = 0; i < t->links.len; i++) {
        BD_STATUS(st);
        bd_tunnel_link *l = t->links.items[i];
        const bool is_due = bd_tunnel_link_due_ns(l) <= bd_now_ns();
        if (is_due && !bd_tunnel_link_step(l, st)) {
            finish(t, l, st);
            continue;
        }
        t->links.items[kept++] = l;
        until_ns = bd_min(until_ns, bd_tunnel_link_due_ns(l));
    }
    t->links.len = kept;
    return until_ns;
}

static int wait_ms(int64_t until_ns)
{
    return until_ns == BD_FOREVER ? -1 : (int)bd_min(bd_deadline_left_ms(until_ns), INT32_MAX);
}

static void run(void *arg)
{
    braid_tunnel *t = arg;
    struct epoll_event events[EVENTS];
    int64_t until_ns = BD_FOREVER;
    do {
        const int count =
            epoll_wait(t->epoll, events, EVENTS, wait_ms(until_ns)); // ends with the tunnel, too
        for (int i = 0; i < count; i++)
            if (events[i].data.ptr) bd_tunnel_link_changed(events[i].data.ptr);
        if (!take_arrived(t)) break;
        if (atomic_exchange(&t->has_new_list, false)) end_revoked(t);
        until_ns = step_due(t);
    } while (true);
    for (size_t i = 0; i < t->links.len; i++)
        bd_tunnel_link_free(t->links.items[i]);
    t->links.len = 0;
}

// ---- Opening ----

// "host:port", where the port may be 0.
static braid_code parse_listen(const char *text, char host[BD_HOST_LEN_MAX + 1], int *port, braid_status *st)
{
    const char *colon = strrchr(text, ':');
    const bool is_free = colon && strcmp(colon, ":0") == 0;
    char *with_port = is_free ? bd_asprintf("%.*s:1", (int)(colon - text), text) : bd_strdup(text);
    bd_host_port_parse(with_port, host, port, st);
    bd_free(with_port);
    if (is_free) *port = 0;
    return st->code;
}

static braid_code listen_at(braid_tunnel *t, const char *address, braid_status *st)
{
    char host[BD_HOST_LEN_MAX + 1];
    int port;
    const char *path = bd_address_unix_path(address);
    if (path) {
        t->address = bd_strdup(address);
        return bd_acceptor_new_unix(path, &t->users, &t->acceptor, st);
    }
    if (parse_listen(address, host, &port, st)) return bd_status_prefix(st, "A tunnel cannot listen: ");
    if (!bd_host_is_loopback(host))
        return bd_fail(
            st, BRAID_PERMISSION_DENIED,
            "A tunnel cannot listen on %s: it is not a loopback address, and whoever reached it would have the "
            "certificate",
            address);
    if (bd_acceptor_new(host, &port, &t->users, &t->acceptor, st)) return st->code;
    t->address = strchr(host, ':') ? bd_asprintf("[%s]:%d", host, port) : bd_asprintf("%s:%d", host, port);
    return BRAID_OK;
}

static braid_code check_target(const char *target, braid_status *st)
{
    char host[BD_HOST_LEN_MAX + 1];
    int port;
    if (bd_host_port_parse(target, host, &port, st)) bd_status_prefix(st, "The target of a tunnel: ");
    return st->code;
}

static braid_code use_certificate(braid_tunnel *t, const char *dir, braid_status *st)
{
    braid_role role;
    const char *from = dir ? "" : "BRAID_TLS_DIR: ";
    if (!dir) dir = getenv("BRAID_TLS_DIR");
    if (!dir || !*dir)
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "A tunnel needs a certificate: its directory is named by --tls-dir (tls_dir) or BRAID_TLS_DIR");
    if (bd_tls_dir_check(dir, &role, st)) return bd_status_prefix(st, "%s", from);
    t->tls_dir = bd_strdup(dir);
    t->revocations = bd_grpc_revocations_new(dir, st);
    if (t->revocations) bd_grpc_revocations_on_change(t->revocations, take_list, t);
    return st->code;
}

static braid_code make_epoll(braid_tunnel *t, braid_status *st)
{
    struct epoll_event wakes = {.events = EPOLLIN};
    t->epoll = epoll_create1(EPOLL_CLOEXEC);
    t->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->epoll >= 0 && t->wake >= 0 && epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->wake, &wakes) == 0)
        return BRAID_OK;
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "A tunnel cannot be opened: %s", strerror(errno));
}

static braid_code start(braid_tunnel *t, braid_status *st)
{
    if (bd_thread_start(&t->thread, "bd-tunnel", run, t, st)) return st->code;
    t->is_started = true;
    return bd_acceptor_start(t->acceptor, accepted, t, st);
}

braid_tunnel *braid_tunnel_open(const char *listen, const char *target, const char *tls_dir,
                                const char *allow_users, braid_status *st)
{
    braid_tunnel *t = bd_calloc(1, sizeof *t);
    t->epoll = t->wake = -1;
    t->target = bd_strdup(target);
    bd_mutex_init(&t->mu);
    bd_event_init(&t->ended);
    // Another list of revoked certificates wakes the thread: the events come before the certificate.
    if (!check_target(target, st) && !make_epoll(t, st) && !use_certificate(t, tls_dir, st) &&
        !bd_users_parse(allow_users, &t->users, st) && !listen_at(t, listen ? listen : LISTEN_DEFAULT, st) &&
        !start(t, st))
        return t;
    braid_tunnel_free(t);
    return NULL;
}

// ---- From outside ----

const char *braid_tunnel_address(const braid_tunnel *t)
{
    return t->address;
}

void braid_tunnel_wait(braid_tunnel *t)
{
    bd_event_wait(&t->ended); // ends with braid_tunnel_close
}

void braid_tunnel_close(braid_tunnel *t)
{
    bd_mutex_lock(&t->mu);
    const bool was_closed = t->is_closed;
    t->is_closed = true;
    bd_mutex_unlock(&t->mu);
    if (!was_closed) {
        if (t->acceptor) bd_acceptor_close(t->acceptor);
        if (t->is_started) {
            wake(t);
            bd_thread_join(&t->thread);
        }
        bd_event_set(&t->ended);
    }
    bd_event_wait(&t->ended); // ends: the thread that closes sets it
}

void braid_tunnel_free(braid_tunnel *t)
{
    if (!t) return;
    braid_tunnel_close(t);
    for (size_t i = 0; i < t->arrived.len; i++)
        bd_tunnel_link_free(t->arrived.items[i]);
    bd_acceptor_free(t->acceptor);
    bd_grpc_revocations_free(t->revocations);
    if (t->epoll >= 0) close(t->epoll);
    if (t->wake >= 0) close(t->wake);
    bd_array_free(&t->arrived);
    bd_array_free(&t->links);
    bd_users_fini(&t->users);
    bd_event_fini(&t->ended);
    bd_mutex_fini(&t->mu);
    bd_free(t->reported);
    bd_free(t->address);
    bd_free(t->target);
    bd_free(t->tls_dir);
    bd_free(t);
}
