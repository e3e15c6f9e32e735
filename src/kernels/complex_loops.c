// Element-wise functions and reductions of complex numbers: one loop for all instruction sets.
//
// Where TensorFlow's gradient kernels take the conjugate of the value, so do these.
#include "base/complex.h"
#include "base/interrupt.h"
#include "kernels/loops.h"
#include "kernels/pair_loop.h"
#include "kernels/special.h"

#include <math.h>

typedef float complex c64;
typedef double complex c128;

// Defines NAME_c64 and NAME_c128 from expressions of x (and y).
#define UNARY(NAME, C64, C128)                                                                               \
    BD_SINGLE_LOOP(NAME##_c64, c64, c64, C64)                                                                \
    BD_SINGLE_LOOP(NAME##_c128, c128, c128, C128)
#define BINARY(NAME, C64, C128)                                                                              \
    BD_PAIR_LOOP(NAME##_c64, c64, c64, C64)                                                                  \
    BD_PAIR_LOOP(NAME##_c128, c128, c128, C128)
// A function of the C library.
#define LIBRARY(NAME, FN) UNARY(NAME, FN##f(x), FN(x))

// ---- Functions that the library lacks ----

static inline c64 sign_c(c64 x)
{
    return x == 0 ? 0 : x / cabsf(x);
}
static inline c128 sign_z(c128 x)
{
    return x == 0 ? 0 : x / cabs(x);
}

// e^(a + ib) - 1: cos b - 1 is -2 sin(b / 2)^2, exactly also near 0.
static inline c128 expm1_z(c128 x)
{
    double a = creal(x), b = cimag(x), s = sin(b / 2);
    return CMPLX(expm1(a) * cos(b) - 2 * s * s, exp(a) * sin(b));
}

// The logarithm of |1 + x| from |1 + x|^2 - 1 = a (2 + a) + b^2 where that is small.
c128 bd_log1p_complex(c128 x)
{
    double a = creal(x), b = cimag(x);
    bool is_small = fabs(a) < 0.5 && fabs(b) < 0.5;
    return CMPLX(is_small ? 0.5 * log1p(a * (2 + a) + b * b) : log(cabs(1 + x)), atan2(b, 1 + a));
}

// ---- One argument ----

UNARY(neg, -x, -x)
UNARY(sign, sign_c(x), sign_z(x))
UNARY(square, x *x, x *x)
LIBRARY(sqrt, csqrt)
UNARY(rsqrt, 1 / csqrtf(x), 1 / csqrt(x))
UNARY(reciprocal, 1 / x, 1 / x)
LIBRARY(exp, cexp)
UNARY(expm1, expm1_z(x), expm1_z(x))
LIBRARY(log, clog)
UNARY(log1p, bd_log1p_complex(x), bd_log1p_complex(x))
LIBRARY(sin, csin)
LIBRARY(cos, ccos)
LIBRARY(tan, ctan)
LIBRARY(asin, casin)
LIBRARY(acos, cacos)
LIBRARY(atan, catan)
LIBRARY(sinh, csinh)
LIBRARY(cosh, ccosh)
LIBRARY(asinh, casinh)
LIBRARY(acosh, cacosh)
LIBRARY(atanh, catanh)
LIBRARY(tanh, ctanh)
UNARY(sigmoid, 1 / (1 + cexpf(-x)), 1 / (1 + cexp(-x)))

#define BOTH(NAME)                                                                                           \
    {                                                                                                        \
        NAME##_c64, NAME##_c128                                                                              \
    }

const bd_unary_fn bd_complex_unary[BD_UNARY_COUNT][2] = {
    [BD_NEG] = BOTH(neg),     [BD_SIGN] = BOTH(sign),       [BD_SQUARE] = BOTH(square),
    [BD_SQRT] = BOTH(sqrt),   [BD_RSQRT] = BOTH(rsqrt),     [BD_RECIPROCAL] = BOTH(reciprocal),
    [BD_EXP] = BOTH(exp),     [BD_EXPM1] = BOTH(expm1),     [BD_LOG] = BOTH(log),
    [BD_LOG1P] = BOTH(log1p), [BD_SIN] = BOTH(sin),         [BD_COS] = BOTH(cos),
    [BD_TAN] = BOTH(tan),     [BD_ASIN] = BOTH(asin),       [BD_ACOS] = BOTH(acos),
    [BD_ATAN] = BOTH(atan),   [BD_SINH] = BOTH(sinh),       [BD_COSH] = BOTH(cosh),
    [BD_ASINH] = BOTH(asinh), [BD_ACOSH] = BOTH(acosh),     [BD_ATANH] = BOTH(atanh),
    [BD_TANH] = BOTH(tanh),   [BD_SIGMOID] = BOTH(sigmoid),
};

// ---- Two arguments ----

BINARY(add, x + y, x + y)
BINARY(sub, x - y, x - y)
BINARY(mul, x *y, x *y)
BINARY(div, x / y, x / y)
BINARY(pow, cpowf(x, y), cpow(x, y))
BINARY(squared_difference, (x - y) * conjf(x - y), (x - y) * conj(x - y))
BINARY(tanh_grad, y *(1 - x * x), y *(1 - x * x))
BINARY(sigmoid_grad, y *x *(1 - x), y *x *(1 - x))
BINARY(sqrt_grad, y * 0.5f / conjf(x), y * 0.5 / conj(x))
BINARY(rsqrt_grad, -0.5f * (y * conjf(x)) * (conjf(x) * conjf(x)), -0.5 * (y * conj(x)) * (conj(x) * conj(x)))
BINARY(reciprocal_grad, -y *conjf(x) * conjf(x), -y *conj(x) * conj(x))
BD_PAIR_LOOP(equal_c64, c64, bool, x == y)
BD_PAIR_LOOP(equal_c128, c128, bool, x == y)
BD_PAIR_LOOP(not_equal_c64, c64, bool, x != y)
BD_PAIR_LOOP(not_equal_c128, c128, bool, x != y)

const bd_binary_fn bd_complex_binary[BD_BINARY_COUNT][2] = {
    [BD_ADD] = BOTH(add),
    [BD_SUB] = BOTH(sub),
    [BD_MUL] = BOTH(mul),
    [BD_DIV] = BOTH(div),
    [BD_POW] = BOTH(pow),
    [BD_SQUARED_DIFFERENCE] = BOTH(squared_difference),
    [BD_TANH_GRAD] = BOTH(tanh_grad),
    [BD_SIGMOID_GRAD] = BOTH(sigmoid_grad),
    [BD_SQRT_GRAD] = BOTH(sqrt_grad),
    [BD_RSQRT_GRAD] = BOTH(rsqrt_grad),
    [BD_RECIPROCAL_GRAD] = BOTH(reciprocal_grad),
    [BD_EQUAL] = BOTH(equal),
    [BD_NOT_EQUAL] = BOTH(not_equal),
};

// ---- Reductions, in double ----

#define REDUCE(NAME, T, START, OP)                                                                           \
    static void NAME(const void *xp, void *yp, int64_t outer, int64_t count, int64_t inner)                  \
    {                                                                                                        \
        const T *x = xp;                                                                                     \
        T *y = yp;                                                                                           \
        for (int64_t i = 0; i < outer; i++, x += count * inner, y += inner) {                                \
            for (int64_t k = 0; k < inner && !bd_interrupted(); k++) {                                       \
                c128 a = START;                                                                              \
                for (int64_t j = 0; j < count && !bd_interrupted_at(j); j++)                                 \
                    a = a OP x[j * inner + k];                                                               \
                y[k] = (T)a;                                                                                 \
            }                                                                                                \
        }                                                                                                    \
    }
REDUCE(sum_c64, c64, 0, +)
REDUCE(sum_c128, c128, 0, +)
REDUCE(prod_c64, c64, 1, *)
REDUCE(prod_c128, c128, 1, *)

const bd_reduce_fn bd_complex_reduce[BD_REDUCE_COUNT][2] = {
    [BD_REDUCE_SUM] = BOTH(sum),
    [BD_REDUCE_PROD] = BOTH(prod),
};
