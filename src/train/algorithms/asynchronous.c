// Asynchronous SGD (Tsitsiklis, Bertsekas and Athans, IEEE Transactions on Automatic Control, 1986): each
// worker reads the variables x, computes the gradient of its batch, and applies it, without regard for the
// others:
//
//     x := x - eta grad f(x', batch)      x' is x as this worker has read it
//
// Between the read and the update the other workers update x: with n equal workers, n - 1 times on average
// (the staleness). With one worker, on one parameter server or in one process, it is plain SGD.
#include "train/algorithms/algorithm.h"

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    train_build_asynchronous(a, train_optimizer_or(a, train_sgd(a)), pairs, count);
}

BD_ALGORITHM(asynchronous) = {
    .info = {.name = "asynchronous", .about = "Each worker applies its gradients as soon as it has them"},
    .defaults = {.learning_rate = 0.1f},
    .compresses = true,
    .build = build,
};
