// Data parallelism in one graph: a tower is the network on one device. The towers share the variables, each
// takes its part of a batch, and their gradients are averaged before they are applied.
#ifndef TOWERS_H
#define TOWERS_H

#include <braid/braid.h>

typedef struct towers {
    int count;
    braid_out images, labels; // placeholders [batch, 784] and, one-hot, [batch, 10]; `count` divides batch
    braid_out loss, accuracy; // scalars, means over the towers
    braid_op *train;
} towers;

// Pushes the device of tower `tower`, to which new nodes then go, to `g`.
typedef void (*towers_push_fn)(braid_graph *g, int tower, void *arg);

// Builds a network of one hidden layer in `count` towers, and its training.
towers towers_build(braid_graph *g, int count, towers_push_fn push, void *arg);

// Trains on digits that the program makes until the session should stop. Then prints the accuracy on others,
// and which devices had the most work in one step.
void towers_train(const towers *t, braid_monitored_session *s);

#endif
