// What files of this module share about making variables.
#ifndef BD_TRAIN_VARIABLE_INTERNAL_H
#define BD_TRAIN_VARIABLE_INTERNAL_H

#include <braid/variables.h>

// Makes the nodes of a variable within its name scope (with '/'), and collects it. `place_class`: the name of the node it
// is to lie with, written as attribute `_class`; NULL for none.
braid_variable train_make_variable(braid_graph *g, const char *scope, braid_out initial_value, bool trainable,
                                   const char *place_class);

// The names of global variables that have no value yet: braid_report_uninitialized_variables without the local ones.
braid_out train_report_uninitialized_globals(braid_graph *g);

#endif
