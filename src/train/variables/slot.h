// Slots: variables named after another and lying beside it.
#ifndef BD_TRAIN_SLOT_H
#define BD_TRAIN_SLOT_H

#include "train/variables/variable_store.h"

// Makes the slot variable NAME of the variable `primary`: named SCOPE/PRIMARY/NAME within the variable scope
// SCOPE, regardless of the name scope, colocated with it, not trained (TensorFlow's slot_creator); a resource
// variable if the primary is one. In a checkpoint the slot of a part of a variable WHOLE is a part of
// WHOLE/NAME; within a variable scope the name is another one, TensorFlow's (slot.c).

// With the primary's type and shape and an initializer; the same as a scalar; with the value `initial`.
braid_variable train_slot_with(braid_graph *g, braid_out primary, const char *name,
                               braid_initializer initializer);
braid_variable train_slot_scalar(braid_graph *g, braid_out primary, const char *name,
                                 braid_initializer initializer);
braid_variable train_slot_from(braid_graph *g, braid_out primary, const char *name, braid_out initial);

// The name in a checkpoint of the slot of another part, by its number, of a slice that has `whole` (bd_free).
char *train_slot_name_of_part(const train_slice *slice, int part);

#endif
