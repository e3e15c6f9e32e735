// Partial runs of the in-process session: a step that runs in the pool and waits in its rendezvous for
// missing feeds. States:
//
//   set up   the plan is compiled and does not run
//   running  the first call has started the plan; calls put feeds into the rendezvous and wait there for
//            fetches
//   done     the plan has run, or has failed. Receives without a sender are ended
//   ended    removed from the table: the step is done and its last call has returned, or a call has failed
//            with it, or its caller abandoned it, or the session closes
//
// `refs`: one of the table, one for each call, one for the plan. Errors of a call's arguments are found
// before it starts.
#include "runtime/direct_session_internal.h"

#include "base/alloc.h"
#include "runtime/partial_run_state.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- Plans ----

// The compiled plan of a partial run: it feeds and fetches by rendezvous keys.
typedef struct partial_plan {
    bd_executable *executable;
    char **keys; // of feeds, then of fetches; NULL for a fetch that is fed
    int feed_count, fetch_count;
    atomic_int refs;
} partial_plan;

static void *plan_ref(void *plan)
{
    atomic_fetch_add_explicit(&((partial_plan *)plan)->refs, 1, memory_order_relaxed);
    return plan;
}

static void plan_unref(void *plan)
{
    partial_plan *p = plan;
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    bd_executable_unref(p->executable);
    for (int i = 0; i < p->feed_count + p->fetch_count; i++)
        bd_free(p->keys[i]);
    bd_free(p->keys);
    bd_free(p);
}

// With one device the graph is not cut, and its nodes know no incarnation.
static char *key_of(const bd_direct_session *s, const bd_endpoint *e)
{
    uint64_t incarnation = 0;
    for (int i = 0; s->device_count > 1 && i < s->device_count; i++)
        if (strcmp(s->infos[i].name, e->device) == 0) incarnation = s->infos[i].incarnation;
    return bd_endpoint_key(e, incarnation);
}

static partial_plan *plan_new(const bd_direct_session *s, const bd_client_graph *prepared)
{
    partial_plan *p = bd_calloc(1, sizeof *p);
    atomic_init(&p->refs, 1);
    p->feed_count = prepared->feed_count;
    p->fetch_count = prepared->fetch_count;
    p->keys = bd_calloc((size_t)p->feed_count + (size_t)p->fetch_count, sizeof(char *));
    for (int i = 0; i < p->feed_count; i++)
        p->keys[i] = key_of(s, &prepared->feeds[i]);
    for (int i = 0; i < p->fetch_count; i++)
        p->keys[p->feed_count + i] = key_of(s, &prepared->fetches[i]);
    return p;
}

static braid_code compile(void *arg, const bd_run_signature *signature, bd_cancellation *cancellation,
                          void **entry, braid_status *st)
{
    (void)cancellation; // does not wait
    bd_direct_session *s = arg;
    bd_client_graph prepared;
    braid_code code = bd_direct_prune(s, signature, BD_FEED_BY_RENDEZVOUS, &s->infos[0], &prepared, st);
    if (code) return code;
    partial_plan *p = plan_new(s, &prepared);
    const bd_local_devices devices = {.devices = s->devices, .infos = s->infos, .count = s->device_count};
    code = bd_executable_compile(&prepared.graph, &devices, s->disabled_rewrites, NULL, s->kernels,
                                 &p->executable, st);
    bd_client_graph_fini(&prepared);
    if (code) {
        plan_unref(p);
        return code;
    }
    *entry = p;
    return BRAID_OK;
}

const bd_plan_cache_ops bd_direct_partial_plan_ops = {
    .compile = compile, .ref = plan_ref, .unref = plan_unref};

// ---- Steps ----

typedef struct partial_run {
    bd_direct_session *session;
    partial_plan *plan;         // a reference
    int *order;                 // feed i that was set up is the plan's order[i]; fetches behind them
    bd_partial_run_state calls; // guarded by the session's mu
    bool has_begun;             // guarded by the session's mu
    bd_step step;
    char container[BD_DIRECT_CONTAINER_MAX];
    bd_mutex mu;
    bd_cond changed;     // a value has arrived, or the plan is done
    bool is_done;        // guarded by mu
    braid_status status; // of the plan; guarded by mu
    int receiving;       // values that calls wait for; guarded by mu
    int starting;        // calls that have not asked for all of their values; guarded by mu
    atomic_int refs;
} partial_run;

