// Distributions over Philox streams: uniform, normal, truncated normal, integers.
#include "kernels/random_fill.h"

#include "kernels/random_convert.h"

// ---- Distributions that take one Philox step a group ----

static void group_uniform_f32(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    for (int i = 0; i < 4; i++)
        ((float *)out)[i] = bd_uniform_f32(x[i]);
}

static void group_uniform_f64(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    ((double *)out)[0] = bd_uniform_f64(x[0], x[1]);
    ((double *)out)[1] = bd_uniform_f64(x[2], x[3]);
}

static void group_uniform_half(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    for (int i = 0; i < 4; i++)
        ((uint16_t *)out)[i] = bd_uniform_half(x[i]);
}

static void group_uniform_bfloat16(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    for (int i = 0; i < 4; i++)
        ((uint16_t *)out)[i] = bd_uniform_bfloat16(x[i]);
}

static void group_normal_f32(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    bd_normal_f32(x, out);
    bd_normal_f32(x + 2, (float *)out + 2);
}

static void group_normal_f64(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    bd_normal_f64(x, out);
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

static void group_full_32(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    memcpy(out, x, 4 * sizeof *x);
}

static void group_full_64(const bd_random_fill *f, const uint32_t x[4], void *out)
{
    (void)f;
    for (int i = 0; i < 2; i++)
        ((uint64_t *)out)[i] = x[2 * i] | (uint64_t)x[2 * i + 1] << 32;
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
DEFINE_FILL(full_32, uint32_t, 4)
DEFINE_FILL(full_64, uint64_t, 2)

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
            bd_normal_f32(x, normal);
            bd_normal_f32(x + 2, normal + 2);
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
            bd_normal_f64(x, normal);
            for (int i = 0; i < 2 && have < want; i++) {
                if (fabs(normal[i]) < 2.0) out[have++] = normal[i];
            }
        }
    }
}
const bd_random_kind bd_random_truncated_f64 = {.fill = fill_truncated_f64, .group = 2};
