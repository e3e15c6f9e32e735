// Normalization of batches: statistics of the channels of float images, normalized images and their
// gradients.
#ifndef BD_KERNELS_BATCH_NORM_H
#define BD_KERNELS_BATCH_NORM_H

#include <stdint.h>

// Images as [outer, channels, inner]; inner is 1 where channels come last.
typedef struct bd_channels {
    int64_t outer, channels, inner;
} bd_channels;

// sums[c]: the elements of channel c.
void bd_channel_sums(const bd_channels *v, const float *x, double *sums);
// sums[c]: the squared distances of the elements of channel c from center[c].
void bd_channel_squares(const bd_channels *v, const float *x, const float *center, double *sums);
// sums[c]: dy (x - center[c]) over the elements of channel c.
void bd_channel_products(const bd_channels *v, const float *x, const float *dy, const float *center,
                         double *sums);

// y = (x - center) factor + offset, a number of each for a channel; y may be x.
void bd_channel_normalize(const bd_channels *v, const float *x, const float *center, const float *factor,
                          const float *offset, float *y);
// dx = (dy - dy_mean - (x - center) slope) factor; dx may be dy.
void bd_channel_normalize_grad(const bd_channels *v, const float *x, const float *dy, const float *center,
                               const float *factor, const float *dy_mean, const float *slope, float *dx);

#endif
