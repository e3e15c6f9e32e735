// The steps of algorithms whose workers have no copies: one run computes gradients of the shared variables
// and updates them.
#include "train/algorithms/algorithm.h"

#include "base/alloc.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include <braid/ops.h>

// ---- When the worker computes ----
//
// The worker computes from the moment at which it has received the variables to that at which the last
// gradient is complete; in the rest of a step it waits.

static braid_out time_after(const braid_algorithm *a, const char *name, braid_op *const *ops, int count)
{
    train_begin_here(a);
    braid_push_control(a->graph, ops, count);
    const braid_out time = train_out0(braid_op_add(a->graph, "Timestamp", name, NULL, 0));
    braid_pop_control(a->graph);
    train_end_here(a);
    return time;
}

// A variable that is read by rows is not received as a whole.
static void add_received(const braid_algorithm *a, const braid_grad_and_var *pair, train_ops *received)
{
    const braid_out read = pair->indices.op ? BRAID_NONE : braid_variable_find(pair->var).read;
    if (read.op) bd_array_push(received, braid_identity(a->graph, "received", read).op);
}

// Returns the node beside the global step after which that may be counted up.
static braid_op *build_times(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    braid_graph *g = a->graph;
    braid_out next;
    train_ops received = {0}, gradients = {0};
    braid_push_colocate(g, a->step.op);
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(train_typed(a->step)));
    const braid_out step = train_read(g, "global_step_read", a->step, dtype);
    // The read shares the variable's memory, which is counted up; the sum does not.
    next = braid_add(g, step, braid_const_number(g, "one", dtype, 1));
    braid_pop_colocate(g);
    train_begin_here(a);
    a->next_step = braid_identity(g, "next_step", next);
    bd_array_push(&received, a->next_step.op);
    for (int i = 0; i < count; i++) {
        if (!pairs[i].grad.op || !pairs[i].var.op) continue;
        add_received(a, &pairs[i], &received);
        bd_array_push(&gradients, pairs[i].grad.op);
    }
    train_end_here(a);
    if (!braid_graph_status(g, NULL)) {
        a->compute_begin = time_after(a, "compute_begin", received.items, (int)received.len);
        a->compute_end = time_after(a, "compute_end", gradients.items, (int)gradients.len);
    }
    bd_array_free(&received);
    bd_array_free(&gradients);
    return next.op;
}

// ---- The steps ----

// The caller frees them.
static braid_grad_and_var *compressed(const braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    braid_grad_and_var *out = bd_memdup(pairs, (size_t)count * sizeof *out);
    train_compress(a, out, count);
    return out;
}

void train_build_asynchronous(braid_algorithm *a, braid_optimizer *optimizer, const braid_grad_and_var *pairs,
                              int count)
{
    braid_op *read = build_times(a, pairs, count);
    braid_grad_and_var *sent = compressed(a, pairs, count);
    braid_op *updated = braid_apply_gradients(optimizer, sent, count, BRAID_NONE);
    bd_free(sent);
    braid_push_control(a->graph, &read, read ? 1 : 0);
    if (updated) a->train = train_count_update(a, updated);
    braid_pop_control(a->graph);
    a->fetched = a->counted;
}

void train_build_synchronous(braid_algorithm *a, braid_optimizer *optimizer, int required,
                             const braid_grad_and_var *pairs, int count)
{
    build_times(a, pairs, count);
    // Without backup workers each worker gives exactly one gradient to an update, for which it has a queue of
    // tokens of its own.
    const bool has_backup = required < a->o.num_workers;
    a->sync = braid_sync_replicas_new(optimizer, &(braid_sync_replicas_options){
                                                     .replicas_to_aggregate = required,
                                                     .total_num_replicas = a->o.num_workers,
                                                     .deterministic = !has_backup,
                                                     .replica = a->o.worker,
                                                     .counts_dropped = has_backup,
                                                 });
    braid_grad_and_var *sent = compressed(a, pairs, count);
    a->train = braid_sync_replicas_apply(a->sync, sent, count, a->step);
    bd_free(sent);
    if (has_backup) a->dropped = braid_sync_replicas_num_dropped(a->sync);
}
