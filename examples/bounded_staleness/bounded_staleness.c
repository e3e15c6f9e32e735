// Bounded staleness (SSP): Asynchronous, but no worker may be more than s rounds ahead of the slowest one
// (--staleness, 3 by default): a worker that is, waits. Workers read from a cache of the variables, which
// they pull anew when it is too old.
//
//     c := c - eta s_i;  clock_i := clock_i + 1;  wait until min_j clock_j >= clock_i - s;  x := c
//
//     braid run --ps 1 --workers 2 bounded_staleness
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "bounded_staleness",
        .about = "Trains a network on images of digits by Bounded staleness (SSP).",
        .algorithm = "bounded_staleness",
        .train_steps = 2000,
        .learning_rate = 0.4,
    };
    return scheme_main(&s, argc, argv);
}
