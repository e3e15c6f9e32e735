// DynSGD: As DOWNPOUR with plain SGD, but an update is divided by its staleness + 1: the more updates of
// others came since the worker's pull, the less it counts.
//
//     each step:      g = grad f(x, batch);  x := x - eta g;  s := s + g
//     every T steps:  c := c - eta s / (tau + 1);  x := c;  s := 0
//
//     braid run --ps 1 --workers 2 dynsgd
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "dynsgd",
        .about = "Trains a network on images of digits by DynSGD.",
        .algorithm = "dynsgd",
        .train_steps = 3000,
        .learning_rate = 0.4,
    };
    return scheme_main(&s, argc, argv);
}