static void unref(partial_run *p)
{
    if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    bd_rendezvous_unref(p->step.rendezvous);
    bd_cancellation_unref(p->step.cancellation);
    bd_partial_run_state_fini(&p->calls);
    bd_status_fini(&p->status);
    bd_cond_fini(&p->changed);
    bd_mutex_fini(&p->mu);
    plan_unref(p->plan);
    bd_free(p->order);
    bd_free(p);
}

static void abort_step(partial_run *p, const braid_status *why)
{
    p->step.rendezvous->ops->abort(p->step.rendezvous, why);
}

// When the plan is done, all values are sent: the remaining receives have no sender. A call that has not
// asked for all of its values yet may find them in the rendezvous; it looks here again afterwards.
static void end_vain_receives(partial_run *p)
{
    bd_mutex_lock(&p->mu);
    const bool in_vain = p->is_done && p->starting == 0 && p->receiving > 0;
    BD_STATUS(why);
    bd_status_copy(why, &p->status);
    bd_mutex_unlock(&p->mu);
    if (!in_vain) return;
    if (!why->code)
        bd_fail(why, BRAID_INTERNAL,
                "The partial run has ended, and no node of the graph sends what is fetched");
    abort_step(p, why);
}

static void plan_done(void *arg, const braid_status *st)
{
    partial_run *p = arg;
    bd_executable_clear(p->plan->executable, p->step.container);
    if (st->code) abort_step(p, st);
    bd_mutex_lock(&p->mu);
    p->is_done = true;
    bd_status_copy(&p->status, st);
    bd_cond_broadcast(&p->changed);
    bd_mutex_unlock(&p->mu);
    end_vain_receives(p);
    unref(p);
}

static void run_plan(void *arg)
{
    partial_run *p = arg;
    bd_executable_start(p->plan->executable, &p->step, p->session->pool, plan_done, p);
}

static void begin(partial_run *p)
{
    bd_direct_session *s = p->session;
    p->step = (bd_step){.id = bd_direct_draw_step_id(s),
                        .rendezvous = bd_local_rendezvous_new(),
                        .cancellation = bd_cancellation_new(s->cancellation),
                        .pool = s->intra,
                        .collectives = &s->collectives};
    p->step.container = bd_direct_container(p->container, p->step.id);
}

static void wait_until_done(partial_run *p)
{
    bd_mutex_lock(&p->mu);
    while (!p->is_done)
        bd_cond_wait(&p->changed, &p->mu); // ends: by itself, its time limit, or its token
    bd_mutex_unlock(&p->mu);
}

// ---- One call ----

typedef struct call {
    partial_run *run; // a reference
    const bd_run_signature *signature;
    const braid_tensor *const *feeds;
    braid_tensor *fetches;
    int *positions; // indices into the feeds and fetches that were set up
    bool is_last;
    braid_status status; // guarded by run->mu
    int pending;         // values; guarded by run->mu
} call;

typedef struct receiving {
    call *call;
    int index;
} receiving;

static void received(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *from)
{
    receiving *r = arg;
    call *c = r->call;
    partial_run *p = c->run;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code && is_dead)
        bd_fail(st, BRAID_INVALID_ARGUMENT,
                "The tensor returned for %s was not valid.  Retval[%d] does not have value",
                c->signature->fetches[r->index], r->index);
    if (!st->code) bd_tensor_move(&c->fetches[r->index], tensor);
    bd_mutex_lock(&p->mu);
    bd_status_update(&c->status, st);
    p->receiving--;
    c->pending--;
    bd_cond_broadcast(&p->changed);
    bd_mutex_unlock(&p->mu);
}

static const char *plan_key(const partial_run *p, int position)
{
    const int feeds = p->calls.signature.feed_count;
    return position < feeds ? p->plan->keys[p->order[position]]
                            : p->plan->keys[p->plan->feed_count + p->order[position]];
}

static braid_code feed_all(const call *c, braid_status *st)
{
    bd_rendezvous *r = c->run->step.rendezvous;
    for (int i = 0; !st->code && i < c->signature->feed_count; i++) {
        const bd_rendezvous_key key = bd_rendezvous_key_of(plan_key(c->run, c->positions[i]));
        r->ops->send(r, &key, c->feeds[i], false, st);
    }
    return st->code;
}

