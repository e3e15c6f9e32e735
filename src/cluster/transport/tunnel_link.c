// A link connects to the server (one address after the other), shakes hands, and then passes bytes both ways,
// until both ends have said that they send no more.
//
// Each direction holds one block. It reads when its block is empty, so a receiver that does not read stops
// the sender: the kernel's buffers fill, and the sender learns it as of any slow peer. epoll tells of changes
// only (EPOLLET): a step goes on until nothing moves, or says that it was not finished.
#include "cluster/transport/tunnel_link.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cluster/transport/grpc_internal.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_S 10 // the handshake included
#define BLOCK_BYTES (64 << 10)
#define ROUNDS 16 // of a step, so that other links have their turn

typedef enum phase {
    CONNECTING,
    SHAKING, // hands
    OPEN
} phase;

// From one end to the other.
typedef struct direction {
    unsigned char block[BLOCK_BYTES];
    size_t begin, end; // of what is still to be written
    bool is_over;      // its sender sends no more
    bool is_told;      // its receiver knows
} direction;

struct bd_tunnel_link {
    phase phase;
    int client, server; // -1: none
    int epoll;          // not owned
    bool is_watched;    // the client
    bool is_due;        // at once
    bool has_answer;    // of the server
    bool is_dumb;       // the server has ended its direction without one, and the client has not
    bd_tunnel_tls *tls;
    struct addrinfo *addresses, *next; // next: to be tried
    char *name;                        // of the server
    int64_t deadline_ns;
    int error; // of the last address
    direction up, down;
};

bd_tunnel_link *bd_tunnel_link_new(int epoll, int client, bd_tunnel_tls *tls, struct addrinfo *addresses,
                                   const char *server)
{
    bd_tunnel_link *l = bd_calloc(1, sizeof *l);
    l->epoll = epoll;
    l->client = client;
    l->is_due = true;
    l->server = -1;
    l->tls = tls;
    l->addresses = l->next = addresses;
    l->name = bd_strdup(server);
    l->deadline_ns = bd_deadline_after_ms(CONNECT_S * 1000);
    return l;
}

void bd_tunnel_link_free(bd_tunnel_link *l)
{
    bd_tunnel_tls_free(l->tls);
    // The acceptor has a duplicate of the socket, which would keep it open and watched.
    if (l->is_watched) epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->client, NULL);
    shutdown(l->client, SHUT_RDWR);
    close(l->client);
    if (l->server >= 0) close(l->server);
    freeaddrinfo(l->addresses);
    bd_free(l->name);
    bd_free(l);
}

void bd_tunnel_link_changed(bd_tunnel_link *l)
{
    l->is_due = true;
}

int64_t bd_tunnel_link_due_ns(const bd_tunnel_link *l)
{
    return l->is_due ? 0 : l->deadline_ns;
}

braid_code bd_tunnel_link_check_revoked(const bd_tunnel_link *l, braid_status *st)
{
    return bd_tunnel_tls_check_revoked(l->tls, st);
}

bool bd_tunnel_link_has_answer(const bd_tunnel_link *l)
{
    return l->has_answer;
}

static bd_tunnel_io watch(bd_tunnel_link *l, int socket, braid_status *st)
{
    struct epoll_event changes = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = l};
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, socket, &changes) == 0) return BD_TUNNEL_DONE;
    bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "A connection cannot be watched: %s", strerror(errno));
    return BD_TUNNEL_FAILED;
}

// ---- Connecting ----

// Begins to connect to the next address. DONE: it has begun, or failed at once with l->error.
static bd_tunnel_io try_next(bd_tunnel_link *l, braid_status *st)
{
    const struct addrinfo *at = l->next;
    if (!at) {
        bd_fail(st, BRAID_UNAVAILABLE, "Cannot reach %s: %s. Does its server run?", l->name,
                strerror(l->error));
        return BD_TUNNEL_FAILED;
    }
    l->next = at->ai_next;
    const int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int yes = 1;
    if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (fd >= 0) bd_grpc_keep_alive(fd);
    if (fd >= 0 && (connect(fd, at->ai_addr, at->ai_addrlen) == 0 || errno == EINPROGRESS)) {
        l->server = fd;
        return watch(l, fd, st);
    }
    l->error = errno;
    if (fd >= 0) close(fd);
    return BD_TUNNEL_DONE;
}

static bool is_connected(int fd)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    return getpeername(fd, (struct sockaddr *)&peer, &len) == 0;
}

static bd_tunnel_io connect_step(bd_tunnel_link *l, braid_status *st)
{
    for (;;) { // ends: with the addresses
        if (l->server < 0) {
            const bd_tunnel_io begun = try_next(l, st);
            if (begun != BD_TUNNEL_DONE) return begun;
            continue;
        }
        socklen_t len = sizeof l->error;
        if (getsockopt(l->server, SOL_SOCKET, SO_ERROR, &l->error, &len) != 0) l->error = errno;
        if (l->error == 0) return is_connected(l->server) ? BD_TUNNEL_DONE : BD_TUNNEL_AGAIN;
        close(l->server);
        l->server = -1;
    }
}

// ---- Passing bytes ----

static bd_tunnel_io socket_failed(braid_status *st)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return BD_TUNNEL_AGAIN;
    bd_fail(st, BRAID_CANCELLED, "The client has ended its connection: %s", strerror(errno));
    return BD_TUNNEL_FAILED;
}

