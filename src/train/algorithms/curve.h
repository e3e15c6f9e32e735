// The curve of a worker: its loss over steps, time and bytes, in a file that `braid compare` reads.
#ifndef BD_TRAIN_ALGORITHM_CURVE_H
#define BD_TRAIN_ALGORITHM_CURVE_H

#include <braid/algorithms.h>

typedef struct train_curve train_curve;

// Opens the file of a worker (base/curve_file.h). Returns NULL when no directory is named, or after a
// warning.
train_curve *train_curve_open(int worker);

// Notes the loss of a step, and writes a line now and then: the mean of the losses since the last one.
void train_curve_step(train_curve *c, const braid_worker_report *report, double loss);

// Writes the last line and closes. NULL is accepted.
void train_curve_close(train_curve *c, const braid_worker_report *report);

#endif
