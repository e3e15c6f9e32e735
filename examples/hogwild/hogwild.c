// Hogwild!: shared variables are updated without locks, by threads of one process (braid_hogwild runs them
// over one session) or by the workers of a cluster, which update the parameter server's variables in the same
// way.
//
//     x_e := x_e - eta [grad f(x, sample)]_e        for each element e that the gradient has
//
//     TF_CONFIG='{}' hogwild --threads=2
//     braid run --ps 1 --workers 2 hogwild
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "hogwild",
        .about = "Trains a network on images of digits by Hogwild!.",
        .algorithm = "hogwild",
        .train_steps = 2000,
        .learning_rate = 0.4,
    };
    return scheme_main(&s, argc, argv);
}
