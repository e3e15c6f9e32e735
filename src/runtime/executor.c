// The executor: runs a plan by dataflow.
//
// A node's counter (one atomic word an iteration) says what must still happen before it runs. The thread that brings it to zero
// queues the node. Threads that execute a run are its workers: the thread that called bd_plan_run, tasks of the pool, and
// for bd_plan_run_wait the waiting thread, which sleeps while there is nothing for it and is the first to be woken.
// A worker keeps what it made ready in a stack of its own and runs it there; nodes that are worth it (expensive ones, when
// there is more than one) go to `shared`, where others find them. An asynchronous node is begun and forgotten; its
// end comes through `inbox`, from any thread, and some worker goes on from there.
//
// States of a run:
//   running   from bd_plan_run on.
//   stopped   after the first error or when the step's token is cancelled (stop): no node starts any more; workers drop
//             what is queued; the rendezvous is aborted and the token cancelled, so that asynchronous nodes end.
//   over      no worker is active and no asynchronous operation open (retire_locked). Exactly one thread sees this.
//   complete  after finish: slots and frames empty, hook taken back, done called (or the waiter told); the block goes back
//             to the plan when the last task that was submitted for it has begun and found nothing.
//
// Invariants:
//  1. Whatever is queued belongs to an active worker or lies in `shared` or `inbox`; whoever puts something there, with mu held,
//     sees to it that a worker is active and able to look (wake_locked).
//  2. A worker becomes inactive only with mu held, with empty stacks, `shared` and `inbox`. So when `active` is 0 and
//     no asynchronous operation is open, nothing is left to do.
//  3. async_open is raised by an active worker before start is called and lowered by an active worker when the end has been
//     handled.
//  4. A slot is written once an iteration, by the thread that then lowers the consumer's counter (release), and read
//     by the one that runs it (acquire). Counters of Merges change with mu held.
//  5. A value has one owner: an output, a slot, or a kept value of a frame. Nodes take their inputs out of their slots.
//  6. The root frame has one iteration, which is part of the block; its end is the end of the run and is not counted.
//     For other frames see executor_frames.c.
//  7. mu is never held while a kernel, a hook, an abort or a done function runs.
#include "runtime/executor_internal.h"

#include "base/alloc.h"
#include "runtime/stats.h"
#include <string.h>

static void run_task(void *arg);

// ---- Iterations ----

static size_t align_up(size_t n)
{
    return (n + 63) / 64 * 64;
}

size_t bd_iteration_size(const bd_plan_frame *f)
{
    return align_up(sizeof(bd_iteration)) + align_up((size_t)f->counter_count * sizeof(uint64_t)) +
           align_up((size_t)f->slot_count * sizeof(bd_value)) + (size_t)f->async_count * sizeof(bd_async_op);
}

bd_iteration *bd_iteration_new(const bd_plan_frame *f)
{
    char *block = bd_calloc(1, f->iteration_size);
    bd_iteration *it = (bd_iteration *)(void *)block;
    block += align_up(sizeof(bd_iteration));
    it->counters = (_Atomic uint64_t *)(void *)block;
    block += align_up((size_t)f->counter_count * sizeof(uint64_t));
    it->slots = (bd_value *)(void *)block;
    block += align_up((size_t)f->slot_count * sizeof(bd_value));
    it->async = (bd_async_op *)(void *)block;
    return it;
}

void bd_iteration_reset(bd_iteration *it, bd_frame *frame, int64_t number)
{
    it->frame = frame;
    it->number = number;
    atomic_store_explicit(&it->outstanding, 0, memory_order_relaxed);
    it->open_frames = 0;
    it->children = NULL;
    memcpy((void *)it->counters, frame->def->initial, (size_t)frame->def->counter_count * sizeof(uint64_t));
}

void bd_iteration_drop_values(bd_iteration *it)
{
    for (int i = 0; i < it->frame->def->slot_count; i++)
        bd_value_fini(&it->slots[i]);
}

// ---- The block of a run, and the plan's list of free ones ----

