// Determinants of square matrices, and the Cholesky decomposition. All take batches: [.., M, M].
#include "base/alloc.h"
#include "base/complex.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "kernels/matrix.h"
#include "ops/common/grad_steps.h"
#include "ops/linalg/linear_algebra.h"

#include <math.h>

// ---- Determinants ----

// The determinant is sign * e^log_size, where
// sign
//  is 1 or 0: the plain product of many pivots could overflow. For real numbers the imaginary parts are 0.
typedef struct determinant {
    double complex sign, log_size, product;
} determinant;

static double complex pivot_of(bool is_complex, const void *a, int64_t at)
{
    return is_complex ? ((const double complex *)a)[at] : ((const double *)a)[at];
}

static determinant determinant_of(bool is_complex, void *a, int64_t *perm, int64_t n)
{
    determinant d = {.sign = bd_matrix_lu(is_complex, a, perm, n)};
    if (d.sign == 0) {
        for (int64_t i = 0; i < n * n; i++) {
            if (isnan(cabs(pivot_of(is_complex, a, i)))) return (determinant){NAN, NAN, NAN};
        }
        return (determinant){.sign = 0, .log_size = -HUGE_VAL};
    }
    d.product = d.sign;
    for (int64_t i = 0; i < n; i++) {
        double complex pivot = pivot_of(is_complex, a, i * n + i);
        double size = cabs(pivot);
        d.product *= pivot;
        d.log_size += log(size);
        d.sign *= pivot / size;
    }
    return d;
}

// Calls `put` with the determinant of each matrix of input 0.
static void each_determinant(bd_op_ctx *c, int64_t count,
                             void (*put)(bd_op_ctx *c, int64_t m, const determinant *d))
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t n = x->shape.dims[x->shape.rank - 1];
    if (count == 0) return; // with no matrices, n may have any value
    bool is_complex = bd_dtype_is_complex(x->dtype);
    void *a = bd_try_malloc((size_t)(n * n) * bd_wide_size(x->dtype) + 1);
    int64_t *perm = bd_try_malloc((size_t)n * sizeof *perm + 1);
    if (!a || !perm)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a matrix of %lld rows", (long long)n);
    for (int64_t m = 0; m < count && !bd_op_failed(c) && !bd_interrupted_at(m); m++) {
        bd_matrix_load(x, m, n, false, a);
        determinant d = determinant_of(is_complex, a, perm, n);
        put(c, m, &d);
    }
    bd_free(a);
    bd_free(perm);
}

// Allocates output `i`, one number for each matrix. NULL: the kernel has failed.
static braid_tensor *scalars(bd_op_ctx *c, int i)
{
    braid_shape shape = bd_input(c, 0)->shape;
    shape.rank -= 2;
    return bd_output(c, i, bd_input(c, 0)->dtype, &shape);
}

static void put_product(bd_op_ctx *c, int64_t m, const determinant *d)
{
    bd_wide_store(&d->product, 1, &c->outputs[0].tensor, m);
}

static void put_logarithm(bd_op_ctx *c, int64_t m, const determinant *d)
{
    bd_wide_store(&d->sign, 1, &c->outputs[0].tensor, m);
    bd_wide_store(&d->log_size, 1, &c->outputs[1].tensor, m);
}

static void determinant_run(bd_op_ctx *c)
{
    if (!bd_matrices_check(c)) return;
    const braid_tensor *y = scalars(c, 0);
    if (y) each_determinant(c, bd_tensor_count(y), put_product);
}

static void log_determinant_run(bd_op_ctx *c)
{
    if (!bd_matrices_check(c)) return;
    const braid_tensor *sign = scalars(c, 0), *size = sign ? scalars(c, 1) : NULL;
    if (size) each_determinant(c, bd_tensor_count(size), put_logarithm);
}

static braid_code determinant_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_square(c, st);
    if (code) return code;
    for (int i = 0; i < c->output_count; i++) {
        c->outputs[i] = c->inputs[0];
        if (c->outputs[i].rank >= 2) c->outputs[i].rank -= 2;
    }
    return BRAID_OK;
}

