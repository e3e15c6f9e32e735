// Tensors on their way out of a step.
//
// An item waits in the outbox, then belongs to a push: one call of PushTensors to one task. `in_progress`
// counts pushes, and one for bd_outbox_finish until it has sent the last. A push holds the outbox.
#include "cluster/worker/outbox.h"
#include "base/slab.h"
#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/recv_tensor_response.h"
#include "cluster/rpc/request_id.h"
#include "cluster/rpc/wire_fields.h"
#include "proto/pack.h"
#include "tensor/shared_memory.h"
#include <string.h>

// This many bytes are not held back: sending them takes longer than the cost of a call.
#define HELD_BACK_MAX ((size_t)256 << 10)

typedef struct item {
    struct item *next;
    const bd_peer *peer; // not owned
    braid_tensor tensor;
    bool is_dead;
    uint64_t held; // in parts, as this; 0: not
    size_t key_len;
    char key[]; // zero-terminated
} item;

struct bd_outbox {
    atomic_int refs;
    int64_t step_id;
    bd_chunk_store *chunk_store; // not owned
    bd_rendezvous *refused;      // a reference
    bd_cancellation *execution;  // a reference
    bd_cancellation *pushes;     // below it
    atomic_bool waits;           // there are items; written with mu held
    bd_mutex mu;
    item *first, **end; // guarded by mu
    size_t bytes;       // of them; guarded by mu
    int in_progress;    // guarded by mu
    braid_status st;    // the first error, also that of an abort; guarded by mu
    bd_outbox_fn fn;    // guarded by mu
    void *arg;
};

typedef struct push {
    bd_outbox *outbox; // a reference
    const bd_peer *peer;
    item *items;
} push;

static void free_items(item *i)
{
    while (i) {
        item *next = i->next;
        bd_tensor_fini(&i->tensor);
        bd_slab_free(i);
        i = next;
    }
}

static item *take_all(bd_outbox *o)
{
    bd_mutex_lock(&o->mu);
    item *all = o->first;
    o->first = NULL;
    o->end = &o->first;
    o->bytes = 0;
    atomic_store_explicit(&o->waits, false, memory_order_relaxed);
    bd_mutex_unlock(&o->mu);
    return all;
}

// Moves the items for `peer` from a list to the end of another, in order.
static void pick(item **from, const bd_peer *peer, item **to)
{
    while (*from) {
        item *i = *from;
        if (i->peer != peer) {
            from = &i->next;
            continue;
        }
        *from = i->next;
        i->next = NULL;
        *to = i;
        to = &i->next;
    }
}

// ---- The end ----

static void count(bd_outbox *o, int change)
{
    bd_mutex_lock(&o->mu);
    o->in_progress += change;
    const bool is_over = o->in_progress == 0 && o->fn;
    const bd_outbox_fn fn = o->fn;
    void *arg = o->arg;
    if (is_over) o->fn = NULL;
    BD_STATUS(st);
    if (is_over) bd_status_copy(st, &o->st);
    bd_mutex_unlock(&o->mu);
    if (is_over) fn(arg, st);
}

static void note(bd_outbox *o, const braid_status *why)
{
    bd_mutex_lock(&o->mu);
    if (!o->st.code) bd_status_copy(&o->st, why);
    bd_mutex_unlock(&o->mu);
}

static void fail(bd_outbox *o, const braid_status *why)
{
    note(o, why);
    bd_cancellation_cancel(o->execution, why);
}

// ---- Pushes ----

// Refused tensors are stored for a RecvTensor: whole, or in chunks.
static void keep_refused(const push *p, const Braid__PushTensorsResponse *message, braid_status *st)
{
    const item *i = p->items;
    uint32_t at = 0;
    for (size_t r = 0; !st->code && r < message->n_refused; r++) { // in the order of the tensors
        for (; i && at < message->refused[r]; at++)
            i = i->next;
        if (!i || at > message->refused[r]) {
            bd_fail(st, BRAID_INTERNAL, "it refuses a tensor that it has not got");
            break;
        }
        const bd_rendezvous_key key = bd_rendezvous_key_of(i->key);
        bd_chunk_store_forget(p->outbox->chunk_store, i->held);
        p->outbox->refused->ops->send(p->outbox->refused, &key, &i->tensor, i->is_dead, st);
        i = i->next;
        at++;
    }
}

static void read_response(const push *p, const bd_message *response, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    const Braid__PushTensorsResponse *message =
        bd_proto_unpack_message(&braid__push_tensors_response__descriptor, response, arena, st);
    if (message && message->offer.len)
        bd_cross_memory_accept(p->peer->memory, message->offer.data, message->offer.len);
    if (message) keep_refused(p, message, st);
    if (st->code) bd_status_prefix(st, "%s: the answer of PushTensors: ", p->peer->label);
}

// The receiver has not taken them.
static void forget_parts(const push *p)
{
    for (const item *i = p->items; i; i = i->next)
        bd_chunk_store_forget(p->outbox->chunk_store, i->held);
}

static void pushed(void *arg, bd_message *response, const braid_status *from)
{
    push *p = arg;
    bd_outbox *o = p->outbox;
    BD_STATUS(st);
    if (from->code) {
        bd_peer_explain(p->peer, "PushTensors", from, st);
        forget_parts(p);
    } else if (response->bytes) {
        read_response(p, response, st);
    }
    // If the receiver's step is over, it has failed there and that task reports it, or it does not need the
    // tensor.
    if (st->code && !(st->code == BRAID_ABORTED && st->derived)) fail(o, st);
    free_items(p->items);
    bd_slab_free(p);
    count(o, -1);
    bd_outbox_unref(o);
}

