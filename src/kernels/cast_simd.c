// Conversion between number types: one loop for each pair.
#include "kernels/cast.h"

#include "base/half.h"
#include "kernels/simd.h"
#include "kernels/simd_loop.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>

#define LOOP(FROM, F, TO, T, EXPR)                                                                           \
    static void FROM##_##TO(const void *restrict xp, void *restrict yp, int64_t n)                           \
    {                                                                                                        \
        const F *xs = xp;                                                                                    \
        T *ys = yp;                                                                                          \
        BD_VECTORIZE                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            F x = xs[i];                                                                                     \
            ys[i] = (T)(EXPR);                                                                               \
        }                                                                                                    \
    }

// C leaves the conversion of a value out of range undefined. Here it is what TensorFlow's kernels give on
// x86: the lower bits of the signed integer that the processor converts to, which is its least for what is
// beyond that, and for NaN. The limits are exact in either floating type.
#define AS_I32(F) (int32_t)(x > -0x1p31 && x < 0x1p31 ? x : (F)INT32_MIN)
#define AS_I64(F) (int64_t)(x > -0x1p63 && x < 0x1p63 ? x : (F)INT64_MIN)
#define AS_U64(F) (x < 0x1p63 || isnan(x) ? (uint64_t)AS_I64(F) : x < 0x1p64 ? (uint64_t)x : 0)

#define FROM_FLOAT(FROM, F)                                                                                  \
    LOOP(FROM, F, f32, float, x)                                                                             \
    LOOP(FROM, F, f64, double, x)                                                                            \
    LOOP(FROM, F, i8, int8_t, AS_I32(F))                                                                     \
    LOOP(FROM, F, i16, int16_t, AS_I32(F))                                                                   \
    LOOP(FROM, F, i32, int32_t, AS_I32(F))                                                                   \
    LOOP(FROM, F, i64, int64_t, AS_I64(F))                                                                   \
    LOOP(FROM, F, u8, uint8_t, AS_I32(F))                                                                    \
    LOOP(FROM, F, u16, uint16_t, AS_I32(F))                                                                  \
    LOOP(FROM, F, u32, uint32_t, AS_I64(F))                                                                  \
    LOOP(FROM, F, u64, uint64_t, AS_U64(F))                                                                  \
    LOOP(FROM, F, b8, bool, x != 0)                                                                          \
    LOOP(FROM, F, c64, float complex, x)                                                                     \
    LOOP(FROM, F, c128, double complex, x)

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
    LOOP(FROM, F, b8, bool, x != 0)                                                                          \
    LOOP(FROM, F, c64, float complex, x)                                                                     \
    LOOP(FROM, F, c128, double complex, x)

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

// ---- 16-bit floating types, a piece at a time through float ----

#define PIECE 1024

#define TO_SHORT(FROM, F, TO)                                                                                \
    static void FROM##_##TO(const void *restrict xp, void *restrict yp, int64_t n)                           \
    {                                                                                                        \
        const F *xs = xp;                                                                                    \
        uint16_t *ys = yp;                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                                      \
            ys[i] = bd_##TO##_of_float((float)xs[i]);                                                        \
    }

#define FROM_SHORT_TO(FROM, TO, T)                                                                           \
    static void FROM##_##TO(const void *restrict xp, void *restrict yp, int64_t n)                           \
    {                                                                                                        \
        const uint16_t *xs = xp;                                                                             \
        T *ys = yp;                                                                                          \
        float piece[PIECE];                                                                                  \
        for (int64_t at = 0; at < n; at += PIECE) {                                                          \
            int64_t len = n - at < PIECE ? n - at : PIECE;                                                   \
            for (int64_t i = 0; i < len; i++)                                                                \
                piece[i] = bd_float_of_##FROM(xs[at + i]);                                                   \
            f32_##TO(piece, ys + at, len);                                                                   \
        }                                                                                                    \
    }

#define BOTH_SHORT(FROM, F) TO_SHORT(FROM, F, half) TO_SHORT(FROM, F, bfloat16)
BOTH_SHORT(f32, float)
BOTH_SHORT(f64, double)
BOTH_SHORT(i8, int8_t)
BOTH_SHORT(i16, int16_t)
BOTH_SHORT(i32, int32_t)
BOTH_SHORT(i64, int64_t)
BOTH_SHORT(u8, uint8_t)
BOTH_SHORT(u16, uint16_t)
BOTH_SHORT(u32, uint32_t)
BOTH_SHORT(u64, uint64_t)
BOTH_SHORT(b8, bool)

