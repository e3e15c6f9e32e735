// Small matrices of doubles or, with `is_complex`, of double complex, row-major: decompositions and
// triangular systems. All run on this thread alone.
#ifndef BD_KERNELS_MATRIX_H
#define BD_KERNELS_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

// PA = LU in place: L below the diagonal (its own is 1), U above; row i of PA is row perm[i] of A. Returns
// the sign of the permutation, or 0 when the matrix is singular.
int bd_matrix_lu(bool is_complex, void *a, int64_t *perm, int64_t n);

// Solves a triangular system in place for the `count` columns of x [n, count]; with `unit` the diagonal is
// taken to be 1. False when the diagonal has a 0.
bool bd_matrix_substitute(bool is_complex, const void *a, int64_t n, bool lower, bool unit, void *x,
                          int64_t count);

// A = L L^H in place: L in the lower triangle, zeros above. Only the lower triangle of A is read. False when
// A is not positive definite.
bool bd_matrix_cholesky(bool is_complex, void *a, int64_t n);

// A^H in place of A.
void bd_matrix_adjoint(bool is_complex, void *a, int64_t n);

// x of a tridiagonal system in place of the right sides x [n, count]. `diagonals` are three of n elements
// each, one after the other: the upper one, whose last element does not count, the main one, and the lower
// one, whose first does not; they are overwritten, and memory for n elements more follows them. Without
// `pivoting` rows are not exchanged. False when a pivot is 0.
bool bd_matrix_tridiagonal(bool is_complex, void *diagonals, int64_t n, bool pivoting, void *x,
                           int64_t count);

// A = Q R in place of A [m, n]: R, whose diagonal may be negative, zeros below it; and the first `columns` of
// Q's m columns, by Householder's reflections, in q [m, columns]. `work` is memory for min(m, n) numbers and
// max(n, columns) more.
void bd_matrix_qr(bool is_complex, void *a, int64_t m, int64_t n, void *q, int64_t columns, void *work);

#endif
