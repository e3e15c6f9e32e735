// The thread that watches the sockets of links: it opens links, notices that the other process has ended, and
// runs the ends of calls that must not run on the thread that has caused them.
//
// Over the socket, the client sends its token, with the memory of its bell; the server answers with that of
// the rings and of its own bell. After that nothing is sent: what arrives is the end.
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

#define FDS_MAX 2
#define EVENTS_AT_ONCE 16
#define BACKLOG 64
// Events of the watcher's own, and numbers that no link has.
#define SOCKET_EVENT UINT64_MAX
#define WAKE_EVENT (UINT64_MAX - 1)

static const uint8_t welcome[] = "braid shared memory 1";

// ---- Messages with descriptors ----

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

// Receives a message of `len` bytes with `count` descriptors. Otherwise closes those that have come.
static bool receive_with(int socket, void *bytes, size_t len, int *fds, int count)
{
    char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
    struct iovec part = {bytes, len};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0) return false;
    const struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    int came = 0, all[FDS_MAX];
    if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS)
        came = (int)((control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    came = (int)bd_min(came, FDS_MAX);
    if (came) memcpy(all, CMSG_DATA(control), (size_t)came * sizeof(int));
    if ((size_t)got == len && came == count && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
        memcpy(fds, all, (size_t)count * sizeof(int));
        return true;
    }
    for (int i = 0; i < came; i++)
        close(all[i]);
    return false;
}

// Whether the process at the other end is of this process's user.
static bool is_of_this_user(int socket)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

// ---- The client's end ----

static int connect_to(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, name, BD_SHM_NAME_BYTES); // no file: the name begins with a zero
    const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + BD_SHM_NAME_BYTES);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (connect(fd, (const struct sockaddr *)&address, len) == 0 && is_of_this_user(fd)) return fd;
    close(fd);
    return -1;
}

void bd_shm_connect(bd_shm *shm, bd_channel *c, const char *name, const uint8_t token[BD_SHM_TOKEN_BYTES])
{
    BD_STATUS(st);
    const int fd = bd_shm_begin(shm, st) ? -1 : connect_to(name);
    if (fd < 0) {
        bd_shm_channel_down(c, NULL);
        bd_shm_channel_unref(c);
        return;
    }
    bd_shm_link *l = bd_shm_link_new(shm, fd, c);
    if (!send_with(fd, token, BD_SHM_TOKEN_BYTES, &shm->bell_fd, 1))
        bd_shm_link_end(l, "it takes no message");
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
    uint8_t got[sizeof welcome];
    int fds[2];
    if (!receive_with(l->socket, got, sizeof got, fds, 2)) return false;
    BD_STATUS(st);
    bd_shm_bell *bell;
    bd_shm_segment *segment = memcmp(got, welcome, sizeof welcome) == 0 ? map_both(fds, &bell, st) : NULL;
    close(fds[0]);
    close(fds[1]);
    if (!segment) return false;
    bd_shm_pipe_open(&l->pipe, segment, bell, false);
    return true;
}

// ---- The server's end ----

static bool welcome_guest(bd_shm_link *l)
{
    uint8_t token[BD_SHM_TOKEN_BYTES];
    int bell_fd, fds[2];
    if (!receive_with(l->socket, token, sizeof token, &bell_fd, 1)) return false;
    BD_STATUS(st);
    bd_shm_segment *segment = NULL;
    bd_shm_bell *bell = bd_shm_admit_guest(l, token) ? bd_shm_map(bell_fd, sizeof *bell, st) : NULL;
    if (bell) segment = bd_shm_create(sizeof *segment, &fds[0], st);
    close(bell_fd);
    if (!segment) {
        bd_shm_unmap(bell, sizeof *bell);
        return false;
    }
    bd_shm_pipe_open(&l->pipe, segment, bell, true);
    fds[1] = l->shm->bell_fd;
    const bool is_sent = send_with(l->socket, welcome, sizeof welcome, fds, 2);
    close(fds[0]);
    return is_sent;
}

static void accept_all(bd_shm *shm)
{
    for (;;) {
        const int fd = accept4(shm->socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        if (is_of_this_user(fd))
            bd_shm_link_unref(bd_shm_link_new(shm, fd, NULL));
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

// ---- The thread ----

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
    if (state == BD_SHM_HELLO && (l->channel ? be_welcomed(l) : welcome_guest(l)) &&
        atomic_compare_exchange_strong(&l->state, &state, BD_SHM_UP)) {
        if (l->channel) bd_shm_channel_up(l->channel, l);
        bd_shm_ring_bell(shm->bell); // a frame may have come already
    } else {
        if (state == BD_SHM_UP) bd_shm_link_drain(l); // what it sent before
        bd_shm_link_end(l, "the other process has ended");
    }
    bd_shm_link_unref(l);
}

static void watch(void *arg)
{
    bd_shm *shm = arg;
    struct epoll_event events[EVENTS_AT_ONCE];
    while (!atomic_load(&shm->is_ending)) {
        const int count = epoll_wait(shm->poll, events, EVENTS_AT_ONCE, -1);
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
