// A thread accepts connections and waits for their ends, on duplicates of the sockets that gRPC has: gRPC
// does not say when it closes one. It looks at a connection that sends something every TICK_MS
// (bd_connection_check), and not at all at one that is silent.
//
// A process that may not call is told so, over a connection that gRPC does not get; there are only a few of
// these at a time. Two descriptors a connection, and some for files, are kept free. When the connections are
// as many as there may be, the oldest over which nothing was called yet gives way. When there are no
// descriptors all the same, a connection is accepted on the last one, which is kept for this, and closed: the
// client learns it, and the queue of the kernel does not fill with connections that have long ended.
#include "cluster/transport/grpc_accept.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cluster/transport/listen_sockets.h"
#include "cluster/transport/refusal.h"
#include "cluster/transport/socket_user.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define FILES_KEPT 128   // descriptors for files and the connections of this process to others
#define STRANGERS_MAX 16 // connections of processes that may not call
#define STRANGER_NS INT64_C(10000000000)   // the time of each
#define FIRST_CALL_NS INT64_C(60000000000) // by then something was called over a connection
#define EVENTS 64                          // taken at once
#define PAUSE_MS 100 // without accepting, when the system has no memory for a connection
#define TICK_MS 20
// Beyond the limit of calls, which a client keeps once it knows it.
#define OPEN_CALLS_SPARE 1000
// gRPC's counts of so many connections are asked for at a tick: each takes some 50 us.
#define COUNTS_OF_A_TICK 4
#define WARNING_NS INT64_C(10000000000) // between two of the same kind

typedef struct stranger {
    bd_refusal *refusal;
    int64_t until_ns;
} stranger;

struct bd_acceptor {
    const bd_users *users;
    bd_transport_limits limits;
    bd_listen_sockets sockets;
    int epoll, wake, spare;
    bd_accepted_fn accepted;
    bd_acceptor_events events; // all NULL: connections are not watched
    void *arg;
    bd_thread thread;
    bool is_started;
    bd_callers callers;

    // Of the thread.
    int64_t warned_ns;
    int strangers_epoll;
    stranger strangers[STRANGERS_MAX]; // the oldest first
    int stranger_count;
    bd_connection *active;                       // have sent something since they were looked at
    int64_t tick_ns;                             // when they are; BD_FOREVER: there are none
    bd_connection *first_waiting, *last_waiting; // for their first call, the oldest first

    bd_mutex mu;
    bd_cond closed;
    // The rest is guarded by mu; the thread alone changes the table until it has ended.
    bool is_closing, is_closed; // for new connections; the thread has seen it
    bool is_stopped;
    BD_ARRAY(bd_connection *) by_fd; // by gRPC's descriptors; NULL: no connection. They hold references
    bd_map by_peer;
    int connection_count;
};

// ---- Descriptors ----

static void raise_limit(void *arg)
{
    (void)arg;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int connections_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return FILES_KEPT;
    const rlim_t files = limit.rlim_cur < INT_MAX ? limit.rlim_cur : INT_MAX;
    return (int)(files > 2 * FILES_KEPT ? (files - FILES_KEPT) / 2 : files / 4);
}

static int open_spare(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// ---- The table of connections ----

static void peer_name(int fd, bd_strbuf *name)
{
    static atomic_ullong unnamed;
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } address = {0};
    socklen_t len = sizeof address;
    char text[INET6_ADDRSTRLEN] = "";
    if (getpeername(fd, &address.any, &len) != 0) return;
    if (address.any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &address.in.sin_addr, text, sizeof text);
        bd_strbuf_appendf(name, "ipv4:%s:%d", text, ntohs(address.in.sin_port));
    } else if (address.any.sa_family == AF_UNIX) {
        bd_strbuf_appendf(name, "unix:%llu", 1 + atomic_fetch_add(&unnamed, 1));
    } else if (IN6_IS_ADDR_V4MAPPED(&address.in6.sin6_addr)) { // gRPC, too, names it so
        inet_ntop(AF_INET, &address.in6.sin6_addr.s6_addr[12], text, sizeof text);
        bd_strbuf_appendf(name, "ipv4:%s:%d", text, ntohs(address.in6.sin6_port));
    } else {
        inet_ntop(AF_INET6, &address.in6.sin6_addr, text, sizeof text);
        bd_strbuf_appendf(name, "ipv6:[%s]:%d", text, ntohs(address.in6.sin6_port));
    }
}

