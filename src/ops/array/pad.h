// Paddings of Pad, PadV2 and MirrorPad: reading and checking them, and the resulting shape.
#ifndef BD_OPS_ARRAY_PAD_H
#define BD_OPS_ARRAY_PAD_H

#include "graph/shape_fn.h"
#include "op/kernel.h"

typedef struct bd_paddings {
    int64_t before[BRAID_RANK_MAX], after[BRAID_RANK_MAX];
} bd_paddings;

// Reads the paddings of input 0's dimensions from input 1, [rank, 2]. False: the kernel has failed.
bool bd_paddings_read(bd_op_ctx *c, bd_paddings *p);
// Sets *out to the shape of input 0 with the paddings added. False: the kernel has failed.
bool bd_paddings_grow(bd_op_ctx *c, const bd_paddings *p, braid_shape *out);

// Shape function: the shape of input 0 with the paddings in input 1 added to its dimensions (`grown`), or
// subtracted.
braid_code bd_paddings_shape(bd_shape_ctx *c, bool grown, braid_status *st);

#endif
