// The 16-bit floating-point types as float.
#ifndef BD_BASE_HALF_H
#define BD_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float bd_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// IEEE 754 binary16.
static inline float bd_float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 31) return bd_float_of_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent) return bd_float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float tiny = (float)fraction * 0x1p-24f;
    return sign ? -tiny : tiny;
}

static inline uint32_t bd_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Rounds to the nearest, ties to even; numbers beyond the range become infinity.
static inline uint16_t bd_half_of_float(float value)
{
    uint32_t bits = bd_bits_of_float(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00); // nan
    if (size >= 0x47800000) return (uint16_t)(sign | 0x7c00);
    if (size < 0x38800000) // below 2^-14: in units of 2^-24, which is the last place of a float in [0.5, 1)
        return (uint16_t)(sign | (bd_bits_of_float(bd_float_of_bits(size) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | ((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13));
}

static inline uint16_t bd_bfloat16_of_float(float value)
{
    uint32_t bits = bd_bits_of_float(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40); // nan
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float bd_float_of_bfloat16(uint16_t upper)
{
    return bd_float_of_bits((uint32_t)upper << 16);
}

#endif
