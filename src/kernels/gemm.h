// Matrix products: the one interface to a BLAS.
#ifndef BD_KERNELS_GEMM_H
#define BD_KERNELS_GEMM_H

#include "kernels/number.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct bd_gemm_shape {
    int64_t m, n, k;
    bool transpose_a, transpose_b; // a is [k, m], b is [n, k] in memory
    bool conjugate_a, conjugate_b; // of complex numbers: their conjugates are taken
} bd_gemm_shape;

// c [m, n] = a [m, k] b [k, n], row-major, all of `type` (not bool); c overlaps neither. With k = 0, c is
// zeros. Runs on this thread alone. Any thread.
void bd_gemm(bd_number type, const bd_gemm_shape *shape, const void *a, const void *b, void *c);

#endif
