// Reductions of the middle dimension of x [outer, count, inner].
//
// Along contiguous memory (inner = 1) WIDE partial results run side by side; across rows a tile of columns
// collects ROWS rows. Longer ones are halved and the halves' results joined, so a float sum's error grows
// with BLOCK / WIDE (ROWS) and the logarithm of the count, not with the count; and each loop is one the
// compiler vectorizes.
#include "kernels/simd.h"
#include "kernels/simd_loop.h"
#include <math.h>
#include <string.h>

#define WIDE 64    // results side by side along a long row: some registers of each instruction set
#define LANES 8    // the same along a short row
#define BLOCK 4096 // elements of a row
#define ROWS 128   // rows of a tile
#define TILE 256   // columns of a tile: at most 2 KB, in the first cache
#define NARROW 32  // rows shorter than this are taken several at a time

// One reduction: START is its result over nothing, TAKE takes element x into a, JOIN joins partial results a
// and b.
#define REDUCE(NAME, T, START, TAKE, JOIN)                                                                   \
    /* Takes `rows` rows of `width` columns, `stride` apart, into tile. */                                   \
    static inline __attribute__((always_inline)) void tile_##NAME(const T *xs, int64_t rows, int64_t width,  \
                                                                  int64_t stride, T *restrict tile)          \
    {                                                                                                        \
        for (int64_t c = 0; c < width; c++)                                                                  \
            tile[c] = START;                                                                                 \
        for (int64_t r = 0; r < rows; r++, xs += stride) {                                                   \
            BD_VECTORIZE                                                                                     \
            for (int64_t c = 0; c < width; c++) {                                                            \
                T a = tile[c], x = xs[c];                                                                    \
                tile[c] = (T)(TAKE);                                                                         \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static inline __attribute__((always_inline)) T lanes_##NAME(const T *xs, int64_t n, int width)           \
    {                                                                                                        \
        T lanes[WIDE];                                                                                       \
        tile_##NAME(xs, n / width, width, width, lanes);                                                     \
        for (width /= 2; width > 0; width /= 2) {                                                            \
            for (int l = 0; l < width; l++) {                                                                \
                T a = lanes[l], b = lanes[l + width];                                                        \
                lanes[l] = (T)(JOIN);                                                                        \
            }                                                                                                \
        }                                                                                                    \
        return lanes[0];                                                                                     \
    }                                                                                                        \
    static T block_##NAME(const T *xs, int64_t n)                                                            \
    {                                                                                                        \
        T a = START;                                                                                         \
        if (n >= 8 * WIDE) {                                                                                 \
            a = lanes_##NAME(xs, n, WIDE);                                                                   \
            xs += n - n % WIDE;                                                                              \
            n %= WIDE;                                                                                       \
        }                                                                                                    \
        if (n >= 2 * LANES) {                                                                                \
            T b = lanes_##NAME(xs, n, LANES);                                                                \
            a = (T)(JOIN);                                                                                   \
            xs += n - n % LANES;                                                                             \
            n %= LANES;                                                                                      \
        }                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            T x = xs[i];                                                                                     \
            a = (T)(TAKE);                                                                                   \
        }                                                                                                    \
        return a;                                                                                            \
    }                                                                                                        \
    static T row_##NAME(const T *xs, int64_t n)                                                              \
    {                                                                                                        \
        if (n <= BLOCK) return block_##NAME(xs, n);                                                          \
        int64_t half = (n / 2 + BLOCK - 1) / BLOCK * BLOCK;                                                  \
        T a = row_##NAME(xs, half), b = row_##NAME(xs + half, n - half);                                     \
        return (T)(JOIN);                                                                                    \
    }                                                                                                        \
    static void join_##NAME(const T *part, T *ys, int64_t n)                                                 \
    {                                                                                                        \
        BD_VECTORIZE                                                                                         \
        for (int64_t c = 0; c < n; c++) {                                                                    \
            T a = ys[c], b = part[c];                                                                        \
            ys[c] = (T)(JOIN);                                                                               \
        }                                                                                                    \
    }                                                                                                        \
    /* Any number of rows of at most TILE columns. */                                                        \
    static void rows_##NAME(const T *xs, int64_t rows, int64_t width, int64_t stride, T *ys)                 \
    {                                                                                                        \
        if (rows <= ROWS) {                                                                                  \
            tile_##NAME(xs, rows, width, stride, ys);                                                        \
            return;                                                                                          \
        }                                                                                                    \
        T part[TILE];                                                                                        \
        int64_t half = rows / 2;                                                                             \
        rows_##NAME(xs, half, width, stride, ys);                                                            \
        rows_##NAME(xs + half * stride, rows - half, width, stride, part);                                   \
        join_##NAME(part, ys, width);                                                                        \
    }                                                                                                        \
    /* Columns of [count, inner]. */                                                                         \
    static void columns_##NAME(const T *xs, T *ys, int64_t count, int64_t inner)                             \
    {                                                                                                        \
        for (int64_t c = 0; c < inner; c += TILE)                                                            \
            rows_##NAME(xs + c, count, inner - c < TILE ? inner - c : TILE, inner, ys + c);                  \
    }                                                                                                        \
    /* The same of short rows: `together` rows are one of the loop's, whose pieces are joined at the end. */ \
    static void narrow_columns_##NAME(const T *xs, T *ys, int64_t count, int64_t inner)                      \
    {                                                                                                        \
        T wide[2 * NARROW];                                                                                  \
        int64_t together = 2 * NARROW / inner, many = count - count % together;                              \
        rows_##NAME(xs + many * inner, count - many, inner, inner, ys);                                      \
        if (many == 0) return;                                                                               \
        rows_##NAME(xs, many / together, together * inner, together * inner, wide);                          \
        for (int64_t p = 0; p < together; p++)                                                               \
            join_##NAME(wide + p * inner, ys, inner);                                                        \
    }                                                                                                        \
    static void NAME(const void *xp, void *yp, int64_t outer, int64_t count, int64_t inner)                  \
    {                                                                                                        \
        const T *xs = xp;                                                                                    \
        T *ys = yp;                                                                                          \
        if (inner == 0) return;                                                                              \
        for (int64_t i = 0; i < outer; i++, xs += count * inner, ys += inner) {                              \
            if (inner == 1) {                                                                                \
                *ys = row_##NAME(xs, count);                                                                 \
            } else if (inner < NARROW) {                                                                     \
                narrow_columns_##NAME(xs, ys, count, inner);                                                 \
            } else {                                                                                         \
                columns_##NAME(xs, ys, count, inner);                                                        \
            }                                                                                                \
        }                                                                                                    \
    }

// Integers wrap around: they are added and multiplied without sign.
REDUCE(sum_f32, float, 0, a + x, a + b)
REDUCE(sum_f64, double, 0, a + x, a + b)
REDUCE(sum_i32, uint32_t, 0, a + x, a + b)
REDUCE(sum_i64, uint64_t, 0, a + x, a + b)
REDUCE(sum_squares_f32, float, 0, a + x * x, a + b)
REDUCE(sum_squares_f64, double, 0, a + x * x, a + b)
REDUCE(prod_f32, float, 1, a *x, a *b)
REDUCE(prod_f64, double, 1, a *x, a *b)
REDUCE(prod_i32, uint32_t, 1, a *x, a *b)
REDUCE(prod_i64, uint64_t, 1, a *x, a *b)
REDUCE(max_f32, float, -INFINITY, a < x ? x : a, a < b ? b : a)
REDUCE(max_f64, double, -(double)INFINITY, a < x ? x : a, a < b ? b : a)
REDUCE(max_i32, int32_t, INT32_MIN, a < x ? x : a, a < b ? b : a)
REDUCE(max_i64, int64_t, INT64_MIN, a < x ? x : a, a < b ? b : a)
REDUCE(min_f32, float, INFINITY, x < a ? x : a, b < a ? b : a)
REDUCE(min_f64, double, (double)INFINITY, x < a ? x : a, b < a ? b : a)
REDUCE(min_i32, int32_t, INT32_MAX, x < a ? x : a, b < a ? b : a)
REDUCE(min_i64, int64_t, INT64_MAX, x < a ? x : a, b < a ? b : a)
REDUCE(all, uint8_t, 1, a &x, a &b)
REDUCE(any, uint8_t, 0, a | x, a | b)

#define FI(NAME)                                                                                             \
    {                                                                                                        \
        NAME##_f32, NAME##_f64, NAME##_i32, NAME##_i64, NULL                                                 \
    }

const bd_reduce_fn BD_SIMD_NAME(bd_reduce_table)[BD_REDUCE_COUNT][BD_SIMD_NUMBER_COUNT] = {
    [BD_REDUCE_SUM] = FI(sum),
    [BD_REDUCE_SUM_SQUARES] = {sum_squares_f32, sum_squares_f64, NULL, NULL, NULL},
    [BD_REDUCE_PROD] = FI(prod),
    [BD_REDUCE_MAX] = FI(max),
    [BD_REDUCE_MIN] = FI(min),
    [BD_REDUCE_ALL] = {[BD_B8] = all},
    [BD_REDUCE_ANY] = {[BD_B8] = any},
};
