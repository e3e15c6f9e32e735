// The nodes of a work queue, for the hook that runs them.
#ifndef BD_TRAIN_WORK_QUEUE_H
#define BD_TRAIN_WORK_QUEUE_H

#include <braid/work_queue.h>

struct braid_work_queue {
    char **names; // [count]; NULL: shares without names
    int64_t count;
    braid_out finished;
    braid_out name, number;  // of the share, fed to the iterator's initializer
    braid_out member, share; // fed to the ops
    braid_op *join, *take, *finish;
};

#endif
