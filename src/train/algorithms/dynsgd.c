// DynSGD (Jiang, Cui, Zhang and Yu, Heterogeneity-aware Distributed Parameter Servers, SIGMOD 2017, section
// 5): as DOWNPOUR with plain SGD, but an update counts the less the more updates the centre has had since
// the worker's pull (its staleness tau):
//
//     each step:      g = grad f(x, batch);  x := x - eta g;  s := s + g
//     every T steps:  c := c - eta s / (tau + 1);  x := c;  s := 0
//
// The paper computes tau from versions of parts of the model; here, as in dist-keras, the global step is the
// version of all of it.
#include "train/algorithms/local_global.h"

#include <braid/ops.h>

// 1 / (tau + 1): the update is counted first, and the count tells how many came before.
static braid_out weight(braid_algorithm *a)
{
    braid_graph *g = a->graph;
    if (!train_count_update(a, NULL)) return BRAID_NONE;
    train_begin_here(a);
    const braid_out tau = braid_cast(g, braid_sub(g, a->counted, a->seen.read), BRAID_FLOAT);
    const braid_out one = braid_const_float(g, "one", 1);
    const braid_out weight = braid_div(g, one, braid_add(g, tau, one));
    train_end_here(a);
    return weight;
}

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    train_build_accruing_step(a, pairs, count);
    train_build_exchange(a, train_push_accrued(a, train_sgd(a), weight(a), true), true, NULL, 0);
}

BD_ALGORITHM(dynsgd) = {
    .info = {.name = "dynsgd",
             .about = "DOWNPOUR with updates divided by their staleness + 1",
             .has_copies = true},
    .defaults = {.learning_rate = 0.1f, .period = 5},
    .compresses = true,
    .build = build,
};
