// Systems of linear equations and inverses of matrices, by Gaussian elimination with partial pivoting.
//
// All take batches: [.., M, M]. All types are computed in double or double complex; for small matrices this
// costs little compared with the memory traffic.
#include "ops/linalg/linear_algebra.h"
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "kernels/loops.h"
#include "kernels/matrix.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/math/cast.h"

#include <string.h>

// ---- Batches ----

size_t bd_wide_size(braid_dtype dtype)
{
    return bd_dtype_is_complex(dtype) ? 2 * sizeof(double) : sizeof(double);
}

static bd_cast_type wide_type(const braid_tensor *t)
{
    return bd_dtype_is_complex(t->dtype) ? BD_CAST_C128 : BD_CAST_F64;
}

void bd_wide_load(const braid_tensor *t, int64_t at, int64_t count, void *to)
{
    const char *from = (const char *)t->data + (size_t)at * braid_dtype_size(t->dtype);
    bd_unary_blocks(bd_cast(bd_cast_type_of(t->dtype), wide_type(t)), from, braid_dtype_size(t->dtype), to,
                    bd_wide_size(t->dtype), count);
}

void bd_wide_store(const void *from, int64_t count, const braid_tensor *t, int64_t at)
{
    char *to = (char *)t->data + (size_t)at * braid_dtype_size(t->dtype);
    bd_unary_blocks(bd_cast(wide_type(t), bd_cast_type_of(t->dtype)), from, bd_wide_size(t->dtype), to,
                    braid_dtype_size(t->dtype), count);
}

void bd_wide_store_real(const double *from, int64_t count, const braid_tensor *t, int64_t at)
{
    if (!bd_dtype_is_complex(t->dtype)) {
        bd_wide_store(from, count, t, at);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const double number[2] = {from[i], 0};
        bd_wide_store(number, 1, t, at + i);
    }
}

void bd_matrix_load(const braid_tensor *t, int64_t m, int64_t n, bool adjoint, void *to)
{
    bd_wide_load(t, m * n * n, n * n, to);
    if (adjoint) bd_matrix_adjoint(bd_dtype_is_complex(t->dtype), to, n);
}

bool bd_matrices_check_batch(bd_op_ctx *c)
{
    return bd_matrices_check_first(c, c->input_count);
}

bool bd_matrices_check_first(bd_op_ctx *c, int count)
{
    const braid_shape *a = &bd_input(c, 0)->shape;
    if (a->rank < 2)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input tensor 0 must have rank >= 2, got %d", a->rank);
    for (int i = 1; i < count && !bd_op_failed(c); i++) {
        const braid_shape *b = &bd_input(c, i)->shape;
        if (b->rank != a->rank) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "All input tensors must have the same rank. Got %d and %d",
                       a->rank, b->rank);
        } else if (memcmp(a->dims, b->dims, (size_t)(a->rank - 2) * sizeof *a->dims) != 0) {
            char text[BD_SHAPE_STR_MAX], other[BD_SHAPE_STR_MAX];
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "All input tensors must have the same outer dimensions. Got %s and %s",
                       bd_shape_str(a, text), bd_shape_str(b, other));
        }
    }
    return !bd_op_failed(c);
}

bool bd_matrices_check(bd_op_ctx *c)
{
    const braid_shape *a = &bd_input(c, 0)->shape;
    if (!bd_matrices_check_batch(c)) return false;
    if (a->dims[a->rank - 1] == a->dims[a->rank - 2]) return true;
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s Got %s",
               c->input_count == 1 ? "Input matrix must be square."
                                   : "First input (lhs) must be a square matrix.",
               bd_shape_str(a, text));
    return false;
}

typedef struct batch {
    int64_t count, n, columns; // matrices [n, n], right-hand sides [n, columns]
} batch;