static void append_waiting(bd_acceptor *a, bd_connection *c)
{
    c->is_waiting = true;
    c->previous_waiting = a->last_waiting;
    *(a->last_waiting ? &a->last_waiting->next_waiting : &a->first_waiting) = c;
    a->last_waiting = c;
}

static void remove_waiting(bd_acceptor *a, bd_connection *c)
{
    if (!c->is_waiting) return;
    c->is_waiting = false;
    *(c->previous_waiting ? &c->previous_waiting->next_waiting : &a->first_waiting) = c->next_waiting;
    *(c->next_waiting ? &c->next_waiting->previous_waiting : &a->last_waiting) = c->previous_waiting;
}

static void remove_active(bd_acceptor *a, bd_connection *c)
{
    if (!c->is_active) return;
    c->is_active = false;
    bd_connection **at = &a->active;
    while (*at != c) // ends: it is in the list
        at = &(*at)->next_active;
    *at = c->next_active;
}

static void remove_locked(bd_acceptor *a, bd_connection *c)
{
    remove_waiting(a, c);
    remove_active(a, c);
    a->by_fd.items[c->fd] = NULL;
    if (bd_map_get(&a->by_peer, c->peer) == c) bd_map_remove(&a->by_peer, c->peer);
    a->connection_count--;
    epoll_ctl(a->epoll, EPOLL_CTL_DEL, c->watch, NULL); // gRPC may have the socket open still
    close(c->watch);
    bd_connection_unref(c);
}

static void remove_connection(bd_acceptor *a, bd_connection *c)
{
    bd_mutex_lock(&a->mu);
    remove_locked(a, c);
    bd_mutex_unlock(&a->mu);
}

static bd_connection *find_locked(bd_acceptor *a, int fd)
{
    return fd >= 0 && (size_t)fd < a->by_fd.len ? a->by_fd.items[fd] : NULL;
}

// The oldest connection over which nothing was called yet. NULL: there is none.
static bd_connection *first_waiting(bd_acceptor *a)
{
    while (a->first_waiting && atomic_load_explicit(&a->first_waiting->has_called, memory_order_relaxed))
        remove_waiting(a, a->first_waiting); // ends with the list
    return a->first_waiting;
}

static bool make_room_locked(bd_acceptor *a)
{
    bd_connection *c = first_waiting(a);
    if (!c) return false;
    shutdown(c->watch, SHUT_RDWR);
    remove_locked(a, c);
    return true;
}

static bool add(bd_acceptor *a, bd_connection *c)
{
    bd_mutex_lock(&a->mu);
    // gRPC has closed a socket of this number: its end has not been seen yet.
    bd_connection *before = find_locked(a, c->fd);
    if (before) remove_locked(a, before);
    const bool has_room = a->connection_count < a->limits.connections || make_room_locked(a);
    if (has_room) {
        while (a->by_fd.len <= (size_t)c->fd)
            bd_array_push(&a->by_fd, NULL);
        a->by_fd.items[c->fd] = c;
        bd_map_put(&a->by_peer, c->peer, c);
        a->connection_count++;
        if (a->events.starved) append_waiting(a, c);
    }
    bd_mutex_unlock(&a->mu);
    return has_room;
}

// ---- Accepting ----

