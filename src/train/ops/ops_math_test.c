// Element-wise functions, activations and normalizations: their values, and gradients by finite differences.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include <braid/ops.h>
#include <math.h>

enum {
    SIZE = 6
};

static const double xs[SIZE] = {-2.25, -0.5, 0.75, 1.5, 3.25, 7};
static const double ys[SIZE] = {1.5, -2, 0.5, 2, -1.25, 2};

static braid_out vector(braid_graph *g, braid_dtype dtype, const double *values)
{
    return evaluate_const(g, dtype, BRAID_SHAPE(SIZE), values);
}

static double elu(double x)
{
    return x < 0 ? expm1(x) : x;
}

static double want_unary(int which, double x)
{
    switch (which) {
    case 0: return x < 0 ? -1 : 1;
    case 1: return sin(x);
    case 2: return cos(x);
    case 3: return floor(x);
    case 4: return ceil(x);
    case 5: return fmin(fmax(x, 0), 6);
    case 6: return elu(x);
    case 7: return 1.0507009873554805 * (x < 0 ? 1.6732632423543772 * expm1(x) : x);
    case 8: return log1p(exp(x));
    case 9: return x / (1 + fabs(x));
    case 10: return x;
    default: return x < 0 ? 0.1 * x : x;
    }
}

static braid_out leaky(braid_graph *g, braid_out x)
{
    return braid_leaky_relu(g, x, 0.1);
}

static void functions_of_one_value_follow_their_formulas(void **state)
{
    (void)state;
    static const braid_activation functions[] = {
        braid_sign, braid_sin,  braid_cos,      braid_floor,    braid_ceil,          braid_relu6,
        braid_elu,  braid_selu, braid_softplus, braid_softsign, braid_stop_gradient, leaky};
    braid_graph *g = braid_graph_new();
    braid_out outs[BD_COUNTOF(functions)];
    const braid_out x = vector(g, BRAID_DOUBLE, xs);
    for (size_t i = 0; i < BD_COUNTOF(functions); i++)
        outs[i] = functions[i](g, x);
    const braid_out positive = braid_abs(g, x);
    const braid_out log1 = braid_log1p(g, positive), rsqrt = braid_rsqrt(g, positive);
    braid_session *s = evaluate_open(g);
    double want[SIZE];
    for (size_t i = 0; i < BD_COUNTOF(functions); i++) {
        for (int k = 0; k < SIZE; k++)
            want[k] = want_unary((int)i, xs[k]);
        expect_evaluates(s, outs[i], want, SIZE);
    }
    for (int k = 0; k < SIZE; k++)
        want[k] = log1p(fabs(xs[k]));
    expect_evaluates(s, log1, want, SIZE);
    for (int k = 0; k < SIZE; k++)
        want[k] = 1 / sqrt(fabs(xs[k]));
    expect_evaluates(s, rsqrt, want, SIZE);
    evaluate_close(s, g);
}

static double want_binary(int which, double x, double y)
{
    switch (which) {
    case 0: return floor(x / y);
    case 1: return x - floor(x / y) * y;
    case 2: return pow(fabs(x), y);
    case 3: return (x - y) * (x - y);
    case 4: return x != y;
    case 5: return x < y;
    case 6: return x <= y;
    case 7: return x > y;
    default: return x >= y;
    }
}

static braid_out power(braid_graph *g, braid_out x, braid_out y)
{
    return braid_pow(g, braid_abs(g, x), y);
}

