// MatrixSquareRoot, MatrixLogarithm and MatrixExponential of square matrices, in batches [.., M, M].
#include "kernels/matrix_functions.h"
#include "graph/grad.h"
#include "ops/common/grad_steps.h"
#include "ops/linalg/linear_algebra.h"
#include "ops/linalg/matrix_batch.h"

// ---- Kernels ----

typedef struct function {
    bd_lapack_result (*of)(bool is_complex, void *a, int64_t n);
    int64_t n;
} function;

static bd_lapack_result log_of(bool is_complex, void *a, int64_t n)
{
    (void)is_complex; // there are no kernels for real numbers
    return bd_matrix_log(a, n);
}

static bd_lapack_result compute(const bd_op_ctx *c, const void *arg, int64_t m, void *work)
{
    const function *f = arg;
    const braid_tensor *x = bd_input(c, 0);
    bd_matrix_load(x, m, f->n, false, work);
    const bd_lapack_result result = f->of(bd_dtype_is_complex(x->dtype), work, f->n);
    if (result == BD_LAPACK_OK) bd_wide_store(work, f->n * f->n, &c->outputs[0].tensor, m * f->n * f->n);
    return result;
}

static void run(bd_op_ctx *c, bd_lapack_result (*of)(bool is_complex, void *a, int64_t n))
{
    const braid_tensor *x = bd_input(c, 0);
    if (!bd_matrices_check(c)) return;
    const function f = {.of = of, .n = x->shape.dims[x->shape.rank - 1]};
    if (!bd_matrix_batch_fits(c, f.n, f.n)) return;
    const braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    const bd_matrix_batch batch = {
        .count = bd_shape_count_range(&x->shape, 0, x->shape.rank - 2),
        .rows = f.n,
        .columns = f.n,
        .numbers = f.n * f.n,
        .compute = compute,
        .arg = &f,
        .failure = "The function of the matrix was not computed: an algorithm of LAPACK did not converge.",
    };
    bd_matrix_batch_run(c, &batch);
}

static void sqrt_run(bd_op_ctx *c)
{
    run(c, bd_matrix_sqrt);
}

static void log_run(bd_op_ctx *c)
{
    run(c, log_of);
}

static void exp_run(bd_op_ctx *c)
{
    run(c, bd_matrix_exp);
}

static braid_code function_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return bd_shape_ctx_square(c, st);
}

// ---- Gradient ----
//
// N. J. Higham: Functions of Matrices (2008), equation 3.16. The derivative of f at A in the direction E is
// the upper right block of f([A E; 0 A]). The gradient is that at A^H in the direction of the output's.

// [left right] or, with `axis` -2, the first above the second.
static braid_out joined(braid_graph *g, braid_out first, braid_out second, int axis)
{
    const braid_out parts[] = {first, second};
    return bd_grad_concat(g, parts, 2, axis);
}

static braid_out adjoint_of(braid_graph *g, braid_out a)
{
    const braid_shape shape = braid_out_shape(a);
    const bool is_complex = bd_dtype_is_complex(bd_dtype_base(braid_out_dtype(a)));
    if (shape.rank < 0) { // any rank: the product with the identity
        braid_out ones = bd_b1(g, "OnesLike", "ones_like", bd_b1(g, "MatrixDiagPart", NULL, a));
        return bd_grad_matmul(g, a, true, bd_b1(g, "MatrixDiag", NULL, ones), false);
    }
    int32_t axes[BRAID_RANK_MAX];
    for (int i = 0; i < shape.rank; i++)
        axes[i] = i;
    axes[shape.rank - 2] = shape.rank - 1;
    axes[shape.rank - 1] = shape.rank - 2;
    return bd_b2(g, is_complex ? "ConjugateTranspose" : "Transpose", NULL, a,
                 bd_b_const_i32_vector(g, "perm", axes, shape.rank));
}

// One half of the matrices along `axis`.
static braid_out half(braid_graph *g, braid_out x, int axis, int which)
{
    braid_op_desc *d = braid_op_begin(g, "Split", "split");
    braid_op_input(d, bd_b_const_i32(g, "split_dim", axis));
    braid_op_input(d, x);
    braid_op_attr_int(d, "num_split", 2);
    return braid_output(braid_op_end(d), which);
}

static void function_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    const braid_out a = adjoint_of(g, c->op->inputs[0]);
    const braid_out upper = joined(g, a, c->output_grads[0], -1);
    const braid_out lower = joined(g, bd_b1(g, "ZerosLike", "zeros_like", a), a, -1);
    const braid_out f = bd_b1(g, c->op->op_type, NULL, joined(g, upper, lower, -2));
    c->input_grads[0] = half(g, half(g, f, -2, 0), -1, 1);
}

// ---- Definitions ----

BD_OP(MatrixSquareRoot) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = BD_MATRIX_TYPES,
    .shape = function_shape,
    .gradient = function_gradient,
    .kernels = BD_MATRIX_KERNELS(sqrt_run),
    .doc = "The principal square roots of matrices; NaN for real matrices with negative eigenvalues.",
};

BD_OP(MatrixLogarithm) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type{complex128,complex64}",
    .shape = function_shape,
    .kernels = BD_KERNELS({.types = "T=complex64|complex128", .flags = BD_KERNEL_EXPENSIVE, .run = log_run}),
    .doc = "The principal logarithms of complex matrices; NaN for singular matrices.",
};

BD_OP(MatrixExponential) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = BD_MATRIX_TYPES,
    .shape = function_shape,
    .gradient = function_gradient,
    .kernels = BD_MATRIX_KERNELS(exp_run),
    .doc = "The exponentials of matrices.",
};
