// From random words to numbers, bit for bit as TensorFlow's distributions do it.
#ifndef BD_KERNELS_RANDOM_CONVERT_H
#define BD_KERNELS_RANDOM_CONVERT_H

#include "base/half.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

// 23 random bits as the mantissa of a number in [1, 2), less 1.
static inline float bd_uniform_f32(uint32_t x)
{
    uint32_t bits = UINT32_C(127) << 23 | (x & 0x7fffff);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value - 1.0f;
}

// 52 random bits: the first word gives the upper 20.
static inline double bd_uniform_f64(uint32_t x0, uint32_t x1)
{
    uint64_t bits = UINT64_C(1023) << 52 | (uint64_t)(x0 & 0xfffff) << 32 | x1;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value - 1.0;
}

// The lower bits of x as the mantissa of a number in [1, 2), less 1: 10 of half, 7 of bfloat16.
static inline uint16_t bd_uniform_half(uint32_t x)
{
    return bd_half_of_float(bd_float_of_half((uint16_t)(15 << 10 | (x & 0x3ff))) - 1.0f);
}

static inline uint16_t bd_uniform_bfloat16(uint32_t x)
{
    return bd_bfloat16_of_float(bd_float_of_bfloat16((uint16_t)(127 << 7 | (x & 0x7f))) - 1.0f);
}

// The logarithm of a smaller number would be too large.
#define BD_SMALLEST_UNIFORM 1.0e-7

// Two normal numbers (Box-Muller).
static inline void bd_normal_f32(const uint32_t x[2], float out[2])
{
    float u1 = bd_uniform_f32(x[0]);
    if (u1 < (float)BD_SMALLEST_UNIFORM) u1 = (float)BD_SMALLEST_UNIFORM;
    // The product is rounded once, from double.
    float v1 = (float)(2.0 * M_PI * (double)bd_uniform_f32(x[1]));
    float u2 = sqrtf(-2.0f * logf(u1));
    out[0] = sinf(v1) * u2;
    out[1] = cosf(v1) * u2;
}

static inline void bd_normal_f64(const uint32_t x[4], double out[2])
{
    double u1 = bd_uniform_f64(x[0], x[1]);
    if (u1 < BD_SMALLEST_UNIFORM) u1 = BD_SMALLEST_UNIFORM;
    double v1 = 2.0 * M_PI * bd_uniform_f64(x[2], x[3]);
    double u2 = sqrt(-2.0 * log(u1));
    out[0] = sin(v1) * u2;
    out[1] = cos(v1) * u2;
}

#endif
