// KmeansPlusPlusInitialization and KMC2ChainInitialization: choose initial centers for k-means that are far
// apart.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "kernels/gemm.h"
#include "kernels/random_convert.h"
#include "op/io_pool.h"
#include "ops/common/element.h"
#include "ops/random/random_source.h"

#include <string.h>

static bd_random_words words_of(const braid_tensor *seed)
{
    return (bd_random_words){.stream = bd_philox_init((uint64_t)bd_tensor_i64(seed)[0], 0)};
}

// ---- k-means++ (Arthur and Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007) ----

// All distances are half the square of the Euclidean distance.
typedef struct seeding {
    bd_op_ctx *c;
    const float *points;
    int64_t count, dims, retries;
    float *norms;    // [count], half the squared norms
    float *nearest;  // [count], distance to the nearest chosen point
    float *closer;   // [count], the same with one more chosen point
    float *best;     // [count], `closer` of the best candidate so far
    float *sums;     // [count], running sums of `nearest`
    bool *is_chosen; // [count + 1]
    bd_random_words words;
} seeding;

// Computes `closer` with point `from` added; returns the sum.
static float come_closer(seeding *s, int64_t from)
{
    float sum = 0;
    bd_gemm_shape g = {.m = s->count, .n = 1, .k = s->dims};
    bd_gemm(BD_F32, &g, s->points, s->points + from * s->dims, s->closer);
    for (int64_t i = 0; i < s->count; i++) {
        float distance = s->norms[i] - s->closer[i] + s->norms[from];
        s->closer[i] = distance < s->nearest[i] ? distance : s->nearest[i];
        sum += s->closer[i];
    }
    return sum;
}

// The first index whose running sum is above `v`, by bisection; `count` when no sum is above it.
static int64_t place_above(const seeding *s, float v)
{
    int64_t first = 0;
    for (int64_t rest = s->count; rest > 0;) {
        int64_t half = rest / 2;
        if (v < s->sums[first + half]) {
            rest = half;
        } else {
            first += half + 1;
            rest -= half + 1;
        }
    }
    return first;
}

// The maximum number of draws for one point: if the remaining distances are 0 up to rounding, no remaining
// point may ever be drawn.
#define DRAWS_MAX 10000

// Draws a point with a probability proportional to its distance; the last point if no running sum is above
// the random number.
static int64_t draw(seeding *s, bool is_first)
{
    if (is_first) return (int64_t)bd_random_below64(&s->words, (uint64_t)s->count);
    for (int i = 0; i < DRAWS_MAX; i++) {
        int64_t at = place_above(s, bd_uniform_f32(bd_random_word(&s->words)) * s->sums[s->count - 1]);
        if (!s->is_chosen[at]) return at < s->count ? at : s->count - 1;
    }
    const bool *free_one = memchr(s->is_chosen, false, (size_t)s->count);
    return free_one ? free_one - s->is_chosen : s->count - 1;
}

static void swap(float **a, float **b)
{
    float *x = *a;
    *a = *b;
    *b = x;
}

// Draws several points and takes the one with the least sum of distances.
static int64_t sample_point(seeding *s, bool is_first)
{
    float least = INFINITY;
    int64_t sampled = 0;
    if (s->retries == 0) {
        sampled = draw(s, is_first);
        come_closer(s, sampled);
        swap(&s->nearest, &s->closer);
        return sampled;
    }
    for (int64_t i = 0; i <= s->retries && !bd_op_cancelled(s->c); i++) {
        int64_t at = draw(s, is_first);
        float sum = come_closer(s, at);
        if (!(sum < least)) continue;
        least = sum;
        sampled = at;
        swap(&s->best, &s->closer);
    }
    if (least < INFINITY) swap(&s->nearest, &s->best);
    return sampled;
}

static void sample_points(seeding *s, int64_t wanted, float *out)
{
    for (int64_t i = 0; i < s->count && !bd_interrupted(); i++) {
        s->nearest[i] = INFINITY;
        s->norms[i] = 0;
        for (int64_t j = 0; j < s->dims; j++)
            s->norms[i] += 0.5f * s->points[i * s->dims + j] * s->points[i * s->dims + j];
    }
    if (bd_op_interrupted(s->c)) return;
    for (int64_t k = 0; k < wanted && !bd_op_failed(s->c); k++) {
        float sum = 0;
        for (int64_t i = 0; k > 0 && i < s->count; i++)
            s->sums[i] = sum += s->nearest[i];
        int64_t at = sample_point(s, k == 0);
        s->is_chosen[at] = true;
        memcpy(out + k * s->dims, s->points + at * s->dims, (size_t)s->dims * sizeof *out);
    }
}

