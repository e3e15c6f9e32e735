// The worker of this process: sessions, graphs and their ends. worker_run.c executes graphs.
//
// A plan's kernels of stateful nodes live in its session (bd_kernel_store), so a graph references its
// session; an execution references its graph. Deleting a session or a graph removes it from the tables;
// executions in progress finish. A session is deleted by its master; when the master is gone for good, or
// restarted with another incarnation, by this worker.
#include "base/alloc.h"
#include "base/log.h"
#include "base/random.h"
#include "cluster/worker/local_worker_internal.h"
#include "cluster/worker/remote_functions.h"
#include "graph/device_name.h"
#include "runtime/debug_nodes.h"
#include "runtime/optimize.h"
#include "tensor/shared_memory.h"
#include <inttypes.h>
#include <string.h>

static bd_local_worker *of(bd_worker *w)
{
    return BD_CONTAINER_OF(w, bd_local_worker, base);
}

static void done(bd_worker_done_fn fn, void *arg, const braid_status *st)
{
    if (fn) fn(arg, st);
}

// ---- Sessions and graphs ----

void bd_local_worker_use_accounts(bd_local_worker *w, bd_accounts *accounts)
{
    w->accounts = accounts;
}

void bd_local_worker_use_clusters(bd_local_worker *w, bd_session_clusters *clusters)
{
    w->clusters = clusters;
}

bd_account *bd_local_worker_account(bd_local_worker *w, const char *session_handle)
{
    bd_mutex_lock(&w->mu);
    const bd_worker_session *s = bd_map_get(&w->sessions, session_handle);
    bd_account *account = s ? s->account : NULL;
    bd_mutex_unlock(&w->mu);
    return account;
}

static bd_worker_session *session_new_locked(bd_local_worker *w, const char *handle,
                                             const bd_session_owner *owner, bool is_isolated,
                                             bool was_created)
{
    bd_worker_session *s = bd_calloc(1, sizeof *s);
    s->handle = bd_strdup(handle);
    const char *leader = owner->collective_leader[0] ? owner->collective_leader : owner->task;
    s->owner = (bd_session_owner){.task = bd_strdup(owner->task),
                                  .incarnation = owner->incarnation,
                                  .collective_leader = bd_strdup(leader)};
    s->cluster = bd_session_cluster_ref(owner->cluster);
    s->remote_functions = bd_remote_functions_new(handle, bd_worker_session_peers(w, s), s->cluster);
    s->kernels = bd_kernel_store_new();
    s->is_isolated = is_isolated;
    s->account = bd_accounts_of(w->accounts, owner->client);
    s->resources = is_isolated ? bd_resources_new(bd_resources_container(w->device->resources, ""))
                               : bd_resources_view(w->device->resources, owner->client);
    s->was_created = was_created;
    atomic_init(&s->is_dropped, false);
    atomic_init(&s->refs, 1);
    return s;
}

static void session_unref(bd_worker_session *s)
{
    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
    bd_kernel_store_free(s->kernels);
    if (s->is_isolated)
        bd_resources_free(s->resources);
    else
        bd_resources_unref(s->resources);
    bd_map_fini(&s->graphs);
    bd_free((char *)s->owner.task);
    bd_free((char *)s->owner.collective_leader);
    bd_remote_functions_unref(s->remote_functions);
    bd_session_cluster_unref(s->cluster);
    bd_free(s->handle);
    bd_free(s);
}

void bd_worker_graph_unref(bd_worker_graph *g)
{
    if (!g || atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) != 1) return;
    bd_plan_unref(g->plan);
    bd_function_runtime_unref(g->functions);
    bd_charge_fini(&g->charge);
    session_unref(g->session);
    bd_free(g->handle);
    bd_free(g);
}

// Drops a session that is out of the table, with its graphs, and ends its steps.
static void session_drop(bd_local_worker *w, bd_worker_session *s)
{
    size_t pos = 0;
    void *graph;
    atomic_store(&s->is_dropped, true);
    bd_step_table_forget(w->steps, s);
    while (bd_map_next(&s->graphs, &pos, NULL, &graph))
        bd_worker_graph_unref(graph);
    session_unref(s);
}

