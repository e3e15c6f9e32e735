// A thread accepts connections and waits for their ends, on duplicates of the sockets that gRPC has: gRPC
// does not say when it closes one.
//
// A process that may not call gets a connection nevertheless, to be told why (bd_acceptor_admit), but only a
// few at a time. Two descriptors a connection, and some for files, are kept free. When there are none all
// the same, a connection is accepted on the last one, which is kept for this, and closed: the client learns
// it, and the queue of the kernel does not fill with connections that have long ended.
#include "cluster/transport/grpc_accept.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "cluster/transport/grpc_internal.h"
#include "cluster/transport/socket_user.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKETS_MAX 8                   // addresses of one host
#define BACKLOG 1024                    // connections that wait to be accepted; the kernel may allow fewer
#define FILES_KEPT 128                  // descriptors for files and the connections of this process to others
#define STRANGERS_MAX 16                // connections of processes that may not call
#define EVENTS 64                       // taken at once
#define PAUSE_MS 100                    // without accepting, when the system has no memory for a connection
#define WARNING_NS INT64_C(10000000000) // between two of the same kind

typedef struct connection {
    int fd;    // gRPC's, which closes it
    int watch; // the duplicate
    bool has_user, may_call;
    uid_t user;
    char *peer;
} connection;

struct bd_acceptor {
    const bd_users *users;
    int sockets[SOCKETS_MAX], socket_count;
    char *path; // of a socket in the file system; NULL: none
    struct stat file;
    int epoll, wake, spare;
    size_t connections_max;
    bd_accepted_fn accepted;
    void *arg;
    bd_thread thread;
    bool is_started;
    int64_t warned_ns; // of the thread

    bd_mutex mu;
    // The rest is guarded by mu.
    bool is_stopped;
    BD_ARRAY(connection *) by_fd; // by gRPC's descriptors; NULL: no connection
    size_t connection_count, stranger_count;
};

// ---- Listening ----

static braid_code listen_failed(const char *host, int port, int error, braid_status *st)
{
    if (error == EADDRNOTAVAIL)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Cannot listen on %s:%d: it is no address of this host",
                       host, port);
    if (error == EADDRINUSE)
        return bd_fail(st, BRAID_ALREADY_EXISTS,
                       "Cannot listen on %s:%d: the address is in use by another process", host, port);
    return bd_fail(st, BRAID_UNAVAILABLE, "Cannot listen on %s:%d: %s", host, port, strerror(error));
}

// Returns a socket that listens, or -1 with errno.
static int listen_on(const struct sockaddr *address, socklen_t len, bool is_any)
{
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    const int yes = 1, v6_only = !is_any;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); // connections inherit it
    if (address->sa_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only);
    bd_grpc_keep_alive(fd);
    if (bind(fd, address, len) == 0 && listen(fd, BACKLOG) == 0) return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static int port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } address = {0};
    socklen_t len = sizeof address;
    if (getsockname(fd, &address.any, &len) != 0) return 0;
    return ntohs(address.any.sa_family == AF_INET ? address.in.sin_port : address.in6.sin6_port);
}

// All interfaces, of both families where the system has IPv6.
static int listen_on_any(int port)
{
    const struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    const struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int fd = listen_on((const struct sockaddr *)&in6, sizeof in6, true);
    if (fd >= 0 || errno != EAFNOSUPPORT) return fd;
    return listen_on((const struct sockaddr *)&in, sizeof in, true);
}

static braid_code add_socket(bd_acceptor *a, const char *host, int *port, int fd, braid_status *st)
{
    if (fd < 0) return listen_failed(host, *port, errno, st);
    a->sockets[a->socket_count++] = fd;
    *port = port_of(fd);
    return BRAID_OK;
}

