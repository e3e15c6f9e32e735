// The number types that kernels are written for.
#ifndef BD_KERNELS_NUMBER_H
#define BD_KERNELS_NUMBER_H

#include <stddef.h>

typedef enum bd_number {
    BD_F32,
    BD_F64,
    BD_I32,
    BD_I64,
    BD_B8, // bool: one byte, 0 or 1
    // loops over the types above are compiled per instruction set (simd.h), others once (loops.h)
    BD_SIMD_NUMBER_COUNT,
    BD_C64 = BD_SIMD_NUMBER_COUNT, // complex: two floats
    BD_C128,                       // two doubles
    BD_NUMBER_COUNT
} bd_number;

static inline size_t bd_number_size(bd_number type)
{
    static const size_t sizes[BD_NUMBER_COUNT] = {4, 8, 4, 8, 1, 8, 16};
    return sizes[type];
}

#endif
