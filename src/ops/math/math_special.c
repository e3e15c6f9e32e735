// Trigonometric and hyperbolic functions and their inverses, the error function and the gamma function.
#include "graph/shape_fn.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"

BD_UNARY(tan, BD_TAN)
BD_UNARY(asin, BD_ASIN)
BD_UNARY(acos, BD_ACOS)
BD_UNARY(atan, BD_ATAN)
BD_UNARY(sinh, BD_SINH)
BD_UNARY(cosh, BD_COSH)
BD_UNARY(asinh, BD_ASINH)
BD_UNARY(acosh, BD_ACOSH)
BD_UNARY(atanh, BD_ATANH)
BD_UNARY(erf, BD_ERF)
BD_UNARY(erfc, BD_ERFC)
BD_UNARY(lgamma, BD_LGAMMA)
BD_UNARY(digamma, BD_DIGAMMA)

// ---- Gradients: that which arrives times the slope ----

static braid_out square_of(braid_graph *g, braid_out x)
{
    return bd_b1(g, "Square", NULL, x);
}

static braid_out reciprocal_of(braid_graph *g, braid_out x)
{
    return bd_b1(g, "Reciprocal", NULL, x);
}

// op(1, x^2)
static braid_out one_and_square(braid_graph *g, const char *op, braid_out x)
{
    const braid_out square = square_of(g, x);
    return bd_b2(g, op, NULL, bd_b_const_f(g, "Const", bd_dtype_base(braid_out_dtype(x)), 1), square);
}

static braid_out value_x(const braid_op *op)
{
    return op->inputs[0];
}

static braid_out value_y(braid_op *op)
{
    return braid_output(op, 0);
}

// Defines a gradient function: SLOPE is a function of X, which is the argument (`x`) or the value (`y`).
#define GRADIENT(NAME, X, SLOPE) GRADIENT_AS(NAME, X, bd_grad_mul(g, grad, (SLOPE)))
// The same where the whole gradient is given, a function of `grad`, too.
#define GRADIENT_AS(NAME, X, WHOLE)                                                                          \
    static void NAME##_gradient(bd_grad_ctx *c)                                                              \
    {                                                                                                        \
        braid_graph *g = c->graph;                                                                           \
        const braid_out grad = c->output_grads[0];                                                           \
        bd_grad_after_begin(g, grad);                                                                        \
        braid_out X = bd_grad_conj(g, value_##X(c->op));                                                     \
        c->input_grads[0] = (WHOLE);                                                                         \
        bd_grad_after_end(g);                                                                                \
    }

#define TWO_OVER_ROOT_PI 1.12837916709551257390 // the factor of e^-x^2

// grad * factor * e^-x^2
static void bell_gradient(bd_grad_ctx *c, double factor)
{
    braid_graph *g = c->graph;
    const braid_out grad = c->output_grads[0];
    const braid_out scale = bd_b_const_f(g, "Const", bd_dtype_base(braid_out_dtype(grad)), factor);
    bd_grad_after_begin(g, grad);
    const braid_out x = bd_grad_conj(g, c->op->inputs[0]), scaled = bd_grad_mul(g, grad, scale);
    const braid_out bell = bd_b1(g, "Exp", NULL, bd_b1(g, "Neg", NULL, square_of(g, x)));
    c->input_grads[0] = bd_grad_mul(g, scaled, bell);
    bd_grad_after_end(g);
}

static void erf_gradient(bd_grad_ctx *c)
{
    bell_gradient(c, TWO_OVER_ROOT_PI);
}

static void erfc_gradient(bd_grad_ctx *c)
{
    bell_gradient(c, -TWO_OVER_ROOT_PI);
}

// -grad / sqrt(1 - x^2)
static braid_out acos_backward(braid_graph *g, braid_out grad, braid_out x)
{
    const braid_out root = bd_b1(g, "Sqrt", NULL, one_and_square(g, "Sub", x));
    const braid_out inverse = reciprocal_of(g, root);
    return bd_grad_mul(g, bd_b1(g, "Neg", NULL, grad), inverse);
}

GRADIENT_AS(tan, x, bd_grad_mul(g, square_of(g, reciprocal_of(g, bd_b1(g, "Cos", NULL, x))), grad))
GRADIENT(asin, x, reciprocal_of(g, bd_b1(g, "Sqrt", NULL, one_and_square(g, "Sub", x))))
GRADIENT_AS(acos, x, acos_backward(g, grad, x))
GRADIENT(atan, x, reciprocal_of(g, one_and_square(g, "Add", x)))
GRADIENT(sinh, x, bd_b1(g, "Cosh", NULL, x))
GRADIENT(cosh, x, bd_b1(g, "Sinh", NULL, x))
GRADIENT_AS(asinh, y, bd_b2(g, "RealDiv", "truediv", grad, bd_b1(g, "Cosh", NULL, y)))
GRADIENT_AS(acosh, y, bd_b2(g, "RealDiv", "truediv", grad, bd_b1(g, "Sinh", NULL, y)))
GRADIENT(atanh, x, reciprocal_of(g, one_and_square(g, "Sub", x)))
GRADIENT(lgamma, x, bd_b1(g, "Digamma", NULL, x))
GRADIENT(digamma, x,
         bd_b2(g, "Polygamma", NULL, bd_b_const_f(g, "Const", bd_dtype_base(braid_out_dtype(x)), 1), x))

// ---- Definitions ----

BD_OP(Tan) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}",
    .shape = bd_shape_fn_unchanged,
    .gradient = tan_gradient,
    .kernels = BD_UNARY_KERNEL(tan, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the tangent of each element.",
};

