// EAMSGD, asynchronous elastic averaging SGD with momentum (Zhang, Choromanska and LeCun, arXiv 1412.6651,
// algorithm 2): aeasgd, but between exchanges a worker has Nesterov's momentum mu (`momentum`):
//
//     each step:        v := mu v - eta grad f(x + mu v, batch);  x := x + v
//     every tau steps:  E = alpha (x - c);  x := x - E;  c := c + E          alpha = eta rho
//
// The copy holds the point x + mu v at which the paper takes the gradient, as TensorFlow's use_nesterov does;
// the exchange draws that point. dist-keras departs from the paper: where x moves by -r, it takes the
// gradient at x + mu r, against the momentum; the step of its local optimizer is multiplied by eta once more;
// and it exchanges before a step.
#include "train/algorithms/elastic.h"

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    braid_optimizer *nesterov = braid_momentum_with(
        a->graph, &(braid_momentum_options){
                      .learning_rate = a->o.learning_rate, .momentum = a->o.momentum, .use_nesterov = true});
    train_build_local_step(a, nesterov, pairs, count);
    train_build_elastic_exchange(a);
}

BD_ALGORITHM(eamsgd) = {
    .info = {.name = "eamsgd",
             .about = "Elastic averaging with Nesterov's momentum on the workers",
             .has_copies = true},
    .defaults = {.learning_rate = 0.1f, .period = 32, .rho = 5, .momentum = 0.9f},
    .build = build,
};
