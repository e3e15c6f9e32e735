// Small matrices of doubles, row-major: decompositions and triangular systems. All run on this thread alone.
#ifndef BD_KERNELS_MATRIX_H
#define BD_KERNELS_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

// PA = LU in place: L below the diagonal (its own is 1), U above; row i of PA is row perm[i] of A. Returns the sign of the
// permutation, or 0 when the matrix is singular.
int bd_matrix_lu(double *a, int64_t *perm, int64_t n);

// Solves a triangular system in place for the `count` columns of x [n, count]; with `unit` the diagonal is taken to be 1. False when the
// diagonal has a 0.
bool bd_matrix_substitute(const double *a, int64_t n, bool lower, bool unit, double *x, int64_t count);

// A = L L^T in place: L in the lower triangle, zeros above. Only the lower triangle of A is read. False when A is not positive definite.
bool bd_matrix_cholesky(double *a, int64_t n);

// x of a tridiagonal system in place of the right sides x [n, count]; the diagonals have n elements each, of which the last of `upper`
// and the first of `lower` do not count, and are overwritten. `fill` is memory for n more. Without `pivoting` rows are not exchanged.
// False when a pivot is 0.
bool bd_matrix_tridiagonal(double *upper, double *main, double *lower, double *fill, int64_t n, bool pivoting,
                           double *x, int64_t count);

#endif
