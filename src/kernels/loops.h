// The element-wise loops and reductions of all number types: those of simd.h, and those of types with one
// variant for all instruction sets.
#ifndef BD_KERNELS_LOOPS_H
#define BD_KERNELS_LOOPS_H

#include "kernels/simd.h"
#include <stddef.h>

// bd_kernels()->select, block by block.
void bd_select_blocks(const bool *condition, const void *x, const void *y, void *z, int64_t n, size_t size);

// y[i] = fn(x[i]) for n elements of `x_size` and `y_size` bytes, block by block: it may be interrupted.
void bd_unary_blocks(bd_unary_fn fn, const void *x, size_t x_size, void *y, size_t y_size, int64_t n);
// z[i] = fn(x[i], y[i]) likewise; `x_size` is that of an element of x and y.
void bd_binary_blocks(bd_binary_fn fn, const void *x, const void *y, size_t x_size, void *z, size_t z_size,
                      int64_t n, bd_single single);

// NULL when the type is not supported.
bd_unary_fn bd_unary_loop(bd_unary_op op, bd_number type);
bd_binary_fn bd_binary_loop(bd_binary_op op, bd_number type);
bd_reduce_fn bd_reduce_loop(bd_reduce_op op, bd_number type);

// The loops of complex numbers, by op: [0] of two floats, [1] of two doubles.
extern const bd_unary_fn bd_complex_unary[BD_UNARY_COUNT][2];
extern const bd_binary_fn bd_complex_binary[BD_BINARY_COUNT][2];
extern const bd_reduce_fn bd_complex_reduce[BD_REDUCE_COUNT][2];

#endif
