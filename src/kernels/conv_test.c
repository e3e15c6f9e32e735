// Convolutions and pooling by oneDNN against the plain loops, over random shapes.
// labels: concurrent
#include "base/alloc.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "kernels/conv.h"
#include "kernels/pooling.h"
#include "kernels/simd.h"

#include <math.h>
#include <string.h>

#define SHAPES 120

static int64_t between(bd_rng *r, int64_t from, int64_t to)
{
    return from + (int64_t)bd_rng_below(r, (uint64_t)(to - from + 1));
}

// Small numbers, so that equal ones turn up.
static float *random_floats(bd_rng *r, int64_t count)
{
    float *x = bd_calloc((size_t)count, sizeof *x);
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)between(r, -8, 8) / 4;
    return x;
}

// Code that oneDNN generates at run time is not instrumented by sanitizers.
#define GUARD 4096

static void *guarded(size_t size)
{
    unsigned char *x = bd_try_aligned(size + GUARD);
    assert_non_null(x);
    memset(x + size, 0xa5, GUARD);
    return x;
}

static void expect_guard(const void *x, size_t size, int shape, int kind)
{
    const unsigned char *end = (const unsigned char *)x + size;
    for (int i = 0; i < GUARD; i++) {
        if (end[i] != 0xa5) fail_msg("shape %d, kind %d: wrote %d bytes past the end", shape, kind, i + 1);
    }
}

// Sizes of one dimension that fit together.
static void random_dimension(bd_rng *r, int64_t *in, int64_t *out, int64_t window, int64_t stride,
                             int64_t dilation, int64_t before, int64_t after)
{
    int64_t extent = (window - 1) * dilation + 1;
    *in = between(r, extent, extent + 9);
    *out = (*in + before + after - extent) / stride + 1;
}

// Ordinary ones half of the time, and as many groups as channels now and then. The dimensions before
// `first` are 1: of images the first.
static bd_conv_shape random_conv(bd_rng *r, int first)
{
    int64_t groups = between(r, 0, 1) ? 1 : between(r, 1, 6), of_group = between(r, 1, groups == 1 ? 20 : 3);
    bd_conv_shape s = {.batch = between(r, 1, 3),
                       .in_channels = groups * of_group,
                       .out_channels = groups * between(r, 1, groups == 1 ? 20 : 3),
                       .groups = groups,
                       .in = {1},
                       .out = {1},
                       .filter = {1},
                       .stride = {1},
                       .dilation = {1},
                       .channels_first = between(r, 0, 3) == 0};
    const int64_t stride_max = between(r, 0, 1) ? 1 : 3;
    for (int d = first; d < 3; d++) {
        s.filter[d] = between(r, 1, 4);
        s.stride[d] = between(r, 1, stride_max);
        s.dilation[d] = between(r, 1, 2);
        s.pad_before[d] = between(r, 0, s.filter[d] - 1);
        s.pad_after[d] = between(r, 0, s.filter[d] - 1);
        random_dimension(r, &s.in[d], &s.out[d], s.filter[d], s.stride[d], s.dilation[d], s.pad_before[d],
                         s.pad_after[d]);
    }
    return s;
}

static void expect_near(const float *got, const float *want, int64_t count, int shape, int kind)
{
    for (int64_t i = 0; i < count; i++) {
        if (!(fabsf(got[i] - want[i]) <= 1e-4f * fmaxf(1, fabsf(want[i]))))
            fail_msg("shape %d, kind %d, element %d: %g, not %g", shape, kind, (int)i, (double)got[i],
                     (double)want[i]);
    }
}

