// Functions of two operands beyond arithmetic: DivNoNan, MulNoNan, Xdivy, Xlogy, Xlog1py, Atan2, NextAfter
// and others.
#include "base/half.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "kernels/special.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/pairwise.h"

#include <tgmath.h> // complex numbers too

BD_FIELD_PAIR(div_no_nan, y == 0 ? 0 : x / y)
BD_FIELD_PAIR(mul_no_nan, y == 0 ? 0 : x * y)
BD_FIELD_PAIR(xdivy, x == 0 ? 0 : x / y)
BD_FIELD_PAIR(xlogy, x == 0 ? 0 : x * log(y))
#define LOG1P(X) _Generic((X), float : log1pf, double : (log1p), default : bd_log1p_complex)(X)
BD_FIELD_PAIR(xlog1py, x == 0 ? 0 : x * LOG1P(y))
BD_FLOAT_PAIR(atan2, atan2(x, y))
BD_FLOAT_PAIR(next_after, nextafter(x, y))

// For half the logarithm is rounded to half, so that the result equals that of Log and Mul.
static uint16_t half_log(uint16_t y)
{
    return bd_half_of_float(logf(bd_float_of_half(y)));
}

static uint16_t half_product(uint16_t x, uint16_t y)
{
    return bd_half_of_float(bd_float_of_half(x) * bd_float_of_half(y));
}

BD_PAIR_LOOP(xlogy_f16, uint16_t, uint16_t, bd_float_of_half(x) == 0 ? 0 : half_product(x, half_log(y)))

static void xlogy_half_run(bd_op_ctx *c)
{
    static const bd_pair_table table = {[BRAID_HALF] = xlogy_f16};
    bd_pairwise_run(c, table, BRAID_HALF);
}

// ---- Gradients ----

static braid_out neg(braid_graph *g, braid_out x)
{
    return bd_b1(g, "Neg", NULL, x);
}

static void div_no_nan_gradient(bd_grad_ctx *c)
{
    bd_grad_pair p;
    bd_grad_pair_begin(c, &p);
    bd_grad_pair_conj(&p);
    bd_grad_pair_x(c, &p, bd_b2(p.g, "DivNoNan", "div_no_nan", p.grad, p.y));
    braid_out once = bd_b2(p.g, "DivNoNan", "div_no_nan", neg(p.g, p.x), p.y);
    bd_grad_pair_y(c, &p, bd_grad_mul(p.g, p.grad, bd_b2(p.g, "DivNoNan", "div_no_nan", once, p.y)));
}

static void mul_no_nan_gradient(bd_grad_ctx *c)
{
    bd_grad_pair p;
    bd_grad_pair_begin(c, &p);
    bd_grad_pair_conj(&p);
    bd_grad_pair_x(c, &p, bd_b2(p.g, "MulNoNan", NULL, p.grad, p.y));
    bd_grad_pair_y(c, &p, bd_b2(p.g, "MulNoNan", NULL, p.x, p.grad));
}

// 1 where x is not 0, else 0.
static braid_out is_not_zero(braid_graph *g, braid_out x)
{
    braid_dtype dtype = bd_dtype_base(braid_out_dtype(x));
    braid_out zero = bd_b_const_f(g, "Const", dtype, 0);
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, bd_b2(g, "NotEqual", NULL, x, zero));
    braid_op_attr_type(d, "DstT", dtype);
    return braid_op_end_out(d);
}

// The gradient of x log(y + above): the op itself for x, and x / (y + above) for y.
static void logarithm_gradient(bd_grad_ctx *c, const char *name, double above)
{
    bd_grad_pair p;
    bd_grad_pair_begin(c, &p);
    bd_grad_pair_conj(&p);
    bd_grad_after_begin(p.g, p.grad);
    braid_out dx = bd_b2(p.g, c->op->op_type, name, is_not_zero(p.g, p.x), p.y);
    braid_out arg = above == 0 ? p.y : bd_grad_number_right(p.g, "Add", "add", p.y, above);
    braid_out dy = bd_b2(p.g, "Xdivy", "xdivy", p.x, arg);
    bd_grad_pair_x(c, &p, bd_grad_mul(p.g, dx, p.grad));
    bd_grad_pair_y(c, &p, bd_grad_mul(p.g, dy, p.grad));
    bd_grad_after_end(p.g);
}