// scale times the inverse of A^T, for each matrix.
static braid_out scaled_inverse(bd_grad_ctx *c, braid_out scale)
{
    braid_graph *g = c->graph;
    braid_op_desc *d = braid_op_begin(g, "MatrixInverse", NULL);
    braid_op_input(d, c->op->inputs[0]);
    braid_op_attr_bool(d, "adjoint", true);
    braid_out inverse = braid_op_end_out(d);
    braid_out sizes[2] = {bd_b_shape(g, "Shape", braid_output(c->op, 0)),
                          bd_b_const_i32_vector(g, "Const", (int32_t[]){1, 1}, 2)};
    braid_out column = bd_b2(g, "Reshape", NULL, scale, bd_grad_concat(g, sizes, 2, 0));
    return bd_b2(g, "Mul", "mul", column, inverse);
}

static void determinant_gradient(bd_grad_ctx *c)
{
    braid_out scale = bd_b2(c->graph, "Mul", "mul", c->output_grads[0], braid_output(c->op, 0));
    c->input_grads[0] = scaled_inverse(c, scale);
}

// Only the logarithm has a gradient; the sign is constant.
static void log_determinant_gradient(bd_grad_ctx *c)
{
    if (c->output_grads[1].op) c->input_grads[0] = scaled_inverse(c, c->output_grads[1]);
}

BD_OP(MatrixDeterminant) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = BD_MATRIX_TYPES,
    .shape = determinant_shape,
    .gradient = determinant_gradient,
    .kernels = BD_MATRIX_KERNELS(determinant_run),
    .doc = "The determinants of square matrices.",
};

BD_OP(BatchMatrixDeterminant) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type{complex128,complex64,double,float}",
    .shape = determinant_shape,
    .kernels = BD_MATRIX_KERNELS(determinant_run),
    .doc = "The older name of MatrixDeterminant.",
};

BD_OP(LogMatrixDeterminant) = {
    .signature = "(input: T) -> (sign: T, log_abs_determinant: T)",
    .attrs = BD_MATRIX_TYPES,
    .shape = determinant_shape,
    .gradient = log_determinant_gradient,
    .kernels = BD_MATRIX_KERNELS(log_determinant_run),
    .doc = "The signs of the determinants of square matrices, and the logarithms of their absolute values.",
};

// ---- Cholesky ----

static void cholesky_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    if (!bd_matrices_check(c)) return;
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    int64_t n = x->shape.dims[x->shape.rank - 1], size = n * n;
    bool is_complex = bd_dtype_is_complex(x->dtype);
    void *a = bd_try_malloc((size_t)size * bd_wide_size(x->dtype));
    if (!a) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a matrix of %lld rows", (long long)n);
    for (int64_t m = 0; a && m < bd_tensor_count(x) / size && !bd_interrupted_at(m); m++) {
        bd_matrix_load(x, m, n, false, a);
        if (!bd_matrix_cholesky(is_complex, a, n)) {
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "Cholesky decomposition was not successful. The input might not be valid: matrix %lld of the "
                "batch is not positive definite.",
                (long long)m);
            break;
        }
        bd_wide_store(a, size, y, m * size);
    }
    bd_free(a);
}

static braid_code cholesky_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return bd_shape_ctx_square(c, st);
}

// (S + S^T) / 2 with S = L^-T M L^-1, where M is the lower triangle of L^T dL with its diagonal halved. The
// result is symmetric, as A is.
static void cholesky_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out l = braid_output(c->op, 0);
    braid_out middle = bd_grad_matmul(g, l, true, c->output_grads[0], false);
    braid_dtype dtype = bd_dtype_base(braid_out_dtype(l));
    braid_out half = bd_b_const_f(g, "half", dtype, 0.5);
    braid_out diagonal = bd_b2(g, "Mul", "mul", bd_b1(g, "MatrixDiagPart", NULL, middle), half);
    middle = bd_b2(g, "MatrixSetDiag", NULL, middle, diagonal);
    middle = bd_b3(g, "MatrixBandPart", NULL, middle, bd_b_const_i32(g, "num_lower", -1),
                   bd_b_const_i32(g, "num_upper", 0));
    braid_out inverse = bd_b1(g, "MatrixInverse", NULL, l);
    braid_out s = bd_grad_matmul(g, inverse, true, bd_grad_matmul(g, middle, false, inverse, false), false);
    braid_out transposed =
        bd_grad_matmul(g, inverse, true, bd_grad_matmul(g, middle, true, inverse, false), false);
    c->input_grads[0] = bd_b2(g, "Mul", "mul", bd_b2(g, "Add", "add", s, transposed), half);
}

