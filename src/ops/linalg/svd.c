// Svd: singular values and vectors of matrices, in batches [.., M, N], by LAPACK.
#include "graph/grad.h"
#include "kernels/matrix.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/linalg/linear_algebra.h"
#include "ops/linalg/matrix_batch.h"

#include <string.h>

// ---- Shapes ----

// The sizes of a decomposition, -1 if unknown: A is [m, n], S [p], U [m, u], V [n, v].
typedef struct svd_sizes {
    int64_t m, n, p, u, v;
    bd_svd_vectors vectors;
} svd_sizes;

static svd_sizes sizes_of(const braid_op *node, const braid_shape *x)
{
    svd_sizes s = {.m = x->dims[x->rank - 2], .n = x->dims[x->rank - 1], .vectors = BD_SVD_NONE};
    s.p = s.m == 0 || s.n == 0 ? 0 : s.m < 0 || s.n < 0 ? -1 : s.m < s.n ? s.m : s.n;
    if (bd_node_attr_bool(node, "compute_uv"))
        s.vectors = bd_node_attr_bool(node, "full_matrices") ? BD_SVD_FULL : BD_SVD_THIN;
    s.u = s.vectors == BD_SVD_FULL ? s.m : s.p;
    s.v = s.vectors == BD_SVD_FULL ? s.n : s.p;
    return s;
}

// The shapes of S, U and V; without vectors U and V are [0].
static void output_shapes(const svd_sizes *s, const braid_shape *x, braid_shape *shapes)
{
    shapes[0] = shapes[1] = shapes[2] = *x;
    shapes[0].rank--;
    shapes[0].dims[x->rank - 2] = s->p;
    shapes[1].dims[x->rank - 1] = s->u;
    shapes[2].dims[x->rank - 2] = s->n;
    shapes[2].dims[x->rank - 1] = s->v;
    if (s->vectors == BD_SVD_NONE) shapes[1] = shapes[2] = bd_shape1(0);
}

static braid_code svd_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *x = &c->inputs[0];
    if (x->rank < 0) {
        if (!bd_node_attr_bool(c->node, "compute_uv")) c->outputs[1] = c->outputs[2] = bd_shape1(0);
        return BRAID_OK;
    }
    if (x->rank < 2) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", x->rank);
    const svd_sizes s = sizes_of(c->node, x);
    output_shapes(&s, x, c->outputs);
    return BRAID_OK;
}

// ---- Kernel ----

static void store_adjoint(const braid_tensor *x, const char *from, int64_t rows, int64_t columns, char *work,
                          const braid_tensor *to, int64_t at)
{
    const size_t size = bd_wide_size(x->dtype);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            double *number = (double *)(void *)(work + (size_t)(j * rows + i) * size);
            memcpy(number, from + (size_t)(i * columns + j) * size, size);
            if (size > sizeof *number) number[1] = -number[1];
        }
    }
    bd_wide_store(work, rows * columns, to, at);
}

static bd_lapack_result compute(const bd_op_ctx *c, const void *arg, int64_t m, void *work)
{
    const svd_sizes *s = arg;
    const braid_tensor *x = bd_input(c, 0);
    const bool is_complex = bd_dtype_is_complex(x->dtype);
    const size_t size = bd_wide_size(x->dtype);
    char *a = work, *u = a + (size_t)(s->m * s->n) * size, *vh = u + (size_t)(s->m * s->u) * size,
         *v = vh + (size_t)(s->n * s->v) * size;
    double *values = (double *)(void *)(v + (size_t)(s->n * s->v) * size);
    bd_wide_load(x, m * s->m * s->n, s->m * s->n, a);
    if (bd_matrix_is_finite(is_complex, a, s->m * s->n)) {
        const bd_lapack_result result = bd_lapack_svd(is_complex, a, s->m, s->n, s->vectors, values, u, vh);
        if (result != BD_LAPACK_OK) return result;
    } else { // NaN is what TensorFlow gives
        bd_matrix_fill_nan(false, values, s->p);
        bd_matrix_fill_nan(is_complex, u, s->m * s->u);
        bd_matrix_fill_nan(is_complex, vh, s->n * s->v);
    }
    bd_wide_store_real(values, s->p, &c->outputs[0].tensor, m * s->p);
    if (s->vectors == BD_SVD_NONE) return BD_LAPACK_OK;
    bd_wide_store(u, s->m * s->u, &c->outputs[1].tensor, m * s->m * s->u);
    store_adjoint(x, vh, s->v, s->n, v, &c->outputs[2].tensor, m * s->n * s->v);
    return BD_LAPACK_OK;
}