// Takes a session off the table that another incarnation of `task` has made; NULL: there is none.
static bd_worker_session *take_session_of(bd_local_worker *w, const char *task, uint64_t but_incarnation)
{
    bd_mutex_lock(&w->mu);
    size_t pos = 0;
    void *found;
    bd_worker_session *s = NULL;
    while (!s && bd_map_next(&w->sessions, &pos, NULL, &found)) {
        s = found;
        if (s->owner.incarnation == but_incarnation || strcmp(s->owner.task, task) != 0) s = NULL;
    }
    if (s) bd_map_remove(&w->sessions, s->handle);
    bd_mutex_unlock(&w->mu);
    return s;
}

static void drop_sessions_of(bd_local_worker *w, const char *task, uint64_t but_incarnation)
{
    for (bd_worker_session *s; (s = take_session_of(w, task, but_incarnation));) {
        bd_debug("The master of session %s, %s, is gone or has restarted", s->handle, task);
        session_drop(w, s);
    }
}

void bd_local_worker_master_gone(bd_local_worker *w, const char *task)
{
    drop_sessions_of(w, task, 0); // no incarnation is 0
}

static void create_session(bd_worker *base, const char *handle, const bd_session_owner *owner,
                           bool is_isolated, bd_cancellation *cancellation, bd_worker_done_fn fn, void *arg)
{
    (void)cancellation; // does not wait
    bd_local_worker *w = of(base);
    BD_STATUS(st);
    if (!*handle) {
        bd_fail(st, BRAID_INVALID_ARGUMENT,
                "Session must be non-empty: CreateWorkerSession has no session_handle");
        done(fn, arg, st);
        return;
    }
    if (owner->task[0]) drop_sessions_of(w, owner->task, owner->incarnation);
    bd_mutex_lock(&w->mu);
    bd_worker_session *s = bd_map_get(&w->sessions, handle);
    if (s)
        s->was_created = true;
    else
        bd_map_put(&w->sessions, handle, session_new_locked(w, handle, owner, is_isolated, true));
    bd_mutex_unlock(&w->mu);
    done(fn, arg, st);
}

static void delete_session(bd_worker *base, const char *handle, bd_worker_done_fn fn, void *arg)
{
    bd_local_worker *w = of(base);
    bd_mutex_lock(&w->mu);
    bd_worker_session *s = bd_map_remove(&w->sessions, handle);
    bd_mutex_unlock(&w->mu);
    if (s) session_drop(w, s);
    BD_STATUS(ok);
    done(fn, arg, ok);
}

// The session with a reference, for a graph that is registered in it; made when masters need not create them.
static bd_worker_session *find_session(bd_local_worker *w, const char *handle, bool was_created,
                                       braid_status *st)
{
    bd_mutex_lock(&w->mu);
    bd_worker_session *s = bd_map_get(&w->sessions, handle);
    if (!s && !was_created) {
        s = session_new_locked(
            w, handle, &(bd_session_owner){.task = "", .collective_leader = "", .client = ""}, false, false);
        bd_map_put(&w->sessions, handle, s);
    }
    if (s) atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    if (s) s->registering++;
    bd_mutex_unlock(&w->mu);
    if (!s)
        bd_fail(st, BRAID_ABORTED,
                "Session handle is not found: %s. Possibly this worker (\"%s\") just restarted.", handle,
                w->peers->self->task);
    return s;
}

braid_code bd_worker_graph_find(bd_local_worker *w, const char *session_handle, const char *graph_handle,
                                bd_worker_graph **out, braid_status *st)
{
    bd_mutex_lock(&w->mu);
    const bd_worker_session *s = bd_map_get(&w->sessions, session_handle);
    bd_worker_graph *g = s ? bd_map_get(&s->graphs, graph_handle) : NULL;
    if (g) atomic_fetch_add_explicit(&g->refs, 1, memory_order_relaxed);
    bd_mutex_unlock(&w->mu);
    *out = g;
    if (g) return BRAID_OK;
    return bd_fail(st, BRAID_ABORTED,
                   "Graph handle is not found: %s. Possibly, this worker (\"%s\") just restarted.",
                   graph_handle, w->peers->self->task);
}

