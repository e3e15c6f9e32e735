// BandedTriangularSolve: solves triangular systems whose matrices are given by the bands along the diagonal,
// [.., K, M]. All inputs have batches, which are broadcast against each other.
//
// Row d of a lower matrix's bands holds A[i, i - d] at column i; row K - 1 - d of an upper one's holds A[i, i
// + d]. Elements outside of the matrix are not read.
#include "base/alloc.h"
#include "base/complex.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/grad_steps.h"
#include "ops/linalg/linear_algebra.h"
#include "ops/linalg/matmul.h"

#include <math.h>

typedef struct banded {
    int64_t bands, size, columns; // K, M and the columns of the right-hand side
    bool lower, adjoint;
} banded;

// Solves in place for the columns of x [M, columns]. False: there is a 0 on the diagonal.
#define SOLVE(NAME, T, CONJUGATE, SIZE_OF)                                                                   \
    static bool NAME(const banded *b, const T *bands, T *x)                                                  \
    {                                                                                                        \
        int64_t n = b->size, step = b->lower != b->adjoint ? 1 : -1;                                         \
        for (int64_t s = 0; s < n && !bd_interrupted(); s++) {                                               \
            int64_t i = step > 0 ? s : n - 1 - s;                                                            \
            T *row = x + i * b->columns;                                                                     \
            for (int64_t d = 1; d < b->bands && d <= s; d++) {                                               \
                int64_t j = i - step * d;                                                                    \
                T a = bands[(b->lower ? d : b->bands - 1 - d) * n + (b->adjoint ? j : i)];                   \
                if (b->adjoint) a = CONJUGATE(a);                                                            \
                for (int64_t k = 0; k < b->columns; k++)                                                     \
                    row[k] -= a * x[j * b->columns + k];                                                     \
            }                                                                                                \
            T pivot = bands[(b->lower ? 0 : b->bands - 1) * n + i];                                          \
            if (b->adjoint) pivot = CONJUGATE(pivot);                                                        \
            if (!(SIZE_OF(pivot) > 0)) return false;                                                         \
            for (int64_t k = 0; k < b->columns; k++)                                                         \
                row[k] /= pivot;                                                                             \
        }                                                                                                    \
        return true;                                                                                         \
    }
#define SAME(x) (x)
SOLVE(solve_f64, double, SAME, fabs)
SOLVE(solve_c128, double complex, conj, cabs)

// Checks the inputs and sets *batch to the result's dimensions before the last two.
static bool check(bd_op_ctx *c, banded *b, braid_shape *batch)
{
    const braid_shape *in[2] = {&bd_input(c, 0)->shape, &bd_input(c, 1)->shape};
    char text[2][BD_SHAPE_STR_MAX];
    for (int i = 0; i < 2; i++) {
        bd_shape_str(in[i], text[i]);
        if (in[i]->rank >= 2) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "In[%d] ndims must be >= 2: %d", i, in[i]->rank);
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (bd_tensor_count(bd_input(c, i)) > 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "In[%d] must not be an empty tensor: %s", i, text[i]);
        return false;
    }
    braid_shape a = *in[0], rhs = *in[1];
    a.rank -= 2;
    rhs.rank -= 2;
    *b = (banded){.bands = a.dims[a.rank],
                  .size = a.dims[a.rank + 1],
                  .columns = rhs.dims[rhs.rank + 1],
                  .lower = bd_node_attr_bool(c->node, "lower"),
                  .adjoint = bd_node_attr_bool(c->node, "adjoint")};
    if (!bd_shape_broadcast(&a, &rhs, batch)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "In[0] and In[1] must have compatible batch dimensions: %s vs. %s", text[0], text[1]);
    } else if (b->size != rhs.dims[rhs.rank]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "In[0] mismatch In[1] shape: %lld vs. %lld: %s %s %d %d",
                   (long long)b->size, (long long)rhs.dims[rhs.rank], text[0], text[1], b->lower, b->adjoint);
    }
    return !bd_op_failed(c);
}

static void solve_each(bd_op_ctx *c, const banded *b, const braid_shape *batch, braid_tensor *y)
{
    const braid_tensor *a = bd_input(c, 0), *rhs = bd_input(c, 1);
    int64_t bands = b->bands * b->size, values = b->size * b->columns;
    size_t size = bd_wide_size(y->dtype);
    void *wide_bands = bd_try_malloc((size_t)bands * size), *x = bd_try_malloc((size_t)values * size);
    const bool has_room = wide_bands && x;
    if (!has_room)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a matrix of %lld rows", (long long)b->size);
    for (int64_t m = 0; has_room && m < bd_shape_count(batch) && !bd_op_failed(c); m++) {
        bd_wide_load(a, bd_matmul_batch_at(&a->shape, batch, m) * bands, bands, wide_bands);
        bd_wide_load(rhs, bd_matmul_batch_at(&rhs->shape, batch, m) * values, values, x);
        if (bd_dtype_is_complex(y->dtype) ? !solve_c128(b, wide_bands, x) : !solve_f64(b, wide_bands, x))
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input matrix is not invertible.");
        bd_wide_store(x, values, y, m * values);
    }
    bd_free(wide_bands);
    bd_free(x);
}

