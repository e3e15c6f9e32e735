// Beginnings and ends of layers: their scopes, variables and options.
#ifndef BD_TRAIN_LAYER_H
#define BD_TRAIN_LAYER_H

#include "train/common/build.h"
#include <braid/control.h>
#include <braid/layers.h>

// A layer while it is built.
typedef struct train_layer {
    braid_graph *g;
    const char *kind; // its function in tf.layers
    braid_layer_options o;
    braid_dtype dtype; // of its variables
} train_layer;

// Makes the graph fail with "KIND 'NAME': WHY" and the input; returns false.
bool train_layer_fail(braid_graph *g, const char *kind, const char *name, braid_out x, const char *why);

// Checks that there is an input, of a type with fractions. False: the graph has failed.
bool train_layer_check(braid_graph *g, const char *kind, const char *name, braid_out x);

// Enters a layer's variable scope, which train_layer_end leaves. A given name is taken as it is, so that
// layers can share their variables.
void train_layer_push(braid_graph *g, const char *kind, const char *name, braid_reuse reuse);

// How a trained variable of a layer begins, and what is done to it. `build` NULL: as the scope says.
typedef struct train_layer_care {
    braid_initializer initializer;
    braid_regularizer regularizer;
    braid_constraint constraint;
} train_layer_care;

// A trained variable of a layer; its value.
braid_out train_layer_variable(const train_layer *l, const char *name, braid_shape shape,
                               const train_layer_care *care);
// What the options say of the kernel.
train_layer_care train_kernel_care(const train_layer *l);
// The bias [units].
braid_out train_layer_bias(const train_layer *l, int64_t units);

// Applies the activation function and leaves the scope.
braid_out train_layer_end(const train_layer *l, braid_out out);

// Decides a value by `training`, or in each run by `is_training` if that has an op.
void train_if_training(braid_graph *g, bool training, braid_out is_training, braid_branch_fn then,
                       braid_branch_fn otherwise, void *arg, int count, braid_out *results);

#endif