// Matrices of no elements: the vectors of full_matrices are any basis, here the identity.
static void store_identities(const braid_tensor *t, int64_t n)
{
    static const double one[2] = {1, 0};
    if (bd_tensor_count(t) == 0) return;
    memset(t->data, 0, bd_tensor_bytes(t));
    for (int64_t i = 0; i < bd_tensor_count(t) / n; i++)
        bd_wide_store(one, 1, t, i * n + i % n);
}

static void svd_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    if (!bd_matrices_check_batch(c)) return;
    const svd_sizes s = sizes_of(c->node, &x->shape);
    braid_shape shapes[3];
    output_shapes(&s, &x->shape, shapes);
    BD_STATUS(st);
    for (int i = 0; i < 3; i++) {
        int64_t total;
        if (bd_shape_checked_count(&shapes[i], &total, st)) {
            bd_op_fail_status(c, st);
            return;
        }
    }
    if (s.p > 0 && !bd_matrix_batch_fits(c, s.m, s.n)) return;
    for (int i = 0; i < 3; i++)
        if (!bd_output(c, i, x->dtype, &shapes[i])) return;
    if (s.p == 0) {
        if (s.vectors == BD_SVD_NONE) return;
        store_identities(&c->outputs[1].tensor, s.m);
        store_identities(&c->outputs[2].tensor, s.n);
        return;
    }
    const bd_matrix_batch batch = {
        .count = bd_shape_count_range(&x->shape, 0, x->shape.rank - 2),
        .rows = s.m,
        .columns = s.n,
        .numbers = s.m * s.n + s.m * s.u + 2 * s.n * s.v + s.p,
        .compute = compute,
        .arg = &s,
        .failure = "The singular value decomposition did not converge.",
    };
    bd_matrix_batch_run(c, &batch);
}

// ---- Gradient ----
//
// Of S: dA = U diag(dS) V^H. Of U and V (J. Townsend: Differentiating the singular value decomposition,
// 2016): with F[i, j] = 1 / (s[j]^2 - s[i]^2), and 0 on the diagonal,
//
//     dA = U (diag(dS) + (F * (U^H dU - dU^H U)) diag(s) + diag(s) (F * (V^H dV - dV^H V))) V^H
//          + (I - U U^H) dU diag(s)^-1 V^H + U diag(s)^-1 dV^H (I - V V^H)
//
// Complex vectors are unique up to a phase, which is taken to be constant where the gradient of a function of
// them is asked: -i Im(diag(V^H dV)) / s is added to diag(dS).
//
// Of full_matrices there is one more vector than of the thin form at most, U2 or V2: then U2 dU2^H U is
// subtracted from (I - U U^H) dU, and V2 dV2^H V likewise.

typedef struct differentiation {
    braid_graph *g;
    int rank; // of A, for full_matrices
    svd_sizes sizes;
    braid_out a, s, s_row, u, v, grad_s, grad_u, grad_v;
} differentiation;

// Columns [from, to) of the matrices.
static braid_out columns(const differentiation *d, braid_out x, int64_t from, int64_t to)
{
    bd_grad_index index = {.count = d->rank, .begin_mask = (1 << (d->rank - 1)) - 1};
    index.end_mask = index.begin_mask;
    index.begin[d->rank - 1] = (int32_t)from;
    index.end[d->rank - 1] = (int32_t)to;
    return bd_grad_slice(d->g, x, &index);
}

