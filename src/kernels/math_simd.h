// Elementary functions of float that loops over them vectorize: no calls, no branches, no tables.
//
// Errors are below 2 units in the last place over the whole range (simd_test.c); infinities, nan and denormal
// arguments are handled. The reductions and the coefficients for exp are those of Cephes (S. L. Moshier), for
// log those of FDLIBM (Sun Microsystems), both published.
#ifndef BD_KERNELS_MATH_SIMD_H
#define BD_KERNELS_MATH_SIMD_H

#include <math.h>
#include <stdint.h>

static inline uint32_t bits_of(float x)
{
    union {
        float f;
        uint32_t u;
    } pun = {.f = x};
    return pun.u;
}

static inline float float_of(uint32_t u)
{
    union {
        uint32_t u;
        float f;
    } pun = {.u = u};
    return pun.f;
}

// e^x = 2^k e^r with |r| <= ln(2)/2; stores e^r - 1 and k. x is in [-126, 126] or nan.
static inline float exp_parts(float x, int32_t *k)
{
    const float round = 12582912.0f; // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
    float shifted = x * 1.44269504088896341f + round;
    *k = (int32_t)(bits_of(shifted) - bits_of(round));
    float n = shifted - round;
    float r = (x - n * 0.693359375f) - n * -2.12194440e-4f; // ln(2) in two parts, the first exact in few bits
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return p * (r * r) + r;
}

static inline float exp_f32(float x)
{
    x = x > 89.0f ? 89.0f : x;     // infinity from here on
    x = x < -104.0f ? -104.0f : x; // zero
    int32_t k;
    float p = exp_parts(x, &k) + 1.0f;
    // 2^k in two factors: k runs from -150 to 128, beyond the exponents of float.
    int32_t half = k >> 1;
    float low = float_of((uint32_t)(half + 127) << 23), high = float_of((uint32_t)(k - half + 127) << 23);
    return p * low * high;
}

// log(u) + c, c being small against it; u > 0, denormal u as if it were 0.
static inline float log_parts(float u, float c)
{
    const uint32_t sqrt_half = 0x3f3504f3; // bits of sqrt(1/2)
    uint32_t i = bits_of(u) - sqrt_half;
    float k = (float)((int32_t)i >> 23);
    float f = float_of((i & 0x007fffff) + sqrt_half) - 1.0f; // u = 2^k (1 + f)
    float s = f / (2.0f + f), z = s * s, w = z * z;
    float t1 = w * (0.40000972152f + w * 0.24279078841f);
    float t2 = z * (0.66666662693f + w * 0.28498786688f);
    float half = 0.5f * f * f;
    return (((s * (half + (t1 + t2)) + (k * 9.0580006145e-06f + c)) - half) + f) + k * 6.9313812256e-01f;
}

static inline float log_f32(float x)
{
    float denormal = x < 0x1p-126f ? 1.0f : 0.0f;
    float u = denormal != 0.0f ? x * 0x1p25f : x;
    float y = log_parts(u, 0.0f) - denormal * 17.3286795139986f;
    y = x == INFINITY ? INFINITY : y;
    y = x == 0.0f ? -INFINITY : y;
    y = x < 0.0f ? NAN : y;
    return x != x ? x : y;
}

static inline float log1p_f32(float x)
{
    float u = 1.0f + x;
    float lost = u >= 2.0f ? 1.0f - (u - x) : x - (u - 1.0f); // of x, by rounding u
    float y = log_parts(u, lost / u);
    y = x == INFINITY ? INFINITY : y;
    y = x == -1.0f ? -INFINITY : y;
    y = x < -1.0f ? NAN : y;
    y = x == 0.0f ? x : y; // -0
    return x != x ? x : y;
}

static inline float sigmoid_f32(float x)
{
    return 1.0f / (1.0f + exp_f32(-x));
}

static inline float tanh_f32(float x)
{
    float a = fabsf(x), z = x * x;
    // Near 0 a polynomial, for exp(2a) - 1 would cancel.
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z + -5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z + -3.33332819422e-1f;
    float near = p * z * x + x;
    float far = 1.0f - 2.0f / (exp_f32(2.0f * a) + 1.0f);
    return a < 0.625f ? near : copysignf(far, x);
}

#endif
