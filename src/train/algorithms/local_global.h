// The pattern of local and global variables: each worker trains copies of the variables for a period of
// steps, then an exchange changes the centre, the variables that all workers share, and mostly the copies.
//
// A step runs on the worker alone. An exchange is one run: what a worker sends to the centre, the count of
// the global step, and what comes back. The worker's copy of the global step ("seen") is what hooks read,
// so that they make no call to another task.
#ifndef BD_TRAIN_LOCAL_GLOBAL_H
#define BD_TRAIN_LOCAL_GLOBAL_H

#include "train/algorithms/algorithm.h"
#include "train/variables/variable_store.h"

// Makes the worker's copy of the global step.
void train_build_seen(braid_algorithm *a);
// Builds a->pull: copies and `seen` get the values of the centre.
void train_build_pull(braid_algorithm *a);

// Builds the step: `optimizer` applies gradients to the copies.
void train_build_local_step(braid_algorithm *a, braid_optimizer *optimizer,
                            const braid_grad_and_var *grads_and_vars, int count);
// The same by gradient descent; the gradients are summed up until the next exchange, too.
void train_build_accruing_step(braid_algorithm *a, const braid_grad_and_var *grads_and_vars, int count);

// Stores to `pairs` [a->accrued.len] the sums of gradients times `scale`, a float scalar (op NULL: 1), with
// the centre's variables. The products lie on the worker, or with the centre.
void train_accrued_pairs(braid_algorithm *a, braid_out scale, bool at_centre, braid_grad_and_var *pairs);
// Applies them by `optimizer` and returns the node.
braid_op *train_push_accrued(braid_algorithm *a, braid_optimizer *optimizer, braid_out scale, bool at_centre);

// 1 / T, on the worker.
braid_out train_one_over_period(const braid_algorithm *a);

// Builds a->sync for updates of the centre by the mean of what all workers give, and returns the node that
// gives `pairs` and ends after the update.
braid_op *train_push_synchronous(braid_algorithm *a, braid_optimizer *optimizer,
                                 const braid_grad_and_var *pairs, int count);

// The difference of copy and centre, both from before the exchange, on the worker.
braid_out train_difference(const braid_algorithm *a, const train_copy *c);
// The centre, and as its gradient the direction away from the copy: gradient descent with the rate 1 would
// move it to the mean of the copies.
braid_grad_and_var train_towards(const braid_algorithm *a, const train_copy *c, braid_out difference);

// Builds a->exchange: after `pushed` the sums of gradients are cleared, `seen` is set and, if it pulls, the
// copies get the values of the centre. The other nodes [count] run with it.
void train_build_exchange(braid_algorithm *a, braid_op *pushed, bool pulls, braid_op *const *others,
                          int count);

#endif
