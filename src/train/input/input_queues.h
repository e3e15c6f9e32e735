// What the functions that fill queues share.
#ifndef BD_TRAIN_INPUT_QUEUES_H
#define BD_TRAIN_INPUT_QUEUES_H

#include <braid/queues.h>

// Takes `n` elements (fewer, if `up_to`, at the end). `name` is the node's; NULL: after the queue.
void train_dequeue(braid_graph *g, braid_queue q, const char *name, int n, bool up_to, braid_out *outs);

#endif
