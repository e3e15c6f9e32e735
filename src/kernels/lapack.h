// Decompositions of matrices by LAPACK. Matrices are of doubles or, with `is_complex`, of double complex,
// row-major, and finite. All run on the calling thread alone and cannot be interrupted. Any thread.
#ifndef BD_KERNELS_LAPACK_H
#define BD_KERNELS_LAPACK_H

#include <stdbool.h>
#include <stdint.h>

typedef enum bd_lapack_result {
    BD_LAPACK_OK,
    BD_LAPACK_FAILED, // no convergence
    BD_LAPACK_NO_MEMORY,
} bd_lapack_result;

// The meaning of LAPACK's `info` for arguments that are correct.
bd_lapack_result bd_lapack_result_of(int info);

// Whether the sizes of the memory that LAPACK needs for matrices [m, n] fit into its integers of 32 bits.
// Callers check this first.
bool bd_lapack_fits(int64_t m, int64_t n);

// Hermitian matrices [n, n], of which only the lower triangle is read. `values` [n] receives the eigenvalues,
// rising. With `vectors`, `a` receives the eigenvectors as its columns; otherwise it is overwritten.
bd_lapack_result bd_lapack_eigh(bool is_complex, void *a, int64_t n, bool vectors, double *values);

typedef enum bd_svd_vectors {
    BD_SVD_NONE, // u and vh are not used
    BD_SVD_THIN, // p = min(m, n)
    BD_SVD_FULL, // u is [m, m], vh is [n, n]
} bd_svd_vectors;

// A [m, n] = U diag(S) V^H. `s` [p] receives the singular values, falling; `u` [m, p] and `vh` [p, n] receive
// U and V^H. `a` is overwritten. m and n are not 0.
bd_lapack_result bd_lapack_svd(bool is_complex, void *a, int64_t m, int64_t n, bd_svd_vectors vectors,
                               double *s, void *u, void *vh);

// The X of least norm that minimizes |A X - B|, for A [m, n] and B [m, k]. `b` has max(m, n) rows: B on
// entry, X [n, k] on return. `a` is overwritten. Columns that extend the condition number of A beyond
// 1 / rcond count as dependent. m, n and k are not 0.
bd_lapack_result bd_lapack_least_squares(bool is_complex, void *a, int64_t m, int64_t n, void *b, int64_t k,
                                         double rcond);

#endif
