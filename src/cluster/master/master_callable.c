// Callables of a session: signatures that are planned once and run by number.
//
// Making one is a step that ends when its plan is there, so that closing the session, the session's timeout
// and the client end it as any step. The callable's own timeout is that of its runs. The plan stays
// registered on its tasks while the callable is there or runs, however many other plans are made.
#include "base/alloc.h"
#include "cluster/master/master_internal.h"

struct bd_callable {
    bd_pinned_plan *kept;
    int64_t timeout_ms, collective_graph_key;
    bool wants_stats, wants_partition_graphs;
    atomic_int refs;
};

void bd_callable_unref(bd_callable *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    bd_pinned_plan_unref(c->kept);
    bd_free(c);
}

// ---- Making ----

typedef struct making {
    bd_master_session *session; // a reference
    bd_master_run_args args;
    int64_t timeout_ms; // of a run
    bd_pinned_plan *kept;
    void (*fn)(void *arg, int64_t handle, const braid_status *st);
    void *arg;
} making;

static int64_t publish(making *m, braid_status *st)
{
    bd_callable *c = bd_calloc(1, sizeof *c);
    c->kept = bd_pinned_plan_ref(m->kept);
    c->timeout_ms = m->timeout_ms;
    c->collective_graph_key = m->args.collective_graph_key;
    c->wants_stats = m->args.wants_stats;
    c->wants_partition_graphs = m->args.wants_partition_graphs;
    atomic_init(&c->refs, 1);
    bd_master_session *s = m->session;
    int64_t handle = -1;
    bd_mutex_lock(&s->mu);
    if (bd_imap_count(&s->callables) < BD_SESSION_HANDLES_MAX) {
        handle = s->next_callable++;
        bd_imap_put(&s->callables, (uint64_t)handle, c);
    }
    bd_mutex_unlock(&s->mu);
    if (handle >= 0) return handle;
    bd_callable_unref(c);
    bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "The session has %d callables: release some",
            BD_SESSION_HANDLES_MAX);
    return handle;
}

static void planned(void *arg, const braid_status *from)
{
    making *m = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    const int64_t handle = st->code ? -1 : publish(m, st);
    m->fn(m->arg, handle, st);
    bd_pinned_plan_unref(m->kept);
    bd_master_session_unref(m->session);
    bd_free(m);
}

void bd_master_make_callable(bd_master_session *s, const bd_master_run_args *args,
                             bd_cancellation *cancellation,
                             void (*fn)(void *arg, int64_t handle, const braid_status *st), void *arg)
{
    making *m = bd_calloc(1, sizeof *m);
    bd_master_session_ref(s);
    m->session = s;
    m->args = *args;
    m->args.keeps = &m->kept;
    m->args.timeout_ms = 0; // the session's
    m->timeout_ms = args->timeout_ms;
    m->fn = fn;
    m->arg = arg;
    bd_master_run(s, &m->args, cancellation, planned, m);
}

// ---- Running and releasing ----

bd_callable *bd_master_find_callable(bd_master_session *s, int64_t handle, braid_status *st)
{
    bd_mutex_lock(&s->mu);
    bd_callable *c = bd_imap_get(&s->callables, (uint64_t)handle);
    const bool was_made = handle >= 0 && handle < s->next_callable;
    if (c) atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    bd_mutex_unlock(&s->mu);
    if (c) return c;
    bd_fail(st, BRAID_INVALID_ARGUMENT,
            was_made ? "Attempted to run callable after handle was released: %lld"
                     : "No such callable handle: %lld",
            (long long)handle);
    return NULL;
}

bd_master_run_args bd_callable_args(const bd_callable *c)
{
    return (bd_master_run_args){
        .signature = &c->kept->signature,
        .timeout_ms = c->timeout_ms,
        .collective_graph_key = c->collective_graph_key,
        .wants_stats = c->wants_stats,
        .wants_partition_graphs = c->wants_partition_graphs,
        .kept = c->kept,
        .kept_order = c->kept->order,
    };
}

void bd_master_release_callable(bd_master_session *s, int64_t handle)
{
    bd_mutex_lock(&s->mu);
    bd_callable *c = bd_imap_remove(&s->callables, (uint64_t)handle);
    bd_mutex_unlock(&s->mu);
    bd_callable_unref(c);
}

void bd_master_drop_callables(bd_master_session *s)
{
    size_t pos = 0;
    void *found;
    while (bd_imap_next(&s->callables, &pos, NULL, &found))
        bd_callable_unref(found);
    bd_imap_fini(&s->callables);
}