static bd_run *new_run(bd_plan *p)
{
    bd_run *r = bd_calloc(1, sizeof *r);
    bd_mutex_init(&r->mu);
    bd_cond_init(&r->wake);
    r->root = bd_iteration_new(&p->frames[0]);
    r->root_frame.def = &p->frames[0];
    r->root_frame.window = r->root_window;
    r->root_window[0] = r->root;
    r->free_iterations = bd_calloc((size_t)p->frame_count, sizeof *r->free_iterations);
    r->plan = p;
    return r;
}

static bd_run *take_run(bd_plan *p)
{
    bd_mutex_lock(&p->mu);
    bd_run *r = p->free_runs;
    if (r) p->free_runs = r->next_free;
    bd_mutex_unlock(&p->mu);
    if (!r) r = new_run(p);
    bd_plan_ref(p);
    return r;
}

void bd_run_destroy(bd_run *r)
{
    bd_frames_destroy(r);
    while (r->free_workers) {
        bd_worker *w = r->free_workers;
        r->free_workers = w->next_free;
        bd_array_free(&w->ready);
        bd_array_free(&w->expensive);
        bd_free(w->outputs);
        bd_free(w);
    }
    bd_array_free(&r->shared);
    bd_free(r->root);
    bd_free(r->free_iterations);
    bd_cond_fini(&r->wake);
    bd_mutex_fini(&r->mu);
    bd_free(r);
}

static void unref_run(bd_run *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    bd_plan *p = r->plan;
    bd_mutex_lock(&p->mu);
    r->next_free = p->free_runs;
    p->free_runs = r;
    bd_mutex_unlock(&p->mu);
    bd_plan_unref(p);
}

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

// Sees to it that what lies in `shared` and `inbox` is taken: wakes the waiting thread; returns how many tasks the
// caller has to submit after it has released mu. They are counted in already.
static int wake_locked(bd_run *r)
{
    int work = (int)r->shared.len + (r->inbox != NULL);
    int able = r->active - atomic_load_explicit(&r->in_expensive, memory_order_relaxed);
    if (work > able + r->tasks && r->waiter_sleeps) {
        r->waiter_sleeps = false;
        r->active++; // on its behalf
        able++;
        bd_cond_signal(&r->wake);
    }
    int wanted = work - able - r->tasks;
    int threads = r->plan->device->pool ? bd_pool_threads(r->plan->device->pool) : 1;
    if (wanted > threads - r->tasks) wanted = threads - r->tasks;
    if (wanted <= 0) return 0;
    r->tasks += wanted;
    atomic_fetch_add_explicit(&r->refs, wanted, memory_order_relaxed);
    return wanted;
}

static void submit(bd_run *r, int count)
{
    for (int i = 0; i < count; i++) {
        bd_pool *pool = r->plan->device->pool;
        if (!pool || !bd_pool_submit(pool, run_task, r)) run_task(r);
    }
}

// ---- Stopping ----

// Appends to a timeout which asynchronous nodes had not ended.
static void say_what_waits(bd_run *r, braid_status *st)
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
        bd_status_suffix(st, "%s%s (%s)", count == 1 ? "; waiting for " : ", ", it->node->name,
                         it->node->op_type);
    }
    if (count > SHOWN_MAX) bd_status_suffix(st, " and %d more", count - SHOWN_MAX);
}

// Takes an error in. The first one stops the run: asynchronous nodes of this and other parts of the step must end.
static void stop(bd_run *r, const braid_status *why)
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
    if (why->code == BRAID_DEADLINE_EXCEEDED && !why->derived) say_what_waits(r, st);
    stop(r, st);
}

static void node_failed(bd_run *r, const bd_plan_item *it, braid_status *error)
{
    bd_cancellation *token = r->step->cancellation;
    bool is_echo = error->code == BRAID_CANCELLED && token && bd_cancellation_is_cancelled(token);
    if (is_echo) {
        bd_cancellation_status(token, error); // what it was cancelled for
    } else {
        bd_status_suffix(error, " [[{{node %s}}]]", it->node->name);
    }
    stop(r, error);
    bd_status_fini(error);
}

// ---- Activation ----