// Takes a session that was not created explicitly off the table when it has no graphs and none is being
// registered; the caller drops the table's reference.
static bd_worker_session *take_if_empty_locked(bd_local_worker *w, const char *handle)
{
    const bd_worker_session *s = bd_map_get(&w->sessions, handle);
    const bool is_empty = s && !s->was_created && s->registering == 0 && bd_map_count(&s->graphs) == 0;
    return is_empty ? bd_map_remove(&w->sessions, handle) : NULL;
}

// Called when a graph of the session could not be registered. Drops the reference of find_session.
static void give_up_registering(bd_local_worker *w, bd_worker_session *s)
{
    bd_mutex_lock(&w->mu);
    s->registering--;
    bd_worker_session *empty = take_if_empty_locked(w, s->handle);
    bd_mutex_unlock(&w->mu);
    if (empty) session_unref(empty);
    session_unref(s);
}

// ---- RegisterGraph ----

// *name: that of the first device of this task that matches `asked`.
static braid_code find_device(const bd_local_worker *w, const bd_worker_session *s, const char *asked,
                              const char **name, braid_status *st)
{
    const bd_local_devices *all = bd_worker_session_devices(w, s);
    bd_device_name wanted, own;
    braid_code code = bd_device_name_parse(asked, &wanted, st);
    for (int i = 0; !code && i < all->count; i++) {
        *name = all->infos[i].name;
        if (strcmp(asked, *name) == 0) return BRAID_OK;
        code = bd_device_name_parse(*name, &own, st);
        if (!code && bd_device_name_matches(&wanted, &own)) return BRAID_OK;
    }
    if (code) return code;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "It is placed on %s, which is no device of %s (%s%s%s)", asked,
                   bd_worker_session_peers(w, s)->self->task, all->infos[0].name,
                   all->count > 1 ? " to " : "", all->count > 1 ? all->infos[all->count - 1].name : "");
}

// Received nodes have their assigned device as the requested one; all must be of this task.
static braid_code assign_devices(const bd_local_worker *w, const bd_worker_session *s, braid_graph *g,
                                 braid_status *st)
{
    braid_code code = BRAID_OK;
    for (size_t i = 0; !code && i < g->nodes.len; i++) {
        braid_op *n = g->nodes.items[i];
        const char *asked = n->assigned_device ? n->assigned_device : n->device;
        code = find_device(w, s, asked, &n->assigned_device, st); // its name outlives the graph
        if (code) bd_status_prefix(st, "node '%s' (%s): ", n->name, n->op_type);
    }
    return code;
}

static bd_function_runtime *functions_new(const bd_local_worker *w, const bd_worker_session *s,
                                          bd_library *library, unsigned disabled_rewrites)
{
    return bd_function_runtime_new(library,
                                   &(bd_function_surroundings){.devices = bd_worker_session_devices(w, s),
                                                               .resources = s->resources,
                                                               .remote = s->remote_functions,
                                                               .disabled_rewrites = disabled_rewrites});
}

static bd_worker_graph *graph_new(bd_worker_session *s, bd_plan *plan)
{
    bd_worker_graph *g = bd_calloc(1, sizeof *g);
    g->handle = bd_asprintf("%016" PRIx64, bd_random_u64());
    g->session = s;
    g->plan = plan;
    atomic_init(&g->refs, 2);            // the session's and the caller's
    atomic_init(&g->held_ns, INT64_MAX); // not known: not on a thread that polls
    return g;
}

// Puts the graph into its session, unless that has been deleted meanwhile.
static braid_code publish(bd_local_worker *w, bd_worker_graph *g, braid_status *st)
{
    bd_mutex_lock(&w->mu);
    g->session->registering--;
    const bool is_there = bd_map_get(&w->sessions, g->session->handle) == g->session;
    if (is_there) bd_map_put(&g->session->graphs, g->handle, g);
    bd_mutex_unlock(&w->mu);
    if (is_there) return BRAID_OK;
    bd_worker_graph_unref(g); // the session's
    return bd_fail(st, BRAID_ABORTED, "Session handle is not found: %s. It was deleted.", g->session->handle);
}

