// Sorting that may be interrupted.
#ifndef BD_KERNELS_SORT_H
#define BD_KERNELS_SORT_H

#include <stddef.h>
#include <stdint.h>

// Sorts like qsort_r. When it is interrupted (base/interrupt.h), the items are in any order, and some may be
// there twice in the place of others.
void bd_sort(void *items, int64_t count, size_t size, int (*compare)(const void *a, const void *b, void *arg),
             void *arg);

#endif
