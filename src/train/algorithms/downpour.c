// DOWNPOUR (Dean et al., Large Scale Distributed Deep Networks, NIPS 2012, section 4.1 and algorithm 7.1 of
// the supplement): a worker updates its copy x by each gradient, and sums the gradients up; every T steps
// it pushes the sum s to the centre c, which has Adagrad's learning rates, and pulls:
//
//     each step:      g = grad f(x, batch);  x := x - eta g;  s := s + g
//     every T steps:  A := A + s^2;  c := c - eta s / sqrt(A);  x := c;  s := 0
//
// The paper has a period of its own for pushes and for pulls (n_push, n_fetch) and makes both beside the
// computation; here they are equal, as in its experiments, and one exchange makes both. downpour_sgd has
// gradient descent in place of Adagrad. `optimizer` is the centre's, in place of Adagrad. dist-keras has
// Adagrad, or another optimizer, on the copies, and its centre adds the changes of the copies up.
#include "train/algorithms/local_global.h"

#include <braid/ops.h>

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    train_build_accruing_step(a, pairs, count);
    braid_optimizer *centre = train_optimizer_or(a, braid_adagrad(a->graph, a->o.learning_rate));
    train_build_exchange(a, train_push_accrued(a, centre, BRAID_NONE, false), true, NULL, 0);
}

BD_ALGORITHM(downpour) = {
    .info = {.name = "downpour",
             .about = "Workers push the sum of T gradients to a centre with Adagrad, and pull",
             .has_copies = true},
    .defaults = {.learning_rate = 0.1f, .period = 5},
    .compresses = true,
    .build = build,
};