// A Merge is ready when its control inputs have come and either a live value or, dead, all of them. Returns true if it is;
// the value goes into its slot only when it is the first live one. mu is held.
static bool reach_merge(bd_worker *w, const bd_plan_item *from, const bd_plan_edge *e, bool is_live,
                        bd_iteration *to, bool *is_dead, bool *takes_value)
{
    const bd_plan_item *merge = &w->run->plan->items[e->item];
    _Atomic uint64_t *counter = &to->counters[merge->counter];
    uint64_t was = atomic_load_explicit(counter, memory_order_relaxed), is = was;
    bool is_ready;
    *takes_value = false;
    if (e->slot < 0) {
        is = was - 2;
        *is_dead = bd_counter_dead(is) == (uint32_t)merge->input_count;
        is_ready = bd_counter_pending(is) == 0 || (bd_counter_pending(is) == 1 && *is_dead);
    } else if (is_live) {
        is = was & ~(uint64_t)1;
        *is_dead = false;
        *takes_value = was & 1;
        is_ready = bd_counter_pending(was) == 1;
    } else {
        is = was + BD_DEAD_ONE;
        // A dead Enter is a loop that is not run at all: there will be no NextIteration.
        *is_dead = bd_counter_dead(is) == (uint32_t)merge->input_count || (from->flags & BD_ITEM_ENTER);
        is_ready = bd_counter_pending(is) == 1 && *is_dead;
    }
    atomic_store_explicit(counter, is, memory_order_relaxed);
    return is_ready;
}

static inline void put_value(bd_value *slot, bd_value *from, bool moves)
{
    if (moves) {
        *slot = *from;
        from->tensor.dtype = BRAID_INVALID;
        from->tensor.buffer = NULL;
        from->ref = NULL;
        return;
    }
    bd_tensor_ref(&slot->tensor, &from->tensor);
    slot->ref = from->ref;
    if (from->ref) bd_resource_ref(&from->ref->base);
}

static inline bool is_live_value(const bd_value *v)
{
    return v->tensor.dtype != BRAID_INVALID || v->ref;
}

static int activate_merge(bd_worker *w, const bd_plan_item *it, const bd_plan_edge *e, bd_iteration *to,
                          bd_value *outputs, bool mu_held)
{
    bool is_dead, takes_value;
    bool is_live = e->slot >= 0 && is_live_value(&outputs[e->output]);
    if (!mu_held) bd_mutex_lock(&w->run->mu);
    bool is_ready = reach_merge(w, it, e, is_live, to, &is_dead, &takes_value);
    if (takes_value) put_value(&to->slots[e->slot], &outputs[e->output], e->flags & BD_EDGE_LAST);
    if (!mu_held) bd_mutex_unlock(&w->run->mu);
    if (!is_ready) return 0;
    bd_worker_push(w, to, e->item, w->run->plan->items[e->item].flags, is_dead);
    return 1;
}

int bd_activate(bd_worker *w, const bd_plan_item *it, bool is_dead, bd_iteration *to, bd_value *outputs,
                bool mu_held)
{
    const bd_plan *p = w->run->plan;
    int ready_count = 0;
    for (int32_t i = it->first_edge; i < it->edge_end; i++) {
        const bd_plan_edge *e = &p->edges[i];
        if (e->flags & BD_EDGE_TO_MERGE) {
            ready_count += activate_merge(w, it, e, to, outputs, mu_held);
            continue;
        }
        bool edge_is_dead = is_dead;
        if (e->slot >= 0) {
            bd_value *v = &outputs[e->output];
            if (is_live_value(v))
                put_value(&to->slots[e->slot], v, e->flags & BD_EDGE_LAST);
            else
                edge_is_dead = true;
        }
        const bd_plan_item *dst = &p->items[e->item];
        if (e->flags & BD_EDGE_ONLY) {
            bd_worker_push(w, to, e->item, dst->flags, edge_is_dead);
            ready_count++;
            continue;
        }
        uint64_t step = edge_is_dead ? BD_DEAD_ONE - 1 : (uint64_t)-1;
        uint64_t now =
            atomic_fetch_add_explicit(&to->counters[dst->counter], step, memory_order_acq_rel) + step;
        if (bd_counter_pending(now) > 0) continue;
        bd_worker_push(w, to, e->item, dst->flags, bd_counter_dead(now) > 0);
        ready_count++;
    }
    return ready_count;
}

static inline void drop_values(bd_value *values, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        bd_buffer_unref(values[i].tensor.buffer);
        values[i].tensor.buffer = NULL;
        values[i].tensor.dtype = BRAID_INVALID;
        if (!values[i].ref) continue;
        bd_resource_unref(&values[i].ref->base);
        values[i].ref = NULL;
    }
}

