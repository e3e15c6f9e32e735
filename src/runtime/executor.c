// The executor: runs a plan by dataflow.
//
// A node's counter (one atomic word in each iteration) holds the number of events that the node waits for.
// The thread that brings it to zero queues the node. The threads that execute a run are its workers: the
// thread that called bd_plan_run, tasks of the pool, and for bd_plan_run_wait the waiting thread, which
// sleeps while it has no work and is the first to be woken. A worker queues the nodes that it made ready and
// runs them in this order, which clients of TensorFlow observe: a counter that is fetched beside its
// increment is read after it, because a fetch is a later consumer. Expensive nodes have a queue of their own,
// which is looked at when no cheap node is ready: the worker runs the first, and the others go to `shared`,
// where other workers find them. An asynchronous node is started and left; its end arrives through `inbox`,
// from any thread, and a worker continues from there.
//
// States of a run:
//   running   from bd_plan_run on
//   stopped   after the first error or when the step's token is cancelled (bd_run_stop): no node starts any
//             more; workers drop queued nodes; the rendezvous is aborted and the token cancelled, so that
//             asynchronous nodes end
//   over      no worker is active and no asynchronous operation is open (retire_locked). Exactly one thread
//             sees this
//   complete  after finish: slots and frames are empty, the hook is removed, done is called (or the waiter
//             woken); the block goes back to the plan when the last submitted task has begun and found no
//             work
//
// Invariants:
//  1. A queued node belongs to an active worker or is in `shared` or `inbox`; a thread that adds to these,
//     with mu held, makes sure that a worker is active and will look (bd_run_wake_locked).
//  2. A worker becomes inactive only with mu held, with empty queues, `shared` and `inbox`. So when `active`
//     is 0 and no asynchronous operation is open, all work is done.
//  3. async_open is raised by an active worker before start is called and lowered by an active worker when
//     the end has been handled.
//  4. A slot is written once in an iteration, by the thread that then lowers the consumer's counter
//     (release), and read by the thread that runs the consumer (acquire). Counters of Merges change with mu
//     held.
//  5. A value has one owner: an output, a slot, or a held value of a frame. Nodes take their inputs out of
//     their slots.
//  6. The root frame has one iteration, which is part of the block; its end is the end of the run and is not
//     counted. For other frames see executor_frames.c.
//  7. mu is never held while a kernel, a hook, an abort or a done function runs.
#include "runtime/executor_internal.h"

#include "base/account.h"
#include "base/alloc.h"
#include "base/float_mode.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "runtime/step_stats_collector.h"

// The number of ready nodes that a worker runs before it checks for other work: often enough for the other
// work, and seldom enough to cost no time.
#define TURNS_IN_A_ROW 256u

static void run_task(void *arg);

// ---- Workers and the work they share ----

static bd_worker *take_worker_locked(bd_run *r)
{
    bd_worker *w = r->free_workers;
    if (w) {
        r->free_workers = w->next_free;
    } else {
        w = bd_calloc(1, sizeof *w);
        w->run = r;
        w->outputs = bd_calloc((size_t)r->plan->output_count_max + 1, sizeof *w->outputs);
    }
    w->ctx.step = r->step;
    w->ctx.outputs = w->outputs;
    return w;
}

static void give_worker_locked(bd_run *r, bd_worker *w)
{
    w->next_free = r->free_workers;
    r->free_workers = w;
}

int bd_run_wake_locked(bd_run *r)
{
    int work = (int)bd_ready_queue_len(&r->shared) + (r->inbox != NULL);
    int able = r->active - atomic_load_explicit(&r->in_expensive, memory_order_relaxed);
    if (work > able + r->tasks && r->waiter_sleeps) {
        r->waiter_sleeps = false;
        r->active++; // on its behalf
        able++;
        bd_cond_signal(&r->wake);
    }
    int wanted = work - able - r->tasks;
    int threads = r->plan->device->pool ? bd_thread_pool_threads(r->plan->device->pool) : 1;
    if (wanted > threads - r->tasks) wanted = threads - r->tasks;
    if (wanted <= 0) return 0;
    r->tasks += wanted;
    atomic_fetch_add_explicit(&r->refs, wanted, memory_order_relaxed);
    return wanted;
}

