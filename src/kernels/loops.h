// The element-wise loops and reductions of all number types: those of simd.h, and those of types with one
// variant for all instruction sets.
#ifndef BD_KERNELS_LOOPS_H
#define BD_KERNELS_LOOPS_H

#include "kernels/simd.h"

// NULL when the type is not supported.
bd_unary_fn bd_unary_loop(bd_unary_op op, bd_number type);
bd_binary_fn bd_binary_loop(bd_binary_op op, bd_number type);
bd_reduce_fn bd_reduce_loop(bd_reduce_op op, bd_number type);

// The loops of complex numbers, by op: [0] of two floats, [1] of two doubles.
extern const bd_unary_fn bd_complex_unary[BD_UNARY_COUNT][2];
extern const bd_binary_fn bd_complex_binary[BD_BINARY_COUNT][2];
extern const bd_reduce_fn bd_complex_reduce[BD_REDUCE_COUNT][2];

#endif
