// Maps dtypes to the element types of the cast kernels.
#ifndef BD_OPS_MATH_CAST_H
#define BD_OPS_MATH_CAST_H

#include "kernels/cast.h"
#include "tensor/dtype.h"

// `dtype` must be a numeric type or bool (asserted).
bd_cast_type bd_cast_type_of(braid_dtype dtype);

#endif
