// Slots: variables named after another and lying beside it.
#ifndef BD_TRAIN_SLOT_H
#define BD_TRAIN_SLOT_H

#include <braid/variables.h>

// The variable NAME of `primary`, a variable: called PRIMARY/NAME whatever the name scope, lying beside it,
// not trained (TensorFlow's slot_creator); a resource variable if the primary is one.

// With the primary's type and shape and an initializer; the same as a scalar; with the value `initial`.
braid_variable train_slot_with(braid_graph *g, braid_out primary, const char *name,
                               braid_initializer initializer);
braid_variable train_slot_scalar(braid_graph *g, braid_out primary, const char *name,
                                 braid_initializer initializer);
braid_variable train_slot_from(braid_graph *g, braid_out primary, const char *name, braid_out initial);

#endif
