// AGN, accumulated gradient normalization, formerly ADAG (Hermans, Spanakis and Moeckel, arXiv 1710.02368,
// section 3): as DOWNPOUR with plain SGD, but a worker pushes the mean of its T updates instead of their sum,
// so that the size of a push does not grow with T:
//
//     each step:      g = grad f(x, batch);  x := x - eta g;  s := s + g
//     every T steps:  c := c - eta s / T;  x := c;  s := 0
//
// TensorFlow's contrib.opt.AGNOptimizer (period 10) adds the updates of the local optimizer up and lets the
// program's optimizer apply their mean to the centre; dist-keras divides the difference of the weights by
// T. With gradient descent all three are the same. `optimizer` is the centre's.
#include "train/algorithms/local_global.h"

#include <braid/ops.h>

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    train_build_accruing_step(a, pairs, count);
    braid_optimizer *centre = train_optimizer_or(a, train_sgd(a));
    train_build_exchange(a, train_push_accrued(a, centre, train_one_over_period(a), false), true, NULL, 0);
}

BD_ALGORITHM(agn) = {
    .info = {.name = "agn",
             .about = "Workers push the mean of T gradients, and pull (accumulated gradient normalization)",
             .has_copies = true},
    .defaults = {.learning_rate = 0.1f, .period = 12},
    .compresses = true,
    .build = build,
};
