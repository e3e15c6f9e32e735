// Fills memory with random numbers of a distribution, equal element for element to TensorFlow's Philox
// streams.
//
// Elements are drawn in groups: a group is the result of one draw of the distribution, and its place in the
// stream depends on its number alone, so any division of the groups among threads gives the same numbers.
#ifndef BD_KERNELS_RANDOM_FILL_H
#define BD_KERNELS_RANDOM_FILL_H

#include "base/random.h"

typedef struct bd_random_fill {
    bd_philox start; // the stream at group 0
    void *out;
    int64_t count; // elements; the last group may be cut short
    // Of the integer distributions: the least value, and the number of values.
    int64_t low;
    uint64_t range;
} bd_random_fill;

// Fills the elements of groups [from, to). Any thread.
typedef void (*bd_random_fn)(const bd_random_fill *fill, int64_t from, int64_t to);

typedef struct bd_random_kind {
    bd_random_fn fill;
    int group; // elements a group
} bd_random_kind;

// Uniform in [0, 1).
extern const bd_random_kind bd_random_uniform_f32, bd_random_uniform_f64;
extern const bd_random_kind bd_random_uniform_half, bd_random_uniform_bfloat16;
// Standard normal (Box-Muller), and the same without values of an absolute value of 2 or more.
extern const bd_random_kind bd_random_normal_f32, bd_random_normal_f64;
extern const bd_random_kind bd_random_truncated_f32, bd_random_truncated_f64;
// Uniform in [low, low + range).
extern const bd_random_kind bd_random_int_i32, bd_random_int_i64;
// Any integer of 32 or 64 bits.
extern const bd_random_kind bd_random_full_32, bd_random_full_64;

#endif
