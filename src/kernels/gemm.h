// Matrix products: the one interface to a BLAS.
#ifndef BD_KERNELS_GEMM_H
#define BD_KERNELS_GEMM_H

#include "kernels/number.h"
#include "kernels/primitive_cache.h"
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

// The same by the threads of `team`, which share a large product of floats. The last bit may depend on them.
void bd_gemm_shared(bd_number type, const bd_gemm_shape *shape, const void *a, const void *b, void *c,
                    const bd_team *team);

typedef struct bd_gemm_data {
    const void *a, *b;
    void *c;
} bd_gemm_data;

// Returns a product of floats prepared for one shape, which runs over bd_gemm_data: from the cache or a new
// one. NULL where bd_gemm is as fast, or oneDNN fails: use that then. Give it back with bd_primitive_give.
bd_primitive *bd_gemm_take(bd_primitive_cache *cache, const bd_gemm_shape *shape);

#endif
