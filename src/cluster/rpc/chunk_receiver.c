// The receiver's side of tensors in chunks: reading from the sender's memory, or else the calls that fetch the
// chunks, a few at a time, each straight to its place in the tensor.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/tensor_chunks.h"
#include "proto/pack.h"
#include "tensor/shape.h"

// One chunk is sent while another is received. Nearby, more chunks would only take more memory, which would
// then not stay in the caches. Far away, where a chunk takes FAR_NS, the network itself holds several.
enum {
    WINDOW_NEAR = 2,
    WINDOW_FAR = 8
};
#define FAR_NS INT64_C(10000000)
// A tensor that is longer is read on the pool, so that the transport's thread goes on.
#define READ_HERE_MAX ((size_t)4 << 20)

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
    slot slots[WINDOW_FAR];
    bd_mutex mu;
    int window;      // slots in use, the first ones; guarded by mu
    size_t next;     // chunk to be asked for; guarded by mu
    int in_progress; // calls; guarded by mu
    braid_status st; // the first error; guarded by mu
} fetch;

static size_t chunk_len(const fetch *f, size_t chunk)
{
    const size_t left = f->bytes - chunk * f->chunk_bytes;
    return left < f->chunk_bytes ? left : f->chunk_bytes;
}

static void end(fetch *f)
{
    f->fn(f->arg, &f->tensor, false, &f->st);
    bd_tensor_fini(&f->tensor);
    bd_cancellation_unref(f->cancellation);
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
static void widen_locked(fetch *f, int window, slot *asked[WINDOW_FAR], int *count)
{
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
    const bool is_far = bd_now_ns() - s->asked_ns >= FAR_NS;
    BD_STATUS(st);
    if (from->code)
        bd_peer_explain(f->peer, "RecvChunk", from, st);
    else
        gather(f, s, response, st);
    slot *asked[WINDOW_FAR];
    int count = 0;
    bd_mutex_lock(&f->mu);
    if (st->code && !f->st.code) bd_status_copy(&f->st, st);
    f->in_progress--;
    if (next_chunk_locked(f, s)) asked[count++] = s;
    if (is_far) widen_locked(f, WINDOW_FAR, asked, &count);
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
    f->has_memory = chunks->memory != NULL;
    if (f->has_memory) f->memory = *chunks->memory;
    const bool is_plausible =
        f->has_memory ? first->left == 0 : f->chunk_bytes < f->bytes && first->left == f->chunk_bytes;
    if (f->chunk_bytes == 0 || !is_plausible)
        return bd_fail(st, BRAID_INTERNAL, "its first chunk has %zu bytes of %zu", first->left,
                       f->chunk_bytes);
    f->chunks = f->bytes / f->chunk_bytes + (f->bytes % f->chunk_bytes != 0);
    f->next = !f->has_memory;
    if (!f->has_memory) bd_wire_get_raw(first, f->tensor.data, f->chunk_bytes);
    return BRAID_OK;
}

static void fetch_all(fetch *f)
{
    slot *asked[WINDOW_FAR];
    int count = 0;
    bd_mutex_lock(&f->mu);
    widen_locked(f, WINDOW_NEAR, asked, &count);
    bd_mutex_unlock(&f->mu);
    ask_all(asked, count);
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

static void read_memory(void *arg)
{
    fetch *f = arg;
    bd_rpc_count *calls = f->peer->calls;
    if (bd_cross_memory_read(f->peer->memory, &f->memory, f->id, f->tensor.data, f->bytes, f->cancellation)) {
        atomic_fetch_add_explicit(&f->peer->traffic->memory_bytes, f->bytes, memory_order_relaxed);
        release(f);
        end(f);
    } else {
        fetch_all(f);
    }
    bd_rpc_count_change(calls, -1);
}

static void start_reading(fetch *f)
{
    bd_rpc_count_change(f->peer->calls, +1);
    if (f->bytes <= READ_HERE_MAX || !f->peer->copies ||
        !bd_thread_pool_submit(f->peer->copies, read_memory, f))
        read_memory(f);
}

void bd_fetch_chunks(const bd_peer *peer, bd_wire_reader *chunks, bd_wire_reader *first,
                     bd_cancellation *cancellation, bd_recv_fn fn, void *arg)
{
    fetch *f = bd_calloc(1, sizeof *f);
    f->peer = peer;
    f->cancellation = cancellation ? bd_cancellation_ref(cancellation) : NULL;
    f->fn = fn;
    f->arg = arg;
    bd_mutex_init(&f->mu);
    if (read_head(f, chunks, first, &f->st)) {
        bd_status_prefix(&f->st, "%s: the answer of RecvTensor: ", peer->label);
        bd_tensor_fini(&f->tensor);
        end(f);
    } else if (f->has_memory) {
        start_reading(f);
    } else {
        fetch_all(f);
    }
}