static braid_code listen_on_host(bd_acceptor *a, const char *host, int *port, braid_status *st)
{
    if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
        return add_socket(a, host, port, listen_on_any(*port), st);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    const int lookup = getaddrinfo(host, NULL, &hints, &found);
    if (lookup)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Cannot listen on %s:%d: %s", host, *port,
                       gai_strerror(lookup));
    int skipped = 0;
    for (struct addrinfo *at = found; at && a->socket_count < SOCKETS_MAX && !st->code; at = at->ai_next) {
        if (at->ai_family == AF_INET)
            ((struct sockaddr_in *)(void *)at->ai_addr)->sin_port = htons((uint16_t)*port);
        else
            ((struct sockaddr_in6 *)(void *)at->ai_addr)->sin6_port = htons((uint16_t)*port);
        const int fd = listen_on(at->ai_addr, at->ai_addrlen, false);
        if (fd < 0 && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT))
            skipped = errno; // a name may have an address of a family that this host does not use
        else
            add_socket(a, host, port, fd, st);
    }
    freeaddrinfo(found);
    if (!st->code && a->socket_count == 0) return listen_failed(host, *port, skipped, st);
    return st->code;
}

// Whether no process listens on the socket, so that its file is one that was left.
static bool is_left(const struct sockaddr_un *address)
{
    struct stat file;
    if (lstat(address->sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const bool is_left = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                         errno == ECONNREFUSED;
    if (fd >= 0) close(fd);
    return is_left;
}

static braid_code path_failed(const char *path, braid_status *st)
{
    if (errno == EADDRINUSE)
        return bd_fail(st, BRAID_ALREADY_EXISTS,
                       "Cannot listen on unix:%s: another process listens on it, or it is another file",
                       path);
    return bd_fail(st, errno == ENOENT || errno == ENOTDIR ? BRAID_INVALID_ARGUMENT : BRAID_UNAVAILABLE,
                   "Cannot listen on unix:%s: %s", path, strerror(errno));
}

// Nobody can connect before the file has its mode: the socket does not listen yet.
static braid_code listen_on_path(bd_acceptor *a, const char *path, braid_status *st)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const bool is_private = a->users && a->users->count == 1;
    if (strlen(path) >= sizeof address.sun_path)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Cannot listen on unix:%s: the path is too long", path);
    strcpy(address.sun_path, path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return path_failed(path, st);
    if (is_left(&address)) unlink(path);
    a->sockets[a->socket_count++] = fd;
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0) return path_failed(path, st);
    a->path = bd_strdup(path);
    if (chmod(path, is_private ? 0600 : 0666) != 0 || lstat(path, &a->file) != 0 || listen(fd, BACKLOG) != 0)
        return path_failed(path, st);
    return BRAID_OK;
}

static void remove_path(bd_acceptor *a)
{
    struct stat now;
    if (a->path && lstat(a->path, &now) == 0 && now.st_ino == a->file.st_ino && now.st_dev == a->file.st_dev)
        unlink(a->path);
    bd_free(a->path);
    a->path = NULL;
}

// ---- Descriptors ----

static void raise_limit(void *arg)
{
    (void)arg;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static size_t connections_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return FILES_KEPT;
    return limit.rlim_cur > 2 * FILES_KEPT ? (limit.rlim_cur - FILES_KEPT) / 2 : limit.rlim_cur / 4;
}

static int open_spare(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// ---- Connections ----

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

static void remove_locked(bd_acceptor *a, connection *c)
{
    a->by_fd.items[c->fd] = NULL;
    a->connection_count--;
    a->stranger_count -= !c->may_call;
    epoll_ctl(a->epoll, EPOLL_CTL_DEL, c->watch, NULL); // gRPC may have the socket open still
    close(c->watch);
    bd_free(c->peer);
    bd_free(c);
}

static connection *find_locked(bd_acceptor *a, int fd)
{
    return fd >= 0 && (size_t)fd < a->by_fd.len ? a->by_fd.items[fd] : NULL;
}

// Returns why the connection is not passed on; NULL: it is.
static const char *add(bd_acceptor *a, connection *c)
{
    const char *why = NULL;
    bd_mutex_lock(&a->mu);
    // gRPC has closed a socket of this number: its end has not been seen yet.
    connection *before = find_locked(a, c->fd);
    if (before) remove_locked(a, before);
    if (a->connection_count >= a->connections_max)
        why = "the limit of open files (ulimit -n) is near";
    else if (!c->may_call && a->stranger_count >= STRANGERS_MAX)
        why = "other users have too many connections";
    if (!why) {
        while (a->by_fd.len <= (size_t)c->fd)
            bd_array_push(&a->by_fd, NULL);
        a->by_fd.items[c->fd] = c;
        a->connection_count++;
        a->stranger_count += !c->may_call;
    }
    bd_mutex_unlock(&a->mu);
    return why;
}

static void warn(bd_acceptor *a, const char *why)
{
    const int64_t now_ns = bd_now_ns();
    if (a->warned_ns && now_ns - a->warned_ns < WARNING_NS) return;
    a->warned_ns = now_ns;
    bd_warn("Connections are refused: %s", why);
}

static void pass_on(bd_acceptor *a, int fd)
{
    bd_strbuf peer = {0};
    peer_name(fd, &peer);
    connection *c = bd_calloc(1, sizeof *c);
    c->fd = fd;
    c->watch = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    c->peer = bd_strbuf_take(&peer);
    c->has_user = a->users && bd_socket_user(fd, &c->user);
    c->may_call = !a->users || (c->has_user && bd_users_have(a->users, c->user));
    struct epoll_event ends = {.events = EPOLLRDHUP, .data.ptr = c};
    const char *why = c->watch < 0 ? "there are no more file descriptors (ulimit -n)" : add(a, c);
    if (!why && epoll_ctl(a->epoll, EPOLL_CTL_ADD, c->watch, &ends) == 0) {
        a->accepted(a->arg, fd);
        return;
    }
    if (why) {
        warn(a, why);
        if (c->watch >= 0) close(c->watch);
        bd_free(c->peer);
        bd_free(c);
    } else {
        bd_mutex_lock(&a->mu);
        remove_locked(a, c);
        bd_mutex_unlock(&a->mu);
    }
    close(fd);
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
            pass_on(a, fd);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return true;
        else if ((errno == EMFILE || errno == ENFILE) && a->spare >= 0)
            refuse_one(a, socket);
        else if (errno != ECONNABORTED && errno != EINTR)
            return false;
    }
}

static bool is_stopped(bd_acceptor *a)
{
    bd_mutex_lock(&a->mu);
    const bool is = a->is_stopped;
    bd_mutex_unlock(&a->mu);
    return is;
}

static void run(void *arg)
{
    bd_acceptor *a = arg;
    struct epoll_event events[EVENTS];
    bool pauses = false;
    while (!is_stopped(a)) {
        if (a->spare < 0) a->spare = open_spare();
        const int count = epoll_wait(a->epoll, events, EVENTS, pauses ? PAUSE_MS : -1); // ends with stop
        pauses = false;
        bd_mutex_lock(&a->mu);
        for (int i = 0; i < count; i++)
            if (events[i].data.ptr != a) remove_locked(a, events[i].data.ptr); // it has ended
        bd_mutex_unlock(&a->mu);
        for (int i = 0; i < a->socket_count && !is_stopped(a); i++)
            pauses |= !accept_all(a, a->sockets[i]);
    }
}

// ---- From outside ----

static bd_acceptor *acceptor_new(const bd_users *users, braid_status *st)
{
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, raise_limit, NULL);
    bd_acceptor *a = bd_calloc(1, sizeof *a);
    a->users = users;
    a->connections_max = connections_max();
    a->epoll = epoll_create1(EPOLL_CLOEXEC);
    a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    a->spare = open_spare();
    bd_mutex_init(&a->mu);
    if (a->epoll < 0 || a->wake < 0)
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
    if (!st->code) listen_on_host(a, host, port, st);
    return made(a, out, st);
}

