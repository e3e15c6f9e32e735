// Frames through the rings of a link: see shm_pipe.h.
#include "cluster/transport/shm_pipe.h"
#include "base/alloc.h"
#include "base/slab.h"
#include "base/tsan.h"
#include "tensor/buffer.h"
#include <string.h>

// One thread writes no more than this at once while others may want to send, and the reader reads.
#define FLUSH_BYTES (4 * BD_SHM_RING_BYTES)

// A frame that waits for space.
typedef struct bd_shm_waiting {
    struct bd_shm_waiting *next;
    bd_message message; // the header and the head are its first slice
    size_t slice, at;   // what is to be written next
} waiting;

// Both ends of a link may be of one process, as in tests. ThreadSanitizer does not see that the two mappings
// of the ring are one memory.
static char order;

void bd_shm_frame_fini(bd_shm_frame *f)
{
    bd_slab_free(f->head);
    f->head = NULL;
    bd_message_fini(&f->body);
}

void bd_shm_pipe_init(bd_shm_pipe *p)
{
    *p = (bd_shm_pipe){.body_bytes_max = SIZE_MAX, .waiting_bytes_max = SIZE_MAX};
    p->last = &p->first;
    bd_message_init(&p->arriving.body);
    bd_mutex_init(&p->send_mu);
    bd_mutex_init(&p->read_mu);
    bd_cond_init(&p->changed);
}

static void waiting_free(waiting *w)
{
    bd_message_fini(&w->message);
    bd_slab_free(w);
}

static void waiting_free_all(waiting *first)
{
    while (first) {
        waiting *w = first;
        first = w->next;
        waiting_free(w);
    }
}

void bd_shm_pipe_fini(bd_shm_pipe *p)
{
    waiting_free_all(p->first);
    bd_shm_frame_fini(&p->arriving);
    if (!p->pooled) bd_slab_free(p->body);
    bd_buffer_unref(p->pooled);
    bd_shm_unmap(p->segment, sizeof *p->segment);
    bd_shm_unmap(p->bell, sizeof *p->bell);
    bd_cond_fini(&p->changed);
    bd_mutex_fini(&p->send_mu);
    bd_mutex_fini(&p->read_mu);
}

void bd_shm_pipe_open(bd_shm_pipe *p, bd_shm_segment *segment, bd_shm_bell *bell, bool is_server)
{
    p->segment = segment;
    p->bell = bell;
    p->in.ring = is_server ? &segment->requests : &segment->responses;
    p->out.ring = is_server ? &segment->responses : &segment->requests;
    atomic_store(&p->ready_at, sizeof(bd_shm_header));
}

// ---- Sending ----

// Writes what has space. Returns whether all of it is written.
static bool write_waiting(bd_shm_end *out, size_t *space, waiting *w)
{
    for (; w->slice < w->message.slice_count; w->slice++, w->at = 0) {
        const bd_slice *slice = &w->message.slices[w->slice];
        const size_t len = (size_t)bd_min((int64_t)(slice->len - w->at), (int64_t)*space);
        bd_shm_write(out, slice->data + w->at, len);
        *space -= len;
        w->at += len;
        if (w->at < slice->len) return false;
    }
    return true;
}

// Frames that are written are moved to *written, to be freed without the lock. When some still wait, space
// that the reader makes wakes this process: it will, since the ring is not empty. False: the ring is broken.
static bool flush_locked(bd_shm_pipe *p, waiting **written)
{
    waiting **last = written;
    const uint64_t start = p->out.at;
    // Before wants_space: a thread that sees that the reader has made space must also see that frames wait.
    if (p->first) atomic_store(&p->has_waiting, true);
    while (p->first) {
        size_t space;
        atomic_store(&p->out.ring->wants_space, 1);
        bd_fence(); // before the look for space
        if (!bd_shm_space(&p->out, &space)) return false;
        if (space == 0 || (p->out.at - start >= FLUSH_BYTES && space < BD_SHM_RING_BYTES)) break;
        while (p->first && write_waiting(&p->out, &space, p->first)) {
            waiting *w = p->first;
            p->first = w->next;
            w->next = NULL;
            *last = w;
            last = &w->next;
        }
        bd_shm_publish(&p->out);
    }
    p->waiting_bytes -= bd_min((int64_t)p->waiting_bytes, (int64_t)(p->out.at - start));
    if (!p->first) {
        p->last = &p->first;
        p->waiting_bytes = 0;
        atomic_store(&p->out.ring->wants_space, 0);
        atomic_store(&p->has_waiting, false);
        bd_cond_broadcast(&p->changed);
    }
    atomic_store_explicit(&p->is_behind, p->waiting_bytes > p->waiting_bytes_max, memory_order_relaxed);
    return true;
}