static bd_tunnel_io read_client(bd_tunnel_link *l, direction *d, braid_status *st)
{
    const ssize_t got = read(l->client, d->block, sizeof d->block);
    if (got < 0) return socket_failed(st);
    d->end = (size_t)got;
    return got == 0 ? BD_TUNNEL_END : BD_TUNNEL_DONE;
}

static bd_tunnel_io write_client(bd_tunnel_link *l, const direction *d, size_t *put, braid_status *st)
{
    const ssize_t written = send(l->client, d->block + d->begin, d->end - d->begin, MSG_NOSIGNAL);
    if (written < 0) return socket_failed(st);
    *put = (size_t)written;
    return BD_TUNNEL_DONE;
}

static bd_tunnel_io fill(bd_tunnel_link *l, direction *d, braid_status *st)
{
    d->begin = d->end = 0;
    const bd_tunnel_io io = d == &l->up ? read_client(l, d, st)
                                        : bd_tunnel_tls_read(l->tls, d->block, sizeof d->block, &d->end, st);
    if (d == &l->down && io == BD_TUNNEL_DONE) l->has_answer = true;
    if (io != BD_TUNNEL_END) return io;
    d->is_over = true;
    if (d == &l->down) l->is_dumb = !l->has_answer && !l->up.is_over;
    return BD_TUNNEL_DONE;
}

static bd_tunnel_io drain(bd_tunnel_link *l, direction *d, braid_status *st)
{
    size_t put = 0;
    const bd_tunnel_io io =
        d == &l->down ? write_client(l, d, &put, st)
                      : bd_tunnel_tls_write(l->tls, d->block + d->begin, d->end - d->begin, &put, st);
    d->begin += put;
    return io;
}

static bd_tunnel_io tell_end(bd_tunnel_link *l, direction *d, braid_status *st)
{
    bd_tunnel_io io = BD_TUNNEL_DONE;
    if (d == &l->up)
        io = bd_tunnel_tls_end(l->tls, st);
    else
        shutdown(l->client, SHUT_WR);
    d->is_told = io == BD_TUNNEL_DONE;
    return io;
}

// The next thing that a direction has to do.
static bd_tunnel_io pass(bd_tunnel_link *l, direction *d, braid_status *st)
{
    if (d->is_told) return BD_TUNNEL_AGAIN;
    if (d->begin < d->end) return drain(l, d, st);
    return d->is_over ? tell_end(l, d, st) : fill(l, d, st);
}

// A server that refuses the certificate of this end may say so while bytes are on their way to it.
static void hear_why(bd_tunnel_link *l, braid_status *st)
{
    BD_STATUS(why);
    size_t got;
    if (l->has_answer || l->down.begin < l->down.end) return;
    bd_tunnel_tls_read(l->tls, l->down.block, sizeof l->down.block, &got, why);
    if (why->code == BRAID_UNAUTHENTICATED) bd_status_move(st, why);
}

static bool dumb(const bd_tunnel_link *l, braid_status *st)
{
    bd_fail(
        st, BRAID_UNAUTHENTICATED,
        "%s has ended the connection without a word: does it refuse the certificate of this end (revoked, or of "
        "another authority)? Its log tells",
        l->name);
    return false;
}

static bool pass_step(bd_tunnel_link *l, braid_status *st)
{
    for (int i = 0; i < ROUNDS; i++) {
        const bd_tunnel_io down = pass(l, &l->down, st);
        if (down == BD_TUNNEL_FAILED) return false;
        if (l->is_dumb) return dumb(l, st);
        const bd_tunnel_io up = pass(l, &l->up, st);
        if (up == BD_TUNNEL_FAILED) hear_why(l, st);
        if (up == BD_TUNNEL_FAILED || (l->up.is_told && l->down.is_told)) return false;
        if (up == BD_TUNNEL_AGAIN && down == BD_TUNNEL_AGAIN) return true;
    }
    l->is_due = true;
    return true;
}

// ---- Steps ----

static bool is_in_time(const bd_tunnel_link *l, braid_status *st)
{
    if (bd_now_ns() < l->deadline_ns) return true;
    bd_fail(st, BRAID_UNAVAILABLE,
            l->phase == CONNECTING ? "%s does not answer within %d s: is the address right, and its host up?"
                                   : "%s takes connections, but speaks no TLS within %d s",
            l->name, CONNECT_S);
    return false;
}

// Goes on to the next phase. DONE: it has.
static bd_tunnel_io advance(bd_tunnel_link *l, braid_status *st)
{
    const bd_tunnel_io io = l->phase == CONNECTING ? connect_step(l, st) : bd_tunnel_tls_shake(l->tls, st);
    if (io != BD_TUNNEL_DONE) return io;
    if (l->phase == CONNECTING) {
        bd_tunnel_tls_use(l->tls, l->server);
        l->phase = SHAKING;
    } else {
        l->phase = OPEN;
        l->deadline_ns = BD_FOREVER;
    }
    return BD_TUNNEL_DONE;
}

bool bd_tunnel_link_step(bd_tunnel_link *l, braid_status *st)
{
    l->is_due = false;
    while (l->phase != OPEN) { // ends: the phases are few
        const bd_tunnel_io io = advance(l, st);
        if (io == BD_TUNNEL_FAILED) return false;
        if (io == BD_TUNNEL_AGAIN) return is_in_time(l, st);
    }
    if (!l->is_watched && watch(l, l->client, st) == BD_TUNNEL_FAILED) return false;
    l->is_watched = true;
    return pass_step(l, st);
}
