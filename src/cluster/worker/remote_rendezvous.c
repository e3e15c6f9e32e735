// The rendezvous of one step on one task.
//
// A sent tensor goes to the local table, where a local receiver or a RecvTensor of another task takes it. A
// receive whose sender is another task becomes a RecvTensor to it; RecvTensors in progress have a token of
// the rendezvous, so that an abort ends them. Fed and fetched tensors are in the local table, whatever
// devices their keys name.
//
// A step that pushes has an outbox for tensors to other tasks, and a second table for tensors that have
// arrived from them, in which receives wait. "No tensor" in it stands for a refused one: its receive becomes
// a RecvTensor.
#include "cluster/worker/remote_rendezvous.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/slab.h"
#include "base/thread.h"
#include "cluster/worker/remote_worker.h"
#include "op/cancellation.h"
#include "runtime/local_rendezvous.h"
#include <string.h>

typedef struct remote_rendezvous {
    bd_rendezvous base;
    bd_rendezvous *local, *arrived;
    // A reference; NULL: tensors are asked for. Set once, before a graph of the step runs.
    _Atomic(bd_outbox *) outbox;
    int64_t step_id;
    const bd_peers *peers;                    // set before a graph of the step runs; not owned
    _Atomic(bd_step_stats_collector *) stats; // a reference; NULL: not traced
    const char *stats_device;                 // set before `stats`; not owned
    bd_cancellation *remote;                  // of the receives from other tasks
    bd_mutex mu;                              // held while `stats` is set
} remote_rendezvous;

// A receive from another task in progress; holds a reference to the rendezvous.
typedef struct remote_recv {
    remote_rendezvous *r;
    const bd_peer *peer; // not owned
    bd_recv_fn fn;
    void *arg;
    int64_t start_ns; // of a traced one
    char key[];       // zero-terminated
} remote_recv;

static remote_rendezvous *of(bd_rendezvous *r)
{
    return BD_CONTAINER_OF(r, remote_rendezvous, base);
}

static bd_outbox *outbox_of(remote_rendezvous *r)
{
    return atomic_load_explicit(&r->outbox, memory_order_acquire);
}

static bool is_task_of(const char *task, const char *device, size_t len)
{
    const size_t task_len = strlen(task);
    return len > task_len && device[task_len] == '/' && memcmp(device, task, task_len) == 0;
}

static bool is_local(const remote_rendezvous *r, const bd_rendezvous_parsed_key *parsed)
{
    return is_task_of(r->peers->self->task, parsed->src_device, parsed->src_device_len) ||
           (parsed->src_device_len == parsed->dst_device_len &&
            memcmp(parsed->src_device, parsed->dst_device, parsed->src_device_len) == 0);
}

static braid_code send_local(const remote_rendezvous *r, const bd_rendezvous_key *key,
                             const braid_tensor *tensor, bool is_dead, braid_status *st)
{
    return r->local->ops->send(r->local, key, tensor, is_dead, st);
}

static braid_code send(bd_rendezvous *base, const bd_rendezvous_key *key, const braid_tensor *tensor,
                       bool is_dead, braid_status *st)
{
    remote_rendezvous *r = of(base);
    bd_outbox *outbox = outbox_of(r);
    if (!outbox || key->is_for_client || key->is_pulled) return send_local(r, key, tensor, is_dead, st);
    bd_rendezvous_parsed_key parsed;
    const braid_code code = bd_rendezvous_key_parse(key->text, key->len, &parsed, st);
    if (code) return code;
    const bd_peer *peer = bd_peers_of_device(r->peers, parsed.dst_device, parsed.dst_device_len);
    if (!peer || peer->is_self) return send_local(r, key, tensor, is_dead, st);
    bd_outbox_put(outbox, peer, key, tensor, is_dead);
    return BRAID_OK;
}

static void flush(bd_rendezvous *base)
{
    bd_outbox *outbox = outbox_of(of(base));
    if (outbox) bd_outbox_flush(outbox);
}

