// Tests of the numeric loops: accuracy against the C library, and every variant against the generic one.
// timeout: 120
#include "base/alloc.h"
#include "base/testing/test.h"
#include "kernels/simd.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N 203 // no multiple of any vector's length

// ---- Accuracy of elementary functions of float ----

static float float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// The distance between a result and the exact value, in units in the last place of float.
static double ulps(float got, double want)
{
    float rounded = (float)want;
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    if (isinf(rounded) || isinf(got)) return got == rounded ? 0 : INFINITY;
    int exponent;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1, exponent < -125 ? -149 : exponent - 24);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

// Every 8191st of all floats (a prime: all exponents, many mantissas), 512 at a time.
static void check_accuracy(const bd_kernel_table *k, bd_unary_op op, double (*exact)(double), double ulps_max)
{
    float x[512], y[512];
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32;) {
        int n = 0;
        for (; n < 512 && bits < UINT64_C(1) << 32; n++, bits += 8191)
            x[n] = float_of_bits((uint32_t)bits);
        k->unary[op][BD_F32](x, y, n);
        for (int i = 0; i < n; i++) {
            double want = exact((double)x[i]);
            if (op == BD_SIGMOID && fabs(want) < 0x1p-126) continue; // denormal results may be 0
            if (!(ulps(y[i], want) <= ulps_max))
                fail_msg("%s, op %d: f(%.9g) is %.9g, not %.9g", k->name, (int)op, (double)x[i], (double)y[i],
                         want);
        }
    }
}

static void functions_are_accurate(void **state)
{
    (void)state;
    for (int v = 0; v < 3; v++) {
        const bd_kernel_table *k = bd_kernel_variant(v);
        if (!k) continue;
        check_accuracy(k, BD_EXP, exp, 2);
        check_accuracy(k, BD_LOG, log, 2);
        check_accuracy(k, BD_LOG1P, log1p, 2);
        check_accuracy(k, BD_TANH, tanh, 2);
        check_accuracy(k, BD_SIGMOID, sigmoid, 2.5);
        check_accuracy(k, BD_SQRT, sqrt, 0.5);
        check_accuracy(k, BD_FLOOR, floor, 0);
        check_accuracy(k, BD_CEIL, ceil, 0);
        check_accuracy(k, BD_ROUND, rint, 0);
    }
}

// ---- Variants ----

static uint64_t random_state;

static uint32_t next_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33);
}

// Numbers between -4 and 4 (of integers: -40 to 40), of `positive` above 0; bools.
static void fill(bd_number type, void *out, int64_t n, bool positive)
{
    for (int64_t i = 0; i < n; i++) {
        double x = (double)next_random() / 0x1p28 - 4;
        if (positive) x = fabs(x) + 0.03;
        switch (type) {
        case BD_F32: ((float *)out)[i] = (float)x; break;
        case BD_F64: ((double *)out)[i] = x; break;
        case BD_I32: ((int32_t *)out)[i] = (int32_t)(10 * x) + positive; break;
        case BD_I64: ((int64_t *)out)[i] = (int64_t)(10 * x) + positive; break;
        default: ((uint8_t *)out)[i] = x > 0; break;
        }
    }
}

static double number(bd_number type, const void *p, int64_t i)
{
    switch (type) {
    case BD_F32: return (double)((const float *)p)[i];
    case BD_F64: return ((const double *)p)[i];
    case BD_I32: return ((const int32_t *)p)[i];
    case BD_I64: return (double)((const int64_t *)p)[i];
    default: return ((const uint8_t *)p)[i];
    }
}

static void expect_near(bd_number type, const void *got, const void *want, int64_t n, double tolerance,
                        const char *what)
{
    for (int64_t i = 0; i < n; i++) {
        double a = number(type, got, i), b = number(type, want, i);
        if (isnan(a) && isnan(b)) continue;
        double limit = type == BD_F32 ? tolerance : type == BD_F64 ? tolerance * 1e-9 : 0;
        if (!(a == b || fabs(a - b) <= limit * fmax(1, fabs(b))))
            fail_msg("%s: element %d is %.17g, not %.17g", what, (int)i, a, b);
    }
}

