// The nodes of algorithms whose workers train copies of the variables.
#include "train/algorithms/local_global.h"

#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include <braid/ops.h>

static braid_dtype dtype_of(braid_out ref)
{
    return train_base_dtype(braid_out_dtype(train_typed(ref)));
}

// ---- Variables of the worker ----

static braid_variable local_variable(const braid_algorithm *a, const char *name, braid_out initial_value)
{
    braid_graph *g = a->graph;
    train_begin_here(a);
    const char *scope = braid_push_name_scope(g, name);
    const train_variable_spec spec = {.collection = BRAID_LOCAL_VARIABLES};
    const braid_variable v = train_make_variable(g, scope, initial_value, &spec);
    braid_pop_name_scope(g);
    train_end_here(a);
    return v;
}

void train_build_seen(braid_algorithm *a)
{
    const braid_out step = train_read(a->graph, "global_step_read", a->step, dtype_of(a->step));
    a->seen = local_variable(a, "seen", step);
    if (a->seen.ref.op) braid_collect(a->graph, BRAID_GLOBAL_STEP_READ, a->seen.read);
}

// The value of a shared variable after a node (NULL: at any time), read where the variable lies.
static braid_out read_after(const braid_algorithm *a, braid_out ref, braid_op *after)
{
    braid_graph *g = a->graph;
    braid_push_control(g, &after, after ? 1 : 0);
    braid_push_colocate(g, ref.op);
    const braid_out value = train_read(g, "pulled", ref, dtype_of(ref));
    braid_pop_colocate(g);
    braid_pop_control(g);
    return value;
}

static void pull_all(braid_algorithm *a, braid_op *after, train_ops *ops)
{
    int count;
    const train_copy *copies = train_copies(a->graph, &count);
    for (int i = 0; i < count; i++)
        bd_array_push(
            ops, train_assign_restored(a->graph, copies[i].copy, read_after(a, copies[i].centre, after)));
}

// Groups the nodes and frees the list.
static braid_op *group(const braid_algorithm *a, const char *name, train_ops *ops)
{
    braid_op *grouped = braid_group(a->graph, name, ops->items, (int)ops->len);
    bd_array_free(ops);
    return grouped;
}

void train_build_pull(braid_algorithm *a)
{
    train_ops ops = {0};
    a->pull_step = braid_assign(a->graph, a->seen.ref, read_after(a, a->step, NULL));
    bd_array_push(&ops, a->pull_step.op);
    pull_all(a, NULL, &ops);
    a->pull = group(a, "pull", &ops);
}

// ---- The step ----

void train_build_local_step(braid_algorithm *a, braid_optimizer *optimizer, const braid_grad_and_var *pairs,
                            int count)
{
    train_make_locals(a->graph, true);
    a->train = braid_apply_gradients(optimizer, pairs, count, BRAID_NONE);
    train_make_locals(a->graph, false);
}

static train_accrued accrued_of(const braid_algorithm *a, const braid_grad_and_var *pair)
{
    const braid_out typed = train_typed(pair->var);
    train_begin_here(a);
    const braid_out zeros = braid_zeros(a->graph, dtype_of(pair->var), braid_out_shape(typed));
    train_end_here(a);
    return (train_accrued){.copy = pair->var,
                           .centre = train_centre_of(a->graph, pair->var),
                           .sum = local_variable(a, "accrued", zeros)};
}

// A sparse gradient is added row by row.
static braid_op *accrue(const braid_algorithm *a, const train_accrued *to, const braid_grad_and_var *pair)
{
    if (!to->sum.ref.op) return NULL;
    braid_push_colocate(a->graph, to->sum.ref.op);
    braid_op *added =
        pair->indices.op
            ? train_node3(a->graph, "ScatterAdd", NULL, to->sum.ref, pair->indices, pair->grad).op
            : braid_assign_add(a->graph, to->sum.ref, pair->grad).op;
    braid_pop_colocate(a->graph);
    return added;
}

void train_build_accruing_step(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    train_ops ops = {0};
    for (int i = 0; i < count; i++) {
        if (!pairs[i].grad.op || !pairs[i].var.op) continue;
        const train_accrued to = accrued_of(a, &pairs[i]);
        bd_array_push(&a->accrued, to);
        bd_array_push(&ops, accrue(a, &to, &pairs[i]));
    }
    bd_array_push(&ops, braid_apply_gradients(train_sgd(a), pairs, count, BRAID_NONE));
    a->train = group(a, "step", &ops);
}

// ---- To the centre ----

static void scale_pairs(const braid_algorithm *a, braid_out scale, bool at_centre, braid_grad_and_var *pairs)
{
    braid_graph *g = a->graph;
    for (size_t i = 0; scale.op && i < a->accrued.len; i++) {
        braid_push_colocate(g, at_centre ? pairs[i].var.op : a->here);
        pairs[i].grad = braid_mul(g, pairs[i].grad, braid_cast(g, scale, dtype_of(pairs[i].var)));
        braid_pop_colocate(g);
    }
}