// Compiles the graph, which is used up, and puts it into its session. Returns it with a reference, also when
// the session is gone; NULL with another error.
static bd_worker_graph *compile_graph(bd_local_worker *w, bd_worker_session *s, braid_graph *graph,
                                      unsigned disabled_rewrites, const Tensorflow__DebugOptions *debug,
                                      braid_status *st)
{
    const bd_account_turn turn = bd_account_enter(s->account);
    bd_library *library = bd_library_ref(graph->library);
    bd_plan *plan = NULL;
    bd_worker_graph *g = NULL;
    bd_charge charge = {0};
    braid_code code = bd_charge_set(&charge, bd_library_bytes(library), "A library of functions", st);
    if (!code) code = assign_devices(w, s, graph, st);
    bd_device *device = bd_worker_session_devices(w, s)->devices[0];
    if (!code)
        code = debug ? bd_debug_add_nodes(graph, debug, device->fs, st)
                     : bd_optimize(graph, disabled_rewrites, st);
    if (!code) code = bd_plan_compile(graph, device, s->kernels, &plan, st);
    if (code) {
        bd_charge_fini(&charge);
        give_up_registering(w, s);
    } else {
        g = graph_new(s, plan);
        g->charge = charge;
        g->functions = functions_new(w, s, library, disabled_rewrites);
        publish(w, g, st);
    }
    bd_library_unref(library);
    bd_account_leave(turn);
    return g;
}

void bd_local_worker_register_graph(bd_local_worker *w, const char *session_handle, bool was_created,
                                    braid_graph *graph, unsigned disabled_rewrites,
                                    const Tensorflow__DebugOptions *debug, bd_worker_graph_fn fn, void *arg)
{
    BD_STATUS(st);
    bd_worker_session *s = find_session(w, session_handle, was_created, st);
    bd_worker_graph *g = s ? compile_graph(w, s, graph, disabled_rewrites, debug, st) : NULL;
    bd_graph_fini(graph);
    bd_graph_init(graph);
    fn(arg, g && !st->code ? g->handle : NULL, st);
    bd_worker_graph_unref(g);
}

// It does not wait, so it cannot be cancelled.
static void register_graph(bd_worker *base, const char *session_handle, braid_graph *graph,
                           unsigned disabled_rewrites, const Tensorflow__DebugOptions *debug,
                           bd_cancellation *cancellation, bd_worker_graph_fn fn, void *arg)
{
    (void)cancellation;
    bd_local_worker_register_graph(of(base), session_handle, true, graph, disabled_rewrites, debug, fn, arg);
}

static void deregister_graph(bd_worker *base, const char *session_handle, const char *graph_handle,
                             bd_worker_done_fn fn, void *arg)
{
    bd_local_worker *w = of(base);
    BD_STATUS(st);
    bd_mutex_lock(&w->mu);
    bd_worker_session *s = bd_map_get(&w->sessions, session_handle);
    bd_worker_graph *g = s ? bd_map_remove(&s->graphs, graph_handle) : NULL;
    bd_worker_session *empty = take_if_empty_locked(w, session_handle);
    bd_mutex_unlock(&w->mu);
    if (!g)
        bd_fail(st, BRAID_ABORTED, "Graph handle is not found: %s. Possibly, this worker just restarted.",
                graph_handle);
    bd_worker_graph_unref(g);
    if (empty) session_unref(empty);
    done(fn, arg, st);
}

// ---- The rest ----

static void get_status(bd_worker *base, bool wait, bd_cancellation *cancellation, bd_worker_devices_fn fn,
                       void *arg)
{
    (void)wait;
    (void)cancellation;
    const bd_local_devices *all = &of(base)->devices;
    BD_STATUS(ok);
    fn(arg, all->infos, all->count, ok);
}

const char *bd_step_container(int64_t step_id, char buf[BD_STEP_CONTAINER_MAX])
{
    const size_t prefix_len = strlen(BD_STEP_CONTAINER_PREFIX);
    memcpy(buf, BD_STEP_CONTAINER_PREFIX, prefix_len);
    *bd_put_int64(buf + prefix_len, step_id) = 0;
    return buf;
}