braid_code bd_remote_rendezvous_feed(bd_rendezvous *base, const bd_rendezvous_key *key,
                                     const braid_tensor *tensor, braid_status *st)
{
    bd_rendezvous_parsed_key parsed;
    const braid_code code = bd_rendezvous_key_parse(key->text, key->len, &parsed, st);
    return code ? code : send_local(of(base), key, tensor, false, st);
}

void bd_remote_rendezvous_recv_local(bd_rendezvous *r, const bd_rendezvous_key *key, bd_recv_fn fn, void *arg)
{
    bd_rendezvous *local = of(r)->local;
    local->ops->recv(local, key, fn, arg);
}

static bd_step_stats_collector *stats_of(remote_rendezvous *r)
{
    return atomic_load_explicit(&r->stats, memory_order_acquire);
}

static void record(const remote_recv *in, const braid_tensor *tensor)
{
    bd_step_stats_collector *stats = stats_of(in->r);
    if (!stats) return;
    const bd_rendezvous_key key = bd_rendezvous_key_of(in->key);
    bd_step_stats_collector_add_transfer(stats, in->r->stats_device, &key, tensor, in->start_ns, bd_now_ns());
}

static void remote_done(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st)
{
    remote_recv *in = arg;
    // The sender's task has ended the step, or has restarted. Its response to RunGraph has the cause; this
    // error is derived.
    BD_STATUS(derived);
    if (st->code == BRAID_ABORTED && !st->derived) {
        bd_status_copy(derived, st);
        derived->derived = true;
        st = derived;
    }
    if (!st->code) record(in, tensor);
    if (!st->code && !is_dead) bd_peer_count_received(in->peer, tensor);
    in->fn(in->arg, tensor, is_dead, st);
    bd_rendezvous_unref(&in->r->base);
    bd_slab_free(in);
}

// A tensor has arrived, or the sender was notified that it was refused.
static void arrived_done(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st)
{
    remote_recv *in = arg;
    if (st->code || is_dead || bd_tensor_is_set(tensor)) {
        remote_done(arg, tensor, is_dead, st);
        return;
    }
    const bd_rendezvous_key key = bd_rendezvous_key_of(in->key);
    bd_remote_recv_tensor(in->peer, in->r->step_id, &key, in->r->remote, remote_done, in);
}

static void fail(bd_recv_fn fn, void *arg, const braid_status *st)
{
    braid_tensor none = {0};
    fn(arg, &none, false, st);
}

static void recv(bd_rendezvous *base, const bd_rendezvous_key *key, bd_recv_fn fn, void *arg)
{
    remote_rendezvous *r = of(base);
    BD_STATUS(st);
    bd_rendezvous_parsed_key parsed;
    if (bd_rendezvous_key_parse(key->text, key->len, &parsed, st)) {
        fail(fn, arg, st);
        return;
    }
    if (key->is_for_client || is_local(r, &parsed)) {
        bd_remote_rendezvous_recv_local(base, key, fn, arg);
        return;
    }
    const bd_peer *peer = bd_peers_of_device(r->peers, parsed.src_device, parsed.src_device_len);
    if (!peer) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "The cluster of %s has no task that sends %s",
                r->peers->self->task, key->text);
        fail(fn, arg, st);
        return;
    }
    remote_recv *in = bd_slab_alloc_raw(sizeof *in + key->len + 1);
    *in = (remote_recv){.r = r, .peer = peer, .fn = fn, .arg = arg};
    memcpy(in->key, key->text, key->len + 1);
    if (stats_of(r)) in->start_ns = bd_now_ns();
    bd_rendezvous_ref(base);
    if (outbox_of(r) && !key->is_pulled)
        r->arrived->ops->recv(r->arrived, key, arrived_done, in);
    else
        bd_remote_recv_tensor(peer, r->step_id, key, r->remote, remote_done, in);
}

bool bd_remote_rendezvous_use_peers(bd_rendezvous *base, const bd_peers *peers, bool may_change)
{
    remote_rendezvous *r = of(base);
    if (may_change) r->peers = peers;
    return r->peers == peers;
}

// ---- Pushes ----

bool bd_remote_rendezvous_push(bd_rendezvous *base, bd_outbox *outbox)
{
    bd_outbox *none = NULL;
    bd_outbox_ref(outbox);
    if (atomic_compare_exchange_strong(&of(base)->outbox, &none, outbox)) return true;
    bd_outbox_unref(outbox);
    return false;
}

