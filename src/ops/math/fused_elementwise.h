// A small program of element-wise ops over tensors of one shape, and the rewrite that makes it of a graph's
// nodes.
#ifndef BD_OPS_MATH_FUSED_ELEMENTWISE_H
#define BD_OPS_MATH_FUSED_ELEMENTWISE_H

#include "graph/rewrite.h"
#include "op/kernel.h"

// What one program holds at most: its tiles stay in the first two caches.
#define BD_PROGRAM_OPS_MAX 12
#define BD_PROGRAM_INPUTS_MAX 12

// The kernel by which `op` computes element by element on floating point numbers what it gives; NULL when it
// does not.
const bd_kernel *bd_elementwise_kernel(const bd_op_def *op);

// Replaces groups of element-wise nodes by programs.
braid_code bd_fuse_elementwise(bd_rewriter *r, braid_status *st);

#endif