braid_code bd_acceptor_new_unix(const char *path, const bd_users *users, bd_acceptor **out, braid_status *st)
{
    bd_acceptor *a = acceptor_new(users, st);
    if (!st->code) listen_on_path(a, path, st);
    return made(a, out, st);
}

braid_code bd_acceptor_start(bd_acceptor *a, bd_accepted_fn accepted, void *arg, braid_status *st)
{
    a->accepted = accepted;
    a->arg = arg;
    struct epoll_event wakes = {.events = EPOLLIN, .data.ptr = a};
    epoll_ctl(a->epoll, EPOLL_CTL_ADD, a->wake, &wakes);
    wakes.events |= EPOLLET; // a socket that is not emptied is tried again after the pause
    for (int i = 0; i < a->socket_count; i++)
        epoll_ctl(a->epoll, EPOLL_CTL_ADD, a->sockets[i], &wakes);
    if (bd_thread_start(&a->thread, "bd-accept", run, a, st)) return st->code;
    a->is_started = true;
    return BRAID_OK;
}

void bd_acceptor_stop(bd_acceptor *a)
{
    const uint64_t one = 1;
    bd_mutex_lock(&a->mu);
    a->is_stopped = true;
    bd_mutex_unlock(&a->mu);
    if (a->is_started && write(a->wake, &one, sizeof one) == (ssize_t)sizeof one) bd_thread_join(&a->thread);
    a->is_started = false;
    for (int i = 0; i < a->socket_count; i++)
        close(a->sockets[i]);
    a->socket_count = 0;
    remove_path(a);
    bd_mutex_lock(&a->mu);
    for (size_t i = 0; i < a->by_fd.len; i++)
        if (a->by_fd.items[i]) remove_locked(a, a->by_fd.items[i]);
    bd_mutex_unlock(&a->mu);
}

