// The 16-bit floating-point types as float.
#ifndef BD_TENSOR_HALF_H
#define BD_TENSOR_HALF_H

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

static inline float bd_float_of_bfloat16(uint16_t upper)
{
    return bd_float_of_bits((uint32_t)upper << 16);
}

#endif
