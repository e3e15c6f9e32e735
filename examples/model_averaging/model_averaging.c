// Model averaging: Each worker trains a copy; after every T steps (10) all copies become their mean.
//
//     each step:      x_i := x_i - eta grad f(x_i, batch_i)
//     every T steps:  c := 1/n sum_i x_i;  x_i := c
//
//     braid run --ps 1 --workers 2 model_averaging
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "model_averaging",
        .about = "Trains a network on images of digits by Model averaging.",
        .algorithm = "model_averaging",
        .train_steps = 3000,
        .learning_rate = 0.4,
    };
    return scheme_main(&s, argc, argv);
}
