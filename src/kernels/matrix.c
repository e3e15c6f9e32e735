// Decompositions of small matrices, and triangular systems.
#include "kernels/matrix.h"

#include "base/complex.h"
#include "base/interrupt.h"

#include <math.h>

// ---- Of doubles ----

static void swap_f64(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

#define NUMBER double
#define NAME(x) x##_f64
#define SIZE_OF(x) fabs(x)
#define CONJUGATE(x) (x)
#define REAL(x) (x)
#include "kernels/matrix_loops.h"
#undef NUMBER
#undef NAME
#undef SIZE_OF
#undef CONJUGATE
#undef REAL

// ---- Of complex numbers ----

typedef double complex c128;

static void swap_c128(c128 *a, c128 *b)
{
    c128 t = *a;
    *a = *b;
    *b = t;
}

#define NUMBER c128
#define NAME(x) x##_c128
#define SIZE_OF(x) cabs(x)
#define CONJUGATE(x) conj(x)
#define REAL(x) creal(x)
#include "kernels/matrix_loops.h"

// ---- The choice ----

int bd_matrix_lu(bool is_complex, void *a, int64_t *perm, int64_t n)
{
    return is_complex ? lu_c128(a, perm, n) : lu_f64(a, perm, n);
}

bool bd_matrix_substitute(bool is_complex, const void *a, int64_t n, bool lower, bool unit, void *x,
                          int64_t count)
{
    return is_complex ? substitute_c128(a, n, lower, unit, x, count)
                      : substitute_f64(a, n, lower, unit, x, count);
}

bool bd_matrix_cholesky(bool is_complex, void *a, int64_t n)
{
    return is_complex ? cholesky_c128(a, n) : cholesky_f64(a, n);
}

void bd_matrix_adjoint(bool is_complex, void *a, int64_t n)
{
    if (is_complex) {
        adjoint_c128(a, n);
    } else {
        adjoint_f64(a, n);
    }
}

bool bd_matrix_is_finite(bool is_complex, const void *a, int64_t count)
{
    const double *numbers = a;
    for (int64_t i = 0; i < count * (is_complex ? 2 : 1); i++)
        if (!isfinite(numbers[i])) return false;
    return true;
}

void bd_matrix_fill_nan(bool is_complex, void *a, int64_t count)
{
    double *numbers = a;
    for (int64_t i = 0; i < count * (is_complex ? 2 : 1); i++)
        numbers[i] = NAN;
}

bool bd_matrix_tridiagonal(bool is_complex, void *diagonals, int64_t n, bool pivoting, void *x, int64_t count)
{
    if (is_complex) {
        c128 *d = diagonals;
        return tridiagonal_c128(d, d + n, d + 2 * n, d + 3 * n, n, pivoting, x, count);
    }
    double *d = diagonals;
    return tridiagonal_f64(d, d + n, d + 2 * n, d + 3 * n, n, pivoting, x, count);
}

void bd_matrix_qr(bool is_complex, void *a, int64_t m, int64_t n, void *q, int64_t columns, void *work)
{
    if (is_complex) {
        qr_c128(a, m, n, q, columns, work);
    } else {
        qr_f64(a, m, n, q, columns, work);
    }
}
