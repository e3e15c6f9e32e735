// The sender of tensors in chunks: stores a tensor until its receiver has fetched all chunks.
//
// A tensor leaves the store with the last of its chunks, with its step, or when no chunk was fetched for
// HELD_NS: its receiver is then gone. A chunk may be fetched again (the network may repeat a request); it
// counts once.
#include "base/alloc.h"
#include "base/map.h"
#include "base/random.h"
#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/rpc/tensor_chunks.h"
#include "cluster/rpc/wire_fields.h"
#include "proto/pack.h"
#include "tensor/shared_memory.h"

// Large in comparison with the cost of a message, small in comparison with the caches.
#define PART_BYTES ((size_t)1 << 20)
// By MPI, or read by the kernel: smaller tensors take less time within a message than the call that this
// needs besides. Memory that both processes have mapped pays as soon as tensors lie in it.
#define DIRECT_MIN ((size_t)256 << 10)
#define HELD_NS ((int64_t)60000000000)

typedef struct held {
    uint64_t id;
    _Atomic uint64_t
        *shown_id; // a shared cell: 0 once the tensor may be freed; its receiver may be reading it
    int64_t step_id;
    const bd_peer *to; // not owned; NULL: not known
    braid_tensor tensor;
    size_t chunks, fetched;
    int64_t used_ns;
    struct held *prev, *next; // in order of use, the one used last at the end
    bool is_fetched[];        // [chunks]
} held;

struct bd_chunk_store {
    bd_timers *timers; // not owned
    size_t bytes_max;
    bd_mutex mu;
    size_t bytes;       // of the tensors held; guarded by mu
    bd_imap by_id;      // guarded by mu
    held *first, *last; // guarded by mu
    bd_timer_id timer;  // guarded by mu; also while it runs; 0: none
    bool is_closed;     // guarded by mu
};

static size_t chunk_count(const braid_tensor *t)
{
    return (bd_tensor_bytes(t) + PART_BYTES - 1) / PART_BYTES;
}

// ---- The table ----

static void append_locked(bd_chunk_store *h, held *e)
{
    e->used_ns = bd_now_ns();
    e->prev = h->last;
    e->next = NULL;
    *(h->last ? &h->last->next : &h->first) = e;
    h->last = e;
}

static void take_off_locked(bd_chunk_store *h, held *e)
{
    *(e->prev ? &e->prev->next : &h->first) = e->next;
    *(e->next ? &e->next->prev : &h->last) = e->prev;
}

static held *take_out_locked(bd_chunk_store *h, held *e)
{
    take_off_locked(h, e);
    bd_imap_remove(&h->by_id, e->id);
    h->bytes -= bd_tensor_bytes(&e->tensor);
    atomic_store(e->shown_id, 0);
    return e;
}

static void held_free(held *e)
{
    if (!e) return;
    bd_tensor_fini(&e->tensor);
    bd_shared_cell_free(e->shown_id);
    bd_free(e);
}

static void drop_unused(void *arg);

static void arm_timer_locked(bd_chunk_store *h)
{
    if (h->timer || !h->first || h->is_closed) return;
    h->timer = bd_timer_add(h->timers, h->first->used_ns + HELD_NS, drop_unused, h);
}

static void drop_unused(void *arg)
{
    bd_chunk_store *h = arg;
    for (;;) {
        held *e = NULL;
        bd_mutex_lock(&h->mu);
        if (h->first && h->first->used_ns + HELD_NS <= bd_now_ns()) {
            e = take_out_locked(h, h->first);
        } else {
            h->timer = 0;
            arm_timer_locked(h);
        }
        bd_mutex_unlock(&h->mu);
        if (!e) return;
        held_free(e);
    }
}

bd_chunk_store *bd_chunk_store_new(bd_timers *timers, size_t bytes_max)
{
    bd_chunk_store *h = bd_calloc(1, sizeof *h);
    h->timers = timers;
    h->bytes_max = bytes_max;
    bd_mutex_init(&h->mu);
    return h;
}

