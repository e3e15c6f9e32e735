// The nodes that the hook of synchronous training runs.
#ifndef BD_TRAIN_SYNC_REPLICAS_H
#define BD_TRAIN_SYNC_REPLICAS_H

#include <braid/sync_replicas.h>

struct braid_sync_replicas {
    braid_graph *graph; // not owned: it owns this
    braid_optimizer *optimizer;
    char *name;
    int required, total;
    braid_variable local_step; // of this replica: its gradients are of that step
    braid_out tokens;          // the queue
    // To be run; NULL before the updates are built.
    braid_op *update;                 // by the chief, again and again
    braid_op *begin_as_chief, *begin; // before the first step, by the chief and by other workers
    braid_op *first_tokens;           // by the chief, after that; NULL: not needed
    braid_op *no_more_tokens;         // ends the steps of all replicas
};

#endif