static void receive_all(call *c, receiving *receivings)
{
    partial_run *p = c->run;
    bd_rendezvous *r = p->step.rendezvous;
    const int count = c->signature->fetch_count;
    bd_mutex_lock(&p->mu);
    c->pending = count;
    p->receiving += count;
    p->starting++;
    bd_mutex_unlock(&p->mu);
    for (int i = 0; i < count; i++) {
        receivings[i] = (receiving){c, i};
        const bd_rendezvous_key key =
            bd_rendezvous_key_of(plan_key(p, c->positions[c->signature->feed_count + i]));
        r->ops->recv(r, &key, received, &receivings[i]);
    }
    bd_mutex_lock(&p->mu);
    p->starting--;
    bd_mutex_unlock(&p->mu);
    end_vain_receives(p);
}

static void cancel_step(partial_run *p, const braid_status *why)
{
    BD_STATUS(derived);
    bd_status_copy(derived, why);
    derived->derived = true;
    bd_cancellation_cancel(p->step.cancellation, derived);
    abort_step(p, derived);
}

static void wait_for_values(call *c, braid_status *st)
{
    partial_run *p = c->run;
    bd_mutex_lock(&p->mu);
    bd_status_update(&c->status, st); // of the feeds
    while (c->pending > 0)
        bd_cond_wait(&p->changed, &p->mu); // ends: with the value, or with the plan
    bd_status_move(st, &c->status);
    bd_mutex_unlock(&p->mu);
}

// Waits for the values, and for the plan if this is the last call or the call has failed: the plan's error
// then has precedence, except over errors of the call itself.
static braid_code wait_for(call *c, braid_status *st)
{
    partial_run *p = c->run;
    wait_for_values(c, st);
    if (st->code) cancel_step(p, st);
    if (st->code || c->is_last) wait_until_done(p);
    bd_mutex_lock(&p->mu);
    if (p->is_done && p->status.code && (!st->code || st->derived)) bd_status_copy(st, &p->status);
    bd_mutex_unlock(&p->mu);
    st->derived = false;
    return st->code;
}

typedef struct call_hook {
    bd_cancel_hook base;
    partial_run *run;
} call_hook;

static void call_cancelled(bd_cancel_hook *base, const braid_status *why)
{
    bd_cancellation_cancel(BD_CONTAINER_OF(base, call_hook, base)->run->step.cancellation, why);
}

// `cancellation`: of the call; NULL: none.
static braid_code run_call(call *c, int64_t timeout_ms, bd_cancellation *cancellation, braid_status *st)
{
    partial_run *p = c->run;
    bd_direct_limit limit;
    call_hook hook = {.base = {.fn = call_cancelled}, .run = p};
    if (cancellation && !bd_cancellation_add(cancellation, &hook.base)) {
        BD_STATUS(why);
        bd_cancellation_status(cancellation, why);
        call_cancelled(&hook.base, why);
    }
    receiving *receivings = bd_calloc((size_t)c->signature->fetch_count, sizeof *receivings);
    bd_direct_limit_start(p->session, &limit, p->step.cancellation, timeout_ms, st);
    if (!st->code && !feed_all(c, st)) receive_all(c, receivings);
    wait_for(c, st);
    bd_direct_limit_end(&limit);
    if (cancellation) bd_cancellation_remove(cancellation, &hook.base);
    for (int i = 0; st->code && i < c->signature->fetch_count; i++)
        bd_tensor_fini(&c->fetches[i]);
    bd_free(receivings);
    return st->code;
}

// ---- The table ----

static partial_run *find(bd_direct_session *s, const char *handle)
{
    bd_mutex_lock(&s->mu);
    partial_run *p = bd_map_get(&s->partial_runs, handle);
    if (p) atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    bd_mutex_unlock(&s->mu);
    return p;
}

static void take_out(bd_direct_session *s, const char *handle)
{
    bd_mutex_lock(&s->mu);
    partial_run *p = bd_map_remove(&s->partial_runs, handle);
    bd_mutex_unlock(&s->mu);
    if (p) unref(p);
}

static braid_code check_fetches(const call *c, braid_status *st)
{
    bd_direct_session *s = c->run->session;
    bd_mutex_lock(&s->mu);
    bool *is_over = bd_partial_run_state_copy_over(&c->run->calls);
    bd_mutex_unlock(&s->mu);
    bd_mutex_lock(&s->graph_mu);
    bd_partial_run_state_check(&c->run->calls.signature, is_over, c->signature, c->positions, &s->graph, st);
    bd_mutex_unlock(&s->graph_mu);
    bd_free(is_over);
    return st->code;
}

