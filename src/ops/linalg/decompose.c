// Qr and Lu: decompositions of matrices. Both take batches: [.., M, N].
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "kernels/matrix.h"
#include "ops/linalg/linear_algebra.h"

#include <string.h>

// ---- Qr ----

// The sizes of a decomposition, -1 if unknown: M, N, and the columns of Q, which equal the rows of R.
typedef struct qr_sizes {
    int64_t m, n, columns;
} qr_sizes;

static qr_sizes sizes_of(const braid_op *node, const braid_shape *x)
{
    qr_sizes s = {.m = x->dims[x->rank - 2], .n = x->dims[x->rank - 1]};
    s.columns = s.m == 0 || s.n == 0 ? 0 : s.m < 0 || s.n < 0 ? -1 : s.m < s.n ? s.m : s.n;
    if (bd_node_attr_bool(node, "full_matrices")) s.columns = s.m;
    return s;
}

static braid_shape with_matrix(const braid_shape *x, int64_t rows, int64_t columns)
{
    braid_shape s = *x;
    s.dims[s.rank - 2] = rows;
    s.dims[s.rank - 1] = columns;
    return s;
}

static braid_code qr_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *x = &c->inputs[0];
    if (x->rank < 0) return BRAID_OK;
    if (x->rank < 2) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", x->rank);
    qr_sizes s = sizes_of(c->node, x);
    c->outputs[0] = with_matrix(x, s.m, s.columns);
    c->outputs[1] = with_matrix(x, s.columns, s.n);
    return BRAID_OK;
}

static void decompose_each(bd_op_ctx *c, const qr_sizes *s, const braid_tensor *q, const braid_tensor *r)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t count = bd_shape_count_range(&x->shape, 0, x->shape.rank - 2);
    if (bd_tensor_count(q) == 0 && bd_tensor_count(r) == 0) return;
    size_t size = bd_wide_size(x->dtype), m = (size_t)s->m, n = (size_t)s->n, columns = (size_t)s->columns;
    void *a = bd_try_malloc(m * n * size + 1), *wide_q = bd_try_malloc(m * columns * size + 1),
         *work = bd_try_malloc((n + n + columns) * size + 1);
    if (!a || !wide_q || !work)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when decomposing a matrix of %lld by %lld",
                   (long long)s->m, (long long)s->n);
    for (int64_t i = 0; i < count && !bd_op_failed(c) && !bd_interrupted_at(i); i++) {
        bd_wide_load(x, i * s->m * s->n, s->m * s->n, a);
        bd_matrix_qr(bd_dtype_is_complex(x->dtype), a, s->m, s->n, wide_q, s->columns, work);
        bd_wide_store(wide_q, s->m * s->columns, q, i * s->m * s->columns);
        bd_wide_store(a, s->columns * s->n, r, i * s->columns * s->n);
    }
    bd_free(a);
    bd_free(wide_q);
    bd_free(work);
}

