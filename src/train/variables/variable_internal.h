// Declarations for making variables, shared by the files of this module.
#ifndef BD_TRAIN_VARIABLE_INTERNAL_H
#define BD_TRAIN_VARIABLE_INTERNAL_H

#include <braid/variable_scope.h>

// How the rest of the graph gets at a variable: by a reference edge, or by a handle.
typedef enum train_variable_kind {
    TRAIN_REFERENCE,
    TRAIN_RESOURCE
} train_variable_kind;

static inline train_variable_kind train_kind_of(braid_out ref)
{
    return braid_out_dtype(ref) == BRAID_RESOURCE ? TRAIN_RESOURCE : TRAIN_REFERENCE;
}

// Returns an output with the type and shape of the variable `ref`: `ref` itself, or the read of a resource
// variable.
static inline braid_out train_typed(braid_out ref)
{
    return train_kind_of(ref) == TRAIN_RESOURCE ? braid_variable_find(ref).read : ref;
}

typedef struct train_variable_spec {
    train_variable_kind kind;
    bool trainable;
    const char *collection; // NULL: that of global variables
    const char
        *place_class; // the name of the node to colocate with, written as attribute `_class`; NULL: none
} train_variable_spec;

// Makes the nodes of a variable within its name scope (with '/'), and adds it to its collections.
braid_variable train_make_variable(braid_graph *g, const char *scope, braid_out initial_value,
                                   const train_variable_spec *spec);

// Makes the nodes alone, whatever strategy or algorithm is pushed.
braid_variable train_make_one(braid_graph *g, const char *scope, braid_out initial_value,
                              const train_variable_spec *spec);

// train_make_variable while a strategy is pushed: the variable of the replica that is being built.
braid_variable train_make_in_replica(braid_graph *g, const char *scope, braid_out initial_value,
                                     const train_variable_spec *spec);

// braid_variable_get_with by the name in full and with the defaults of a scope.
braid_variable train_variable_at(braid_graph *g, const char *full_name, const braid_variable_options *options,
                                 const braid_variable_scope_options *scope);

// Makes a variable of this process: in the collection of local variables, which each session initializes.
braid_variable train_local_variable(braid_graph *g, const char *name, const braid_tensor *value);

// A node that reads a variable, called `name` (NULL: after its op). `dtype` counts for a resource variable
// only.
braid_out train_read(braid_graph *g, const char *name, braid_out ref, braid_dtype dtype);

// Gives the variable a value that was restored, where the variable lies.
braid_op *train_assign_restored(braid_graph *g, braid_out ref, braid_out value);

// variable -= (1 - decay) (variable - value), in a scope AssignMovingAvg; `decay` is a float scalar.
braid_op *train_assign_moving_average(braid_graph *g, braid_variable variable, braid_out value,
                                      braid_out decay);

// The names of global variables that have no value yet: braid_report_uninitialized_variables without the
// local ones.
braid_out train_report_uninitialized_globals(braid_graph *g);

#endif
