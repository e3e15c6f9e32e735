// Element-wise functions of one argument.
#include "kernels/math_simd.h"
#include "kernels/simd.h"
#include "kernels/simd_loop.h"

// One loop: y[i] = EXPR of x.
#define LOOP(NAME, T, R, EXPR)                                                                               \
    static void loop_##NAME(const void *xp, void *yp, int64_t n)                                             \
    {                                                                                                        \
        const T *xs = xp;                                                                                    \
        R *ys = yp;                                                                                          \
        BD_VECTORIZE                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            T x = xs[i];                                                                                     \
            ys[i] = (R)(EXPR);                                                                               \
        }                                                                                                    \
    }

#define FLOATS(NAME, F32, F64)                                                                               \
    LOOP(NAME##_f32, float, float, F32)                                                                      \
    LOOP(NAME##_f64, double, double, F64)
// Integers wrap around, so they are computed without sign.
#define INTEGERS(NAME, I32, I64)                                                                             \
    LOOP(NAME##_i32, int32_t, int32_t, I32)                                                                  \
    LOOP(NAME##_i64, int64_t, int64_t, I64)

// The derivative of log gamma (Abramowitz and Stegun 1964): 6.3.7 below one half, 6.3.5 up to 8, then the
// series 6.3.18.
static double digamma(double x)
{
    const double pi = 3.14159265358979323846;
    double sum = 0;
    if (x <= 0 && x == floor(x)) return NAN;
    if (x < 0.5) {
        sum = -pi / tan(pi * x);
        x = 1 - x;
    }
    while (x < 8)
        sum -= 1 / x++;
    double s = 1 / (x * x);
    double series =
        s *
        (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * 691 / 32760)))));
    return sum + log(x) - 0.5 / x - series;
}

FLOATS(neg, -x, -x)
INTEGERS(neg, -(uint32_t)x, -(uint64_t)x)
FLOATS(abs, fabsf(x), fabs(x))
INTEGERS(abs, x < 0 ? -(uint32_t)x : (uint32_t)x, x < 0 ? -(uint64_t)x : (uint64_t)x)
FLOATS(sign, (x > 0) - (x < 0), (x > 0) - (x < 0))
INTEGERS(sign, (x > 0) - (x < 0), (x > 0) - (x < 0))
FLOATS(square, x *x, x *x)
INTEGERS(square, (uint32_t)x *(uint32_t)x, (uint64_t)x *(uint64_t)x)
FLOATS(sqrt, sqrtf(x), sqrt(x))
FLOATS(rsqrt, 1.0f / sqrtf(x), 1.0 / sqrt(x))
FLOATS(reciprocal, 1.0f / x, 1.0 / x)
FLOATS(exp, exp_f32(x), exp(x))
FLOATS(expm1, expm1f(x), expm1(x))
FLOATS(log, log_f32(x), log(x))
FLOATS(log1p, log1p_f32(x), log1p(x))
FLOATS(sin, sinf(x), sin(x))
FLOATS(cos, cosf(x), cos(x))
FLOATS(tan, tanf(x), tan(x))
FLOATS(asin, asinf(x), asin(x))
FLOATS(acos, acosf(x), acos(x))
FLOATS(atan, atanf(x), atan(x))
FLOATS(sinh, sinhf(x), sinh(x))
FLOATS(cosh, coshf(x), cosh(x))
FLOATS(asinh, asinhf(x), asinh(x))
FLOATS(acosh, acoshf(x), acosh(x))
FLOATS(atanh, atanhf(x), atanh(x))
FLOATS(erf, erff(x), erf(x))
FLOATS(erfc, erfcf(x), erfc(x))
FLOATS(lgamma, lgammaf_r(x, &(int){0}), lgamma_r(x, &(int){0}))
FLOATS(digamma, (float)digamma(x), digamma(x))
FLOATS(tanh, tanh_f32(x), tanh(x))
FLOATS(sigmoid, sigmoid_f32(x), 1.0 / (1.0 + exp(-x)))
// log(1 + e^x), written so that e^x cannot overflow.
FLOATS(softplus, (x > 0 ? x : 0.0f) + log1p_f32(exp_f32(-fabsf(x))), (x > 0 ? x : 0.0) + log1p(exp(-fabs(x))))
FLOATS(softsign, x / (1.0f + fabsf(x)), x / (1.0 + fabs(x)))
FLOATS(relu, x < 0 ? 0.0f : x, x < 0 ? 0.0 : x)
INTEGERS(relu, x < 0 ? 0 : x, x < 0 ? 0 : x)
FLOATS(relu6, x<0 ? 0.0f : x> 6 ? 6.0f : x, x<0 ? 0.0 : x> 6 ? 6.0 : x)
INTEGERS(relu6, x<0 ? 0 : x> 6 ? 6 : x, x<0 ? 0 : x> 6 ? 6 : x)
FLOATS(elu, x < 0 ? expm1f(x) : x, x < 0 ? expm1(x) : x)
FLOATS(floor, floorf(x), floor(x))
FLOATS(ceil, ceilf(x), ceil(x))
FLOATS(round, rintf(x), rint(x))
INTEGERS(round, x, x)
LOOP(log_not, uint8_t, uint8_t, !x)
LOOP(is_nan_f32, float, bool, x != x)
LOOP(is_nan_f64, double, bool, x != x)
LOOP(is_inf_f32, float, bool, fabsf(x) == INFINITY)
LOOP(is_inf_f64, double, bool, fabs(x) == (double)INFINITY)
LOOP(is_finite_f32, float, bool, fabsf(x) < INFINITY)
LOOP(is_finite_f64, double, bool, fabs(x) < (double)INFINITY)

