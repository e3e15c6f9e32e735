// AEASGD, asynchronous elastic averaging SGD (Zhang, Choromanska and LeCun, arXiv 1412.6651, algorithm 1): an
// elastic force draws a worker's copy x and the centre c together, at the worker's own time. With
// alpha = eta rho:
//
//     each step:        x := x - eta grad f(x, batch)
//     every tau steps:  E = alpha (x - c);  x := x - E;  c := c + E
//
// E is computed from the values before. The defaults are those of dist-keras; with n workers, alpha should
// not be above 1/n. TensorFlow's contrib.opt.ElasticAverageOptimizer (moving_rate alpha = 0.9 / tau / n)
// exchanges before a step, this after one. `optimizer` takes the steps of the copies.
#include "train/algorithms/elastic.h"

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    train_build_local_step(a, train_optimizer_or(a, train_sgd(a)), pairs, count);
    train_build_elastic_exchange(a);
}

BD_ALGORITHM(aeasgd) = {
    .info = {.name = "aeasgd", .about = "Elastic averaging, each worker at its own time", .has_copies = true},
    .defaults = {.learning_rate = 0.1f, .period = 32, .rho = 5},
    .build = build,
};