static void banded_run(bd_op_ctx *c)
{
    banded b;
    braid_shape batch = BD_SCALAR;
    BD_STATUS(st);
    int64_t count;
    if (!check(c, &b, &batch)) return;
    braid_shape shape = batch;
    shape.dims[shape.rank++] = b.size;
    shape.dims[shape.rank++] = b.columns;
    if (bd_shape_checked_count(&shape, &count, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, bd_input(c, 0)->dtype, &shape);
    if (y) solve_each(c, &b, &batch, y);
}

static braid_code banded_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape a = c->inputs[0], rhs = c->inputs[1], out;
    for (int i = 0; i < 2; i++) {
        int rank = c->inputs[i].rank;
        if (rank >= 0 && rank < 2)
            return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", rank);
    }
    if (a.rank < 0) return BRAID_OK;
    int64_t bands = a.dims[a.rank - 2], size = a.dims[a.rank - 1];
    if (bands == 0) return bd_shape_ctx_fail(c, st, "Number of bands must be positive, but is 0");
    if (bands > size && size >= 0)
        return bd_shape_ctx_fail(c, st, "Number of bands %lld cannot exceed the size of the matrix %lld",
                                 (long long)bands, (long long)size);
    if (rhs.rank < 0) return BRAID_OK;
    int64_t rows = rhs.dims[rhs.rank - 2], columns = rhs.dims[rhs.rank - 1];
    if (size >= 0 && rows >= 0 && size != rows)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)size,
                                 (long long)rows);
    a.rank -= 2;
    rhs.rank -= 2;
    if (!bd_shape_broadcast(&a, &rhs, &out))
        return bd_shape_ctx_fail(c, st, "the batches of the inputs must be broadcast to each other");
    out.dims[out.rank++] = size >= 0 ? size : rows;
    out.dims[out.rank++] = columns;
    c->outputs[0] = out;
    return BRAID_OK;
}

// ---- Gradient ----

// The bands of a matrix, for a lower one from the diagonal down, for an upper one from the highest band to
// the diagonal.
static braid_out bands_of(bd_grad_ctx *c, braid_out x, braid_out shape)
{
    braid_graph *g = c->graph;
    braid_out count = bd_grad_slice(
        g, shape, &(bd_grad_index){.count = 1, .begin = {-2}, .end = {-1}, .shrink_axis_mask = 1});
    braid_out one = bd_b_const_i32(g, "Const", 1), zero = bd_b_const_i32(g, "Const", 0);
    braid_out last = bd_b2(g, "Sub", "sub", count, one);
    bool lower = bd_node_attr_bool(c->op, "lower");
    if (lower) last = bd_b1(g, "Neg", NULL, last);
    braid_op_desc *d = braid_op_begin(g, "Pack", "stack");
    braid_op_input_list(d, lower ? (braid_out[]){last, zero} : (braid_out[]){zero, last}, 2);
    braid_out k = braid_op_end_out(d);
    braid_out none = bd_b_const_f(g, "padding_value", bd_dtype_base(braid_out_dtype(x)), 0);
    d = braid_op_begin(g, "MatrixDiagPartV3", NULL);
    braid_op_input(d, x);
    braid_op_input(d, k);
    braid_op_input(d, none);
    braid_op_attr_string(d, "align", "LEFT_RIGHT");
    return braid_op_end_out(d);
}

static braid_out product(braid_graph *g, braid_out a, braid_out b)
{
    braid_op_desc *d = braid_op_begin(g, "BatchMatMulV2", "MatMul");
    braid_op_input(d, a);
    braid_op_input(d, b);
    braid_op_attr_bool(d, "adj_y", true);
    return braid_op_end_out(d);
}

// shape[:-2]
static braid_out batch_part(braid_graph *g, braid_out shape)
{
    return bd_grad_slice(g, shape, &(bd_grad_index){.count = 1, .end = {-2}, .begin_mask = 1});
}

// The gradient of X in A X = B: dB solves A^H dB = dX, and dA is the bands of -dB X^H (for A^H X = B: of -X
// dB^H).
static void banded_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out a = c->op->inputs[0], rhs = c->op->inputs[1], x = braid_output(c->op, 0);
    bool adjoint = bd_node_attr_bool(c->op, "adjoint");
    braid_op_desc *d = braid_op_begin(g, "BandedTriangularSolve", NULL);
    braid_op_input(d, a);
    braid_op_input(d, c->output_grads[0]);
    braid_op_attr_bool(d, "lower", bd_node_attr_bool(c->op, "lower"));
    braid_op_attr_bool(d, "adjoint", !adjoint);
    braid_out rhs_grad = braid_op_end_out(d);
    braid_out a_grad = bd_b1(g, "Neg", NULL, adjoint ? product(g, x, rhs_grad) : product(g, rhs_grad, x));
    braid_out sa = bd_b_shape(g, "Shape", a), sb = bd_b_shape(g, "Shape", rhs);
    braid_out bands = bands_of(c, a_grad, sa);
    braid_out axes = bd_b2(g, "BroadcastGradientArgs", NULL, batch_part(g, sa), batch_part(g, sb));
    // If there is only one band its dimension, which follows the batch, is missing.
    c->input_grads[0] = bd_b2(g, "Reshape", NULL, bd_b2(g, "Sum", NULL, bands, axes), sa);
    c->input_grads[1] =
        bd_b2(g, "Reshape", NULL, bd_b2(g, "Sum", NULL, rhs_grad, braid_output(axes.op, 1)), sb);
}

BD_OP(BandedTriangularSolve) = {
    .signature = "(matrix: T, rhs: T) -> (output: T)",
    .attrs = "lower:bool=true; adjoint:bool=false; " BD_MATRIX_TYPES,
    .shape = banded_shape,
    .gradient = banded_gradient,
    .kernels = BD_MATRIX_KERNELS(banded_run),
    .doc =
        "Solves systems of linear equations with triangular matrices, given by their bands [.., K, M]: the diagonal first and the bands below it, or with lower=false the bands above it and the diagonal last.",
};
