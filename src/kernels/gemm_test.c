// Tests of matrix products against three nested loops, and of the walk over operands of different shapes.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "kernels/argmax.h"
#include "kernels/broadcast.h"
#include "kernels/gemm.h"
#include <math.h>

// Small whole numbers: every product is exact in every type.
static int64_t value_at(int64_t i)
{
    return (i * 7 + 3) % 11 - 5;
}

static void set(bd_number type, void *p, int64_t i, int64_t value)
{
    switch (type) {
    case BD_F32: ((float *)p)[i] = (float)value; break;
    case BD_F64: ((double *)p)[i] = (double)value; break;
    case BD_I32: ((int32_t *)p)[i] = (int32_t)value; break;
    default: ((int64_t *)p)[i] = value; break;
    }
}

static int64_t get(bd_number type, const void *p, int64_t i)
{
    switch (type) {
    case BD_F32: return (int64_t)((const float *)p)[i];
    case BD_F64: return (int64_t)((const double *)p)[i];
    case BD_I32: return ((const int32_t *)p)[i];
    default: return ((const int64_t *)p)[i];
    }
}

static void *matrix(bd_number type, int64_t count)
{
    void *p = bd_malloc((size_t)count * 8 + 8);
    for (int64_t i = 0; i < count; i++)
        set(type, p, i, value_at(i));
    return p;
}

// Checks each `step`th row and column.
static void check(bd_number type, const bd_gemm_shape *s, const void *a, const void *b, const void *c,
                  int64_t step)
{
    for (int64_t i = 0; i < s->m; i += step) {
        for (int64_t j = 0; j < s->n; j += step) {
            int64_t want = 0;
            for (int64_t l = 0; l < s->k; l++)
                want += get(type, a, s->transpose_a ? l * s->m + i : i * s->k + l) *
                        get(type, b, s->transpose_b ? j * s->k + l : l * s->n + j);
            int64_t got = get(type, c, i * s->n + j);
            if (got != want)
                fail_msg("type %d, [%d,%d,%d], transposed %d %d, at %d,%d: %d, not %d", (int)type, (int)s->m,
                         (int)s->n, (int)s->k, s->transpose_a, s->transpose_b, (int)i, (int)j, (int)got,
                         (int)want);
        }
    }
}

static const int64_t sizes[][3] = {{1, 1, 1},     {2, 3, 4},   {5, 17, 9},  {4, 32, 300}, {7, 33, 513},
                                   {64, 10, 100}, {3, 100, 1}, {1, 100, 7}, {0, 3, 4},    {3, 4, 0}};

// bd_gemm, and each variant's own loops.
static void products_match_three_nested_loops(void **state)
{
    (void)state;
    for (bd_number type = BD_F32; type <= BD_I64; type++) {
        for (size_t i = 0; i < 4 * BD_COUNTOF(sizes); i++) {
            bd_gemm_shape s = {.m = sizes[i / 4][0],
                               .n = sizes[i / 4][1],
                               .k = sizes[i / 4][2],
                               .transpose_a = i & 1,
                               .transpose_b = i & 2};
            void *a = matrix(type, s.m * s.k), *b = matrix(type, s.k * s.n), *c = matrix(type, s.m * s.n);
            bd_gemm(type, &s, a, b, c);
            check(type, &s, a, b, c, 1);
            bd_gemm_operands o = {.a = a,
                                  .b = b,
                                  .c = c,
                                  .m = s.m,
                                  .n = s.n,
                                  .k = s.k,
                                  .a_row = s.transpose_a ? 1 : s.k,
                                  .a_column = s.transpose_a ? s.m : 1,
                                  .b_row = s.transpose_b ? 1 : s.n,
                                  .b_column = s.transpose_b ? s.k : 1,
                                  .c_row = s.n,
                                  .scale = 1};
            for (int v = 0; v < 3; v++) {
                const bd_kernel_table *k = bd_kernel_variant(v);
                if (!k) continue;
                memset(c, 0x7f, (size_t)(s.m * s.n) * bd_number_size(type));
                k->gemm[type](&o);
                check(type, &s, a, b, c, 1);
            }
            bd_free(a);
            bd_free(b);
            bd_free(c);
        }
    }
}

// Prepared products exist for some shapes, on CPUs with AVX-512.
static void prepared_products_match_too(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {
        {16, 1, 32}, {17, 33, 100}, {50, 300, 1024}, {512, 70, 33}, {100, 64, 64}};
    bd_primitive_cache cache;
    bd_primitive_cache_init(&cache);
    for (size_t i = 0; i < 2 * BD_COUNTOF(shapes); i++) { // the second time out of the cache
        const int64_t *size = shapes[i % BD_COUNTOF(shapes)];
        bd_gemm_shape s = {.m = size[0], .n = size[1], .k = size[2], .transpose_b = true};
        bd_primitive *p = bd_gemm_take(&cache, &s);
        if (!p) continue;
        void *a = matrix(BD_F32, s.m * s.k), *b = matrix(BD_F32, s.k * s.n), *c = matrix(BD_F32, s.m * s.n);
        void *scratch = bd_try_aligned(bd_primitive_scratch(p, NULL) + 64);
        assert_non_null(scratch);
        memset((char *)scratch + bd_primitive_scratch(p, NULL), 0xa5, 64);
        assert_true(p->run(p, &(bd_gemm_data){a, b, c}, scratch, NULL));
        check(BD_F32, &s, a, b, c, 1);
        for (int k = 0; k < 64; k++)
            assert_int_equal(((unsigned char *)scratch)[bd_primitive_scratch(p, NULL) + (size_t)k], 0xa5);
        bd_primitive_give(&cache, p);
        bd_free(a);
        bd_free(b);
        bd_free(c);
        bd_free(scratch);
    }
    assert_null(bd_gemm_take(&cache, &(bd_gemm_shape){.m = 50, .n = 50, .k = 50}));
    bd_primitive_cache_fini(&cache);
}

