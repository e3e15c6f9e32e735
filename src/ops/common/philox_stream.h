// One random word after the other from a Philox generator, as TensorFlow's single-sample adapter takes them.
#ifndef BD_OPS_COMMON_PHILOX_STREAM_H
#define BD_OPS_COMMON_PHILOX_STREAM_H

#include "base/random.h"

typedef struct bd_philox_stream {
    bd_philox generator;
    uint32_t words[4];
    int left; // of them
} bd_philox_stream;

static inline bd_philox_stream bd_philox_stream_init(uint64_t seed, uint64_t seed2)
{
    return (bd_philox_stream){.generator = bd_philox_init(seed, seed2)};
}

static inline uint32_t bd_philox_stream_next(bd_philox_stream *s)
{
    if (s->left == 0) {
        bd_philox_next4(&s->generator, s->words);
        s->left = 4;
    }
    return s->words[4 - s->left--];
}

// Replaces two seeds of 0 by random seeds. Returns whether it did.
static inline bool bd_seeds_or_random(int64_t *seed, int64_t *seed2)
{
    if (*seed != 0 || *seed2 != 0) return false;
    *seed = (int64_t)bd_random_u64();
    *seed2 = (int64_t)bd_random_u64();
    return true;
}

#endif
