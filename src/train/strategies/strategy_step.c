// The training step of a strategy: gradients of each replica by its copies of the variables, their mean over
// all replicas, and the same update of each copy.
#include "train/strategies/strategy.h"

#include "train/common/build.h"
#include <string.h>

typedef struct building {
    braid_strategy *s;
    braid_optimizer *optimizer;
    const braid_out *vars; // [count] centres
    int count;
    braid_grad_and_var *grads; // [replica][count]
} building;

static void replica_gradients(building *b, int replica, braid_out loss)
{
    braid_out *xs = bd_calloc((size_t)b->count, sizeof *xs);
    for (int i = 0; i < b->count; i++)
        xs[i] = train_mirror_of(b->s->graph, b->vars[i], replica);
    train_push_replica(b->s, replica);
    int count;
    const braid_grad_and_var *pairs = braid_compute_gradients(b->optimizer, loss, xs, b->count, &count);
    train_pop_replica(b->s);
    if (pairs) memcpy(&b->grads[replica * b->count], pairs, (size_t)count * sizeof *pairs);
    bd_free(xs);
}

static braid_out dense(const building *b, int replica, const braid_grad_and_var *pair)
{
    const braid_gradient gradient = {pair->grad, pair->indices, pair->dense_shape};
    if (!pair->indices.op) return pair->grad;
    train_push_replica(b->s, replica);
    const braid_out whole = braid_gradient_to_dense(b->s->graph, &gradient);
    train_pop_replica(b->s);
    return whole;
}

// The gradient of variable `i` to apply; of all replicas.
static braid_grad_and_var mean_gradient(const building *b, int i)
{
    braid_strategy *s = b->s;
    const braid_grad_and_var *first = &b->grads[i];
    if (!first->grad.op || braid_strategy_num_replicas(s) == 1) return *first;
    braid_out *values = train_outs_new(s->graph, s->count);
    for (int r = 0; r < s->count; r++)
        values[r] = dense(b, r, &b->grads[r * b->count + i]);
    const braid_per_replica value = {values, s->count};
    return (braid_grad_and_var){.grad = braid_strategy_reduce(s, BRAID_REDUCE_MEAN, value),
                                .var = b->vars[i]};
}

// Centres come first, so that their slots are there when those of the mirrors are made.
static braid_op *apply(const building *b, braid_out global_step)
{
    braid_grad_and_var *pairs = bd_calloc((size_t)b->count * (size_t)b->s->count, sizeof *pairs);
    int n = 0;
    for (int i = 0; i < b->count; i++)
        pairs[n++] = mean_gradient(b, i);
    for (int r = 1; r < b->s->count; r++)
        for (int i = 0; i < b->count; i++) {
            const braid_out mirror = train_mirror_of(b->s->graph, b->vars[i], r);
            if (mirror.op == b->vars[i].op) continue;
            pairs[n] = pairs[i];
            pairs[n++].var = mirror;
        }
    train_push_replica(b->s, 0);
    braid_op *train = braid_apply_gradients(b->optimizer, pairs, n, global_step);
    train_pop_replica(b->s);
    bd_free(pairs);
    return train;
}

braid_op *braid_strategy_minimize(braid_strategy *s, braid_optimizer *optimizer, braid_per_replica losses,
                                  braid_out global_step)
{
    if (!train_check_per_replica(s, "A training step", losses)) return NULL;
    building b = {.s = s, .optimizer = optimizer};
    const braid_out *vars = braid_collection(s->graph, BRAID_TRAINABLE_VARIABLES, &b.count);
    if (b.count == 0) {
        braid_graph_fail(s->graph, BRAID_INVALID_ARGUMENT, "No variables to optimize.");
        return NULL;
    }
    braid_out *kept = bd_memdup(vars, (size_t)b.count * sizeof *kept);
    b.vars = kept;
    b.grads = bd_calloc((size_t)b.count * (size_t)s->count, sizeof *b.grads);
    for (int r = 0; r < s->count; r++)
        replica_gradients(&b, r, losses.values[r]);
    braid_op *train = braid_graph_status(s->graph, NULL) ? NULL : apply(&b, global_step);
    bd_free(b.grads);
    bd_free(kept);
    return train;
}