// Checks the inputs; false: the kernel has failed.
static bool check_plus_plus(bd_op_ctx *c)
{
    static const char *const names[] = {NULL, "num_to_sample", "seed", "num_retries_per_sample"};
    const braid_tensor *points = bd_input(c, 0);
    if (points->shape.rank != 2) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input points should be a matrix.");
    for (int i = 1; i < 4; i++)
        if (bd_input(c, i)->shape.rank != 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input %s should be a scalar.", names[i]);
    if (bd_op_failed(c)) return false;
    int64_t rows = points->shape.dims[0], wanted = bd_tensor_i64(bd_input(c, 1))[0];
    if (rows <= 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected points.rows() > 0.");
    else if (wanted <= 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected num_to_sample > 0.");
    else if (wanted > rows)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected num_to_sample <= points.rows(). %lld vs %lld.",
                   (long long)wanted, (long long)rows);
    return !bd_op_failed(c);
}

static void plus_plus_run(bd_op_ctx *c)
{
    if (!check_plus_plus(c)) return;
    const braid_tensor *points = bd_input(c, 0);
    int64_t wanted = bd_tensor_i64(bd_input(c, 1))[0], retries = bd_tensor_i64(bd_input(c, 3))[0];
    seeding s = {.c = c,
                 .points = bd_tensor_f32(points),
                 .count = points->shape.dims[0],
                 .dims = points->shape.dims[1],
                 .retries = retries >= 0 ? retries : 2 + (int64_t)log((double)wanted),
                 .words = words_of(bd_input(c, 2))};
    braid_shape shape = bd_shape2(wanted, s.dims);
    braid_tensor *y = bd_output(c, 0, BRAID_FLOAT, &shape);
    if (!y || s.dims == 0) return;
    float *numbers = bd_try_calloc((size_t)s.count, 5 * sizeof *numbers);
    s.is_chosen = bd_try_calloc((size_t)s.count + 1, sizeof *s.is_chosen);
    if (numbers && s.is_chosen) {
        s.norms = numbers;
        s.nearest = numbers + s.count;
        s.closer = numbers + 2 * s.count;
        s.best = numbers + 3 * s.count;
        s.sums = numbers + 4 * s.count;
        sample_points(&s, wanted, bd_tensor_f32(y));
    } else {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when sampling %lld of %lld points", (long long)wanted,
                   (long long)s.count);
    }
    bd_free(numbers);
    bd_free(s.is_chosen);
}

BD_OP(KmeansPlusPlusInitialization) = {
    .signature =
        "(points: float, num_to_sample: int64, seed: int64, num_retries_per_sample: int64) -> (samples: float)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = plus_plus_run}),
    .doc =
        "num_to_sample of the points (rows), each drawn with a probability proportional to its squared distance to the nearest point drawn before.",
};

// ---- k-MC^2 (Bachem et al., "Approximate k-means++ in sublinear time", AAAI 2016) ----

static void chain_run(bd_op_ctx *c)
{
    const braid_tensor *distances = bd_input(c, 0), *seed = bd_input(c, 1);
    const char *wrong = distances->shape.rank != 1     ? "Input distances should be a vector."
                        : seed->shape.rank != 0        ? "Input seed should be a scalar."
                        : distances->shape.dims[0] < 1 ? "Expected distances_tensor.size() > 0."
                                                       : NULL;
    if (wrong) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s", wrong);
        return;
    }
    bd_random_words words = words_of(seed);
    int64_t selected = 0;
    float distance = bd_tensor_f32(distances)[0];
    for (int64_t i = 1; i < distances->shape.dims[0]; i++) {
        float candidate = bd_tensor_f32(distances)[i];
        if (!(candidate > bd_uniform_f32(bd_random_word(&words)) * distance)) continue;
        selected = i;
        distance = candidate;
    }
    braid_shape scalar = {.rank = 0};
    braid_tensor *y = bd_output(c, 0, BRAID_INT64, &scalar);
    if (y) bd_tensor_i64(y)[0] = selected;
}

BD_OP(KMC2ChainInitialization) = {
    .signature = "(distances: float, seed: int64) -> (index: int64)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = chain_run}),
    .doc =
        "The last state of a Markov chain over the candidates, whose transition probabilities depend on the distances.",
};
