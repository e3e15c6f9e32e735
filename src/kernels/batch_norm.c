// Statistics of channels by plain loops. Sums are kept in double, so that the order of summation does not
// matter.
#include "kernels/batch_norm.h"

#include "base/interrupt.h"
#include <string.h>

// Runs a statement for each element `i` of channel `c`; channels that come last are the inner loop, which
// vectorizes.
#define FOR_ELEMENTS(v, STATEMENT)                                                                           \
    if ((v)->inner == 1) {                                                                                   \
        for (int64_t row = 0; row < (v)->outer && !bd_interrupted(); row++) {                                \
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

static void clear(const bd_channels *v, double *sums)
{
    memset(sums, 0, (size_t)v->channels * sizeof *sums);
}

void bd_channel_sums(const bd_channels *v, const float *restrict x, double *restrict sums)
{
    clear(v, sums);
    FOR_ELEMENTS(v, sums[c] += (double)x[i])
}

void bd_channel_squares(const bd_channels *v, const float *restrict x, const float *restrict center,
                        double *restrict sums)
{
    clear(v, sums);
    FOR_ELEMENTS(v, double d = (double)(x[i] - center[c]); sums[c] += d * d)
}

void bd_channel_products(const bd_channels *v, const float *restrict x, const float *restrict dy,
                         const float *restrict center, double *restrict sums)
{
    clear(v, sums);
    FOR_ELEMENTS(v, sums[c] += (double)dy[i] * (double)(x[i] - center[c]))
}

void bd_channel_normalize(const bd_channels *v, const float *x, const float *center, const float *factor,
                          const float *offset, float *y)
{
    FOR_ELEMENTS(v, y[i] = (x[i] - center[c]) * factor[c] + offset[c])
}

void bd_channel_normalize_grad(const bd_channels *v, const float *x, const float *dy, const float *center,
                               const float *factor, const float *dy_mean, const float *slope, float *dx)
{
    FOR_ELEMENTS(v, dx[i] = (dy[i] - dy_mean[c] - (x[i] - center[c]) * slope[c]) * factor[c])
}
