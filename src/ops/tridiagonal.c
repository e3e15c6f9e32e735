// TridiagonalSolve and TridiagonalMatMul: matrices that are given by their three diagonals. All take batches.
#include "base/alloc.h"
#include "base/complex.h"
#include "kernels/matrix.h"
#include "ops/linear_algebra.h"

// ---- TridiagonalSolve: diagonals [.., 3, M] (above, main, below), right sides [.., M, K] ----

static braid_code solve_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape want = c->inputs[0], rhs = c->inputs[1];
    c->outputs[0] = rhs;
    if (want.rank < 0 || rhs.rank < 0) return BRAID_OK;
    if (want.rank < 2 || want.rank != rhs.rank)
        return bd_shape_ctx_fail(c, st, "Shapes must be of equal rank, at least 2, but are of rank %d and %d",
                                 want.rank, rhs.rank);
    int64_t three = want.dims[want.rank - 2];
    if (three >= 0 && three != 3)
        return bd_shape_ctx_fail(c, st, "Dimension must be 3 but is %lld", (long long)three);
    want.dims[want.rank - 2] = want.dims[want.rank - 1];
    want.dims[want.rank - 1] = rhs.dims[rhs.rank - 1];
    if (bd_shape_merge(&want, &rhs, &c->outputs[0])) return BRAID_OK;
    c->outputs[0] = rhs;
    return bd_shape_ctx_fail(c, st, "diagonals and rhs do not fit");
}

static bool check_solve(bd_op_ctx *c)
{
    const braid_shape *diagonals = &bd_input(c, 0)->shape, *rhs = &bd_input(c, 1)->shape;
    if (!bd_matrices_check_batch(c)) return false;
    int rank = rhs->rank;
    if (diagonals->dims[rank - 2] != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected diagonals to be provided as a matrix with 3 rows, got %lld rows.",
                   (long long)diagonals->dims[rank - 2]);
    } else if (diagonals->dims[rank - 1] != rhs->dims[rank - 2]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected the same number of left-hand sides and right-hand sides, got %lld and %lld.",
                   (long long)diagonals->dims[rank - 1], (long long)rhs->dims[rank - 2]);
    }
    return !bd_op_failed(c);
}

static bool check_options(bd_op_ctx *c)
{
    if (!bd_node_attr_bool(c->node, "perturb_singular")) return true;
    if (!bd_node_attr_bool(c->node, "partial_pivoting")) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Setting perturb_singular requires also setting partial_pivoting.");
    } else {
        bd_op_fail(c, BRAID_UNIMPLEMENTED,
                   "TridiagonalSolve does not perturb singular matrices: leave "
                   "attr perturb_singular false");
    }
    return false;
}

static void solve_run(bd_op_ctx *c)
{
    const braid_tensor *diagonals = bd_input(c, 0), *rhs = bd_input(c, 1);
    if (!check_options(c) || !check_solve(c)) return;
    braid_tensor *y = bd_output(c, 0, rhs->dtype, &rhs->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    int64_t n = rhs->shape.dims[rhs->shape.rank - 2], k = rhs->shape.dims[rhs->shape.rank - 1];
    size_t size = bd_wide_size(rhs->dtype);
    void *d = bd_try_malloc((size_t)(4 * n) * size), *x = bd_try_malloc((size_t)(n * k) * size);
    if (!d || !x)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a matrix of %lld rows", (long long)n);
    bool pivoting = bd_node_attr_bool(c->node, "partial_pivoting");
    for (int64_t m = 0; !bd_op_failed(c) && m < bd_tensor_count(y) / (n * k); m++) {
        bd_wide_load(diagonals, m * 3 * n, 3 * n, d);
        bd_wide_load(rhs, m * n * k, n * k, x);
        if (!bd_matrix_tridiagonal(bd_dtype_is_complex(rhs->dtype), d, n, pivoting, x, k))
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The matrix is %s",
                       n == 1     ? "not invertible: it is a scalar with value zero."
                       : pivoting ? "not invertible."
                                  : "either not invertible, or requires pivoting. Try setting "
                                    "partial_pivoting = True.");
        bd_wide_store(x, n * k, y, m * n * k);
    }
    bd_free(d);
    bd_free(x);
}

