// Special functions that TensorFlow has since version 2: inverse error functions, integrals, Bessel functions. Computed in double,
// whatever the type.
#include "graph/shape_fn.h"
#include "kernels/special.h"
#include "ops/elementwise.h"
#include "ops/pairwise.h"

#include <math.h>

// Defines NAME_run, which computes VALUE of each element x.
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

#define SPECIAL_OP(NAME, DOC)                                                                                \
    {                                                                                                        \
        .signature = "(x: T) -> (y: T)", .attrs = "T:type{bfloat16,double,float,half}",                      \
        .shape = bd_shape_fn_unchanged,                                                                      \
        .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = NAME##_run}),           \
        .doc = (DOC), .deviation = "No gradient in the C library."                                           \
    }

BD_OP(Erfinv) = SPECIAL_OP(erfinv, "Computes the inverse of the error function of each element.");
BD_OP(Ndtri) = SPECIAL_OP(ndtri,
                          "Computes the quantile of the standard normal distribution of each element.");
BD_OP(Dawsn) = SPECIAL_OP(dawsn, "Computes Dawson's integral of each element.");
BD_OP(Expint) = SPECIAL_OP(expint, "Computes the exponential integral Ei of each element, NaN below 0.");
BD_OP(FresnelCos) = SPECIAL_OP(fresnel_cos, "Computes Fresnel's cosine integral of each element.");
BD_OP(FresnelSin) = SPECIAL_OP(fresnel_sin, "Computes Fresnel's sine integral of each element.");
BD_OP(Spence) = SPECIAL_OP(spence, "Computes the dilogarithm of 1 - x for each element, NaN below 0.");
BD_OP(BesselI0) = SPECIAL_OP(i0, "Computes the modified Bessel function I0 of each element.");
BD_OP(BesselI1) = SPECIAL_OP(i1, "Computes the modified Bessel function I1 of each element.");
BD_OP(BesselJ0) = SPECIAL_OP(j0, "Computes the Bessel function J0 of each element.");
BD_OP(BesselJ1) = SPECIAL_OP(j1, "Computes the Bessel function J1 of each element.");
BD_OP(BesselY0) = SPECIAL_OP(y0, "Computes the Bessel function Y0 of each element.");
BD_OP(BesselY1) = SPECIAL_OP(y1, "Computes the Bessel function Y1 of each element.");
BD_OP(BesselK0) = SPECIAL_OP(k0, "Computes the modified Bessel function K0 of each element.");
BD_OP(BesselK0e) = SPECIAL_OP(k0e, "Computes the modified Bessel function K0 of each element, times e^x.");
BD_OP(BesselK1) = SPECIAL_OP(k1, "Computes the modified Bessel function K1 of each element.");
BD_OP(BesselK1e) = SPECIAL_OP(k1e, "Computes the modified Bessel function K1 of each element, times e^x.");

// ---- Xlog1py ----

BD_FLOAT_PAIR(xlog1py, x == 0 ? 0 : x * log1p(y))

BD_OP(Xlog1py) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half}",
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = xlog1py_run}),
    .doc = "Computes x log(1 + y), 0 where x is 0.",
    .deviation = "No gradient in the C library, and no complex numbers.",
};
