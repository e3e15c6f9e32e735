// Decompositions of matrices by LAPACK.
//
// LAPACK stores matrices by columns: what it reads in the memory of a row-major matrix A is the transpose.
// Each function says how it deals with that, without a copy where possible.
#include "kernels/lapack.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/interrupt.h"
#include "kernels/matrix.h"
#include "kernels/simd.h"

#include <lapacke.h>
#include <string.h>

// ---- Products within LAPACK ----

void dgemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc, size_t trans_a_len, size_t trans_b_len);

// BLAS's C = alpha op(A) op(B) + beta C, by columns, for which LAPACK finds this function in place of the
// reference one: most of the time of large decompositions of doubles goes here. By rows it is
// C^T = alpha op(B)^T op(A)^T + beta C^T. The arguments are LAPACK's, so they are correct.
void dgemm_(const char *trans_a, const char *trans_b, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc, size_t trans_a_len, size_t trans_b_len)
{
    (void)trans_a_len;
    (void)trans_b_len;
    const bool a_turned = *trans_a != 'N' && *trans_a != 'n', b_turned = *trans_b != 'N' && *trans_b != 'n';
    const bd_gemm_operands o = {
        .a = b,
        .b = a,
        .c = c,
        .m = *n,
        .n = *m,
        .k = *alpha == 0 ? 0 : *k,
        .a_row = b_turned ? 1 : *ldb,
        .a_column = b_turned ? *ldb : 1,
        .b_row = a_turned ? 1 : *lda,
        .b_column = a_turned ? *lda : 1,
        .c_row = *ldc,
        .scale = *alpha,
        .adds = *beta != 0,
    };
    for (int64_t j = 0; j < *n && *beta != 0 && *beta != 1; j++)
        for (int64_t i = 0; i < *m; i++)
            c[j * *ldc + i] *= *beta;
    const atomic_bool *flag = bd_interrupt_set(NULL); // LAPACK relies on whole products
    bd_kernels()->gemm[BD_F64](&o);
    bd_interrupt_set(flag);
}

// ---- Fortran's runtime library within LAPACK ----
//
// libgfortran is not linked: it loads libquadmath, which registers conversions with printf, and from then on
// every printf of the process takes about three times as long. A LAPACK that calls more of libgfortran does
// not link, and the linker names what is missing here. The functions are weak, for programs that link
// libgfortran beside libbraid.a.

// NOLINTBEGIN(bugprone-reserved-identifier): the names are gfortran's.

void _gfortran_concat_string(size_t len, char *out, size_t a_len, const char *a, size_t b_len, const char *b);
size_t _gfortran_string_len_trim(size_t len, const char *text);
void xerbla_(const char *routine, const int *argument, size_t routine_len);

// A followed by B, cut off at `len` bytes or filled up with blanks.
__attribute__((weak)) void _gfortran_concat_string(size_t len, char *out, size_t a_len, const char *a,
                                                   size_t b_len, const char *b)
{
    const size_t from_a = a_len < len ? a_len : len;
    const size_t from_b = b_len < len - from_a ? b_len : len - from_a;
    memcpy(out, a, from_a);
    memcpy(out + from_a, b, from_b);
    memset(out + from_a + from_b, ' ', len - from_a - from_b);
}

// The length without the blanks at the end.
__attribute__((weak)) size_t _gfortran_string_len_trim(size_t len, const char *text)
{
    while (len > 0 && text[len - 1] == ' ')
        len--;
    return len;
}

// NOLINTEND(bugprone-reserved-identifier)

// LAPACK calls this for an argument that is wrong, and then returns its number in INFO, which lapack.c takes
// for a failure. The reference one writes to standard output and ends the process.
void xerbla_(const char *routine, const int *argument, size_t routine_len)
{
    (void)routine, (void)argument, (void)routine_len;
}

// ---- Decompositions ----

bd_lapack_result bd_lapack_result_of(int info)
{
    if (info == 0) return BD_LAPACK_OK;
    const bool is_memory = info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR;
    return is_memory ? BD_LAPACK_NO_MEMORY : BD_LAPACK_FAILED;
}

// The divide and conquer algorithms need the most: at most 2 mn + 5 min(m, n)^2 numbers, and one block of 64
// for each row and column.
bool bd_lapack_fits(int64_t m, int64_t n)
{
    const int64_t least = bd_min(m, n), most = bd_max(m, n);
    if (most > INT32_MAX / 256 || least > 1 << 15) return false;
    return 2 * least * most + 5 * least * least + 64 * (least + most) + 64 <= INT32_MAX;
}

// The transpose of A is its conjugate, whose upper triangle is in A's lower one. The eigenvectors of the
// conjugate are the conjugates of A's, and LAPACK writes them to the rows.
bd_lapack_result bd_lapack_eigh(bool is_complex, void *a, int64_t n, bool vectors, double *values)
{
    const lapack_int size = (lapack_int)n;
    const char job = vectors ? 'V' : 'N';
    const lapack_int info = is_complex ? LAPACKE_zheevd(LAPACK_COL_MAJOR, job, 'U', size, a, size, values)
                                       : LAPACKE_dsyevd(LAPACK_COL_MAJOR, job, 'U', size, a, size, values);
    if (info == 0 && vectors) bd_matrix_adjoint(is_complex, a, n);
    return bd_lapack_result_of(info);
}

// A^T = conj(V) diag(S) U^T: LAPACK's first factor, by columns, is V^H by rows; its second one, U^T by
// columns, is U by rows.
bd_lapack_result bd_lapack_svd(bool is_complex, void *a, int64_t m, int64_t n, bd_svd_vectors vectors,
                               double *s, void *u, void *vh)
{
    const lapack_int rows = (lapack_int)n, columns = (lapack_int)m, least = rows < columns ? rows : columns;
    const lapack_int u_columns = vectors == BD_SVD_FULL ? columns : least;
    const char job = vectors == BD_SVD_NONE ? 'N' : vectors == BD_SVD_THIN ? 'S' : 'A';
    const lapack_int info =
        is_complex ? LAPACKE_zgesdd(LAPACK_COL_MAJOR, job, rows, columns, a, rows, s, vh, rows, u, u_columns)
                   : LAPACKE_dgesdd(LAPACK_COL_MAJOR, job, rows, columns, a, rows, s, vh, rows, u, u_columns);
    return bd_lapack_result_of(info);
}

// LAPACKE copies to columns and back.
bd_lapack_result bd_lapack_least_squares(bool is_complex, void *a, int64_t m, int64_t n, void *b, int64_t k,
                                         double rcond)
{
    const lapack_int rows = (lapack_int)m, columns = (lapack_int)n, count = (lapack_int)k;
    lapack_int *pivots = bd_try_calloc((size_t)n, sizeof *pivots), rank;
    if (!pivots) return BD_LAPACK_NO_MEMORY;
    const lapack_int info = is_complex ? LAPACKE_zgelsy(LAPACK_ROW_MAJOR, rows, columns, count, a, columns, b,
                                                        count, pivots, rcond, &rank)
                                       : LAPACKE_dgelsy(LAPACK_ROW_MAJOR, rows, columns, count, a, columns, b,
                                                        count, pivots, rcond, &rank);
    bd_free(pivots);
    return bd_lapack_result_of(info);
}
