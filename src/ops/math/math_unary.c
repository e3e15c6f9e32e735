// Element-wise ops of one argument, and the ops of their gradients.
#include "graph/shape_fn.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"

BD_UNARY(neg, BD_NEG)
BD_UNARY(abs, BD_ABS)
BD_UNARY(sign, BD_SIGN)
BD_UNARY(square, BD_SQUARE)
BD_UNARY(sqrt, BD_SQRT)
BD_UNARY(rsqrt, BD_RSQRT)
BD_UNARY(reciprocal, BD_RECIPROCAL)
BD_UNARY(exp, BD_EXP)
BD_UNARY(expm1, BD_EXPM1)
BD_UNARY(log, BD_LOG)
BD_UNARY(log1p, BD_LOG1P)
BD_UNARY(sin, BD_SIN)
BD_UNARY(cos, BD_COS)
BD_UNARY(floor, BD_FLOOR)
BD_UNARY(ceil, BD_CEIL)
BD_UNARY(round, BD_ROUND)
BD_UNARY(is_nan, BD_IS_NAN)
BD_UNARY(is_inf, BD_IS_INF)
BD_UNARY(is_finite, BD_IS_FINITE)
BD_UNARY(logical_not, BD_LOG_NOT)
BD_BINARY(sqrt_grad, BD_SQRT_GRAD)
BD_BINARY(rsqrt_grad, BD_RSQRT_GRAD)
BD_BINARY(reciprocal_grad, BD_RECIPROCAL_GRAD)

// ---- Neg, Abs, Sign, Square ----

static void neg_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_b1(c->graph, "Neg", NULL, c->output_grads[0]);
}

BD_OP(Neg) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}",
    .shape = bd_shape_fn_unchanged,
    .gradient = neg_gradient,
    .kernels = BD_UNARY_KERNEL(neg, BD_NUMBERS BD_AND_COMPLEX),
    .doc = "Computes -x of each element.",
};

static void abs_gradient(bd_grad_ctx *c)
{
    braid_out sign = bd_b1(c->graph, "Sign", NULL, c->op->inputs[0]);
    c->input_grads[0] = bd_grad_mul(c->graph, c->output_grads[0], sign);
}

BD_OP(Abs) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,double,float,half,int16,int32,int64,int8}",
    .shape = bd_shape_fn_unchanged,
    .gradient = abs_gradient,
    .kernels = BD_UNARY_KERNEL(abs, BD_NUMBERS),
    .doc = "Computes the absolute value of each element.",
};

static void sign_gradient(bd_grad_ctx *c)
{
    braid_out x = c->op->inputs[0];
    braid_out shape = bd_b_shape(c->graph, "Shape", x);
    c->input_grads[0] = bd_b_zeros(c->graph, shape, bd_dtype_base(braid_out_dtype(x)));
}

BD_OP(Sign) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}",
    .shape = bd_shape_fn_unchanged,
    .gradient = sign_gradient,
    .kernels = BD_UNARY_KERNEL(sign, BD_NUMBERS BD_AND_COMPLEX),
    .doc = "The sign of each element: -1, 0 or 1.",
};

static void square_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    bd_grad_after_begin(g, c->output_grads[0]);
    braid_out x = bd_grad_conj(g, c->op->inputs[0]);
    braid_out two = bd_b_const_f(g, "Const", bd_dtype_base(braid_out_dtype(x)), 2);
    c->input_grads[0] = bd_b2(g, "Mul", NULL, c->output_grads[0], bd_b2(g, "Mul", NULL, x, two));
    bd_grad_after_end(g);
}

BD_OP(Square) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}",
    .shape = bd_shape_fn_unchanged,
    .gradient = square_gradient,
    .kernels = BD_UNARY_KERNEL(square, BD_NUMBERS BD_AND_COMPLEX),
    .doc = "Computes the square of each element.",
};

// ---- Roots and reciprocals: the gradient is an op of the result y and the gradient that arrives ----

static void gradient_by_op(bd_grad_ctx *c, const char *op)
{
    c->input_grads[0] = bd_b2(c->graph, op, NULL, braid_output(c->op, 0), c->output_grads[0]);
}

static void sqrt_gradient(bd_grad_ctx *c)
{
    gradient_by_op(c, "SqrtGrad");
}

BD_OP(Sqrt) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = sqrt_gradient,
    .kernels = BD_UNARY_KERNEL(sqrt, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the square root of each element; nan below 0.",
};