// Runs `check` for each variant but the generic one.
static void each_variant(void (*check)(const bd_kernel_table *generic, const bd_kernel_table *k))
{
    for (int v = 1; v < 3; v++) {
        const bd_kernel_table *k = bd_kernel_variant(v);
        random_state = 7;
        if (k) check(bd_kernel_variant(0), k);
    }
}

static bool needs_positive(bd_unary_op op)
{
    return op == BD_SQRT || op == BD_RSQRT || op == BD_LOG || op == BD_LOG1P || op == BD_RECIPROCAL;
}

static void check_unary(const bd_kernel_table *generic, const bd_kernel_table *k)
{
    double x[N], want[N], got[N + 1];
    for (int op = 0; op < BD_UNARY_COUNT; op++) {
        for (bd_number type = 0; type < BD_SIMD_NUMBER_COUNT; type++) {
            assert_int_equal(generic->unary[op][type] == NULL, k->unary[op][type] == NULL);
            if (!k->unary[op][type]) continue;
            fill(type, x, N, needs_positive((bd_unary_op)op));
            bd_number result = bd_unary_gives_bool((bd_unary_op)op) ? BD_B8 : type;
            char what[64];
            snprintf(what, sizeof what, "%s, unary op %d of type %d", k->name, op, (int)type);
            for (int64_t n = 0; n <= N; n += n < 20 ? 1 : 61) {
                memset(got, 0x55, sizeof got);
                generic->unary[op][type](x, want, n);
                k->unary[op][type](x, got, n);
                expect_near(result, got, want, n, 4e-7, what);
                // no write past the end
                assert_int_equal(((char *)got)[n * (int64_t)bd_number_size(result)], 0x55);
            }
            if (result != type) continue;
            generic->unary[op][type](x, want, N);
            k->unary[op][type](x, x, N); // in place
            expect_near(result, x, want, N, 4e-7, what);
        }
    }
}

static void unary_variants_match_the_generic_one(void **state)
{
    (void)state;
    each_variant(check_unary);
}

static void check_binary(const bd_kernel_table *generic, const bd_kernel_table *k)
{
    double x[N], y[N], want[N], got[N];
    for (int op = 0; op < BD_BINARY_COUNT; op++) {
        for (bd_number type = 0; type < BD_SIMD_NUMBER_COUNT; type++) {
            assert_int_equal(generic->binary[op][type] == NULL, k->binary[op][type] == NULL);
            if (!k->binary[op][type]) continue;
            bd_number result = bd_binary_gives_bool((bd_binary_op)op) ? BD_B8 : type;
            char what[64];
            snprintf(what, sizeof what, "%s, binary op %d of type %d", k->name, op, (int)type);
            for (bd_single single = BD_SINGLE_NONE; single <= BD_SINGLE_Y; single++) {
                fill(type, x, N, op == BD_POW);
                fill(type, y, N, true);
                generic->binary[op][type](x, y, want, N, single);
                k->binary[op][type](x, y, got, N, single);
                expect_near(result, got, want, N, 1e-6, what);
                if (result != type) continue;
                void *over = single == BD_SINGLE_X ? y : x; // in place
                k->binary[op][type](x, y, over, N, single);
                expect_near(result, over, want, N, 1e-6, what);
            }
        }
    }
}

static void binary_variants_match_the_generic_one(void **state)
{
    (void)state;
    each_variant(check_binary);
}

