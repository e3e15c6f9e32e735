// Conjugation of complex tensors, shared with other ops.
#ifndef BD_OPS_MATH_COMPLEX_OPS_H
#define BD_OPS_MATH_COMPLEX_OPS_H

#include "tensor/tensor.h"

// Writes the conjugate of x to y, a tensor of the same type and size. y may share the memory of x.
void bd_conjugate(const braid_tensor *x, braid_tensor *y);

#endif
