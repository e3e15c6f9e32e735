// Trains a network on images of digits by any of the algorithms of distributed training, and ends with a
// table of what each worker did: steps, updates, staleness, bytes moved, waiting time.
//
//     braid run --ps 1 --workers 2 mnist_algorithm --algorithm=easgd
//     mnist_algorithm --list
#include "scheme.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; braid_algorithm_at(i); i++)
            printf("%-18s %s\n", braid_algorithm_at(i)->name, braid_algorithm_at(i)->about);
        return 0;
    }
    const scheme s = {
        .name = "mnist_algorithm",
        .about = "Trains a network with one hidden layer on images of digits by one of many algorithms.",
        .train_steps = 2000,
        .learning_rate = 0.1,
    };
    return scheme_main(&s, argc, argv);
}