static void cleanup_graph(bd_worker *base, int64_t step_id, bd_worker_done_fn fn, void *arg)
{
    bd_local_worker *w = of(base);
    char container[BD_STEP_CONTAINER_MAX];
    bd_step_table_cleanup(w->steps, step_id);
    bd_chunk_store_drop(w->chunk_store, step_id);
    bd_resources_clear(w->device->resources, bd_step_container(step_id, container));
    BD_STATUS(ok);
    done(fn, arg, ok);
}

static void cleanup_all(bd_worker *base, const char *const *containers, int count, const char *client,
                        bd_cancellation *cancellation, bd_worker_done_fn fn, void *arg)
{
    (void)cancellation; // does not wait, but to commit
    bd_resources *resources = bd_resources_view(of(base)->device->resources, client);
    bd_worker_commit_before(of(base), &fn, &arg);
    for (int i = 0; i < count; i++)
        bd_resources_clear(resources, containers[i]);
    if (count == 0) bd_resources_clear(resources, "");
    bd_resources_unref(resources);
    BD_STATUS(ok);
    done(fn, arg, ok);
}

static const bd_device_info *device_in(const bd_local_devices *all, const char *name, size_t len)
{
    for (int i = 0; i < all->count; i++)
        if (len == strlen(all->infos[i].name) && memcmp(name, all->infos[i].name, len) == 0)
            return &all->infos[i];
    return NULL;
}

// By the name of the task in the server's cluster, or in that of a session.
static const bd_device_info *own_device(const bd_local_worker *w, const char *name, size_t len)
{
    const bd_device_info *own = device_in(&w->devices, name, len);
    const bd_local_devices *of_sessions =
        own || !w->clusters ? NULL
                            : bd_session_clusters_devices(w->clusters, name, bd_task_name_len(name, len));
    return of_sessions ? device_in(of_sessions, name, len) : own;
}

static braid_code check_sender(const bd_local_worker *w, const char *key, size_t len, braid_status *st)
{
    bd_rendezvous_parsed_key parsed;
    const braid_code code = bd_rendezvous_key_parse(key, len, &parsed, st);
    if (code) return code;
    const bd_device_info *d = own_device(w, parsed.src_device, parsed.src_device_len);
    if (!d)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%.*s, which is to send %.*s, is no device of %s",
                       (int)parsed.src_device_len, parsed.src_device, (int)parsed.edge_len, parsed.edge,
                       w->peers->self->label);
    if (parsed.src_incarnation != d->incarnation)
        return bd_fail(
            st, BRAID_ABORTED,
            "RecvTensor expects a different device incarnation: %" PRIu64 " vs. %" PRIu64
            ". Your worker job (\"%s\") was probably restarted. Check your worker job for the reason why "
            "it was restarted.",
            parsed.src_incarnation, d->incarnation, w->peers->self->task);
    return BRAID_OK;
}

void bd_local_worker_recv_tensor(bd_local_worker *w, int64_t step_id, const char *key, bd_recv_fn fn,
                                 void *arg)
{
    BD_STATUS(st);
    const bd_rendezvous_key k = bd_rendezvous_key_of(key);
    if (check_sender(w, key, k.len, st)) {
        braid_tensor none = {0};
        fn(arg, &none, false, st);
        return;
    }
    bd_step_table_recv(w->steps, step_id, &k, fn, arg);
}

// The task that pushes a tensor; NULL with an error.
static const bd_peer *pushing_peer(const bd_local_worker *w, const char *text, size_t len, braid_status *st)
{
    bd_rendezvous_parsed_key parsed;
    if (bd_rendezvous_key_parse(text, len, &parsed, st)) return NULL;
    const bd_peer *from = bd_peers_of_device(w->peers, parsed.src_device, parsed.src_device_len);
    const bd_peer *to = bd_peers_of_device(w->peers, parsed.dst_device, parsed.dst_device_len);
    if (from && !from->is_self && to && to->is_self) return from;
    bd_fail(st, BRAID_INVALID_ARGUMENT, "%s is not to be pushed to %s", text, w->peers->self->label);
    return NULL;
}

