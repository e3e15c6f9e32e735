// Element-wise functions of two operands of different shapes (numpy's broadcasting rule).
#ifndef BD_KERNELS_BROADCAST_H
#define BD_KERNELS_BROADCAST_H

#include "kernels/simd.h"

#define BD_BROADCAST_RANK_MAX 12

// How to go through x and y in the order of z: neighbouring dimensions that all three go through alike are
// one, dimensions of size 1 are gone.
typedef struct bd_broadcast {
    int rank; // at least 1
    int64_t dims[BD_BROADCAST_RANK_MAX];
    int64_t x_strides[BD_BROADCAST_RANK_MAX], y_strides[BD_BROADCAST_RANK_MAX]; // in elements; 0: one for all
} bd_broadcast;

// False when the shapes do not fit. Ranks are at most BD_BROADCAST_RANK_MAX.
bool bd_broadcast_init(bd_broadcast *b, const int64_t *x_dims, int x_rank, const int64_t *y_dims, int y_rank);

// z[..] = fn(x[..], y[..]) over all of z. `x_size` is that of an element of x and y, `z_size` of z. z may be
// x (or y) where that has the shape and the element size of z.
void bd_broadcast_run(const bd_broadcast *b, bd_binary_fn fn, const void *x, const void *y, size_t x_size,
                      void *z, size_t z_size);

#endif
