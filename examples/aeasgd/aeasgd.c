// AEASGD: elastic averaging SGD, asynchronous: Elastic averaging in which each worker exchanges at its own
// time: after every tau steps (32) its copy and the centre draw each other together.
//
//     each step:        x := x - eta grad f(x, batch)
//     every tau steps:  E = alpha (x - c);  x := x - E;  c := c + E        alpha = eta rho
//
//     braid run --ps 1 --workers 2 aeasgd
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "aeasgd",
        .about = "Trains a network on images of digits by AEASGD: elastic averaging SGD, asynchronous.",
        .algorithm = "aeasgd",
        .train_steps = 6000,
        .learning_rate = 0.3,
        .rho = 1.5,
    };
    return scheme_main(&s, argc, argv);
}
