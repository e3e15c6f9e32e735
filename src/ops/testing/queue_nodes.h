// A queue and the nodes of all ops on it, for tests of queues.
#ifndef BD_OPS_TESTING_QUEUE_NODES_H
#define BD_OPS_TESTING_QUEUE_NODES_H

#include "ops/testing/op_live.h"

typedef struct queue_spec {
    const char *op; // NULL: FIFOQueueV2
    const char *name, *shared_name;
    int64_t capacity, min_after_dequeue, seed, seed2; // capacity 0: unbounded
    const braid_dtype *types;                         // NULL: one int32
    int count;
    const braid_shape *shapes; // NULL: scalars
    bool no_shapes;
} queue_spec;

braid_out queue_make(op_live *l, queue_spec s);
// A node that enqueues the values that are fed.
braid_op *queue_enqueue_node(op_live *l, const char *op, braid_out queue, queue_spec s);
// A node that takes one element of the queue, or with `many` as many as are fed.
braid_op *queue_dequeue_node(op_live *l, const char *op, braid_out queue, queue_spec s, bool many);

// A queue, and one node of each op on it.
typedef struct queue_nodes {
    op_live *live;
    braid_op *enqueue, *enqueue_many, *dequeue, *dequeue_many, *dequeue_up_to, *close, *cancel, *size, *reset,
        *is_closed;
} queue_nodes;

// Fails the test when the graph does not take them.
queue_nodes queue_nodes_make(op_live *l, queue_spec s);

// For a queue_nodes `n`: runs a node, or starts it.
#define RUN(NODE, FEEDS, WANT) op_live_run(n.live, n.NODE, FEEDS, WANT)
#define START(NODE, FEEDS) op_live_start(n.live, n.NODE, FEEDS)

#endif
