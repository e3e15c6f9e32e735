// What producers and batches share: queues, the queue runners that fill them, and how full they are.
#ifndef BD_TRAIN_INPUT_QUEUES_H
#define BD_TRAIN_INPUT_QUEUES_H

#include <braid/queues.h>

#define TRAIN_QUEUE_CAPACITY 32 // unless the program gives another

// Takes `n` elements (fewer, if `up_to`, at the end). `name` is the node's; NULL: after the queue.
void train_dequeue(braid_graph *g, braid_queue q, const char *name, int n, bool up_to, braid_out *outs);

// Adds a queue runner with a thread for each op [count]. An op may be there several times.
void train_fill_queue(braid_graph *g, braid_queue q, braid_op *const *enqueues, int count);

// A summary `tag` of how full a queue is: from 0, with `low` elements or fewer, to 1, with `high`.
void train_summarize_queue(braid_graph *g, braid_queue q, const char *tag, int low, int high);

#endif
