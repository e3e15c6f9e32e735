// AGN: accumulated gradient normalization: As DOWNPOUR, but a worker pushes the mean of its T gradients
// instead of their sum (T is 12 by default; formerly called ADAG).
//
//     each step:      g = grad f(x, batch);  x := x - eta g;  s := s + g
//     every T steps:  c := c - eta s / T;  x := c;  s := 0
//
//     braid run --ps 1 --workers 2 agn
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "agn",
        .about = "Trains a network on images of digits by AGN: accumulated gradient normalization.",
        .algorithm = "agn",
        .train_steps = 6000,
        .learning_rate = 1.0,
    };
    return scheme_main(&s, argc, argv);
}
