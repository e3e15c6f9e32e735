// TridiagonalSolve and TridiagonalMatMul: the matrices are given by their three diagonals. All inputs have
// batches.
#include "base/alloc.h"
#include "base/complex.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "kernels/matrix.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/linalg/linear_algebra.h"

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
    for (int64_t m = 0; !bd_op_failed(c) && m < bd_tensor_count(y) / (n * k) && !bd_interrupted_at(m); m++) {
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

// ---- Steps of gradients ----

// A node whose second input is an axis: the last (-1), or the one before it (-2).
static braid_out along(braid_graph *g, const char *op, braid_out x, int axis)
{
    return bd_b2(g, op, NULL, x, bd_b_const_i32(g, "axis", axis));
}

// Row-wise dot products, the columns of a product's diagonal: [.., M, K] -> [.., M]
static braid_out dot(braid_graph *g, braid_out x, braid_out y)
{
    return along(g, "Sum", bd_grad_mul(g, x, y), -1);
}

// Row i + by becomes row i; missing rows are zeros. `diagonal` is one diagonal of the matrix, [.., 1, M].
static braid_out shift_rows(braid_graph *g, braid_out x, braid_out diagonal, int by)
{
    const braid_out ones = bd_b1(g, "OnesLike", "ones_like", diagonal);
    const braid_out zeros = bd_b1(g, "ZerosLike", "zeros_like", diagonal);
    const braid_out inputs[] = {by > 0 ? ones : zeros, zeros, by < 0 ? ones : zeros, x};
    return braid_output(braid_op_add(g, "TridiagonalMatMul", NULL, inputs, 4), 0);
}

// Rotates the diagonal. This is sufficient, because the first or last element of a diagonal above or below is
// not used.
static braid_out roll(braid_graph *g, braid_out diagonal, int by)
{
    return bd_b3(g, "Roll", NULL, diagonal, bd_b_const_i32(g, "shift", by), bd_b_const_i32(g, "axis", -1));
}

// ---- The gradient of TridiagonalSolve ----

static void split_diagonals(braid_graph *g, braid_out diagonals, braid_out out[3])
{
    braid_op_desc *d = braid_op_begin(g, "Split", NULL);
    braid_op_input(d, bd_b_const_i32(g, "split_dim", -2));
    braid_op_input(d, diagonals);
    braid_op_attr_int(d, "num_split", 3);
    braid_op *split = braid_op_end(d);
    for (int i = 0; i < 3; i++)
        out[i] = braid_output(split, i);
}

// dB = A^-H dX; dA is the three diagonals of -dB X^H.
static void solve_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out parts[3];
    split_diagonals(g, bd_grad_conj(g, c->op->inputs[0]), parts);
    const braid_out transposed[] = {roll(g, parts[2], -1), parts[1], roll(g, parts[0], 1)};
    braid_op_desc *d = braid_op_begin(g, "TridiagonalSolve", NULL);
    braid_op_input(d, bd_grad_concat(g, transposed, 3, -2));
    braid_op_input(d, c->output_grads[0]);
    braid_op_attr_bool(d, "partial_pivoting", bd_node_attr_bool(c->op, "partial_pivoting"));
    const braid_out rhs = c->input_grads[1] = braid_op_end_out(d);
    const braid_out x = bd_grad_conj(g, braid_output(c->op, 0));
    const braid_out diagonals[] = {dot(g, rhs, shift_rows(g, x, parts[1], 1)), dot(g, rhs, x),
                                   dot(g, rhs, shift_rows(g, x, parts[1], -1))};
    d = braid_op_begin(g, "Pack", "stack");
    braid_op_input_list(d, diagonals, 3);
    braid_op_attr_int(d, "axis", -2);
    c->input_grads[0] = bd_b1(g, "Neg", NULL, braid_op_end_out(d));
}

BD_OP(TridiagonalSolve) = {
    .signature = "(diagonals: T, rhs: T) -> (output: T)",
    .attrs =
        "partial_pivoting:bool=true; +perturb_singular:bool=false; T:type{complex128,complex64,double,float}",
    .shape = solve_shape,
    .gradient = solve_gradient,
    .kernels = BD_MATRIX_KERNELS(solve_run),
    .doc =
        "Solves systems of linear equations with tridiagonal matrices, given by the diagonals above, main and below.",
    .deviation = "perturb_singular is refused.",
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
        for (int64_t r = 0; r < rows && !bd_interrupted_at(r); r++, x += k, y += k) {                        \
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

static braid_out as_row(braid_graph *g, braid_out x)
{
    return along(g, "ExpandDims", x, -2);
}

// A diagonal [.., 1, M] as a column [.., M, 1], times x.
static braid_out scale_rows(braid_graph *g, braid_out diagonal, braid_out x)
{
    braid_op_desc *d = braid_op_begin(g, "Squeeze", NULL);
    braid_op_input(d, bd_grad_conj(g, diagonal));
    braid_op_attr_int_list(d, "squeeze_dims", (int64_t[]){-2}, 1);
    return bd_grad_mul(g, along(g, "ExpandDims", braid_op_end_out(d), -1), x);
}

static void product_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    const braid_out *in = c->op->inputs, grad = c->output_grads[0], x = bd_grad_conj(g, in[3]);
    c->input_grads[0] = as_row(g, dot(g, shift_rows(g, x, in[1], 1), grad));
    c->input_grads[1] = as_row(g, dot(g, x, grad));
    c->input_grads[2] = as_row(g, dot(g, shift_rows(g, x, in[1], -1), grad));
    const braid_out from_above = shift_rows(g, scale_rows(g, in[0], grad), in[1], -1);
    const braid_out from_below = shift_rows(g, scale_rows(g, in[2], grad), in[1], 1);
    const braid_out sum = bd_b2(g, "Add", "add", from_above, scale_rows(g, in[1], grad));
    c->input_grads[3] = bd_b2(g, "Add", "add", sum, from_below);
}

BD_OP(TridiagonalMatMul) = {
    .signature = "(superdiag: T, maindiag: T, subdiag: T, rhs: T) -> (output: T)",
    .attrs = "T:type{complex128,complex64,double,float}",
    .shape = product_shape,
    .gradient = product_gradient,
    .kernels = BD_MATRIX_KERNELS(product_run),
    .doc = "Multiplies tridiagonal matrices, given by their three diagonals, by other matrices.",
};
