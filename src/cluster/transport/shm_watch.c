// The thread that watches the sockets of links: it opens links, notices that the other process has ended,
// and runs the ends of calls that must not run on the thread that has caused them.
//
// Over the socket, the client sends its token, with the memory of its bell; the server sends its answer, with
// that of the rings and of its own bell. Both add the memory of their tensors, if they have it
// (tensor/shared_memory.h). After that nothing is sent: what arrives is the end.
#include "base/alloc.h"
#include "base/log.h"
#include "base/random.h"
#include "cluster/transport/shm_internal.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FDS_MAX 3
#define EVENTS_AT_ONCE 16
#define BACKLOG 64
#define LINKS_MAX 1000 // where connections have no limit
#define HELLO_MS 5000  // how long the other end may take to say what it should, and to hold the link
#define RETRY_MS 1000  // accepting, when there was no descriptor for a connection
// Events of the watcher's own, and numbers that no link has.
#define SOCKET_EVENT UINT64_MAX
#define WAKE_EVENT (UINT64_MAX - 1)

// What both ends send.
typedef struct hello {
    uint8_t secret[BD_SHM_TOKEN_BYTES];
    uint64_t tensors_base, tensors_bytes; // 0 bytes: it has no such memory
} hello;

static bool send_with(int socket, const void *bytes, size_t len, const int *fds, int count)
{
    char space[CMSG_SPACE(FDS_MAX * sizeof(int))] = {0};
    struct iovec part = {(void *)bytes, len};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = space,
                             .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    memcpy(CMSG_DATA(control), fds, (size_t)count * sizeof(int));
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)len;
}

static void close_all(const int *fds, int count)
{
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

// Adds the memory of tensors.
static bool send_hello(int socket, const uint8_t secret[BD_SHM_TOKEN_BYTES], int *fds, int count)
{
    hello h = {0};
    bd_shared_region tensors;
    memcpy(h.secret, secret, sizeof h.secret);
    if (bd_shared_memory_region(&tensors)) {
        h.tensors_base = tensors.base;
        h.tensors_bytes = tensors.bytes;
        fds[count++] = tensors.fd;
    }
    return send_with(socket, &h, sizeof h, fds, count);
}

// Receives a hello with `count` descriptors, and one more if it says so. Otherwise closes those that have
// come.
static bool receive_hello(int socket, hello *h, int fds[FDS_MAX], int count)
{
    const size_t len = sizeof *h;
    void *bytes = h;
    char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
    struct iovec part = {bytes, len};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0) return false;
    const struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    int came = 0;
    if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS)
        came = (int)bd_min((int64_t)((control->cmsg_len - CMSG_LEN(0)) / sizeof(int)), FDS_MAX);
    if (came) memcpy(fds, CMSG_DATA(control), (size_t)came * sizeof(int));
    if ((size_t)got == len && came == count + (h->tensors_bytes > 0) &&
        !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return true;
    close_all(fds, came);
    return false;
}

pid_t bd_shm_process_of(int socket)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid() ? peer.pid
                                                                                                  : 0;
}

// The memory of the other process's tensors, which comes with its last descriptor. In the same process it
// is there already.
static void map_tensors(bd_shm_link *l, const hello *h, int fd)
{
    const pid_t pid = l->secrets.process;
    const bd_shared_region region = {fd, h->tensors_base, h->tensors_bytes};
    if (h->tensors_bytes && pid != getpid()) l->tensors = bd_peer_memory_add(pid, &region);
}

// Returns the socket, at whose other end is that process; -1: none.
static int connect_to(const char *name, pid_t process)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, name, BD_SHM_NAME_BYTES); // no file: the name begins with a zero
    const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + BD_SHM_NAME_BYTES);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (connect(fd, (const struct sockaddr *)&address, len) == 0) {
        const pid_t other = bd_shm_process_of(fd);
        if (other && other == process) return fd;
    }
    close(fd);
    return -1;
}

void bd_shm_connect(bd_shm *shm, bd_channel *c, const char *name, const bd_shm_secrets *secrets)
{
    BD_STATUS(st);
    const int fd = bd_shm_begin(shm, st) ? -1 : connect_to(name, secrets->process);
    if (fd < 0) {
        bd_shm_channel_down(c, NULL);
        bd_shm_channel_unref(c);
        return;
    }
    bd_shm_link *l = bd_shm_link_new(shm, fd, c, secrets);
    bd_shm_wake_watcher(shm); // it is to look whether the server says something
    int fds[FDS_MAX] = {shm->bell_fd};
    if (!send_hello(fd, secrets->token, fds, 1)) bd_shm_link_end(l, "it takes no message");
    bd_shm_link_unref(l);
}

