// Conversion between number types: one loop for each pair.
#include "kernels/cast.h"

#include <math.h>
#include <stdbool.h>

#define LOOP(FROM, F, TO, T, EXPR)                                                                           \
    static void FROM##_##TO(const void *restrict xp, void *restrict yp, int64_t n)                           \
    {                                                                                                        \
        const F *xs = xp;                                                                                    \
        T *ys = yp;                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            F x = xs[i];                                                                                     \
            ys[i] = (T)(EXPR);                                                                               \
        }                                                                                                    \
    }

// C leaves the conversion of a value out of range undefined; LOW and HIGH are exact in either floating type.
#define TRUNCATE(LOW, HIGH, OUTSIDE) (x > (LOW) && x < (HIGH) ? x : (OUTSIDE))

#define FROM_FLOAT(FROM, F)                                                                                  \
    LOOP(FROM, F, f32, float, x)                                                                             \
    LOOP(FROM, F, f64, double, x)                                                                            \
    LOOP(FROM, F, i8, int8_t, TRUNCATE(-129, 128, INT8_MIN))                                                 \
    LOOP(FROM, F, i16, int16_t, TRUNCATE(-32769, 32768, INT16_MIN))                                          \
    LOOP(FROM, F, i32, int32_t, TRUNCATE(-0x1p31, 0x1p31, (F)INT32_MIN))                                     \
    LOOP(FROM, F, i64, int64_t, TRUNCATE(-0x1p63, 0x1p63, (F)INT64_MIN))                                     \
    LOOP(FROM, F, u8, uint8_t, TRUNCATE(-1, 256, 0))                                                         \
    LOOP(FROM, F, u16, uint16_t, TRUNCATE(-1, 65536, 0))                                                     \
    LOOP(FROM, F, u32, uint32_t, TRUNCATE(-1, 0x1p32, 0))                                                    \
    LOOP(FROM, F, u64, uint64_t, TRUNCATE(-1, 0x1p64, 0))                                                    \
    LOOP(FROM, F, b8, bool, x != 0)

#define FROM_INTEGER(FROM, F)                                                                                \
    LOOP(FROM, F, f32, float, x)                                                                             \
    LOOP(FROM, F, f64, double, x)                                                                            \
    LOOP(FROM, F, i8, int8_t, x)                                                                             \
    LOOP(FROM, F, i16, int16_t, x)                                                                           \
    LOOP(FROM, F, i32, int32_t, x)                                                                           \
    LOOP(FROM, F, i64, int64_t, x)                                                                           \
    LOOP(FROM, F, u8, uint8_t, x)                                                                            \
    LOOP(FROM, F, u16, uint16_t, x)                                                                          \
    LOOP(FROM, F, u32, uint32_t, x)                                                                          \
    LOOP(FROM, F, u64, uint64_t, x)                                                                          \
    LOOP(FROM, F, b8, bool, x != 0)

FROM_FLOAT(f32, float)
FROM_FLOAT(f64, double)
FROM_INTEGER(i8, int8_t)
FROM_INTEGER(i16, int16_t)
FROM_INTEGER(i32, int32_t)
FROM_INTEGER(i64, int64_t)
FROM_INTEGER(u8, uint8_t)
FROM_INTEGER(u16, uint16_t)
FROM_INTEGER(u32, uint32_t)
FROM_INTEGER(u64, uint64_t)
FROM_INTEGER(b8, bool)

#define ROW(FROM)                                                                                            \
    {                                                                                                        \
        FROM##_f32, FROM##_f64, FROM##_i8, FROM##_i16, FROM##_i32, FROM##_i64, FROM##_u8, FROM##_u16,        \
            FROM##_u32, FROM##_u64, FROM##_b8                                                                \
    }

bd_cast_fn bd_cast(bd_cast_type from, bd_cast_type to)
{
    static const bd_cast_fn table[BD_CAST_COUNT][BD_CAST_COUNT] = {
        ROW(f32), ROW(f64), ROW(i8),  ROW(i16), ROW(i32), ROW(i64),
        ROW(u8),  ROW(u16), ROW(u32), ROW(u64), ROW(b8),
    };
    return table[from][to];
}
