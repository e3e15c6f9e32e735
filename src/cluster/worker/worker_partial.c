// A step of partial runs on this task: one execution of a graph that several RunGraphs feed and fetch from.
//
//   begun   the first RunGraph of the step has begun the plan, which waits in the rendezvous for missing
//           feeds
//   done    the plan has run, or has failed: the rendezvous is then aborted. Receivers of tensors without a
//           sender are ended
//   over    the last RunGraph is answered, or the step was cleaned up (CleanupGraph, the end of its session
//           or of the server): a plan that still runs is cancelled
//   ended   done and over: out of the table
//
// A cancelled RunGraph cancels the whole step, as in TensorFlow. `refs`: the table's, one for each call, one
// for the plan.
#include "base/alloc.h"
#include "base/slab.h"
#include "cluster/worker/local_worker_internal.h"
#include "cluster/worker/remote_rendezvous.h"

typedef struct call call;

typedef struct partial {
    bd_local_worker *w;
    bd_worker_step base;
    bd_mutex mu;
    braid_status status;           // of the plan; guarded by mu
    bool is_done, is_over, is_out; // guarded by mu
    int receiving;                 // values that calls wait for; guarded by mu
    int starting;                  // calls that have not asked for all of their values; guarded by mu
    call *waiting;                 // for the end of the plan; guarded by mu
    atomic_int refs;
} partial;

struct call {
    partial *p; // a reference
    bd_run_graph *run;
    bd_worker_done_fn fn;
    void *arg;
    bd_cancellation *caller; // not owned: until fn
    bd_cancel_hook hook;
    braid_status status; // guarded by p->mu
    int pending;         // values, plus one of the thread that starts to receive them; guarded by p->mu
    call *next;          // in the list of calls that wait for the plan; guarded by p->mu
};

typedef struct receiving {
    call *call;
    int index;
} receiving;

static void partial_unref(partial *p)
{
    if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    bd_worker_step_fini(&p->base);
    bd_status_fini(&p->status);
    bd_mutex_fini(&p->mu);
    bd_free(p);
}

// Cancels the waits and nodes of the step with a derived error, also for other holders of the rendezvous.
static void cancel(partial *p, const braid_status *from)
{
    BD_STATUS(why);
    bd_status_copy(why, from);
    why->derived = true;
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    bd_cancellation_cancel(p->base.step.cancellation, why);
    p->base.rendezvous->ops->abort(p->base.rendezvous, why);
    partial_unref(p);
}

// Takes the step off the table when it is done and over. Call it without mu.
static void end_if_over(partial *p)
{
    bd_local_worker *w = p->w;
    bd_mutex_lock(&p->mu);
    const bool ends = p->is_done && p->is_over && !p->is_out;
    const bool succeeded = p->status.code == BRAID_OK;
    if (ends) p->is_out = true;
    bd_mutex_unlock(&p->mu);
    if (!ends) return;
    bd_mutex_lock(&w->mu);
    bd_imap_remove(&w->partial_runs, (uint64_t)p->base.step.id);
    bd_worker_step_unlist_locked(w, &p->base, !succeeded);
    bd_mutex_unlock(&w->mu);
    bd_cancellation_remove(p->base.step_cancellation, &p->base.hook);
    bd_step_table_end(w->steps, p->base.step.id, succeeded);
    bd_resources_clear(p->base.step.resources, p->base.container);
    partial_unref(p); // the table's
    bd_worker_count_running(w, -1);
}

static void set_over(partial *p)
{
    bd_mutex_lock(&p->mu);
    p->is_over = true;
    bd_mutex_unlock(&p->mu);
    end_if_over(p);
}

// ---- One call ----

static void call_end(call *c)
{
    partial *p = c->p;
    const bd_run_graph *run = c->run;
    bd_cancellation_remove(c->caller, &c->hook);
    for (int i = 0; c->status.code && i < run->recv_count; i++)
        bd_tensor_fini(&run->recvs[i]);
    const bool is_last = run->is_last_partial;
    c->fn(c->arg, &c->status);
    bd_status_fini(&c->status);
    bd_slab_free(c);
    if (is_last) set_over(p);
    partial_unref(p);
}