void bd_chunk_store_free(bd_chunk_store *h)
{
    if (!h) return;
    bd_mutex_lock(&h->mu);
    h->is_closed = true;
    const bd_timer_id timer = h->timer;
    bd_mutex_unlock(&h->mu);
    if (timer) bd_timer_cancel_wait(h->timers, timer);
    while (h->first)
        held_free(take_out_locked(h, h->first));
    bd_imap_fini(&h->by_id);
    bd_mutex_fini(&h->mu);
    bd_free(h);
}

// ---- Chunks ----

static bool is_large(const braid_tensor *t)
{
    return bd_tensor_bytes(t) > 2 * PART_BYTES;
}

static bool is_read(const bd_peer *to)
{
    return to && bd_cross_memory_is_accepted(to->memory);
}

static bool is_by_mpi(const bd_peer *to)
{
    return to && bd_mpi_size(to->mpi) > 0;
}

bool bd_tensor_is_read(const braid_tensor *t, const bd_peer *to)
{
    if (braid_dtype_size(t->dtype) == 0 || !is_read(to)) return false;
    const size_t bytes = bd_tensor_bytes(t);
    return bytes >= DIRECT_MIN || (bytes >= BD_SHARED_MEMORY_MIN && bd_shared_memory_has(t->data));
}

bool bd_tensor_is_chunked(const braid_tensor *t, const bd_peer *to)
{
    if (braid_dtype_size(t->dtype) == 0) return false;
    return is_large(t) || bd_tensor_is_read(t, to) || (is_by_mpi(to) && bd_tensor_bytes(t) >= DIRECT_MIN);
}

static void unref_buffer(void *owner)
{
    bd_buffer_unref(owner);
}

// The chunk refers to the tensor's memory.
static bd_slice chunk_of(const braid_tensor *t, size_t chunk)
{
    const size_t from = chunk * PART_BYTES, left = bd_tensor_bytes(t) - from;
    return (bd_slice){.data = (const uint8_t *)t->data + from,
                      .len = left < PART_BYTES ? left : PART_BYTES,
                      .release = unref_buffer,
                      .owner = bd_buffer_ref(t->buffer)};
}

// Returns false when there is no room for it.
static bool hold_locked(bd_chunk_store *h, held *e)
{
    const size_t bytes = bd_tensor_bytes(&e->tensor);
    if (h->bytes && (h->bytes >= h->bytes_max || bytes > h->bytes_max - h->bytes)) return false;
    h->bytes += bytes;
    bd_imap_put(&h->by_id, e->id, e);
    append_locked(h, e);
    arm_timer_locked(h);
    return true;
}

// Describes it in `chunks`. Returns false when the store is full.
static bool hold(bd_chunk_store *h, int64_t step_id, const braid_tensor *t, const bd_peer *to,
                 Braid__TensorChunks *chunks)
{
    const size_t count = chunk_count(t);
    held *e = bd_calloc(1, sizeof *e + count * sizeof *e->is_fetched);
    chunks->id = bd_random_u64() | 1; // 0 means none
    e->id = chunks->id;
    e->shown_id = bd_shared_cell_new();
    atomic_store(e->shown_id, e->id);
    e->step_id = step_id;
    e->to = to;
    bd_tensor_ref(&e->tensor, t);
    e->chunks = count;
    e->is_fetched[0] = !chunks->memory && !chunks->mpi_rank; // it is sent with the description
    e->fetched = e->is_fetched[0];
    if (chunks->memory) bd_cross_memory_describe(to->memory, e->shown_id, t->data, chunks->memory);
    bd_mutex_lock(&h->mu);
    const bool is_held = hold_locked(h, e);
    bd_mutex_unlock(&h->mu);
    if (!is_held) held_free(e);
    return is_held;
}

static void put_first_chunk(const braid_tensor *t, bd_wire_writer *out)
{
    const bd_slice first = chunk_of(t, 0);
    bd_wire_put_tag(out, BD_RECV_FIRST_CHUNK, BD_WIRE_BYTES);
    bd_wire_put_varint(out, first.len);
    bd_wire_put_ref(out, first);
}

