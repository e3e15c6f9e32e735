// Where the greatest (or least) elements are.
#ifndef BD_KERNELS_ARGMAX_H
#define BD_KERNELS_ARGMAX_H

#include "kernels/number.h"
#include <stdbool.h>
#include <stdint.h>

// at [outer, inner] = the j of the greatest (`least`: least) x[i,j,k] of x [outer, count, inner], the first
// of equals; count > 0. A nan counts as neither greater nor less.
void bd_argmax(bd_number type, bool least, const void *x, int64_t *at, int64_t outer, int64_t count,
               int64_t inner);

#endif
