// Copies of tensors in which dimensions of size 1 are repeated.
#ifndef BD_OPS_MATH_BROADCAST_TO_H
#define BD_OPS_MATH_BROADCAST_TO_H

#include "op/kernel.h"

// Makes `out` (which the caller ends) hold `x` repeated to `shape`, which x's shape broadcasts to (asserted):
// a second reference when it is the same, else a copy. False when memory is short.
bool bd_broadcast_copy(const braid_tensor *x, const braid_shape *shape, braid_tensor *out);

#endif