void bd_acceptor_free(bd_acceptor *a)
{
    if (!a) return;
    bd_acceptor_stop(a);
    if (a->epoll >= 0) close(a->epoll);
    if (a->wake >= 0) close(a->wake);
    if (a->spare >= 0) close(a->spare);
    bd_array_free(&a->by_fd);
    bd_mutex_fini(&a->mu);
    bd_free(a);
}

braid_code bd_acceptor_admit(bd_acceptor *a, int fd, braid_status *st)
{
    if (!a->users) return BRAID_OK;
    bd_mutex_lock(&a->mu);
    const connection *c = find_locked(a, fd);
    const bool is_there = c != NULL, may_call = c && c->may_call, has_user = c && c->has_user;
    const uid_t user = has_user ? c->user : 0;
    bd_mutex_unlock(&a->mu);
    if (may_call) return BRAID_OK;
    if (!is_there) return bd_fail(st, BRAID_UNAVAILABLE, "The connection is closed, or the server ends");
    if (!has_user)
        return bd_fail(st, BRAID_PERMISSION_DENIED,
                       "Only processes of this host may call: the kernel knows no user of the connection");
    bd_strbuf own = {0}, other = {0};
    bd_user_append(&own, geteuid());
    bd_user_append(&other, user);
    bd_fail(
        st, BRAID_PERMISSION_DENIED,
        "Only processes of the user %s may call, and this one is of the user %s: that needs --allow-user=%s at the "
        "server (options.allow_users)",
        own.data, other.data, other.data);
    bd_strbuf_fini(&own);
    bd_strbuf_fini(&other);
    return st->code;
}

bool bd_acceptor_user(bd_acceptor *a, int fd, uid_t *user)
{
    bd_mutex_lock(&a->mu);
    const connection *c = find_locked(a, fd);
    const bool is_known = c && c->has_user;
    if (is_known) *user = c->user;
    bd_mutex_unlock(&a->mu);
    return is_known;
}

char *bd_acceptor_peer(bd_acceptor *a, int fd)
{
    bd_mutex_lock(&a->mu);
    const connection *c = find_locked(a, fd);
    char *peer = c ? bd_strdup(c->peer) : NULL;
    bd_mutex_unlock(&a->mu);
    return peer;
}

bool bd_acceptor_is_connected(bd_acceptor *a, const char *peer)
{
    bool is_connected = false;
    bd_mutex_lock(&a->mu);
    for (size_t i = 0; i < a->by_fd.len && !is_connected; i++)
        is_connected = a->by_fd.items[i] && strcmp(a->by_fd.items[i]->peer, peer) == 0;
    bd_mutex_unlock(&a->mu);
    return is_connected;
}