// The call has its values, or cannot get them. The last call is answered after the plan has run; so is one
// that has failed as a consequence of the plan's failure, whose error is about to arrive.
static void call_received(call *c)
{
    partial *p = c->p;
    bd_mutex_lock(&p->mu);
    const bool waits = !p->is_done && (c->run->is_last_partial || c->status.derived);
    if (waits) {
        c->next = p->waiting;
        p->waiting = c;
    } else if (p->status.code && (!c->status.code || c->status.derived)) {
        bd_status_copy(&c->status, &p->status);
    }
    bd_mutex_unlock(&p->mu);
    if (!waits) call_end(c);
}

static void leave_call(call *c, int values, const braid_status *st)
{
    partial *p = c->p;
    bd_mutex_lock(&p->mu);
    bd_status_update(&c->status, st);
    p->receiving -= values;
    const bool is_last = --c->pending == 0;
    bd_mutex_unlock(&p->mu);
    if (is_last) call_received(c);
}

static void received(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *from)
{
    receiving *r = arg;
    call *c = r->call;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code && is_dead)
        bd_fail(st, BRAID_INVALID_ARGUMENT,
                "The tensor returned for %s was not valid.  Retval[%d] does not have value",
                c->run->recv_keys[r->index], r->index);
    if (!st->code) bd_tensor_move(&c->run->recvs[r->index], tensor);
    bd_slab_free(r);
    leave_call(c, 1, st);
}

// When the plan is done, all values are sent: the remaining receives have no sender. A call that has not
// asked for all of its values yet may find them in the rendezvous; it looks here again afterwards.
static void end_vain_receives(partial *p)
{
    bd_mutex_lock(&p->mu);
    const bool in_vain = p->is_done && p->starting == 0 && p->receiving > 0;
    BD_STATUS(why);
    bd_status_copy(why, &p->status);
    bd_mutex_unlock(&p->mu);
    if (!in_vain) return;
    if (!why->code)
        bd_fail(why, BRAID_INTERNAL,
                "Step %lld has run, and no node of the graph sends what RunGraph asks for",
                (long long)p->base.step.id);
    p->base.rendezvous->ops->abort(p->base.rendezvous, why);
}

static void receive_all(call *c)
{
    partial *p = c->p;
    const bd_run_graph *run = c->run;
    bd_mutex_lock(&p->mu);
    c->pending = run->recv_count + 1;
    p->receiving += run->recv_count;
    p->starting++;
    bd_mutex_unlock(&p->mu);
    for (int i = 0; i < run->recv_count; i++) {
        receiving *r = bd_slab_alloc_raw(sizeof *r);
        *r = (receiving){c, i};
        const bd_rendezvous_key key = bd_rendezvous_key_of(run->recv_keys[i]);
        bd_remote_rendezvous_recv_local(p->base.rendezvous, &key, received, r);
    }
    bd_mutex_lock(&p->mu);
    p->starting--;
    bd_mutex_unlock(&p->mu);
    end_vain_receives(p);
    BD_STATUS(ok);
    leave_call(c, 0, ok);
}

static void caller_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    cancel(BD_CONTAINER_OF(hook, call, hook)->p, why);
}

static braid_code feed_all(const call *c, braid_status *st)
{
    const bd_run_graph *run = c->run;
    for (int i = 0; !st->code && i < run->send_count; i++) {
        const bd_rendezvous_key key = bd_rendezvous_key_of(run->sends[i].key);
        bd_remote_rendezvous_feed(c->p->base.rendezvous, &key, run->sends[i].tensor, st);
    }
    return st->code;
}

// ---- The plan ----

