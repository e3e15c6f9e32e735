// Element-wise functions of two arguments, and the choice between two.
#include "kernels/math_simd.h"
#include "kernels/simd.h"
#include "kernels/simd_loop.h"
#include <string.h>

#define ONE_LOOP(X, Y, EXPR)                                                                                 \
    BD_VECTORIZE                                                                                             \
    for (int64_t i = 0; i < n; i++) {                                                                        \
        X;                                                                                                   \
        Y;                                                                                                   \
        zs[i] = (EXPR);                                                                                      \
    }

// Three loops: z[i] = EXPR of x and y, either of which may be a single element.
#define LOOP(NAME, T, R, EXPR)                                                                               \
    static void loop_##NAME(const void *xp, const void *yp, void *zp, int64_t n, bd_single single)           \
    {                                                                                                        \
        const T *xs = xp, *ys = yp;                                                                          \
        R *zs = zp;                                                                                          \
        if (single == BD_SINGLE_NONE) {                                                                      \
            ONE_LOOP(T x = xs[i], T y = ys[i], EXPR)                                                         \
        } else if (single == BD_SINGLE_X) {                                                                  \
            const T x = *xs;                                                                                 \
            ONE_LOOP(, T y = ys[i], EXPR)                                                                    \
        } else {                                                                                             \
            const T y = *ys;                                                                                 \
            ONE_LOOP(T x = xs[i], , EXPR)                                                                    \
        }                                                                                                    \
    }