static bool read_batch(bd_op_ctx *c, batch *b)
{
    const braid_shape *a = &bd_input(c, 0)->shape;
    char text[BD_SHAPE_STR_MAX], other[BD_SHAPE_STR_MAX];
    if (!bd_matrices_check(c)) return false;
    *b = (batch){.count = bd_shape_count_range(a, 0, a->rank - 2), .n = a->dims[a->rank - 1]};
    b->columns = b->n;
    if (c->input_count == 1) return true;
    const braid_shape *rhs = &bd_input(c, 1)->shape;
    b->columns = rhs->dims[a->rank - 1];
    if (rhs->dims[a->rank - 2] == b->n) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input matrix and rhs are incompatible. Got %s and %s",
               bd_shape_str(a, text), bd_shape_str(rhs, other));
    return false;
}

// Memory for one matrix of a batch and its right-hand side.
typedef struct workspace {
    bool is_complex;
    size_t size; // bytes of a number
    void *a, *x, *y;
    int64_t *perm;
} workspace;

static bool make_workspace(bd_op_ctx *c, const batch *b, workspace *w)
{
    braid_dtype dtype = bd_input(c, 0)->dtype;
    size_t n = (size_t)b->n, columns = (size_t)b->columns, size = bd_wide_size(dtype);
    *w = (workspace){.is_complex = bd_dtype_is_complex(dtype),
                     .size = size,
                     .a = bd_try_malloc(n * n * size + 1),
                     .x = bd_try_malloc(n * columns * size + 1),
                     .y = bd_try_malloc(n * columns * size + 1),
                     .perm = bd_try_malloc(n * sizeof(int64_t) + 1)};
    if (w->a && w->x && w->y && w->perm) return true;
    bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a matrix of %lld rows", (long long)b->n);
    return false;
}

static void free_workspace(workspace *w)
{
    bd_free(w->a);
    bd_free(w->x);
    bd_free(w->y);
    bd_free(w->perm);
}

static void fail_singular(bd_op_ctx *c)
{
    bool has_rhs = c->input_count > 1;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               has_rhs ? "Input matrix is not invertible." : "Input is not invertible.");
}

// ---- Kernels ----

static void permute_rows(const workspace *w, int64_t n, int64_t count)
{
    size_t row = (size_t)count * w->size;
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++)
        memcpy((char *)w->x + (size_t)i * row, (const char *)w->y + (size_t)w->perm[i] * row, row);
}

static void load_identity(const workspace *w, int64_t n)
{
    static const double one = 1;
    memset(w->y, 0, (size_t)(n * n) * w->size);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)w->y + (size_t)(i * n + i) * w->size, &one,
               sizeof one); // for complex numbers the real part
}

// Solves A X = B, or with attr adjoint A^H X = B. Without an input B, B is the identity.
static void solve_batch(bd_op_ctx *c, const batch *b, const workspace *w, braid_tensor *y)
{
    int64_t n = b->n, size = n * b->columns;
    bool adjoint = bd_node_attr_bool(c->node, "adjoint");
    for (int64_t m = 0; m < b->count && !bd_op_failed(c) && !bd_interrupted_at(m); m++) {
        bd_matrix_load(bd_input(c, 0), m, n, adjoint, w->a);
        if (c->input_count == 1) {
            load_identity(w, n);
        } else {
            bd_wide_load(bd_input(c, 1), m * size, size, w->y);
        }
        if (!bd_matrix_lu(w->is_complex, w->a, w->perm, n)) {
            fail_singular(c);
            return;
        }
        permute_rows(w, n, b->columns);
        bd_matrix_substitute(w->is_complex, w->a, n, true, true, w->x, b->columns);
        bd_matrix_substitute(w->is_complex, w->a, n, false, false, w->x, b->columns);
        bd_wide_store(w->x, size, y, m * size);
    }
}

static void triangular_batch(bd_op_ctx *c, const batch *b, const workspace *w, braid_tensor *y)
{
    int64_t n = b->n, size = n * b->columns;
    bool adjoint = bd_node_attr_bool(c->node, "adjoint"), lower = bd_node_attr_bool(c->node, "lower");
    for (int64_t m = 0; m < b->count && !bd_interrupted_at(m); m++) {
        bd_matrix_load(bd_input(c, 0), m, n, adjoint, w->a);
        bd_wide_load(bd_input(c, 1), m * size, size, w->x);
        if (!bd_matrix_substitute(w->is_complex, w->a, n, lower != adjoint, false, w->x, b->columns)) {
            fail_singular(c);
            return;
        }
        bd_wide_store(w->x, size, y, m * size);
    }
}

