// Conversion between number types.
#ifndef BD_KERNELS_CAST_H
#define BD_KERNELS_CAST_H

#include <stdint.h>

// The types that are converted; the order is that of the table in cast_simd.c.
typedef enum bd_cast_type {
    BD_CAST_F32,
    BD_CAST_F64,
    BD_CAST_I8,
    BD_CAST_I16,
    BD_CAST_I32,
    BD_CAST_I64,
    BD_CAST_U8,
    BD_CAST_U16,
    BD_CAST_U32,
    BD_CAST_U64,
    BD_CAST_BOOL,
    BD_CAST_HALF,
    BD_CAST_BFLOAT16,
    BD_CAST_C64,
    BD_CAST_C128,
    BD_CAST_COUNT
} bd_cast_type;

// Converts n elements; the memories do not overlap. Floating point to integer truncates; a number out of
// range (and nan) gives the least value of a signed type and 0 for an unsigned one. Integers that do not fit
// wrap around; not 0 is true. The 16-bit floating types are converted by way of float, to the nearest; of
// complex numbers the real part is taken.
typedef void (*bd_cast_fn)(const void *x, void *y, int64_t n);
bd_cast_fn bd_cast(bd_cast_type from, bd_cast_type to);

#endif
