// DOWNPOUR with plain SGD: DOWNPOUR whose parameter server applies the sums by gradient descent. With
// --period=1 it is asynchronous SGD.
//
//     each step:      g = grad f(x, batch);  x := x - eta g;  s := s + g
//     every T steps:  c := c - eta s;  x := c;  s := 0
//
//     braid run --ps 1 --workers 2 downpour_sgd
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "downpour_sgd",
        .about = "Trains a network on images of digits by DOWNPOUR with plain SGD.",
        .algorithm = "downpour_sgd",
        .train_steps = 3000,
        .learning_rate = 0.3,
    };
    return scheme_main(&s, argc, argv);
}
