// What all strategies share.
#ifndef BD_TRAIN_STRATEGY_H
#define BD_TRAIN_STRATEGY_H

#include "base/alloc.h"
#include "train/variables/variable_store.h"
#include <braid/strategy.h>

// Communication between the tasks of a strategy.
typedef struct train_between {
    braid_out (*reduce)(braid_strategy *s, braid_reduce_kind kind, braid_out value);
    braid_out (*broadcast)(braid_strategy *s, braid_out value); // of task 0
    braid_out (*gather)(braid_strategy *s, braid_out value);    // along the first axis
} train_between;

struct braid_strategy {
    braid_graph *graph;           // not owned: it owns the strategy
    char **devices;               // [count] of the replicas of this graph
    int count;                    // 0: the strategy could not be made, and the graph has failed
    char *variable_device;        // NULL: variables are where their replica is
    braid_device_setter *setter;  // instead of all of these; NULL: none
    const train_between *between; // NULL: all replicas are in this graph
    int tasks, task;              // that train together, this one
    char *leader;                 // of collectives; NULL: none
    int32_t next_instance;        // of collectives
    int replica;                  // that is being built; 0 outside
    train_replicas replicas;
};

// Makes a strategy with copies of `devices`, owned by the graph. The graph fails for no device and for one
// that is given twice.
braid_strategy *train_strategy_new(braid_graph *g, const char *what, const char *const *devices, int count);

// An array of outputs that the graph owns.
braid_out *train_outs_new(braid_graph *g, int count);

// The replica's device, for nodes.
void train_push_replica(braid_strategy *s, int replica);
void train_pop_replica(braid_strategy *s);

// Whether there is one value for each replica; otherwise the graph fails.
bool train_check_per_replica(braid_strategy *s, const char *what, braid_per_replica value);

#endif