static void run(bd_op_ctx *c, const braid_shape *shape,
                void (*fn)(bd_op_ctx *c, const batch *b, const workspace *w, braid_tensor *y))
{
    batch b;
    workspace w;
    if (!read_batch(c, &b)) return;
    braid_tensor *y = bd_output(c, 0, bd_input(c, 0)->dtype, shape);
    if (!y || bd_tensor_count(y) == 0) return;
    if (make_workspace(c, &b, &w)) fn(c, &b, &w, y);
    free_workspace(&w);
}

static void solve_run(bd_op_ctx *c)
{
    run(c, &bd_input(c, 1)->shape, solve_batch);
}

static void triangular_run(bd_op_ctx *c)
{
    run(c, &bd_input(c, 1)->shape, triangular_batch);
}

static void inverse_run(bd_op_ctx *c)
{
    run(c, &bd_input(c, 0)->shape, solve_batch);
}

// ---- Shapes ----

braid_code bd_shape_ctx_square(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *a = &c->inputs[0];
    if (a->rank < 0) return BRAID_OK;
    if (a->rank < 2) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", a->rank);
    int64_t rows = a->dims[a->rank - 2], columns = a->dims[a->rank - 1];
    if (rows < 0 || columns < 0 || rows == columns) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)rows,
                             (long long)columns);
}

static braid_code inverse_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return bd_shape_ctx_square(c, st);
}

static braid_code solve_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape a = c->inputs[0], rhs = c->inputs[1];
    braid_code code = bd_shape_ctx_square(c, st);
    c->outputs[0] = rhs;
    if (code || a.rank < 0) return code;
    if (rhs.rank < 0) { // all but the number of columns is known
        if (a.dims[a.rank - 2] < 0) a.dims[a.rank - 2] = a.dims[a.rank - 1];
        a.dims[a.rank - 1] = -1;
        c->outputs[0] = a;
        return BRAID_OK;
    }
    if (a.rank == rhs.rank) {
        a.dims[a.rank - 1] = rhs.dims[a.rank - 1];
        if (bd_shape_merge(&a, &rhs, &c->outputs[0])) return BRAID_OK;
    }
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    return bd_shape_ctx_fail(c, st, "matrix and rhs are incompatible: %s and %s",
                             bd_shape_str(&c->inputs[0], x), bd_shape_str(&rhs, y));
}

// ---- Gradients ----

braid_out bd_grad_matmul(braid_graph *g, braid_out a, bool adjoint_a, braid_out b, bool adjoint_b)
{
    braid_op_desc *d = braid_op_begin(g, "BatchMatMul", "MatMul");
    braid_op_input(d, a);
    braid_op_input(d, b);
    braid_op_attr_bool(d, "adj_x", adjoint_a);
    braid_op_attr_bool(d, "adj_y", adjoint_b);
    return braid_op_end_out(d);
}

braid_out bd_grad_sum(braid_graph *g, braid_out a, braid_out b)
{
    if (!a.op || !b.op) return a.op ? a : b;
    return bd_b2(g, "Add", "add", a, b);
}

// The ones keep the diagonal finite: the gradients of these nodes multiply it by 0.
braid_out bd_grad_inverse_differences(braid_graph *g, braid_out x)
{
    const braid_out last = bd_b_const_i32(g, "dim", -1), before = bd_b_const_i32(g, "dim", -2);
    const braid_out zeros = bd_grad_zeros_like(g, x), ones = bd_b1(g, "OnesLike", "ones_like", x);
    braid_out f = bd_b2(g, "Sub", "sub", bd_b2(g, "ExpandDims", NULL, x, before),
                        bd_b2(g, "ExpandDims", NULL, x, last));
    f = bd_b1(g, "Reciprocal", NULL, bd_b2(g, "MatrixSetDiag", NULL, f, ones));
    return bd_b2(g, "MatrixSetDiag", NULL, f, zeros);
}