braid_code bd_local_worker_take_pushed(bd_local_worker *w, int64_t step_id, bd_wire_reader pushed,
                                       bool *is_refused, const bd_peer **read_from, braid_status *st)
{
    bd_recv_tensor_response answer;
    char text[BD_RENDEZVOUS_KEY_LEN_MAX + 1];
    if (bd_recv_tensor_response_read(pushed, &answer, st)) {
        if (st->code == BRAID_INTERNAL) bd_fail(st, BRAID_INVALID_ARGUMENT, "A pushed tensor is malformed");
        return st->code;
    }
    const size_t len = answer.key.left;
    if (len > BD_RENDEZVOUS_KEY_LEN_MAX) {
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "PushTensors: a key is longer than %d",
                BD_RENDEZVOUS_KEY_LEN_MAX);
    } else {
        bd_wire_get_raw(&answer.key, text, len);
        text[len] = '\0';
        const bd_rendezvous_key key = bd_rendezvous_key_of(text);
        const bd_peer *peer = pushing_peer(w, text, key.len, st);
        if (peer && read_from && bd_tensor_is_set(&answer.tensor) &&
            bd_tensor_bytes(&answer.tensor) >= BD_SHARED_MEMORY_MIN)
            *read_from = peer;
        if (peer) bd_step_table_push(w->steps, step_id, peer, &key, &answer, is_refused, st);
    }
    bd_recv_tensor_response_fini(&answer);
    return st->code;
}

void bd_local_worker_begin_pushed(bd_local_worker *w, bd_continuations *c)
{
    bd_worker_count_running(w,
                            +1); // of a step that goes on here: its end may release the last reference to `w`
    bd_continuations_begin(c);
}

void bd_local_worker_end_pushed(bd_local_worker *w, bd_continuations *c)
{
    bd_continuations_end(c);
    bd_worker_count_running(w, -1);
}

bd_local_worker *bd_local_worker_of(bd_worker *base)
{
    return of(base);
}

bd_worker *bd_local_worker_base(bd_local_worker *w)
{
    return &w->base;
}

bd_local_worker *bd_local_worker_new(const bd_peers *peers, const bd_local_devices *devices,
                                     bd_timers *timers, bd_chunk_store *chunk_store,
                                     bd_task_collectives *collectives)
{
    static const bd_worker_ops ops = {
        .get_status = get_status,
        .create_session = create_session,
        .delete_session = delete_session,
        .deregister_graph = deregister_graph,
        .cleanup_graph = cleanup_graph,
        .register_graph = register_graph,
        .run_graph = bd_worker_run_graph,
        .cleanup_all = cleanup_all,
    };
    bd_local_worker *w = bd_calloc(1, sizeof *w);
    w->base.ops = &ops;
    atomic_init(&w->base.takes_pushes, true);
    w->peers = peers;
    w->devices = *devices;
    w->device = devices->devices[0];
    w->chunk_store = chunk_store;
    w->collectives = collectives;
    w->steps = bd_step_table_new(peers, timers, BD_STEP_EARLY_NS);
    bd_mutex_init(&w->mu);
    w->end = &w->first;
    bd_cond_init(&w->idle);
    return w;
}

void bd_local_worker_close(bd_local_worker *w, const braid_status *why)
{
    bd_mutex_lock(&w->mu);
    w->is_closed = true;
    bd_mutex_unlock(&w->mu);
    bd_step_table_close(w->steps, why);
}

void bd_local_worker_stop(bd_local_worker *w)
{
    bd_mutex_lock(&w->mu);
    while (w->running > 0) // ends: their tokens are cancelled and their rendezvous aborted
        bd_cond_wait(&w->idle, &w->mu);
    bd_mutex_unlock(&w->mu);
}

void bd_local_worker_free(bd_local_worker *w)
{
    if (!w) return;
    size_t pos = 0;
    void *session;
    while (bd_map_next(&w->sessions, &pos, NULL, &session))
        session_drop(w, session);
    bd_map_fini(&w->sessions);
    bd_imap_fini(&w->partial_runs);
    bd_step_table_free(w->steps);
    bd_cond_fini(&w->idle);
    bd_mutex_fini(&w->mu);
    bd_free(w);
}
