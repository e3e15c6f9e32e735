// A graph as TensorFlow's tf.train.Saver(sharded=True) makes it: variables on two devices, saved and restored
// through the ops on checkpoints, run by a session in this process.
#ifndef BD_TESTS_INTEROP_SAVER_GRAPH_H
#define BD_TESTS_INTEROP_SAVER_GRAPH_H

#include "tensor/tensor.h"
#include <braid/braid.h>

// What is saved: one variable each.
typedef struct saved_variable {
    const char *name;  // in the checkpoint
    const char *slice; // shape_and_slice; "" for all of it
    braid_dtype dtype;
    braid_shape shape; // of the variable
    int shard;         // the device it is on
} saved_variable;

#define SAVED_COUNT 6
#define SAVED_SHARDS 2
extern const saved_variable saved_variables[SAVED_COUNT];

// The content of a variable in round `round`. The caller ends it.
void saved_content(int variable, int round, braid_tensor *t);

typedef struct saver_graph {
    braid_graph *graph;
    braid_session *session;
    braid_out prefix, saved; // fed; fetched to save
    braid_op *restore, *set;
    braid_out values[SAVED_COUNT]; // fed for `set`
    braid_out variables[SAVED_COUNT];
} saver_graph;

// Fail the test when something fails.
void saver_graph_open(saver_graph *s);
void saver_graph_close(saver_graph *s);
void saver_graph_set(saver_graph *s, int round); // assigns the content of a round
void saver_graph_save(saver_graph *s, const char *prefix);
void saver_graph_restore(saver_graph *s, const char *prefix);
// The round whose content all variables have; fails the test when there is none.
int saver_graph_round(saver_graph *s, int round_max);

#endif
