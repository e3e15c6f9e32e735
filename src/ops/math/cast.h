// Element types as the kernels of conversion name them.
#ifndef BD_OPS_MATH_CAST_H
#define BD_OPS_MATH_CAST_H

#include "kernels/cast.h"
#include "tensor/dtype.h"

// Asserts that it is a number type, or bool.
bd_cast_type bd_cast_type_of(braid_dtype dtype);

#endif
