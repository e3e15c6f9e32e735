// Partial runs of a session: steps whose values are fed and fetched in several calls (PartialRunSetup, RunStep with its handle).
//
// set up   the plan is there; nothing runs
// running  the first call has begun the step on all its tasks; each call goes to all of them
// ended    the last call is over, or one has failed: out of the table, and the tasks have been told. So it is when the session
//          closes, after the calls in progress
// Several calls may be in progress at once. What is wrong with a call itself is found before it begins, and does not end the step.
#include "base/alloc.h"
#include "cluster/master_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct partial_run {
    bd_kept_plan *kept;
    int64_t step_id;
    bool *
        is_over; // whether each feed was fed and each fetch fetched, feeds first; guarded by the session's mu
    int left;    // how many were not; guarded by the session's mu
    bool has_begun; // guarded by the session's mu
    atomic_int refs;
} partial_run;

static void partial_unref(partial_run *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    bd_kept_plan_unref(p->kept);
    bd_free(p->is_over);
    bd_free(p);
}

static void tell_tasks(const partial_run *p)
{
    const bd_master_plan *plan = p->kept->plan;
    for (int i = 0; p->has_begun && i < plan->part_count; i++) {
        bd_worker *w = plan->parts[i].peer->worker;
        w->ops->cleanup_graph(w, p->step_id, NULL, NULL);
    }
}

void bd_master_end_partial(bd_master_session *s, const char *handle)
{
    bd_mutex_lock(&s->mu);
    partial_run *p = bd_map_remove(&s->partial_runs, handle);
    bd_mutex_unlock(&s->mu);
    if (p) tell_tasks(p);
    partial_unref(p);
}

void bd_master_drop_partial_runs(bd_master_session *s)
{
    size_t pos = 0;
    void *found;
    while (bd_map_next(&s->partial_runs, &pos, NULL, &found)) {
        tell_tasks(found);
        partial_unref(found);
    }
    bd_map_fini(&s->partial_runs);
}

// ---- Setting up ----

typedef struct setup {
    bd_master_session *session; // a reference
    bd_run_signature signature;
    bd_master_run_args args;
    bd_kept_plan *kept;
    void (*fn)(void *arg, const char *handle, const braid_status *st);
    void *arg;
    char handle[24];
} setup;

static partial_run *partial_new(setup *u)
{
    const bd_run_signature *signature = &u->kept->signature;
    partial_run *p = bd_calloc(1, sizeof *p);
    p->kept = bd_kept_plan_ref(u->kept);
    p->step_id = bd_master_draw_step_id(u->session);
    p->left = signature->feed_count + signature->fetch_count;
    p->is_over = bd_calloc((size_t)p->left, sizeof *p->is_over);
    atomic_init(&p->refs, 1);
    return p;
}

static braid_code publish(setup *u, braid_status *st)
{
    partial_run *p = partial_new(u);
    bd_master_session *s = u->session;
    bd_mutex_lock(&s->mu);
    const bool has_room = bd_map_count(&s->partial_runs) < BD_MASTER_KEPT_MAX;
    if (has_room) {
        snprintf(u->handle, sizeof u->handle, "%" PRId64, s->next_partial++);
        bd_map_put(&s->partial_runs, u->handle, p);
    }
    bd_mutex_unlock(&s->mu);
    if (has_room) return BRAID_OK;
    partial_unref(p);
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "The session has %d partial runs: end some",
                   BD_MASTER_KEPT_MAX);
}

static void planned(void *arg, const braid_status *from)
{
    setup *u = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code) publish(u, st);
    u->fn(u->arg, st->code ? NULL : u->handle, st);
    bd_kept_plan_unref(u->kept);
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
    int *order;     // among those of the plan
    bd_master_done_fn fn;
    void *arg;
    char handle[];
} call;

static int position(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

static braid_code check_names(call *c, const char *what, const char *again, const char *const *names,
                              int name_count, const char *const *known, int known_count, int first,
                              int *positions, braid_status *st)
{
    for (int i = 0; i < name_count; i++) {
        const int at = position(known, known_count, names[i]);
        if (at < 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "The %s %s was not specified in partial_run_setup.",
                           what, names[i]);
        bool is_over = c->partial->is_over[first + at];
        for (int k = 0; k < i; k++)
            is_over = is_over || positions[k] == first + at;
        if (is_over)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "The %s %s has already been %s.", what, names[i],
                           again);
        positions[i] = first + at;
    }
    return BRAID_OK;
}

