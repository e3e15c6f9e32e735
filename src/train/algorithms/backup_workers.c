// Synchronous SGD with backup workers (Chen et al., Revisiting Distributed Synchronous SGD, arXiv 1604.00981,
// section 3): of N + b workers, the N whose gradients come first make the update; the other b gradients of
// that step are dropped, so that an update does not wait for the slowest workers:
//
//     x := x - eta 1/N sum_{i of the first N} grad f(x, batch_i)
//
// num_workers is N + b, backup_workers is b.
#include "train/algorithms/algorithm.h"

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    const int required = a->o.num_workers - a->o.backup_workers;
    train_build_synchronous(a, train_optimizer_or(a, train_sgd(a)), required, pairs, count);
}

BD_ALGORITHM(backup_workers) = {
    .info = {.name = "backup_workers",
             .about = "Synchronous, and the gradients of the slowest workers are dropped",
             .is_synchronous = true},
    .defaults = {.learning_rate = 0.1f},
    .compresses = true,
    .build = build,
};
