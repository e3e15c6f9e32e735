// How the tensors of a group's members become one: element by element, of any type that collectives carry.
#ifndef BD_OPS_CONTROL_FLOW_COLLECTIVE_MERGE_H
#define BD_OPS_CONTROL_FLOW_COLLECTIVE_MERGE_H

#include "tensor/tensor.h"

typedef enum bd_merge {
    BD_MERGE_ADD,
    BD_MERGE_MUL,
    BD_MERGE_MIN,
    BD_MERGE_MAX,
} bd_merge;

// z[i] = x[i] OP y[i] for `count` elements. Integers wrap around. `z` may be `x`.
void bd_collective_merge(bd_merge op, braid_dtype dtype, void *z, const void *x, const void *y,
                         int64_t count);

// z[i] /= by, rounded towards zero for integers.
void bd_collective_divide(braid_dtype dtype, void *z, int64_t count, int by);

#endif
