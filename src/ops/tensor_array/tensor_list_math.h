// Sums and zeros of variants: of tensor lists, and of optionals, which may be nested.
#ifndef BD_OPS_TENSOR_ARRAY_TENSOR_LIST_MATH_H
#define BD_OPS_TENSOR_ARRAY_TENSOR_LIST_MATH_H

#include "op/kernel.h"

// Makes output 0 the sum of all inputs, scalar variants.
void bd_variant_add_n(bd_op_ctx *c);
// Makes output 0 a variant like input 0, a scalar, with zeros in it.
void bd_variant_zeros_like(bd_op_ctx *c);

#endif
