// What ops of complex numbers share with others.
#ifndef BD_OPS_MATH_COMPLEX_OPS_H
#define BD_OPS_MATH_COMPLEX_OPS_H

#include "tensor/tensor.h"

// y, of the type and size of x, becomes the conjugate of x, which it may lie over.
void bd_conjugate(const braid_tensor *x, braid_tensor *y);

#endif
