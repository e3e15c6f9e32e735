// Tests of LAPACK's decompositions of matrices that are large enough for its blocks, and of the products
// within.
#include "kernels/lapack.h"

#include "base/alloc.h"
#include "base/complex.h"
#include "base/testing/test.h"
#include "kernels/gemm.h"
#include "kernels/matrix.h"
#include <math.h>
#include <string.h>

#define ROWS 170
#define COLUMNS 140

static size_t size_of(bool is_complex)
{
    return is_complex ? sizeof(double complex) : sizeof(double);
}

static void *matrix(bool is_complex, int64_t count)
{
    return bd_calloc((size_t)count, size_of(is_complex));
}

static void fill(bool is_complex, double *x, int64_t count)
{
    uint64_t state = 1;
    for (int64_t i = 0; i < count * (is_complex ? 2 : 1); i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        x[i] = (double)(state >> 40) / (1 << 24) - 0.5;
    }
}

static void *product(bool is_complex, int64_t m, int64_t n, int64_t k, const void *a, bool adjoint_a,
                     const void *b)
{
    void *c = matrix(is_complex, m * n);
    const bd_gemm_shape s = {
        .m = m, .n = n, .k = k, .transpose_a = adjoint_a, .conjugate_a = adjoint_a && is_complex};
    bd_gemm(is_complex ? BD_C128 : BD_F64, &s, a, b, c);
    return c;
}

static void expect_near(bool is_complex, const double *a, const double *b, int64_t count)
{
    for (int64_t i = 0; i < count * (is_complex ? 2 : 1); i++)
        if (!(fabs(a[i] - b[i]) < 1e-12)) fail_msg("number %d: %.17g, not %.17g", (int)i, a[i], b[i]);
}

// Multiplies the rows [rows, columns] by the numbers.
static void scale_rows(bool is_complex, double *x, int64_t rows, int64_t columns, const double *by)
{
    const int64_t row = columns * (is_complex ? 2 : 1);
    for (int64_t i = 0; i < rows * row; i++)
        x[i] *= by[i / row];
}

static void singular_vectors_give_the_matrix(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        const bool is_complex = which & 1;
        const int64_t m = which & 2 ? ROWS : COLUMNS, n = ROWS + COLUMNS - m, p = COLUMNS;
        void *a = matrix(is_complex, m * n), *work = matrix(is_complex, m * n),
             *u = matrix(is_complex, m * p), *vh = matrix(is_complex, p * n);
        double s[COLUMNS];
        fill(is_complex, a, m * n);
        memcpy(work, a, (size_t)(m * n) * size_of(is_complex));
        assert_int_equal(bd_lapack_svd(is_complex, work, m, n, BD_SVD_THIN, s, u, vh), BD_LAPACK_OK);
        for (int i = 1; i < p; i++)
            assert_true(s[i - 1] >= s[i]);
        scale_rows(is_complex, vh, p, n, s);
        void *again = product(is_complex, m, n, p, u, false, vh);
        expect_near(is_complex, a, again, m * n);
        bd_free(a), bd_free(work), bd_free(u), bd_free(vh), bd_free(again);
    }
}

static void eigenvectors_give_the_matrix(void **state)
{
    (void)state;
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        const int64_t n = ROWS;
        void *root = matrix(is_complex, n * n);
        fill(is_complex, root, n * n);
        void *a = product(is_complex, n, n, n, root, true, root), *v = matrix(is_complex, n * n);
        double values[ROWS];
        memcpy(v, a, (size_t)(n * n) * size_of(is_complex));
        assert_int_equal(bd_lapack_eigh(is_complex, v, n, true, values), BD_LAPACK_OK);
        // V^H A = diag(e) V^H
        void *left = product(is_complex, n, n, n, v, true, a);
        bd_matrix_adjoint(is_complex, v, n);
        scale_rows(is_complex, v, n, n, values);
        expect_near(is_complex, left, v, n * n);
        bd_free(root), bd_free(a), bd_free(v), bd_free(left);
    }
}

static void least_squares_leave_a_rest_that_is_orthogonal(void **state)
{
    (void)state;
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        const int64_t m = ROWS, n = COLUMNS, k = 3;
        void *a = matrix(is_complex, m * n), *work = matrix(is_complex, m * n),
             *b = matrix(is_complex, m * k), *x = matrix(is_complex, m * k);
        fill(is_complex, a, m * n);
        fill(is_complex, b, m * k);
        memcpy(work, a, (size_t)(m * n) * size_of(is_complex));
        memcpy(x, b, (size_t)(m * k) * size_of(is_complex));
        assert_int_equal(bd_lapack_least_squares(is_complex, work, m, n, x, k, 1e-14), BD_LAPACK_OK);
        void *ax = product(is_complex, m, k, n, a, false, x);
        void *left = product(is_complex, n, k, m, a, true, ax),
             *right = product(is_complex, n, k, m, a, true, b);
        expect_near(is_complex, left, right, n * k);
        bd_free(a), bd_free(work), bd_free(b), bd_free(x), bd_free(ax), bd_free(left), bd_free(right);
    }
}

// ---- Products ----

void dgemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc, size_t trans_a_len, size_t trans_b_len);

enum {
    M = 5,
    N = 37,
    K = 300,
    LD = 310
}; // LD: the distance of columns

static void products_match_three_nested_loops(void **state)
{
    (void)state;
    static const double factors[] = {0, 1, -1, 2.5};
    double *a = matrix(false, LD * LD), *b = matrix(false, LD * LD), *c = matrix(false, LD * LD),
           *before = matrix(false, LD * LD);
    fill(false, a, LD * LD);
    fill(false, b, LD * LD);
    for (int which = 0; which < 64; which++) {
        const bool ta = which & 1, tb = which & 2;
        const double alpha = factors[which >> 2 & 3], beta = factors[which >> 4];
        const int m = M, n = N, k = K, ld = LD;
        fill(false, before, LD * LD);
        if (beta == 0) before[0] = NAN; // not read
        memcpy(c, before, LD * LD * sizeof *c);
        dgemm_(ta ? "T" : "N", tb ? "T" : "N", &m, &n, &k, &alpha, a, &ld, b, &ld, &beta, c, &ld, 1, 1);
        for (int j = 0; j < N; j++) {
            for (int i = 0; i < LD; i++) {
                double sum = 0;
                for (int l = 0; l < K; l++)
                    sum += a[ta ? i * LD + l : l * LD + i] * b[tb ? l * LD + j : j * LD + l];
                const double old = before[j * LD + i];
                const double want = i >= M ? old : alpha * sum + (beta == 0 ? 0 : beta * old);
                assert_true(fabs(c[j * LD + i] - want) < 1e-12);
            }
        }
    }
    bd_free(a), bd_free(b), bd_free(c), bd_free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(singular_vectors_give_the_matrix),
        cmocka_unit_test(eigenvectors_give_the_matrix),
        cmocka_unit_test(least_squares_leave_a_rest_that_is_orthogonal),
        cmocka_unit_test(products_match_three_nested_loops),
    };
    return BD_RUN_TESTS(tests);
}
