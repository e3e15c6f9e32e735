// Fingerprint64 and Fingerprint128 (G. Pike, FarmHash: its portable variants), MurmurHash64A (A. Appleby)
// and SipHash-2-4 (J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", 2012), written
// after their descriptions; bytes are little-endian in all.
#include "base/fingerprint.h"

#include <string.h>

static uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap64(v);
}

static uint64_t load32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap32(v);
}

// The last bytes of a text, fewer than 8.
static uint64_t load_tail(const uint8_t *p, size_t len)
{
    uint64_t v = 0;
    for (size_t i = 0; i < len; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static uint64_t rotate_right(uint64_t v, int by)
{
    return v >> by | v << (64 - by);
}

static uint64_t fold(uint64_t v)
{
    return v ^ v >> 47;
}

// ---- Fingerprint64 ----

// Primes of FarmHash, between 2^63 and 2^64.
static const uint64_t prime0 = 0xc3a5c85c97cb3127, prime1 = 0xb492b66fbe98f273, prime2 = 0x9ae16a3b2f90404f;

static uint64_t mix_pair(uint64_t u, uint64_t v, uint64_t mul)
{
    uint64_t a = fold((u ^ v) * mul);
    return fold((v ^ a) * mul) * mul;
}

static uint64_t print_to_16(const uint8_t *p, size_t len)
{
    uint64_t mul = prime2 + len * 2;
    if (len >= 8) {
        uint64_t a = load64(p) + prime2, b = load64(p + len - 8);
        return mix_pair(rotate_right(b, 37) * mul + a, (rotate_right(a, 25) + b) * mul, mul);
    }
    if (len >= 4) return mix_pair(len + (load32(p) << 3), load32(p + len - 4), mul);
    if (len == 0) return prime2;
    uint64_t y = p[0] + ((uint64_t)p[len >> 1] << 8), z = len + ((uint64_t)p[len - 1] << 2);
    return fold(y * prime2 ^ z * prime0) * prime2;
}

static uint64_t print_to_32(const uint8_t *p, size_t len)
{
    uint64_t mul = prime2 + len * 2;
    uint64_t a = load64(p) * prime1, b = load64(p + 8);
    uint64_t c = load64(p + len - 8) * mul, d = load64(p + len - 16) * prime2;
    return mix_pair(rotate_right(a + b, 43) + rotate_right(c, 30) + d, a + rotate_right(b + prime2, 18) + c,
                    mul);
}

static uint64_t print_to_64(const uint8_t *p, size_t len)
{
    uint64_t mul = prime2 + len * 2;
    uint64_t a = load64(p) * prime2, b = load64(p + 8);
    uint64_t c = load64(p + len - 8) * mul, d = load64(p + len - 16) * prime2;
    uint64_t y = rotate_right(a + b, 43) + rotate_right(c, 30) + d;
    uint64_t z = mix_pair(y, a + rotate_right(b + prime2, 18) + c, mul);
    uint64_t e = load64(p + 16) * mul, f = load64(p + 24);
    uint64_t g = (y + load64(p + len - 32)) * mul, h = (z + load64(p + len - 24)) * mul;
    return mix_pair(rotate_right(e + f, 43) + rotate_right(g, 30) + h, e + rotate_right(f + a, 18) + g, mul);
}

typedef struct lane {
    uint64_t a, b;
} lane;

static lane mix_32_bytes(const uint8_t *p, uint64_t a, uint64_t b)
{
    a += load64(p);
    b = rotate_right(b + a + load64(p + 24), 21);
    uint64_t start = a;
    a += load64(p + 8) + load64(p + 16);
    b += rotate_right(a, 44);
    return (lane){a + load64(p + 24), b + start};
}

// The state of a text of more than 64 bytes, hashed 64 bytes at a time.
typedef struct print_state {
    uint64_t x, y, z;
    lane v, w;
} print_state;

// The last block, which may overlap the one before, is mixed with other factors.
static void mix_64_bytes(print_state *s, const uint8_t *p, uint64_t mul, uint64_t v_mul, uint64_t w_mul)
{
    uint64_t x = rotate_right(s->x + s->y + s->v.a + load64(p + 8), 37) * mul;
    uint64_t y = rotate_right(s->y + s->v.b + load64(p + 48), 42) * mul;
    x ^= s->w.b * w_mul;
    y += s->v.a * v_mul + load64(p + 40);
    uint64_t z = rotate_right(s->z + s->w.a, 33) * mul;
    lane v = mix_32_bytes(p, s->v.b * mul, x + s->w.a);
    lane w = mix_32_bytes(p + 32, z + s->w.b, y + load64(p + 16));
    *s = (print_state){.x = z, .y = y, .z = x, .v = v, .w = w};
}

static uint64_t print_long(const uint8_t *p, size_t len)
{
    const uint64_t seed = 81;
    print_state s = {.x = seed * prime2 + load64(p), .y = seed * prime1 + 113};
    s.z = fold(s.y * prime2 + 113) * prime2;
    size_t rest = (len - 1) & 63; // of the last block, less one
    const uint8_t *last = p + len - 64;
    for (const uint8_t *end = p + (len - 1 - rest); p != end; p += 64)
        mix_64_bytes(&s, p, prime1, 1, 1);
    uint64_t mul = prime1 + ((s.z & 0xff) << 1);
    s.w.a += rest;
    s.v.a += s.w.a;
    s.w.a += s.v.a;
    mix_64_bytes(&s, last, mul, 9, 9);
    return mix_pair(mix_pair(s.v.a, s.w.a, mul) + fold(s.y) * prime0 + s.z, mix_pair(s.v.b, s.w.b, mul) + s.x,
                    mul);
}

uint64_t bd_fingerprint64(const void *data, size_t len)
{
    const uint8_t *p = data;
    if (len <= 16) return print_to_16(p, len);
    if (len <= 32) return print_to_32(p, len);
    if (len <= 64) return print_to_64(p, len);
    return print_long(p, len);
}

// ---- Fingerprint128 ----

// Factor of FarmHash where a pair of words is mixed without regard to the length.
static const uint64_t pair_factor = 0x9ddfea08eb382d69;

static uint64_t mix_words(uint64_t u, uint64_t v)
{
    return mix_pair(u, v, pair_factor);
}

static lane print128_short(const uint8_t *p, size_t len, lane seed)
{
    uint64_t a = seed.a, b = seed.b, c, d;
    if (len <= 16) {
        a = fold(a * prime1) * prime1;
        c = b * prime1 + print_to_16(p, len);
        d = fold(a + (len >= 8 ? load64(p) : c));
    } else {
        c = mix_words(load64(p + len - 8) + prime1, a);
        d = mix_words(b + len, c + load64(p + len - 16));
        a += d;
        for (const uint8_t *end = p + (len - 1) / 16 * 16; p != end; p += 16) {
            a = (a ^ fold(load64(p) * prime1) * prime1) * prime1;
            b ^= a;
            c = (c ^ fold(load64(p + 8) * prime1) * prime1) * prime1;
            d ^= c;
        }
    }
    a = mix_words(a, c);
    b = mix_words(d, b);
    return (lane){a ^ b, mix_words(b, a)};
}

// The rest after blocks of 128 bytes, in pieces of 32 bytes from its end; the last piece may begin before it.
static void mix_rest(print_state *s, const uint8_t *rest, size_t len)
{
    for (size_t done = 0; done < len;) {
        done += 32;
        const uint8_t *piece = rest + len - done;
        s->y = rotate_right(s->x + s->y, 42) * prime0 + s->v.b;
        s->w.a += load64(piece + 16);
        s->x = s->x * prime0 + s->w.a;
        s->z += s->w.b + load64(piece);
        s->w.b += s->v.a;
        s->v = mix_32_bytes(piece, s->v.a + s->z, s->v.b);
        s->v.a *= prime0;
    }
}

static lane print128_long(const uint8_t *p, size_t len, lane seed)
{
    print_state s = {.x = seed.a, .y = seed.b, .z = len * prime1};
    s.v.a = rotate_right(s.y ^ prime1, 49) * prime1 + load64(p);
    s.v.b = rotate_right(s.v.a, 42) * prime1 + load64(p + 8);
    s.w.a = rotate_right(s.y + s.z, 35) * prime1 + s.x;
    s.w.b = rotate_right(s.x + load64(p + 88), 53) * prime1;
    for (const uint8_t *end = p + len / 128 * 128; p != end; p += 64)
        mix_64_bytes(&s, p, prime1, 1, 1);
    s.x += rotate_right(s.v.a + s.z, 49) * prime0;
    s.y = s.y * prime0 + rotate_right(s.w.b, 37);
    s.z = s.z * prime0 + rotate_right(s.w.a, 27);
    s.w.a *= 9;
    s.v.a *= prime0;
    mix_rest(&s, p, len % 128);
    uint64_t x = mix_words(s.x, s.v.a), y = mix_words(s.y + s.z, s.w.a);
    return (lane){mix_words(x + s.v.b, s.w.b) + y, mix_words(x + s.w.b, y + s.v.b)};
}

void bd_fingerprint128(const void *data, size_t len, uint64_t halves[2])
{
    const uint8_t *p = data;
    lane seed = {prime0, prime1};
    if (len >= 16) {
        seed = (lane){load64(p), load64(p + 8) + prime0};
        p += 16;
        len -= 16;
    }
    lane print = len < 128 ? print128_short(p, len, seed) : print128_long(p, len, seed);
    halves[0] = print.a;
    halves[1] = print.b;
}

// ---- MurmurHash64A ----

static const uint64_t murmur = 0xc6a4a7935bd1e995;

uint64_t bd_fingerprint_cat64(uint64_t before, uint64_t next)
{
    uint64_t h = before ^ murmur;
    h ^= fold(next * murmur) * murmur;
    h = fold(h * murmur) * murmur;
    return fold(h);
}

uint64_t bd_hash64(const void *data, size_t len, uint64_t seed)
{
    const uint8_t *p = data;
    uint64_t h = seed ^ len * murmur;
    for (; len >= 8; p += 8, len -= 8)
        h = (h ^ fold(load64(p) * murmur) * murmur) * murmur;
    if (len > 0) h = (h ^ load_tail(p, len)) * murmur;
    return fold(fold(h) * murmur);
}

// ---- SipHash ----

static uint64_t rotate_left(uint64_t v, int by)
{
    return v << by | v >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate_left(v[1], 13) ^ v[0];
    v[3] = rotate_left(v[3], 16) ^ v[2];
    v[0] = rotate_left(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = rotate_left(v[3], 21) ^ v[0];
    v[1] = rotate_left(v[1], 17) ^ v[2];
    v[2] = rotate_left(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

uint64_t bd_siphash(const void *data, size_t len, const uint64_t key[2])
{
    // "somepseudorandomlygeneratedbytes"
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
                     key[1] ^ 0x7465646279746573};
    const uint8_t *p = data;
    size_t left = len;
    for (; left >= 8; p += 8, left -= 8)
        sip_word(v, load64(p));
    sip_word(v, load_tail(p, left) | (uint64_t)len << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
