// Batch renormalization: how training corrects the batch's mean and variance by averages.
#ifndef BD_TRAIN_BATCH_RENORM_H
#define BD_TRAIN_BATCH_RENORM_H

#include "train/variables/variable_internal.h"
#include <braid/layers.h>

// What is known of the layer.
typedef struct train_renorm {
    braid_graph *g;
    const braid_batch_normalization_options *o;
    braid_dtype dtype; // of the variables
    int64_t channels;
    double epsilon;
    // Averages and their weights, which begin at 0: mean / mean_weight is the average of the batches.
    braid_variable mean, mean_weight, stddev, stddev_weight;
} train_renorm;

// Vectors over the channels.
typedef struct train_renorm_result {
    braid_out r, d;                 // the normalized value x becomes x r + d
    braid_out new_mean, new_stddev; // averages after their update; not of use when not training
} train_renorm_result;

// Makes the variables, in the current scope.
void train_renorm_make(train_renorm *n);

// Builds the correction, and the updates of the averages, which run when their new values are used. `mean`
// and `variance` are the batch's. r is 1 and d 0 when not training.
train_renorm_result train_renorm_correct(const train_renorm *n, braid_out mean, braid_out variance);

#endif
