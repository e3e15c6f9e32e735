// Synchronous SGD with a learning rate of each worker's own: as synchronous SGD, but each worker scales its
// gradient by a learning rate of its own (--worker_rates), and the mean of the scaled gradients makes the
// update.
//
//     x := x - 1/n sum_i eta_i grad f(x, batch_i)
//
//     braid run --ps 1 --workers 2 synchronous_rates
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "synchronous_rates",
        .about =
            "Trains a network on images of digits by Synchronous SGD with a learning rate of each worker's own.",
        .algorithm = "synchronous_rates",
        .train_steps = 2500,
        .learning_rate = 0.5,
        .worker_rates = "0.6,0.4",
    };
    return scheme_main(&s, argc, argv);
}