static void warn(bd_acceptor *a, const char *why)
{
    const int64_t now_ns = bd_now_ns();
    if (a->warned_ns && now_ns - a->warned_ns < WARNING_NS) return;
    a->warned_ns = now_ns;
    bd_warn("Connections are refused: %s", why);
}

static void own_connection(bd_connection *c)
{
    bd_caller caller = {.role = !c->has_user || c->user == geteuid() ? BRAID_ROLE_TASK : BRAID_ROLE_CLIENT};
    if (c->has_user) snprintf(caller.name, sizeof caller.name, "user %lld", (long long)c->user);
    bd_connection_set_caller(c, &caller);
}

static void pass_on(bd_acceptor *a, int fd, bool has_user, uid_t user)
{
    bd_strbuf peer = {0};
    peer_name(fd, &peer);
    bd_connection *c = bd_connection_new(&a->callers, bd_strbuf_take(&peer));
    c->fd = fd;
    c->watch = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    c->has_user = has_user;
    c->user = user;
    c->accepted_ns = bd_now_ns();
    if (a->users) own_connection(c);
    const uint32_t watched = a->events.starved ? EPOLLIN | EPOLLONESHOT : 0;
    struct epoll_event events = {.events = EPOLLRDHUP | watched, .data.ptr = c};
    if (c->watch < 0 || !add(a, c)) {
        warn(a, c->watch < 0 ? "there are no more file descriptors (ulimit -n)"
                             : "there are as many as the server allows (ulimit -n, --limit connections=N)");
        if (c->watch >= 0) close(c->watch);
        bd_connection_unref(c);
    } else if (epoll_ctl(a->epoll, EPOLL_CTL_ADD, c->watch, &events) == 0) {
        a->accepted(a->arg, fd);
        return;
    } else {
        remove_connection(a, c);
    }
    close(fd);
}

static void describe_refusal(bool has_user, uid_t user, braid_status *st)
{
    bd_strbuf own = {0}, other = {0};
    bd_user_append(&own, geteuid());
    if (has_user) bd_user_append(&other, user);
    if (!has_user)
        bd_fail(st, BRAID_PERMISSION_DENIED,
                "Only processes of this host may call: the kernel knows no user of the connection");
    else
        bd_fail(
            st, BRAID_PERMISSION_DENIED,
            "Only processes of the user %s may call, and this one is of the user %s: that needs --allow-user=%s at the "
            "server (options.allow_users)",
            bd_strbuf_str(&own), bd_strbuf_str(&other), bd_strbuf_str(&other));
    bd_strbuf_fini(&own);
    bd_strbuf_fini(&other);
}

static void drop_stranger(bd_acceptor *a, int i)
{
    bd_refusal_free(a->strangers[i].refusal); // which ends the wait for it, too
    a->stranger_count--;
    memmove(a->strangers + i, a->strangers + i + 1, (size_t)(a->stranger_count - i) * sizeof *a->strangers);
}

static void refuse_stranger(bd_acceptor *a, int fd, bool has_user, uid_t user)
{
    BD_STATUS(why);
    describe_refusal(has_user, user, why);
    warn(a, why->message);
    if (a->stranger_count == STRANGERS_MAX) drop_stranger(a, 0);
    struct epoll_event events = {.events = EPOLLIN};
    a->strangers[a->stranger_count++] = (stranger){bd_refusal_new(fd, why), bd_now_ns() + STRANGER_NS};
    epoll_ctl(a->strangers_epoll, EPOLL_CTL_ADD, fd, &events);
}

static void serve_strangers(bd_acceptor *a)
{
    for (int i = a->stranger_count - 1; i >= 0; i--)
        if (!bd_refusal_serve(a->strangers[i].refusal)) drop_stranger(a, i);
}

static void take_connection(bd_acceptor *a, int fd)
{
    uid_t user = 0;
    const bool has_user = a->users && bd_socket_user(fd, &user);
    if (!a->users || (has_user && bd_users_have(a->users, user)))
        pass_on(a, fd, has_user, user);
    else
        refuse_stranger(a, fd, has_user, user);
}