uint64_t bd_chunk_store_put(bd_chunk_store *h, int64_t step_id, const braid_tensor *t, const bd_peer *to,
                            bd_wire_writer *out)
{
    Braid__TensorChunks chunks = BRAID__TENSOR_CHUNKS__INIT;
    Braid__TensorMemory memory = BRAID__TENSOR_MEMORY__INIT;
    if (is_read(to)) chunks.memory = &memory;
    if (is_by_mpi(to)) chunks.mpi_rank = (uint32_t)bd_mpi_rank(to->mpi) + 1;
    const bool has_first = !chunks.memory && !chunks.mpi_rank;
    if (has_first && !is_large(t)) return 0; // the receiver has withdrawn its offer
    if (!hold(h, step_id, t, to, &chunks)) return 0;
    chunks.dtype = (int32_t)t->dtype;
    chunks.dim = (int64_t *)t->shape.dims;
    chunks.n_dim = (size_t)t->shape.rank;
    chunks.chunk_bytes = PART_BYTES;
    bd_proto_put(&chunks.base, BD_RECV_CHUNKS, out);
    if (has_first) put_first_chunk(t, out);
    return chunks.id;
}

void bd_chunk_store_forget(bd_chunk_store *h, uint64_t id)
{
    if (!id) return;
    bd_mutex_lock(&h->mu);
    held *e = bd_imap_get(&h->by_id, id);
    if (e) take_out_locked(h, e);
    bd_mutex_unlock(&h->mu);
    held_free(e);
}

bool bd_chunk_store_take(bd_chunk_store *h, uint64_t id, braid_tensor *out)
{
    bd_mutex_lock(&h->mu);
    held *e = id ? bd_imap_get(&h->by_id, id) : NULL;
    if (e) take_out_locked(h, e);
    bd_mutex_unlock(&h->mu);
    if (e) bd_tensor_move(out, &e->tensor);
    held_free(e);
    return e != NULL;
}

static held *take_of_step_locked(bd_chunk_store *h, int64_t step_id)
{
    held *e = h->first;
    while (e && e->step_id != step_id)
        e = e->next;
    return e ? take_out_locked(h, e) : NULL;
}

void bd_chunk_store_drop(bd_chunk_store *h, int64_t step_id)
{
    held *e;
    do {
        bd_mutex_lock(&h->mu);
        e = take_of_step_locked(h, step_id);
        bd_mutex_unlock(&h->mu);
        held_free(e);
    } while (e);
}

// Finds the entry and counts this use. *over is an argument for held_free.
static held *use_locked(bd_chunk_store *h, uint64_t id, uint64_t chunk, held **over, braid_status *st)
{
    held *e = bd_imap_get(&h->by_id, id);
    if (!e) {
        bd_fail(st, BRAID_ABORTED, "RecvChunk: the tensor is not held any more");
        return NULL;
    }
    if (chunk >= e->chunks) {
        bd_fail(st, BRAID_OUT_OF_RANGE, "RecvChunk: chunk %llu of a tensor of %zu chunks",
                (unsigned long long)chunk, e->chunks);
        return NULL;
    }
    if (!e->is_fetched[chunk]) e->fetched++;
    e->is_fetched[chunk] = true;
    if (e->fetched == e->chunks) {
        *over = take_out_locked(h, e);
    } else {
        take_off_locked(h, e);
        append_locked(h, e);
    }
    return e;
}

braid_code bd_chunk_store_get(bd_chunk_store *h, const Braid__RecvChunkRequest *request, bd_message *out,
                              braid_status *st)
{
    held *over = NULL;
    bd_mutex_lock(&h->mu);
    held *e = use_locked(h, request->id, request->chunk, &over, st);
    if (e) bd_message_add(out, chunk_of(&e->tensor, (size_t)request->chunk));
    if (e && e->to) bd_cross_memory_accept(e->to->memory, request->offer.data, request->offer.len);
    bd_mutex_unlock(&h->mu);
    held_free(over);
    return st->code;
}
