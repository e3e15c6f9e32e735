// Heads: what a model does with its logits: losses, predictions, metrics and signatures.
#ifndef BD_TRAIN_HEAD_H
#define BD_TRAIN_HEAD_H

#include <braid/canned_estimators.h>

typedef struct train_head {
    bool is_classifier;
    int64_t num_classes;                  // of a classifier
    int64_t label_dimension;              // of a regressor
    const braid_tensor *label_vocabulary; // of a classifier, strings [num_classes]; NULL: labels are numbers
    const char *weight_column;
    braid_reduction reduction;
} train_head;

// The number of logits of an example.
int64_t train_head_units(const train_head *head);

// Builds the node that trains a model by its loss; NULL when the graph has failed.
typedef struct train_head_trainer {
    braid_op *(*build)(const void *arg, braid_graph *g, braid_out loss);
    const void *arg;
} train_head_trainer;

// Says in `spec` what the mode needs. `trainer` is called in training, in the name scope of the head.
void train_head_build(const train_head *head, const braid_model_args *args, braid_out logits,
                      const train_head_trainer *trainer, braid_estimator_spec *spec);

#endif
