// How rows of segments are joined: the kernels of the SegmentX and UnsortedSegmentX ops.
#ifndef BD_OPS_MATH_SEGMENT_H
#define BD_OPS_MATH_SEGMENT_H

#include "kernels/loops.h"
#include "op/kernel.h"

typedef enum bd_segment_op {
    BD_SEGMENT_SUM,
    BD_SEGMENT_MEAN,
    BD_SEGMENT_PROD,
    BD_SEGMENT_MIN,
    BD_SEGMENT_MAX
} bd_segment_op;

typedef struct bd_segment_state {
    bd_segment_op op;
    bd_binary_fn join, divide;
} bd_segment_state;

// Prepares a node (attr T).
void bd_segment_bind(const braid_op *node, bd_segment_op op, bd_segment_state *state);
// Rows (input 0) whose numbers (input 1) do not decrease, into as many segments as the last one says.
void bd_segment_sorted_run(bd_op_ctx *c);
// Rows whose numbers are in any order, into as many segments as input 2 says; those of negative numbers are
// dropped.
void bd_segment_unsorted_run(bd_op_ctx *c);

#endif
