// The receiver's side of tensors in chunks: reading from the sender's memory, a message of MPI, or else the
// calls that fetch the chunks, several at a time, each straight to its place in the tensor.
//
// How many are in flight (the window) depends on the network. Nearby, two are enough: one chunk is sent while
// another is received; more would only take more memory, which would then not stay in the caches. Far away,
// the network itself must hold several, as many as it transfers in the time of a round trip. While they are
// fewer, one more does not make a chunk take longer; once they are enough, chunks wait for each other. So the
// window grows by one with each chunk that took at most half as long again as the quickest, as that of TCP
// Vegas does (Brakmo and Peterson, IEEE Journal on Selected Areas in Communications, 1995). The next tensor
// of the peer begins with three quarters of it, so that it becomes smaller again when the network is quicker.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/tensor_chunks.h"
#include "proto/pack.h"
#include "tensor/shape.h"
#include <limits.h>

enum {
    WINDOW_MIN = 2,
    WINDOW_MAX = 32
};
// A tensor that is longer is read on the pool, so that the transport's thread goes on.
#define READ_HERE_MAX ((size_t)4 << 20)
#define PART_BYTES ((size_t)8 << 20) // that a thread reads at a time

// A call in progress.
typedef struct slot {
    struct fetch *fetch;
    size_t chunk;
    int64_t asked_ns;
} slot;

typedef struct fetch {
    const bd_peer *peer;           // not owned
    bd_cancellation *cancellation; // a reference; NULL
    bd_recv_fn fn;
    void *arg;
    uint64_t id;
    size_t bytes, chunk_bytes, chunks;
    braid_tensor tensor;
    bool has_memory;
    Braid__TensorMemory memory;
    size_t parts;            // of the memory, which several threads read
    atomic_size_t next_part; // to be read
    atomic_int readers;      // that have not ended
    atomic_bool cannot_read; // one of the parts
    int mpi_rank;            // of the sender; -1: none
    uint64_t mpi_id;
    bd_cancellation *mpi_call; // of SendByMpi; a reference; NULL
    slot slots[WINDOW_MAX];
    bd_mutex mu;
    int first_window;    // slots that it begins with, if there are as many chunks
    int window;          // slots in use, the first ones; guarded by mu
    int64_t shortest_ns; // that a chunk has taken; guarded by mu
    size_t next;         // chunk to be asked for; guarded by mu
    int in_progress;     // calls, and a message of MPI; guarded by mu
    braid_status st;     // the first error; guarded by mu
} fetch;

static size_t chunk_len(const fetch *f, size_t chunk)
{
    const size_t left = f->bytes - chunk * f->chunk_bytes;
    return left < f->chunk_bytes ? left : f->chunk_bytes;
}

static void end(fetch *f)
{
    // A tensor of fewer chunks, or one that failed, tells nothing of the network.
    const bool is_measured = f->window > 0 && f->window >= f->first_window;
    if (is_measured) atomic_store_explicit(f->peer->window, f->window, memory_order_relaxed);
    f->fn(f->arg, &f->tensor, false, &f->st);
    bd_tensor_fini(&f->tensor);
    bd_cancellation_unref(f->cancellation);
    bd_cancellation_unref(f->mpi_call);
    bd_status_fini(&f->st);
    bd_mutex_fini(&f->mu);
    bd_free(f);
}

// ---- Calls ----

static void chunk_came(void *arg, bd_message *response, const braid_status *from);

static void ask(slot *s)
{
    const fetch *f = s->fetch;
    Braid__RecvChunkRequest request = BRAID__RECV_CHUNK_REQUEST__INIT;
    request.id = f->id;
    request.chunk = s->chunk;
    uint8_t offer[BD_CROSS_MEMORY_OFFER_BYTES];
    request.offer = (ProtobufCBinaryData){bd_cross_memory_offer(f->peer->memory, offer), offer};
    bd_rpc_options options = bd_peer_rpc(f->peer, BD_CLUSTER_SERVICE "RecvChunk");
    options.cancellation = f->cancellation;
    bd_rpc_start_proto(&options, &request.base, chunk_came, s);
}

