// A program that trains a network on images of digits by one algorithm of distributed training.
#ifndef SCHEME_H
#define SCHEME_H

#include <braid/braid.h>

typedef struct scheme {
    const char *name;  // of the program
    const char *about; // for --help, in a line
    // of the training algorithm (braid/algorithms.h); NULL: the program has a flag --algorithm
    const char *algorithm;
    int64_t train_steps; // of all workers together
    double learning_rate;
    double rho; // 0: the algorithm's
    int period; // 0: the algorithm's
    // learning rates of worker 0, 1 and so on, "0.6,0.4"; workers beyond have learning_rate. NULL: all have it
    const char *worker_rates;
} scheme;

// The program: reads flags, finds out which task this is, serves or trains, and tests. Returns the exit code.
int scheme_main(const scheme *s, int argc, char **argv);

#endif
