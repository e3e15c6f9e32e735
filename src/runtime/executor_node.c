// Executes one node: reads its inputs, runs its kernel, and delivers its outputs to the consumers. See
// executor.c.
#include "runtime/executor_internal.h"

#include "base/interrupt.h"
#include "runtime/step_stats_collector.h"
#include <string.h>

// ---- Activation ----

// A Merge is ready when its control inputs have arrived and either a live value or, dead, all of them.
// Returns true if it is; the value goes into its slot only when it is the first live one. mu is held.
static bool reach_merge(bd_worker *w, const bd_plan_item *from, const bd_plan_edge *e, bool is_live,
                        bd_iteration *to, bool *is_dead, bool *takes_value)
{
    const bd_plan_item *merge = &w->run->plan->items[e->item];
    _Atomic uint64_t *counter = &to->counters[merge->counter];
    uint64_t was = atomic_load_explicit(counter, memory_order_relaxed), is;
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

// The remaining outputs are freed before the node is counted out: those of an asynchronous node are slots of
// `from`, which another iteration may use as soon as this one is over.
static void propagate(bd_worker *w, const bd_plan_item *it, bd_iteration *from, bool is_dead,
                      bd_value *outputs)
{
    bd_run *r = w->run;
    if (it->flags & BD_ITEM_CROSSES_FRAMES) {
        bd_mutex_lock(&r->mu);
        bd_cross_frames_locked(w, it, is_dead, from, outputs);
        drop_values(outputs, it->output_count);
        if (from->frame->parent) bd_node_done_locked(w, from);
        bd_mutex_unlock(&r->mu);
        return;
    }
    int ready_count = bd_activate(w, it, is_dead, from, outputs, false);
    drop_values(outputs, it->output_count);
    if (!from->frame->parent) return;
    // One node leaves the count and its ready consumers join it: only without ready consumers may the
    // iteration be over.
    if (ready_count == 0) {
        bd_mutex_lock(&r->mu);
        bd_node_done_locked(w, from);
        bd_mutex_unlock(&r->mu);
    } else if (ready_count > 1) {
        atomic_fetch_add_explicit(&from->outstanding, ready_count - 1, memory_order_relaxed);
    }
}

// ---- Reference edges ----

// The name of input `i` in a message: the variable's, where the graph shows it.
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

// Reads the variables of reference inputs where the node takes values. Returns false when one is
// uninitialized.
static bool read_references(const bd_plan_item *it, bd_value *inputs, braid_status *st)
{
    const braid_op *n = it->node;
    bool may_be_uninitialized = bd_node_has_flag(n, BD_OP_ALLOWS_UNINITIALIZED);
    bool (*read)(bd_variable * v, braid_tensor * out) =
        bd_node_has_flag(n, BD_OP_TAKES_SNAPSHOT) ? bd_variable_snapshot : bd_variable_read;
    for (int32_t i = 0; i < it->input_count; i++) {
        bd_variable *v = inputs[i].ref;
        if (!v) continue;
        bool is_set;
        if (bd_dtype_is_ref(n->input_types[i])) {
            is_set = may_be_uninitialized || is_initialized(v);
        } else {
            is_set = read(v, &inputs[i].tensor) || may_be_uninitialized;
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

// The devices of a server share its plans, so a node may be on another device than the plan's.
static const char *device_of(const bd_run *r, const bd_plan_item *it)
{
    return it->node->assigned_device ? it->node->assigned_device : r->plan->device->name;
}

static void node_failed(bd_run *r, const bd_plan_item *it, braid_status *error, int part)
{
    bd_cancellation *token = r->step->cancellation;
    bool is_echo = error->code == BRAID_CANCELLED && token && bd_cancellation_is_cancelled(token);
    if (is_echo) {
        bd_cancellation_status(token, error); // the reason of the cancellation
    } else {
        const char *name, *op_type;
        bd_node_fused(it->node, part, &name, &op_type);
        // The error of a function's body names its node already: the node here is the caller.
        if (error->message && strstr(error->message, "{{node "))
            bd_status_suffix(error, "\n\t [[%s]]", name);
        else
            bd_status_suffix(error, " (%s on %s) [[{{node %s}}]]", op_type, device_of(r, it), name);
    }
    bd_run_stop(r, error);
    bd_status_fini(error);
}

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

// Returns whether each output is set and complete.
static bool has_all_outputs(const bd_plan_item *it, bd_op_ctx *c)
{
    if (it->flags & BD_ITEM_MAY_LACK_OUTPUT) return true;
    for (int32_t i = 0; i < it->output_count; i++) {
        bd_op_check_strings(c, i);
        if (!is_live_value(&c->outputs[i]))
            bd_op_fail(c, BRAID_INTERNAL, "Missing %d-th output from op %s", i, it->node->op_type);
    }
    return !bd_op_failed(c);
}

// After the kernel, or after the end of an asynchronous one.
static void end_node(bd_worker *w, const bd_plan_item *it, bd_iteration *iteration, bool is_dead,
                     bd_op_ctx *c)
{
    drop_values(c->inputs, it->input_count);
    if (bd_op_failed(c) || !has_all_outputs(it, c)) {
        drop_values(c->outputs, it->output_count);
        node_failed(w->run, it, &c->status, c->failed_part);
        c->failed_part = 0;
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
    if (was == BD_ASYNC_STARTING) return;                           // the thread that starts it continues
    bd_mutex_lock(&r->mu);
    op->next = r->inbox;
    r->inbox = op;
    int count = bd_run_wake_locked(r);
    bd_mutex_unlock(&r->mu);
    bd_run_continue(r, count);
}

void bd_handle_async_end(bd_worker *w, bd_async_op *op)
{
    bd_run *r = w->run;
    const bd_plan_item *it = &r->plan->items[op->item];
    if (r->step->stats)
        bd_step_stats_collector_add(r->step->stats, device_of(r, it), &op->ctx, op->start_ns, bd_now_ns());
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
    bd_interrupt_set(NULL);
    it->run(&op->ctx);
    bd_interrupt_set(&r->stopped);
    int starting = BD_ASYNC_STARTING;
    if (!atomic_compare_exchange_strong_explicit(&op->phase, &starting, BD_ASYNC_WAITING,
                                                 memory_order_acq_rel, memory_order_acquire))
        bd_handle_async_end(w, op);
}

static void run_kernel(bd_worker *w, const bd_plan_item *it)
{
    if (it->flags & BD_ITEM_CHANGES_STATE) bd_interrupt_set(NULL);
    bd_step_stats_collector *stats = w->run->step->stats;
    int64_t start_ns = stats ? bd_now_ns() : 0;
    it->run(&w->ctx);
    if (stats) bd_step_stats_collector_add(stats, device_of(w->run, it), &w->ctx, start_ns, bd_now_ns());
    if (it->flags & BD_ITEM_CHANGES_STATE) bd_interrupt_set(&w->run->stopped);
}

void bd_execute(bd_worker *w, bd_ready ready)
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
        node_failed(w->run, it, &c->status, 0);
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