// One reduction by the simplest loop.
static double reduce_plainly(bd_reduce_op op, bd_number type, const void *x, int64_t at, int64_t count,
                             int64_t stride)
{
    double r = op == BD_REDUCE_PROD || op == BD_REDUCE_ALL ? 1
               : op == BD_REDUCE_MAX                       ? -1e300
               : op == BD_REDUCE_MIN                       ? 1e300
                                                           : 0;
    for (int64_t j = 0; j < count; j++) {
        double v = number(type, x, at + j * stride);
        switch (op) {
        case BD_REDUCE_SUM: r += v; break;
        case BD_REDUCE_SUM_SQUARES: r += v * v; break;
        case BD_REDUCE_PROD: r *= v; break;
        case BD_REDUCE_MAX: r = fmax(r, v); break;
        case BD_REDUCE_MIN: r = fmin(r, v); break;
        case BD_REDUCE_ALL: r = r && v != 0; break;
        default: r = r || v != 0; break;
        }
    }
    return r;
}

static void check_reduction(const bd_kernel_table *k, bd_reduce_op op, bd_number type, int64_t outer,
                            int64_t count, int64_t inner)
{
    double *x = bd_malloc(sizeof(double) * (size_t)(outer * count * inner + 1));
    double *y = bd_malloc(sizeof(double) * (size_t)(outer * inner + 1));
    fill(type, x, outer * count * inner, false);
    k->reduce[op][type](x, y, outer, count, inner);
    for (int64_t i = 0; i < outer; i++) {
        for (int64_t c = 0; c < inner; c++) {
            double want = reduce_plainly(op, type, x, i * count * inner + c, count, inner);
            double got = number(type, y, i * inner + c);
            if (type == BD_I32) want = (double)(int32_t)(uint32_t)(int64_t)want;
            double limit = type == BD_F32   ? 2e-6 * (double)(count + 10)
                           : type == BD_F64 ? 1e-14 * (double)(count + 10)
                                            : 0;
            if (!(fabs(got - want) <= limit * fmax(1, fabs(want))))
                fail_msg("%s, reduction %d of type %d, [%d,%d,%d] at %d,%d: %.9g, not %.9g", k->name, (int)op,
                         (int)type, (int)outer, (int)count, (int)inner, (int)i, (int)c, got, want);
        }
    }
    bd_free(x);
    bd_free(y);
}

static void reductions_match_the_generic_variant(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1},    {3, 7, 1},    {2, 100, 1},  {1, 5000, 1},
                                        {2, 3, 2},    {1, 300, 10}, {1, 131, 3},  {2, 9, 300},
                                        {1, 129, 40}, {1, 1, 5},    {1, 700, 33}, {3, 64, 31}};
    for (int v = 0; v < 3; v++) {
        const bd_kernel_table *k = bd_kernel_variant(v);
        random_state = 7;
        for (int op = 0; k && op < BD_REDUCE_COUNT; op++) {
            for (bd_number type = 0; type < BD_SIMD_NUMBER_COUNT; type++) {
                bool is_long_product = op == BD_REDUCE_PROD; // overflows double's integers
                for (size_t s = 0; k->reduce[op][type] && s < BD_COUNTOF(shapes); s++) {
                    if (is_long_product && shapes[s][1] > 7) continue;
                    check_reduction(k, (bd_reduce_op)op, type, shapes[s][0], shapes[s][1], shapes[s][2]);
                }
            }
        }
    }
}

// 0.1 is not a float: its error times n must not be exceeded by that of the summation.
static void long_sums_stay_accurate(void **state)
{
    (void)state;
    enum {
        LONG = 1 << 22
    };
    float *x = bd_malloc(sizeof(float) * LONG), y[4];
    for (int i = 0; i < LONG; i++)
        x[i] = 0.1f;
    for (int v = 0; v < 3; v++) {
        const bd_kernel_table *k = bd_kernel_variant(v);
        if (!k) continue;
        k->reduce[BD_REDUCE_SUM][BD_F32](x, y, 1, LONG, 1);
        assert_true(fabs((double)y[0] / LONG - 0.1) < 1e-7);
        k->reduce[BD_REDUCE_SUM][BD_F32](x, y, 1, LONG / 4, 4);
        for (int i = 0; i < 4; i++)
            assert_true(fabs(4.0 * (double)y[i] / LONG - 0.1) < 3e-6);
    }
    bd_free(x);
}

