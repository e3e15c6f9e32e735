// One execution of a registered graph: RunGraph.
//
//   begun    the step's rendezvous holds the feeds; the plan runs, on this thread or on the pool
//   run      the plan is done: on success the fetches are taken from the rendezvous, else it is aborted
//   leaving  pushes to other tasks are in progress: a push that fails fails the execution
//   ended    the step has one execution less on this task; the callback runs
//
// The execution has a token of its own, a child of the caller's: its failure does not cancel other work of
// the caller. A hook on the step's token also cancels it, when the step is cleaned up while it runs.
#include "base/alloc.h"
#include "base/slab.h"
#include "base/wire.h"
#include "cluster/worker/local_worker_internal.h"
#include "cluster/worker/remote_rendezvous.h"
#include "runtime/step_stats_proto.h"
#include <string.h>

// A plan that held its thread longer than this is started in the pool, so that the polling thread continues
// to poll: starting it costs about a fifth of this time.
#define HELD_MAX_NS 200000

typedef struct execution {
    bd_local_worker *w;
    bd_worker_step base;
    bd_run_graph *run; // the caller's, until the callback
    bd_outbox *outbox; // a reference; NULL when the step does not push
    bd_worker_done_fn fn;
    void *arg;
} execution;

// ---- The end ----

typedef struct fetched {
    braid_tensor *to;
    bool is_dead;
    braid_status st;
    bd_event has_come; // the last that is done with it: it lives on the receiver's stack
} fetched;

static void store(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st)
{
    fetched *f = arg;
    f->is_dead = is_dead;
    bd_status_copy(&f->st, st);
    if (!st->code && !is_dead) bd_tensor_move(f->to, tensor);
    bd_event_set(&f->has_come);
}

static void abort_rendezvous(bd_rendezvous *r, const braid_status *why)
{
    BD_STATUS(derived);
    bd_status_copy(derived, why);
    derived->derived = true;
    r->ops->abort(r, derived);
}

// The plan has run, so all values are sent; a missing one has no sender.
static braid_code fetch(bd_rendezvous *r, int64_t step, const char *text, braid_tensor *to, braid_status *st)
{
    const bd_rendezvous_key key = bd_rendezvous_key_of(text);
    fetched f = {.to = to};
    bd_event_init(&f.has_come);
    bd_remote_rendezvous_recv_local(r, &key, store, &f);
    if (!bd_event_is_set(&f.has_come)) {
        bd_fail(st, BRAID_INTERNAL, "No node of the graph sends %s", text);
        abort_rendezvous(r, st);
    }
    bd_event_wait(&f.has_come); // ends: this abort, or an earlier one, ends the receive
    if (!st->code) bd_status_copy(st, &f.st);
    if (!st->code && f.is_dead)
        bd_fail(
            st, BRAID_INTERNAL,
            "Failed to fetch outputs for step %lld. (Original error message: Invalid argument: The tensor "
            "returned for %s was not valid.)",
            (long long)step, text);
    bd_status_fini(&f.st);
    bd_event_fini(&f.has_come);
    return st->code;
}

static void fetch_all(execution *e, braid_status *st)
{
    const bd_run_graph *run = e->run;
    for (int i = 0; i < run->recv_count; i++)
        if (fetch(e->base.rendezvous, run->step_id, run->recv_keys[i], &run->recvs[i], st)) break;
    for (int i = 0; st->code && i < run->recv_count; i++)
        bd_tensor_fini(&run->recvs[i]);
}

static void write_partition_graph(const execution *e)
{
    const braid_graph *g = bd_plan_graph(e->base.graph->plan);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, e->run->partition_graphs);
    bd_wire_put_tag(&writer, 3, BD_WIRE_BYTES);
    bd_wire_put_varint(&writer, bd_graph_write_size(g, 0, BD_GRAPH_PLACED));
    bd_graph_write(g, 0, BD_GRAPH_PLACED, &writer);
    bd_wire_writer_finish(&writer);
}

void bd_worker_count_running(bd_local_worker *w, int change)
{
    bd_mutex_lock(&w->mu);
    w->running += change;
    if (w->running == 0) bd_cond_broadcast(&w->idle);
    bd_mutex_unlock(&w->mu);
}

static void step_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    const execution *e = BD_CONTAINER_OF(hook, execution, base.hook);
    bd_cancellation_cancel(e->base.step.cancellation, why);
}

static void execution_free(execution *e)
{
    bd_outbox_unref(e->outbox);
    bd_step_stats_collector_unref(e->base.step.stats);
    bd_worker_step_fini(&e->base);
    bd_slab_free(e);
}

static void end(execution *e, braid_status *st)
{
    bd_local_worker *w = e->w;
    if (st->code) abort_rendezvous(e->base.rendezvous, st);
    const bd_local_devices *devices = bd_worker_session_devices(w, e->base.graph->session);
    for (int i = 0; e->base.step.stats && i < devices->count; i++)
        bd_step_stats_proto_write(e->base.step.stats, devices->infos[i].name, e->run->stats);
    if (e->run->wants_partition_graphs) write_partition_graph(e);
    bd_step_table_end(w->steps, e->run->step_id, st->code == BRAID_OK);
    e->run->ends_by_itself = st->code == BRAID_OK;
    bd_resources_clear(e->base.step.resources, e->base.container);
    const bd_worker_done_fn fn = e->fn;
    void *fn_arg = e->arg;
    bd_cancellation_remove(e->base.step_cancellation, &e->base.hook);
    bd_mutex_lock(&w->mu);
    bd_worker_step_unlist_locked(w, &e->base, st->code != BRAID_OK);
    bd_mutex_unlock(&w->mu);
    execution_free(e);
    fn(fn_arg, st);
    bd_worker_count_running(w, -1);
}