void bd_run_submit(bd_run *r, int count)
{
    for (int i = 0; i < count; i++) {
        bd_thread_pool *pool = r->plan->device->pool;
        if (!pool || !bd_thread_pool_submit(pool, run_task, r)) run_task(r);
    }
}

// ---- Going on ----

// A few times as long as it takes to wake a thread of the pool, and short for a thread that receives.
#define SHORT_NS 100000

static _Thread_local bd_continuations *continuations; // of this thread; NULL: none

void bd_run_continue(bd_run *r, int count)
{
    bd_continuations *c = continuations;
    for (; count > 0 && c && c->count < BD_CONTINUATIONS_MAX; count--)
        c->runs[c->count++] = r;
    bd_run_submit(r, count);
}

void bd_continuations_begin(bd_continuations *c)
{
    c->count = 0;
    c->outer = continuations;
    continuations = c;
}

void bd_continuations_end(bd_continuations *c)
{
    continuations = c->outer;
    for (int i = 0; i < c->count; i++) {
        bd_run *r = c->runs[i];
        if (atomic_load_explicit(&r->plan->goes_on_shortly, memory_order_relaxed))
            run_task(r);
        else
            bd_run_submit(r, 1);
    }
}

// ---- Stopping ----

static void append_node(const braid_op *n, bd_strbuf *out)
{
    bd_strbuf_appendf(out, "%s (%s", n->name, n->op_type);
    const char *from = bd_node_role(n) == BD_ROLE_RECV ? bd_node_attr_string(n, "send_device") : NULL;
    if (from) bd_strbuf_appendf(out, " from %s", from);
    bd_strbuf_append_char(out, ')');
}

void bd_run_append_pending(const bd_run *r, bd_strbuf *out)
{
    enum {
        SHOWN_MAX = 5
    };
    int count = 0;
    for (int i = 0; i < r->plan->item_count; i++) {
        const bd_plan_item *it = &r->plan->items[i];
        if (!(it->flags & BD_ITEM_ASYNC) || it->frame != 0) continue;
        int phase = atomic_load_explicit(&r->root->async[it->async].phase, memory_order_acquire);
        if (phase != BD_ASYNC_WAITING || ++count > SHOWN_MAX) continue;
        if (count > 1) bd_strbuf_append(out, ", ");
        append_node(it->node, out);
    }
    if (count > SHOWN_MAX) bd_strbuf_appendf(out, " and %d more", count - SHOWN_MAX);
}

// Appends to a timeout which asynchronous nodes had not ended.
static void append_pending_nodes(const bd_run *r, braid_status *st)
{
    bd_strbuf pending = {0};
    bd_run_append_pending(r, &pending);
    if (pending.len) bd_status_suffix(st, "; waiting for %s", pending.data);
    bd_strbuf_fini(&pending);
}

// Asynchronous nodes of this and other parts of the step must end.
void bd_run_stop(bd_run *r, const braid_status *why)
{
    bd_mutex_lock(&r->mu);
    bd_status_update(&r->status, why);
    bool is_first = !atomic_load_explicit(&r->stopped, memory_order_relaxed);
    atomic_store_explicit(&r->stopped, true, memory_order_relaxed);
    bd_mutex_unlock(&r->mu);
    if (!is_first) return;
    BD_STATUS(derived);
    bd_status_copy(derived, why);
    derived->derived = true;
    // Handling the abort may end the run, and with it the step, when this is not a worker's thread.
    bd_rendezvous *rendezvous = r->step->rendezvous ? bd_rendezvous_ref(r->step->rendezvous) : NULL;
    if (r->step->cancellation) bd_cancellation_cancel(r->step->cancellation, derived);
    if (rendezvous) rendezvous->ops->abort(rendezvous, derived);
    bd_rendezvous_unref(rendezvous);
}

