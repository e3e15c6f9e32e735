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
// A is not positive definite; L of an A with NaN has NaN.
bool bd_matrix_cholesky(bool is_complex, void *a, int64_t n);

// A^H in place of A.
void bd_matrix_adjoint(bool is_complex, void *a, int64_t n);

// Whether `count` numbers are neither infinite nor NaN; sets numbers to NaN.
bool bd_matrix_is_finite(bool is_complex, const void *a, int64_t count);
void bd_matrix_fill_nan(bool is_complex, void *a, int64_t count);

// Solves a tridiagonal system for the right sides x [n, count] in place. `diagonals` are three of n elements
// each, one after the other: the upper one, whose last element is ignored, the main one, and the lower one,
// whose first element is ignored; they are overwritten, and memory for n more elements follows them. Without
// `pivoting` rows are not exchanged. False when a pivot is 0.
bool bd_matrix_tridiagonal(bool is_complex, void *diagonals, int64_t n, bool pivoting, void *x,
                           int64_t count);

// Decomposes A [m, n] = Q R by Householder reflections. A becomes R, whose diagonal may be negative, with
// zeros below it; q [m, columns] receives the first `columns` of Q's m columns. `work` is memory for min(m,
// n) numbers and max(n, columns) more.
void bd_matrix_qr(bool is_complex, void *a, int64_t m, int64_t n, void *q, int64_t columns, void *work);

#endif
