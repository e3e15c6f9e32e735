// EASGD, synchronous elastic averaging SGD (Zhang, Choromanska and LeCun, Deep learning with Elastic
// Averaging SGD, NIPS 2015, arXiv 1412.6651, equations 5 and 6): an elastic force draws each worker's copy
// x_i and the centre c together. With n workers and alpha = eta rho:
//
//     each step:        x_i := x_i - eta grad f(x_i, batch_i)
//     every tau steps:  d_i = x_i - c;  x_i := x_i - alpha d_i;  c := c + alpha sum_i d_i
//
// The values on the right are those from before. The paper has tau = 1 in the synchronous form, and takes
// beta = n alpha for the centre, which is stable up to 1. `optimizer` takes the steps of the copies.
#include "train/algorithms/elastic.h"

#include "base/alloc.h"
#include <braid/ops.h>

// The centre's part is gradient descent with the rate n alpha along the mean of c - x_i.
static void build(braid_algorithm *a, const braid_grad_and_var *grads_and_vars, int grad_count)
{
    train_build_local_step(a, train_optimizer_or(a, train_sgd(a)), grads_and_vars, grad_count);
    int count;
    const train_copy *copies = train_copies(a->graph, &count);
    const float alpha = train_moving_rate(a);
    braid_grad_and_var *pairs = bd_calloc((size_t)count, sizeof *pairs);
    train_ops drawn = {0};
    for (int i = 0; i < count; i++) {
        const braid_out difference = train_difference(a, &copies[i]);
        (void)train_elastic_force(a, &copies[i], difference, alpha, &drawn);
        pairs[i] = train_towards(a, &copies[i], difference);
    }
    braid_optimizer *mover = braid_gradient_descent(a->graph, (float)a->o.num_workers * alpha);
    braid_op *pushed = train_push_synchronous(a, mover, pairs, count);
    train_build_exchange(a, pushed, false, drawn.items, (int)drawn.len);
    bd_array_free(&drawn);
    bd_free(pairs);
}

BD_ALGORITHM(easgd) = {
    .info = {.name = "easgd",
             .about = "Elastic averaging: all workers and the centre draw each other at the same time",
             .is_synchronous = true,
             .has_copies = true},
    .defaults = {.learning_rate = 0.1f, .period = 32, .rho = 5},
    .build = build,
};
