// Asynchronous SGD: Each worker reads the variables from the parameter server, computes the gradient of its
// own batch and applies it there, without regard for the others.
//
//     x := x - eta grad f(x', batch)        x' is x as this worker has read it
//
//     braid run --ps 1 --workers 2 asynchronous
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "asynchronous",
        .about = "Trains a network on images of digits by Asynchronous SGD.",
        .algorithm = "asynchronous",
        .train_steps = 2000,
        .learning_rate = 0.4,
    };
    return scheme_main(&s, argc, argv);
}