static void functions_of_two_values_follow_their_formulas(void **state)
{
    (void)state;
    static braid_out (*const functions[])(braid_graph *, braid_out, braid_out) = {
        braid_floordiv, braid_mod,        power,         braid_squared_difference, braid_not_equal,
        braid_less,     braid_less_equal, braid_greater, braid_greater_equal};
    braid_graph *g = braid_graph_new();
    const braid_out x = vector(g, BRAID_DOUBLE, xs), y = vector(g, BRAID_DOUBLE, ys);
    braid_out outs[BD_COUNTOF(functions)];
    for (size_t i = 0; i < BD_COUNTOF(functions); i++)
        outs[i] = functions[i](g, x, y);
    const braid_out sum = braid_add_n(g, (braid_out[]){x, y, x}, 3);
    const braid_out low = braid_less(g, x, y), high = braid_logical_not(g, low);
    const braid_out both = braid_logical_and(g, low, high), either = braid_logical_or(g, low, high);
    braid_session *s = evaluate_open(g);
    double want[SIZE];
    for (size_t i = 0; i < BD_COUNTOF(functions); i++) {
        for (int k = 0; k < SIZE; k++)
            want[k] = want_binary((int)i, xs[k], ys[k]);
        expect_evaluates(s, outs[i], want, SIZE);
    }
    for (int k = 0; k < SIZE; k++)
        want[k] = 2 * xs[k] + ys[k];
    expect_evaluates(s, sum, want, SIZE);
    expect_evaluates(s, both, (double[SIZE]){0}, SIZE);
    expect_evaluates(s, either, (double[]){1, 1, 1, 1, 1, 1}, SIZE);
    evaluate_close(s, g);
}

static void rows_are_ranked_and_summed_up(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_reshape(g, vector(g, BRAID_FLOAT, ys), BRAID_SHAPE(2, 3));
    braid_out values, indices;
    braid_top_k(g, x, 2, &values, &indices);
    const braid_out targets = evaluate_const(g, BRAID_INT32, BRAID_SHAPE(2), (double[]){2, 1});
    const braid_out hits = braid_in_top_k(g, x, targets, 2);
    const braid_out sums = braid_cumsum(g, x, 1, false, false), rest = braid_cumsum(g, x, 1, true, true);
    const braid_out smallest = braid_argmin(g, x, 1);
    braid_session *s = evaluate_open(g);
    expect_evaluates(s, values, (double[]){1.5, 0.5, 2, 2}, 4);
    expect_evaluates(s, indices, (double[]){0, 2, 0, 2}, 4);
    expect_evaluates(s, hits, (double[]){1, 0}, 2);
    expect_evaluates(s, sums, (double[]){1.5, -0.5, 0, 2, 0.75, 2.75}, 6);
    expect_evaluates(s, rest, (double[]){-1.5, 0.5, 0, 0.75, 2, 0}, 6);
    expect_evaluates(s, smallest, (double[]){1, 1}, 2);
    evaluate_close(s, g);
}

static void matrices_are_multiplied_transposed(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out a = evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(2, 2), (double[]){1, 2, 3, 4});
    const braid_out b = evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(2, 2), (double[]){5, 6, 7, 8});
    const braid_out first = braid_matmul_transposed(g, a, b, true, false);
    const braid_out second = braid_matmul_transposed(g, a, b, false, true);
    braid_session *s = evaluate_open(g);
    expect_evaluates(s, first, (double[]){26, 30, 38, 44}, 4);
    expect_evaluates(s, second, (double[]){17, 23, 39, 53}, 4);
    evaluate_close(s, g);
}

// ---- Normalizations ----

typedef braid_out (*normalize_fn)(braid_graph *g, braid_out x);

static braid_out by_norm(braid_graph *g, braid_out x)
{
    return braid_l2_normalize(g, x, (int32_t[]){-1}, 1, 1e-12);
}

// The mean and the variance of each row, weighed, so that both have gradients.
static braid_out both_moments(braid_graph *g, braid_out x)
{
    braid_out mean, variance;
    braid_moments(g, x, (int32_t[]){1}, 1, true, &mean, &variance);
    return braid_add(g, braid_mul(g, x, mean), variance);
}

static braid_out by_batch(braid_graph *g, braid_out x)
{
    braid_out mean, variance;
    braid_moments(g, x, (int32_t[]){0}, 1, false, &mean, &variance);
    return braid_batch_normalization(g, x, mean, variance, mean, BRAID_NONE, 0.1);
}