static void compare_conv(bd_rng *r, bd_primitive_cache caches[3], const bd_conv_shape *s, int number)
{
    int64_t counts[] = {s->batch * bd_volume(s->in) * s->in_channels,
                        bd_volume(s->filter) * s->in_channels / s->groups * s->out_channels,
                        s->batch * bd_volume(s->out) * s->out_channels};
    static const int written[] = {[BD_CONV_OUTPUT] = 2, [BD_CONV_INPUT_GRAD] = 0, [BD_CONV_FILTER_GRAD] = 1};
    for (int kind = 0; kind < 3; kind++) {
        float *x[3], *want = bd_calloc((size_t)counts[written[kind]], sizeof *want);
        size_t written_size = (size_t)counts[written[kind]] * sizeof(float);
        for (int i = 0; i < 3; i++)
            x[i] = random_floats(r, counts[i]);
        bd_free(x[written[kind]]);
        x[written[kind]] = guarded(written_size);
        bd_conv_data data = {.input = x[0], .filter = x[1], .output = x[2]}, plain = data;
        void **out[] = {&plain.input, &plain.filter, &plain.output};
        *out[written[kind]] = want;
        bd_conv_plain(BD_F32, (bd_conv_kind)kind, s, &plain);
        for (int run = 0; run < 2; run++) { // the second time out of the cache
            bd_primitive *c = bd_conv_take(&caches[kind], (bd_conv_kind)kind, s);
            assert_non_null(c);
            void *scratch = guarded(bd_primitive_scratch(c, NULL));
            assert_true(c->run(c, &data, scratch, NULL));
            expect_near(x[written[kind]], want, counts[written[kind]], number, kind);
            expect_guard(scratch, bd_primitive_scratch(c, NULL), number, kind);
            expect_guard(x[written[kind]], written_size, number, kind);
            bd_free(scratch);
            bd_primitive_give(&caches[kind], c);
        }
        for (int i = 0; i < 3; i++)
            bd_free(x[i]);
        bd_free(want);
    }
}

static void convolutions_match_the_plain_loops(void **state)
{
    (void)state;
    bd_rng r = bd_rng_init(11);
    bd_primitive_cache caches[3];
    for (int i = 0; i < 3; i++)
        bd_primitive_cache_init(&caches[i]);
    for (int i = 0; i < SHAPES; i++) {
        bd_conv_shape s = random_conv(&r, i % 3 == 0 ? 0 : 1);
        compare_conv(&r, caches, &s, i);
    }
    for (int channels = 1; channels <= 16; channels++) { // shortcuts of residual networks
        bd_conv_shape s = {.batch = 2,
                           .in_channels = channels,
                           .out_channels = 8,
                           .groups = 1,
                           .in = {1, 8, 8},
                           .out = {1, 4, 4},
                           .filter = {1, 1, 1},
                           .stride = {1, 2, 2},
                           .dilation = {1, 1, 1}};
        compare_conv(&r, caches, &s, SHAPES + channels);
    }
    for (int i = 0; i < 3; i++)
        bd_primitive_cache_fini(&caches[i]);
}

static bd_pooling_shape random_pooling(bd_rng *r, int first)
{
    bd_pooling_shape s = {.batch = between(r, 1, 3),
                          .channels = between(r, 1, 40),
                          .in = {1},
                          .out = {1},
                          .window = {1},
                          .stride = {1},
                          .channels_first = between(r, 0, 3) == 0};
    for (int d = first; d < 3; d++) {
        s.window[d] = between(r, 1, 4);
        s.stride[d] = between(r, 1, 3);
        s.pad_before[d] = between(r, 0, s.window[d] / 2);
        s.pad_after[d] = between(r, 0, s.window[d] / 2);
        random_dimension(r, &s.in[d], &s.out[d], s.window[d], s.stride[d], 1, s.pad_before[d],
                         s.pad_after[d]);
    }
    return s;
}