BD_OP(TridiagonalSolve) = {
    .signature = "(diagonals: T, rhs: T) -> (output: T)",
    .attrs =
        "partial_pivoting:bool=true; perturb_singular:bool=false; T:type{complex128,complex64,double,float}",
    .shape = solve_shape,
    .kernels = BD_MATRIX_KERNELS(solve_run),
    .doc = "Solves systems of linear equations whose matrices have three diagonals: above, main, below.",
    .deviation = "No gradient in the C library; perturb_singular is refused.",
};

// ---- TridiagonalMatMul: each diagonal [.., 1, M], times [.., M, K] ----

static braid_code product_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape row = c->inputs[0];
    for (int i = 1; i < 3; i++) {
        if (!bd_shape_merge(&row, &c->inputs[i], &row))
            return bd_shape_ctx_fail(c, st, "the diagonals must have equal shapes");
    }
    c->outputs[0] = c->inputs[3];
    if (row.rank >= 0 && c->inputs[3].rank >= 0 && (row.rank < 2 || row.rank != c->inputs[3].rank))
        return bd_shape_ctx_fail(c, st, "Shapes must be of equal rank, at least 2, but are of rank %d and %d",
                                 row.rank, c->inputs[3].rank);
    return BRAID_OK;
}

static bool check_product(bd_op_ctx *c)
{
    static const char *const names[] = {"superdiagonal", "main diagonal", "subdiagonal"};
    const braid_shape *rhs = &bd_input(c, 3)->shape;
    if (!bd_matrices_check_batch(c)) return false;
    for (int i = 0; i < 3; i++) {
        const braid_shape *row = &bd_input(c, i)->shape;
        if (row->dims[row->rank - 2] == 1 && row->dims[row->rank - 1] == rhs->dims[rhs->rank - 2]) continue;
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid %s shape. Got %s for a matrix %s", names[i],
                   bd_shape_str(row, a), bd_shape_str(rhs, b));
        return false;
    }
    return true;
}

// Row i is sup[i] x[i + 1] + main[i] x[i] + sub[i] x[i - 1].
#define MULTIPLY(NAME, T)                                                                                    \
    static void NAME(const T *sup, const T *main, const T *sub, const T *x, T *y, int64_t rows, int64_t n,   \
                     int64_t k)                                                                              \
    {                                                                                                        \
        for (int64_t r = 0; r < rows; r++, x += k, y += k) {                                                 \
            int64_t i = r % n;                                                                               \
            for (int64_t j = 0; j < k; j++) {                                                                \
                T sum = main[r] * x[j];                                                                      \
                if (i + 1 < n) sum += sup[r] * x[j + k];                                                     \
                if (i > 0) sum += sub[r] * x[j - k];                                                         \
                y[j] = sum;                                                                                  \
            }                                                                                                \
        }                                                                                                    \
    }
MULTIPLY(multiply_f32, float)
MULTIPLY(multiply_f64, double)
MULTIPLY(multiply_c64, float complex)
MULTIPLY(multiply_c128, double complex)

static void product_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 3);
    if (!check_product(c)) return;
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    int64_t n = x->shape.dims[x->shape.rank - 2], k = x->shape.dims[x->shape.rank - 1];
    int64_t rows = bd_tensor_count(y) / k;
    const void *sup = bd_input(c, 0)->data, *main = bd_input(c, 1)->data, *sub = bd_input(c, 2)->data;
    switch (x->dtype) {
    case BRAID_FLOAT: multiply_f32(sup, main, sub, x->data, y->data, rows, n, k); break;
    case BRAID_DOUBLE: multiply_f64(sup, main, sub, x->data, y->data, rows, n, k); break;
    case BRAID_COMPLEX64: multiply_c64(sup, main, sub, x->data, y->data, rows, n, k); break;
    default: multiply_c128(sup, main, sub, x->data, y->data, rows, n, k); break;
    }
}

BD_OP(TridiagonalMatMul) = {
    .signature = "(superdiag: T, maindiag: T, subdiag: T, rhs: T) -> (output: T)",
    .attrs = "T:type{complex128,complex64,double,float}",
    .shape = product_shape,
    .kernels = BD_MATRIX_KERNELS(product_run),
    .doc = "Multiplies matrices that are given by their three diagonals by others.",
    .deviation = "No gradient in the C library.",
};
