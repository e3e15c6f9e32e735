// SAGN, synchronous AGN: each of n workers takes T steps on its copy; the mean of their T gradients is
// aggregated over all workers as in synchronous SGD, and then all begin from the same centre (Hermans et al.,
// arXiv 1710.02368, for the mean of T gradients; Chen et al., arXiv 1604.00981, for the aggregation):
//
//     each step:      g = grad f(x_i, batch_i);  x_i := x_i - eta g;  s_i := s_i + g
//     every T steps:  c := c - eta 1/n sum_i s_i / T;  x_i := c;  s_i := 0
//
// `optimizer` is the centre's.
#include "train/algorithms/local_global.h"

#include "base/alloc.h"

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    train_build_accruing_step(a, pairs, count);
    const int n = (int)a->accrued.len;
    braid_grad_and_var *means = bd_calloc((size_t)n, sizeof *means);
    train_accrued_pairs(a, train_one_over_period(a), false, means);
    braid_op *pushed = train_push_synchronous(a, train_optimizer_or(a, train_sgd(a)), means, n);
    bd_free(means);
    train_build_exchange(a, pushed, true, NULL, 0);
}

BD_ALGORITHM(sagn) = {
    .info = {.name = "sagn",
             .about = "Synchronous AGN: an update is the mean of T gradients of each worker",
             .is_synchronous = true,
             .has_copies = true},
    .defaults = {.learning_rate = 0.1f, .period = 12},
    .compresses = true,
    .build = build,
};