// The gradient of X in A X = B: dB solves A^T dB = dX, and dA = -dB X^T (for A^T X = B: -X dB^T).
static void solve_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    bool adjoint = bd_node_attr_bool(c->op, "adjoint");
    braid_op_desc *d = braid_op_begin(g, c->op->op_type, NULL);
    braid_op_input(d, c->op->inputs[0]);
    braid_op_input(d, c->output_grads[0]);
    if (bd_node_attr(c->op, "lower")) braid_op_attr_bool(d, "lower", bd_node_attr_bool(c->op, "lower"));
    braid_op_attr_bool(d, "adjoint", !adjoint);
    braid_out rhs_grad = braid_op_end_out(d), x = braid_output(c->op, 0);
    braid_out both =
        adjoint ? bd_grad_matmul(g, x, false, rhs_grad, true) : bd_grad_matmul(g, rhs_grad, false, x, true);
    c->input_grads[0] = bd_b1(g, "Neg", NULL, both);
    c->input_grads[1] = rhs_grad;
}

static void triangular_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    bool lower = bd_node_attr_bool(c->op, "lower");
    solve_gradient(c);
    const char *scope = braid_push_name_scope(g, "MatrixBandPart");
    braid_out below = bd_b_const_i32(g, "num_lower", lower ? -1 : 0),
              above = bd_b_const_i32(g, "num_upper", lower ? 0 : -1);
    c->input_grads[0] = bd_b3(g, "MatrixBandPart", scope, c->input_grads[0], below, above);
    braid_pop_name_scope(g);
}

static void inverse_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out y = braid_output(c->op, 0), grad = c->output_grads[0];
    bool adjoint = bd_node_attr_bool(c->op, "adjoint");
    // Y = A^-T has the same formula, with the gradient of A^T.
    braid_out dx = bd_grad_matmul(g, y, true, bd_grad_matmul(g, grad, false, y, true), false);
    if (adjoint) dx = bd_grad_matmul(g, bd_grad_matmul(g, y, false, grad, true), false, y, false);
    c->input_grads[0] = bd_b1(g, "Neg", NULL, dx);
}

// ---- Definitions ----

BD_OP(MatrixSolve) = {
    .signature = "(matrix: T, rhs: T) -> (output: T)",
    .attrs = "adjoint:bool=false; " BD_MATRIX_TYPES,
    .shape = solve_shape,
    .gradient = solve_gradient,
    .kernels = BD_MATRIX_KERNELS(solve_run),
    .doc = "Solves systems of linear equations: matrix * output = rhs.",
};

BD_OP(MatrixTriangularSolve) = {
    .signature = "(matrix: T, rhs: T) -> (output: T)",
    .attrs = "lower:bool=true; adjoint:bool=false; " BD_MATRIX_TYPES,
    .shape = solve_shape,
    .gradient = triangular_gradient,
    .kernels = BD_MATRIX_KERNELS(triangular_run),
    .doc =
        "Solves systems of linear equations with triangular matrices; elements on the other side of the diagonal are not used.",
};

BD_OP(MatrixInverse) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "adjoint:bool=false; " BD_MATRIX_TYPES,
    .shape = inverse_shape,
    .gradient = inverse_gradient,
    .kernels = BD_MATRIX_KERNELS(inverse_run),
    .doc = "The inverses of square matrices, or of their adjoints.",
};

// ---- Names of before GraphDef version 13 ----

BD_OP(BatchMatrixSolve) = {
    .signature = "(matrix: T, rhs: T) -> (output: T)",
    .attrs = "adjoint:bool=false; T:type{double,float}",
    .shape = solve_shape,
    .kernels = BD_MATRIX_KERNELS(solve_run),
    .doc = "The older name of MatrixSolve.",
};

BD_OP(BatchMatrixTriangularSolve) = {
    .signature = "(matrix: T, rhs: T) -> (output: T)",
    .attrs = "lower:bool=true; adjoint:bool=false; T:type{double,float}",
    .shape = solve_shape,
    .kernels = BD_MATRIX_KERNELS(triangular_run),
    .doc = "The older name of MatrixTriangularSolve.",
};

BD_OP(BatchMatrixInverse) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "adjoint:bool=false; T:type{double,float}",
    .shape = inverse_shape,
    .kernels = BD_MATRIX_KERNELS(inverse_run),
    .doc = "The older name of MatrixInverse.",
};