// The end of the last one frees the fetch.
static void ask_all(slot *const asked[], int count)
{
    for (int i = 0; i < count; i++)
        ask(asked[i]);
}

// Assigns the next chunk to a free slot. Returns false when none is left.
static bool next_chunk_locked(fetch *f, slot *s)
{
    if (f->st.code || f->next == f->chunks) return false;
    s->fetch = f;
    s->chunk = f->next++;
    s->asked_ns = bd_now_ns();
    f->in_progress++;
    return true;
}

// Takes more slots into use, up to `window`, and asks for a chunk in each.
static void widen_locked(fetch *f, int window, slot *asked[WINDOW_MAX], int *count)
{
    window = bd_min(window, WINDOW_MAX);
    for (; f->window < window && next_chunk_locked(f, &f->slots[f->window]); f->window++)
        asked[(*count)++] = &f->slots[f->window];
}

static void gather(const fetch *f, const slot *s, const bd_message *response, braid_status *st)
{
    const size_t len = chunk_len(f, s->chunk);
    if (response->bytes == len)
        bd_message_gather(response, (char *)f->tensor.data + s->chunk * f->chunk_bytes);
    else
        bd_fail(st, BRAID_INTERNAL, "%s: RecvChunk: %zu bytes came instead of %zu", f->peer->label,
                response->bytes, len);
}

static void chunk_came(void *arg, bd_message *response, const braid_status *from)
{
    slot *s = arg;
    fetch *f = s->fetch;
    const int64_t took_ns = bd_now_ns() - s->asked_ns;
    BD_STATUS(st);
    if (from->code)
        bd_peer_explain(f->peer, "RecvChunk", from, st);
    else
        gather(f, s, response, st);
    slot *asked[WINDOW_MAX];
    int count = 0;
    bd_mutex_lock(&f->mu);
    if (st->code && !f->st.code) bd_status_copy(&f->st, st);
    f->in_progress--;
    if (next_chunk_locked(f, s)) asked[count++] = s;
    f->shortest_ns = bd_min(f->shortest_ns, took_ns);
    if (took_ns - f->shortest_ns <= f->shortest_ns / 2) widen_locked(f, f->window + 1, asked, &count);
    const bool is_over = f->in_progress == 0;
    bd_mutex_unlock(&f->mu);
    ask_all(asked, count);
    if (is_over) end(f);
}

// ---- The beginning ----

static braid_code read_shape(const Braid__TensorChunks *chunks, braid_shape *shape, braid_status *st)
{
    if (chunks->n_dim > BRAID_RANK_MAX || !bd_dtype_is_valid(chunks->dtype) ||
        bd_dtype_is_ref((braid_dtype)chunks->dtype) || braid_dtype_size((braid_dtype)chunks->dtype) == 0)
        return bd_fail(st, BRAID_INTERNAL, "the description of its chunks is malformed");
    shape->rank = (int)chunks->n_dim;
    for (size_t i = 0; i < chunks->n_dim; i++)
        shape->dims[i] = chunks->dim[i];
    int64_t count;
    return bd_shape_checked_count(shape, &count, st);
}