#define FROM_SHORT(FROM)                                                                                     \
    FROM_SHORT_TO(FROM, f32, float)                                                                          \
    FROM_SHORT_TO(FROM, f64, double)                                                                         \
    FROM_SHORT_TO(FROM, i8, int8_t)                                                                          \
    FROM_SHORT_TO(FROM, i16, int16_t)                                                                        \
    FROM_SHORT_TO(FROM, i32, int32_t)                                                                        \
    FROM_SHORT_TO(FROM, i64, int64_t)                                                                        \
    FROM_SHORT_TO(FROM, u8, uint8_t)                                                                         \
    FROM_SHORT_TO(FROM, u16, uint16_t)                                                                       \
    FROM_SHORT_TO(FROM, u32, uint32_t)                                                                       \
    FROM_SHORT_TO(FROM, u64, uint64_t)                                                                       \
    FROM_SHORT_TO(FROM, b8, bool)                                                                            \
    FROM_SHORT_TO(FROM, half, uint16_t)                                                                      \
    FROM_SHORT_TO(FROM, bfloat16, uint16_t)                                                                  \
    FROM_SHORT_TO(FROM, c64, float complex)                                                                  \
    FROM_SHORT_TO(FROM, c128, double complex)
FROM_SHORT(half)
FROM_SHORT(bfloat16)

// ---- Complex numbers: the real part, a piece at a time ----

#define FROM_COMPLEX_TO(FROM, F, REAL, REAL_T, TO, T)                                                        \
    static void FROM##_##TO(const void *restrict xp, void *restrict yp, int64_t n)                           \
    {                                                                                                        \
        const F *xs = xp;                                                                                    \
        T *ys = yp;                                                                                          \
        REAL_T piece[PIECE];                                                                                 \
        for (int64_t at = 0; at < n; at += PIECE) {                                                          \
            int64_t len = n - at < PIECE ? n - at : PIECE;                                                   \
            for (int64_t i = 0; i < len; i++)                                                                \
                piece[i] = (REAL_T)xs[at + i];                                                               \
            REAL##_##TO(piece, ys + at, len);                                                                \
        }                                                                                                    \
    }

#define FROM_COMPLEX(FROM, F, REAL, REAL_T)                                                                  \
    LOOP(FROM, F, c64, float complex, x)                                                                     \
    LOOP(FROM, F, c128, double complex, x)                                                                   \
    LOOP(FROM, F, f32, float, x)                                                                             \
    LOOP(FROM, F, f64, double, x)                                                                            \
    FROM_COMPLEX_TO(FROM, F, REAL, REAL_T, i8, int8_t)                                                       \
    FROM_COMPLEX_TO(FROM, F, REAL, REAL_T, i16, int16_t)                                                     \
    FROM_COMPLEX_TO(FROM, F, REAL, REAL_T, i32, int32_t)                                                     \
    FROM_COMPLEX_TO(FROM, F, REAL, REAL_T, i64, int64_t)                                                     \
    FROM_COMPLEX_TO(FROM, F, REAL, REAL_T, u8, uint8_t)                                                      \
    FROM_COMPLEX_TO(FROM, F, REAL, REAL_T, u16, uint16_t)                                                    \
    FROM_COMPLEX_TO(FROM, F, REAL, REAL_T, u32, uint32_t)                                                    \
    FROM_COMPLEX_TO(FROM, F, REAL, REAL_T, u64, uint64_t)                                                    \
    FROM_COMPLEX_TO(FROM, F, REAL, REAL_T, b8, bool)                                                         \
    FROM_COMPLEX_TO(FROM, F, REAL, REAL_T, half, uint16_t)                                                   \
    FROM_COMPLEX_TO(FROM, F, REAL, REAL_T, bfloat16, uint16_t)
FROM_COMPLEX(c64, float complex, f32, float)
FROM_COMPLEX(c128, double complex, f64, double)

#define ROW(FROM)                                                                                            \
    {                                                                                                        \
        FROM##_f32, FROM##_f64, FROM##_i8, FROM##_i16, FROM##_i32, FROM##_i64, FROM##_u8, FROM##_u16,        \
            FROM##_u32, FROM##_u64, FROM##_b8, FROM##_half, FROM##_bfloat16, FROM##_c64, FROM##_c128         \
    }

const bd_cast_fn BD_SIMD_NAME(bd_cast_table)[BD_CAST_COUNT][BD_CAST_COUNT] = {
    ROW(f32), ROW(f64), ROW(i8), ROW(i16),  ROW(i32),      ROW(i64), ROW(u8),   ROW(u16),
    ROW(u32), ROW(u64), ROW(b8), ROW(half), ROW(bfloat16), ROW(c64), ROW(c128),
};
