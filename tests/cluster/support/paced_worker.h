// A worker that trains by an algorithm and takes a given time for each gradient, and what it sees meanwhile.
#ifndef BD_TESTS_PACED_WORKER_H
#define BD_TESTS_PACED_WORKER_H

#include "test_cluster.h"
#include <time.h>

#define PACED_SAMPLES_MAX 4096

// After a step of the worker.
typedef struct paced_sample {
    int64_t at_ns, step;       // step: the global step
    int64_t own_ns, server_ns; // on processors: of this process, and of the parameter server's
} paced_sample;

typedef struct paced_worker {
    test_cluster *cluster; // in which the worker's own server has been started
    const char *algorithm;
    int index, workers, backup;
    int64_t last_step; // global
    // Microseconds that gradient number `step` of a worker takes. NULL: none.
    int (*pace)(const void *arg, int worker, int64_t step);
    const void *pace_arg;
    clockid_t server_clock; // of the parameter server's process
    paced_sample samples[PACED_SAMPLES_MAX];
    int count;
    braid_code code; // of the whole
} paced_worker;

// Trains to the last step and says that the worker is done.
void paced_worker_run(paced_worker *w);

// Updates a second between sample `first` and the last but one: in the last step a worker sees the last
// updates of others, too.
double paced_worker_rate(const paced_worker *w, int first);

#endif