// Both mappings, or none.
static void *map_both(const int fds[2], bd_shm_bell **bell, braid_status *st)
{
    bd_shm_segment *segment = bd_shm_map(fds[0], sizeof *segment, st);
    *bell = segment ? bd_shm_map(fds[1], sizeof **bell, st) : NULL;
    if (segment && *bell) return segment;
    bd_shm_unmap(segment, sizeof *segment);
    return NULL;
}

static bool be_welcomed(bd_shm_link *l)
{
    hello h;
    int fds[FDS_MAX];
    if (!receive_hello(l->socket, &h, fds, 2)) return false;
    BD_STATUS(st);
    bd_shm_bell *bell;
    const bool is_the_server = memcmp(h.secret, l->secrets.answer, sizeof h.secret) == 0;
    bd_shm_segment *segment = is_the_server ? map_both(fds, &bell, st) : NULL;
    if (segment) bd_shm_pipe_open(&l->pipe, segment, bell, false);
    if (segment) map_tensors(l, &h, fds[2]);
    close_all(fds, 2 + (h.tensors_bytes > 0));
    return segment != NULL;
}

static bool welcome_guest(bd_shm_link *l)
{
    hello h;
    int guest_fds[FDS_MAX], fds[FDS_MAX];
    if (!receive_hello(l->socket, &h, guest_fds, 1)) return false;
    BD_STATUS(st);
    bd_shm_segment *segment = NULL;
    bd_shm_bell *bell = bd_shm_admit_guest(l, h.secret) ? bd_shm_map(guest_fds[0], sizeof *bell, st) : NULL;
    if (bell) segment = bd_shm_create(sizeof *segment, &fds[0], st);
    if (segment) map_tensors(l, &h, guest_fds[1]);
    close_all(guest_fds, 1 + (h.tensors_bytes > 0));
    if (!segment) {
        bd_shm_unmap(bell, sizeof *bell);
        return false;
    }
    bd_shm_pipe_open(&l->pipe, segment, bell, true);
    fds[1] = l->shm->bell_fd;
    const bool is_sent = send_hello(l->socket, l->secrets.answer, fds, 2);
    close(fds[0]);
    return is_sent;
}

// There are as many links as connections at most.
static bool has_room(bd_shm *shm)
{
    const int max = shm->limits.connections ? shm->limits.connections : LINKS_MAX;
    bd_mutex_lock(&shm->mu);
    const bool has_room = shm->links.len < (size_t)max;
    bd_mutex_unlock(&shm->mu);
    return has_room;
}

static void watch_socket(bd_shm *shm, bool is_watched)
{
    struct epoll_event event = {.events = is_watched ? EPOLLIN : 0, .data.u64 = SOCKET_EVENT};
    epoll_ctl(shm->poll, EPOLL_CTL_MOD, shm->socket, &event);
    shm->accepts_later = !is_watched;
}

static void accept_all(bd_shm *shm)
{
    for (;;) {
        const int fd = accept4(shm->socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            // Without descriptors it would be called again at once.
            if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) watch_socket(shm, false);
            return;
        }
        if (bd_shm_process_of(fd) && has_room(shm))
            bd_shm_link_unref(bd_shm_link_new(shm, fd, NULL, NULL));
        else
            close(fd);
    }
}

braid_code bd_shm_open_socket_locked(bd_shm *shm, braid_status *st)
{
    if (shm->socket >= 0) return BRAID_OK;
    snprintf(shm->name, sizeof shm->name, "%016llx%016llx", (unsigned long long)bd_random_u64(),
             (unsigned long long)bd_random_u64());
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, shm->name, BD_SHM_NAME_BYTES);
    const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + BD_SHM_NAME_BYTES);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = SOCKET_EVENT};
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    shm->socket = fd; // before the watcher hears of it
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, len) == 0 && listen(fd, BACKLOG) == 0 &&
        epoll_ctl(shm->poll, EPOLL_CTL_ADD, fd, &event) == 0)
        return BRAID_OK;
    bd_fail(st, BRAID_UNAVAILABLE, "Cannot open a socket for shared memory: %s", strerror(errno));
    if (fd >= 0) close(fd);
    shm->socket = -1;
    return st->code;
}

