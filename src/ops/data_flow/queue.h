// Queues of tuples of tensors: FIFOQueue, PaddingFIFOQueue, PriorityQueue and RandomShuffleQueue.
//
// Attempts to enqueue (and to close) wait in one waitlist, attempts to dequeue in another, each in the order
// of arrival; only the head of a waitlist is served. A dequeue of many elements takes elements as they arrive
// and returns all of them at once; it puts them back when the queue is closed or its step is cancelled
// before.
#ifndef BD_OPS_DATA_FLOW_QUEUE_H
#define BD_OPS_DATA_FLOW_QUEUE_H

#include "base/random.h"
#include "ops/common/wait_queue.h"

extern const bd_resource_type bd_queue_type;

#define BD_QUEUE_UNBOUNDED INT32_MAX
// Of a node QueueSize: the queue is reset (bool).
#define BD_QUEUE_RESET_ATTR "_reset"

// The options of a queue, from the node's attributes.
typedef struct bd_queue_options {
    const char *kind; // "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue"
    const char *name;
    bool is_random;
    bool
        // component 0 is an int64 scalar: the least leaves first, among equal ones the oldest
        is_priority;
    int64_t capacity, min_after_dequeue;
    int64_t seed, seed2;
    const braid_dtype *types; // [component_count]
    // [component_count]; NULL: any. With unknown dimensions: elements of a batch are padded with zeros to the
    // largest there.
    const braid_shape *shapes;
    int component_count;
} bd_queue_options;

typedef struct bd_queue {
    bd_resource base;
    bd_wait_queue wait_queue;
    bd_queue_options options;       // strings and arrays are owned
    bd_waitlist enqueues, dequeues; // guarded by wait_queue.mu, as all below
    bd_waitlist empty_dequeues;     // dequeues of zero elements, which wait for no other attempt
    bool is_closed;
    bd_philox generator;    // of a random queue
    uint32_t randoms[4];    // drawn
    int random_count;       // of them not used yet
    braid_tensor *elements; // a ring of `capacity` tuples
    int64_t capacity, first, count;
    // For a priority queue, whose elements are a heap with `first` 0: the arrival number of each element,
    // which orders equal priorities, and the next numbers before and after all others.
    int64_t *turns;
    int64_t front_turn, back_turn;
} bd_queue;

// Copies the options.
bd_queue *bd_queue_new(const bd_queue_options *options);

// InvalidArgument when a queue that exists was made with other options.
braid_code bd_queue_check_options(const bd_queue *q, const bd_queue_options *options, braid_status *st);

// The functions below end the execution `c`, at once or later. The caller holds a reference to the queue
// until they return.

// Components are inputs [first_input, first_input + component_count) of `c`. With `many`, dimension 0 counts
// elements.
void bd_queue_enqueue(bd_queue *q, bd_op_ctx *c, int first_input, bool many);
// Components become the outputs of `c`.
void bd_queue_dequeue(bd_queue *q, bd_op_ctx *c);
// `n` elements, stacked along a new dimension 0; with `up_to`, fewer when the queue is closed and has fewer,
// but one at least.
void bd_queue_dequeue_many(bd_queue *q, bd_op_ctx *c, int64_t n, bool up_to);
// Closes the queue once all attempts to enqueue before are through, or, with cancel_pending, at once.
void bd_queue_close(bd_queue *q, bd_op_ctx *c, bool cancel_pending);

int64_t bd_queue_size(bd_queue *q);
// Removes all elements and opens the queue again. Returns the number of elements removed. A dequeue that
// waits keeps those that it has taken.
int64_t bd_queue_reset(bd_queue *q);
bool bd_queue_is_closed(bd_queue *q);

// For a resource that owns a queue. bd_queue_put adds an element, a tensor for each component (taken over),
// even if the queue is full or closed; bd_queue_close closes it. Call them without a lock, because waiting
// executions may end.
void bd_queue_put(bd_queue *q, braid_tensor *components);
void bd_queue_end(bd_queue *q);

// ---- Of queue.c alone: the heap of a priority queue (queue_heap.c) ----

// Moves the last element, which was just added, to its place in the heap.
void bd_queue_heap_push_locked(bd_queue *q, int64_t turn);
// Moves the first element to `out` and decrements the count.
void bd_queue_heap_pop_locked(bd_queue *q, braid_tensor *out);

#endif