// The tensor with its first chunk.
static braid_code read_head(fetch *f, bd_wire_reader *in, bd_wire_reader *first, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    bd_message message;
    bd_message_init(&message);
    const uint8_t *data;
    size_t len;
    while (bd_wire_get_piece(in, &data, &len))
        bd_message_add_copy(&message, data, len);
    const Braid__TensorChunks *chunks =
        bd_proto_unpack_message(&braid__tensor_chunks__descriptor, &message, arena, st);
    bd_message_fini(&message);
    braid_shape shape = {0};
    if (!chunks || read_shape(chunks, &shape, st)) return st->code;
    const braid_code code = bd_tensor_init(&f->tensor, (braid_dtype)chunks->dtype, &shape, st);
    if (code) return code;
    f->id = chunks->id;
    f->bytes = bd_tensor_bytes(&f->tensor);
    f->chunk_bytes = chunks->chunk_bytes;
    if (f->bytes == 0) return bd_fail(st, BRAID_INTERNAL, "a tensor of no bytes comes in chunks");
    f->has_memory = chunks->memory != NULL;
    if (f->has_memory) f->memory = *chunks->memory;
    f->mpi_rank = (int)bd_min(chunks->mpi_rank, INT_MAX) - 1;
    const bool has_first = !f->has_memory && f->mpi_rank < 0;
    const bool is_plausible =
        has_first ? f->chunk_bytes < f->bytes && first->left == f->chunk_bytes : first->left == 0;
    if (f->chunk_bytes == 0 || !is_plausible)
        return bd_fail(st, BRAID_INTERNAL, "its first chunk has %zu bytes of %zu", first->left,
                       f->chunk_bytes);
    f->chunks = f->bytes / f->chunk_bytes + (f->bytes % f->chunk_bytes != 0);
    f->next = has_first;
    if (has_first) bd_wire_get_raw(first, f->tensor.data, f->chunk_bytes);
    return BRAID_OK;
}

static void fetch_all(fetch *f)
{
    slot *asked[WINDOW_MAX];
    int count = 0;
    const int last = atomic_load_explicit(f->peer->window, memory_order_relaxed);
    bd_mutex_lock(&f->mu);
    f->first_window = bd_max(3 * last / 4, WINDOW_MIN);
    widen_locked(f, f->first_window, asked, &count);
    bd_mutex_unlock(&f->mu);
    ask_all(asked, count);
}

// ---- By MPI ----

// The message has come and its call has ended, or one of them has failed, which ends the other.
static void end_mpi(fetch *f)
{
    bd_rpc_count *calls = f->peer->calls;
    bd_mutex_lock(&f->mu);
    const bool is_over = --f->in_progress == 0;
    const bool is_whole = f->st.code == BRAID_OK;
    bd_mutex_unlock(&f->mu);
    if (!is_over) return;
    if (is_whole) atomic_fetch_add_explicit(&f->peer->traffic->mpi_bytes, f->bytes, memory_order_relaxed);
    end(f);
    bd_rpc_count_change(calls, -1);
}

static void set_error(fetch *f, const braid_status *st)
{
    bd_mutex_lock(&f->mu);
    if (!f->st.code) bd_status_copy(&f->st, st);
    bd_mutex_unlock(&f->mu);
}

static void sent_by_mpi(void *arg, bd_message *response, const braid_status *from)
{
    (void)response;
    fetch *f = arg;
    BD_STATUS(st);
    if (from->code) {
        bd_peer_explain(f->peer, "SendByMpi", from, st);
        set_error(f, st);
        bd_mpi_give_up(f->peer->mpi, f->mpi_id);
    }
    end_mpi(f);
}

static void received_by_mpi(void *arg, bool is_whole)
{
    fetch *f = arg;
    BD_STATUS(st);
    if (!is_whole) {
        bd_fail(st, BRAID_INTERNAL, "%s: MPI has not brought the tensor", f->peer->label);
        set_error(f, st);
        bd_cancellation_cancel(f->mpi_call, st);
    }
    end_mpi(f);
}

static void start_mpi(fetch *f)
{
    Braid__SendByMpiRequest request = BRAID__SEND_BY_MPI_REQUEST__INIT;
    bd_mpi *mpi = f->peer->mpi;
    bd_rpc_count_change(f->peer->calls, +1);
    f->in_progress = 2;
    f->mpi_call = bd_cancellation_new(f->cancellation);
    f->mpi_id = bd_mpi_next_id(mpi);
    bd_rpc_options options = bd_peer_rpc(f->peer, BD_CLUSTER_SERVICE "SendByMpi");
    options.cancellation = f->mpi_call;
    request.id = f->id;
    request.rank = bd_mpi_rank(mpi);
    request.tag = bd_mpi_tag(f->mpi_id);
    bd_mpi_receive(mpi, f->mpi_id, f->mpi_rank, f->tensor.data, f->bytes, received_by_mpi, f);
    bd_rpc_start_proto(&options, &request.base, sent_by_mpi, f);
}