// The step was cancelled from outside, or by another part of it.
static void token_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    bd_run *r = BD_CONTAINER_OF(hook, bd_run, hook);
    bd_mutex_lock(&r->mu);
    bool is_running = !r->is_over && !atomic_load_explicit(&r->stopped, memory_order_relaxed);
    bd_mutex_unlock(&r->mu);
    if (!is_running) return;
    BD_STATUS(st);
    bd_status_copy(st, why);
    if (why->code == BRAID_DEADLINE_EXCEEDED && !why->derived) append_pending_nodes(r, st);
    bd_run_stop(r, st);
}

// ---- The workers' loop ----

// Sends the tensors that the rendezvous holds back: before expensive nodes, and before this worker becomes
// idle.
static void flush_sends(const bd_worker *w)
{
    bd_rendezvous *r = w->run->step->rendezvous;
    if (r && r->ops->flush) r->ops->flush(r);
}

// Keeps the first expensive node and offers the others to idle workers.
static void execute_expensive(bd_worker *w)
{
    bd_run *r = w->run;
    bd_ready mine = bd_ready_queue_pop(&w->expensive);
    bd_mutex_lock(&r->mu);
    while (bd_ready_queue_len(&w->expensive) > 0)
        bd_ready_queue_push(&r->shared, bd_ready_queue_pop(&w->expensive));
    atomic_fetch_add_explicit(&r->in_expensive, 1, memory_order_relaxed);
    int count = bd_run_wake_locked(r);
    bd_mutex_unlock(&r->mu);
    if (count > 0) bd_run_submit(r, count);
    flush_sends(w);
    bd_execute(w, mine);
    atomic_fetch_sub_explicit(&r->in_expensive, 1, memory_order_relaxed);
}

// The inbox in the order of arrival.
static bd_async_op *take_inbox_locked(bd_run *r)
{
    bd_async_op *ended = r->inbox, *first = NULL;
    r->inbox = NULL;
    while (ended) {
        bd_async_op *next = ended->next;
        ended->next = first;
        first = ended;
        ended = next;
    }
    return first;
}

// Takes nodes from inbox and shared. Returns false when both are empty.
static bool refill_locked(bd_worker *w)
{
    bd_run *r = w->run;
    bd_async_op *ended = take_inbox_locked(r);
    bool found = ended != NULL;
    if (bd_ready_queue_len(&r->shared) > 0) {
        bd_ready_queue_push(&w->expensive, bd_ready_queue_pop(&r->shared));
        found = true;
    }
    if (!ended) return found;
    bd_mutex_unlock(&r->mu);
    while (ended) {
        bd_async_op *next = ended->next;
        bd_handle_async_end(w, ended);
        ended = next;
    }
    bd_mutex_lock(&r->mu);
    return found;
}

// A worker that always has a ready node, as in a long loop, regularly does other work: an expensive node,
// nodes in shared and inbox, and tensors that are held back for other tasks.
static void give_others_a_turn(bd_worker *w)
{
    flush_sends(w);
    if (bd_ready_queue_len(&w->expensive) > 0) execute_expensive(w);
    bd_mutex_lock(&w->run->mu);
    refill_locked(w);
    bd_mutex_unlock(&w->run->mu);
}

// Returns whether the run ends with this worker. The thread that waits for the end sends the tensors that are
// held back.
static bool is_last_locked(const bd_run *r)
{
    return r->active == 1 && atomic_load_explicit(&r->async_open, memory_order_relaxed) == 0;
}

// Returns with mu held.
static void work_until_empty(bd_worker *w)
{
    bd_run *r = w->run;
    bool has_flushed = false;
    for (;;) {
        if (atomic_load_explicit(&r->stopped, memory_order_relaxed)) {
            bd_ready_queue_clear(&w->ready);
            bd_ready_queue_clear(&w->expensive);
        }
        if (bd_ready_queue_len(&w->ready) > 0) {
            if (++w->turn % TURNS_IN_A_ROW == 0) give_others_a_turn(w);
            bd_execute(w, bd_ready_queue_pop(&w->ready));
            has_flushed = false;
        } else if (bd_ready_queue_len(&w->expensive) > 0) {
            execute_expensive(w);
            has_flushed = false;
        } else {
            bd_mutex_lock(&r->mu);
            if (!refill_locked(w) && (has_flushed || is_last_locked(r))) return;
            bd_mutex_unlock(&r->mu);
            if (bd_ready_queue_len(&w->ready) + bd_ready_queue_len(&w->expensive) > 0) continue;
            flush_sends(w);
            has_flushed = true;
        }
    }
}