void train_accrued_pairs(braid_algorithm *a, braid_out scale, bool at_centre, braid_grad_and_var *pairs)
{
    for (size_t i = 0; i < a->accrued.len; i++) {
        const train_accrued *from = &a->accrued.items[i];
        pairs[i] = (braid_grad_and_var){.grad = from->sum.read, .var = from->centre};
    }
    if (!at_centre) scale_pairs(a, scale, false, pairs);
    train_compress(a, pairs, (int)a->accrued.len);
    if (at_centre) scale_pairs(a, scale, true, pairs);
}

braid_op *train_push_accrued(braid_algorithm *a, braid_optimizer *optimizer, braid_out scale, bool at_centre)
{
    BD_ARRAY(braid_grad_and_var) pairs = {0};
    bd_array_reserve(&pairs, a->accrued.len);
    train_accrued_pairs(a, scale, at_centre, pairs.items);
    braid_op *pushed = braid_apply_gradients(optimizer, pairs.items, (int)a->accrued.len, BRAID_NONE);
    bd_array_free(&pairs);
    return pushed;
}

braid_op *train_push_synchronous(braid_algorithm *a, braid_optimizer *optimizer,
                                 const braid_grad_and_var *pairs, int count)
{
    const int workers = a->o.num_workers;
    // Each worker gives exactly one value to an update, which needs queues of tokens of their own.
    a->sync = braid_sync_replicas_new(optimizer, &(braid_sync_replicas_options){
                                                     .replicas_to_aggregate = workers,
                                                     .total_num_replicas = workers,
                                                     .deterministic = true,
                                                     .replica = a->o.worker,
                                                 });
    return braid_sync_replicas_apply(a->sync, pairs, count, a->step);
}

braid_out train_one_over_period(const braid_algorithm *a)
{
    train_begin_here(a);
    const braid_out scale = braid_const_float(a->graph, "one_over_period", 1.0F / (float)a->o.period);
    train_end_here(a);
    return scale;
}

braid_grad_and_var train_towards(const braid_algorithm *a, const train_copy *c, braid_out difference)
{
    train_begin_here(a);
    const braid_grad_and_var pair = {.grad = braid_neg(a->graph, difference), .var = c->centre};
    train_end_here(a);
    return pair;
}

braid_out train_difference(const braid_algorithm *a, const train_copy *c)
{
    const braid_out centre = read_after(a, c->centre, NULL);
    train_begin_here(a);
    const braid_out difference = braid_sub(a->graph, braid_variable_find(c->copy).read, centre);
    train_end_here(a);
    return difference;
}

// ---- The exchange ----

// The global step after this worker's update: for an asynchronous one the count of its own, even if others
// have been counted since.
static braid_out step_after(braid_algorithm *a, braid_op *pushed)
{
    if (a->sync) return read_after(a, a->step, pushed);
    if (!a->counted.op) train_count_update(a, pushed);
    if (!a->counted.op) return BRAID_NONE;
    train_begin_here(a);
    const braid_out after =
        braid_add(a->graph, a->counted, braid_const_number(a->graph, "one", dtype_of(a->step), 1));
    train_end_here(a);
    return after;
}

static braid_op *clear(const braid_algorithm *a, const train_accrued *c, braid_op *after)
{
    braid_graph *g = a->graph;
    braid_push_control(g, &after, 1);
    braid_push_colocate(g, c->sum.ref.op);
    braid_op *cleared = braid_assign(g, c->sum.ref, braid_zeros_like(g, c->sum.ref)).op;
    braid_pop_colocate(g);
    braid_pop_control(g);
    return cleared;
}

void train_build_exchange(braid_algorithm *a, braid_op *pushed, bool pulls, braid_op *const *others,
                          int count)
{
    if (!pushed || braid_graph_status(a->graph, NULL)) return;
    train_ops ops = {0};
    const bool is_counted_first = a->counted.op != NULL;
    const braid_out after = step_after(a, pushed);
    bd_array_push(&ops, pushed);
    // The weight of an update may depend on the value that `seen` had before.
    braid_push_control(a->graph, &pushed, 1);
    bd_array_push(&ops, braid_assign(a->graph, a->seen.ref, after).op);
    braid_pop_control(a->graph);
    for (size_t i = 0; i < a->accrued.len; i++)
        bd_array_push(&ops, clear(a, &a->accrued.items[i], pushed));
    if (pulls) pull_all(a, a->sync || is_counted_first ? pushed : a->counted.op, &ops);
    for (int i = 0; i < count; i++)
        bd_array_push(&ops, others[i]);
    a->fetched = a->sync ? after : a->counted;
    a->exchange = group(a, "exchange", &ops);
}