static void propagate(bd_worker *w, const bd_plan_item *it, bd_iteration *from, bool is_dead,
                      bd_value *outputs)
{
    bd_run *r = w->run;
    if (it->flags & BD_ITEM_CROSSES_FRAMES) {
        bd_mutex_lock(&r->mu);
        bd_cross_frames_locked(w, it, is_dead, from, outputs);
        if (from->frame->parent) bd_node_done_locked(w, from);
        bd_mutex_unlock(&r->mu);
    } else {
        int ready_count = bd_activate(w, it, is_dead, from, outputs, false);
        if (from->frame->parent) {
            // The node leaves and its consumers come: only when none came may the iteration be over.
            if (ready_count == 0) {
                bd_mutex_lock(&r->mu);
                bd_node_done_locked(w, from);
                bd_mutex_unlock(&r->mu);
            } else if (ready_count > 1) {
                atomic_fetch_add_explicit(&from->outstanding, ready_count - 1, memory_order_relaxed);
            }
        }
    }
    drop_values(outputs, it->output_count);
}

// ---- Reference edges ----

// The name a message gives to what comes in at input `i`: the variable's, where the graph shows it.
static const char *variable_name(const braid_op *n, int i)
{
    enum {
        CHAIN_MAX = 100
    };
    const braid_op *from = n->inputs[i].op;
    const braid_op *at = from;
    for (int k = 0; k < CHAIN_MAX; k++) {
        if (bd_node_role(at) == BD_ROLE_VARIABLE) return at->name;
        if (at->input_count == 0 || !bd_dtype_is_ref(at->inputs[0].op->output_types[at->inputs[0].index]))
            break;
        at = at->inputs[0].op;
    }
    return from->name;
}

static bool is_initialized(bd_variable *v)
{
    bd_mutex_lock(&v->mu);
    bool is_set = bd_tensor_is_set(&v->tensor);
    bd_mutex_unlock(&v->mu);
    return is_set;
}

// Reads the variables that come in over reference edges where the node takes values. False: one is uninitialized.
static bool read_references(const bd_plan_item *it, bd_value *inputs, braid_status *st)
{
    const braid_op *n = it->node;
    bool may_be_uninitialized = n->def->op->flags & BD_OP_ALLOWS_UNINITIALIZED;
    for (int32_t i = 0; i < it->input_count; i++) {
        bd_variable *v = inputs[i].ref;
        if (!v) continue;
        bool is_set;
        if (bd_dtype_is_ref(n->input_types[i])) {
            is_set = may_be_uninitialized || is_initialized(v);
        } else {
            is_set = bd_variable_read(v, &inputs[i].tensor) || may_be_uninitialized;
            bd_resource_unref(&v->base);
            inputs[i].ref = NULL;
        }
        if (is_set) continue;
        bd_fail(st, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                variable_name(n, i));
        return false;
    }
    return true;
}

// ---- Running nodes ----

static void set_context(bd_op_ctx *c, const bd_plan_item *it, bd_iteration *iteration, bool is_dead)
{
    c->node = it->node;
    c->state = it->state;
    c->inputs = iteration->slots + it->first_input;
    c->input_count = it->input_count;
    c->output_count = it->output_count;
    c->is_input_dead = is_dead;
    c->is_output_dead = false;
    c->frame_id = iteration->frame->id;
    c->iteration = iteration->number;
}

static bool has_all_outputs(const bd_plan_item *it, bd_op_ctx *c)
{
    if (it->flags & BD_ITEM_MAY_LACK_OUTPUT) return true;
    for (int32_t i = 0; i < it->output_count; i++) {
        if (is_live_value(&c->outputs[i])) continue;
        bd_op_fail(c, BRAID_INTERNAL, "Missing %d-th output from op %s", i, it->node->op_type);
        return false;
    }
    return true;
}

// After the kernel, or after the end of an asynchronous one.
static void end_node(bd_worker *w, const bd_plan_item *it, bd_iteration *iteration, bool is_dead,
                     bd_op_ctx *c)
{
    drop_values(c->inputs, it->input_count);
    if (bd_op_failed(c) || !has_all_outputs(it, c)) {
        drop_values(c->outputs, it->output_count);
        node_failed(w->run, it, &c->status);
        return;
    }
    if (c->is_output_dead) drop_values(c->outputs, it->output_count);
    propagate(w, it, iteration, is_dead, c->outputs);
}

