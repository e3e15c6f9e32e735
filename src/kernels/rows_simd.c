// Softmax and cross entropy of rows.
//
// Rows are often short (10 classes), so the exponentials are taken over a block of rows at once: first every
// row minus its maximum goes to the output, then one loop over all of them takes exp, then come the sums.
#include "kernels/math_simd.h"
#include "kernels/simd.h"
#include "kernels/simd_loop.h"

#define BLOCK 4096 // elements of a block of rows: 16 KB of float, half of a first cache
#define LANES 8    // partial sums side by side
#define WIDE 64    // partial maxima side by side

#define exp_f64 exp
#define log_f64 log

static inline int64_t block_rows(int64_t rows, int64_t cols)
{
    int64_t block = cols < BLOCK ? BLOCK / cols : 1;
    return rows < block ? rows : block;
}

// Everything for one type: T, and the suffix S of its exp and log.
#define ROWS(T, S)                                                                                           \
    static T sum_lanes_##S(const T *lanes)                                                                   \
    {                                                                                                        \
        return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +                                             \
               ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));                                              \
    }                                                                                                        \
    static T sum_##S(const T *xs, int64_t n)                                                                 \
    {                                                                                                        \
        T lanes[LANES] = {0};                                                                                \
        int64_t i = 0;                                                                                       \
        for (; i + LANES <= n; i += LANES) {                                                                 \
            for (int l = 0; l < LANES; l++)                                                                  \
                lanes[l] += xs[i + l];                                                                       \
        }                                                                                                    \
        for (; i < n; i++)                                                                                   \
            lanes[i % LANES] += xs[i];                                                                       \
        return sum_lanes_##S(lanes);                                                                         \
    }                                                                                                        \
    /* The sum of labels * z; a label of 0 counts as 0 even where z is infinite. */                          \
    static T dot_##S(const T *labels, const T *z, int64_t n)                                                 \
    {                                                                                                        \
        T lanes[LANES] = {0};                                                                                \
        int64_t i = 0;                                                                                       \
        for (; i + LANES <= n; i += LANES) {                                                                 \
            for (int l = 0; l < LANES; l++)                                                                  \
                lanes[l] += labels[i + l] != 0 ? labels[i + l] * z[i + l] : 0;                               \
        }                                                                                                    \
        for (; i < n; i++)                                                                                   \
            lanes[i % LANES] += labels[i] != 0 ? labels[i] * z[i] : 0;                                       \
        return sum_lanes_##S(lanes);                                                                         \
    }                                                                                                        \
    static T max_##S(const T *xs, int64_t n)                                                                 \
    {                                                                                                        \
        T max = xs[0], lanes[WIDE];                                                                          \
        int64_t i = 1;                                                                                       \
        if (n >= 2 * WIDE) {                                                                                 \
            for (int l = 0; l < WIDE; l++)                                                                   \
                lanes[l] = max;                                                                              \
            for (i = 0; i + WIDE <= n; i += WIDE) {                                                          \
                BD_VECTORIZE                                                                                 \
                for (int l = 0; l < WIDE; l++)                                                               \
                    lanes[l] = lanes[l] < xs[i + l] ? xs[i + l] : lanes[l];                                  \
            }                                                                                                \
            for (int l = 0; l < WIDE; l++)                                                                   \
                max = max < lanes[l] ? lanes[l] : max;                                                       \
        }                                                                                                    \
        for (; i < n; i++)                                                                                   \
            max = max < xs[i] ? xs[i] : max;                                                                 \
        return max;                                                                                          \
    }                                                                                                        \
    /* y = x - max(x), row by row. */                                                                        \
    static void center_##S(const T *xs, T *ys, int64_t rows, int64_t cols)                                   \
    {                                                                                                        \
        for (int64_t r = 0; r < rows; r++, xs += cols, ys += cols) {                                         \
            T max = max_##S(xs, cols);                                                                       \
            BD_VECTORIZE                                                                                     \
            for (int64_t c = 0; c < cols; c++)                                                               \
                ys[c] = xs[c] - max;                                                                         \
        }                                                                                                    \
    }                                                                                                        \
    static void exp_all_##S(const T *xs, T *ys, int64_t n)                                                   \
    {                                                                                                        \
        BD_VECTORIZE                                                                                         \
        for (int64_t i = 0; i < n; i++)                                                                      \
            ys[i] = exp_##S(xs[i]);                                                                          \
    }                                                                                                        \
    static void softmax_##S(const void *xp, void *yp, int64_t rows, int64_t cols)                            \
    {                                                                                                        \
        const T *xs = xp;                                                                                    \
        T *ys = yp;                                                                                          \
        if (cols == 0) return;                                                                               \
        for (int64_t block; rows > 0; rows -= block, xs += block * cols) {                                   \
            block = block_rows(rows, cols);                                                                  \
            center_##S(xs, ys, block, cols);                                                                 \
            exp_all_##S(ys, ys, block *cols);                                                                \
            for (int64_t r = 0; r < block; r++, ys += cols) {                                                \
                T scale = 1 / sum_##S(ys, cols);                                                             \
                BD_VECTORIZE                                                                                 \
                for (int64_t c = 0; c < cols; c++)                                                           \
                    ys[c] *= scale;                                                                          \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void log_softmax_##S(const void *xp, void *yp, int64_t rows, int64_t cols)                        \
    {                                                                                                        \
        T *ys = yp, p[BLOCK];                                                                                \
        if (cols == 0) return;                                                                               \
        center_##S(xp, ys, rows, cols);                                                                      \
        for (int64_t r = 0; r < rows; r++, ys += cols) {                                                     \
            T sum = 0;                                                                                       \
            for (int64_t at = 0; at < cols; at += BLOCK) {                                                   \
                int64_t n = cols - at < BLOCK ? cols - at : BLOCK;                                           \
                exp_all_##S(ys + at, p, n);                                                                  \
                sum += sum_##S(p, n);                                                                        \
            }                                                                                                \
            T log_sum = log_##S(sum);                                                                        \
            BD_VECTORIZE                                                                                     \
            for (int64_t c = 0; c < cols; c++)                                                               \
                ys[c] -= log_sum;                                                                            \
        }                                                                                                    \
    }                                                                                                        \
    /* loss = sum labels * (log(sum exp z) - z), with z = x - max(x). */                                     \
    static void cross_entropy_##S(const void *xp, const void *lp, void *loss_p, void *back_p, int64_t rows,  \
                                  int64_t cols)                                                              \
    {                                                                                                        \
        const T *xs = xp, *labels = lp;                                                                      \
        T *loss = loss_p, *back = back_p;                                                                    \
        for (int64_t r = 0; cols == 0 && r < rows; r++)                                                      \
            loss[r] = 0;                                                                                     \
        if (cols == 0) return;                                                                               \
        for (int64_t block; rows > 0; rows -= block, xs += block * cols) {                                   \
            block = block_rows(rows, cols);                                                                  \
            center_##S(xs, back, block, cols);                                                               \
            for (int64_t r = 0; r < block; r++)                                                              \
                loss[r] = -dot_##S(labels + r * cols, back + r * cols, cols);                                \
            exp_all_##S(back, back, block *cols);                                                            \
            for (int64_t r = 0; r < block; r++, back += cols, labels += cols, loss++) {                      \
                T sum = sum_##S(back, cols), scale = 1 / sum;                                                \
                *loss += sum_##S(labels, cols) * log_##S(sum);                                               \
                BD_VECTORIZE                                                                                 \
                for (int64_t c = 0; c < cols; c++)                                                           \
                    back[c] = back[c] * scale - labels[c];                                                   \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void sparse_cross_entropy_##S(const void *xp, const int64_t *labels, void *loss_p, void *back_p,  \
                                         int64_t rows, int64_t cols)                                         \
    {                                                                                                        \
        const T *xs = xp;                                                                                    \
        T *loss = loss_p, *back = back_p;                                                                    \
        if (cols == 0) return;                                                                               \
        for (int64_t block; rows > 0; rows -= block, xs += block * cols) {                                   \
            block = block_rows(rows, cols);                                                                  \
            center_##S(xs, back, block, cols);                                                               \
            for (int64_t r = 0; r < block; r++)                                                              \
                loss[r] = -back[r * cols + labels[r]];                                                       \
            exp_all_##S(back, back, block *cols);                                                            \
            for (int64_t r = 0; r < block; r++, back += cols, labels++, loss++) {                            \
                T sum = sum_##S(back, cols), scale = 1 / sum;                                                \
                *loss += log_##S(sum);                                                                       \
                BD_VECTORIZE                                                                                 \
                for (int64_t c = 0; c < cols; c++)                                                           \
                    back[c] *= scale;                                                                        \
                back[*labels] -= 1;                                                                          \
            }                                                                                                \
        }                                                                                                    \
    }

ROWS(float, f32)
ROWS(double, f64)

const bd_row_fns BD_SIMD_NAME(bd_row_table)[BD_F64 + 1] = {
    {softmax_f32, log_softmax_f32, cross_entropy_f32, sparse_cross_entropy_f32},
    {softmax_f64, log_softmax_f64, cross_entropy_f64, sparse_cross_entropy_f64},
};