static void plan_done(void *arg, const braid_status *st)
{
    partial *p = arg;
    bd_mutex_lock(&p->mu);
    p->is_done = true;
    bd_status_copy(&p->status, st);
    call *waiting = p->waiting;
    p->waiting = NULL;
    bd_mutex_unlock(&p->mu);
    if (st->code) cancel(p, st);
    end_vain_receives(p);
    while (waiting) {
        call *c = waiting;
        waiting = c->next;
        call_received(c);
    }
    end_if_over(p);
    partial_unref(p);
}

static void run_plan(void *arg)
{
    partial *p = arg;
    bd_local_worker *w = p->w;
    bd_worker_graph *graph = p->base.graph;
    atomic_fetch_add_explicit(&graph->refs, 1, memory_order_relaxed);
    bd_worker_count_running(w, +1); // of this function: its graph may hold the last reference to the plan
    bd_plan_run(graph->plan, &p->base.step, plan_done, p);
    bd_worker_graph_unref(graph);
    bd_worker_count_running(w, -1);
}

static void begin_plan(partial *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    if (!bd_thread_pool_submit(p->w->device->pool, run_plan, p)) run_plan(p);
}

// ---- The table ----

static void step_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    partial *p = BD_CONTAINER_OF(hook, partial, base.hook);
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    cancel(p, why);
    set_over(p);
    partial_unref(p);
}

static partial *find_locked(const bd_local_worker *w, int64_t step_id)
{
    partial *p = bd_imap_get(&w->partial_runs, (uint64_t)step_id);
    if (p) atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

static partial *find(bd_local_worker *w, int64_t step_id)
{
    bd_mutex_lock(&w->mu);
    partial *p = find_locked(w, step_id);
    bd_mutex_unlock(&w->mu);
    return p;
}

static partial *partial_new(bd_local_worker *w, const bd_run_graph *run, braid_status *st)
{
    partial *p = bd_calloc(1, sizeof *p);
    if (bd_worker_step_begin(w, run, NULL, &p->base, st)) {
        bd_free(p);
        return NULL;
    }
    p->w = w;
    p->base.hook.fn = step_cancelled;
    bd_mutex_init(&p->mu);
    atomic_init(&p->refs, 2); // the table's and the caller's
    return p;
}

// The step of a call (a reference), begun if this is its first; NULL with an error.
static partial *find_or_begin(bd_local_worker *w, const bd_run_graph *run, braid_status *st)
{
    partial *found = find(w, run->step_id);
    if (found) return found;
    partial *p = partial_new(w, run, st);
    if (!p) return NULL;
    bd_mutex_lock(&w->mu);
    found = find_locked(w, run->step_id);
    if (!found) bd_imap_put(&w->partial_runs, (uint64_t)run->step_id, p);
    bd_mutex_unlock(&w->mu);
    if (found) { // another call was faster
        bd_step_table_end(w->steps, run->step_id, false);
        partial_unref(p);
        partial_unref(p);
        return found;
    }
    bd_worker_step_list(w, &p->base);
    if (!bd_cancellation_add(p->base.step_cancellation, &p->base.hook)) {
        BD_STATUS(why);
        bd_cancellation_status(p->base.step_cancellation, why);
        step_cancelled(&p->base.hook, why);
    }
    begin_plan(p);
    return p;
}

void bd_worker_run_partial(bd_local_worker *w, bd_run_graph *run, bd_cancellation *cancellation,
                           bd_worker_done_fn fn, void *arg)
{
    BD_STATUS(st);
    partial *p = find_or_begin(w, run, st);
    if (!p) {
        fn(arg, st);
        return;
    }
    call *c = bd_slab_alloc(sizeof *c);
    *c = (call){.p = p, .run = run, .fn = fn, .arg = arg, .caller = cancellation};
    c->hook.fn = caller_cancelled;
    if (!bd_cancellation_add(cancellation, &c->hook)) {
        bd_cancellation_status(cancellation, st);
        cancel(p, st);
    }
    if (st->code || feed_all(c, st)) {
        c->pending = 1;
        leave_call(c, 0, st);
    } else {
        receive_all(c);
    }
}
