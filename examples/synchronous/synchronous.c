// Synchronous SGD: All workers compute a gradient of the same variables, and the mean of these gradients
// makes one update.
//
//     x := x - eta 1/n sum_i grad f(x, batch_i)
//
//     braid run --ps 1 --workers 2 synchronous
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "synchronous",
        .about = "Trains a network on images of digits by Synchronous SGD.",
        .algorithm = "synchronous",
        .train_steps = 2500,
        .learning_rate = 0.5,
    };
    return scheme_main(&s, argc, argv);
}