// diag(dS). Singular values are real also where their type is complex.
static braid_out diagonal(braid_graph *g, braid_out grad)
{
    if (bd_dtype_is_complex(bd_dtype_base(braid_out_dtype(grad)))) {
        const braid_out twice = bd_b2(g, "Add", "add", grad, bd_grad_conj(g, grad));
        grad = bd_grad_number_left(g, "Mul", "mul", 0.5, twice);
    }
    return bd_b1(g, "MatrixDiag", NULL, grad);
}

// F * (X^H dX - dX^H X)
static braid_out turn(const differentiation *d, braid_out f, braid_out x, braid_out grad)
{
    const braid_out turned = bd_b2(d->g, "Sub", "sub", bd_grad_matmul(d->g, x, true, grad, false),
                                   bd_grad_matmul(d->g, grad, true, x, false));
    return bd_grad_mul(d->g, f, turned);
}

// The matrix between U and V^H in the first line above; op NULL where it is 0.
static braid_out inner(const differentiation *d)
{
    braid_graph *g = d->g;
    braid_out sum = {0}, f = {0};
    if (d->grad_s.op) sum = diagonal(g, d->grad_s);
    if (d->grad_u.op || d->grad_v.op) f = bd_grad_inverse_differences(g, bd_b1(g, "Square", NULL, d->s));
    if (d->grad_u.op) // columns times s
        sum = bd_grad_sum(g, sum, bd_grad_mul(g, turn(d, f, d->u, d->grad_u), d->s_row));
    if (d->grad_v.op) {
        const braid_out column = bd_b2(g, "ExpandDims", NULL, d->s, bd_b_const_i32(g, "dim", -1));
        sum = bd_grad_sum(g, sum, bd_grad_mul(g, turn(d, f, d->v, d->grad_v), column));
    }
    if (d->grad_v.op && bd_dtype_is_complex(bd_dtype_base(braid_out_dtype(d->s)))) {
        const braid_out phases =
            bd_b1(g, "MatrixDiagPart", NULL, bd_grad_matmul(g, d->v, true, d->grad_v, false));
        const braid_out twice = bd_b2(g, "Sub", "sub", bd_grad_conj(g, phases), phases);
        const braid_out half =
            bd_grad_number_left(g, "Mul", "mul", 0.5, bd_b2(g, "RealDiv", "truediv", twice, d->s));
        sum = bd_grad_sum(g, sum, bd_b1(g, "MatrixDiag", NULL, half));
    }
    return sum;
}

// ((I - X X^H) dX - X2 dX2^H X) diag(s)^-1; x2 may be missing.
static braid_out rest(const differentiation *d, braid_out x, braid_out grad, braid_out x2, braid_out grad2)
{
    braid_graph *g = d->g;
    const braid_out within = bd_grad_matmul(g, x, false, bd_grad_matmul(g, x, true, grad, false), false);
    braid_out left = bd_b2(g, "Sub", "sub", grad, within);
    if (x2.op) {
        const braid_out more = bd_grad_matmul(g, x2, false, bd_grad_matmul(g, grad2, true, x, false), false);
        left = bd_b2(g, "Sub", "sub", left, more);
    }
    return bd_b2(g, "RealDiv", "truediv", left, d->s_row);
}

// Of the `count` columns of full_matrices: those of the thin form, and those beyond (op NULL: none).
static braid_out thin(const differentiation *d, braid_out x, int64_t count)
{
    return count == d->sizes.p || !x.op ? x : columns(d, x, 0, d->sizes.p);
}

static braid_out beyond(const differentiation *d, braid_out x, int64_t count)
{
    return count == d->sizes.p || !x.op ? (braid_out){0} : columns(d, x, d->sizes.p, count);
}