static void xlogy_gradient(bd_grad_ctx *c)
{
    logarithm_gradient(c, "xlogy", 0);
}

static void xlog1py_gradient(bd_grad_ctx *c)
{
    logarithm_gradient(c, "xlog1py", 1);
}

static void xdivy_gradient(bd_grad_ctx *c)
{
    bd_grad_pair p;
    bd_grad_pair_begin(c, &p);
    bd_grad_pair_conj(&p);
    bd_grad_after_begin(p.g, p.grad);
    braid_out dx = bd_b2(p.g, "Xdivy", "xdivy", is_not_zero(p.g, p.x), p.y);
    braid_out dy =
        bd_b2(p.g, "Xdivy", "xdivy", neg(p.g, p.x), bd_grad_number_right(p.g, "Pow", "pow", p.y, 2));
    bd_grad_pair_x(c, &p, bd_grad_mul(p.g, dx, p.grad));
    bd_grad_pair_y(c, &p, bd_grad_mul(p.g, dy, p.grad));
    bd_grad_after_end(p.g);
}

// y (the first operand) gets x * g, x gets -y * g, with g = grad / (x^2 + y^2). TensorFlow 1.15 does not sum
// over broadcast axes; Braid also differentiates operands of different shapes.
static void atan2_gradient(bd_grad_ctx *c)
{
    bd_grad_pair p;
    bd_grad_pair_begin(c, &p);
    braid_graph *g = p.g;
    bd_grad_after_begin(g, p.grad);
    braid_out squares = bd_b2(g, "Add", "add", bd_b1(g, "Square", NULL, p.y), bd_b1(g, "Square", NULL, p.x));
    braid_out scaled = bd_b2(g, "RealDiv", "truediv", p.grad, squares);
    bd_grad_pair_x(c, &p, bd_grad_mul(g, p.y, scaled));
    bd_grad_pair_y(c, &p, bd_grad_mul(g, neg(g, p.x), scaled));
    bd_grad_after_end(g);
}

static void next_after_gradient(bd_grad_ctx *c)
{
    bd_grad_pair p;
    bd_grad_pair_begin(c, &p);
    braid_graph *g = p.g;
    braid_dtype dtype = bd_dtype_base(braid_out_dtype(p.x));
    bd_grad_after_begin(g, p.grad);
    braid_out ones = bd_b2(g, "Fill", "ones", p.x_shape, bd_b_const_f(g, "Const", dtype, 1));
    braid_out zeros = bd_b_zeros(g, p.y_shape, dtype);
    bd_grad_pair_x(c, &p, bd_grad_mul(g, ones, p.grad));
    bd_grad_pair_y(c, &p, bd_grad_mul(g, zeros, p.grad));
    bd_grad_after_end(g);
}

// ---- ApproximateEqual ----

#define CLOSE(NAME, T)                                                                                       \
    static void NAME(const braid_tensor *xs, const braid_tensor *ys, double tolerance, bool *z)              \
    {                                                                                                        \
        const T *x = xs->data, *y = ys->data;                                                                \
        for (int64_t i = 0, end; (end = bd_block_end(i, bd_tensor_count(xs))) > i;)                          \
            for (; i < end; i++)                                                                             \
                z[i] = fabs((double)(T)(x[i] - y[i])) <= (double)(T)tolerance;                               \
    }
CLOSE(close_f32, float)
CLOSE(close_f64, double)

// Integers wrap around; the difference has the type of the operands, and the tolerance is cut to it.
#define CLOSE_INTEGERS(NAME, T, U, MIN, MAX)                                                                 \
    static void NAME(const braid_tensor *xs, const braid_tensor *ys, double tolerance, bool *z)              \
    {                                                                                                        \
        const T *x = xs->data, *y = ys->data;                                                                \
        const T most = tolerance >= (double)MAX ? MAX : tolerance > (double)MIN ? (T)tolerance : MIN;        \
        for (int64_t i = 0, end; (end = bd_block_end(i, bd_tensor_count(xs))) > i;)                          \
            for (; i < end; i++) {                                                                           \
                T difference = (T)((U)x[i] - (U)y[i]);                                                       \
                T size = difference < 0 ? (T)(0 - (U)difference) : difference;                               \
                z[i] = size <= most;                                                                         \
            }                                                                                                \
    }