// A team whose later members begin first, each when the one before has ended.
static void share(const bd_team *team, int64_t count, void (*fn)(void *arg, int64_t i), void *arg)
{
    assert_in_range(count, 2, team->threads);
    for (int64_t i = count - 1; i >= 0; i--)
        fn(arg, i);
}

// Products whose sums, or rows and columns, are done in blocks, or shared by threads.
static void large_products_match_too(void **state)
{
    (void)state;
    static const int64_t large[][3] = {{300, 290, 20000}, {1030, 2200, 1000}, {50, 1001, 3136}};
    static const bd_team team = {.threads = 3, .share = share};
    for (int i = 0; i < 12; i++) {
        const int64_t *size = large[i / 4];
        bd_gemm_shape s = {
            .m = size[0], .n = size[1], .k = size[2], .transpose_a = i & 1, .transpose_b = i & 2};
        void *a = matrix(BD_F32, s.m * s.k), *b = matrix(BD_F32, s.k * s.n), *c = matrix(BD_F32, s.m * s.n);
        bd_gemm(BD_F32, &s, a, b, c);
        check(BD_F32, &s, a, b, c, 17);
        memset(c, 0x7f, (size_t)(s.m * s.n) * sizeof(float));
        bd_gemm_shared(BD_F32, &s, a, b, c, &team);
        check(BD_F32, &s, a, b, c, 17);
        bd_free(a);
        bd_free(b);
        bd_free(c);
    }
}

// ---- Broadcasting ----

static void subtract(const void *x, const void *y, void *z, int64_t n, bd_single single)
{
    for (int64_t i = 0; i < n; i++)
        ((int32_t *)z)[i] = ((const int32_t *)x)[single == BD_SINGLE_X ? 0 : i] -
                            ((const int32_t *)y)[single == BD_SINGLE_Y ? 0 : i];
}

static int64_t offset_of(const int64_t *at, const int64_t *dims, int rank, int out_rank)
{
    int64_t offset = 0;
    for (int d = 0; d < rank; d++)
        offset = offset * dims[d] + (dims[d] == 1 ? 0 : at[out_rank - rank + d]);
    return offset;
}

// All pairs of shapes of up to 4 dimensions of 1, 2 or 3 that fit, against indices computed one by one.
static void broadcasting_matches_computed_indices(void **state)
{
    (void)state;
    int32_t x[81], y[81], z[81];
    for (int i = 0; i < 81; i++) {
        x[i] = i;
        y[i] = 1000 * i;
    }
    for (int code = 0; code < 81 * 81; code++) {
        int64_t xd[4], yd[4], zd[4], count = 1;
        for (int d = 0, rest = code; d < 4; d++, rest /= 9) {
            xd[d] = rest % 3 + 1;
            yd[d] = rest / 3 % 3 + 1;
        }
        int skip = code % 3; // y of fewer dimensions
        bd_broadcast b;
        bool fits = true;
        for (int d = 0; d < 4; d++) {
            int64_t other = d < skip ? 1 : yd[d];
            fits = fits && (xd[d] == other || xd[d] == 1 || other == 1);
            zd[d] = xd[d] > other ? xd[d] : other;
            count *= zd[d];
        }
        assert_int_equal(bd_broadcast_init(&b, xd, 4, yd + skip, 4 - skip), fits);
        if (!fits) continue;
        bd_broadcast_run(&b, subtract, x, y, 4, z, 4);
        for (int64_t i = 0; i < count; i++) {
            int64_t at[4], rest = i;
            for (int d = 3; d >= 0; rest /= zd[d--])
                at[d] = rest % zd[d];
            assert_int_equal(z[i], offset_of(at, xd, 4, 4) - 1000 * offset_of(at, yd + skip, 4 - skip, 4));
        }
    }
}

static void argmax_ignores_nan_and_takes_the_first(void **state)
{
    (void)state;
    float x[6] = {3, 1, NAN, 1, 7, 7};
    int64_t at[3];
    bd_argmax(BD_F32, false, x, at, 2, 3, 1);
    assert_int_equal(at[0], 0);
    assert_int_equal(at[1], 1);
    bd_argmax(BD_F32, true, x, at, 1, 2, 3);
    assert_int_equal(at[0], 1);
    assert_int_equal(at[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_match_three_nested_loops),
        cmocka_unit_test(prepared_products_match_too),
        cmocka_unit_test(large_products_match_too),
        cmocka_unit_test(broadcasting_matches_computed_indices),
        cmocka_unit_test(argmax_ignores_nan_and_takes_the_first),
    };
    return BD_RUN_TESTS(tests);
}
