// EAMSGD: elastic averaging SGD with momentum: AEASGD whose workers train their copies with Nesterov's
// momentum (0.9) between exchanges.
//
//     each step:        v := mu v - eta grad f(x + mu v, batch);  x := x + v
//     every tau steps:  E = alpha (x - c);  x := x - E;  c := c + E        alpha = eta rho
//
//     braid run --ps 1 --workers 2 eamsgd
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "eamsgd",
        .about = "Trains a network on images of digits by EAMSGD: elastic averaging SGD with momentum.",
        .algorithm = "eamsgd",
        .train_steps = 3000,
        .learning_rate = 0.1,
    };
    return scheme_main(&s, argc, argv);
}
