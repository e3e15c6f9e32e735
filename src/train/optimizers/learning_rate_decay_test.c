// Decays of the learning rate: their values, by the formulas.
#include "base/testing/test.h"

#include <braid/braid.h>
#include <math.h>

// The value at a global step.
static float at(braid_graph *g, braid_out step, braid_out rate, int64_t value)
{
    BD_STATUS(st);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    braid_tensor *fed = braid_tensor_int64(value), *got = NULL;
    const braid_run_args args = {.feeds = &(braid_feed){step, fed},
                                 .feed_count = 1,
                                 .fetches = &(braid_fetch){rate, &got},
                                 .fetch_count = 1};
    braid_session_run(s, &args, st);
    assert_ok(st);
    const float result = *(const float *)braid_tensor_data(got);
    braid_tensor_free(fed);
    braid_tensor_free(got);
    braid_session_close(s, st);
    return result;
}

static void rates_follow_their_formulas(void **state)
{
    (void)state;
    static const int64_t steps[] = {0, 1, 7, 10, 11, 25};
    static const int64_t boundaries[] = {7, 10};
    static const float values[] = {1, 0.5f, 0.1f};
    braid_graph *g = braid_graph_new();
    const braid_out step = braid_placeholder(g, "step", BRAID_INT64, BRAID_SCALAR);
    const braid_out rates[] = {
        braid_exponential_decay(g, 0.1f, step, 10, 0.9f, false),
        braid_exponential_decay(g, 0.1f, step, 10, 0.9f, true),
        braid_natural_exp_decay(g, 0.1f, step, 10, 0.9f, false),
        braid_inverse_time_decay(g, 0.1f, step, 10, 0.9f, false),
        braid_polynomial_decay(g, 0.1f, step, 10, 0.01f, 2, false),
        braid_polynomial_decay(g, 0.1f, step, 10, 0.01f, 2, true),
        braid_cosine_decay(g, 0.1f, step, 10, 0.2f),
        braid_piecewise_constant(g, step, boundaries, values, 2),
        braid_cosine_decay_restarts(g, 0.1f, step, 4, 2, 0.5f, 0.2f), // restarts at steps 4 and 12
        braid_cosine_decay_restarts(g, 0.1f, step, 4, 1, 0.5f, 0),    // at each fourth
        braid_linear_cosine_decay(g, 0.1f, step, 10, 1.5f, 0.1f, 0.01f),
    };
    for (size_t i = 0; i < BD_COUNTOF(steps); i++) {
        const double t = (double)steps[i], u = fmin(t, 10) / 10;
        const double cycle = 10 * fmax(1, ceil(t / 10));
        const int restarts = (t >= 4) + (t >= 12), begin = restarts == 2 ? 12 : 4 * restarts;
        const double of_period = (t - begin) / (4 << restarts);
        const double wanted[] = {
            0.1 * pow(0.9, t / 10),
            0.1 * pow(0.9, floor(t / 10)),
            0.1 * exp(-0.9 * t / 10),
            0.1 / (1 + 0.9 * t / 10),
            0.09 * pow(1 - u, 2) + 0.01,
            0.09 * pow(1 - t / cycle, 2) + 0.01,
            0.1 * (0.8 * 0.5 * (1 + cos(M_PI * u)) + 0.2),
            t <= 7    ? 1
            : t <= 10 ? 0.5
                      : 0.1,
            0.1 * (0.8 * pow(0.5, restarts) * 0.5 * (1 + cos(M_PI * of_period)) + 0.2),
            0.1 * pow(0.5, floor(t / 4)) * 0.5 * (1 + cos(M_PI * fmod(t / 4, 1))),
            0.1 * ((1.1 - u) * 0.5 * (1 + cos(M_PI * 3 * u)) + 0.01),
        };
        for (size_t k = 0; k < BD_COUNTOF(rates); k++)
            assert_float_equal(at(g, step, rates[k], steps[i]), wanted[k], 1e-6);
    }
    braid_graph_free(g);
}

static void the_noise_has_a_variance_that_decays(void **state)
{
    (void)state;
    enum {
        DRAWS = 500
    };
    const int64_t steps[] = {0, 3, 25};
    braid_graph *g = braid_graph_new();
    const braid_out step = braid_placeholder(g, "step", BRAID_INT64, BRAID_SCALAR);
    const braid_noisy_linear_cosine_options o = {
        .initial_variance = 2, .variance_decay = 0.5f, .num_periods = 1, .alpha = 0.1f, .beta = 0.01f};
    const braid_out rate = braid_noisy_linear_cosine_decay(g, 0.1f, step, 10, &o);
    assert_string_equal(braid_op_name(rate.op), "NoisyLinearCosineDecay");
    for (size_t i = 0; i < BD_COUNTOF(steps); i++) {
        const double t = fmin((double)steps[i], 10), u = t / 10, cosine = (1 + cos(2 * M_PI * u)) / 2;
        const double variance = 2 / pow(1 + t, 0.5);
        double sum = 0, squares = 0;
        for (int k = 0; k < DRAWS; k++) {
            const double noise = (at(g, step, rate, steps[i]) / 0.1 - 0.01) / cosine - (1.1 - u);
            sum += noise / DRAWS;
            squares += noise * noise / DRAWS;
        }
        // Five standard deviations of the mean, and of the mean square.
        assert_true(fabs(sum) < 5 * sqrt(variance / DRAWS));
        assert_true(fabs(squares - variance) < 5 * variance * sqrt(2.0 / DRAWS));
    }
    braid_graph_free(g);
}

static void wrong_arguments_fail_the_graph(void **state)
{
    (void)state;
    static const int64_t falling[] = {7, 7};
    static const float values[] = {1, 2, 3};
    for (int i = 0; i < 5; i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        const braid_out step = braid_global_step(g);
        if (i == 0) braid_exponential_decay(g, 0.1f, step, 0, 0.9f, false);
        if (i == 1) braid_cosine_decay(g, 0.1f, BRAID_NONE, 10, 0);
        if (i == 2) braid_piecewise_constant(g, step, falling, values, 2);
        if (i == 3) braid_cosine_decay_restarts(g, 0.1f, step, 10, 0.5f, 1, 0);
        if (i == 4)
            braid_noisy_linear_cosine_decay(g, 0.1f, step, 10,
                                            &(braid_noisy_linear_cosine_options){.initial_variance = -1});
        static const char *const says[] = {"decay_steps must be positive, not 0", "global_step is required",
                                           "must increase", "t_mul must be at least 1, not 0.5",
                                           "initial_variance must not be negative"};
        braid_graph_status(g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, says[i]);
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_follow_their_formulas),
        cmocka_unit_test(the_noise_has_a_variance_that_decays),
        cmocka_unit_test(wrong_arguments_fail_the_graph),
    };
    return BD_RUN_TESTS(tests);
}