static void async_done(bd_op_ctx *c)
{
    bd_async_op *op = BD_CONTAINER_OF(c, bd_async_op, ctx);
    bd_run *r = op->run;
    int was = atomic_exchange_explicit(&op->phase, BD_ASYNC_ENDED, memory_order_acq_rel);
    BD_ASSERT(was == BD_ASYNC_STARTING || was == BD_ASYNC_WAITING); // a kernel ends once
    if (was == BD_ASYNC_STARTING) return;                           // the thread that starts it goes on
    bd_mutex_lock(&r->mu);
    op->next = r->inbox;
    r->inbox = op;
    int count = wake_locked(r);
    bd_mutex_unlock(&r->mu);
    if (count > 0) submit(r, count);
}

static void handle_async_end(bd_worker *w, bd_async_op *op)
{
    bd_run *r = w->run;
    const bd_plan_item *it = &r->plan->items[op->item];
    if (r->step->stats)
        bd_step_stats_add(r->step->stats, r->plan->device->name, it->node, op->start_ns, bd_now_ns());
    atomic_store_explicit(&op->phase, BD_ASYNC_IDLE, memory_order_relaxed);
    if (atomic_load_explicit(&r->stopped, memory_order_relaxed) && !bd_op_failed(&op->ctx)) {
        drop_values(op->ctx.inputs, it->input_count);
        drop_values(op->ctx.outputs, it->output_count);
    } else {
        end_node(w, it, op->iteration, op->is_dead, &op->ctx);
    }
    atomic_fetch_sub_explicit(&r->async_open, 1, memory_order_relaxed);
}

static void start_async(bd_worker *w, const bd_plan_item *it, bd_ready ready)
{
    bd_run *r = w->run;
    bd_async_op *op = &ready.iteration->async[it->async];
    op->run = r;
    op->iteration = ready.iteration;
    op->item = ready.item;
    op->is_dead = ready.is_dead;
    op->ctx.outputs = ready.iteration->slots + it->async_slot;
    op->ctx.step = r->step;
    op->ctx.done = async_done;
    set_context(&op->ctx, it, ready.iteration, ready.is_dead);
    if (r->step->stats) op->start_ns = bd_now_ns();
    atomic_store_explicit(&op->phase, BD_ASYNC_STARTING, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->async_open, 1, memory_order_relaxed);
    it->run(&op->ctx);
    int starting = BD_ASYNC_STARTING;
    if (!atomic_compare_exchange_strong_explicit(&op->phase, &starting, BD_ASYNC_WAITING,
                                                 memory_order_acq_rel, memory_order_acquire))
        handle_async_end(w, op);
}

static void run_kernel(bd_worker *w, const bd_plan_item *it)
{
    bd_step_stats *stats = w->run->step->stats;
    if (!stats) {
        it->run(&w->ctx);
        return;
    }
    int64_t start_ns = bd_now_ns();
    it->run(&w->ctx);
    bd_step_stats_add(stats, w->run->plan->device->name, it->node, start_ns, bd_now_ns());
}

static void execute(bd_worker *w, bd_ready ready)
{
    const bd_plan_item *it = &w->run->plan->items[ready.item];
    bd_value *inputs = ready.iteration->slots + it->first_input;
    if (ready.is_dead && !(it->flags & BD_ITEM_SEND)) {
        drop_values(inputs, it->input_count);
        propagate(w, it, ready.iteration, true, w->outputs);
        return;
    }
    bd_op_ctx *c = &w->ctx;
    if ((it->flags & BD_ITEM_TAKES_REFERENCE) && !read_references(it, inputs, &c->status)) {
        drop_values(inputs, it->input_count);
        node_failed(w->run, it, &c->status);
        return;
    }
    if (it->flags & BD_ITEM_ASYNC) {
        start_async(w, it, ready);
        return;
    }
    set_context(c, it, ready.iteration, ready.is_dead);
    run_kernel(w, it);
    end_node(w, it, ready.iteration, ready.is_dead, c);
}