// Takes the feeds and fetches of the call, and starts the step with the first call.
static braid_code take(call *c, braid_status *st)
{
    partial_run *p = c->run;
    bd_direct_session *s = p->session;
    const int count = c->signature->feed_count + c->signature->fetch_count;
    bool begins = false;
    bd_mutex_lock(&s->mu);
    if (!bd_partial_run_state_find(&p->calls, c->signature, c->positions, st)) {
        c->is_last = bd_partial_run_state_take(&p->calls, c->positions, count);
        begins = !p->has_begun;
        p->has_begun = true;
    }
    bd_mutex_unlock(&s->mu);
    if (!begins) return st->code;
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    if (!bd_thread_pool_submit(s->pool, run_plan, p)) run_plan(p);
    return BRAID_OK;
}

static braid_code prepare(call *c, braid_status *st)
{
    bd_direct_session *s = c->run->session;
    bd_mutex_lock(&s->mu);
    bd_partial_run_state_find(&c->run->calls, c->signature, c->positions, st);
    bd_mutex_unlock(&s->mu);
    if (st->code || check_fetches(c, st)) return st->code;
    return take(c, st);
}

braid_code bd_direct_run_partial(bd_session *base, const char *handle, const bd_session_run *run,
                                 braid_status *st)
{
    const bd_run_signature *signature = run->signature;
    bd_direct_session *s = bd_direct_of(base);
    call c = {.signature = signature, .feeds = run->feeds, .fetches = run->fetches};
    c.run = find(s, handle);
    if (!c.run)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Must run PartialRunSetup before performing partial runs");
    c.positions =
        bd_calloc((size_t)signature->feed_count + (size_t)signature->fetch_count, sizeof *c.positions);
    if (!prepare(&c, st) && (run_call(&c, run->timeout_ms, run->cancellation, st) || c.is_last))
        take_out(s, handle);
    bd_free(c.positions);
    bd_status_fini(&c.status);
    unref(c.run);
    return st->code;
}

// ---- Setting up, giving up ----

static partial_run *partial_new(bd_direct_session *s, const bd_run_signature *signature, braid_status *st)
{
    const size_t values = (size_t)signature->feed_count + (size_t)signature->fetch_count;
    int *order = bd_calloc(values, sizeof *order);
    void *plan;
    if (bd_plan_cache_get(s->partial_plans, signature, NULL, &plan, order, st)) {
        bd_free(order);
        return NULL;
    }
    partial_run *p = bd_calloc(1, sizeof *p);
    p->session = s;
    p->plan = plan;
    p->order = order;
    bd_partial_run_state_init(&p->calls, signature);
    bd_mutex_init(&p->mu);
    bd_cond_init(&p->changed);
    atomic_init(&p->refs, 1);
    begin(p);
    return p;
}

braid_code bd_direct_setup_partial_run(bd_session *base, const bd_run_signature *asked, char **handle,
                                       braid_status *st)
{
    bd_direct_session *s = bd_direct_of(base);
    bd_run_signature signature = *asked;
    signature.is_partial = true;
    partial_run *p = partial_new(s, &signature, st);
    if (!p) return st->code;
    char *name = NULL;
    bd_mutex_lock(&s->mu);
    if (bd_map_count(&s->partial_runs) < BD_SESSION_HANDLES_MAX) {
        name = bd_asprintf("%" PRId64, s->partial_runs_made++);
        bd_map_put(&s->partial_runs, name, p);
    }
    bd_mutex_unlock(&s->mu);
    if (!name) {
        unref(p);
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "The session has %d partial runs: end some",
                       BD_SESSION_HANDLES_MAX);
    }
    *handle = name;
    return BRAID_OK;
}

// The step has no call in progress, and is out of the table.
static void give_up(partial_run *p)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "The partial run was given up");
    if (p->has_begun) {
        cancel_step(p, why);
        wait_until_done(p);
    }
    unref(p);
}

void bd_direct_end_partial_run(bd_session *base, const char *handle)
{
    bd_direct_session *s = bd_direct_of(base);
    bd_mutex_lock(&s->mu);
    partial_run *p = bd_map_remove(&s->partial_runs, handle);
    bd_mutex_unlock(&s->mu);
    if (p) give_up(p);
}

void bd_direct_end_partial_runs(bd_direct_session *s)
{
    size_t pos = 0;
    void *p;
    while (bd_map_next(&s->partial_runs, &pos, NULL, &p))
        give_up(p);
    bd_map_fini(&s->partial_runs);
}