static void fetch_otherwise(fetch *f)
{
    if (f->mpi_rank >= 0 && f->mpi_rank < bd_mpi_size(f->peer->mpi))
        start_mpi(f);
    else
        fetch_all(f);
}

// ---- Reading from memory ----

static void released(void *arg, bd_message *response, const braid_status *st)
{
    (void)arg, (void)response, (void)st; // a sender that was not reached lets go of it after a minute
}

// Lets the sender let go of the tensor.
static void release(const fetch *f)
{
    Braid__ReleaseTensorRequest request = BRAID__RELEASE_TENSOR_REQUEST__INIT;
    request.id = f->id;
    const bd_rpc_options options = bd_peer_rpc(f->peer, BD_CLUSTER_SERVICE "ReleaseTensor");
    bd_rpc_start_proto(&options, &request.base, released, NULL);
}

// All parts were read, or not all can be, or none is wanted any more.
static void end_reading(fetch *f)
{
    bd_rpc_count *calls = f->peer->calls;
    if (!f->cannot_read && bd_cross_memory_is_held(f->peer->memory, &f->memory, f->id)) {
        atomic_fetch_add_explicit(&f->peer->traffic->memory_bytes, f->bytes, memory_order_relaxed);
        release(f);
        end(f);
    } else if (bd_cancellation_is_cancelled(f->cancellation)) {
        bd_cancellation_status(f->cancellation, &f->st);
        release(f);
        end(f);
    } else {
        fetch_otherwise(f);
    }
    bd_rpc_count_change(calls, -1);
}

static bool read_part(fetch *f, size_t part)
{
    const size_t at = part * PART_BYTES, left = f->bytes - at;
    if (f->cannot_read || bd_cancellation_is_cancelled(f->cancellation)) return false;
    return bd_cross_memory_read(f->peer->memory, &f->memory, at, (char *)f->tensor.data + at,
                                left < PART_BYTES ? left : PART_BYTES);
}

// One of the readers, which take part by part; the last one to end ends the reading.
static void read_memory(void *arg)
{
    fetch *f = arg;
    size_t part;
    while ((part = atomic_fetch_add(&f->next_part, 1)) < f->parts)
        if (!read_part(f, part)) f->cannot_read = true;
    if (atomic_fetch_sub(&f->readers, 1) == 1) end_reading(f);
}

static void start_reading(fetch *f)
{
    const bool is_long = f->bytes > READ_HERE_MAX && f->peer->copies;
    bd_thread_pool *pool = f->peer->copies;
    f->parts = (f->bytes + PART_BYTES - 1) / PART_BYTES;
    // More than one reader pays from two parts on.
    const int readers = is_long ? (int)bd_min(f->parts, (size_t)bd_thread_pool_threads(pool)) : 1;
    f->readers = readers;
    bd_rpc_count_change(f->peer->calls, +1);
    for (int i = 0; i < readers; i++) // the last one may free the fetch
        if (!is_long || !bd_thread_pool_submit(pool, read_memory, f)) read_memory(f);
}

void bd_fetch_chunks(const bd_peer *peer, bd_wire_reader *chunks, bd_wire_reader *first,
                     bd_cancellation *cancellation, bd_recv_fn fn, void *arg)
{
    fetch *f = bd_calloc(1, sizeof *f);
    f->peer = peer;
    f->cancellation = cancellation ? bd_cancellation_ref(cancellation) : NULL;
    f->fn = fn;
    f->arg = arg;
    f->shortest_ns = INT64_MAX;
    bd_mutex_init(&f->mu);
    if (read_head(f, chunks, first, &f->st)) {
        bd_status_prefix(&f->st, "%s: the answer of RecvTensor: ", peer->label);
        bd_tensor_fini(&f->tensor);
        end(f);
    } else if (f->has_memory) {
        start_reading(f);
    } else {
        fetch_otherwise(f);
    }
}
