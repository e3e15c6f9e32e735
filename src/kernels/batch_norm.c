// Statistics of channels: the loops of batch_norm_simd.c for this processor.
#include "kernels/batch_norm.h"

#include "kernels/simd.h"

void bd_channel_sums(const bd_channels *v, const float *x, double *sums)
{
    bd_kernels()->channels->sums(v, x, sums);
}

void bd_channel_squares(const bd_channels *v, const float *x, const float *center, double *sums)
{
    bd_kernels()->channels->squares(v, x, center, sums);
}

void bd_channel_products(const bd_channels *v, const float *x, const float *dy, const float *center,
                         double *sums)
{
    bd_kernels()->channels->products(v, x, dy, center, sums);
}

void bd_channel_normalize(const bd_channels *v, const float *x, const float *center, const float *factor,
                          const float *offset, float *y)
{
    bd_kernels()->channels->normalize(v, x, center, factor, offset, y);
}

void bd_channel_normalize_grad(const bd_channels *v, const float *x, const float *dy, const float *center,
                               const float *factor, const float *dy_mean, const float *slope, float *dx)
{
    bd_kernels()->channels->normalize_grad(v, x, dy, center, factor, dy_mean, slope, dx);
}
