// Runs kernels of wider types for narrow element types.
#ifndef BD_OP_KERNEL_WIDEN_H
#define BD_OP_KERNEL_WIDEN_H

#include "op/kernel.h"

// The wider type of a narrow one: float for the 16-bit floating types, int32 for integers of 8 and 16 bits;
// any other type itself.
braid_dtype bd_dtype_widened(braid_dtype dtype);

// The kernel that runs `kernel`, which has BD_KERNEL_WIDENS and fits the node once its types are widened.
const bd_kernel *bd_kernel_widening(const bd_kernel *kernel);

// Finds the kernel of `node` for its types, or (`widened`) for the wider ones; NULL when there is none.
const bd_kernel *bd_kernel_fitting(const braid_op *node, const char *device_type, bool widened);

#endif
