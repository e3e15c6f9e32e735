// Model averaging (McDonald, Hall and Mann, Distributed Training Strategies for the Structured Perceptron,
// NAACL 2010, iterative parameter mixing; Zinkevich et al., Parallelized SGD, NIPS 2010, with one exchange at
// the end): each of n workers trains its copy; every T steps all copies become their mean:
//
//     each step:      x_i := x_i - eta grad f(x_i, batch_i)
//     every T steps:  c := 1/n sum_i x_i;  x_i := c
//
// `optimizer` takes the steps of the copies. TensorFlow's contrib.opt.ModelAverageOptimizer does the same.
#include "train/algorithms/local_global.h"

#include "base/alloc.h"
#include <braid/ops.h>

static void build(braid_algorithm *a, const braid_grad_and_var *grads_and_vars, int grad_count)
{
    braid_graph *g = a->graph;
    train_build_local_step(a, train_optimizer_or(a, train_sgd(a)), grads_and_vars, grad_count);
    int count;
    const train_copy *copies = train_copies(g, &count);
    braid_grad_and_var *pairs = bd_calloc((size_t)count, sizeof *pairs);
    for (int i = 0; i < count; i++)
        pairs[i] = train_towards(a, &copies[i], train_difference(a, &copies[i]));
    braid_op *pushed = train_push_synchronous(a, braid_gradient_descent(g, 1), pairs, count);
    bd_free(pairs);
    train_build_exchange(a, pushed, true, NULL, 0);
}

BD_ALGORITHM(model_averaging) = {
    .info = {.name = "model_averaging",
             .about = "Every T steps the copies of all workers become their mean",
             .is_synchronous = true,
             .has_copies = true},
    .defaults = {.learning_rate = 0.1f, .period = 10},
    .build = build,
};