static void put_item(bd_outbox *o, item *i, uint32_t field, bd_wire_writer *out)
{
    if (!i->is_dead) bd_peer_count_sent(i->peer, &i->tensor);
    bd_message message;
    bd_message_init(&message);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &message);
    i->held =
        bd_recv_tensor_response_put(o->chunk_store, o->step_id, &i->tensor, i->is_dead, i->peer, &writer);
    bd_wire_put_bytes(&writer, BD_PUSHED_KEY, i->key, i->key_len);
    bd_wire_writer_finish(&writer);
    bd_wire_put_message(out, field, &message);
}

static void send_items(bd_outbox *o, const bd_peer *peer, item *items)
{
    push *p = bd_slab_alloc_raw(sizeof *p);
    *p = (push){o, peer, items};
    bd_outbox_ref(o);
    count(o, +1);
    bd_message request;
    bd_message_init(&request);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &request);
    bd_wire_put_uint(&writer, BD_PUSH_STEP_ID, (uint64_t)o->step_id);
    bd_wire_put_uint(&writer, BD_PUSH_REQUEST_ID, (uint64_t)bd_request_id_next());
    for (item *i = items; i; i = i->next)
        put_item(o, i, BD_PUSH_TENSOR, &writer);
    bd_wire_writer_finish(&writer);
    bd_rpc_options options = bd_peer_rpc(peer, BD_CLUSTER_SERVICE "PushTensors");
    options.cancellation = o->pushes;
    bd_peer_start(peer, &options, &request, pushed, p);
}

void bd_outbox_flush(bd_outbox *o)
{
    if (!atomic_load_explicit(&o->waits, memory_order_relaxed)) return;
    item *all = take_all(o);
    while (all) {
        const bd_peer *peer = all->peer;
        item *items = NULL;
        pick(&all, peer, &items);
        send_items(o, peer, items);
    }
}

void bd_outbox_put(bd_outbox *o, const bd_peer *peer, const bd_rendezvous_key *key,
                   const braid_tensor *tensor, bool is_dead)
{
    item *i = bd_slab_alloc_raw(sizeof *i + key->len + 1);
    *i = (item){.peer = peer, .is_dead = is_dead, .key_len = key->len};
    bd_tensor_ref(&i->tensor, tensor);
    memcpy(i->key, key->text, key->len + 1);
    const size_t bytes = is_dead || bd_tensor_is_read(tensor, peer) ? 0 : bd_tensor_bytes(tensor);
    bd_mutex_lock(&o->mu);
    *o->end = i;
    o->end = &i->next;
    o->bytes += bytes;
    const bool is_full = o->bytes > HELD_BACK_MAX;
    atomic_store_explicit(&o->waits, true, memory_order_relaxed);
    bd_mutex_unlock(&o->mu);
    if (is_full) bd_outbox_flush(o);
}

// A large tensor is pushed, unless its receiver reads it from memory, or may after it has answered a push.
static bool is_given(const item *i, const bd_peer *peer)
{
    if (i->peer != peer) return false;
    if (i->is_dead || bd_tensor_is_read(&i->tensor, peer)) return true;
    if (bd_tensor_is_chunked(&i->tensor, peer)) return false;
    return bd_tensor_bytes(&i->tensor) < BD_SHARED_MEMORY_MIN || !bd_cross_memory_asks(peer->memory);
}

void bd_outbox_give(bd_outbox *o, const bd_peer *peer, bd_wire_writer *out)
{
    bd_mutex_lock(&o->mu);
    item *given = NULL, **end = &given;
    for (item **at = &o->first; *at;) {
        item *i = *at;
        if (is_given(i, peer)) {
            *at = i->next;
            i->next = NULL;
            *end = i;
            end = &i->next;
        } else {
            at = &i->next;
        }
    }
    o->end = &o->first;
    while (*o->end)
        o->end = &(*o->end)->next;
    bd_mutex_unlock(&o->mu);
    for (item *i = given; i; i = i->next)
        put_item(o, i, BD_RUN_GRAPH_RESPONSE_PUSHED, out);
    free_items(given);
}

void bd_outbox_finish(bd_outbox *o, bd_outbox_fn fn, void *arg)
{
    bd_outbox_ref(o);
    count(o, +1);
    bd_outbox_flush(o);
    bd_mutex_lock(&o->mu);
    o->fn = fn;
    o->arg = arg;
    bd_mutex_unlock(&o->mu);
    count(o, -1);
    bd_outbox_unref(o);
}

void bd_outbox_abort(bd_outbox *o, const braid_status *why)
{
    note(o, why);
    free_items(take_all(o));
    bd_cancellation_cancel(o->pushes, why);
}

bd_outbox *bd_outbox_new(const bd_outbox_options *options)
{
    bd_outbox *o = bd_slab_alloc(sizeof *o);
    atomic_init(&o->refs, 1);
    o->step_id = options->step_id;
    o->chunk_store = options->chunk_store;
    o->refused = bd_rendezvous_ref(options->refused);
    o->execution = bd_cancellation_ref(options->cancellation);
    o->pushes = bd_cancellation_new(options->cancellation);
    o->end = &o->first;
    bd_mutex_init(&o->mu);
    return o;
}

void bd_outbox_ref(bd_outbox *o)
{
    atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
}

void bd_outbox_unref(bd_outbox *o)
{
    if (!o || atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1) return;
    free_items(o->first);
    bd_rendezvous_unref(o->refused);
    bd_cancellation_unref(o->pushes);
    bd_cancellation_unref(o->execution);
    bd_status_fini(&o->st);
    bd_mutex_fini(&o->mu);
    bd_slab_free(o);
}
