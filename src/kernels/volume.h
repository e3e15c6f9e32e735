// Sizes of volumes: triples of depth, height and width. An image is a volume of depth 1.
#ifndef BD_KERNELS_VOLUME_H
#define BD_KERNELS_VOLUME_H

#include <stdbool.h>
#include <stdint.h>

static inline int64_t bd_volume(const int64_t size[3])
{
    return size[0] * size[1] * size[2];
}

// The product of three sizes that may be as large as they like.
static inline double bd_volume_estimate(const int64_t size[3])
{
    return (double)size[0] * (double)size[1] * (double)size[2];
}

static inline bool bd_volume_is_empty(const int64_t size[3])
{
    return size[0] <= 0 || size[1] <= 0 || size[2] <= 0;
}

#endif
