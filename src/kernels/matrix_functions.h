// Functions of square matrices [n, n], of doubles or, with `is_complex`, of double complex, row-major. All
// run on the calling thread alone. Any thread.
//
// A matrix for which the function has no value of its type, that is not finite, or whose logarithm is beyond
// the reach of the algorithm, gives NaN.
#ifndef BD_KERNELS_MATRIX_FUNCTIONS_H
#define BD_KERNELS_MATRIX_FUNCTIONS_H

#include "kernels/lapack.h"

// The principal square root in place. A real matrix with a negative eigenvalue has none. Callers check
// bd_lapack_fits first, also for the logarithm.
bd_lapack_result bd_matrix_sqrt(bool is_complex, void *a, int64_t n);

// The principal logarithm in place, of double complex. A singular matrix has none.
bd_lapack_result bd_matrix_log(void *a, int64_t n);

// The exponential in place. Returns early when the kernel is interrupted (base/interrupt.h).
bd_lapack_result bd_matrix_exp(bool is_complex, void *a, int64_t n);

#endif
