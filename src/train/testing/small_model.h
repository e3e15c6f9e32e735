// The smallest model that can be trained, and a monitored session for it.
#ifndef BD_TRAIN_TESTING_SMALL_MODEL_H
#define BD_TRAIN_TESTING_SMALL_MODEL_H

#include <braid/braid.h>

// One variable that moves towards 3: a step multiplies its distance by 1 - rate.
typedef struct small_model {
    braid_graph *graph;
    braid_out rate; // placeholder
    braid_variable x;
    braid_out loss;
    braid_op *train;
} small_model;

small_model small_model_make(void); // the caller frees the graph

// Opens a session in this process as the chief.
braid_monitored_session *small_model_open(const small_model *m, braid_hook *const *hooks);

// One step of training, with a rate of 0.1: the loss falls from 9 by a factor of 0.81.
braid_code small_model_step(braid_monitored_session *s, const small_model *m);

// The loss now, without a step.
float small_model_loss(braid_monitored_session *s, const small_model *m);

// The value of a float scalar in a session.
float small_model_value(braid_session *s, braid_out out);

// Makes the node that initializes all variables, and then assigns `value` to x.
braid_op *small_model_init(const small_model *m, braid_out value);

#endif
