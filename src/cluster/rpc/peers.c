// The tasks of a cluster and the channels to them.
#include "cluster/rpc/peers.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/slab.h"
#include "cluster/rpc/methods.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <string.h>

static void peer_init(bd_peer *p, const char *job, const bd_cluster_task *task, bd_transport *transport,
                      bool is_self)
{
    *p = (bd_peer){.job = job,
                   .index = task->index,
                   .address = task->address,
                   .transport = transport,
                   .is_self = is_self};
    p->is_reached = bd_calloc(1, sizeof *p->is_reached);
    p->window = bd_calloc(1, sizeof *p->window);
    p->task = bd_asprintf("/job:%s/replica:0/task:%d", job, task->index);
    p->label = bd_asprintf("/job:%s/task:%d at %s", job, task->index, task->address);
    if (is_self) return;
    p->channel = transport->connect(transport, task->address);
}

void bd_peers_init(bd_peers *p, const braid_cluster *cluster, const char *job, int index,
                   bd_transport *transport, bd_timers *timers)
{
    *p = (bd_peers){.items = bd_calloc((size_t)bd_cluster_task_count(cluster), sizeof(bd_peer))};
    bd_rpc_count_init(&p->calls);
    bd_rpc_count_init(&p->fetches);
    p->traffic = bd_calloc(1, sizeof *p->traffic);
    for (size_t j = 0; j < cluster->jobs.len; j++) {
        const bd_cluster_job *in = &cluster->jobs.items[j];
        for (size_t i = 0; i < in->tasks.len; i++) {
            bd_peer *peer = &p->items[p->count++];
            const bool is_self = strcmp(in->name, job) == 0 && in->tasks.items[i].index == index;
            peer_init(peer, in->name, &in->tasks.items[i], transport, is_self);
            peer->calls = &p->calls;
            peer->fetches = &p->fetches;
            peer->traffic = p->traffic;
            peer->timers = timers;
            if (is_self) p->self = peer;
            bd_map_put(&p->by_task, peer->task, peer);
        }
    }
    BD_ASSERT(p->self);
}

void bd_peers_share_memory(bd_peers *p, bd_thread_pool *pool)
{
    for (int i = 0; i < p->count; i++) {
        if (p->items[i].is_self) continue;
        p->items[i].memory = bd_cross_memory_new();
        p->items[i].copies = pool;
    }
}

void bd_peers_of_session(bd_peers *p, const bd_peers *server)
{
    for (int i = 0; i < p->count; i++) {
        p->items[i].is_of_session = true;
        p->items[i].traffic = server->traffic;
    }
}

void bd_peers_use_mpi(bd_peers *p, bd_mpi *mpi)
{
    for (int i = 0; i < p->count; i++)
        p->items[i].mpi = mpi;
}

void bd_peers_close(bd_peers *p)
{
    bd_rpc_count_wait(&p->fetches);
    bd_rpc_count_close(&p->calls);
    for (int i = 0; i < p->count; i++)
        if (p->items[i].channel) p->items[i].transport->channel_close(p->items[i].channel);
    bd_rpc_count_wait(&p->calls);
}

void bd_peers_fini(bd_peers *p)
{
    for (int i = 0; i < p->count; i++) {
        bd_peer *peer = &p->items[i];
        bd_free((void *)peer->is_reached);
        bd_free((void *)peer->window);
        bd_free(peer->task);
        bd_free(peer->label);
        bd_cross_memory_free(peer->memory);
    }
    bd_rpc_count_fini(&p->calls);
    bd_rpc_count_fini(&p->fetches);
    bd_map_fini(&p->by_task);
    bd_free(p->traffic);
    bd_free(p->items);
    *p = (bd_peers){0};
}

bd_rpc_options bd_peer_rpc(const bd_peer *peer, const char *method)
{
    BD_ASSERT(peer->channel);
    return (bd_rpc_options){.transport = peer->transport,
                            .channel = peer->channel,
                            .method = method,
                            .deadline_ns = BD_FOREVER,
                            .watches = strcmp(method, BD_CLUSTER_SERVICE "Liveness") == 0,
                            .count = peer->calls,
                            .is_reached = peer->is_reached};
}

// ---- Calls of tensors ----

#define CONNECT_MS 5000

typedef struct first_call {
    const bd_peer *peer; // not owned
    bd_rpc_options options;
    bd_message request;
    bd_call_done_fn fn;
    void *arg;
} first_call;

// Whatever the answer was: if the peer cannot be reached, the call says so.
static void connected(void *arg, bd_message *response, const braid_status *st)
{
    (void)response;
    first_call *c = arg;
    if (!st->code) atomic_store_explicit(c->peer->is_reached, true, memory_order_relaxed);
    bd_rpc_start(&c->options, &c->request, c->fn, c->arg);
    bd_slab_free(c);
}

void bd_peer_start(const bd_peer *peer, const bd_rpc_options *options, bd_message *request,
                   bd_call_done_fn fn, void *arg)
{
    if (atomic_load_explicit(peer->is_reached, memory_order_relaxed)) {
        bd_rpc_start(options, request, fn, arg);
        return;
    }
    first_call *c = bd_slab_alloc(sizeof *c);
    *c = (first_call){.peer = peer, .options = *options, .fn = fn, .arg = arg};
    bd_message_init(&c->request);
    bd_message_move(&c->request, request);
    const Tensorflow__GetStatusRequest status = TENSORFLOW__GET_STATUS_REQUEST__INIT;
    bd_rpc_options get_status = bd_peer_rpc(peer, BD_WORKER_SERVICE "GetStatus");
    get_status.wait_for_ready = true;
    get_status.deadline_ns = bd_deadline_after_ms(CONNECT_MS);
    get_status.cancellation = options->cancellation;
    bd_rpc_start_proto(&get_status, &status.base, connected, c);
}

// ---- Errors and names ----

void bd_peer_explain(const bd_peer *peer, const char *method, const braid_status *from, braid_status *st)
{
    bd_status_copy(st, from);
    bd_wire_error_unmark(st);
    if (st->code == BRAID_UNAVAILABLE && !st->derived)
        bd_status_prefix(st, "%s: %s is unavailable: ", method, peer->label);
}

size_t bd_task_name_len(const char *device, size_t len)
{
    int slashes = 0;
    size_t at = 0;
    for (; at < len; at++)
        if (device[at] == '/' && ++slashes == 4) break;
    return at;
}

const bd_peer *bd_peers_of_device(const bd_peers *p, const char *device, size_t len)
{
    return bd_map_get_n(&p->by_task, device, bd_task_name_len(device, len));
}
