// Hogwild! (Recht, Re, Wright and Niu, NIPS 2011): threads that share memory update the variables without
// locks. Reads and writes of different threads interleave element by element; where gradients are sparse, few
// of them meet, and the loss of an update now and then does no harm:
//
//     each thread:  x_e := x_e - eta [grad f(x, sample)]_e   for each element e that the gradient has
//
// The nodes are those of asynchronous SGD with use_locking off. braid_hogwild (hogwild.h) is the loop of
// threads in one process; workers of a cluster that share a parameter server update it in the same way.
#include "train/algorithms/algorithm.h"

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    train_build_asynchronous(a, train_optimizer_or(a, train_sgd(a)), pairs, count);
}

BD_ALGORITHM(hogwild) = {
    .info = {.name = "hogwild", .about = "Threads of one process update shared variables without locks"},
    .defaults = {.learning_rate = 0.1f},
    .build = build,
};
