// A model for tests of estimators: y = w x, whose training can be computed by hand.
#ifndef BD_TRAIN_TESTING_LINE_MODEL_H
#define BD_TRAIN_TESTING_LINE_MODEL_H

#include <braid/braid.h>

// Predicts "y" and "x"; the loss is the mean of (w x - label)^2; w begins at 0 and is trained by gradient
// descent with the rate 0.25. Its params are a line_model_faults, or NULL.
void line_model(const braid_model_args *args, braid_estimator_spec *spec);

typedef struct line_model_faults {
    bool no_loss, no_train_op, wrong_feature;
    braid_hook *(*make_hook)(braid_mode mode); // NULL: none
} line_model_faults;

// Examples x = 1, 2 .. count with the labels 3 x, in batches.
typedef struct line_data {
    braid_tensor *x, *y;
    braid_array features[1], labels[1];
    braid_array_input input;
} line_data;
void line_data_init(line_data *d, int count, int64_t batch_size, int64_t num_epochs);
void line_data_fini(line_data *d);

// An estimator of the model in a directory, that saves every `save_steps` (0: at the end alone).
braid_estimator *line_estimator(const char *dir, void *params, int64_t save_steps);
// Frees it with its configuration.
void line_estimator_free(braid_estimator *e);

// The value of a float scalar in the newest checkpoint.
float line_checkpoint_value(const char *dir, const char *name);

#endif
