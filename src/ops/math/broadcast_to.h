// Broadcasts a tensor into a new one.
#ifndef BD_OPS_MATH_BROADCAST_TO_H
#define BD_OPS_MATH_BROADCAST_TO_H

#include "op/kernel.h"

// Sets `out` to `x` broadcast to `shape`; x's shape must be broadcastable to it (asserted). `out` shares the
// buffer of `x` if the shapes are equal, else it is a copy. The caller ends `out`. Returns false when memory
// is exhausted.
bool bd_broadcast_copy(const braid_tensor *x, const braid_shape *shape, braid_tensor *out);

#endif
