// Listening on the addresses of a host, or on a socket in the file system.
#include "cluster/transport/listen_sockets.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cluster/transport/grpc_internal.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024 // connections that wait to be accepted; the kernel may allow fewer

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

static braid_code add_socket(bd_listen_sockets *s, const char *host, int *port, int fd, braid_status *st)
{
    if (fd < 0) return listen_failed(host, *port, errno, st);
    s->fds[s->count++] = fd;
    *port = port_of(fd);
    return BRAID_OK;
}

braid_code bd_listen_on_host(bd_listen_sockets *s, const char *host, int *port, braid_status *st)
{
    if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0)
        return add_socket(s, host, port, listen_on_any(*port), st);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    const int lookup = getaddrinfo(host, NULL, &hints, &found);
    if (lookup)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Cannot listen on %s:%d: %s", host, *port,
                       gai_strerror(lookup));
    int skipped = 0;
    for (struct addrinfo *at = found; at && s->count < BD_LISTEN_SOCKETS_MAX && !st->code; at = at->ai_next) {
        if (at->ai_family == AF_INET)
            ((struct sockaddr_in *)(void *)at->ai_addr)->sin_port = htons((uint16_t)*port);
        else
            ((struct sockaddr_in6 *)(void *)at->ai_addr)->sin6_port = htons((uint16_t)*port);
        const int fd = listen_on(at->ai_addr, at->ai_addrlen, false);
        if (fd < 0 && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT))
            skipped = errno; // a name may have an address of a family that this host does not use
        else
            add_socket(s, host, port, fd, st);
    }
    freeaddrinfo(found);
    if (!st->code && s->count == 0) return listen_failed(host, *port, skipped, st);
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
braid_code bd_listen_on_path(bd_listen_sockets *s, const char *path, bool is_private, braid_status *st)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Cannot listen on unix:%s: the path is too long", path);
    strcpy(address.sun_path, path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return path_failed(path, st);
    if (is_left(&address)) unlink(path);
    s->fds[s->count++] = fd;
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0) return path_failed(path, st);
    s->path = bd_strdup(path);
    if (chmod(path, is_private ? 0600 : 0666) != 0 || lstat(path, &s->file) != 0 || listen(fd, BACKLOG) != 0)
        return path_failed(path, st);
    return BRAID_OK;
}

static void remove_path(bd_listen_sockets *s)
{
    struct stat now;
    if (s->path && lstat(s->path, &now) == 0 && now.st_ino == s->file.st_ino && now.st_dev == s->file.st_dev)
        unlink(s->path);
    bd_free(s->path);
    s->path = NULL;
}

void bd_listen_sockets_close(bd_listen_sockets *s)
{
    for (int i = 0; i < s->count; i++)
        close(s->fds[i]);
    s->count = 0;
    remove_path(s);
}
