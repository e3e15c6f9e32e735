// What a graph knows of its variables: those that braid_variable_get has made, the current variable scopes,
// and which variables are parts of partitioned ones.
#ifndef BD_TRAIN_VARIABLE_STORE_H
#define BD_TRAIN_VARIABLE_STORE_H

#include "base/array.h"
#include "base/map.h"
#include <braid/variable_scope.h>

// The part of a partitioned variable that a variable is: what checkpoints need to know (SaveSliceInfo).
typedef struct train_slice {
    char *full_name;
    braid_shape full_shape, shape; // of the whole, and of the part
    int64_t offset[BRAID_RANK_MAX];
    // Of a slot whose `full_name` has the number of its part in it: what the name is made of (slot.c), owned;
    // NULL: `full_name` is that of all parts.
    char *scope, *whole, *slot;
} train_slice;

// A variable that braid_variable_get has made.
typedef struct train_stored {
    braid_variable variable;
    braid_dtype dtype;
    braid_shape shape;
} train_stored;

// What gives a variable its first value instead of its node NAME/Assign.
typedef struct train_initializer {
    braid_op *op;
    braid_out value;
} train_initializer;

// A variable that this process trains, and the shared variable of which it is a copy.
typedef struct train_copy {
    braid_out copy, centre; // refs
    int replica;            // of a strategy, which keeps it equal to the centre; 0: of an algorithm
} train_copy;

// When the copies of a variable are made equal, and how.
typedef struct train_policy {
    braid_synchronization synchronization;
    braid_aggregation aggregation;
} train_policy;

// How a strategy makes variables while it is pushed. In a model that is built once for each replica, the
// variables of replica 0 are the centres; the others share them, or get mirrors of them: copies with the
// name NAME/replica_1.
typedef struct train_replicas {
    int replica; // that is being built; -1: none
    bool shares;
    BD_ARRAY(braid_variable) made; // by replica 0, in order
    size_t next;                   // of `made`, for a later replica
    bd_map opened;                 // the store's, as it was before replica 0
    // What gives a centre its first value; NULL: its own initial value.
    braid_out (*first_value)(void *arg, braid_out initial_value);
    void *arg;
} train_replicas;

typedef struct train_variable_scope {
    char *name; // "a/b/"; outermost ""
    braid_variable_scope_options defaults;
} train_variable_scope;

typedef struct train_variable_store {
    BD_ARRAY(train_variable_scope) scopes; // the outermost first
    bd_map opened;                         // full name of a scope, without its '/' -> how often (a count)
    bd_map names;                          // names that scopes returned; they live as long as the graph
    bd_map variables;                      // full name -> train_stored
    bd_map slices;                         // name of a part's node -> train_slice
    bd_map initializers;                   // name of a variable's node -> train_initializer
    bd_map constraints;                    // the same -> braid_constraint
    BD_ARRAY(train_copy) copies;           // in the order in which they were made
    bd_map policies;                       // the same -> train_policy
    train_replicas *replicas;              // of the strategy that is pushed, not owned; NULL: none
    bool makes_local;                      // new variables are local
    braid_op *copies_at; // new trainable variables get a copy beside this node; NULL: they get none
} train_variable_store;

// The store of a graph, made when it is not there.
train_variable_store *train_store_of(braid_graph *g);

// The innermost scope.
const train_variable_scope *train_current_scope(braid_graph *g);

// Which part a variable is; NULL: a whole.
const train_slice *train_slice_of(const braid_graph *g, braid_out ref);

// Notes that `ref` is a part, and returns the note, owned by the graph; NULL for none.
train_slice *train_set_slice(braid_graph *g, braid_out ref, const char *full_name,
                             const braid_partition_info *info, braid_shape shape);

// Which part a variable is, as SaveV2 and RestoreV2 take it: the dimensions of the whole, and offset and
// length in each, "10 4 0,5:0,4"; "" for all of it (NULL). The caller frees it.
char *train_slice_text(const train_slice *slice);

// From here on each new trainable variable NAME is made as the centre, which is not trained, and a local
// variable "local/NAME" with its value, which is trained in its place, beside the node `at`. NULL: no more.
void train_make_copies(braid_graph *g, braid_op *at);

// From here on, or no more, new variables belong to this process: each session initializes them, and they are
// not saved. Slots of copies are such.
void train_make_locals(braid_graph *g, bool makes_local);

// All copies, owned by the graph.
const train_copy *train_copies(braid_graph *g, int *count);

// The shared variable of which `ref` is a copy; `ref` itself when it is none.
braid_out train_centre_of(const braid_graph *g, braid_out ref);

// The initializer that was set for a variable; NULL: none.
const train_initializer *train_initializer_of(const braid_graph *g, braid_out ref);

// From now on `op` initializes the variable, with `value`.
void train_set_initializer(braid_graph *g, braid_out ref, braid_op *op, braid_out value);

// What an optimizer is to make of a variable's value after an update; NULL: nothing.
const braid_constraint *train_constraint_of(const braid_graph *g, braid_out ref);

// Begins to build replica `index`, in rising order from 0, and ends it: names of scopes begin anew in each.
// The graph fails when a replica has not made the variables of replica 0. The strategy is pushed.
void train_begin_replica(braid_graph *g, int index);
void train_end_replica(braid_graph *g);
void train_replicas_fini(train_replicas *r);

// The name in full of a variable that the replica being built asks for, and whether it is there. The caller
// frees it.
char *train_replica_name(braid_graph *g, const char *scope, const char *name, braid_reuse *reuse);

// Of a new variable, and of one that is there (all zero: none was set).
void train_set_policy(braid_graph *g, braid_out ref, train_policy policy);
train_policy train_policy_of(const braid_graph *g, braid_out ref);

// The mirror of `centre` for a replica; `centre` itself where there is none.
braid_out train_mirror_of(const braid_graph *g, braid_out centre, int replica);
// The centre of a mirror; op NULL when `ref` is none.
braid_out train_mirrored(const braid_graph *g, braid_out ref);

#endif