bool bd_shm_pipe_flush(bd_shm_pipe *p)
{
    if (!atomic_load_explicit(&p->has_waiting, memory_order_relaxed)) return true;
    waiting *written = NULL;
    bd_mutex_lock(&p->send_mu);
    const bool is_sound = flush_locked(p, &written);
    bd_mutex_unlock(&p->send_mu);
    bd_shm_ring_bell(p->bell);
    waiting_free_all(written);
    return is_sound;
}

static waiting *waiting_new(const bd_shm_header *header, const char *head, bd_message *body)
{
    waiting *w = bd_slab_alloc_raw(sizeof *w);
    *w = (waiting){0};
    bd_message_init(&w->message);
    bd_message_add_copy(&w->message, header, sizeof *header);
    if (header->head_bytes) bd_message_add_copy(&w->message, head, header->head_bytes);
    if (!body) return w;
    for (size_t i = 0; i < body->slice_count; i++) {
        bd_message_add(&w->message, body->slices[i]);
        body->slices[i].release = NULL;
    }
    return w;
}

bool bd_shm_pipe_send(bd_shm_pipe *p, bd_shm_header *header, const char *head, bd_message *body)
{
    header->body_bytes = body ? body->bytes : 0;
    const size_t bytes = sizeof *header + header->head_bytes + header->body_bytes;
    waiting *written = NULL;
    bool is_sound = true;
    size_t space;
    bd_tsan_release(&order);
    bd_mutex_lock(&p->send_mu);
    if (p->is_over) {
        // It is dropped.
    } else if (!p->first && bd_shm_space(&p->out, &space) && bytes <= space) {
        bd_shm_write(&p->out, header, sizeof *header);
        bd_shm_write(&p->out, head, header->head_bytes);
        for (size_t i = 0; body && i < body->slice_count; i++)
            bd_shm_write(&p->out, body->slices[i].data, body->slices[i].len);
        bd_shm_publish(&p->out);
    } else {
        waiting *w = waiting_new(header, head, body);
        *p->last = w;
        p->last = &w->next;
        p->waiting_bytes += bytes;
        is_sound = flush_locked(p, &written);
    }
    bd_mutex_unlock(&p->send_mu);
    bd_shm_ring_bell(p->bell);
    waiting_free_all(written);
    if (body) bd_message_fini(body);
    return is_sound;
}

void bd_shm_pipe_await_sent(bd_shm_pipe *p, int64_t deadline_ns)
{
    bool late = false;
    bd_mutex_lock(&p->send_mu);
    while (p->first && !p->is_over && !late) // ends with the link, too
        late = bd_cond_wait_until(&p->changed, &p->send_mu, deadline_ns);
    bd_mutex_unlock(&p->send_mu);
}

void bd_shm_pipe_end(bd_shm_pipe *p)
{
    bd_mutex_lock(&p->send_mu);
    p->is_over = true;
    bd_cond_broadcast(&p->changed);
    bd_mutex_unlock(&p->send_mu);
}

// ---- Reading ----

bool bd_shm_pipe_is_behind(const bd_shm_pipe *p)
{
    return atomic_load_explicit(&p->is_behind, memory_order_relaxed);
}

bool bd_shm_pipe_is_ready(const bd_shm_pipe *p)
{
    const uint64_t written = atomic_load_explicit(&p->in.ring->written, memory_order_relaxed);
    const bool may_read = !bd_shm_pipe_is_behind(p);
    if (may_read && (int64_t)(written - atomic_load_explicit(&p->ready_at, memory_order_relaxed)) >= 0)
        return true;
    return atomic_load_explicit(&p->has_waiting, memory_order_relaxed) &&
           !atomic_load_explicit(&p->out.ring->wants_space, memory_order_relaxed);
}

