// The life of a link, and the frames that arrive over it.
#include "base/alloc.h"
#include "base/log.h"
#include "cluster/transport/shm_internal.h"
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static void link_free(bd_shm_link *l)
{
    bd_peer_memory_remove(l->tensors);
    bd_shm_pipe_fini(&l->pipe);
    bd_imap_fini(&l->calls);
    bd_mutex_fini(&l->mu);
    close(l->socket);
    if (l->channel) bd_shm_channel_unref(l->channel);
    if (l->listener) bd_shm_leave_listener(l);
    bd_free(l);
}

void bd_shm_link_ref(bd_shm_link *l)
{
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
}

void bd_shm_link_unref(bd_shm_link *l)
{
    if (atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) == 1) link_free(l);
}

bd_shm_link *bd_shm_link_new(bd_shm *shm, int socket, bd_channel *channel, const bd_shm_secrets *secrets)
{
    bd_shm_link *l = bd_calloc(1, sizeof *l);
    l->shm = shm;
    l->socket = socket;
    l->channel = channel;
    if (secrets) l->secrets = *secrets;
    l->start_ns = bd_now_ns();
    atomic_init(&l->refs, 2); // the caller's, and that of the list
    atomic_init(&l->state, BD_SHM_HELLO);
    bd_mutex_init(&l->mu);
    bd_shm_pipe_init(&l->pipe);
    bd_mutex_lock(&shm->mu);
    l->number = ++shm->last_number;
    bd_array_push(&shm->links, l);
    bd_mutex_unlock(&shm->mu);
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = l->number};
    if (epoll_ctl(shm->poll, EPOLL_CTL_ADD, socket, &event) != 0) bd_shm_link_end(l, "it cannot be watched");
    return l;
}

bd_shm_link *bd_shm_link_find(bd_shm *shm, uint64_t number)
{
    bd_shm_link *found = NULL;
    bd_mutex_lock(&shm->mu);
    for (size_t i = 0; i < shm->links.len && !found; i++)
        if (shm->links.items[i]->number == number) found = shm->links.items[i];
    if (found) bd_shm_link_ref(found);
    bd_mutex_unlock(&shm->mu);
    return found;
}

static void leave_list(const bd_shm_link *l)
{
    bd_shm *shm = l->shm;
    bd_mutex_lock(&shm->mu);
    size_t i = 0;
    while (shm->links.items[i] != l)
        i++;
    shm->links.items[i] = shm->links.items[--shm->links.len];
    bd_mutex_unlock(&shm->mu);
}

void bd_shm_link_end(bd_shm_link *l, const char *why)
{
    if (atomic_exchange(&l->state, BD_SHM_ENDED) == BD_SHM_ENDED) return;
    leave_list(l);
    bd_shm_pipe_end(&l->pipe);
    epoll_ctl(l->shm->poll, EPOLL_CTL_DEL, l->socket, NULL);
    shutdown(l->socket, SHUT_RDWR);
    bd_shm_hold_end(l);
    if (l->channel) {
        bd_shm_channel_down(l->channel, l);
        bd_shm_calls_end(l, BRAID_UNAVAILABLE, why);
    } else {
        bd_shm_requests_lost(l);
    }
    bd_shm_link_unref(l);
}

void bd_shm_link_send(bd_shm_link *l, bd_shm_header *header, const char *head, bd_message *body)
{
    if (!bd_shm_pipe_send(&l->pipe, header, head, body))
        bd_shm_link_end(l, "it has broken the shared memory");
}

// ---- Frames that arrive ----

// What a frame is about. It is found while the pipe is locked, so that frames take effect in their order, and
// handled without the lock.
typedef struct subject {
    struct bd_shm_incoming *request, *cancelled;
    bd_call *answered;
    braid_status refusal; // of a request
} subject;

static const char *find_subject(bd_shm_link *l, bd_shm_frame *f, subject *s)
{
    if ((f->header.kind == BD_SHM_RESPONSE) != (l->channel != NULL)) return "a frame of the wrong direction";
    if (f->header.kind == BD_SHM_RESPONSE)
        s->answered = bd_shm_call_answered(l, f->header.id);
    else if (f->header.kind == BD_SHM_REQUEST)
        s->request = bd_shm_request(l, f, &s->refusal);
    else
        s->cancelled = bd_shm_request_cancelled(l, f->header.id);
    return NULL;
}

static bool serve_locked(bd_shm_link *l)
{
    const char *why = NULL;
    bd_shm_frame f = {0};
    subject s = {0};
    bd_message_init(&f.body);
    const bd_shm_arrival got = bd_shm_pipe_read(&l->pipe, &f, &why);
    if (got == BD_SHM_FRAME) why = find_subject(l, &f, &s);
    bd_mutex_unlock(&l->pipe.read_mu);
    if (why) bd_warn("A process of this host has sent what is no call over shared memory: %s", why);
    if (why) bd_shm_link_end(l, "it has broken the shared memory");
    if (s.refusal.code) bd_shm_refuse(l, f.header.id, &s.refusal);
    bd_status_fini(&s.refusal);
    if (s.request) bd_shm_request_handle(s.request);
    if (s.cancelled) bd_shm_request_end(s.cancelled);
    if (s.answered) bd_shm_call_end(s.answered, &f);
    bd_shm_frame_fini(&f);
    return got != BD_SHM_NOTHING && !why;
}

bool bd_shm_link_serve(bd_shm_link *l)
{
    if (!bd_shm_pipe_flush(&l->pipe)) bd_shm_link_end(l, "it has broken the shared memory");
    return !bd_shm_pipe_is_behind(&l->pipe) && bd_mutex_trylock(&l->pipe.read_mu) && serve_locked(l);
}

void bd_shm_link_drain(bd_shm_link *l)
{
    // As many frames as a ring holds: the other process may go on.
    for (size_t i = 0; i <= BD_SHM_RING_BYTES / sizeof(bd_shm_header); i++) {
        bd_mutex_lock(&l->pipe.read_mu);
        if (!serve_locked(l) || atomic_load(&l->state) != BD_SHM_UP) return;
    }
}