static void check_rows(const bd_kernel_table *generic, const bd_kernel_table *k)
{
    enum {
        MOST = 3 * 5000
    };
    double *x = bd_malloc(sizeof(double) * MOST), *labels = bd_malloc(sizeof(double) * MOST);
    double *want = bd_malloc(sizeof(double) * MOST), *got = bd_malloc(sizeof(double) * MOST), want_loss[600],
           got_loss[600];
    static const int64_t shapes[][2] = {{1, 1}, {3, 10}, {600, 10}, {2, 77}, {3, 5000}, {7, 200}};
    for (bd_number type = BD_F32; type <= BD_F64; type++) {
        for (size_t s = 0; s < BD_COUNTOF(shapes); s++) {
            int64_t rows = shapes[s][0], cols = shapes[s][1], n = rows * cols, sparse[600];
            fill(type, x, n, false);
            fill(type, labels, n, true);
            for (int64_t r = 0; r < rows; r++)
                sparse[r] = next_random() % cols;
            generic->softmax[type].softmax(x, want, rows, cols);
            k->softmax[type].softmax(x, got, rows, cols);
            expect_near(type, got, want, n, 1e-6, "softmax");
            generic->softmax[type].log_softmax(x, want, rows, cols);
            k->softmax[type].log_softmax(x, got, rows, cols);
            expect_near(type, got, want, n, 2e-6, "log_softmax");
            generic->softmax[type].cross_entropy(x, labels, want_loss, want, rows, cols);
            k->softmax[type].cross_entropy(x, labels, got_loss, got, rows, cols);
            expect_near(type, got, want, n, 2e-6, "cross_entropy");
            expect_near(type, got_loss, want_loss, rows, 4e-6, "cross_entropy's loss");
            generic->softmax[type].sparse_cross_entropy(x, sparse, want_loss, want, rows, cols);
            k->softmax[type].sparse_cross_entropy(x, sparse, got_loss, x, rows, cols); // in place
            expect_near(type, x, want, n, 2e-6, "sparse_cross_entropy");
            expect_near(type, got_loss, want_loss, rows, 2e-6, "sparse_cross_entropy's loss");
        }
    }
    bd_free(x);
    bd_free(labels);
    bd_free(want);
    bd_free(got);
}

static void softmax_variants_match_the_generic_one(void **state)
{
    (void)state;
    each_variant(check_rows);
}

static void run_training(const bd_training_fns *f, int which, double *state[4], const double *grad)
{
    bd_adam adam = {
        .lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-3, .beta1_power = 0.81, .beta2_power = 0.98};
    bd_rmsprop rmsprop = {.lr = 0.1, .rho = 0.9, .momentum = 0.5, .epsilon = 1e-3};
    bd_ftrl ftrl = {.lr = 0.1, .l1 = 0.2, .l2 = 0.1, .l2_shrinkage = 0.1, .lr_power = -0.5};
    bd_adadelta adadelta = {.lr = 0.1, .rho = 0.9, .epsilon = 1e-3};
    bd_adagrad_da da = {.lr = 0.1, .l1 = 0.1, .l2 = 0.1, .global_step = 3};
    bd_proximal proximal = {.lr = 0.1, .l1 = 0.2, .l2 = 0.1};
    bd_sign_step sign_step = {.lr = 0.1, .beta = 0.9, .same = 1.5, .opposite = 0.5, .neither = 1};
    adam.nesterov = which == 4;
    switch (which) {
    case 0: f->gradient_descent(state[0], grad, N, 0.1); break;
    case 1: f->momentum(state[0], state[1], grad, N, 0.1, 0.9, true); break;
    case 2: f->adagrad(state[0], state[1], grad, N, 0.1, 0.01, true); break;
    case 3:
    case 4: f->adam(state[0], state[1], state[2], grad, N, &adam); break;
    case 5: f->rmsprop(state[0], state[1], state[2], grad, N, &rmsprop); break;
    case 6: f->centered_rmsprop(state[0], state[1], state[2], state[3], grad, N, &rmsprop); break;
    case 7: f->adadelta(state[0], state[1], state[2], grad, N, &adadelta); break;
    case 8: f->adagrad_da(state[0], state[1], state[2], grad, N, &da); break;
    case 9: f->proximal(state[0], state[1], grad, N, &proximal); break;
    case 10: f->amsgrad(state[0], state[1], state[2], state[3], grad, N, &adam); break;
    case 11: f->adamax(state[0], state[1], state[2], grad, N, &adam); break;
    case 12: f->keras_momentum(state[0], state[1], grad, N, 0.1, 0.9, true); break;
    case 13: f->sign_step(state[0], state[1], grad, N, &sign_step); break;
    default: f->ftrl(state[0], state[1], state[2], grad, N, &ftrl); break;
    }
}

