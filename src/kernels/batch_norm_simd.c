// Statistics of channels by plain loops. Sums are kept in double, so that the order of summation does not
// matter.
#include "kernels/batch_norm.h"

#include "base/interrupt.h"
#include "kernels/simd.h"
#include "kernels/simd_loop.h"
#include <string.h>

// Rows are often as short as a vector of the processor: one question about the step's end for so many.
#define ROWS 64

static inline bool is_over(int64_t row)
{
    return row % ROWS == 0 && bd_interrupted();
}

// Runs a statement for each element `i` of channel `c`. Channels that come last are the inner loop, whose
// iterations are independent; those of the other one add to the same sum.
#define FOR_ELEMENTS(v, STATEMENT)                                                                           \
    if ((v)->inner == 1) {                                                                                   \
        for (int64_t row = 0; row < (v)->outer && !is_over(row); row++) {                                    \
            BD_VECTORIZE                                                                                     \
            for (int64_t c = 0; c < (v)->channels; c++) {                                                    \
                int64_t i = row * (v)->channels + c;                                                         \
                STATEMENT;                                                                                   \
            }                                                                                                \
        }                                                                                                    \
    } else {                                                                                                 \
        for (int64_t plane = 0; plane < (v)->outer * (v)->channels && !bd_interrupted(); plane++) {          \
            int64_t c = plane % (v)->channels;                                                               \
            for (int64_t i = plane * (v)->inner; i < (plane + 1) * (v)->inner; i++) {                        \
                STATEMENT;                                                                                   \
            }                                                                                                \
        }                                                                                                    \
    }

static void clear(const bd_channels *v, double *to)
{
    memset(to, 0, (size_t)v->channels * sizeof *to);
}

static void sums(const bd_channels *v, const float *restrict x, double *restrict to)
{
    clear(v, to);
    FOR_ELEMENTS(v, to[c] += (double)x[i])
}

static void squares(const bd_channels *v, const float *restrict x, const float *restrict center,
                    double *restrict to)
{
    clear(v, to);
    FOR_ELEMENTS(v, double d = (double)(x[i] - center[c]); to[c] += d * d)
}

static void products(const bd_channels *v, const float *restrict x, const float *restrict dy,
                     const float *restrict center, double *restrict to)
{
    clear(v, to);
    FOR_ELEMENTS(v, to[c] += (double)dy[i] * (double)(x[i] - center[c]))
}

static void normalize(const bd_channels *v, const float *x, const float *center, const float *factor,
                      const float *offset, float *y)
{
    FOR_ELEMENTS(v, y[i] = (x[i] - center[c]) * factor[c] + offset[c])
}

static void normalize_grad(const bd_channels *v, const float *x, const float *dy, const float *center,
                           const float *factor, const float *dy_mean, const float *slope, float *dx)
{
    FOR_ELEMENTS(v, dx[i] = (dy[i] - dy_mean[c] - (x[i] - center[c]) * slope[c]) * factor[c])
}

const bd_channel_fns BD_SIMD_NAME(bd_channel_table) = {sums, squares, products, normalize, normalize_grad};
