// What queue runners give, for tests of queues.
#ifndef BD_TRAIN_TESTING_QUEUE_ELEMENTS_H
#define BD_TRAIN_TESTING_QUEUE_ELEMENTS_H

#include <braid/graph.h>

// Initializes, starts the queue runners, and runs `out` (int32) until the end of the input. Stores the
// elements to `values` and returns how many there are; fails the test when there are more than `max`.
int queue_elements(braid_graph *g, braid_out out, int32_t *values, int max);

#endif