static void sqrt_grad_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grad = c->output_grads[0], y = braid_output(c->op, 0);
    bd_grad_after_begin(g, grad);
    braid_out ratio = bd_b2(g, "RealDiv", "truediv", grad, c->op->inputs[0]);
    c->input_grads[0] = bd_grad_mul(g, bd_b1(g, "Neg", NULL, bd_grad_conj(g, ratio)), y);
    c->input_grads[1] = bd_grad_number_left(g, "Mul", "mul", 0.5, ratio);
    bd_grad_after_end(g);
}

BD_OP(SqrtGrad) = {
    .signature = "(y: T, dy: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = sqrt_grad_gradient,
    .kernels = BD_BINARY_KERNEL(sqrt_grad, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the gradient of y = sqrt(x): dy * 0.5 / y.",
};

static void rsqrt_gradient(bd_grad_ctx *c)
{
    gradient_by_op(c, "RsqrtGrad");
}

BD_OP(Rsqrt) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = rsqrt_gradient,
    .kernels = BD_UNARY_KERNEL(rsqrt, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes 1 / sqrt(x) of each element.",
};

static void rsqrt_grad_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grad = c->output_grads[0], b = c->op->inputs[1];
    bd_grad_after_begin(g, grad);
    braid_out a = bd_grad_conj(g, c->op->inputs[0]), conj_grad = bd_grad_conj(g, grad);
    braid_out scaled = bd_grad_mul(g, bd_grad_number_left(g, "Mul", "mul", -1.5, conj_grad), b);
    c->input_grads[0] = bd_grad_mul(g, scaled, bd_b1(g, "Square", NULL, a));
    c->input_grads[1] = bd_b2(g, "RsqrtGrad", NULL, a, grad);
    bd_grad_after_end(g);
}

BD_OP(RsqrtGrad) = {
    .signature = "(y: T, dy: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = rsqrt_grad_gradient,
    .kernels = BD_BINARY_KERNEL(rsqrt_grad, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the gradient of y = 1 / sqrt(x): dy * -0.5 * y^3.",
};

static void reciprocal_gradient(bd_grad_ctx *c)
{
    gradient_by_op(c, "ReciprocalGrad");
}

BD_OP(Reciprocal) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}",
    .shape = bd_shape_fn_unchanged,
    .gradient = reciprocal_gradient,
    .kernels = BD_UNARY_KERNEL(reciprocal, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes 1 / x of each element.",
};

BD_OP(Inv) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}",
    .shape = bd_shape_fn_unchanged,
    .gradient = reciprocal_gradient,
    .kernels = BD_UNARY_KERNEL(reciprocal, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes 1 / x of each element; an older name of Reciprocal.",
};

static void reciprocal_grad_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out grad = c->output_grads[0], b = c->op->inputs[1];
    bd_grad_after_begin(g, grad);
    braid_out a = bd_grad_conj(g, c->op->inputs[0]), conj_grad = bd_grad_conj(g, grad);
    braid_out scaled = bd_grad_mul(g, bd_grad_number_right(g, "Mul", "mul", conj_grad, -2), b);
    c->input_grads[0] = bd_grad_mul(g, scaled, a);
    c->input_grads[1] = bd_b2(g, "ReciprocalGrad", NULL, a, grad);
    bd_grad_after_end(g);
}

