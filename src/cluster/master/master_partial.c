// Partial runs of a session: steps whose values are fed and fetched in several calls (PartialRunSetup,
// RunStep with its handle).
//
//   set up   the plan is made; nothing runs
//   running  the first call has begun the step on all its tasks; each call goes to all of them
//   ended    the last call is done, one has failed, or the session closes after the calls in progress:
//            the run is out of the table, and its tasks have been told to end the step
//
// Several calls may be in progress at once. Which of them is the last is known when it ends; only then the
// tasks are told, by RunGraphs without feeds and fetches. An error of a call's arguments is found before the
// call begins, and does not end the step.
#include "base/alloc.h"
#include "cluster/master/master_internal.h"
#include "runtime/partial_run_state.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct partial_run {
    bd_pinned_plan *kept;
    int64_t step_id;
    bd_partial_run_state calls; // guarded by the session's mu
    int in_progress;            // calls; guarded by the session's mu
    bool has_begun, has_failed; // guarded by the session's mu
    atomic_int refs;
} partial_run;

static void partial_unref(partial_run *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    bd_pinned_plan_unref(p->kept);
    bd_partial_run_state_fini(&p->calls);
    bd_free(p);
}

static void cleanup_on_tasks(const partial_run *p)
{
    const bd_master_plan *plan = p->kept->plan;
    for (int i = 0; p->has_begun && i < plan->partition_count; i++) {
        bd_worker *w = plan->partitions[i].peer->worker;
        w->ops->cleanup_graph(w, p->step_id, NULL, NULL);
    }
}

void bd_master_end_partial(bd_master_session *s, const char *handle)
{
    bd_mutex_lock(&s->mu);
    partial_run *p = bd_map_remove(&s->partial_runs, handle);
    bd_mutex_unlock(&s->mu);
    if (p) cleanup_on_tasks(p);
    partial_unref(p);
}

void bd_master_drop_partial_runs(bd_master_session *s)
{
    size_t pos = 0;
    void *found;
    while (bd_map_next(&s->partial_runs, &pos, NULL, &found)) {
        cleanup_on_tasks(found);
        partial_unref(found);
    }
    bd_map_fini(&s->partial_runs);
}

// ---- Setting up ----

typedef struct setup {
    bd_master_session *session; // a reference
    bd_run_signature signature;
    bd_master_run_args args;
    bd_pinned_plan *kept;
    void (*fn)(void *arg, const char *handle, const braid_status *st);
    void *arg;
    char handle[24];
} setup;

static partial_run *partial_new(setup *u)
{
    partial_run *p = bd_calloc(1, sizeof *p);
    p->kept = bd_pinned_plan_ref(u->kept);
    p->step_id = bd_master_draw_step_id(u->session);
    bd_partial_run_state_init(&p->calls, &u->kept->signature);
    atomic_init(&p->refs, 1);
    return p;
}

static braid_code publish(setup *u, braid_status *st)
{
    partial_run *p = partial_new(u);
    bd_master_session *s = u->session;
    bd_mutex_lock(&s->mu);
    const bool has_room = bd_map_count(&s->partial_runs) < BD_SESSION_HANDLES_MAX;
    if (has_room) {
        snprintf(u->handle, sizeof u->handle, "%" PRId64, s->next_partial++);
        bd_map_put(&s->partial_runs, u->handle, p);
    }
    bd_mutex_unlock(&s->mu);
    if (has_room) return BRAID_OK;
    partial_unref(p);
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "The session has %d partial runs: end some",
                   BD_SESSION_HANDLES_MAX);
}

static void planned(void *arg, const braid_status *from)
{
    setup *u = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code) publish(u, st);
    u->fn(u->arg, st->code ? NULL : u->handle, st);
    bd_pinned_plan_unref(u->kept);
    bd_master_session_unref(u->session);
    bd_free(u);
}

void bd_master_setup_partial_run(bd_master_session *s, const bd_run_signature *signature,
                                 bd_cancellation *cancellation,
                                 void (*fn)(void *arg, const char *handle, const braid_status *st), void *arg)
{
    setup *u = bd_calloc(1, sizeof *u);
    bd_master_session_ref(s);
    u->session = s;
    u->signature = *signature;
    u->signature.is_partial = true;
    u->args = (bd_master_run_args){.signature = &u->signature, .keeps = &u->kept};
    u->fn = fn;
    u->arg = arg;
    bd_master_run(s, &u->args, cancellation, planned, u);
}

// ---- One call ----

typedef struct call {
    bd_master_session *session; // a reference
    partial_run *partial;       // a reference
    bd_master_run_args args;
    int *positions; // among the names that were set up: feeds, then fetches
    int *order;     // indices into the feeds and fetches of the plan
    bd_run_signature nothing;
    bd_cancellation *cancellation; // not owned: until fn
    bd_master_done_fn fn;
    void *arg;
    char handle[];
} call;