BD_OP(Cholesky) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = BD_MATRIX_TYPES,
    .shape = cholesky_shape,
    .gradient = cholesky_gradient,
    .kernels = BD_MATRIX_KERNELS(cholesky_run),
    .doc = "The Cholesky factors (lower triangular) of symmetric positive definite matrices.",
};

BD_OP(BatchCholesky) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type{double,float}",
    .shape = cholesky_shape,
    .kernels = BD_MATRIX_KERNELS(cholesky_run),
    .doc = "The older name of Cholesky.",
};

// ---- CholeskyGrad ----

// Replaces `g` by (S + S^T) / 2, as above, for the lower triangle `l` and the lower triangle `g` of its
// gradient.
static void symmetric_gradient(double *l, double *g, int64_t n)
{
    for (int64_t i = 0; i < n; i++) { // M: row i needs the rows from i on of the original g
        for (int64_t j = 0; j <= i && !bd_interrupted(); j++) {
            double sum = 0;
            for (int64_t k = i; k < n; k++)
                sum += l[k * n + i] * g[k * n + j];
            g[i * n + j] = i == j ? sum / 2 : sum;
        }
        for (int64_t j = i + 1; j < n; j++)
            g[i * n + j] = 0;
    }
    bd_matrix_adjoint(false, l, n);
    bd_matrix_substitute(false, l, n, false, false, g, n); // L^-T M
    bd_matrix_adjoint(false, g, n);
    bd_matrix_substitute(false, l, n, false, false, g, n); // S^T
    for (int64_t i = 0; i < n && !bd_interrupted(); i++) {
        for (int64_t j = 0; j < i; j++)
            g[i * n + j] = g[j * n + i] = (g[i * n + j] + g[j * n + i]) / 2;
    }
}

static bool check_cholesky_grad(bd_op_ctx *c)
{
    const braid_shape *l = &bd_input(c, 0)->shape, *grad = &bd_input(c, 1)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (!bd_matrices_check_batch(c)) return false;
    if (!bd_shape_equal(l, grad)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Inputs (L and grad) must have the same shape. Got %s and %s",
                   bd_shape_str(l, a), bd_shape_str(grad, b));
    } else if (l->dims[l->rank - 1] != l->dims[l->rank - 2]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Inputs must be a square matrices. Got %s", bd_shape_str(l, a));
    }
    return !bd_op_failed(c);
}

static void cholesky_grad_run(bd_op_ctx *c)
{
    const braid_tensor *l = bd_input(c, 0), *grad = bd_input(c, 1);
    if (!check_cholesky_grad(c)) return;
    braid_tensor *y = bd_output(c, 0, l->dtype, &l->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    int64_t n = l->shape.dims[l->shape.rank - 1], size = n * n;
    double *a = bd_try_malloc((size_t)size * sizeof *a), *g = bd_try_malloc((size_t)size * sizeof *g);
    if (!a || !g)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a matrix of %lld rows", (long long)n);
    for (int64_t m = 0; a && g && m < bd_tensor_count(l) / size && !bd_interrupted_at(m); m++) {
        bd_matrix_load(l, m, n, false, a);
        bd_matrix_load(grad, m, n, false, g);
        symmetric_gradient(a, g, n);
        bd_wide_store(g, size, y, m * size);
    }
    bd_free(a);
    bd_free(g);
}

#define CHOLESKY_GRAD_KERNELS                                                                                \
    BD_KERNELS({.types = "T=float|double", .flags = BD_KERNEL_EXPENSIVE, .run = cholesky_grad_run})

BD_OP(CholeskyGrad) = {
    .signature = "(l: T, grad: T) -> (output: T)",
    .attrs = "T:type{double,float,half}",
    .shape = cholesky_shape,
    .kernels = CHOLESKY_GRAD_KERNELS,
    .doc =
        "The gradient of Cholesky's input from its output and the output's gradient; symmetric, as the input is.",
};

BD_OP(BatchCholeskyGrad) = {
    .signature = "(l: T, grad: T) -> (output: T)",
    .attrs = "T:type{double,float}",
    .shape = cholesky_shape,
    .kernels = CHOLESKY_GRAD_KERNELS,
    .doc = "The older name of CholeskyGrad.",
};