static void compare_pooling(bd_rng *r, const bd_pooling_shape *s, int number)
{
    static const bd_pooling_kind kinds[] = {BD_POOLING_MAX, BD_POOLING_MAX_GRAD, BD_POOLING_MEAN,
                                            BD_POOLING_MEAN_GRAD};
    int64_t in = s->batch * s->channels * bd_volume(s->in), out = s->batch * s->channels * bd_volume(s->out);
    for (int k = 0; k < 4; k++) {
        bool is_grad = kinds[k] == BD_POOLING_MAX_GRAD || kinds[k] == BD_POOLING_MEAN_GRAD;
        float *x = random_floats(r, in), *dx = random_floats(r, in), *y = random_floats(r, out);
        float *dy = random_floats(r, out), *want = random_floats(r, is_grad ? in : out);
        bd_pooling_data data = {.x = x, .dx = dx, .y = y, .dy = dy}, plain = data;
        *(is_grad ? &plain.dx : &plain.y) = want;
        bd_pooling_plain(BD_F32, kinds[k], s, &plain);
        bd_primitive_cache cache;
        bd_primitive_cache_init(&cache);
        bd_primitive *p = bd_pooling_take(&cache, kinds[k], s);
        assert_non_null(p);
        void *scratch = guarded(bd_primitive_scratch(p, NULL));
        assert_true(p->run(p, &data, scratch, NULL));
        expect_guard(scratch, bd_primitive_scratch(p, NULL), number, (int)kinds[k]);
        expect_near(is_grad ? dx : y, want, is_grad ? in : out, number, (int)kinds[k]);
        bd_primitive_give(&cache, p);
        bd_primitive_cache_fini(&cache);
        void *all[] = {scratch, x, dx, y, dy, want};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            bd_free(all[i]);
    }
}

static void pooling_matches_the_plain_loops(void **state)
{
    (void)state;
    bd_rng r = bd_rng_init(12);
    for (int i = 0; i < SHAPES; i++) {
        bd_pooling_shape s = random_pooling(&r, i % 3 == 0 ? 0 : 1);
        compare_pooling(&r, &s, i);
    }
}

static void *random_numbers_of(bd_rng *r, bd_number type, int64_t count)
{
    float *x = random_floats(r, count);
    if (type == BD_F32) return x;
    double *wide = bd_calloc((size_t)count, sizeof *wide);
    for (int64_t i = 0; i < count; i++)
        wide[i] = (double)x[i];
    bd_free(x);
    return wide;
}

// Every variant of the loop against the plain loops; also with dx in the place of x, where that is allowed.
// NaN are found where no other element is greater, as in the plain loops.
static void compare_max_grad(bd_rng *r, const bd_pooling_shape *s, bd_number type, int number)
{
    const int64_t in = s->batch * s->channels * bd_volume(s->in),
                  out = s->batch * s->channels * bd_volume(s->out);
    const size_t size = (size_t)in * bd_number_size(type);
    static const bd_pooling_kind kinds[] = {BD_POOLING_MAX_GRAD, BD_POOLING_MAX_RELU_GRAD};
    void *x = random_numbers_of(r, type, in), *dy = random_numbers_of(r, type, out);
    void *dx = bd_calloc((size_t)in, 8), *want = bd_calloc((size_t)in, 8);
    for (int64_t i = 0; i < in; i += 17) {
        if (type == BD_F32)
            ((float *)x)[i] = NAN;
        else
            ((double *)x)[i] = (double)NAN;
    }
    for (int k = 0; k < 2; k++) {
        bd_pooling_plain(type, kinds[k], s, &(bd_pooling_data){.x = x, .dy = dy, .dx = want});
        for (int v = 0; bd_kernel_variant(v); v++) {
            const bd_max_grad_fn fn = bd_kernel_variant(v)->max_grad[type];
            memset(dx, 0xff, size);
            if (bd_pooling_is_tiled(s)) memcpy(dx, x, size);
            const void *from = bd_pooling_is_tiled(s) ? dx : x;
            fn(s, from, dy, dx, k == 1, 0, 1);
            fn(s, from, dy, dx, k == 1, 1, s->batch);
            for (int64_t i = 0; i < in; i++) {
                const double got = type == BD_F32 ? (double)((float *)dx)[i] : ((double *)dx)[i];
                const double exact = type == BD_F32 ? (double)((float *)want)[i] : ((double *)want)[i];
                if (got != exact)
                    fail_msg("shape %d, variant %d, kind %d, element %d: %g, not %g", number, v, k, (int)i,
                             got, exact);
            }
        }
    }
    void *all[] = {x, dy, dx, want};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        bd_free(all[i]);
}