static braid_code check_fetches(const call *c, braid_status *st)
{
    bd_master_session *s = c->session;
    bd_mutex_lock(&s->mu);
    bool *is_over = bd_partial_run_state_copy_over(&c->partial->calls);
    bd_mutex_unlock(&s->mu);
    bd_mutex_lock(&s->graph_mu);
    bd_partial_run_state_check(&c->partial->calls.signature, is_over, c->args.signature, c->positions,
                               &s->graph, st);
    bd_mutex_unlock(&s->graph_mu);
    bd_free(is_over);
    return st->code;
}

// ---- Beginning and end of a call ----

static void call_free(call *c)
{
    partial_unref(c->partial);
    bd_master_session_unref(c->session);
    bd_free(c->positions);
    bd_free(c->order);
    bd_free(c);
}

static void call_end(void *arg, const braid_status *st)
{
    call *c = arg;
    if (st->code || c->args.phase == BD_RUN_PARTIAL_LAST) {
        bd_mutex_lock(&c->session->mu);
        partial_run *p = bd_map_remove(&c->session->partial_runs, c->handle);
        bd_mutex_unlock(&c->session->mu);
        partial_unref(p); // the step has notified the tasks
    }
    c->fn(c->arg, st);
    call_free(c);
}

// Ends the step when all values are fed and fetched and no other call is in progress.
static void end_step(call *c)
{
    c->args.signature = &c->nothing;
    c->args.feeds = NULL;
    c->args.fetches = NULL;
    c->args.metadata = NULL;
    c->args.wants_stats = c->args.wants_partition_graphs = false;
    c->args.phase = BD_RUN_PARTIAL_LAST;
    bd_master_run(c->session, &c->args, c->cancellation, call_end, c);
}

static void call_done(void *arg, const braid_status *st)
{
    call *c = arg;
    partial_run *p = c->partial;
    bd_mutex_lock(&c->session->mu);
    p->in_progress--;
    p->has_failed = p->has_failed || st->code;
    const bool is_last = c->args.phase == BD_RUN_PARTIAL && p->calls.left == 0 && p->in_progress == 0;
    const bool ends_step = is_last && !p->has_failed;
    bd_mutex_unlock(&c->session->mu);
    if (ends_step)
        end_step(c);
    else
        call_end(c, st);
}

// Takes the feeds and fetches of the call: no other call can use them any more.
static braid_code take(call *c, braid_status *st)
{
    bd_master_session *s = c->session;
    partial_run *p = c->partial;
    const int count = c->args.signature->feed_count + c->args.signature->fetch_count;
    bd_mutex_lock(&s->mu);
    // Checks again, because another call may have taken them meanwhile.
    if (!bd_partial_run_state_find(&p->calls, c->args.signature, c->positions, st)) {
        for (int i = 0; i < count; i++)
            c->order[i] = p->kept->order[c->positions[i]];
        p->has_begun = true;
        const bool leaves_nothing = bd_partial_run_state_take(&p->calls, c->positions, count);
        const bool is_last = p->in_progress++ == 0 && leaves_nothing;
        c->args.phase = is_last ? BD_RUN_PARTIAL_LAST : BD_RUN_PARTIAL;
    }
    bd_mutex_unlock(&s->mu);
    return st->code;
}

static braid_code prepare(call *c, braid_status *st)
{
    bd_master_session *s = c->session;
    if (c->args.collective_graph_key)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "PartialRun does not support Collective ops: collective_graph_key must be "
                       "kNoCollectiveGraphKey (0)");
    bd_mutex_lock(&s->mu);
    c->partial = bd_map_get(&s->partial_runs, c->handle);
    if (c->partial) atomic_fetch_add_explicit(&c->partial->refs, 1, memory_order_relaxed);
    if (c->partial) bd_partial_run_state_find(&c->partial->calls, c->args.signature, c->positions, st);
    bd_mutex_unlock(&s->mu);
    if (!c->partial)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Must run PartialRunSetup before performing partial runs");
    if (st->code || check_fetches(c, st)) return st->code;
    return take(c, st);
}

void bd_master_run_partial(bd_master_session *s, const char *handle, const bd_master_run_args *args,
                           bd_cancellation *cancellation, bd_master_done_fn fn, void *arg)
{
    const size_t len = strlen(handle) + 1;
    const size_t count = (size_t)args->signature->feed_count + (size_t)args->signature->fetch_count;
    call *c = bd_calloc(1, sizeof *c + len);
    memcpy(c->handle, handle, len);
    bd_master_session_ref(s);
    c->session = s;
    c->args = *args;
    c->positions = bd_calloc(count, sizeof *c->positions);
    c->order = bd_calloc(count, sizeof *c->order);
    c->cancellation = cancellation;
    c->fn = fn;
    c->arg = arg;
    BD_STATUS(st);
    if (prepare(c, st)) {
        fn(arg, st);
        call_free(c);
        return;
    }
    c->args.kept = c->partial->kept;
    c->args.kept_order = c->order;
    c->args.step_id = c->partial->step_id;
    bd_master_run(s, &c->args, cancellation, call_done, c);
}
