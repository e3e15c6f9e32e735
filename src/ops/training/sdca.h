// The examples, weights and their updates of one run of SdcaOptimizer.
#ifndef BD_OPS_TRAINING_SDCA_H
#define BD_OPS_TRAINING_SDCA_H

#include "op/kernel.h"
#include "ops/training/sdca_loss.h"

// The attrs of a node.
typedef struct bd_sdca_options {
    const bd_sdca_loss *loss;
    int sparse_count, value_count, dense_count; // groups of features; the first `value_count` have values
    double l2, shrinkage;                       // l1 / l2
    int64_t partitions;                         // of the loss: optimizers that work at the same time
    bool adaptive;
} bd_sdca_options;

// A group of sparse features: example i has those at [start[i], start[i + 1]).
typedef struct bd_sdca_sparse {
    int64_t *start;      // [example_count + 1], owned
    int64_t *places;     // of each feature's weight, owned
    const float *values; // of the features; NULL: each is 1
    const float *weights;
    float *updates; // sums of them, in output out_delta_sparse_weights
    int64_t weight_count;
} bd_sdca_sparse;

// A group of dense features: a row of `width` numbers for each example.
typedef struct bd_sdca_dense {
    const float *rows, *weights;
    float *updates;
    int64_t width;
} bd_sdca_dense;

typedef struct bd_sdca_batch {
    const bd_sdca_options *o;
    int64_t example_count;
    const float *example_weights;
    float *labels; // [example_count] after `convert` of the loss, owned
    double *norms; // [example_count] squared norms of the examples, owned
    bd_sdca_sparse *sparse;
    bd_sdca_dense *dense;
} bd_sdca_batch;

// Predictions of an example: by the weights before this run, and with the updates of this run.
typedef struct bd_sdca_prediction {
    double before, now;
} bd_sdca_prediction;

// Reads and checks the inputs; allocates the outputs of updates, as zeros. False: the kernel has failed. The
// caller ends the batch in any case, which was zeroed before.
bool bd_sdca_read(bd_op_ctx *c, const bd_sdca_options *o, bd_sdca_batch *b);
void bd_sdca_fini(bd_sdca_batch *b);

bd_sdca_prediction bd_sdca_predict(const bd_sdca_batch *b, int64_t example);

// Writes the numbers of the examples to order[example_count], as the run takes them: shuffled, or,
// adaptively, sampled (then an example may come several times, another not at all). `state` is
// example_state_data [example_count, 4], on which alone the random numbers depend. False when memory is
// short.
bool bd_sdca_order(const bd_sdca_batch *b, const float *state, int64_t *order);

// The input number of a list's first tensor, in the order of the op's arguments.
enum {
    BD_SDCA_EXAMPLES,
    BD_SDCA_FEATURES,
    BD_SDCA_VALUES,
    BD_SDCA_DENSE,
    BD_SDCA_EXAMPLE_WEIGHTS,
    BD_SDCA_LABELS,
    BD_SDCA_INDICES,
    BD_SDCA_SPARSE_WEIGHTS,
    BD_SDCA_DENSE_WEIGHTS,
    BD_SDCA_STATE
};
int bd_sdca_input(const bd_sdca_options *o, int argument);

#endif
