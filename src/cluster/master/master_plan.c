// Plans of the master: a run signature, cut into one graph for each task and registered on the tasks.
//
// The plan cache makes a plan once and drops it when it is evicted or the session ends. The tasks are then
// told to deregister their graphs; no thread waits for their answers.
#include "base/alloc.h"
#include "base/check.h"
#include "base/strbuf.h"
#include "cluster/master/master_internal.h"
#include "runtime/partition.h"
#include "runtime/placer.h"
#include <string.h>

void *bd_master_plan_ref(void *plan)
{
    atomic_fetch_add_explicit(&((bd_master_plan *)plan)->refs, 1, memory_order_relaxed);
    return plan;
}

void bd_master_plan_unref(void *plan)
{
    bd_master_plan *p = plan;
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    bd_master_session *s = p->session;
    bd_mutex_lock(&s->mu);
    const bool session_ends = s->is_closing; // then the tasks drop all of it at once
    bd_mutex_unlock(&s->mu);
    for (int i = 0; i < p->partition_count; i++) {
        const bd_master_partition *partition = &p->partitions[i];
        bd_worker *w = partition->peer->worker;
        if (partition->graph_handle && !session_ends)
            w->ops->deregister_graph(w, s->handle, partition->graph_handle, NULL, NULL);
        bd_free(partition->graph_handle);
    }
    bd_arena_fini(&p->arena);
    bd_free(p);
}

// ---- Kept plans ----

static const char *const *copy_names(bd_arena *arena, const char *const *names, int count)
{
    const char **copy = BD_ARENA_ARRAY(arena, const char *, (size_t)count);
    for (int i = 0; i < count; i++)
        copy[i] = bd_arena_strdup(arena, names[i]);
    return copy;
}

bd_pinned_plan *bd_pinned_plan_new(const bd_run_signature *s, bd_master_plan *plan, const int *order)
{
    bd_pinned_plan *k = bd_calloc(1, sizeof *k);
    atomic_init(&k->refs, 1);
    k->plan = bd_master_plan_ref(plan);
    k->order =
        bd_arena_memdup(&k->arena, order, ((size_t)s->feed_count + (size_t)s->fetch_count) * sizeof *order);
    k->signature = *s;
    k->signature.feeds = copy_names(&k->arena, s->feeds, s->feed_count);
    k->signature.fetches = copy_names(&k->arena, s->fetches, s->fetch_count);
    if (s->debug) k->signature.debug = bd_debug_copy(s->debug, &k->debug_arena);
    k->signature.targets = NULL; // they are the plan's, and so are connections
    k->signature.connect_from = k->signature.connect_to = NULL;
    k->signature.target_count = k->signature.connection_count = 0;
    return k;
}

bd_pinned_plan *bd_pinned_plan_ref(bd_pinned_plan *k)
{
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

void bd_pinned_plan_unref(bd_pinned_plan *k)
{
    if (!k || atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) != 1) return;
    bd_master_plan_unref(k->plan);
    bd_proto_arena_fini(&k->debug_arena);
    bd_arena_fini(&k->arena);
    bd_free(k);
}

// ---- Registering ----

// The partition for part i of the plan: in the same order, except that the own task's part is the last. (The
// partitions do not move, because nodes have the address of their graph.)
static bd_partition *partition_of_partition(const bd_master_session *s, const bd_partitions *graphs, int i)
{
    const char *own_task = s->peers->self->task;
    const int last = graphs->count - 1;
    int own = last;
    for (int k = 0; k < last; k++)
        if (strcmp(graphs->items[k].location, own_task) == 0) own = k;
    return &graphs->items[i == last ? own : i == own ? last : i];
}

typedef struct registering {
    bd_event all;
    bd_mutex mu;
    bd_cancellation *cancellation;
    int pending;         // guarded by mu
    braid_status status; // guarded by mu
    bd_strbuf missing;   // tasks that had not answered when the token was cancelled; guarded by mu
} registering;

typedef struct registration {
    registering *all;
    bd_master_partition *partition;
} registration;

