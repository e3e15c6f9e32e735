// Running sums and products along an axis.
#ifndef BD_KERNELS_SCAN_H
#define BD_KERNELS_SCAN_H

#include "kernels/number.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct bd_scan {
    bool product;   // else the sum
    bool exclusive; // of the elements before each one, without itself
    bool reverse;   // from the end
    int64_t outer, count, inner;
} bd_scan;

// y[i,j,k] = the sum (or product) of x[i,0..j,k]; both are [outer, count, inner], and y may be x.
void bd_scan_run(const bd_scan *s, bd_number type, const void *x, void *y);

#endif
