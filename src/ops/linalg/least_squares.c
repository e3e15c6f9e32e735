// MatrixSolveLs: least squares solutions of systems of linear equations, in batches.
#include "graph/grad.h"
#include "kernels/gemm.h"
#include "kernels/matrix.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/linalg/linear_algebra.h"
#include "ops/linalg/matrix_batch.h"

#include <braid/control.h>
#include <float.h>
#include <string.h>

// ---- Kernel ----

typedef struct systems {
    int64_t m, n, k, least; // A is [m, n], B [m, k], X [n, k]; least: min(m, n)
    bool is_complex;
    size_t size; // bytes of a number
    double l2, rcond;
} systems;

static void multiply(const systems *s, int64_t m, int64_t n, int64_t k, bool adjoint_a, bool adjoint_b,
                     const void *a, const void *b, void *c)
{
    const bd_gemm_shape shape = {.m = m,
                                 .n = n,
                                 .k = k,
                                 .transpose_a = adjoint_a,
                                 .transpose_b = adjoint_b,
                                 .conjugate_a = adjoint_a && s->is_complex,
                                 .conjugate_b = adjoint_b && s->is_complex};
    bd_gemm(s->is_complex ? BD_C128 : BD_F64, &shape, a, b, c);
}

// Solves L L^H y = y; L becomes L^H. `gram` is G on entry. False: G is not positive definite.
static bool solve_gram(const systems *s, char *gram, void *y)
{
    for (int64_t i = 0; i < s->least; i++)
        *(double *)(void *)(gram + (size_t)(i * s->least + i) * s->size) += s->l2;
    if (!bd_matrix_cholesky(s->is_complex, gram, s->least)) return false;
    bd_matrix_substitute(s->is_complex, gram, s->least, true, false, y, s->k);
    bd_matrix_adjoint(s->is_complex, gram, s->least);
    return bd_matrix_substitute(s->is_complex, gram, s->least, false, false, y, s->k);
}

// X = (A^H A + l2 I)^-1 A^H B, or for m < n X = A^H (A A^H + l2 I)^-1 B.
static bd_lapack_result compute_fast(const bd_op_ctx *c, const void *arg, int64_t i, void *work)
{
    const systems *s = arg;
    const int64_t m = s->m, n = s->n, k = s->k;
    char *a = work, *b = a + (size_t)(m * n) * s->size, *x = b + (size_t)(m * k) * s->size,
         *gram = x + (size_t)(n * k) * s->size;
    bd_wide_load(bd_input(c, 0), i * m * n, m * n, a);
    bd_wide_load(bd_input(c, 1), i * m * k, m * k, b);
    if (m >= n) {
        multiply(s, n, n, m, true, false, a, a, gram);
        multiply(s, n, k, m, true, false, a, b, x);
        if (!solve_gram(s, gram, x)) return BD_LAPACK_FAILED;
    } else {
        multiply(s, m, m, n, false, true, a, a, gram);
        if (!solve_gram(s, gram, b)) return BD_LAPACK_FAILED;
        multiply(s, n, k, m, true, false, a, b, x);
    }
    bd_wide_store(x, n * k, &c->outputs[0].tensor, i * n * k);
    return BD_LAPACK_OK;
}

static bd_lapack_result compute_slow(const bd_op_ctx *c, const void *arg, int64_t i, void *work)
{
    const systems *s = arg;
    const int64_t m = s->m, n = s->n, k = s->k;
    char *a = work, *b = a + (size_t)(m * n) * s->size;
    bd_wide_load(bd_input(c, 0), i * m * n, m * n, a);
    bd_wide_load(bd_input(c, 1), i * m * k, m * k, b);
    if (bd_matrix_is_finite(s->is_complex, a, m * n) && bd_matrix_is_finite(s->is_complex, b, m * k)) {
        const bd_lapack_result result = bd_lapack_least_squares(s->is_complex, a, m, n, b, k, s->rcond);
        if (result != BD_LAPACK_OK) return result;
    } else {
        bd_matrix_fill_nan(s->is_complex, b, n * k);
    }
    bd_wide_store(b, n * k, &c->outputs[0].tensor, i * n * k);
    return BD_LAPACK_OK;
}

