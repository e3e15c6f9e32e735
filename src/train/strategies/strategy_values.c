// Values of replicas: inputs, reductions, and the variables that replicas read and write together.
#include "train/strategies/strategy.h"

#include "train/common/build.h"
#include "train/variables/variable_internal.h"

// ---- Inputs ----

braid_per_replica braid_strategy_split(braid_strategy *s, braid_out batch)
{
    if (braid_graph_status(s->graph, NULL)) return (braid_per_replica){0};
    braid_out *parts = train_outs_new(s->graph, s->count);
    parts[0] = batch;
    if (s->count > 1) braid_split(s->graph, batch, 0, parts, s->count);
    return (braid_per_replica){parts, s->count};
}

braid_per_replica braid_strategy_broadcast(braid_strategy *s, braid_out value)
{
    if (braid_graph_status(s->graph, NULL)) return (braid_per_replica){0};
    braid_out *values = train_outs_new(s->graph, s->count);
    if (s->between) value = s->between->broadcast(s, value);
    for (int i = 0; i < s->count; i++)
        values[i] = value;
    return (braid_per_replica){values, s->count};
}

// ---- Reductions ----

static braid_out divided(braid_strategy *s, braid_out sum)
{
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(sum));
    const braid_out by = braid_const_number(s->graph, NULL, dtype, braid_strategy_num_replicas(s));
    const bool is_integer = dtype == BRAID_INT32 || dtype == BRAID_INT64;
    return is_integer ? train_node2(s->graph, "TruncateDiv", NULL, sum, by) : braid_div(s->graph, sum, by);
}

// Added up one after another, in the order of replicas.
static braid_out local_sum(braid_strategy *s, braid_per_replica value)
{
    braid_out sum = value.values[0];
    for (int i = 1; i < value.count; i++)
        sum = braid_add(s->graph, sum, value.values[i]);
    return sum;
}

braid_out braid_strategy_reduce(braid_strategy *s, braid_reduce_kind kind, braid_per_replica value)
{
    if (!train_check_per_replica(s, "A reduction", value)) return BRAID_NONE;
    train_push_replica(s, 0);
    braid_out y = local_sum(s, value);
    if (s->between) y = s->between->reduce(s, kind, y);
    if (!s->between && kind == BRAID_REDUCE_MEAN && s->count > 1) y = divided(s, y);
    train_pop_replica(s);
    return y;
}

braid_out braid_strategy_gather(braid_strategy *s, braid_per_replica value)
{
    if (!train_check_per_replica(s, "Gathering", value)) return BRAID_NONE;
    train_push_replica(s, 0);
    braid_out y = s->count > 1 ? braid_concat(s->graph, value.values, s->count, 0) : value.values[0];
    if (s->between) y = s->between->gather(s, y);
    train_pop_replica(s);
    return y;
}

// ---- Variables ----

braid_out braid_strategy_local(const braid_replica *replica, braid_out ref)
{
    return train_mirror_of(replica->graph, ref, replica->local);
}

static bool is_on_read(const braid_strategy *s, braid_out ref)
{
    return !s->replicas.shares && train_policy_of(s->graph, ref).synchronization == BRAID_SYNC_ON_READ;
}

static braid_op *assign_one(braid_graph *g, braid_out ref, braid_out value, braid_assign_kind kind)
{
    static const char *const names[2][3] = {
        {"Assign", "AssignAdd", "AssignSub"},
        {"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"},
    };
    braid_push_colocate(g, ref.op);
    braid_op *node = train_node2(g, names[train_kind_of(ref) == TRAIN_RESOURCE][kind], NULL, ref, value).op;
    braid_pop_colocate(g);
    return node;
}

// What the replicas' values are together; op NULL, and the graph has failed, where they are nothing.
static braid_out aggregated(braid_strategy *s, braid_out ref, braid_per_replica value)
{
    const braid_aggregation aggregation = train_policy_of(s->graph, ref).aggregation;
    braid_per_replica first;
    switch (aggregation) {
    case BRAID_AGGREGATE_SUM: return braid_strategy_reduce(s, BRAID_REDUCE_SUM, value);
    case BRAID_AGGREGATE_MEAN: return braid_strategy_reduce(s, BRAID_REDUCE_MEAN, value);
    case BRAID_AGGREGATE_ONLY_FIRST_REPLICA:
        first = braid_strategy_broadcast(s, value.values[0]);
        return first.values ? first.values[0] : (braid_out){NULL, 0};
    default: break;
    }
    if (braid_strategy_num_replicas(s) == 1) return value.values[0];
    braid_graph_fail(s->graph, BRAID_INVALID_ARGUMENT,
                     "You must specify an aggregation method to update or read variable '%s', of which %d "
                     "replicas have a copy (braid_variable_options.aggregation)",
                     braid_op_name(ref.op), braid_strategy_num_replicas(s));
    return BRAID_NONE;
}

braid_op *braid_strategy_assign(braid_strategy *s, braid_out ref, braid_per_replica value,
                                braid_assign_kind kind)
{
    if (!train_check_per_replica(s, "An assignment by replicas", value) || !ref.op) return NULL;
    const bool by_replica = is_on_read(s, ref);
    const braid_out one = by_replica ? BRAID_NONE : aggregated(s, ref, value);
    if (braid_graph_status(s->graph, NULL)) return NULL;
    braid_op **nodes = bd_calloc((size_t)s->count, sizeof *nodes);
    int n = 0;
    for (int i = 0; i < s->count; i++) {
        const braid_out copy = train_mirror_of(s->graph, ref, i);
        if (i == 0 || copy.op != ref.op)
            nodes[n++] = assign_one(s->graph, copy, by_replica ? value.values[i] : one, kind);
    }
    braid_op *done = braid_group(s->graph, NULL, nodes, n);
    bd_free(nodes);
    return done;
}

braid_out braid_strategy_read(braid_strategy *s, braid_out ref)
{
    if (!ref.op) return BRAID_NONE;
    if (!is_on_read(s, ref)) return braid_variable_find(ref).read;
    braid_out *reads = train_outs_new(s->graph, s->count);
    for (int i = 0; i < s->count; i++)
        reads[i] = braid_variable_find(train_mirror_of(s->graph, ref, i)).read;
    return aggregated(s, ref, (braid_per_replica){reads, s->count});
}