static void check_training(const bd_kernel_table *generic, const bd_kernel_table *k)
{
    double want[4][N], got[4][N], grad[N];
    for (bd_number type = BD_F32; type <= BD_F64; type++) {
        for (int which = 0; which < 15; which++) {
            fill(type, grad, N, false);
            for (int i = 0; i < 4; i++) {
                fill(type, want[i], N, true);
                memcpy(got[i], want[i], sizeof want[i]);
            }
            run_training(&generic->training[type], which, (double *[]){want[0], want[1], want[2], want[3]},
                         grad);
            run_training(&k->training[type], which, (double *[]){got[0], got[1], got[2], got[3]}, grad);
            for (int i = 0; i < 4; i++)
                expect_near(type, got[i], want[i], N, 1e-4, "training"); // steps divide by small differences
        }
    }
}

// Gradients of 0 (a slot of 0 has the root 0), tiny, huge and infinite ones and NaN give the results of the
// plain loop.
static void check_adam_edges(const bd_kernel_table *generic, const bd_kernel_table *k)
{
    static const float edges[] = {0, 1e-30f, 1e-15f, 1e15f, 1e30f, INFINITY, NAN, 1};
    float want[3][N], got[3][N], grad[N];
    for (int i = 0; i < N; i++) {
        grad[i] = edges[i % 8];
        want[0][i] = 1;
        want[1][i] = want[2][i] = 0;
    }
    memcpy(got, want, sizeof want);
    bd_adam o = {
        .lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .beta1_power = 0.9, .beta2_power = 0.99};
    generic->training[BD_F32].adam(want[0], want[1], want[2], grad, N, &o);
    k->training[BD_F32].adam(got[0], got[1], got[2], grad, N, &o);
    for (int i = 0; i < 3; i++)
        expect_near(BD_F32, got[i], want[i], N, 1e-6, "Adam of an extreme gradient");
}

static void training_variants_match_the_generic_one(void **state)
{
    (void)state;
    each_variant(check_training);
    each_variant(check_adam_edges);
}

static void check_select(const bd_kernel_table *generic, const bd_kernel_table *k)
{
    double t[N], e[N], want[N], got[N];
    bool condition[N];
    fill(BD_B8, condition, N, false);
    fill(BD_F64, t, N, false);
    fill(BD_F64, e, N, false);
    for (size_t size = 1; size <= 8; size *= 2) {
        generic->select(condition, t, e, want, N, size);
        k->select(condition, t, e, got, N, size);
        assert_memory_equal(got, want, N * size);
    }
}

static void select_variants_match_the_generic_one(void **state)
{
    (void)state;
    each_variant(check_select);
}

// ---- Conversion ----