static bool read_systems(bd_op_ctx *c, systems *s)
{
    char text[BD_SHAPE_STR_MAX], other[BD_SHAPE_STR_MAX];
    const braid_tensor *l2 = bd_input(c, 2);
    const braid_shape *a = &bd_input(c, 0)->shape, *b = &bd_input(c, 1)->shape;
    if (!bd_matrices_check_first(c, 2)) return false;
    if (l2->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "l2_regularizer must be scalar, got shape %s",
                   bd_shape_str(&l2->shape, text));
        return false;
    }
    const braid_dtype dtype = bd_input(c, 0)->dtype;
    *s = (systems){.m = a->dims[a->rank - 2],
                   .n = a->dims[a->rank - 1],
                   .k = b->dims[b->rank - 1],
                   .is_complex = bd_dtype_is_complex(dtype),
                   .size = bd_wide_size(dtype),
                   .l2 = *(const double *)l2->data};
    const bool is_single = dtype == BRAID_FLOAT || dtype == BRAID_COMPLEX64;
    s->least = s->m < s->n ? s->m : s->n;
    s->rcond = (is_single ? FLT_EPSILON : DBL_EPSILON) * (double)s->least;
    if (!(s->l2 >= 0)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "l2_regularizer must be >= 0, got %g", s->l2);
    } else if (b->dims[b->rank - 2] != s->m) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input matrix and rhs are incompatible. Got %s and %s",
                   bd_shape_str(a, text), bd_shape_str(b, other));
    }
    return !bd_op_failed(c);
}

static void solve_ls_run(bd_op_ctx *c)
{
    systems s;
    if (!read_systems(c, &s)) return;
    const bool is_fast = bd_node_attr_bool(c->node, "fast");
    braid_shape shape = bd_input(c, 0)->shape;
    shape.dims[shape.rank - 2] = s.n;
    shape.dims[shape.rank - 1] = s.k;
    if (!is_fast && (!bd_matrix_batch_fits(c, s.m, s.n) || !bd_matrix_batch_fits(c, s.k, 1))) return;
    const braid_tensor *x = bd_output(c, 0, bd_input(c, 0)->dtype, &shape);
    if (!x || bd_tensor_count(x) == 0) return;
    if (s.m == 0) { // no equation: the least solution
        memset(x->data, 0, bd_tensor_bytes(x));
        return;
    }
    const bd_matrix_batch batch = {
        .count = bd_shape_count_range(&shape, 0, shape.rank - 2),
        .rows = s.m,
        .columns = s.n,
        .numbers = s.m * s.n + (s.m + s.n) * s.k + s.least * s.least,
        .compute = is_fast ? compute_fast : compute_slow,
        .arg = &s,
        .failure = "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a "
                   "larger l2_regularizer > 0.",
    };
    bd_matrix_batch_run(c, &batch);
}

// ---- Shape ----

static braid_code solve_ls_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *a = &c->inputs[0], *b = &c->inputs[1];
    const braid_code code = bd_shape_ctx_rank(c, 2, 0, st);
    if (code) return code;
    for (int i = 0; i < 2; i++) {
        const int rank = c->inputs[i].rank;
        if (rank >= 0 && rank < 2)
            return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", rank);
    }
    if (a->rank < 0 || b->rank < 0) return BRAID_OK;
    braid_shape rows = *a, merged;
    rows.dims[a->rank - 1] = b->dims[b->rank - 1];
    if (a->rank != b->rank || !bd_shape_merge(&rows, b, &merged)) {
        char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
        return bd_shape_ctx_fail(c, st,
                                 "Dimensions must be equal: matrix and rhs are incompatible: %s and %s",
                                 bd_shape_str(a, x), bd_shape_str(b, y));
    }
    merged.dims[a->rank - 2] = a->dims[a->rank - 1];
    c->outputs[0] = merged;
    return BRAID_OK;
}

// ---- Gradient ----
//
// With G = A^H A + l2 I: dB = A Z and dA = (B - A X) Z^H - dB X^H, where Z = G^-1 dX. For m < n, with
// G = A A^H + l2 I: dB = G^-1 A dX and dA = Y (dX - A^H dB)^H - dB X^H, where Y = G^-1 B.

typedef struct differentiation {
    braid_op *op;
    braid_out grad;
} differentiation;

