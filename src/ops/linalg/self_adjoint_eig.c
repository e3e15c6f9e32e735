// SelfAdjointEigV2 and its older forms: eigenvalues and eigenvectors of Hermitian matrices, in batches
// [.., N, N], by LAPACK.
#include "graph/grad.h"
#include "kernels/matrix.h"
#include "ops/common/grad_math.h"
#include "ops/linalg/linear_algebra.h"
#include "ops/linalg/matrix_batch.h"

// ---- Kernels ----

typedef struct eigh {
    int64_t n;
    bool vectors;
} eigh;

static bool is_lower_finite(bool is_complex, const void *a, int64_t n)
{
    const size_t row = (size_t)n * (is_complex ? 2 * sizeof(double) : sizeof(double));
    for (int64_t i = 0; i < n; i++)
        if (!bd_matrix_is_finite(is_complex, (const char *)a + (size_t)i * row, i + 1)) return false;
    return true;
}

// Loads matrix `m` and decomposes it; the eigenvalues follow it in `work`.
static bd_lapack_result decompose(const bd_op_ctx *c, const eigh *e, int64_t m, void *work, double **values)
{
    const braid_tensor *x = bd_input(c, 0);
    const bool is_complex = bd_dtype_is_complex(x->dtype);
    *values = (double *)work + e->n * e->n * (is_complex ? 2 : 1);
    bd_matrix_load(x, m, e->n, false, work);
    if (!is_lower_finite(is_complex, work, e->n)) return BD_LAPACK_FAILED;
    return bd_lapack_eigh(is_complex, work, e->n, e->vectors, *values);
}

static bd_lapack_result compute(const bd_op_ctx *c, const void *arg, int64_t m, void *work)
{
    const eigh *e = arg;
    double *values;
    const bd_lapack_result result = decompose(c, e, m, work, &values);
    if (result != BD_LAPACK_OK) return result;
    bd_wide_store_real(values, e->n, &c->outputs[0].tensor, m * e->n);
    if (e->vectors) bd_wide_store(work, e->n * e->n, &c->outputs[1].tensor, m * e->n * e->n);
    return BD_LAPACK_OK;
}

// The matrix of V1 has the eigenvalues in its first row.
static bd_lapack_result compute_joined(const bd_op_ctx *c, const void *arg, int64_t m, void *work)
{
    const eigh *e = arg;
    const int64_t at = m * (e->n + 1) * e->n;
    double *values;
    const bd_lapack_result result = decompose(c, e, m, work, &values);
    if (result != BD_LAPACK_OK) return result;
    bd_wide_store_real(values, e->n, &c->outputs[0].tensor, at);
    bd_wide_store(work, e->n * e->n, &c->outputs[0].tensor, at + e->n);
    return BD_LAPACK_OK;
}

static void run_batch(bd_op_ctx *c, const eigh *e,
                      bd_lapack_result (*fn)(const bd_op_ctx *c, const void *arg, int64_t m, void *work))
{
    const braid_shape *x = &bd_input(c, 0)->shape;
    if (e->n == 0) return;
    const bd_matrix_batch batch = {
        .count = bd_shape_count_range(x, 0, x->rank - 2),
        .rows = e->n,
        .columns = e->n,
        .numbers = e->n * e->n + e->n,
        .compute = fn,
        .arg = e,
        .failure =
            "Self-adjoint eigen decomposition was not successful. The input might not be valid: it has numbers "
            "that are not finite, or the algorithm did not converge.",
    };
    bd_matrix_batch_run(c, &batch);
}

static void eig_v2_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    if (!bd_matrices_check(c)) return;
    const eigh e = {.n = x->shape.dims[x->shape.rank - 1],
                    .vectors = bd_node_attr_bool(c->node, "compute_v")};
    if (!bd_matrix_batch_fits(c, e.n, e.n)) return;
    const braid_shape none = bd_shape1(0);
    braid_shape values = x->shape;
    values.rank--;
    if (bd_output(c, 0, x->dtype, &values) && bd_output(c, 1, x->dtype, e.vectors ? &x->shape : &none))
        run_batch(c, &e, compute);
}

static void eig_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    if (!bd_matrices_check(c)) return;
    braid_shape y = x->shape;
    const eigh e = {.n = y.dims[y.rank - 1], .vectors = true};
    if (!bd_matrix_batch_fits(c, e.n, e.n)) return;
    y.dims[y.rank - 2]++;
    if (bd_output(c, 0, x->dtype, &y)) run_batch(c, &e, compute_joined);
}

// ---- Shapes ----

// Input 0 with both dimensions of the matrix as far as one is known.
static braid_code square(bd_shape_ctx *c, braid_shape *a, braid_status *st)
{
    *a = c->inputs[0];
    const braid_code code = bd_shape_ctx_square(c, st);
    if (code || a->rank < 0) return code;
    int64_t *rows = &a->dims[a->rank - 2], *columns = &a->dims[a->rank - 1];
    if (*rows < 0)
        *rows = *columns;
    else
        *columns = *rows;
    return BRAID_OK;
}

