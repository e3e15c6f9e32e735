// SavedModels: a graph with signatures, as TensorFlow Serving and tf.saved_model.load read it.
#ifndef BD_TRAIN_SAVED_MODEL_H
#define BD_TRAIN_SAVED_MODEL_H

#include "base/status.h"
#include "train/estimator/assets.h"
#include <braid/estimator.h>
#include <stddef.h>

// What a request may ask for: its inputs, its outputs, and the method of TensorFlow Serving.
typedef struct train_signature {
    const char *key, *method;
    const braid_named_tensor *inputs, *outputs; // [input_count], [output_count]
    int input_count, output_count;
} train_signature;

typedef struct train_saved_model {
    const braid_saver *saver;
    const train_signature *signatures; // [signature_count]
    int signature_count;
    braid_op *main_op; // run when the model is loaded; NULL: none
    const train_assets *assets;
} train_saved_model;

// Serializes a SavedModel with one graph, of the tag "serve" (the caller's, bd_free). NULL on an error: the
// graph's.
void *train_saved_model_write(const train_saved_model *model, size_t *len, braid_status *st);

#endif
