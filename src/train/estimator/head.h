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

// Says in `spec` what the mode needs, but for train_op, and returns the loss to train; its op is NULL when it
// is not needed, and when the graph has failed.
braid_out train_head_build(const train_head *head, const braid_model_args *args, braid_out logits,
                           braid_estimator_spec *spec);

#endif