// Ends a connection that waits, so that its client does not.
static void refuse_one(bd_acceptor *a, int socket)
{
    warn(a, "there are no more file descriptors (ulimit -n)");
    if (a->spare >= 0) close(a->spare);
    const int fd = accept4(socket, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) close(fd);
    a->spare = open_spare();
}

// Returns false when the system wants a pause.
static bool accept_all(bd_acceptor *a, int socket)
{
    for (;;) { // ends: when no connection waits
        const int fd = accept4(socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            take_connection(a, fd);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return true;
        else if ((errno == EMFILE || errno == ENFILE) && a->spare >= 0)
            refuse_one(a, socket);
        else if (errno != ECONNABORTED && errno != EINTR)
            return false;
    }
}

// ---- The thread ----

// What has arrived and is not read is gone, too: else gRPC would read it before the end of the connection.
static void discard(int socket)
{
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    if (connect(socket, &nowhere, sizeof nowhere) != 0) shutdown(socket, SHUT_RDWR);
}

void bd_acceptor_end(bd_acceptor *a, bd_connection *c, const char *why)
{
    bd_caller caller = {0};
    bd_connection_caller(c, &caller);
    bd_mutex_lock(&a->mu);
    const bool is_open =
        find_locked(a, c->fd) == c && !atomic_exchange_explicit(&c->is_ended, true, memory_order_relaxed);
    if (is_open) discard(c->watch);
    bd_mutex_unlock(&a->mu);
    if (is_open)
        bd_warn("The connection from %s%s%s is ended: %s", c->peer, caller.name[0] ? " of " : "", caller.name,
                why);
}

static void activate(bd_acceptor *a, bd_connection *c)
{
    if (c->is_active) return;
    if (!a->active) a->tick_ns = bd_now_ns() + TICK_MS * INT64_C(1000000);
    c->is_active = true;
    bd_connection_look(c);
    c->next_active = a->active;
    a->active = c;
}

// Of a connection that may have begun many calls since they were counted. Returns false when none has.
static bool check_open_calls(bd_acceptor *a)
{
    bd_connection *most = NULL;
    for (bd_connection *c = a->active; c; c = c->next_active)
        if (!most || c->load > most->load) most = c;
    if (!most || most->load < OPEN_CALLS_SPARE * BD_LOAD_OF_A_CALL) return false;
    most->load = 0;
    if (a->events.open_calls(a->arg, most) > a->limits.calls + 2 * OPEN_CALLS_SPARE)
        bd_acceptor_end(a, most,
                        "it makes calls faster than they are answered, or does not read the answers");
    return true;
}

static void check_active(bd_acceptor *a)
{
    for (int i = 0; i < COUNTS_OF_A_TICK && check_open_calls(a); i++) {}
    bd_connection *next = a->active;
    a->active = NULL;
    a->tick_ns = BD_FOREVER;
    for (bd_connection *c = next; c; c = next) {
        next = c->next_active;
        c->is_active = false;
        if (bd_connection_is_starved(c)) a->events.starved(a->arg);
        const char *why = bd_connection_check(c, &a->limits);
        if (why) bd_acceptor_end(a, c, why);
        struct epoll_event again = {.events = EPOLLRDHUP | EPOLLIN | EPOLLONESHOT, .data.ptr = c};
        epoll_ctl(a->epoll, EPOLL_CTL_MOD, c->watch, &again);
    }
}

static void check_waiting(bd_acceptor *a, int64_t now_ns)
{
    bd_connection *c;
    while ((c = first_waiting(a)) && c->accepted_ns + FIRST_CALL_NS <= now_ns) { // ends with the list
        shutdown(c->watch, SHUT_RDWR);
        remove_waiting(a, c);
    }
}

static void check(bd_acceptor *a)
{
    const int64_t now_ns = bd_now_ns();
    if (a->tick_ns <= now_ns) check_active(a);
    check_waiting(a, now_ns);
    while (a->stranger_count > 0 && a->strangers[0].until_ns <= now_ns)
        drop_stranger(a, 0);
}

// Until when the thread may wait, in ms; -1: until something happens.
static int wait_ms(const bd_acceptor *a)
{
    int64_t until_ns = a->tick_ns;
    if (a->first_waiting) until_ns = bd_min(until_ns, a->first_waiting->accepted_ns + FIRST_CALL_NS);
    if (a->stranger_count > 0) until_ns = bd_min(until_ns, a->strangers[0].until_ns);
    if (until_ns == BD_FOREVER) return -1;
    return (int)(bd_max(until_ns - bd_now_ns(), 0) / 1000000) + 1;
}

static void stop_listening(bd_acceptor *a)
{
    bd_listen_sockets_close(&a->sockets);
    while (a->stranger_count > 0)
        drop_stranger(a, 0);
}

// Whether the thread is to end.
static bool is_stopped(bd_acceptor *a)
{
    bd_mutex_lock(&a->mu);
    const bool is_stopped = a->is_stopped, closes = a->is_closing && !a->is_closed;
    bd_mutex_unlock(&a->mu);
    if (!closes) return is_stopped;
    stop_listening(a);
    bd_mutex_lock(&a->mu);
    a->is_closed = true;
    bd_cond_broadcast(&a->closed);
    bd_mutex_unlock(&a->mu);
    return is_stopped;
}

static void take_event(bd_acceptor *a, const struct epoll_event *event)
{
    uint64_t woken;
    if (event->data.ptr == a) {                            // the sockets, which are tried anyway, or `wake`
        while (read(a->wake, &woken, sizeof woken) > 0) {} // ends: it is emptied
        return;
    }
    if (event->data.ptr == a->strangers)
        serve_strangers(a);
    else if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        remove_connection(a, event->data.ptr);
    else
        activate(a, event->data.ptr);
}

static void run(void *arg)
{
    bd_acceptor *a = arg;
    struct epoll_event events[EVENTS];
    bool pauses = false;
    while (!is_stopped(a)) {
        if (a->spare < 0) a->spare = open_spare();
        const int count =
            epoll_wait(a->epoll, events, EVENTS, pauses ? PAUSE_MS : wait_ms(a)); // ends with stop
        pauses = false;
        for (int i = 0; i < count; i++)
            take_event(a, &events[i]);
        check(a);
        for (int i = 0; i < a->sockets.count && !is_stopped(a); i++)
            pauses |= !accept_all(a, a->sockets.fds[i]);
    }
}

// ---- From outside ----

static bd_acceptor *acceptor_new(const bd_users *users, braid_status *st)
{
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, raise_limit, NULL);
    bd_acceptor *a = bd_calloc(1, sizeof *a);
    a->users = users;
    a->tick_ns = BD_FOREVER;
    a->epoll = epoll_create1(EPOLL_CLOEXEC);
    a->strangers_epoll = epoll_create1(EPOLL_CLOEXEC);
    a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    a->spare = open_spare();
    bd_mutex_init(&a->mu);
    bd_cond_init(&a->closed);
    bd_mutex_init(&a->callers.mu);
    a->limits.connections = connections_max();
    if (a->epoll < 0 || a->strangers_epoll < 0 || a->wake < 0)
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "A server cannot listen: %s", strerror(errno));
    return a;
}

