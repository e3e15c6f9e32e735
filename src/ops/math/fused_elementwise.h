// A small program of element-wise ops over tensors of one shape, and the graph rewrite that builds it.
#ifndef BD_OPS_MATH_FUSED_ELEMENTWISE_H
#define BD_OPS_MATH_FUSED_ELEMENTWISE_H

#include "graph/rewrite.h"
#include "op/kernel.h"

// Limits of one program: its tiles fit the first two levels of cache.
#define BD_PROGRAM_OPS_MAX 12
#define BD_PROGRAM_INPUTS_MAX 12

// The kernel of `op` if it computes floating-point numbers element by element; else NULL.
const bd_kernel *bd_elementwise_kernel(const bd_op_def *op);

// Replaces groups of element-wise nodes by programs. Returns ResourceExhausted when memory is exhausted.
braid_code bd_fuse_elementwise(bd_rewriter *r, braid_status *st);

#endif
