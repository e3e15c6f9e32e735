// Synchronous SGD: the mean of the gradients of all n workers, of the same x, makes one update (Chen et al.,
// Revisiting Distributed Synchronous SGD, arXiv 1604.00981, section 2):
//
//     x := x - eta 1/n sum_i grad f(x, batch_i)
//
// It equals SGD in one process with the n batches as one, to rounding.
#include "train/algorithms/algorithm.h"

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    train_build_synchronous(a, train_optimizer_or(a, train_sgd(a)), a->o.num_workers, pairs, count);
}

BD_ALGORITHM(synchronous) = {
    .info = {.name = "synchronous",
             .about = "An update is the mean of one gradient of each worker",
             .is_synchronous = true},
    .defaults = {.learning_rate = 0.1f},
    .compresses = true,
    .build = build,
};