static braid_code made(bd_acceptor *a, bd_acceptor **out, braid_status *st)
{
    if (st->code)
        bd_acceptor_free(a);
    else
        *out = a;
    return st->code;
}

braid_code bd_acceptor_new(const char *host, int *port, const bd_users *users, bd_acceptor **out,
                           braid_status *st)
{
    bd_acceptor *a = acceptor_new(users, st);
    if (!st->code) bd_listen_on_host(&a->sockets, host, port, st);
    return made(a, out, st);
}

braid_code bd_acceptor_new_unix(const char *path, const bd_users *users, bd_acceptor **out, braid_status *st)
{
    bd_acceptor *a = acceptor_new(users, st);
    if (!st->code) bd_listen_on_path(&a->sockets, path, users && users->count == 1, st);
    return made(a, out, st);
}

void bd_acceptor_watch(bd_acceptor *a, const bd_transport_limits *limits, const bd_acceptor_events *events)
{
    const int most = a->limits.connections;
    a->limits = *limits;
    if (limits->connections == 0 || limits->connections > most) a->limits.connections = most;
    a->events = *events;
}

static void watch(bd_acceptor *a, int fd, uint32_t events, void *what)
{
    struct epoll_event event = {.events = events, .data.ptr = what};
    epoll_ctl(a->epoll, EPOLL_CTL_ADD, fd, &event);
}

