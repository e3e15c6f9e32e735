// Square roots, logarithms and exponentials of matrices.
//
// Roots and logarithms begin with the Schur decomposition, A = Q T Q^H with T upper triangular (of a real
// matrix quasi-triangular: a pair of complex eigenvalues is a block of two rows): f(A) = Q f(T) Q^H.
//
// Schur factors are stored by columns, as LAPACK has them. The memory of row-major A is A^T by columns, and
// f(A^T) = f(A)^T, so that A needs no transposition.
#include "kernels/matrix_functions.h"

#include "base/alloc.h"
#include "base/complex.h"
#include "base/interrupt.h"
#include "kernels/gemm.h"
#include "kernels/matrix.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

typedef double complex c128;

static size_t number_size(bool is_complex)
{
    return is_complex ? sizeof(c128) : sizeof(double);
}

// ---- Schur decompositions ----

typedef struct schur {
    bool is_complex, has_negative; // has_negative: an eigenvalue of a real matrix is negative
    int64_t n;
    void *t; // [n, n], by columns; not owned
    void *q; // the same
} schur;

// A becomes T.
static bd_lapack_result schur_init(schur *s, bool is_complex, void *a, int64_t n)
{
    *s = (schur){.is_complex = is_complex, .n = n, .t = a};
    s->q = bd_try_malloc((size_t)(n * n) * number_size(is_complex));
    void *values = bd_try_malloc((size_t)n * sizeof(c128));
    lapack_int info = LAPACK_WORK_MEMORY_ERROR, size = (lapack_int)n, selected;
    if (s->q && values && is_complex) {
        info = LAPACKE_zgees(LAPACK_COL_MAJOR, 'V', 'N', NULL, size, a, size, &selected, values, s->q, size);
    } else if (s->q && values) {
        double *real = values, *imaginary = real + n;
        info = LAPACKE_dgees(LAPACK_COL_MAJOR, 'V', 'N', NULL, size, a, size, &selected, real, imaginary,
                             s->q, size);
        for (int64_t i = 0; i < n && info == 0; i++)
            s->has_negative |= imaginary[i] == 0 && real[i] < 0;
    }
    bd_free(values);
    return bd_lapack_result_of(info);
}

static void schur_fini(schur *s)
{
    bd_free(s->q);
}

// T becomes Q T Q^H. By rows, the stored factors are the transposes: conj(Q^T)^T (T^T Q^T).
static bd_lapack_result schur_compose(const schur *s)
{
    const bd_number type = s->is_complex ? BD_C128 : BD_F64;
    bd_gemm_shape shape = {.m = s->n, .n = s->n, .k = s->n};
    void *product = bd_try_malloc((size_t)(s->n * s->n) * number_size(s->is_complex));
    if (!product) return BD_LAPACK_NO_MEMORY;
    bd_gemm(type, &shape, s->t, s->q, product);
    shape.transpose_a = true;
    shape.conjugate_a = s->is_complex;
    bd_gemm(type, &shape, s->q, product, s->t);
    bd_free(product);
    return BD_LAPACK_OK;
}

// ---- Square roots of triangular matrices ----
//
// E. Deadman, N. J. Higham, R. Ralha: Blocked Schur algorithms for computing the matrix square root (2013).
// The root of [T11 T12; 0 T22] is [U11 U12; 0 U22] with the roots U11 and U22 of the blocks, and
// U11 U12 + U12 U22 = T12.

// The root of a block [a b; c d] with the eigenvalues real +- i imaginary.
static void root_of_pair(double *t, int64_t rows)
{
    const double a = t[0], c = t[1], b = t[rows], d = t[rows + 1];
    const double real = (a + d) / 2, half = (a - d) / 2;
    const double imaginary = sqrt(fmax(-(half * half + b * c), 0)), size = hypot(real, imaginary);
    // The real part of the eigenvalues' roots, without the difference of numbers that are nearly equal.
    const double root = real > 0 ? sqrt((size + real) / 2) : imaginary / sqrt(2 * (size - real));
    t[0] = root + half / (2 * root);
    t[1] = c / (2 * root);
    t[rows] = b / (2 * root);
    t[rows + 1] = root - half / (2 * root);
}

static bool is_zero_f64(const double *x, int64_t m, int64_t n, int64_t rows)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            if (x[j * rows + i] != 0) return false;
    return true;
}

