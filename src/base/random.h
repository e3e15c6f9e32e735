// Random numbers: Philox 4x32-10 as TensorFlow's ops define it, entropy of the platform, and a small
// generator for tests.
#ifndef BD_BASE_RANDOM_H
#define BD_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

// ---- Philox 4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC'11) ----

typedef struct bd_philox {
    uint32_t key[2];
    uint32_t counter[4]; // a 128-bit number, lowest word first
} bd_philox;

// Key = seed; counter words 2 and 3 = seed2, words 0 and 1 = 0.
bd_philox bd_philox_init(uint64_t seed, uint64_t seed2);

// Generates the four words of the current counter and increments the counter.
void bd_philox_next4(bd_philox *p, uint32_t out[4]);

// Skips `steps` steps (of four words), with carry through all 128 bits.
void bd_philox_skip(bd_philox *p, uint64_t steps);

// ---- Entropy ----

// From the operating system (from the seed under simulation). Never fails. Any thread.
void bd_random_bytes(void *out, size_t len);
uint64_t bd_random_u64(void);

// ---- A small fast generator (xoshiro256**) for tests and simulation, not for secrets ----

typedef struct bd_rng {
    uint64_t s[4];
} bd_rng;

bd_rng bd_rng_init(uint64_t seed);
uint64_t bd_rng_next(bd_rng *r);
uint64_t bd_rng_below(bd_rng *r, uint64_t n); // uniform in [0, n), n > 0
double bd_rng_double(bd_rng *r);              // uniform in [0, 1)

#endif
