// Distributions over Philox streams: uniform, normal, truncated normal, integers.
#include "kernels/random_fill.h"

#include "base/half.h"

#include <math.h>
#include <string.h>

// ---- From random bits to numbers ----

// 23 random bits as the mantissa of a number in [1, 2), less 1.
static float uniform_f32(uint32_t x)
{
    uint32_t bits = UINT32_C(127) << 23 | (x & 0x7fffff);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value - 1.0f;
}

// 52 random bits: the first word gives the upper 20.
static double uniform_f64(uint32_t x0, uint32_t x1)
{
    uint64_t bits = UINT64_C(1023) << 52 | (uint64_t)(x0 & 0xfffff) << 32 | x1;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value - 1.0;
}

// The lower bits of x as the mantissa of a number in [1, 2), less 1: 10 of half, 7 of bfloat16.
static uint16_t uniform_half(uint32_t x)
{
    return bd_half_of_float(bd_float_of_half((uint16_t)(15 << 10 | (x & 0x3ff))) - 1.0f);
}

static uint16_t uniform_bfloat16(uint32_t x)
{
    return bd_bfloat16_of_float(bd_float_of_bfloat16((uint16_t)(127 << 7 | (x & 0x7f))) - 1.0f);
}

// The logarithm of a smaller number would be too large.
#define SMALLEST_UNIFORM 1.0e-7

static void box_muller_f32(const uint32_t x[2], float out[2])
{
    float u1 = uniform_f32(x[0]);
    if (u1 < (float)SMALLEST_UNIFORM) u1 = (float)SMALLEST_UNIFORM;
    // The product is rounded once, from double.
    float v1 = (float)(2.0 * M_PI * (double)uniform_f32(x[1]));
    float u2 = sqrtf(-2.0f * logf(u1));
    out[0] = sinf(v1) * u2;
    out[1] = cosf(v1) * u2;
}

static void box_muller_f64(const uint32_t x[4], double out[2])
{
    double u1 = uniform_f64(x[0], x[1]);
    if (u1 < SMALLEST_UNIFORM) u1 = SMALLEST_UNIFORM;
    double v1 = 2.0 * M_PI * uniform_f64(x[2], x[3]);
    double u2 = sqrt(-2.0 * log(u1));
    out[0] = sin(v1) * u2;
    out[1] = cos(v1) * u2;
}

// ---- Distributions that take one Philox step a group ----

static void group_uniform_f32(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    for (int i = 0; i < 4; i++)
        ((float *)out)[i] = uniform_f32(x[i]);
}

static void group_uniform_f64(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    ((double *)out)[0] = uniform_f64(x[0], x[1]);
    ((double *)out)[1] = uniform_f64(x[2], x[3]);
}

static void group_uniform_half(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    for (int i = 0; i < 4; i++)
        ((uint16_t *)out)[i] = uniform_half(x[i]);
}

static void group_uniform_bfloat16(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    for (int i = 0; i < 4; i++)
        ((uint16_t *)out)[i] = uniform_bfloat16(x[i]);
}

static void group_normal_f32(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    box_muller_f32(x, out);
    box_muller_f32(x + 2, (float *)out + 2);
}

static void group_normal_f64(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    box_muller_f64(x, out);
}

static void group_int_i32(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    for (int i = 0; i < 4; i++)
        ((int32_t *)out)[i] = (int32_t)(uint32_t)((uint64_t)f->low + x[i] % (uint32_t)f->range);
}

static void group_int_i64(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    for (int i = 0; i < 2; i++) {
        uint64_t bits = x[2 * i] | (uint64_t)x[2 * i + 1] << 32;
        ((int64_t *)out)[i] = (int64_t)((uint64_t)f->low + bits % f->range);
    }
}

typedef void (*group_fn)(const bd_random_fill *f, const uint32_t x[4], void *out);

// Inlined into each distribution's function, so that `group` is called directly.
static inline __attribute__((always_inline)) void
fill_groups(const bd_random_fill *f, int64_t from, int64_t to, group_fn group, int64_t group_len, size_t size)
{
    bd_philox gen = f->start;
    bd_philox_skip(&gen, (uint64_t)from);
    for (int64_t g = from; g < to; g++) {
        uint32_t x[4];
        bd_philox_next4(&gen, x);
        char *out = (char *)f->out + (size_t)(g * group_len) * size;
        int64_t left = f->count - g * group_len;
        if (left >= group_len) {
            group(f, x, out);
        } else {
            _Alignas(8) char last[16];
            group(f, x, last);
            memcpy(out, last, (size_t)left * size);
        }
    }
}

#define DEFINE_FILL(NAME, TYPE, GROUP)                                                                       \
    static void fill_##NAME(const bd_random_fill *f, int64_t from, int64_t to)                               \
    {                                                                                                        \
        fill_groups(f, from, to, group_##NAME, GROUP, sizeof(TYPE));                                         \
    }                                                                                                        \
    const bd_random_kind bd_random_##NAME = {.fill = fill_##NAME, .group = GROUP};

DEFINE_FILL(uniform_f32, float, 4)
DEFINE_FILL(uniform_f64, double, 2)
DEFINE_FILL(uniform_half, uint16_t, 4)
DEFINE_FILL(uniform_bfloat16, uint16_t, 4)
DEFINE_FILL(normal_f32, float, 4)
DEFINE_FILL(normal_f64, double, 2)
DEFINE_FILL(int_i32, int32_t, 4)
DEFINE_FILL(int_i64, int64_t, 2)

// ---- Truncated normal: draws until the group is full ----

// Words that the stream holds for each element: more than a group ever needs.
#define RESERVED_WORDS 256

static void fill_truncated_f32(const bd_random_fill *f, int64_t from, int64_t to)
{
    for (int64_t g = from; g < to; g++) {
        bd_philox gen = f->start;
        bd_philox_skip(&gen, (uint64_t)g * (4 * RESERVED_WORDS / 4));
        int64_t left = f->count - g * 4;
        int want = left < 4 ? (int)left : 4;
        float *out = (float *)f->out + g * 4;
        for (int have = 0; have < want;) {
            uint32_t x[4];
            bd_philox_next4(&gen, x);
            float normal[4];
            box_muller_f32(x, normal);
            box_muller_f32(x + 2, normal + 2);
            for (int i = 0; i < 4 && have < want; i++) {
                if (fabsf(normal[i]) < 2.0f) out[have++] = normal[i];
            }
        }
    }
}
const bd_random_kind bd_random_truncated_f32 = {.fill = fill_truncated_f32, .group = 4};

static void fill_truncated_f64(const bd_random_fill *f, int64_t from, int64_t to)
{
    for (int64_t g = from; g < to; g++) {
        bd_philox gen = f->start;
        bd_philox_skip(&gen, (uint64_t)g * (2 * RESERVED_WORDS / 4));
        int64_t left = f->count - g * 2;
        int want = left < 2 ? (int)left : 2;
        double *out = (double *)f->out + g * 2;
        for (int have = 0; have < want;) {
            uint32_t x[4];
            bd_philox_next4(&gen, x);
            double normal[2];
            box_muller_f64(x, normal);
            for (int i = 0; i < 2 && have < want; i++) {
                if (fabs(normal[i]) < 2.0) out[have++] = normal[i];
            }
        }
    }
}
const bd_random_kind bd_random_truncated_f64 = {.fill = fill_truncated_f64, .group = 2};