// The root of t [n, n] in place; `rows` is the distance of columns. False: there is none, because an
// eigenvalue is 0, or memory is short.
static bool triangular_root_f64(double *t, int64_t n, int64_t rows)
{
    if (n == 1) {
        *t = sqrt(*t);
        return true;
    }
    if (n == 2 && t[1] != 0) {
        root_of_pair(t, rows);
        return true;
    }
    int64_t m = n / 2;
    if (t[(m - 1) * rows + m] != 0) m++; // not through a pair
    double *corner = t + m * rows, *last = corner + m, scale = 1;
    if (!triangular_root_f64(t, m, rows) || !triangular_root_f64(last, n - m, rows)) return false;
    if (is_zero_f64(corner, m, n - m, rows)) return true;
    const lapack_int info =
        LAPACKE_dtrsyl(LAPACK_COL_MAJOR, 'N', 'N', 1, (lapack_int)m, (lapack_int)(n - m), t, (lapack_int)rows,
                       last, (lapack_int)rows, corner, (lapack_int)rows, &scale);
    for (int64_t j = 0; j < n - m && scale != 1; j++)
        for (int64_t i = 0; i < m; i++)
            corner[j * rows + i] /= scale;
    return info == 0;
}

static bool is_zero_c128(const c128 *x, int64_t m, int64_t n, int64_t rows)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            if (x[j * rows + i] != 0) return false;
    return true;
}

static bool triangular_root_c128(c128 *t, int64_t n, int64_t rows)
{
    if (n == 1) {
        *t = csqrt(*t);
        return true;
    }
    const int64_t m = n / 2;
    c128 *corner = t + m * rows, *last = corner + m;
    double scale = 1;
    if (!triangular_root_c128(t, m, rows) || !triangular_root_c128(last, n - m, rows)) return false;
    if (is_zero_c128(corner, m, n - m, rows)) return true;
    const lapack_int info =
        LAPACKE_ztrsyl(LAPACK_COL_MAJOR, 'N', 'N', 1, (lapack_int)m, (lapack_int)(n - m), t, (lapack_int)rows,
                       last, (lapack_int)rows, corner, (lapack_int)rows, &scale);
    for (int64_t j = 0; j < n - m && scale != 1; j++)
        for (int64_t i = 0; i < m; i++)
            corner[j * rows + i] /= scale;
    return info == 0;
}

bd_lapack_result bd_matrix_sqrt(bool is_complex, void *a, int64_t n)
{
    schur s;
    if (n == 0) return BD_LAPACK_OK;
    if (!bd_matrix_is_finite(is_complex, a, n * n)) {
        bd_matrix_fill_nan(is_complex, a, n * n);
        return BD_LAPACK_OK;
    }
    bd_lapack_result result = schur_init(&s, is_complex, a, n);
    if (result == BD_LAPACK_OK) {
        const bool has_root =
            is_complex ? triangular_root_c128(a, n, n) : !s.has_negative && triangular_root_f64(a, n, n);
        if (has_root)
            result = schur_compose(&s);
        else
            bd_matrix_fill_nan(is_complex, a, n * n);
    }
    schur_fini(&s);
    return result;
}

// ---- Logarithms ----
//
// N. J. Higham: Functions of Matrices (2008), section 11.5. Square roots of T are taken until T = I + X with
// a small X. There the [8/8] Pade approximant of log(I + X) is accurate to double precision; it is the sum of
// w X (I + t X)^-1 over the points t and weights w of Gauss and Legendre's quadrature of [0, 1].

#define LOG_POINTS 8
#define LOG_NORM_MAX 0.34 // of X, for 8 points: the book's table 11.1
#define LOG_ROOTS_MAX 100 // that many make any finite number 1, though not any large corner of a matrix 0

// Those of [-1, 1]; the points lie symmetrically.
static const double points[LOG_POINTS / 2] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                                              0.9602898564975363},
                                        weights[LOG_POINTS / 2] = {0.3626837833783620, 0.3137066458778873,
                                                                   0.2223810344533745, 0.1012285362903763};