#define F(NAME)                                                                                              \
    {                                                                                                        \
        loop_##NAME##_f32, loop_##NAME##_f64, NULL, NULL, NULL                                               \
    }
#define FI(NAME)                                                                                             \
    {                                                                                                        \
        loop_##NAME##_f32, loop_##NAME##_f64, loop_##NAME##_i32, loop_##NAME##_i64, NULL                     \
    }

const bd_unary_fn BD_SIMD_NAME(bd_unary_table)[BD_UNARY_COUNT][BD_SIMD_NUMBER_COUNT] = {
    [BD_NEG] = FI(neg),
    [BD_ABS] = FI(abs),
    [BD_SIGN] = FI(sign),
    [BD_SQUARE] = FI(square),
    [BD_SQRT] = F(sqrt),
    [BD_RSQRT] = F(rsqrt),
    [BD_RECIPROCAL] = F(reciprocal),
    [BD_EXP] = F(exp),
    [BD_EXPM1] = F(expm1),
    [BD_LOG] = F(log),
    [BD_LOG1P] = F(log1p),
    [BD_SIN] = F(sin),
    [BD_COS] = F(cos),
    [BD_TAN] = F(tan),
    [BD_ASIN] = F(asin),
    [BD_ACOS] = F(acos),
    [BD_ATAN] = F(atan),
    [BD_SINH] = F(sinh),
    [BD_COSH] = F(cosh),
    [BD_ASINH] = F(asinh),
    [BD_ACOSH] = F(acosh),
    [BD_ATANH] = F(atanh),
    [BD_ERF] = F(erf),
    [BD_ERFC] = F(erfc),
    [BD_LGAMMA] = F(lgamma),
    [BD_DIGAMMA] = F(digamma),
    [BD_TANH] = F(tanh),
    [BD_SIGMOID] = F(sigmoid),
    [BD_SOFTPLUS] = F(softplus),
    [BD_SOFTSIGN] = F(softsign),
    [BD_RELU] = FI(relu),
    [BD_RELU6] = FI(relu6),
    [BD_ELU] = F(elu),
    [BD_FLOOR] = F(floor),
    [BD_CEIL] = F(ceil),
    [BD_ROUND] = FI(round),
    [BD_LOG_NOT] = {[BD_B8] = loop_log_not},
    [BD_IS_NAN] = F(is_nan),
    [BD_IS_INF] = F(is_inf),
    [BD_IS_FINITE] = F(is_finite),
};
