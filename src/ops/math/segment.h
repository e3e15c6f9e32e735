// The kernels of the SegmentX and UnsortedSegmentX ops, which join the rows of a segment.
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

// Initializes *state from the node's attr T.
void bd_segment_bind(const braid_op *node, bd_segment_op op, bd_segment_state *state);
// Fills `count` elements with what the op makes of no rows: for extremes the ends of the type, infinity
// included.
void bd_segment_fill_empty(bd_segment_op op, braid_dtype dtype, void *to, int64_t count);
// Input 0: rows; input 1: segment ids in ascending order; the last id + 1 is the number of segments.
void bd_segment_sorted_run(bd_op_ctx *c);
// Input 0: rows; input 1: segment ids in any order; input 2: the number of segments. Rows of negative ids are
// dropped.
void bd_segment_unsorted_run(bd_op_ctx *c);

#endif