// T becomes X. Returns the number of roots, or -1: there is no logarithm.
static int take_roots(c128 *t, int64_t n)
{
    for (int roots = 0; roots <= LOG_ROOTS_MAX; roots++) {
        double norm = 0;
        for (int64_t j = 0; j < n; j++) {
            double sum = cabs(t[j * n + j] - 1);
            for (int64_t i = 0; i < j; i++)
                sum += cabs(t[j * n + i]);
            norm = fmax(norm, sum);
        }
        if (norm <= LOG_NORM_MAX) {
            for (int64_t i = 0; i < n; i++)
                t[i * n + i] -= 1;
            return roots;
        }
        if (!triangular_root_c128(t, n, n)) break;
    }
    return -1;
}

// Adds w X (I + t X)^-1 to `sum`. `work` has 2 n^2 numbers. By rows the matrices are lower triangular.
static void add_point(const c128 *x, int64_t n, double point, double weight, c128 *sum, c128 *work)
{
    c128 *left = work, *right = work + n * n;
    for (int64_t i = 0; i < n * n; i++)
        left[i] = point * x[i];
    for (int64_t i = 0; i < n; i++)
        left[i * n + i] += 1;
    memcpy(right, x, (size_t)(n * n) * sizeof *x);
    bd_matrix_substitute(true, left, n, true, false, right, n);
    for (int64_t i = 0; i < n * n; i++)
        sum[i] += weight * right[i];
}

// T becomes its logarithm. `work` has 4 n^2 numbers. False: there is none.
static bool triangular_log(c128 *t, int64_t n, c128 *work)
{
    c128 *x = work + 2 * n * n, *diagonal = work + 3 * n * n;
    for (int64_t i = 0; i < n; i++) {
        if (t[i * n + i] == 0) return false;
        diagonal[i] = clog(t[i * n + i]);
    }
    memcpy(x, t, (size_t)(n * n) * sizeof *t);
    const int roots = take_roots(x, n);
    if (roots < 0) return false;
    memset(t, 0, (size_t)(n * n) * sizeof *t);
    for (int i = 0; i < LOG_POINTS / 2; i++) {
        add_point(x, n, (1 - points[i]) / 2, weights[i] / 2, t, work);
        add_point(x, n, (1 + points[i]) / 2, weights[i] / 2, t, work);
    }
    for (int64_t i = 0; i < n * n; i++)
        t[i] *= ldexp(1, roots);
    for (int64_t i = 0; i < n; i++)
        t[i * n + i] = diagonal[i];
    return true;
}

bd_lapack_result bd_matrix_log(void *a, int64_t n)
{
    schur s;
    if (n == 0) return BD_LAPACK_OK;
    if (!bd_matrix_is_finite(true, a, n * n)) {
        bd_matrix_fill_nan(true, a, n * n);
        return BD_LAPACK_OK;
    }
    c128 *work = bd_try_calloc((size_t)(n * n), 4 * sizeof *work);
    bd_lapack_result result = schur_init(&s, true, a, n);
    if (!work) result = BD_LAPACK_NO_MEMORY;
    if (result == BD_LAPACK_OK) {
        if (triangular_log(a, n, work))
            result = schur_compose(&s);
        else
            bd_matrix_fill_nan(true, a, n * n);
    }
    schur_fini(&s);
    bd_free(work);
    return result;
}

// ---- Exponentials ----
//
// N. J. Higham: The scaling and squaring method for the matrix exponential revisited (2005). A is halved
// until its norm is small, the [13/13] Pade approximant (V - U)^-1 (V + U) is taken, and squared as often.

#define EXP_NORM_MAX 5.371920351148152 // for double precision

// Of the approximant's numerator; the denominator's have alternating signs.
static const double coefficients[14] = {64764752532480000.0,
                                        32382376266240000.0,
                                        7771770303897600.0,
                                        1187353796428800.0,
                                        129060195264000.0,
                                        10559470521600.0,
                                        670442572800.0,
                                        33522128640.0,
                                        1323241920.0,
                                        40840800.0,
                                        960960.0,
                                        16380.0,
                                        182.0,
                                        1.0};

// Matrices of doubles; complex numbers are two of them.
typedef struct powers {
    bool is_complex;
    int64_t n, count; // count: of doubles in a matrix
    double *a, *a2, *a4, *a6, *u, *v, *work;
} powers;