// The solution of G y = rhs.
static braid_out solve_with_gram(braid_graph *g, const braid_op *op, bool is_tall, braid_out rhs)
{
    const braid_out a = op->inputs[0];
    const braid_dtype dtype = bd_dtype_base(braid_out_dtype(a));
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, op->inputs[2]);
    braid_op_attr_type(d, "DstT", dtype);
    const braid_out l2 = braid_op_end_out(d);
    const braid_out gram = bd_grad_matmul(g, a, is_tall, a, !is_tall);
    const braid_out diagonal = bd_b2(g, "Add", "add", bd_b1(g, "MatrixDiagPart", NULL, gram), l2);
    const braid_out chol = bd_b1(g, "Cholesky", NULL, bd_b2(g, "MatrixSetDiag", NULL, gram, diagonal));
    const braid_out y = bd_b2(g, "MatrixTriangularSolve", NULL, chol, rhs);
    d = braid_op_begin(g, "MatrixTriangularSolve", NULL);
    braid_op_input(d, chol);
    braid_op_input(d, y);
    braid_op_attr_bool(d, "adjoint", true);
    return braid_op_end_out(d);
}

static void tall_gradient(void *arg, braid_graph *g, braid_out *results)
{
    const differentiation *d = arg;
    const braid_out a = d->op->inputs[0], b = d->op->inputs[1], x = braid_output(d->op, 0);
    const braid_out z = solve_with_gram(g, d->op, true, d->grad);
    const braid_out rest = bd_b2(g, "Sub", "sub", b, bd_grad_matmul(g, a, false, x, false));
    results[1] = bd_grad_matmul(g, a, false, z, false);
    results[0] = bd_b2(g, "Sub", "sub", bd_grad_matmul(g, rest, false, z, true),
                       bd_grad_matmul(g, results[1], false, x, true));
}

static void wide_gradient(void *arg, braid_graph *g, braid_out *results)
{
    const differentiation *d = arg;
    const braid_out a = d->op->inputs[0], b = d->op->inputs[1], x = braid_output(d->op, 0);
    const braid_out y = solve_with_gram(g, d->op, false, b);
    results[1] = solve_with_gram(g, d->op, false, bd_grad_matmul(g, a, false, d->grad, false));
    const braid_out rest = bd_b2(g, "Sub", "sub", d->grad, bd_grad_matmul(g, a, true, results[1], false));
    results[0] = bd_b2(g, "Sub", "sub", bd_grad_matmul(g, y, false, rest, true),
                       bd_grad_matmul(g, results[1], false, x, true));
}

// Whether m >= n, as a node.
static braid_out is_tall_node(braid_graph *g, braid_out a)
{
    const braid_out shape = bd_b_shape(g, "Shape", a);
    const bd_grad_index rows = {.count = 1, .begin = {-2}, .end = {-1}, .shrink_axis_mask = 1},
                        columns = {.count = 1, .begin = {-1}, .end_mask = 1, .shrink_axis_mask = 1};
    return bd_b2(g, "GreaterEqual", NULL, bd_grad_slice(g, shape, &rows), bd_grad_slice(g, shape, &columns));
}

static void solve_ls_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    if (!bd_node_attr_bool(c->op, "fast")) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Gradient not defined for fast=False (node '%s')",
                         braid_op_name(c->op));
        return;
    }
    differentiation d = {.op = c->op, .grad = c->output_grads[0]};
    const braid_shape a = braid_out_shape(c->op->inputs[0]);
    const int64_t m = a.rank >= 2 ? a.dims[a.rank - 2] : -1, n = a.rank >= 2 ? a.dims[a.rank - 1] : -1;
    if (m < 0 || n < 0)
        braid_cond(g, NULL, is_tall_node(g, c->op->inputs[0]), tall_gradient, wide_gradient, &d, 2,
                   c->input_grads);
    else
        (m >= n ? tall_gradient : wide_gradient)(&d, g, c->input_grads);
}

// ---- Definitions ----

BD_OP(MatrixSolveLs) = {
    .signature = "(matrix: T, rhs: T, l2_regularizer: double) -> (output: T)",
    .attrs = BD_MATRIX_TYPES "; fast:bool=true",
    .shape = solve_ls_shape,
    .gradient = solve_ls_gradient,
    .kernels = BD_MATRIX_KERNELS(solve_ls_run),
    .doc =
        "The least squares solutions of systems of linear equations. With fast by the normal equations, to whose diagonal l2_regularizer is added; otherwise by a complete orthogonal decomposition, which also solves systems of less than full rank.",
};

BD_OP(BatchMatrixSolveLs) = {
    .signature = "(matrix: T, rhs: T, l2_regularizer: double) -> (output: T)",
    .attrs = "T:type{double,float}; fast:bool=true",
    .shape = solve_ls_shape,
    .kernels = BD_KERNELS({.types = "T=float|double", .flags = BD_KERNEL_EXPENSIVE, .run = solve_ls_run}),
    .doc = "The older name of MatrixSolveLs.",
};