static braid_code eig_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape a;
    const braid_code code = square(c, &a, st);
    c->outputs[0] = a;
    if (a.rank >= 0) c->outputs[0].rank--;
    c->outputs[1] = bd_node_attr_bool(c->node, "compute_v") ? a : bd_shape1(0);
    return code;
}

static braid_code eig_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_code code = square(c, &c->outputs[0], st);
    braid_shape *y = &c->outputs[0];
    if (!code && y->rank >= 0 && y->dims[y->rank - 1] >= 0) y->dims[y->rank - 2]++;
    return code;
}

// ---- Gradient ----
//
// M. B. Giles: An extended collection of matrix derivative results (2008), section 3.1. With F[i, j] =
// 1 / (e[j] - e[i]), and 0 on the diagonal, dA = V (diag(de) + F * (V^H dV)) V^H. The kernel reads the lower
// triangle alone, so the result is the lower triangle of dA + dA^H, with half of its diagonal. The sum is
// taken within the products: F is antisymmetric.

// The eigenvectors: an output, or those of another node where the op does not compute them.
static braid_out vectors_of(bd_grad_ctx *c)
{
    if (bd_node_attr_bool(c->op, "compute_v")) return braid_output(c->op, 1);
    braid_op_desc *d = braid_op_begin(c->graph, c->op->op_type, NULL);
    braid_op_input(d, c->op->inputs[0]);
    return braid_output(braid_op_end(d), 1);
}

static void eig_v2_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    const braid_out grad_e = c->output_grads[0], grad_v = c->output_grads[1], e = braid_output(c->op, 0);
    const bool has_vectors = bd_node_attr_bool(c->op, "compute_v") && grad_v.op;
    const braid_out v = vectors_of(c);
    braid_out inner = {0};
    if (grad_e.op) inner = bd_b1(g, "MatrixDiag", NULL, bd_grad_sum(g, grad_e, bd_grad_conj(g, grad_e)));
    if (has_vectors) {
        const braid_out turn = bd_b2(g, "Sub", "sub", bd_grad_matmul(g, v, true, grad_v, false),
                                     bd_grad_matmul(g, grad_v, true, v, false));
        inner = bd_grad_sum(g, inner, bd_grad_mul(g, bd_grad_inverse_differences(g, e), turn));
    }
    if (!inner.op) return;
    const braid_out whole = bd_grad_matmul(g, v, false, bd_grad_matmul(g, inner, false, v, true), false);
    const braid_out lower = bd_b3(g, "MatrixBandPart", NULL, whole, bd_b_const_i32(g, "num_lower", -1),
                                  bd_b_const_i32(g, "num_upper", 0));
    const braid_out half = bd_grad_number_left(g, "Mul", "mul", 0.5, bd_b1(g, "MatrixDiagPart", NULL, lower));
    c->input_grads[0] = bd_b2(g, "MatrixSetDiag", NULL, lower, half);
}

// ---- Definitions ----

BD_OP(SelfAdjointEigV2) = {
    .signature = "(input: T) -> (e: T, v: T)",
    .attrs = "compute_v:bool=true; " BD_MATRIX_TYPES,
    .shape = eig_v2_shape,
    .gradient = eig_v2_gradient,
    .kernels = BD_MATRIX_KERNELS(eig_v2_run),
    .doc =
        "The eigenvalues of Hermitian matrices, rising, and their eigenvectors as columns. Only the lower triangles are read.",
};

BD_OP(SelfAdjointEig) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type{double,float,half}",
    .shape = eig_shape,
    .kernels = BD_KERNELS({.types = "T=float|double", .flags = BD_KERNEL_EXPENSIVE, .run = eig_run}),
    .doc =
        "The eigenvalues of symmetric matrices, as the first row of the result, and their eigenvectors as columns below: an older form of SelfAdjointEigV2.",
};

// ---- Names of before GraphDef version 13 ----

BD_OP(BatchSelfAdjointEig) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type{double,float}",
    .shape = eig_shape,
    .kernels = BD_KERNELS({.types = "T=float|double", .flags = BD_KERNEL_EXPENSIVE, .run = eig_run}),
    .doc = "The older name of SelfAdjointEig.",
};

BD_OP(BatchSelfAdjointEigV2) = {
    .signature = "(input: T) -> (e: T, v: T)",
    .attrs = "compute_v:bool=true; T:type{double,float}",
    .shape = eig_v2_shape,
    .kernels = BD_KERNELS({.types = "T=float|double", .flags = BD_KERNEL_EXPENSIVE, .run = eig_v2_run}),
    .doc = "The older name of SelfAdjointEigV2.",
};