static void pushes_done(void *arg, const braid_status *from)
{
    execution *e = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    for (int i = 0; st->code && i < e->run->recv_count; i++)
        bd_tensor_fini(&e->run->recvs[i]);
    end(e, st);
}

// Tensors in the outbox for the master's task are sent with the response, the others are pushed.
static void empty_outbox(execution *e)
{
    const bd_run_graph *run = e->run;
    const char *master = e->base.graph->session->owner.task;
    const bd_peer *home = run->returned
                              ? bd_peers_of_device(bd_worker_session_peers(e->w, e->base.graph->session),
                                                   master, strlen(master))
                              : NULL;
    if (home) {
        bd_wire_writer writer;
        bd_wire_writer_init(&writer, run->returned);
        bd_outbox_give(e->outbox, home, &writer);
        bd_wire_writer_finish(&writer);
    }
    bd_outbox_finish(e->outbox, pushes_done, e);
}

static void plan_done(void *arg, const braid_status *from)
{
    execution *e = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code) fetch_all(e, st);
    if (!st->code && e->outbox)
        empty_outbox(e);
    else
        end(e, st);
}

// ---- The beginning ----

static braid_code start_pushing(execution *e, braid_status *st)
{
    e->outbox = bd_outbox_new(&(bd_outbox_options){
        .step_id = e->run->step_id,
        .chunk_store = e->w->chunk_store,
        .refused = bd_remote_rendezvous_local(e->base.rendezvous),
        .cancellation = e->base.step.cancellation,
    });
    if (bd_remote_rendezvous_push(e->base.rendezvous, e->outbox)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Step %lld runs on %s already", (long long)e->run->step_id,
                   e->w->peers->self->task);
}

static braid_code feed_all(execution *e, braid_status *st)
{
    const bd_run_graph *run = e->run;
    for (int i = 0; i < run->send_count; i++) {
        const bd_rendezvous_key key = bd_rendezvous_key_of(run->sends[i].key);
        const braid_code code = bd_remote_rendezvous_feed(e->base.rendezvous, &key, run->sends[i].tensor, st);
        if (code) return code;
    }
    return BRAID_OK;
}

static void run_plan(void *arg)
{
    execution *e = arg;
    bd_local_worker *w = e->w; // `e` may be gone when the plan returns
    bd_worker_graph *graph = e->base.graph;
    atomic_fetch_add_explicit(&graph->refs, 1, memory_order_relaxed);
    bd_worker_count_running(w, +1); // of this function: its graph may hold the last reference to the plan
    const int64_t begin_ns = bd_now_ns();
    bd_plan_run(graph->plan, &e->base.step, plan_done, e);
    if (!bd_plan_has_loops(graph->plan)) // else the next one may take any time
        atomic_store_explicit(&graph->held_ns, bd_now_ns() - begin_ns, memory_order_relaxed);
    bd_worker_graph_unref(graph);
    bd_worker_count_running(w, -1);
}

static void begin(execution *e)
{
    BD_STATUS(st);
    bd_thread_pool *pool = e->w->device->pool;
    if ((e->run->pushes && start_pushing(e, st)) || feed_all(e, st)) {
        plan_done(e, st);
    } else if (e->run->may_wait) {
        bd_plan_run_wait(e->base.graph->plan, &e->base.step, st);
        plan_done(e, st);
    } else if (atomic_load_explicit(&e->base.graph->held_ns, memory_order_relaxed) <= HELD_MAX_NS ||
               !bd_thread_pool_submit(pool, run_plan, e)) {
        run_plan(e);
    }
}

void bd_worker_run_graph(bd_worker *base, bd_run_graph *run, bd_cancellation *cancellation,
                         bd_worker_done_fn fn, void *arg)
{
    bd_local_worker *w = BD_CONTAINER_OF(base, bd_local_worker, base);
    bd_worker_commit_before(w, &fn, &arg);
    if (run->is_partial) {
        bd_worker_run_partial(w, run, cancellation, fn, arg);
        return;
    }
    BD_STATUS(st);
    execution *e = bd_slab_alloc(sizeof *e);
    *e = (execution){.w = w, .run = run, .fn = fn, .arg = arg};
    if (bd_worker_step_begin(w, run, cancellation, &e->base, st)) {
        bd_slab_free(e);
        fn(arg, st);
        return;
    }
    bd_worker_step_list(w, &e->base);
    e->base.hook.fn = step_cancelled;
    if (!bd_cancellation_add(e->base.step_cancellation, &e->base.hook)) {
        bd_cancellation_status(e->base.step_cancellation, st);
        bd_cancellation_cancel(e->base.step.cancellation, st);
    }
    if (run->wants_stats) {
        e->base.step.stats = bd_step_stats_collector_new();
        const bd_local_devices *devices = bd_worker_session_devices(w, e->base.graph->session);
        bd_remote_rendezvous_trace(e->base.rendezvous, e->base.step.stats, devices->infos[0].name);
    }
    begin(e);
}