static braid_out log_softmax(braid_graph *g, braid_out x)
{
    return braid_log_softmax(g, x);
}

static double want_normalized(normalize_fn fn, const double *x, int i)
{
    const double *row = x + i / 3 * 3;
    const double mean = (row[0] + row[1] + row[2]) / 3;
    const double squares = row[0] * row[0] + row[1] * row[1] + row[2] * row[2];
    if (fn == by_norm) return x[i] / sqrt(squares);
    if (fn == both_moments) return x[i] * mean + squares / 3 - mean * mean;
    if (fn == log_softmax) return x[i] - log(exp(row[0]) + exp(row[1]) + exp(row[2]));
    const double a = x[i % 3], b = x[i % 3 + 3], of_column = (a + b) / 2, half = (a - b) / 2;
    return (x[i] - of_column) / sqrt(half * half + 0.1) + of_column;
}

static double want_sum(normalize_fn fn, const double *x)
{
    double sum = 0;
    for (int i = 0; i < SIZE; i++)
        sum += ys[i] * want_normalized(fn, x, i);
    return sum;
}

static void normalizations_and_their_gradients_follow_their_formulas(void **state)
{
    (void)state;
    static const normalize_fn functions[] = {by_norm, both_moments, by_batch, log_softmax};
    for (size_t k = 0; k < BD_COUNTOF(functions); k++) {
        braid_graph *g = braid_graph_new();
        const braid_shape shape = BRAID_SHAPE(2, 3);
        const braid_out x = braid_reshape(g, vector(g, BRAID_DOUBLE, xs), shape);
        const braid_out out = functions[k](g, x);
        const braid_out weights = braid_reshape(g, vector(g, BRAID_DOUBLE, ys), shape);
        const braid_out sum = braid_reduce_sum(g, braid_mul(g, out, weights));
        braid_out grad;
        braid_gradients(g, &sum, 1, &x, 1, NULL, &grad);
        braid_session *s = evaluate_open(g);
        double want[SIZE], want_grad[SIZE];
        for (int i = 0; i < SIZE; i++) {
            double up[SIZE], down[SIZE];
            memcpy(up, xs, sizeof up);
            memcpy(down, xs, sizeof down);
            up[i] += 1e-4;
            down[i] -= 1e-4;
            want[i] = want_normalized(functions[k], xs, i);
            want_grad[i] = (want_sum(functions[k], up) - want_sum(functions[k], down)) / 2e-4;
        }
        expect_evaluates(s, out, want, SIZE);
        expect_evaluates(s, grad, want_grad, SIZE);
        evaluate_close(s, g);
    }
}

static void local_responses_are_normalized_over_channels(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_reshape(g, vector(g, BRAID_FLOAT, xs), BRAID_SHAPE(1, 1, 1, SIZE));
    const braid_out y = braid_local_response_normalization(g, x, 1, 2, 0.5, 0.75);
    braid_session *s = evaluate_open(g);
    double want[SIZE];
    for (int i = 0; i < SIZE; i++) {
        double squares = 0;
        for (int k = i - 1; k <= i + 1; k++)
            if (k >= 0 && k < SIZE) squares += xs[k] * xs[k];
        want[i] = xs[i] / pow(2 + 0.5 * squares, 0.75);
    }
    expect_evaluates(s, y, want, SIZE);
    evaluate_close(s, g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_one_value_follow_their_formulas),
        cmocka_unit_test(functions_of_two_values_follow_their_formulas),
        cmocka_unit_test(rows_are_ranked_and_summed_up),
        cmocka_unit_test(matrices_are_multiplied_transposed),
        cmocka_unit_test(normalizations_and_their_gradients_follow_their_formulas),
        cmocka_unit_test(local_responses_are_normalized_over_channels),
    };
    return BD_RUN_TESTS(tests);
}