static void gradients_of_the_greatest_element_match_the_plain_loops(void **state)
{
    (void)state;
    bd_rng r = bd_rng_init(14);
    for (int i = 0; i < SHAPES; i++) {
        bd_pooling_shape s = random_pooling(&r, i % 3 == 0 ? 0 : 1);
        s.channels_first = 0;
        for (int d = 0; d < 3 && i % 2; d++) { // tiles
            s.stride[d] = s.window[d];
            s.pad_before[d] = between(&r, 0, s.window[d] - 1);
            s.pad_after[d] = s.window[d] - 1;
            s.out[d] = (s.in[d] + s.pad_before[d] + s.window[d] - 1) / s.window[d];
        }
        assert_true(bd_pooling_has_loop(BD_F32, BD_POOLING_MAX_GRAD, &s));
        if (i % 2) assert_true(bd_pooling_is_tiled(&s));
        compare_max_grad(&r, &s, i % 4 < 2 ? BD_F32 : BD_F64, i);
    }
}

// A team of three threads, of which the first begins last.
#define THREADS 3

typedef struct member {
    void (*fn)(void *arg, int64_t i);
    void *arg;
    int64_t i;
} member;

static void run_member(void *arg)
{
    const member *m = arg;
    m->fn(m->arg, m->i);
}

static void share(const bd_team *team, int64_t count, void (*fn)(void *arg, int64_t i), void *arg)
{
    BD_STATUS(st);
    bd_thread threads[THREADS];
    member members[THREADS];
    assert_in_range(count, 2, team->threads);
    for (int64_t i = 1; i < count; i++) {
        members[i] = (member){fn, arg, i};
        bd_thread_start(&threads[i], "member", run_member, &members[i], st);
        assert_ok(st);
    }
    fn(arg, 0);
    for (int64_t i = 1; i < count; i++)
        bd_thread_join(&threads[i]);
}

static void run_on(const bd_team *team, bd_primitive *p, const void *data)
{
    const size_t size = bd_primitive_scratch(p, team);
    void *scratch = guarded(size);
    assert_true(p->run(p, data, scratch, team));
    expect_guard(scratch, size, 0, 0);
    bd_free(scratch);
}

// Runs `p` on one thread, and on several into memory that held the same before. `out`: `count` elements
// within the data.
static void expect_same_on_threads(bd_primitive *p, const void *data, float *out, int64_t count)
{
    static const bd_team team = {.threads = THREADS, .share = share};
    const size_t size = (size_t)count * sizeof *out;
    float *want = bd_calloc((size_t)count, sizeof *want);
    assert_non_null(p);
    memset(out, 0xff, size);
    run_on(NULL, p, data);
    memcpy(want, out, size);
    memset(out, 0xff, size);
    run_on(&team, p, data);
    assert_memory_equal(out, want, size);
    bd_free(want);
}