static void registered(void *arg, const char *graph_handle, const braid_status *st)
{
    const registration *r = arg;
    registering *all = r->all;
    if (graph_handle) r->partition->graph_handle = bd_strdup(graph_handle);
    bd_mutex_lock(&all->mu);
    bd_status_update(&all->status, st);
    if (st->code && bd_cancellation_is_cancelled(all->cancellation))
        bd_strbuf_appendf(&all->missing, "%s%s", all->missing.len ? ", " : "", r->partition->peer->label);
    const bool is_last = --all->pending == 0;
    bd_mutex_unlock(&all->mu);
    if (is_last) bd_event_set(&all->all);
}

// Registers on all tasks at the same time; the own task, which does it on this thread, is the last. The
// token, a child of the session's, ends it.
static braid_code register_partitions(bd_master_plan *p, bd_partitions *graphs,
                                      const Tensorflow__DebugOptions *debug, bd_cancellation *cancellation,
                                      braid_status *st)
{
    if (p->partition_count == 0) return BRAID_OK;
    registering all = {.pending = p->partition_count, .cancellation = cancellation};
    bd_event_init(&all.all);
    bd_mutex_init(&all.mu);
    registration *each = bd_arena_calloc(&p->arena, (size_t)p->partition_count, sizeof *each);
    for (int i = 0; i < p->partition_count; i++) {
        each[i] = (registration){&all, &p->partitions[i]};
        bd_worker *w = p->partitions[i].peer->worker;
        w->ops->register_graph(w, p->session->handle, &partition_of_partition(p->session, graphs, i)->graph,
                               p->session->disabled_rewrites, debug, cancellation, registered, &each[i]);
    }
    bd_event_wait(&all.all); // ends: each task answers, or its connection or the token ends it
    bd_status_move(st, &all.status);
    if (st->code == BRAID_DEADLINE_EXCEEDED && all.missing.len)
        bd_status_suffix(st, ": %s has not registered its part of the graph", bd_strbuf_str(&all.missing));
    bd_strbuf_fini(&all.missing);
    bd_event_fini(&all.all);
    bd_mutex_fini(&all.mu);
    return st->code;
}

// ---- Parts ----

static bd_master_partition *partition_of_device(bd_master_plan *p, const char *device)
{
    const bd_peer *peer = bd_peers_of_device(p->session->peers, device, strlen(device));
    for (int i = 0; i < p->partition_count; i++)
        if (p->partitions[i].peer == peer) return &p->partitions[i];
    return NULL;
}

static uint64_t incarnation_of(const bd_master_session *s, const char *device)
{
    for (int i = 0; i < s->device_count; i++)
        if (strcmp(s->devices[i].name, device) == 0) return s->devices[i].incarnation;
    return 0;
}

static const char *keep(bd_arena *arena, char *text)
{
    const char *kept = bd_arena_strdup(arena, text);
    bd_free(text);
    return kept;
}

// A feed is not sent to a task without a part, or whose part does not use it.
static void connect_client(bd_master_plan *p, const bd_client_graph *prepared)
{
    const bd_master_session *s = p->session;
    for (int i = 0; i < p->partition_count; i++) {
        bd_master_partition *partition = &p->partitions[i];
        partition->send_keys = BD_ARENA_ARRAY(&p->arena, const char *, (size_t)prepared->feed_count);
        partition->send_feeds = BD_ARENA_ARRAY(&p->arena, int, (size_t)prepared->feed_count);
        partition->recv_keys = BD_ARENA_ARRAY(&p->arena, const char *, (size_t)prepared->fetch_count);
        partition->recv_fetches = BD_ARENA_ARRAY(&p->arena, int, (size_t)prepared->fetch_count);
    }
    for (int i = 0; i < prepared->feed_count; i++) {
        bd_master_partition *partition = partition_of_device(p, prepared->feeds[i].device);
        if (!partition) continue;
        const bd_endpoint *e = &prepared->feeds[i];
        partition->send_keys[partition->send_count] =
            keep(&p->arena, bd_endpoint_key(e, incarnation_of(s, e->device)));
        partition->send_feeds[partition->send_count++] = i;
    }
    for (int i = 0; i < prepared->fetch_count; i++) {
        const bd_endpoint *e = &prepared->fetches[i];
        bd_master_partition *partition = partition_of_device(p, e->device);
        BD_ASSERT(partition); // it holds the fetch
        partition->recv_keys[partition->recv_count] =
            keep(&p->arena, bd_endpoint_key(e, incarnation_of(s, e->device)));
        partition->recv_fetches[partition->recv_count++] = i;
    }
}

