// Batches of images in a queue on the worker, which a thread fills beside training, so that a step does not
// wait for its batch.
#ifndef MNIST_QUEUE_H
#define MNIST_QUEUE_H

#include "mnist_task.h"

// Makes the queue, of --queue_batches batches, and images and labels that come from it unless they are fed.
void mnist_add_queue(braid_graph *g, mnist_model *m);

// The hook that starts the thread with each session. `m` outlives it; `worker` decides the order of the
// images.
braid_hook *mnist_queue_hook(const mnist_model *m, int worker);

#endif