// Runs this worker's nodes and those that it finds, until there are none. Returns with mu held.
static void work(bd_worker *w)
{
    const uint64_t float_mode = bd_float_mode_flush_denormals();
    const bd_account_turn turn = bd_account_enter(w->run->step->account);
    const atomic_bool *flag = bd_interrupt_set(&w->run->stopped);
    work_until_empty(w);
    bd_interrupt_set(flag);
    bd_account_leave(turn);
    bd_float_mode_restore(float_mode);
}

// The worker is inactive. True: it was the last and the run is over.
static bool retire_locked(bd_run *r, bd_worker *w)
{
    give_worker_locked(r, w);
    r->active--;
    r->is_over = r->active == 0 && atomic_load_explicit(&r->async_open, memory_order_relaxed) == 0;
    return r->is_over;
}

// Cleans up and reports. The run is over; no other thread but the hook's and the waiter's touches it.
static void finish(bd_run *r)
{
    if (r->is_hooked) bd_cancellation_remove(r->step->cancellation, &r->hook);
    if (r->plan->may_leave_values || atomic_load_explicit(&r->stopped, memory_order_relaxed)) {
        bd_mutex_lock(&r->mu);
        bd_frames_drop_locked(r);
        bd_mutex_unlock(&r->mu);
        bd_iteration_drop_values(r->root);
    }
    bd_buffer_pool_step_ended();
    if (!r->done) {
        bd_mutex_lock(&r->mu);
        r->is_complete = true;
        bd_cond_signal(&r->wake);
        bd_mutex_unlock(&r->mu);
        return;
    }
    BD_STATUS(st);
    bd_status_move(st, &r->status);
    bd_plan_done_fn done = r->done;
    void *arg = r->done_arg;
    bd_run_unref(r);
    done(arg, st);
}

// Returns whether the run has ended with it.
static bool run_worker(bd_run *r, bd_worker *w)
{
    work(w);
    bool is_last = retire_locked(r, w);
    bd_mutex_unlock(&r->mu);
    if (is_last) finish(r);
    return is_last;
}

// What the next run of the plan may be like: short if each task of this one was. A task that has not ended
// the run only tells whether it was long: it may have found one of several tensors that the work waits for.
static void note_task(bd_run *r, int64_t took_ns, bool is_last)
{
    bd_plan *p = r->plan;
    const bool is_short = took_ns <= SHORT_NS && !bd_plan_has_loops(p);
    if (!is_short) {
        atomic_store_explicit(&r->has_long_task, true, memory_order_relaxed);
        atomic_store_explicit(&p->goes_on_shortly, false, memory_order_relaxed);
    } else if (is_last && !atomic_load_explicit(&r->has_long_task, memory_order_relaxed)) {
        atomic_store_explicit(&p->goes_on_shortly, true, memory_order_relaxed);
    }
}

// A task of the pool: works as long as there are nodes to run.
static void run_task(void *arg)
{
    bd_run *r = arg;
    bd_mutex_lock(&r->mu);
    r->tasks--;
    bd_worker *w = NULL;
    if (!r->is_over) {
        r->active++;
        w = take_worker_locked(r);
    }
    bd_mutex_unlock(&r->mu);
    if (w) {
        const int64_t begin_ns = bd_now_ns();
        const bool is_last = run_worker(r, w);
        note_task(r, bd_now_ns() - begin_ns, is_last);
    }
    bd_run_unref(r);
}

// ---- Beginning ----

static void fill_constants(bd_run *r)
{
    const bd_plan *p = r->plan;
    for (int i = 0; i < p->constant_count; i++)
        bd_tensor_ref(&r->root->slots[p->constants[i].slot].tensor, p->constants[i].tensor);
}

