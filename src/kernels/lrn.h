// Local response normalization (Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural
// Networks, 2012).
#ifndef BD_KERNELS_LRN_H
#define BD_KERNELS_LRN_H

#include <stdint.h>

typedef struct bd_lrn {
    int64_t depth;  // elements of a row: the channels of a pixel
    int64_t radius; // neighbours on either side
    float bias, alpha, beta;
} bd_lrn;

// y = x / (bias + alpha sum of x^2 over the neighbours)^beta for rows [from, to). Any thread.
void bd_lrn_rows(const bd_lrn *n, const float *x, float *y, int64_t from, int64_t to);

// dx from dy, x and y.
void bd_lrn_grad_rows(const bd_lrn *n, const float *dy, const float *x, const float *y, float *dx,
                      int64_t from, int64_t to);

#endif