// Numbers that fit, that do not, and nan, from each type to each.
static void check_casts(const bd_kernel_table *generic, const bd_kernel_table *k)
{
    static const double edges[] = {0,       -0.0,   1.5,   -1.5,   127.9,   128,      -129,     255.5,
                                   256,     32768,  65536, 0x1p31, -0x1p31, 0x1p32,   0x1p53,   0x1p63,
                                   -0x1p63, 0x1p64, 1e300, -1e300, NAN,     INFINITY, -INFINITY};
    enum {
        EDGES = sizeof edges / sizeof edges[0]
    };
    double from[2 * N], want[2 * N], got[2 * N];
    for (int i = 0; i < 2 * N; i++)
        from[i] = i < EDGES ? edges[i] : ldexp((double)next_random() - 0x1p31, i % 64 - 32);
    for (int a = 0; a < BD_CAST_COUNT; a++) {
        // The numbers in type `a`, of which there are N at least.
        double x[2 * N];
        generic->cast[BD_CAST_F64][a](from, x, a == BD_CAST_C128 ? N : 2 * N);
        for (int b = 0; b < BD_CAST_COUNT; b++) {
            memset(want, 1, sizeof want);
            memset(got, 1, sizeof got);
            generic->cast[a][b](x, want, N);
            k->cast[a][b](x, got, N);
            assert_memory_equal(got, want, sizeof got);
        }
    }
}

static void cast_variants_match_the_generic_one(void **state)
{
    (void)state;
    each_variant(check_casts);
}

// ---- Statistics of channels ----

static void check_channels(const bd_kernel_table *generic, const bd_kernel_table *k)
{
    enum {
        CHANNELS = 7,
        COUNT = CHANNELS * 130
    };
    // Channels last, in more rows than are asked about at once, and channels first.
    static const bd_channels shapes[] = {{130, CHANNELS, 1}, {2, CHANNELS, 65}};
    float x[COUNT], dy[COUNT], center[CHANNELS], factor[CHANNELS], offset[CHANNELS], got[COUNT], want[COUNT];
    double sums[CHANNELS], sums_want[CHANNELS];
    fill(BD_F32, x, COUNT, false);
    fill(BD_F32, dy, COUNT, false);
    fill(BD_F32, center, CHANNELS, false);
    fill(BD_F32, factor, CHANNELS, false);
    fill(BD_F32, offset, CHANNELS, false);
    for (int i = 0; i < 2; i++) {
        const bd_channels *v = &shapes[i];
        generic->channels->sums(v, x, sums_want);
        k->channels->sums(v, x, sums);
        expect_near(BD_F64, sums, sums_want, CHANNELS, 1, "sums");
        generic->channels->squares(v, x, center, sums_want);
        k->channels->squares(v, x, center, sums);
        expect_near(BD_F64, sums, sums_want, CHANNELS, 1, "squares");
        generic->channels->products(v, x, dy, center, sums_want);
        k->channels->products(v, x, dy, center, sums);
        expect_near(BD_F64, sums, sums_want, CHANNELS, 1, "products");
        generic->channels->normalize(v, x, center, factor, offset, want);
        k->channels->normalize(v, x, center, factor, offset, got);
        expect_near(BD_F32, got, want, COUNT, 1e-4, "normalize");
        memcpy(got, dy, sizeof got);
        generic->channels->normalize_grad(v, x, dy, center, factor, offset, offset, want);
        k->channels->normalize_grad(v, x, got, center, factor, offset, offset, got);
        expect_near(BD_F32, got, want, COUNT, 1e-4, "normalize_grad");
    }
}

static void channel_variants_match_the_generic_one(void **state)
{
    (void)state;
    each_variant(check_channels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_accurate),
        cmocka_unit_test(unary_variants_match_the_generic_one),
        cmocka_unit_test(binary_variants_match_the_generic_one),
        cmocka_unit_test(reductions_match_the_generic_variant),
        cmocka_unit_test(long_sums_stay_accurate),
        cmocka_unit_test(softmax_variants_match_the_generic_one),
        cmocka_unit_test(training_variants_match_the_generic_one),
        cmocka_unit_test(select_variants_match_the_generic_one),
        cmocka_unit_test(cast_variants_match_the_generic_one),
        cmocka_unit_test(channel_variants_match_the_generic_one),
    };
    return BD_RUN_TESTS(tests);
}
