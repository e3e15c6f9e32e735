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
    BD_NUMBER_COUNT
} bd_number;

static inline size_t bd_number_size(bd_number type)
{
    return type == BD_B8 ? 1 : type == BD_F32 || type == BD_I32 ? 4 : 8;
}

#endif
