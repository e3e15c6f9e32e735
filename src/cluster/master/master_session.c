// A session of the master: its graph, placed over the session's tasks, and the count of its steps.
//
// The graph grows under graph_mu, all or nothing: nodes that cannot be placed are removed again. Existing
// nodes never change, so plans made from them stay valid.
//
// open -> closing (bd_master_close_session): no step begins; steps in progress are cancelled; the last one
// that ends completes the close.
#include "base/alloc.h"
#include "base/check.h"
#include "cluster/master/master_internal.h"
#include "graph/graph_def_external.h"
#include "graph/lower.h"
#include "runtime/placer.h"
#include <inttypes.h>
#include <string.h>

void bd_master_session_ref(bd_master_session *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}

void bd_master_session_unref(bd_master_session *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
    bd_master_drop_callables(s);
    bd_plan_cache_free(s->plans);
    bd_graph_fini(&s->graph);
    bd_charge_fini(&s->charge);
    bd_found_tasks_fini(&s->tasks);
    bd_cancellation_unref(s->cancellation);
    bd_mutex_fini(&s->graph_mu);
    bd_mutex_fini(&s->mu);
    bd_session_cluster_unref(s->cluster);
    bd_free(s->devices);
    bd_free(s->caller);
    bd_free(s->handle);
    bd_free(s);
}

const char *bd_master_session_handle(const bd_master_session *s)
{
    return s->handle;
}

bd_cancellation *bd_master_session_cancellation(bd_master_session *s)
{
    return s->cancellation;
}

// ---- The graph ----

static braid_code place_locked(bd_master_session *s, int from, braid_status *st)
{
    const bd_placer_options options = {
        .devices = s->devices,
        .device_count = s->device_count,
        .default_device = s->client->name,
        .allow_soft_placement = s->allow_soft_placement || s->place_pruned_graph,
        .log_soft_placement = s->allow_soft_placement,
        .log_device_placement = s->log_device_placement,
    };
    return bd_place(&s->graph, from, &options, st);
}

// What the graph takes counts in the account of this thread.
static braid_code charge_locked(bd_master_session *s, braid_status *st)
{
    const size_t bytes = bd_graph_bytes(&s->graph) + bd_library_bytes(s->graph.library);
    return bd_charge_set(&s->charge, bytes, "The graph of the session", st);
}

// Removes what was added since `mark`, and the functions that `library`, the graph's previous one, does not
// have.
static void forget_locked(bd_master_session *s, const bd_graph_mark *mark, bd_library *library)
{
    bd_graph_rewind(&s->graph, mark);
    bd_library_unref(s->graph.library);
    s->graph.library = bd_library_ref(library);
}

static braid_code add_locked(bd_master_session *s, const bd_message *graph_def, braid_status *st)
{
    const bd_graph_mark mark = bd_graph_get_mark(&s->graph);
    bd_library *library = bd_library_ref(s->graph.library);
    braid_code code = bd_graph_import_message(&s->graph, graph_def, st);
    if (!code) bd_graph_lower(&s->graph, (int)mark.nodes);
    if (!code) code = place_locked(s, (int)mark.nodes, st);
    if (!code) code = charge_locked(s, st);
    if (code) forget_locked(s, &mark, library);
    bd_library_unref(library);
    return code;
}

braid_code bd_master_extend(bd_master_session *s, const bd_message *graph_def, int64_t *version,
                            braid_status *st)
{
    bd_mutex_lock(&s->graph_mu);
    const bd_account_turn turn = bd_account_enter(bd_master_account(s->master, &s->owner));
    braid_code code = BRAID_OK;
    if (*version >= 0 && *version != s->version)
        code = bd_fail(st, BRAID_ABORTED, "Current version is %" PRId64 " but caller expected %" PRId64 ".",
                       s->version, *version);
    if (!code) code = bd_graph_def_check_external(graph_def, st);
    if (!code) code = add_locked(s, graph_def, st);
    bd_account_explain(st);
    bd_account_leave(turn);
    if (!code) s->version++;
    *version = s->version;
    bd_mutex_unlock(&s->graph_mu);
    return code;
}

// ---- Beginning ----

static void list_devices(bd_master_session *s)
{
    s->device_count = 0;
    for (int i = 0; i < s->tasks.count; i++)
        s->device_count += s->tasks.items[i].device_count;
    s->devices = bd_calloc((size_t)s->device_count, sizeof *s->devices);
    int at = 0;
    for (int own = 1; own >= 0; own--)
        for (int i = 0; i < s->tasks.count; i++) {
            const bd_found_task *task = &s->tasks.items[i];
            if (task->peer->is_self != (own == 1)) continue;
            for (int d = 0; d < task->device_count; d++)
                s->devices[at++] = task->devices[d];
        }
    s->client = &s->devices[0];
}

