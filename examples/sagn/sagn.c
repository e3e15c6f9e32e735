// SAGN: synchronous AGN: Each worker takes T steps on its copy (here 6); the mean of the T gradients is
// averaged over all workers, as in synchronous SGD, and all go on from the same variables.
//
//     each step:      g = grad f(x_i, batch_i);  x_i := x_i - eta g;  s_i := s_i + g
//     every T steps:  c := c - eta 1/n sum_i s_i / T;  x_i := c;  s_i := 0
//
//     braid run --ps 1 --workers 2 sagn
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "sagn",
        .about = "Trains a network on images of digits by SAGN: synchronous AGN.",
        .algorithm = "sagn",
        .train_steps = 6000,
        .learning_rate = 1.0,
        .period = 6,
    };
    return scheme_main(&s, argc, argv);
}