// ---- The workers' loop ----

// Keeps one expensive node and offers the others to whoever is idle.
static void execute_expensive(bd_worker *w)
{
    bd_run *r = w->run;
    bd_ready mine = w->expensive.items[--w->expensive.len];
    bd_mutex_lock(&r->mu);
    for (size_t i = 0; i < w->expensive.len; i++)
        bd_array_push(&r->shared, w->expensive.items[i]);
    w->expensive.len = 0;
    atomic_fetch_add_explicit(&r->in_expensive, 1, memory_order_relaxed);
    int count = wake_locked(r);
    bd_mutex_unlock(&r->mu);
    if (count > 0) submit(r, count);
    execute(w, mine);
    atomic_fetch_sub_explicit(&r->in_expensive, 1, memory_order_relaxed);
}

// Takes from inbox and shared; false when there is nothing.
static bool refill_locked(bd_worker *w)
{
    bd_run *r = w->run;
    bd_async_op *ended = r->inbox;
    r->inbox = NULL;
    bool found = ended != NULL;
    if (r->shared.len > 0) {
        bd_array_push(&w->ready, r->shared.items[--r->shared.len]);
        found = true;
    }
    if (!ended) return found;
    bd_mutex_unlock(&r->mu);
    while (ended) {
        bd_async_op *next = ended->next;
        handle_async_end(w, ended);
        ended = next;
    }
    bd_mutex_lock(&r->mu);
    return found;
}

// Runs what this worker has and what it finds, until there is nothing. Returns with mu held.
static void work(bd_worker *w)
{
    bd_run *r = w->run;
    for (;;) {
        if (atomic_load_explicit(&r->stopped, memory_order_relaxed)) w->ready.len = w->expensive.len = 0;
        if (w->ready.len > 0) {
            execute(w, w->ready.items[--w->ready.len]);
        } else if (w->expensive.len > 0) {
            execute_expensive(w);
        } else {
            bd_mutex_lock(&r->mu);
            if (!refill_locked(w)) return;
            bd_mutex_unlock(&r->mu);
        }
    }
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
    unref_run(r);
    done(arg, st);
}

static void run_worker(bd_run *r, bd_worker *w)
{
    work(w);
    bool is_last = retire_locked(r, w);
    bd_mutex_unlock(&r->mu);
    if (is_last) finish(r);
}

// A task of the pool: helps as long as there is something to do.
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
    if (w) run_worker(r, w);
    unref_run(r);
}

// ---- Beginning ----

static void fill_constants(bd_run *r)
{
    const bd_plan *p = r->plan;
    for (int i = 0; i < p->constant_count; i++)
        bd_tensor_ref(&r->root->slots[p->constants[i].slot].tensor, p->constants[i].tensor);
}

static bd_run *begin(bd_plan *p, bd_step *step, bd_plan_done_fn done, void *arg)
{
    bd_run *r = take_run(p);
    r->step = step;
    r->done = done;
    r->done_arg = arg;
    atomic_store_explicit(&r->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&r->stopped, false, memory_order_relaxed);
    r->may_share = p->device->pool && bd_pool_threads(p->device->pool) > 1;
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
        stop(r, why);
    }
    return r;
}

static bd_worker *first_worker(bd_run *r)
{
    fill_constants(r);
    bd_mutex_lock(&r->mu);
    bd_worker *w = take_worker_locked(r);
    bd_mutex_unlock(&r->mu);
    const bd_plan *p = r->plan;
    for (int i = p->root_count - 1; i >= 0; i--)
        bd_worker_push(w, r->root, p->roots[i], p->items[p->roots[i]].flags, false);
    return w;
}

void bd_plan_run(bd_plan *p, bd_step *step, bd_plan_done_fn done, void *arg)
{
    BD_ASSERT(done);
    bd_run *r = begin(p, step, done, arg);
    run_worker(r, first_worker(r));
}

// Sleeps until there is work for this thread (true; it counts as active) or the run is complete.
static bool sleep_locked(bd_run *r)
{
    r->waiter_sleeps = true;
    // Ends: every asynchronous node ends by itself or when the step is cancelled.
    while (r->waiter_sleeps && !r->is_complete)
        bd_cond_wait(&r->wake, &r->mu);
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
    unref_run(r);
    return code;
}