#define FLOATS(NAME, F32, F64)                                                                               \
    LOOP(NAME##_f32, float, float, F32)                                                                      \
    LOOP(NAME##_f64, double, double, F64)
#define INTEGERS(NAME, I32, I64)                                                                             \
    LOOP(NAME##_i32, int32_t, int32_t, I32)                                                                  \
    LOOP(NAME##_i64, int64_t, int64_t, I64)
// Integers wrap around: + - * are computed without sign.
#define ARITHMETIC(NAME, OP)                                                                                 \
    FLOATS(NAME, x OP y, x OP y)                                                                             \
    INTEGERS(NAME, (int32_t)((uint32_t)x OP(uint32_t) y), (int64_t)((uint64_t)x OP(uint64_t) y))
#define COMPARE(NAME, OP)                                                                                    \
    LOOP(NAME##_f32, float, bool, x OP y)                                                                    \
    LOOP(NAME##_f64, double, bool, x OP y)                                                                   \
    LOOP(NAME##_i32, int32_t, bool, x OP y)                                                                  \
    LOOP(NAME##_i64, int64_t, bool, x OP y)

// Quotients by -1 are taken apart: the least integer has no negative.
static inline int32_t div_i32(int32_t x, int32_t y)
{
    return y == -1 ? (int32_t) - (uint32_t)x : x / y;
}
static inline int64_t div_i64(int64_t x, int64_t y)
{
    return y == -1 ? (int64_t) - (uint64_t)x : x / y;
}
static inline int32_t mod_i32(int32_t x, int32_t y)
{
    return y == -1 ? 0 : x % y;
}
static inline int64_t mod_i64(int64_t x, int64_t y)
{
    return y == -1 ? 0 : x % y;
}
static inline int32_t floor_div_i32(int32_t x, int32_t y)
{
    return div_i32(x, y) - (mod_i32(x, y) != 0 && (x < 0) != (y < 0));
}
static inline int64_t floor_div_i64(int64_t x, int64_t y)
{
    return div_i64(x, y) - (mod_i64(x, y) != 0 && (x < 0) != (y < 0));
}
static inline int32_t floor_mod_i32(int32_t x, int32_t y)
{
    int32_t r = mod_i32(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
static inline int64_t floor_mod_i64(int64_t x, int64_t y)
{
    int64_t r = mod_i64(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
static inline float floor_mod_f32(float x, float y)
{
    float r = fmodf(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
static inline double floor_mod_f64(double x, double y)
{
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

// x^y by squaring, modulo 2^64 (of which 2^32 is a divisor).
static inline uint64_t pow_int(uint64_t x, uint64_t y)
{
    uint64_t result = 1;
    for (; y; y >>= 1, x *= x) {
        if (y & 1) result *= x;
    }
    return result;
}

ARITHMETIC(add, +)
ARITHMETIC(sub, -)
ARITHMETIC(mul, *)
FLOATS(div, x / y, x / y)
INTEGERS(div, div_i32(x, y), div_i64(x, y))
FLOATS(floor_div, floorf(x / y), floor(x / y))
INTEGERS(floor_div, floor_div_i32(x, y), floor_div_i64(x, y))
FLOATS(mod, fmodf(x, y), fmod(x, y))
INTEGERS(mod, mod_i32(x, y), mod_i64(x, y))
FLOATS(floor_mod, floor_mod_f32(x, y), floor_mod_f64(x, y))
INTEGERS(floor_mod, floor_mod_i32(x, y), floor_mod_i64(x, y))
FLOATS(max, x < y ? y : x, x < y ? y : x)
INTEGERS(max, x < y ? y : x, x < y ? y : x)
FLOATS(min, y < x ? y : x, y < x ? y : x)
INTEGERS(min, y < x ? y : x, y < x ? y : x)
FLOATS(pow, powf(x, y), pow(x, y))
INTEGERS(pow, (int32_t)pow_int((uint64_t)x, (uint64_t)y), (int64_t)pow_int((uint64_t)x, (uint64_t)y))
FLOATS(squared_difference, (x - y) * (x - y), (x - y) * (x - y))
INTEGERS(squared_difference, (int32_t)(((uint32_t)x - (uint32_t)y) * ((uint32_t)x - (uint32_t)y)),
         (int64_t)(((uint64_t)x - (uint64_t)y) * ((uint64_t)x - (uint64_t)y)))

FLOATS(tanh_grad, y *(1 - x * x), y *(1 - x * x))
FLOATS(sigmoid_grad, y *x *(1 - x), y *x *(1 - x))
FLOATS(sqrt_grad, y * 0.5f / x, y * 0.5 / x)
FLOATS(rsqrt_grad, -0.5f * y * (x * x * x), -0.5 * y * (x * x * x))
FLOATS(reciprocal_grad, -y *(x *x), -y *(x *x))
FLOATS(relu_grad, y > 0 ? x : 0, y > 0 ? x : 0)
INTEGERS(relu_grad, y > 0 ? x : 0, y > 0 ? x : 0)
FLOATS(relu6_grad, (y > 0 && y < 6) ? x : 0, (y > 0 && y < 6) ? x : 0)
INTEGERS(relu6_grad, (y > 0 && y < 6) ? x : 0, (y > 0 && y < 6) ? x : 0)
FLOATS(elu_grad, y < 0 ? (y + 1) * x : x, y < 0 ? (y + 1) * x : x)
FLOATS(softplus_grad, x / (exp_f32(-y) + 1), x / (exp(-y) + 1))
FLOATS(softsign_grad, x / ((1 + fabsf(y)) * (1 + fabsf(y))), x / ((1 + fabs(y)) * (1 + fabs(y))))

COMPARE(equal, ==)
COMPARE(not_equal, !=)
COMPARE(less, <)
COMPARE(less_equal, <=)
COMPARE(greater, >)
COMPARE(greater_equal, >=)
LOOP(equal_b8, uint8_t, uint8_t, x == y)
LOOP(not_equal_b8, uint8_t, uint8_t, x != y)
LOOP(log_and, uint8_t, uint8_t, x &y)
LOOP(log_or, uint8_t, uint8_t, x | y)

#define F(NAME)                                                                                              \
    {                                                                                                        \
        loop_##NAME##_f32, loop_##NAME##_f64, NULL, NULL, NULL                                               \
    }
#define FI(NAME)                                                                                             \
    {                                                                                                        \
        loop_##NAME##_f32, loop_##NAME##_f64, loop_##NAME##_i32, loop_##NAME##_i64, NULL                     \
    }
#define FIB(NAME)                                                                                            \
    {                                                                                                        \
        loop_##NAME##_f32, loop_##NAME##_f64, loop_##NAME##_i32, loop_##NAME##_i64, loop_##NAME##_b8         \
    }

const bd_binary_fn BD_SIMD_NAME(bd_binary_table)[BD_BINARY_COUNT][BD_SIMD_NUMBER_COUNT] = {
    [BD_ADD] = FI(add),
    [BD_SUB] = FI(sub),
    [BD_MUL] = FI(mul),
    [BD_DIV] = FI(div),
    [BD_FLOOR_DIV] = FI(floor_div),
    [BD_MOD] = FI(mod),
    [BD_FLOOR_MOD] = FI(floor_mod),
    [BD_MAX] = FI(max),
    [BD_MIN] = FI(min),
    [BD_POW] = FI(pow),
    [BD_SQUARED_DIFFERENCE] = FI(squared_difference),
    [BD_TANH_GRAD] = F(tanh_grad),
    [BD_SIGMOID_GRAD] = F(sigmoid_grad),
    [BD_SQRT_GRAD] = F(sqrt_grad),
    [BD_RSQRT_GRAD] = F(rsqrt_grad),
    [BD_RECIPROCAL_GRAD] = F(reciprocal_grad),
    [BD_RELU_GRAD] = FI(relu_grad),
    [BD_RELU6_GRAD] = FI(relu6_grad),
    [BD_ELU_GRAD] = F(elu_grad),
    [BD_SOFTPLUS_GRAD] = F(softplus_grad),
    [BD_SOFTSIGN_GRAD] = F(softsign_grad),
    [BD_EQUAL] = FIB(equal),
    [BD_NOT_EQUAL] = FIB(not_equal),
    [BD_LESS] = FI(less),
    [BD_LESS_EQUAL] = FI(less_equal),
    [BD_GREATER] = FI(greater),
    [BD_GREATER_EQUAL] = FI(greater_equal),
    [BD_LOG_AND] = {[BD_B8] = loop_log_and},
    [BD_LOG_OR] = {[BD_B8] = loop_log_or},
};

#define SELECT(NAME, T)                                                                                      \
    static void NAME(const bool *condition, const T *t, const T *e, T *out, int64_t n)                       \
    {                                                                                                        \
        BD_VECTORIZE                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            T a = t[i], b = e[i];                                                                            \
            out[i] = condition[i] ? a : b;                                                                   \
        }                                                                                                    \
    }
SELECT(select1, uint8_t)
SELECT(select2, uint16_t)
SELECT(select4, uint32_t)
SELECT(select8, uint64_t)

void BD_SIMD_NAME(bd_select)(const bool *condition, const void *t, const void *e, void *out, int64_t n,
                             size_t size);
void BD_SIMD_NAME(bd_select)(const bool *condition, const void *t, const void *e, void *out, int64_t n,
                             size_t size)
{
    switch (size) {
    case 1: select1(condition, t, e, out, n); break;
    case 2: select2(condition, t, e, out, n); break;
    case 4: select4(condition, t, e, out, n); break;
    default: select8(condition, t, e, out, n); break;
    }
}
