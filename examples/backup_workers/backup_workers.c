// Synchronous SGD with backup workers: An update is the mean of the first N gradients of N + b workers; the
// last b gradients are dropped. Here N is 1 and b is 1.
//
//     x := x - eta 1/N sum_{i among the first N} grad f(x, batch_i)
//
//     braid run --ps 1 --workers 2 backup_workers
#include "scheme.h"

int main(int argc, char **argv)
{
    const scheme s = {
        .name = "backup_workers",
        .about = "Trains a network on images of digits by Synchronous SGD with backup workers.",
        .algorithm = "backup_workers",
        .train_steps = 2000,
        .learning_rate = 0.4,
    };
    return scheme_main(&s, argc, argv);
}