CLOSE_INTEGERS(close_i32, int32_t, uint32_t, INT32_MIN, INT32_MAX)
CLOSE_INTEGERS(close_i64, int64_t, uint64_t, INT64_MIN, INT64_MAX)

static void approximate_equal_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *y = bd_input(c, 1);
    if (!bd_shape_equal(&x->shape, &y->shape)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "x and y must be of the same shape. x shape: %s. y shape: %s",
                   bd_shape_str(&x->shape, a), bd_shape_str(&y->shape, b));
        return;
    }
    braid_tensor *z = bd_output(c, 0, BRAID_BOOL, &x->shape);
    if (!z) return;
    double tolerance = (double)bd_node_attr_float(c->node, "tolerance");
    switch (x->dtype) {
    case BRAID_FLOAT: close_f32(x, y, tolerance, bd_tensor_bool(z)); break;
    case BRAID_DOUBLE: close_f64(x, y, tolerance, bd_tensor_bool(z)); break;
    case BRAID_INT32: close_i32(x, y, tolerance, bd_tensor_bool(z)); break;
    default: close_i64(x, y, tolerance, bd_tensor_bool(z)); break;
    }
}

// ---- Definitions ----

#define PAIR_TYPES "T:type{complex128,complex64,double,float,half}"

BD_OP(DivNoNan) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = PAIR_TYPES,
    .shape = bd_shape_fn_broadcast,
    .gradient = div_no_nan_gradient,
    .kernels =
        BD_KERNELS({.types = BD_FLOATS BD_AND_COMPLEX, .flags = BD_KERNEL_WIDENS, .run = div_no_nan_run}),
    .doc = "Computes x / y, 0 where y is 0.",
};

BD_OP(MulNoNan) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = PAIR_TYPES,
    .shape = bd_shape_fn_broadcast,
    .gradient = mul_no_nan_gradient,
    .kernels =
        BD_KERNELS({.types = BD_FLOATS BD_AND_COMPLEX, .flags = BD_KERNEL_WIDENS, .run = mul_no_nan_run}),
    .doc = "Computes x * y, 0 where y is 0 even if x is infinite or NaN.",
};

BD_OP(Xdivy) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = PAIR_TYPES,
    .shape = bd_shape_fn_broadcast,
    .gradient = xdivy_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS BD_AND_COMPLEX, .flags = BD_KERNEL_WIDENS, .run = xdivy_run}),
    .doc = "Computes x / y, 0 where x is 0.",
};

BD_OP(Xlogy) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = PAIR_TYPES,
    .shape = bd_shape_fn_broadcast,
    .gradient = xlogy_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS BD_AND_COMPLEX, .run = xlogy_run},
                          {.types = "T=half", .run = xlogy_half_run}),
    .doc = "Computes x log(y), 0 where x is 0.",
};

BD_OP(Xlog1py) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_broadcast,
    .gradient = xlog1py_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS BD_AND_COMPLEX, .flags = BD_KERNEL_WIDENS, .run = xlog1py_run}),
    .doc = "Computes x log(1 + y), 0 where x is 0.",
};

BD_OP(Atan2) = {
    .signature = "(y: T, x: T) -> (z: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_broadcast,
    .gradient = atan2_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = atan2_run}),
    .doc = "Computes the angle of the point (x, y), in [-pi, pi].",
};

BD_OP(NextAfter) = {
    .signature = "(x1: T, x2: T) -> (output: T)",
    .attrs = "T:type{double,float}=float",
    .shape = bd_shape_fn_broadcast,
    .gradient = next_after_gradient,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .run = next_after_run}),
    .doc = "The floating-point number next to x1 in the direction of x2.",
};

BD_OP(ApproximateEqual) = {
    .signature = "(x: T, y: T) -> (z: bool)",
    .attrs = "T:type{number}; tolerance:float=1e-05",
    .flags = BD_OP_COMMUTATIVE | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_merged,
    .kernels = BD_KERNELS({.types = BD_NUMBERS, .flags = BD_KERNEL_WIDENS, .run = approximate_equal_run}),
    .doc = "Whether |x - y| is at most `tolerance`; x and y have one shape.",
};