void bd_shm_wake_watcher(const bd_shm *shm)
{
    const uint64_t one = 1;
    ssize_t written = write(shm->wake, &one, sizeof one);
    (void)written; // it fails only when it is awake
}

static void look_at_link(bd_shm *shm, uint64_t number)
{
    bd_shm_link *l = bd_shm_link_find(shm, number);
    if (!l) return;
    int state = atomic_load(&l->state);
    if (state == BD_SHM_HELLO) l->start_ns = bd_now_ns(); // of the next state
    if (state == BD_SHM_HELLO && (l->channel ? be_welcomed(l) : welcome_guest(l)) &&
        atomic_compare_exchange_strong(&l->state, &state, BD_SHM_UP)) {
        if (l->channel) bd_shm_channel_up(l->channel, l);
        bd_shm_ring_bell(shm->bell); // a frame may have come already
    } else {
        if (state == BD_SHM_UP) bd_shm_link_drain(l); // what it sent before
        bd_shm_link_end(l, "the other process has ended");
        bd_shm_wake_all(shm->bell); // it may have been about to ring it
    }
    bd_shm_link_unref(l);
}

// Whether the other end of a link has something to do: to say hello, or to hold the link.
static bool is_awaited(bd_shm_link *l)
{
    return atomic_load(&l->state) == BD_SHM_HELLO || (!l->channel && !atomic_load(&l->is_held));
}

// A link whose other end has been awaited since before `before_ns`, with a reference; NULL: there is none.
// Stores whether any link is in that state.
static bd_shm_link *find_silent(bd_shm *shm, int64_t before_ns, bool *any)
{
    bd_shm_link *found = NULL;
    *any = false;
    bd_mutex_lock(&shm->mu);
    for (size_t i = 0; i < shm->links.len && !found; i++) {
        bd_shm_link *l = shm->links.items[i];
        if (!is_awaited(l)) continue;
        if (l->start_ns < before_ns) found = l;
        *any = true;
    }
    if (found) bd_shm_link_ref(found);
    bd_mutex_unlock(&shm->mu);
    return found;
}

// Ends links whose other end says nothing. Returns when to look again (-1: when something happens).
static int end_silent_links(bd_shm *shm)
{
    bool any;
    const int64_t before_ns = bd_now_ns() - HELLO_MS * INT64_C(1000000);
    for (bd_shm_link *l = find_silent(shm, before_ns, &any); l; l = find_silent(shm, before_ns, &any)) {
        bd_shm_link_end(l, "it says nothing, or does not hold the link");
        bd_shm_link_unref(l);
    }
    return any ? HELLO_MS : -1;
}

static void watch(void *arg)
{
    bd_shm *shm = arg;
    struct epoll_event events[EVENTS_AT_ONCE];
    while (!atomic_load(&shm->is_ending)) {
        const int wait_ms = end_silent_links(shm);
        const int count =
            epoll_wait(shm->poll, events, EVENTS_AT_ONCE, shm->accepts_later ? RETRY_MS : wait_ms);
        if (shm->accepts_later && count == 0) watch_socket(shm, true);
        for (int i = 0; i < count; i++) {
            uint64_t woken;
            if (events[i].data.u64 == SOCKET_EVENT)
                accept_all(shm);
            else if (events[i].data.u64 != WAKE_EVENT)
                look_at_link(shm, events[i].data.u64);
            else if (read(shm->wake, &woken, sizeof woken) > 0)
                bd_shm_run_ended_calls(shm);
        }
    }
    bd_shm_run_ended_calls(shm);
}

braid_code bd_shm_watch_start(bd_shm *shm, braid_status *st)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = WAKE_EVENT};
    shm->poll = epoll_create1(EPOLL_CLOEXEC);
    shm->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (shm->poll < 0 || shm->wake < 0 || epoll_ctl(shm->poll, EPOLL_CTL_ADD, shm->wake, &event) != 0)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "Cannot watch shared memory: %s", strerror(errno));
    return bd_thread_start(&shm->watcher, "bd-shm-watch", watch, shm, st);
}
