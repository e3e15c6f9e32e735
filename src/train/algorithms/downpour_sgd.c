// DOWNPOUR with plain SGD: see downpour.c. The centre has no learning rates of its own:
//
//     each step:      g = grad f(x, batch);  x := x - eta g;  s := s + g
//     every T steps:  c := c - eta s;  x := c;  s := 0
//
// With T = 1 it is asynchronous SGD. `optimizer` is the centre's.
#include "train/algorithms/local_global.h"

#include <braid/ops.h>

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    train_build_accruing_step(a, pairs, count);
    braid_optimizer *centre = train_optimizer_or(a, train_sgd(a));
    train_build_exchange(a, train_push_accrued(a, centre, BRAID_NONE, false), true, NULL, 0);
}

BD_ALGORITHM(downpour_sgd) = {
    .info = {.name = "downpour_sgd",
             .about = "Workers push the sum of T gradients, and pull: DOWNPOUR with plain SGD",
             .has_copies = true},
    .defaults = {.learning_rate = 0.1f, .period = 5},
    .compresses = true,
    .build = build,
};