static void qr_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    if (x->shape.rank < 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input tensor 0 must have rank >= 2, got %d", x->shape.rank);
        return;
    }
    qr_sizes s = sizes_of(c->node, &x->shape);
    braid_shape q_shape = with_matrix(&x->shape, s.m, s.columns),
                r_shape = with_matrix(&x->shape, s.columns, s.n);
    int64_t total;
    BD_STATUS(st);
    if (bd_shape_checked_count(&q_shape, &total, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    const braid_tensor *q = bd_output(c, 0, x->dtype, &q_shape),
                       *r = q ? bd_output(c, 1, x->dtype, &r_shape) : NULL;
    if (r) decompose_each(c, &s, q, r);
}

// The gradient of a square R (Seeger et al. 2017, "Auto-differentiating linear algebra", LQ there):
//
//     dA = (dQ + Q copy(R dR^T - dQ^T Q)) R^-T
//
// where copy() of a matrix has its lower triangle, and above the diagonal the same mirrored.
static void qr_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    const braid_out q = braid_output(c->op, 0), r = braid_output(c->op, 1), dq = c->output_grads[0],
                    dr = c->output_grads[1];
    const braid_shape shape = braid_out_shape(r);
    if (bd_dtype_is_complex(bd_dtype_base(braid_out_dtype(q))) || shape.rank < 2 ||
        shape.dims[shape.rank - 1] < 0 || shape.dims[shape.rank - 2] != shape.dims[shape.rank - 1]) {
        braid_graph_fail(
            g, BRAID_UNIMPLEMENTED,
            "The gradient of Qr needs real matrices of known sizes with no more columns than rows, and "
            "square ones with full_matrices, for node '%s'",
            braid_op_name(c->op));
        return;
    }
    if (!dq.op && !dr.op) return;
    braid_out m = {0};
    if (dr.op) m = bd_grad_matmul(g, r, false, dr, true);
    if (dq.op) {
        const braid_out turned = bd_grad_matmul(g, dq, true, q, false);
        m = m.op ? bd_b2(g, "Sub", "sub", m, turned) : bd_b1(g, "Neg", NULL, turned);
    }
    const braid_out all = bd_b_const_i32(g, "num_lower", -1), none = bd_b_const_i32(g, "num_upper", 0);
    const braid_out lower = bd_b3(g, "MatrixBandPart", NULL, m, all, none);
    const braid_out strict =
        bd_b2(g, "Sub", "sub", lower, bd_b1(g, "MatrixDiag", NULL, bd_b1(g, "MatrixDiagPart", NULL, m)));
    braid_out sum = bd_b2(g, "Add", "add", bd_grad_matmul(g, q, false, lower, false),
                          bd_grad_matmul(g, q, false, strict, true));
    sum = bd_grad_sum(g, dq, sum);
    const braid_out ones = bd_b1(g, "OnesLike", NULL, bd_b1(g, "MatrixDiagPart", NULL, r));
    braid_op_desc *d = braid_op_begin(g, "MatrixTriangularSolve", NULL);
    braid_op_input(d, r);
    braid_op_input(d, bd_b1(g, "MatrixDiag", NULL, ones));
    braid_op_attr_bool(d, "lower", false);
    c->input_grads[0] = bd_grad_matmul(g, sum, false, braid_op_end_out(d), true);
}

BD_OP(Qr) = {
    .signature = "(input: T) -> (q: T, r: T)",
    .attrs = "full_matrices:bool=false; " BD_MATRIX_TYPES,
    .shape = qr_shape,
    .gradient = qr_gradient,
    .kernels = BD_MATRIX_KERNELS(qr_run),
    .doc =
        "Decomposes matrices into a matrix with orthonormal columns and an upper triangular one, by Householder reflections.",
    .deviation =
        "The gradient is of real matrices with no more columns than rows, square ones with full_matrices.",
};

// ---- Lu ----

static braid_code lu_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_square(c, st);
    c->outputs[0] = c->outputs[1] = c->inputs[0];
    if (c->outputs[1].rank >= 2) c->outputs[1].rank--;
    return code;
}

static void put_rows(const int64_t *rows, int64_t n, const braid_tensor *p, int64_t at)
{
    for (int64_t i = 0; i < n; i++) {
        if (p->dtype == BRAID_INT64) {
            bd_tensor_i64(p)[at + i] = rows[i];
        } else {
            bd_tensor_i32(p)[at + i] = (int32_t)rows[i];
        }
    }
}

static void lu_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    if (!bd_matrices_check(c)) return;
    braid_shape rows_shape = x->shape;
    rows_shape.rank--;
    const braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape),
                       *p = y ? bd_output(c, 1, c->node->output_types[1], &rows_shape) : NULL;
    if (!p || bd_tensor_count(x) == 0) return;
    int64_t n = x->shape.dims[x->shape.rank - 1];
    void *a = bd_try_malloc((size_t)(n * n) * bd_wide_size(x->dtype));
    int64_t *rows = bd_try_malloc((size_t)n * sizeof *rows);
    if (!a || !rows)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a matrix of %lld rows", (long long)n);
    for (int64_t m = 0;
         a && rows && m < bd_tensor_count(x) / (n * n) && !bd_op_failed(c) && !bd_interrupted_at(m); m++) {
        bd_matrix_load(x, m, n, false, a);
        if (!bd_matrix_lu(bd_dtype_is_complex(x->dtype), a, rows, n))
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input is not invertible.");
        bd_wide_store(a, n * n, y, m * n * n);
        put_rows(rows, n, p, m * n);
    }
    bd_free(a);
    bd_free(rows);
}

BD_OP(Lu) = {
    .signature = "(input: T) -> (lu: T, p: output_idx_type)",
    .attrs = BD_MATRIX_TYPES "; output_idx_type:type{int32,int64}=int32",
    .shape = lu_shape,
    .kernels = BD_MATRIX_KERNELS(lu_run),
    .doc =
        "Decomposes matrices into triangular factors, stored in one matrix without the unit diagonal of the lower factor: row p[i] of the input is row i of the product.",
    .deviation = "No gradient in the C library.",
};
