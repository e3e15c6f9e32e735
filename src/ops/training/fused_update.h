// Updates of several small variables by one optimizer: the ops that can be one node, and the rewrite that
// makes them one.
#ifndef BD_OPS_TRAINING_FUSED_UPDATE_H
#define BD_OPS_TRAINING_FUSED_UPDATE_H

#include "graph/rewrite.h"
#include "ops/training/training.h"

// The kernel of an op that updates whole reference variables and has inputs of one type; NULL for any other
// op.
const bd_kernel *bd_update_kernel(const bd_op_def *def);

// Describes the inputs of an update op: the gradient, and the number of variables, which are the first
// inputs.
bool bd_update_is_gradient(const bd_arg_def *arg);
int bd_update_count_vars(const bd_op_def *def);

// Replaces groups of updates by one node each.
braid_code bd_fuse_updates(bd_rewriter *r, braid_status *st);

#endif