void bd_remote_rendezvous_trace(bd_rendezvous *base, bd_step_stats_collector *stats, const char *device)
{
    remote_rendezvous *r = of(base);
    bd_step_stats_collector *none = NULL;
    bd_mutex_lock(&r->mu);
    if (!stats_of(r)) r->stats_device = device;
    if (atomic_compare_exchange_strong(&r->stats, &none, stats)) bd_step_stats_collector_ref(stats);
    bd_mutex_unlock(&r->mu);
}

bd_rendezvous *bd_remote_rendezvous_local(bd_rendezvous *base)
{
    return of(base)->local;
}

braid_code bd_remote_rendezvous_arrive(bd_rendezvous *base, const bd_rendezvous_key *key,
                                       const braid_tensor *tensor, bool is_dead, braid_status *st)
{
    bd_rendezvous *arrived = of(base)->arrived;
    return arrived->ops->send(arrived, key, tensor, is_dead, st);
}

// A tensor whose chunks are being fetched; holds a reference to the rendezvous.
typedef struct fetched {
    remote_rendezvous *r;
    bd_rpc_count *fetches; // its counter
    char key[];            // zero-terminated
} fetched;

static void parts_fetched(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *from)
{
    fetched *f = arg;
    bd_rendezvous *base = &f->r->base;
    BD_STATUS(st);
    bd_status_copy(st, from);
    const bd_rendezvous_key key = bd_rendezvous_key_of(f->key);
    if (st->code || bd_remote_rendezvous_arrive(base, &key, tensor, is_dead, st)) base->ops->abort(base, st);
    bd_rendezvous_unref(base);
    bd_rpc_count *fetches = f->fetches;
    bd_slab_free(f);
    bd_rpc_count_change(fetches, -1);
}

void bd_remote_rendezvous_arrive_in_chunks(bd_rendezvous *base, const bd_peer *peer,
                                           const bd_rendezvous_key *key, bd_recv_tensor_response *answer)
{
    fetched *f = bd_slab_alloc_raw(sizeof *f + key->len + 1);
    f->r = of(base);
    f->fetches = peer->fetches;
    bd_rpc_count_change(f->fetches, +1);
    memcpy(f->key, key->text, key->len + 1);
    bd_rendezvous_ref(base);
    bd_fetch_chunks(peer, &answer->chunks, &answer->first_chunk, f->r->remote, parts_fetched, f);
}

bool bd_remote_rendezvous_is_empty(bd_rendezvous *r)
{
    return bd_local_rendezvous_is_empty(of(r)->local);
}

static void abort_step(bd_rendezvous *base, const braid_status *why)
{
    remote_rendezvous *r = of(base);
    bd_cancellation_cancel(r->remote, why);
    bd_outbox *outbox = outbox_of(r);
    if (outbox) bd_outbox_abort(outbox, why);
    r->local->ops->abort(r->local, why);
    r->arrived->ops->abort(r->arrived, why);
}

static void destroy(bd_rendezvous *base)
{
    remote_rendezvous *r = of(base);
    bd_outbox_unref(outbox_of(r));
    bd_step_stats_collector_unref(stats_of(r));
    bd_rendezvous_unref(r->local);
    bd_rendezvous_unref(r->arrived);
    bd_cancellation_unref(r->remote);
    bd_mutex_fini(&r->mu);
    bd_slab_free(r);
}

bd_rendezvous *bd_remote_rendezvous_new(int64_t step_id, const bd_peers *peers)
{
    static const bd_rendezvous_ops ops = {
        .send = send, .recv = recv, .flush = flush, .abort = abort_step, .destroy = destroy};
    remote_rendezvous *r = bd_slab_alloc(sizeof *r);
    r->base.ops = &ops;
    atomic_init(&r->base.refs, 1);
    r->local = bd_local_rendezvous_new();
    r->arrived = bd_local_rendezvous_new();
    r->step_id = step_id;
    r->peers = peers;
    r->remote = bd_cancellation_new(NULL);
    bd_mutex_init(&r->mu);
    return &r->base;
}