static void threads_share_the_images_of_a_batch(void **state)
{
    (void)state;
    bd_rng r = bd_rng_init(13);
    enum {
        WIDER = 6 // pooling has more channels: an element is less work
    };
    const int64_t images = 24, side = 28, channels = 32, count = images * side * side * channels;
    const bd_conv_shape conv = {.batch = images,
                                .in_channels = channels,
                                .out_channels = channels,
                                .groups = 1,
                                .in = {1, side, side},
                                .out = {1, side, side},
                                .filter = {1, 3, 3},
                                .stride = {1, 1, 1},
                                .dilation = {1, 1, 1},
                                .pad_before = {0, 1, 1},
                                .pad_after = {0, 1, 1}};
    const bd_pooling_shape pooling = {.batch = images,
                                      .channels = WIDER * channels,
                                      .in = {1, side, side},
                                      .out = {1, side / 2, side / 2},
                                      .window = {1, 2, 2},
                                      .stride = {1, 2, 2}};
    float *x = random_floats(&r, WIDER * count), *y = random_floats(&r, WIDER * count),
          *filter = random_floats(&r, channels * channels * 9);
    for (int kind = 0; kind < 2; kind++) {
        bd_primitive_cache cache;
        bd_primitive_cache_init(&cache);
        bd_primitive *p = bd_conv_take(&cache, (bd_conv_kind)kind, &conv);
        assert_true(p->threads_max >= THREADS);
        expect_same_on_threads(p, &(bd_conv_data){.input = x, .filter = filter, .output = y},
                               kind == BD_CONV_OUTPUT ? y : x, count);
        bd_primitive_give(&cache, p);
        bd_primitive_cache_fini(&cache);
        memcpy(x, y, (size_t)count * sizeof *x);
    }
    static const bd_pooling_kind kinds[] = {BD_POOLING_MAX, BD_POOLING_MAX_GRAD, BD_POOLING_MEAN,
                                            BD_POOLING_MEAN_GRAD};
    for (int k = 0; k < 4; k++) {
        bd_primitive_cache cache;
        bd_primitive_cache_init(&cache);
        bd_primitive *p = bd_pooling_take(&cache, kinds[k], &pooling);
        const bool is_grad = k % 2 == 1;
        assert_true(p->threads_max >= THREADS || kinds[k] == BD_POOLING_MAX_GRAD);
        expect_same_on_threads(p, &(bd_pooling_data){.x = x, .dx = y, .y = y, .dy = x}, y,
                               WIDER * count / (is_grad ? 1 : 4));
        bd_primitive_give(&cache, p);
        bd_primitive_cache_fini(&cache);
    }
    bd_free(x);
    bd_free(y);
    bd_free(filter);
}

// A cache keeps the most recently used primitives, and lends each to one user.
static void the_cache_keeps_recent_primitives(void **state)
{
    (void)state;
    bd_primitive_cache cache;
    bd_primitive_cache_init(&cache);
    bd_conv_shape s = {.batch = 1,
                       .in_channels = 1,
                       .out_channels = 1,
                       .groups = 1,
                       .in = {1, 4, 4},
                       .out = {1, 4, 4},
                       .filter = {1, 1, 1},
                       .stride = {1, 1, 1},
                       .dilation = {1, 1, 1}};
    bd_primitive *a = bd_conv_take(&cache, BD_CONV_OUTPUT, &s), *b = bd_conv_take(&cache, BD_CONV_OUTPUT, &s);
    assert_ptr_not_equal(a, b);
    bd_primitive_give(&cache, a);
    bd_primitive_give(&cache, b);
    assert_ptr_equal(bd_conv_take(&cache, BD_CONV_OUTPUT, &s), b);
    bd_primitive_give(&cache, b);
    for (int64_t batch = 2; batch < 12; batch++) {
        s.batch = batch;
        bd_primitive_give(&cache, bd_conv_take(&cache, BD_CONV_OUTPUT, &s));
    }
    assert_null(bd_primitive_take(&cache, &(bd_conv_shape){0}, sizeof s));
    uint64_t before = bd_alloc_count();
    bd_primitive_give(&cache,
                      bd_conv_take(&cache, BD_CONV_OUTPUT, &s)); // the steady state allocates no memory
    assert_int_equal(bd_alloc_count(), before);
    s.batch = 1; // evicted by the others
    assert_null(bd_primitive_take(&cache, &s, sizeof s));
    s.batch = 11;
    bd_primitive *last = bd_primitive_take(&cache, &s, sizeof s);
    assert_non_null(last);
    bd_primitive_give(&cache, last);
    bd_primitive_cache_fini(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_match_the_plain_loops),
        cmocka_unit_test(pooling_matches_the_plain_loops),
        cmocka_unit_test(gradients_of_the_greatest_element_match_the_plain_loops),
        cmocka_unit_test(threads_share_the_images_of_a_batch),
        cmocka_unit_test(the_cache_keeps_recent_primitives),
    };
    return BD_RUN_TESTS(tests);
}