static void multiply(const powers *p, const double *x, const double *y, double *z)
{
    const bd_gemm_shape shape = {.m = p->n, .n = p->n, .k = p->n};
    bd_gemm(p->is_complex ? BD_C128 : BD_F64, &shape, x, y, z);
}

// z = x6 A^6 + x4 A^4 + x2 A^2
static void combine(const powers *p, double x6, double x4, double x2, double *z)
{
    for (int64_t i = 0; i < p->count; i++)
        z[i] = x6 * p->a6[i] + x4 * p->a4[i] + x2 * p->a2[i];
}

// z = A^6 (c[12] A^6 + c[10] A^4 + c[8] A^2) + c[6] A^6 + c[4] A^4 + c[2] A^2 + c[0] I
static void polynomial(const powers *p, const double *c, double *z)
{
    const int64_t step = (p->n + 1) * (p->is_complex ? 2 : 1);
    combine(p, c[12], c[10], c[8], p->work);
    multiply(p, p->a6, p->work, z);
    combine(p, c[6], c[4], c[2], p->work);
    for (int64_t i = 0; i < p->count; i++)
        z[i] += p->work[i];
    for (int64_t i = 0; i < p->n; i++)
        z[i * step] += c[0];
}

// a becomes the approximant. Its factors commute, so the transposes that LAPACK reads give the transpose.
static bd_lapack_result approximate(const powers *p)
{
    const lapack_int n = (lapack_int)p->n;
    multiply(p, p->a, p->a, p->a2);
    multiply(p, p->a2, p->a2, p->a4);
    multiply(p, p->a4, p->a2, p->a6);
    polynomial(p, coefficients, p->v);
    polynomial(p, coefficients + 1, p->u);
    multiply(p, p->a, p->u, p->work);
    for (int64_t i = 0; i < p->count; i++) {
        p->a[i] = p->v[i] + p->work[i];
        p->v[i] -= p->work[i];
    }
    lapack_int *pivots = bd_try_malloc((size_t)n * sizeof *pivots);
    if (!pivots) return BD_LAPACK_NO_MEMORY;
    const lapack_int info =
        p->is_complex ? LAPACKE_zgesv(LAPACK_COL_MAJOR, n, n, (c128 *)p->v, n, pivots, (c128 *)p->a, n)
                      : LAPACKE_dgesv(LAPACK_COL_MAJOR, n, n, p->v, n, pivots, p->a, n);
    bd_free(pivots);
    return bd_lapack_result_of(info);
}

// The greatest sum of sizes in a row.
static double norm_of(const powers *p)
{
    double norm = 0;
    for (int64_t i = 0; i < p->n; i++) {
        double sum = 0;
        for (int64_t j = i * p->n; j < (i + 1) * p->n; j++)
            sum += p->is_complex ? hypot(p->a[2 * j], p->a[2 * j + 1]) : fabs(p->a[j]);
        norm = fmax(norm, sum);
    }
    return norm;
}

bd_lapack_result bd_matrix_exp(bool is_complex, void *a, int64_t n)
{
    if (!bd_matrix_is_finite(is_complex, a, n * n)) {
        bd_matrix_fill_nan(is_complex, a, n * n);
        return BD_LAPACK_OK;
    }
    powers p = {.is_complex = is_complex, .n = n, .count = n * n * (is_complex ? 2 : 1), .a = a};
    double *work = bd_try_calloc((size_t)p.count, 6 * sizeof *work);
    if (!work) return BD_LAPACK_NO_MEMORY;
    p.a2 = work;
    p.a4 = p.a2 + p.count;
    p.a6 = p.a4 + p.count;
    p.u = p.a6 + p.count;
    p.v = p.u + p.count;
    p.work = p.v + p.count;
    const double norm = fmin(norm_of(&p), DBL_MAX); // a sum may overflow
    const int halvings = norm > EXP_NORM_MAX ? (int)ceil(log2(norm / EXP_NORM_MAX)) : 0;
    for (int64_t i = 0; i < p.count && halvings; i++)
        p.a[i] = ldexp(p.a[i], -halvings);
    const bd_lapack_result result = approximate(&p);
    for (int i = 0; i < halvings && result == BD_LAPACK_OK && !bd_interrupted(); i++) {
        multiply(&p, p.a, p.a, p.a2);
        memcpy(p.a, p.a2, (size_t)p.count * sizeof *p.a);
    }
    bd_free(work);
    return result;
}