braid_code bd_acceptor_start(bd_acceptor *a, bd_accepted_fn accepted, void *arg, braid_status *st)
{
    a->accepted = accepted;
    a->arg = arg;
    watch(a, a->wake, EPOLLIN, a);
    watch(a, a->strangers_epoll, EPOLLIN, a->strangers);
    for (int i = 0; i < a->sockets.count; i++) // one that is not emptied is tried again after the pause
        watch(a, a->sockets.fds[i], EPOLLIN | EPOLLET, a);
    if (bd_thread_start(&a->thread, "bd-accept", run, a, st)) return st->code;
    a->is_started = true;
    return BRAID_OK;
}

static void wake(bd_acceptor *a)
{
    const uint64_t one = 1;
    const bool is_woken = write(a->wake, &one, sizeof one) == (ssize_t)sizeof one;
    BD_ASSERT(is_woken);
}

void bd_acceptor_close(bd_acceptor *a)
{
    bd_mutex_lock(&a->mu);
    a->is_closing = true;
    if (a->is_started) wake(a);
    while (a->is_started && !a->is_closed) // ends: the thread waits for nothing else
        bd_cond_wait(&a->closed, &a->mu);
    bd_mutex_unlock(&a->mu);
}

static void stop(bd_acceptor *a)
{
    bd_mutex_lock(&a->mu);
    a->is_stopped = true;
    bd_mutex_unlock(&a->mu);
    if (a->is_started) {
        wake(a);
        bd_thread_join(&a->thread);
    }
    stop_listening(a);
    for (size_t i = 0; i < a->by_fd.len; i++)
        if (a->by_fd.items[i]) remove_connection(a, a->by_fd.items[i]);
}

void bd_acceptor_free(bd_acceptor *a)
{
    if (!a) return;
    stop(a);
    if (a->epoll >= 0) close(a->epoll);
    if (a->strangers_epoll >= 0) close(a->strangers_epoll);
    if (a->wake >= 0) close(a->wake);
    if (a->spare >= 0) close(a->spare);
    bd_array_free(&a->by_fd);
    bd_map_fini(&a->by_peer);
    bd_map_fini(&a->callers.by_name);
    bd_mutex_fini(&a->callers.mu);
    bd_cond_fini(&a->closed);
    bd_mutex_fini(&a->mu);
    bd_free(a);
}

static bd_connection *with_reference(bd_connection *c)
{
    if (c) bd_connection_ref(c);
    return c;
}

bd_connection *bd_acceptor_find(bd_acceptor *a, int fd)
{
    bd_mutex_lock(&a->mu);
    bd_connection *c = with_reference(find_locked(a, fd));
    bd_mutex_unlock(&a->mu);
    return c;
}

bd_connection *bd_acceptor_find_peer(bd_acceptor *a, const char *peer)
{
    bd_mutex_lock(&a->mu);
    bd_connection *c = with_reference(bd_map_get(&a->by_peer, peer));
    bd_mutex_unlock(&a->mu);
    return c;
}