BD_OP(ReciprocalGrad) = {
    .signature = "(y: T, dy: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = reciprocal_grad_gradient,
    .kernels = BD_BINARY_KERNEL(reciprocal_grad, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the gradient of y = 1 / x: -dy * y^2.",
};

BD_OP(InvGrad) = {
    .signature = "(y: T, dy: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = reciprocal_grad_gradient,
    .kernels = BD_BINARY_KERNEL(reciprocal_grad, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the gradient of y = 1 / x: -dy * y^2; an older name of ReciprocalGrad.",
};

// ---- Exponentials and logarithms ----

static void exp_gradient(bd_grad_ctx *c)
{
    bd_grad_after_begin(c->graph, c->output_grads[0]);
    braid_out y = bd_grad_conj(c->graph, braid_output(c->op, 0));
    c->input_grads[0] = bd_grad_mul(c->graph, c->output_grads[0], y);
    bd_grad_after_end(c->graph);
}

BD_OP(Exp) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = exp_gradient,
    .kernels = BD_UNARY_KERNEL(exp, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes e^x of each element.",
};

static void expm1_gradient(bd_grad_ctx *c)
{
    bd_grad_after_begin(c->graph, c->output_grads[0]);
    braid_out y = bd_b1(c->graph, "Exp", NULL, bd_grad_conj(c->graph, c->op->inputs[0]));
    c->input_grads[0] = bd_grad_mul(c->graph, c->output_grads[0], y);
    bd_grad_after_end(c->graph);
}

BD_OP(Expm1) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = expm1_gradient,
    .kernels = BD_UNARY_KERNEL(expm1, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes e^x - 1 of each element, exactly also near 0.",
};

static void log_gradient(bd_grad_ctx *c)
{
    bd_grad_after_begin(c->graph, c->output_grads[0]);
    braid_out slope = bd_b1(c->graph, "Reciprocal", NULL, bd_grad_conj(c->graph, c->op->inputs[0]));
    c->input_grads[0] = bd_grad_mul(c->graph, c->output_grads[0], slope);
    bd_grad_after_end(c->graph);
}

BD_OP(Log) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = log_gradient,
    .kernels = BD_UNARY_KERNEL(log, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the natural logarithm of each element; -inf of 0, nan below.",
};

static void log1p_gradient(bd_grad_ctx *c)
{
    bd_grad_after_begin(c->graph, c->output_grads[0]);
    braid_out sum =
        bd_grad_number_left(c->graph, "AddV2", "add", 1, bd_grad_conj(c->graph, c->op->inputs[0]));
    braid_out slope = bd_b1(c->graph, "Reciprocal", NULL, sum);
    c->input_grads[0] = bd_grad_mul(c->graph, c->output_grads[0], slope);
    bd_grad_after_end(c->graph);
}

BD_OP(Log1p) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = log1p_gradient,
    .kernels = BD_UNARY_KERNEL(log1p, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes log(1 + x) of each element, exactly also near 0.",
};

// ---- Sin, Cos ----

static void sin_gradient(bd_grad_ctx *c)
{
    bd_grad_after_begin(c->graph, c->output_grads[0]);
    braid_out slope = bd_b1(c->graph, "Cos", NULL, bd_grad_conj(c->graph, c->op->inputs[0]));
    c->input_grads[0] = bd_grad_mul(c->graph, c->output_grads[0], slope);
    bd_grad_after_end(c->graph);
}

BD_OP(Sin) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = sin_gradient,
    .kernels = BD_UNARY_KERNEL(sin, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the sine of each element.",
};

static void cos_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    bd_grad_after_begin(g, c->output_grads[0]);
    braid_out x = bd_grad_conj(g, c->op->inputs[0]);
    braid_out negative = bd_b1(g, "Neg", NULL, c->output_grads[0]);
    c->input_grads[0] = bd_grad_mul(g, negative, bd_b1(g, "Sin", NULL, x));
    bd_grad_after_end(g);
}

BD_OP(Cos) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = cos_gradient,
    .kernels = BD_UNARY_KERNEL(cos, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes the cosine of each element.",
};

// ---- Rounding: the gradient is None ----

static void no_gradient(bd_grad_ctx *c)
{
    (void)c;
}

BD_OP(Floor) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = no_gradient,
    .kernels = BD_UNARY_KERNEL(floor, BD_FLOATS),
    .doc = "The greatest integer that is not above each element.",
};

BD_OP(Ceil) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = no_gradient,
    .kernels = BD_UNARY_KERNEL(ceil, BD_FLOATS),
    .doc = "The least integer that is not below each element.",
};

BD_OP(Round) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}",
    .shape = bd_shape_fn_unchanged,
    .gradient = no_gradient,
    .kernels = BD_UNARY_KERNEL(round, BD_NUMBERS),
    .doc = "Rounds each element to the nearest integer, ties to even.",
};

BD_OP(Rint) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = no_gradient,
    .kernels = BD_UNARY_KERNEL(round, BD_FLOATS),
    .doc = "Rounds each element to the nearest integer, ties to even.",
};

// ---- Tests ----

BD_OP(IsNan) = {
    .signature = "(x: T) -> (y: bool)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_UNARY_KERNEL(is_nan, BD_FLOATS),
    .doc = "Whether each element is NaN.",
};

BD_OP(IsInf) = {
    .signature = "(x: T) -> (y: bool)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_UNARY_KERNEL(is_inf, BD_FLOATS),
    .doc = "Whether each element is infinite.",
};

BD_OP(IsFinite) = {
    .signature = "(x: T) -> (y: bool)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_UNARY_KERNEL(is_finite, BD_FLOATS),
    .doc = "Whether each element is finite.",
};

BD_OP(LogicalNot) = {
    .signature = "(x: bool) -> (y: bool)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_UNARY_KERNEL(logical_not, NULL),
    .doc = "Negates each element.",
};