BD_OP(Asin) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}",
    .shape = bd_shape_fn_unchanged,
    .gradient = asin_gradient,
    .kernels = BD_UNARY_KERNEL(asin, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the inverse sine of each element.",
};

BD_OP(Acos) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}",
    .shape = bd_shape_fn_unchanged,
    .gradient = acos_gradient,
    .kernels = BD_UNARY_KERNEL(acos, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the inverse cosine of each element.",
};

BD_OP(Atan) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}",
    .shape = bd_shape_fn_unchanged,
    .gradient = atan_gradient,
    .kernels = BD_UNARY_KERNEL(atan, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the inverse tangent of each element.",
};

BD_OP(Sinh) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = sinh_gradient,
    .kernels = BD_UNARY_KERNEL(sinh, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the hyperbolic sine of each element.",
};

BD_OP(Cosh) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = cosh_gradient,
    .kernels = BD_UNARY_KERNEL(cosh, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the hyperbolic cosine of each element.",
};

BD_OP(Asinh) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = asinh_gradient,
    .kernels = BD_UNARY_KERNEL(asinh, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the inverse hyperbolic sine of each element.",
};

BD_OP(Acosh) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = acosh_gradient,
    .kernels = BD_UNARY_KERNEL(acosh, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the inverse hyperbolic cosine of each element.",
};

BD_OP(Atanh) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = atanh_gradient,
    .kernels = BD_UNARY_KERNEL(atanh, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the inverse hyperbolic tangent of each element.",
};

BD_OP(Erf) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = erf_gradient,
    .kernels = BD_UNARY_KERNEL(erf, BD_FLOATS),
    .doc = "Computes the error function of each element.",
};

BD_OP(Erfc) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = erfc_gradient,
    .kernels = BD_UNARY_KERNEL(erfc, BD_FLOATS),
    .doc = "Computes the complement of the error function of each element.",
};

BD_OP(Lgamma) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = lgamma_gradient,
    .kernels = BD_UNARY_KERNEL(lgamma, BD_FLOATS),
    .doc = "Computes the logarithm of the absolute value of the gamma function of each element.",
};

BD_OP(Digamma) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = digamma_gradient,
    .kernels = BD_UNARY_KERNEL(digamma, BD_FLOATS),
    .doc = "Computes the derivative of Lgamma of each element.",
};