static void trace_constants(const bd_run *r)
{
    const bd_plan *p = r->plan;
    const int64_t now_ns = bd_now_ns();
    for (int i = 0; i < p->constant_node_count; i++) {
        const braid_op *n = p->constant_nodes[i];
        const char *device = n->assigned_device ? n->assigned_device : p->device->name;
        bd_step_stats_collector_add_constant(r->step->stats, device, n, bd_node_attr_tensor(n, "value"),
                                             now_ns);
    }
}

static bd_run *begin(bd_plan *p, bd_step *step, bd_plan_done_fn done, void *arg)
{
    bd_run *r = bd_run_take(p, step->id);
    r->step = step;
    r->done = done;
    r->done_arg = arg;
    atomic_store_explicit(&r->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&r->stopped, false, memory_order_relaxed);
    atomic_store_explicit(&r->has_long_task, false, memory_order_relaxed);
    r->may_share = p->device->pool && bd_thread_pool_threads(p->device->pool) > 1;
    r->is_over = r->is_complete = r->waiter_sleeps = false;
    r->active = 1;
    bd_iteration_reset(r->root, &r->root_frame, 0);
    r->is_hooked = false;
    if (!step->cancellation) return r;
    r->hook.fn = token_cancelled;
    r->is_hooked = bd_cancellation_add(step->cancellation, &r->hook);
    if (!r->is_hooked) {
        BD_STATUS(why);
        bd_cancellation_status(step->cancellation, why);
        bd_run_stop(r, why);
    }
    return r;
}

static bd_worker *first_worker(bd_run *r)
{
    fill_constants(r);
    if (r->step->stats) trace_constants(r);
    bd_mutex_lock(&r->mu);
    bd_worker *w = take_worker_locked(r);
    bd_mutex_unlock(&r->mu);
    const bd_plan *p = r->plan;
    for (int i = 0; i < p->root_count; i++)
        bd_worker_push(w, r->root, p->roots[i], p->items[p->roots[i]].flags, false);
    return w;
}

void bd_plan_run(bd_plan *p, bd_step *step, bd_plan_done_fn done, void *arg)
{
    BD_ASSERT(done);
    bd_run *r = begin(p, step, done, arg);
    (void)run_worker(r, first_worker(r));
}

static bool is_awake(void *arg)
{
    bd_run *r = arg;
    bd_mutex_lock(&r->mu);
    const bool is_awake = !r->waiter_sleeps || r->is_complete;
    bd_mutex_unlock(&r->mu);
    return is_awake;
}

static void sleep_until_awake(void *arg)
{
    bd_run *r = arg;
    bd_mutex_lock(&r->mu);
    // Ends: every asynchronous node ends by itself or when the step is cancelled.
    while (r->waiter_sleeps && !r->is_complete)
        bd_cond_wait(&r->wake, &r->mu);
    bd_mutex_unlock(&r->mu);
}

// Waits, without the lock, until there is work for this thread (true; it then counts as active) or the run is
// complete.
static bool sleep_locked(bd_run *r)
{
    r->waiter_sleeps = true;
    bd_mutex_unlock(&r->mu);
    bd_wait_polling(&(bd_wait){is_awake, sleep_until_awake, r});
    bd_mutex_lock(&r->mu);
    return !r->is_complete;
}

static void work_and_wait(bd_run *r, bd_worker *w)
{
    for (;;) {
        work(w);
        bool is_last = retire_locked(r, w);
        if (!is_last && sleep_locked(r)) {
            w = take_worker_locked(r);
            bd_mutex_unlock(&r->mu);
            continue;
        }
        bd_mutex_unlock(&r->mu);
        if (is_last) finish(r);
        return;
    }
}

braid_code bd_plan_run_wait(bd_plan *p, bd_step *step, braid_status *st)
{
    bd_run *r = begin(p, step, NULL, NULL);
    work_and_wait(r, first_worker(r));
    braid_code code = r->status.code;
    if (code) bd_status_move(st, &r->status);
    bd_run_unref(r);
    return code;
}