static const char *check_header(const bd_shm_pipe *p, const bd_shm_header *h)
{
    if (h->kind < BD_SHM_REQUEST || h->kind > BD_SHM_RESPONSE) return "a frame of no known kind";
    if (h->head_bytes > BD_SHM_HEAD_BYTES_MAX) return "a frame with a text that is too long";
    if (h->body_bytes > p->body_bytes_max) return "a message that is too large";
    return NULL;
}

// Memory of the pool, which the next message uses again, as long as tensors may have more.
static bool new_body(bd_shm_pipe *p, size_t bytes)
{
    p->pooled = bytes > BD_SLAB_SIZE_MAX ? bd_buffer_new(bytes) : NULL;
    p->body = p->pooled ? p->pooled->data : bd_slab_try_alloc(bytes);
    return p->body != NULL;
}

static void release_pooled(void *buffer)
{
    bd_buffer_unref(buffer);
}

// Reads a piece of the frame's fixed parts. False: it has not arrived as a whole, or is not valid.
static bool read_start(bd_shm_pipe *p, size_t *there, const char **why)
{
    bd_shm_frame *f = &p->arriving;
    if (!p->has_header) {
        if (*there < sizeof f->header) return false;
        bd_shm_read(&p->in, &f->header, sizeof f->header);
        *there -= sizeof f->header;
        *why = check_header(p, &f->header);
        p->has_header = !*why;
        if (*why) return false;
    }
    if (!p->has_head) {
        if (*there < f->header.head_bytes) return false;
        f->head = bd_slab_alloc_raw(f->header.head_bytes + 1);
        bd_shm_read(&p->in, f->head, f->header.head_bytes);
        f->head[f->header.head_bytes] = 0;
        *there -= f->header.head_bytes;
        p->has_head = true;
        p->body_read = 0;
        if (f->header.body_bytes && !new_body(p, f->header.body_bytes))
            *why = "a message for which there is no memory";
    }
    return !*why;
}

static bool read_body(bd_shm_pipe *p, size_t there)
{
    const size_t bytes = p->arriving.header.body_bytes;
    if (bytes == 0) return true; // it has no memory
    const size_t left = bytes - p->body_read, len = left < there ? left : there;
    bd_shm_read(&p->in, p->body + p->body_read, len);
    p->body_read += len;
    return p->body_read == bytes;
}

static void take_frame(bd_shm_pipe *p, bd_shm_frame *out)
{
    bd_shm_frame *f = &p->arriving;
    out->header = f->header;
    out->head = f->head;
    bd_slice body = {p->body, f->header.body_bytes, bd_slab_free, p->body};
    if (p->pooled) body.release = release_pooled, body.owner = p->pooled;
    if (p->body) bd_message_add(&out->body, body);
    f->head = NULL;
    p->body = NULL;
    p->pooled = NULL;
    p->has_header = p->has_head = false;
}

// How many bytes the next step needs.
static size_t needed(const bd_shm_pipe *p)
{
    if (!p->has_header) return sizeof p->arriving.header;
    return p->has_head ? 1 : p->arriving.header.head_bytes;
}

bd_shm_arrival bd_shm_pipe_read(bd_shm_pipe *p, bd_shm_frame *out, const char **why)
{
    size_t there;
    const uint64_t before = p->in.at;
    *why = NULL;
    if (p->is_broken) return BD_SHM_NOTHING; // another thread has found that
    if (!bd_shm_available(&p->in, &there)) *why = "a position outside of the ring";
    const bool is_whole = !*why && read_start(p, &there, why) && read_body(p, there);
    p->is_broken = *why != NULL;
    if (p->is_broken) return BD_SHM_BROKEN;
    if (p->in.at != before && bd_shm_release(&p->in)) bd_shm_ring_bell(p->bell);
    if (is_whole) take_frame(p, out);
    bd_tsan_acquire(&order);
    atomic_store_explicit(&p->ready_at, p->in.at + needed(p), memory_order_relaxed);
    return is_whole ? BD_SHM_FRAME : p->in.at != before ? BD_SHM_MORE : BD_SHM_NOTHING;
}
