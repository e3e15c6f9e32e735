// EASGD: elastic averaging SGD, synchronous: Each worker trains a copy. After every tau steps (32) all
// copies and the centre on the parameter server draw each other together, with the strength alpha = eta rho.
//
//     each step:        x_i := x_i - eta grad f(x_i, batch_i)
//     every tau steps:  d_i = x_i - c;  x_i := x_i - alpha d_i;  c := c + alpha sum_i d_i
//
//     braid run --ps 1 --workers 2 easgd
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "easgd",
        .about = "Trains a network on images of digits by EASGD: elastic averaging SGD, synchronous.",
        .algorithm = "easgd",
        .train_steps = 6000,
        .learning_rate = 0.3,
        .rho = 1.5,
    };
    return scheme_main(&s, argc, argv);
}
