// Philox 4x32-10, entropy, and xoshiro256**.
#include "base/random.h"
#include "base/platform.h"

// ---- Philox: constants of the paper ----

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u // golden ratio
#define PHILOX_W1 0xBB67AE85u // sqrt(3) - 1
enum {
    PHILOX_ROUNDS = 10
};

bd_philox bd_philox_init(uint64_t seed, uint64_t seed2)
{
    return (bd_philox){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, 0, (uint32_t)seed2, (uint32_t)(seed2 >> 32)},
    };
}

void bd_philox_next4(bd_philox *p, uint32_t out[4])
{
    uint32_t c0 = p->counter[0], c1 = p->counter[1], c2 = p->counter[2], c3 = p->counter[3];
    uint32_t k0 = p->key[0], k1 = p->key[1];
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t product0 = (uint64_t)PHILOX_M0 * c0, product1 = (uint64_t)PHILOX_M1 * c2;
        c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)product1;
        c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)product0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
    bd_philox_skip(p, 1);
}

void bd_philox_skip(bd_philox *p, uint64_t steps)
{
    uint64_t low = (uint64_t)p->counter[1] << 32 | p->counter[0];
    uint64_t high = (uint64_t)p->counter[3] << 32 | p->counter[2];
    low += steps;
    high += low < steps;
    p->counter[0] = (uint32_t)low;
    p->counter[1] = (uint32_t)(low >> 32);
    p->counter[2] = (uint32_t)high;
    p->counter[3] = (uint32_t)(high >> 32);
}

// ---- Entropy ----

void bd_random_bytes(void *out, size_t len)
{
    bd_platform_current->random_bytes(out, len);
}

uint64_t bd_random_u64(void)
{
    uint64_t value;
    bd_random_bytes(&value, sizeof value);
    return value;
}

// ---- xoshiro256** (Blackman and Vigna), seeded by splitmix64 as its authors advise ----

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

bd_rng bd_rng_init(uint64_t seed)
{
    bd_rng r;
    for (int i = 0; i < 4; i++)
        r.s[i] = splitmix64(&seed);
    return r;
}

static uint64_t rotl(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

uint64_t bd_rng_next(bd_rng *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t bd_rng_below(bd_rng *r, uint64_t n)
{
    uint64_t excess = -n % n; // 2^64 mod n: values below it would make some results likelier
    uint64_t value;
    do {
        value = bd_rng_next(r);
    } while (value < excess);
    return value % n;
}

double bd_rng_double(bd_rng *r)
{
    return (double)(bd_rng_next(r) >> 11) * 0x1p-53;
}
