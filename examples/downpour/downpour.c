// DOWNPOUR: Each worker trains a copy of the variables. After every 5 steps (--period) it pushes the sum of
// its gradients to the parameter server, where Adagrad applies it, and pulls the variables.
//
//     each step:      g = grad f(x, batch);  x := x - eta g;  s := s + g
//     every T steps:  A := A + s^2;  c := c - eta s / sqrt(A);  x := c;  s := 0
//
//     braid run --ps 1 --workers 2 downpour
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "downpour",
        .about = "Trains a network on images of digits by DOWNPOUR.",
        .algorithm = "downpour",
        .train_steps = 4500,
        .learning_rate = 0.1,
    };
    return scheme_main(&s, argc, argv);
}
