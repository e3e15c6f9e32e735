// Copying blocks of many dimensions between memory of any layout: slices, transposes, pads, concatenations.
#ifndef BD_KERNELS_STRIDED_H
#define BD_KERNELS_STRIDED_H

#include <stddef.h>
#include <stdint.h>

// Twice a tensor's: a tiled copy has two for each dimension.
#define BD_STRIDED_RANK_MAX 24

// A block of dims[0] x ... x dims[rank - 1] elements and how to go through two memories; strides count
// elements and may be 0 or negative.
typedef struct bd_strided {
    int rank; // 0: one element
    int64_t dims[BD_STRIDED_RANK_MAX];
    int64_t to_strides[BD_STRIDED_RANK_MAX], from_strides[BD_STRIDED_RANK_MAX];
} bd_strided;

// `n` elements that follow each other in both memories.
#define BD_STRIDED_DENSE(n)                                                                                  \
    (bd_strided)                                                                                             \
    {                                                                                                        \
        .rank = 1, .dims = {n}, .to_strides = {1}, .from_strides = { 1 }                                     \
    }

// One run of a walk: `n` elements, the first at these positions, each a stride on.
typedef void (*bd_strided_run_fn)(void *arg, int64_t to_at, int64_t to_stride, int64_t from_at,
                                  int64_t from_stride, int64_t n);

// Visits every element of the block once, in runs as long as the layouts allow.
void bd_strided_walk(const bd_strided *block, bd_strided_run_fn run, void *arg);

// Copies plain elements of `size` bytes; the memories must not overlap. Both pointers are those of element 0
// of the block.
void bd_strided_copy(void *to, const void *from, size_t size, const bd_strided *block);

#endif