static void vectors_gradient(bd_grad_ctx *c, differentiation *d)
{
    braid_graph *g = d->g;
    const svd_sizes *s = &d->sizes;
    braid_out u2 = {0}, v2 = {0}, grad_u2 = {0}, grad_v2 = {0};
    const bool is_full = s->vectors == BD_SVD_FULL;
    if (is_full && (s->m < 0 || s->n < 0 || s->m - s->n > 1 || s->n - s->m > 1)) {
        braid_graph_fail(
            g, BRAID_UNIMPLEMENTED,
            "The gradient of Svd with full_matrices needs matrices of known sizes that differ by at "
            "most 1, for node '%s'",
            braid_op_name(c->op));
        return;
    }
    if (is_full) {
        u2 = beyond(d, d->u, s->m), grad_u2 = beyond(d, d->grad_u, s->m);
        v2 = beyond(d, d->v, s->n), grad_v2 = beyond(d, d->grad_v, s->n);
        d->u = thin(d, d->u, s->m), d->grad_u = thin(d, d->grad_u, s->m);
        d->v = thin(d, d->v, s->n), d->grad_v = thin(d, d->grad_v, s->n);
    }
    d->s_row = bd_b2(g, "ExpandDims", NULL, d->s, bd_b_const_i32(g, "dim", -2));
    braid_out sum = inner(d);
    if (sum.op) sum = bd_grad_matmul(g, bd_grad_matmul(g, d->u, false, sum, false), false, d->v, true);
    const bool is_known = s->m >= 0 && s->n >= 0; // square factors are a whole basis: nothing is beyond them
    if (d->grad_u.op && !(is_known && s->m <= s->n))
        sum =
            bd_grad_sum(g, sum, bd_grad_matmul(g, rest(d, d->u, d->grad_u, u2, grad_u2), false, d->v, true));
    if (d->grad_v.op && !(is_known && s->n <= s->m))
        sum =
            bd_grad_sum(g, sum, bd_grad_matmul(g, d->u, false, rest(d, d->v, d->grad_v, v2, grad_v2), true));
    c->input_grads[0] = sum;
}

static void svd_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    const braid_shape shape = braid_out_shape(c->op->inputs[0]);
    differentiation d = {.g = g,
                         .rank = shape.rank,
                         .sizes = {.m = -1, .n = -1, .p = -1},
                         .s = braid_output(c->op, 0),
                         .u = braid_output(c->op, 1),
                         .v = braid_output(c->op, 2),
                         .grad_s = c->output_grads[0],
                         .grad_u = c->output_grads[1],
                         .grad_v = c->output_grads[2]};
    if (shape.rank >= 2) d.sizes = sizes_of(c->op, &shape);
    if (bd_node_attr_bool(c->op, "compute_uv")) {
        if (bd_node_attr_bool(c->op, "full_matrices")) d.sizes.vectors = BD_SVD_FULL;
        if (d.grad_s.op || d.grad_u.op || d.grad_v.op) vectors_gradient(c, &d);
        return;
    }
    if (!d.grad_s.op) return;
    braid_op_desc *desc = braid_op_begin(g, "Svd", NULL);
    braid_op_input(desc, c->op->inputs[0]);
    braid_op *whole = braid_op_end(desc);
    const braid_out u = braid_output(whole, 1), v = braid_output(whole, 2);
    const braid_out scaled = bd_grad_matmul(g, u, false, diagonal(g, d.grad_s), false);
    c->input_grads[0] = bd_grad_matmul(g, scaled, false, v, true);
}

// ---- Definitions ----

BD_OP(Svd) = {
    .signature = "(input: T) -> (s: T, u: T, v: T)",
    .attrs = "compute_uv:bool=true; full_matrices:bool=false; " BD_MATRIX_TYPES,
    .shape = svd_shape,
    .gradient = svd_gradient,
    .kernels = BD_MATRIX_KERNELS(svd_run),
    .doc =
        "The singular values of matrices, falling, and the vectors: input = u * diag(s) * adjoint(v). With full_matrices, u and v are square.",
};

BD_OP(BatchSvd) = {
    .signature = "(input: T) -> (s: T, u: T, v: T)",
    .attrs = "compute_uv:bool=true; full_matrices:bool=false; T:type{complex128,complex64,double,float}",
    .shape = svd_shape,
    .kernels = BD_MATRIX_KERNELS(svd_run),
    .doc = "The older name of Svd.",
};
