// Updates of several small variables by one optimizer: the ops that can be one node, and the rewrite that
// makes them one.
#ifndef BD_OPS_TRAINING_FUSED_UPDATE_H
#define BD_OPS_TRAINING_FUSED_UPDATE_H

#include "graph/rewrite.h"
#include "ops/training/training.h"

// The kernel of an op that updates reference variables whole; NULL: it is no such op.
const bd_kernel *bd_update_kernel(const bd_op_def *def);

// Of the inputs of such an op: the gradient, and how many variables, which come first.
bool bd_update_is_gradient(const bd_arg_def *arg);
int bd_update_count_vars(const bd_op_def *def);

// Replaces groups of updates by one node each.
braid_code bd_fuse_updates(bd_rewriter *r, braid_status *st);

#endif