// TensorFlow's: made from the instance keys, in order and each once.
static int64_t collective_graph_key(const braid_graph *g)
{
    BD_ARRAY(int64_t) keys = {0};
    for (size_t i = 0; i < g->nodes.len; i++) {
        const braid_op *n = g->nodes.items[i];
        if (!bd_node_has_flag(n, BD_OP_USES_RENDEZVOUS)) continue;
        const int64_t key = bd_node_attr_int(n, "instance_key");
        size_t at = 0;
        while (at < keys.len && keys.items[at] < key)
            at++;
        if (at < keys.len && keys.items[at] == key) continue;
        bd_array_push(&keys, key);
        for (size_t k = keys.len - 1; k > at; k--)
            keys.items[k] = keys.items[k - 1];
        keys.items[at] = key;
    }
    uint64_t hash = 0x8774aa605c729c72;
    for (size_t i = 0; i < keys.len; i++) {
        const uint64_t key = (uint64_t)keys.items[i];
        hash = key ^ (hash + 0x9e3779b97f4a7800 + (key << 10) + (key >> 4));
    }
    const bool has_any = keys.len > 0;
    bd_array_free(&keys);
    return has_any ? (int64_t)hash : 0;
}

static bd_master_plan *plan_new(bd_master_session *s, bd_partitions *graphs)
{
    bd_master_plan *p = bd_calloc(1, sizeof *p);
    p->session = s;
    atomic_init(&p->refs, 1);
    p->partition_count = graphs->count;
    p->partitions = BD_ARENA_ARRAY(&p->arena, bd_master_partition, (size_t)graphs->count);
    for (int i = 0; i < graphs->count; i++) {
        const char *task = partition_of_partition(s, graphs, i)->location;
        p->partitions[i].peer = bd_peers_of_device(s->peers, task, strlen(task));
        BD_ASSERT(p->partitions[i].peer); // devices of the session are of its cluster
    }
    return p;
}

// ---- Compiling ----

static braid_code cut(bd_master_session *s, const bd_run_signature *signature, bd_client_graph *prepared,
                      bd_partitions *graphs, braid_status *st)
{
    bd_mutex_lock(&s->graph_mu);
    braid_code code =
        bd_client_graph_build(&s->graph, signature, BD_FEED_BY_RENDEZVOUS, s->client, prepared, st);
    bd_mutex_unlock(&s->graph_mu);
    if (code) return code;
    const bd_placer_options devices = {.devices = s->devices, .device_count = s->device_count};
    if (s->place_pruned_graph && !s->allow_soft_placement && bd_place_check(&prepared->graph, &devices, st)) {
        bd_client_graph_fini(prepared);
        return st->code;
    }
    const bd_partition_options options = {.by_device = false,
                                          .devices = s->devices,
                                          .device_count = s->device_count,
                                          .sends_bfloat16 = s->sends_bfloat16};
    code = bd_partition_graph(&prepared->graph, &options, graphs, st);
    if (code) bd_client_graph_fini(prepared);
    return code;
}

static braid_code compile(void *arg, const bd_run_signature *signature, bd_cancellation *cancellation,
                          void **entry, braid_status *st)
{
    bd_master_session *s = arg;
    bd_client_graph prepared;
    bd_partitions graphs = {0};
    braid_code code = cut(s, signature, &prepared, &graphs, st);
    if (code) return code;
    bd_master_plan *p = plan_new(s, &graphs);
    if (s->leader) p->collective_graph_key = collective_graph_key(&prepared.graph);
    connect_client(p, &prepared);
    code = register_partitions(p, &graphs, signature->debug, cancellation, st);
    bd_partitions_fini(&graphs);
    bd_client_graph_fini(&prepared);
    if (code)
        bd_master_plan_unref(p);
    else
        *entry = p;
    return code;
}

const bd_plan_cache_ops bd_master_plan_ops = {
    .compile = compile, .ref = bd_master_plan_ref, .unref = bd_master_plan_unref};