static braid_code find_positions_locked(call *c, braid_status *st)
{
    const bd_run_signature *known = &c->partial->kept->signature, *mine = c->args.signature;
    if (check_names(c, "feed", "fed", mine->feeds, mine->feed_count, known->feeds, known->feed_count, 0,
                    c->positions, st))
        return st->code;
    return check_names(c, "fetch", "fetched", mine->fetches, mine->fetch_count, known->fetches,
                       known->fetch_count, known->feed_count, c->positions + mine->feed_count, st);
}

static bool is_fed_now(const call *c, int feed)
{
    for (int i = 0; i < c->args.signature->feed_count; i++)
        if (c->positions[i] == feed) return true;
    return false;
}

// ---- Whether a call can compute what it fetches ----

typedef struct search {
    const braid_graph *graph;
    braid_out *missing; // feeds that have no value yet
    int missing_count;
    bool *seen; // [nodes]
    BD_ARRAY(const braid_op *) open;
} search;

static void visit(search *s, const braid_op *n)
{
    if (s->seen[n->id]) return;
    s->seen[n->id] = true;
    bd_array_push(&s->open, n);
}

static braid_code check_out(const search *s, braid_out out, braid_status *st)
{
    for (int i = 0; i < s->missing_count; i++)
        if (s->missing[i].op == out.op && s->missing[i].index == out.index)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Fetch %s:%d can't be computed from the feeds that have been fed so far.",
                           out.op->name, out.index);
    return BRAID_OK;
}

// As in TensorFlow, whatever is above a fetch in the graph counts, also what is above a feed.
static braid_code search_up(search *s, braid_status *st)
{
    while (s->open.len) {
        const braid_op *n = s->open.items[--s->open.len];
        for (int i = 0; i < n->input_count; i++) {
            if (check_out(s, n->inputs[i], st)) return st->code;
            visit(s, n->inputs[i].op);
        }
        for (int i = 0; i < n->control_count; i++)
            visit(s, n->controls[i]);
    }
    return BRAID_OK;
}

static braid_code check_fetches_locked(const call *c, const bool *is_over, braid_status *st)
{
    const bd_run_signature *known = &c->partial->kept->signature, *mine = c->args.signature;
    const braid_graph *g = &c->session->graph;
    search s = {.graph = g};
    s.missing = bd_calloc((size_t)known->feed_count, sizeof *s.missing);
    s.seen = bd_calloc(g->nodes.len, sizeof *s.seen);
    for (int i = 0; i < known->feed_count; i++)
        if (!is_over[i] && !is_fed_now(c, i))
            s.missing[s.missing_count++] = braid_graph_find_out(g, known->feeds[i]);
    for (int i = 0; i < mine->fetch_count && !st->code; i++) {
        const braid_out out = braid_graph_find_out(g, mine->fetches[i]);
        if (!check_out(&s, out, st)) visit(&s, out.op);
    }
    if (!st->code) search_up(&s, st);
    bd_array_free(&s.open);
    bd_free(s.seen);
    bd_free(s.missing);
    return st->code;
}

static braid_code check_fetches(const call *c, braid_status *st)
{
    bd_master_session *s = c->session;
    const bd_run_signature *known = &c->partial->kept->signature;
    const size_t count = (size_t)known->feed_count + (size_t)known->fetch_count;
    bd_mutex_lock(&s->mu);
    bool *is_over = bd_memdup(c->partial->is_over, count * sizeof *is_over);
    bd_mutex_unlock(&s->mu);
    bd_mutex_lock(&s->graph_mu);
    check_fetches_locked(c, is_over, st);
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

static void call_done(void *arg, const braid_status *st)
{
    call *c = arg;
    if (st->code || c->args.phase == BD_RUN_PARTIAL_LAST) {
        bd_mutex_lock(&c->session->mu);
        partial_run *p = bd_map_remove(&c->session->partial_runs, c->handle);
        bd_mutex_unlock(&c->session->mu);
        partial_unref(p); // the step has told the tasks
    }
    c->fn(c->arg, st);
    call_free(c);
}

// What the call is about is taken: no other call can have it any more.
static braid_code take(call *c, braid_status *st)
{
    bd_master_session *s = c->session;
    partial_run *p = c->partial;
    const int count = c->args.signature->feed_count + c->args.signature->fetch_count;
    bd_mutex_lock(&s->mu);
    if (!find_positions_locked(c, st)) { // again: another call may have come meanwhile
        for (int i = 0; i < count; i++) {
            p->is_over[c->positions[i]] = true;
            c->order[i] = p->kept->order[c->positions[i]];
        }
        p->left -= count;
        p->has_begun = true;
        c->args.phase = p->left == 0 ? BD_RUN_PARTIAL_LAST : BD_RUN_PARTIAL;
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
    if (c->partial) find_positions_locked(c, st);
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