const bd_peers *bd_master_peers(const bd_master *m, const bd_session_cluster *cluster)
{
    return cluster ? &cluster->peers : m->env.peers;
}

const bd_peer *bd_master_leader(const bd_master *m, const bd_session_config *config, braid_status *st)
{
    const char *name = config->collective_leader;
    if (!name || !name[0]) return NULL;
    if (config->cluster) {
        bd_fail(st, BRAID_INVALID_ARGUMENT,
                "ConfigProto.experimental.collective_group_leader: collectives need the cluster that the "
                "servers were started with, and ConfigProto.cluster_def names another one");
        return NULL;
    }
    const bd_peer *leader = bd_peers_of_device(m->env.peers, name, strlen(name));
    if (!leader)
        bd_fail(st, BRAID_INVALID_ARGUMENT,
                "ConfigProto.experimental.collective_group_leader: %.256s is no task of the cluster", name);
    return leader;
}

bd_master_session *bd_master_session_new(bd_master *m, bd_found_tasks *tasks, const bd_session_config *config)
{
    bd_master_session *s = bd_calloc(1, sizeof *s);
    s->master = m;
    s->handle = bd_asprintf("%016" PRIx64, bd_random_u64());
    s->cluster = bd_session_cluster_ref(config->cluster);
    s->peers = bd_master_peers(m, config->cluster);
    s->allow_soft_placement = config->allow_soft_placement;
    s->place_pruned_graph = config->place_pruned_graph;
    s->sends_bfloat16 = config->sends_bfloat16;
    s->log_device_placement = config->log_device_placement;
    s->operation_timeout_ms = config->operation_timeout_ms;
    s->disabled_rewrites = config->disabled_rewrites;
    s->cost_model_every = config->cost_model_every;
    s->cost_model_after = config->cost_model_after;
    s->tasks = *tasks;
    *tasks = (bd_found_tasks){0};
    s->cancellation = bd_cancellation_new(m->env.cancellation);
    s->plans = bd_plan_cache_new(&bd_master_plan_ops, s, BD_SESSION_PLANS_MAX);
    s->rng = bd_rng_init(bd_random_u64());
    s->created_ns = bd_now_ns();
    s->steps.next = s->steps.prev = &s->steps;
    atomic_init(&s->refs, 1);
    bd_mutex_init(&s->graph_mu);
    bd_mutex_init(&s->mu);
    bd_graph_init(&s->graph);
    list_devices(s);
    return s;
}

void bd_master_session_leave_out(bd_master_session *s, const bool *flags)
{
    int kept = 0;
    for (int i = 0; i < s->tasks.count; i++)
        if (!flags[i]) s->tasks.items[kept++] = s->tasks.items[i];
    s->tasks.count = kept;
    bd_free(s->devices);
    list_devices(s);
}

braid_code bd_master_session_place(bd_master_session *s, braid_graph *graph, braid_status *st)
{
    bd_mutex_lock(&s->graph_mu);
    bd_graph_fini(&s->graph);
    s->graph = *graph;
    bd_graph_init(graph);
    for (size_t i = 0; i < s->graph.nodes.len; i++)
        s->graph.nodes.items[i]->graph = &s->graph;
    bd_graph_lower(&s->graph, 0);
    braid_code code = place_locked(s, 0, st);
    if (!code) code = charge_locked(s, st);
    bd_mutex_unlock(&s->graph_mu);
    return code;
}

// ---- Steps in progress ----

bool bd_master_session_enter(bd_master_session *s, bd_listed_step *step, braid_status *st)
{
    bd_mutex_lock(&s->mu);
    const bool is_open = !s->is_closing;
    if (is_open) {
        s->running++;
        bd_master_list_step_locked(s, step);
    }
    bd_mutex_unlock(&s->mu);
    if (!is_open) bd_fail(st, BRAID_CANCELLED, "Session has been closed.");
    return is_open;
}

void bd_master_session_leave(bd_master_session *s)
{
    bd_master_done_fn fn = NULL;
    void *arg = NULL;
    bd_mutex_lock(&s->mu);
    // The idle time of the session starts now.
    if (!s->was_held) atomic_store_explicit(&s->last_use_ns, bd_now_ns(), memory_order_relaxed);
    if (--s->running == 0 && s->is_closing) {
        fn = s->closed_fn;
        arg = s->closed_arg;
        s->closed_fn = NULL;
    }
    bd_mutex_unlock(&s->mu);
    BD_STATUS(ok);
    if (fn) fn(arg, ok);
}
