// Synchronous SGD with a learning rate of each worker's own: worker i gives its step eta_i g_i instead of its
// gradient g_i, and the mean of the steps makes the update:
//
//     x := x - 1/n sum_i eta_i grad f(x, batch_i)
//
// With equal rates it is synchronous SGD. learning_rate is eta_i, that of this worker.
#include "train/algorithms/algorithm.h"

#include "base/alloc.h"
#include <braid/ops.h>

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    braid_graph *g = a->graph;
    braid_grad_and_var *steps = bd_memdup(pairs, (size_t)count * sizeof *pairs);
    train_begin_here(a);
    for (int i = 0; i < count; i++) {
        if (!steps[i].grad.op) continue;
        const braid_dtype dtype = braid_out_dtype(steps[i].grad);
        steps[i].grad = braid_mul(g, steps[i].grad, braid_const_number(g, "rate", dtype, a->o.learning_rate));
    }
    train_end_here(a);
    train_build_synchronous(a, braid_gradient_descent(g, 1), a->o.num_workers, steps, count);
    bd_free(steps);
}

BD_ALGORITHM(synchronous_rates) = {
    .info = {.name = "synchronous_rates",
             .about = "Synchronous, with a learning rate of each worker's own",
             .is_synchronous = true},
    .defaults = {.learning_rate = 0.1f},
    .compresses = true,
    .build = build,
};
