// Special functions of TensorFlow 2: inverse error functions, integrals, Bessel functions. All types are
// computed in double.
#include "graph/shape_fn.h"
#include "kernels/special.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/pairwise.h"

#include <math.h>

// Defines NAME_run, which computes VALUE for each element x.
#define SPECIAL(NAME, VALUE)                                                                                 \
    BD_SINGLE_LOOP(NAME##_f32, float, float, VALUE)                                                          \
    BD_SINGLE_LOOP(NAME##_f64, double, double, VALUE)                                                        \
    static void NAME##_run(bd_op_ctx *c)                                                                     \
    {                                                                                                        \
        static const bd_single_table table = {[BRAID_FLOAT] = NAME##_f32, [BRAID_DOUBLE] = NAME##_f64};      \
        bd_singly_run(c, table, bd_input(c, 0)->dtype);                                                      \
    }

SPECIAL(erfinv, bd_erfinv(x))
SPECIAL(ndtri, bd_ndtri(x))
SPECIAL(dawsn, bd_dawsn(x))
SPECIAL(expint, bd_expint(x))
SPECIAL(fresnel_cos, bd_fresnel_cos(x))
SPECIAL(fresnel_sin, bd_fresnel_sin(x))
SPECIAL(spence, bd_spence(x))
SPECIAL(i0, bd_bessel_i0e(x) * exp(fabs((double)(x))))
SPECIAL(i1, bd_bessel_i1e(x) * exp(fabs((double)(x))))
SPECIAL(j0, j0(x))
SPECIAL(j1, j1(x))
SPECIAL(y0, y0(x))
SPECIAL(y1, y1(x))
SPECIAL(k0, bd_bessel_k0e(x) * exp(-(double)(x)))
SPECIAL(k0e, bd_bessel_k0e(x))
SPECIAL(k1, bd_bessel_k1e(x) * exp(-(double)(x)))
SPECIAL(k1e, bd_bessel_k1e(x))

// ---- Gradients: what arrives, times the slope of y at x ----

typedef braid_out slope_fn(braid_graph *g, braid_out x, braid_out y);

static void gradient_by(bd_grad_ctx *c, slope_fn *slope)
{
    braid_graph *g = c->graph;
    bd_grad_after_begin(g, c->output_grads[0]);
    braid_out s = slope(g, c->op->inputs[0], braid_output(c->op, 0));
    c->input_grads[0] = bd_grad_mul(g, c->output_grads[0], s);
    bd_grad_after_end(g);
}

#define GRADIENT(NAME, SLOPE)                                                                                \
    static braid_out NAME##_slope(braid_graph *g, braid_out x, braid_out y)                                  \
    {                                                                                                        \
        (void)x;                                                                                             \
        (void)y;                                                                                             \
        return (SLOPE);                                                                                      \
    }                                                                                                        \
    static void NAME##_gradient(bd_grad_ctx *c)                                                              \
    {                                                                                                        \
        gradient_by(c, NAME##_slope);                                                                        \
    }

static braid_out fn(braid_graph *g, const char *op, braid_out x)
{
    return bd_b1(g, op, NULL, x);
}

static braid_out minus(braid_graph *g, braid_out a, braid_out b)
{
    return bd_b2(g, "Sub", "sub", a, b);
}

static braid_out over(braid_graph *g, braid_out a, braid_out b)
{
    return bd_b2(g, "RealDiv", "truediv", a, b);
}

static braid_out times(braid_graph *g, double factor, braid_out x)
{
    return bd_grad_number_left(g, "Mul", "mul", factor, x);
}

// factor e^(k x^2)
static braid_out bell(braid_graph *g, double factor, double k, braid_out x)
{
    return times(g, factor, fn(g, "Exp", times(g, k, fn(g, "Square", x))));
}

static braid_out dawsn_of(braid_graph *g, braid_out x, braid_out y)
{
    return bd_grad_number_left(g, "Sub", "sub", 1, times(g, 2, bd_grad_mul(g, x, y)));
}

// `op` of pi/2 * x^2.
static braid_out wave(braid_graph *g, const char *op, braid_out x)
{
    return fn(g, op, times(g, M_PI_2, fn(g, "Square", x)));
}

// `slope`, except where x equals `number`: the formula cannot be computed there, and the slope is `there`.
static braid_out slope_but(braid_graph *g, braid_out x, double number, double there, slope_fn *slope,
                           braid_out y)
{
    braid_dtype dtype = bd_dtype_base(braid_out_dtype(x));
    braid_out is_there = bd_b2(g, "Equal", NULL, x, bd_b_const_f(g, "place", dtype, number));
    braid_out elsewhere = bd_b3(g, "SelectV2", NULL, is_there, bd_b_const_f(g, "beside", dtype, 2), x);
    return bd_b3(g, "SelectV2", NULL, is_there, bd_b_const_f(g, "slope", dtype, there),
                 slope(g, elsewhere, y));
}

static braid_out spence_beside_1(braid_graph *g, braid_out x, braid_out y)
{
    (void)y;
    return over(g, fn(g, "Log", x), bd_grad_number_left(g, "Sub", "sub", 1, x));
}

// order0(x) - y / x, where y is J1, Y1 or I1 of x.
static braid_out order_1(braid_graph *g, const char *order0, braid_out x, braid_out y)
{
    return minus(g, fn(g, order0, x), over(g, y, x));
}

static braid_out i1_beside_0(braid_graph *g, braid_out x, braid_out y)
{
    return order_1(g, "BesselI0", x, y);
}

static braid_out j1_beside_0(braid_graph *g, braid_out x, braid_out y)
{
    return order_1(g, "BesselJ0", x, y);
}

// y (1 - 1/x) - k0e(x)
static braid_out k1e_of(braid_graph *g, braid_out x, braid_out y)
{
    braid_out factor = bd_grad_number_left(g, "Sub", "sub", 1, fn(g, "Reciprocal", x));
    return minus(g, bd_grad_mul(g, y, factor), fn(g, "BesselK0e", x));
}

#define SQRT_PI 1.77245385090551602730
#define SQRT_2PI 2.50662827463100050242

GRADIENT(erfinv, bell(g, SQRT_PI / 2, 1, y))
GRADIENT(ndtri, bell(g, SQRT_2PI, 0.5, y))
GRADIENT(dawsn, dawsn_of(g, x, y))
GRADIENT(expint, over(g, fn(g, "Exp", x), x))
GRADIENT(fresnel_cos, wave(g, "Cos", x))
GRADIENT(fresnel_sin, wave(g, "Sin", x))
GRADIENT(spence, slope_but(g, x, 1, -1, spence_beside_1, y))
GRADIENT(i0, fn(g, "BesselI1", x))
GRADIENT(i1, slope_but(g, x, 0, 0.5, i1_beside_0, y))
GRADIENT(j0, fn(g, "Neg", fn(g, "BesselJ1", x)))
GRADIENT(j1, slope_but(g, x, 0, 0.5, j1_beside_0, y))
GRADIENT(y0, fn(g, "Neg", fn(g, "BesselY1", x)))
GRADIENT(y1, order_1(g, "BesselY0", x, y))
GRADIENT(k0, fn(g, "Neg", fn(g, "BesselK1", x)))
GRADIENT(k0e, minus(g, y, fn(g, "BesselK1e", x)))
GRADIENT(k1, fn(g, "Neg", bd_b2(g, "Add", "add", fn(g, "BesselK0", x), over(g, y, x))))
GRADIENT(k1e, k1e_of(g, x, y))

// ---- Definitions ----

#define SPECIAL_OP_BUT(NAME, DOC, DEVIATION)                                                                 \
    {                                                                                                        \
        .signature = "(x: T) -> (y: T)", .attrs = "T:type{bfloat16,double,float,half}",                      \
        .shape = bd_shape_fn_unchanged, .gradient = NAME##_gradient,                                         \
        .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = NAME##_run}),           \
        .doc = (DOC), .deviation = (DEVIATION)                                                               \
    }
#define SPECIAL_OP(NAME, DOC) SPECIAL_OP_BUT(NAME, DOC, NULL)

BD_OP(Erfinv) = SPECIAL_OP(erfinv, "Computes the inverse of the error function of each element.");
BD_OP(Ndtri) = SPECIAL_OP(ndtri,
                          "Computes the quantile of the standard normal distribution of each element.");
BD_OP(Dawsn) = SPECIAL_OP(dawsn, "Computes Dawson's integral of each element.");
BD_OP(Expint) = SPECIAL_OP(expint, "Computes the exponential integral Ei of each element, NaN below 0.");
BD_OP(FresnelCos) = SPECIAL_OP(fresnel_cos, "Computes Fresnel's cosine integral of each element.");
BD_OP(FresnelSin) = SPECIAL_OP(fresnel_sin, "Computes Fresnel's sine integral of each element.");
BD_OP(Spence) = SPECIAL_OP(spence, "Computes the dilogarithm of 1 - x for each element, NaN below 0.");
BD_OP(BesselI0) = SPECIAL_OP(i0, "Computes the modified Bessel function I0 of each element.");
BD_OP(BesselI1) = SPECIAL_OP_BUT(i1, "Computes the modified Bessel function I1 of each element.",
                                 "The slope at 0 is 1/2, which TensorFlow's gradient takes for 1.");
BD_OP(BesselJ0) = SPECIAL_OP(j0, "Computes the Bessel function J0 of each element.");
BD_OP(BesselJ1) = SPECIAL_OP(j1, "Computes the Bessel function J1 of each element.");
BD_OP(BesselY0) = SPECIAL_OP(y0, "Computes the Bessel function Y0 of each element.");
BD_OP(BesselY1) = SPECIAL_OP(y1, "Computes the Bessel function Y1 of each element.");
BD_OP(BesselK0) = SPECIAL_OP(k0, "Computes the modified Bessel function K0 of each element.");
BD_OP(BesselK0e) = SPECIAL_OP(k0e, "Computes the modified Bessel function K0 of each element, times e^x.");
BD_OP(BesselK1) = SPECIAL_OP(k1, "Computes the modified Bessel function K1 of each element.");
BD_OP(BesselK1e) = SPECIAL_OP(k1e, "Computes the modified Bessel function K1 of each element, times e^x.");
