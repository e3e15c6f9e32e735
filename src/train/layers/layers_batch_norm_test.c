// Batch normalization: values in training and inference against the formulas, moving averages, gradients.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include <braid/layers.h>
#include <braid/session.h>
#include <math.h>

enum {
    BATCH = 3,
    PIXELS = 4, // 2 x 2
    CHANNELS = 2,
    VALUES = BATCH * PIXELS, // of a channel
    SIZE = VALUES * CHANNELS
};

static const double momentum = 0.9, epsilon = 0.01;
static const double gammas[CHANNELS] = {1.5, 1.5}, betas[CHANNELS] = {-0.5, -0.5};

// Which form of the layer is built.
typedef struct form {
    bool fused, channels_first, resource, by_tensor;
} form;

static const form forms[] = {{.fused = true},     {.fused = true, .channels_first = true},
                             {.fused = false},    {.fused = false, .channels_first = true},
                             {.resource = true},  {.fused = true, .resource = true},
                             {.by_tensor = true}, {.fused = true, .by_tensor = true}};

typedef struct model {
    const form *form;
    braid_graph *g;
    braid_session *s;
    braid_out x, is_training; // placeholders
    braid_out y, loss, gradient;
    braid_out average_mean, average_variance; // read after an update
    braid_op *update;
} model;

// The place of element `i` of channel `c`.
static int place(const form *f, int i, int c)
{
    return f->channels_first ? (i / PIXELS * CHANNELS + c) * PIXELS + i % PIXELS : i * CHANNELS + c;
}

// Weighs the elements of the output, so that its sum depends on the input.
static braid_out make_loss(braid_graph *g, braid_out y)
{
    float weights[SIZE];
    for (int i = 0; i < SIZE; i++)
        weights[i] = (float)(i * 5 % 7 - 2);
    braid_tensor *t = braid_tensor_from(BRAID_FLOAT, braid_out_shape(y), weights, NULL);
    const braid_out loss = braid_reduce_sum(g, braid_mul(g, braid_square(g, y), braid_const(g, NULL, t)));
    braid_tensor_free(t);
    return loss;
}

static model make(const form *f, bool training)
{
    model m = {.form = f, .g = braid_graph_new()};
    braid_graph *g = m.g;
    const braid_shape last = BRAID_SHAPE(BATCH, 2, 2, CHANNELS), first = BRAID_SHAPE(BATCH, CHANNELS, 2, 2);
    m.x = braid_placeholder(g, "x", BRAID_FLOAT, f->channels_first ? first : last);
    m.is_training = braid_placeholder(g, "is_training", BRAID_BOOL, BRAID_SCALAR);
    const braid_batch_normalization_options o = {.training = training && !f->by_tensor,
                                                 .is_training = f->by_tensor ? m.is_training : BRAID_NONE,
                                                 .axis = f->channels_first ? 1 : 0,
                                                 .momentum = (float)momentum,
                                                 .epsilon = (float)epsilon,
                                                 .not_fused = !f->fused,
                                                 .gamma_initializer = braid_constant_initializer(1.5f),
                                                 .beta_initializer = braid_constant_initializer(-0.5f),
                                                 .moving_mean_initializer = braid_constant_initializer(0.25f),
                                                 .moving_variance_initializer =
                                                     braid_constant_initializer(2)};
    (void)braid_push_variable_scope(
        g, "m",
        &(braid_variable_scope_options){.kind = f->resource ? BRAID_KIND_RESOURCE : BRAID_KIND_INHERIT});
    m.y = braid_layers_batch_normalization(g, m.x, &o);
    braid_pop_variable_scope(g);
    m.loss = make_loss(g, m.y);
    braid_gradients(g, &m.loss, 1, &m.x, 1, NULL, &m.gradient);
    braid_push_update_ops(g);
    m.update = braid_no_op(g, "updated");
    braid_pop_control(g);
    const char *const names[] = {"m/batch_normalization/moving_mean",
                                 "m/batch_normalization/moving_variance"};
    braid_out reads[2];
    for (int i = 0; i < 2; i++)
        reads[i] = braid_identity(g, NULL, braid_variable_find(braid_graph_find_out(g, names[i])).read);
    m.average_mean = reads[0];
    m.average_variance = reads[1];
    return m;
}

// Runs with the input `x`; stores `fetch` to `out` (NULL: runs `target`).
static void run(const model *m, const float *x, bool training, braid_out fetch, braid_op *target, float *out)
{
    BD_STATUS(st);
    braid_tensor *fed = braid_tensor_from(BRAID_FLOAT, braid_out_shape(m->x), x, NULL), *got = NULL;
    braid_tensor *flag = braid_tensor_bool(training);
    const braid_feed feeds[] = {{m->x, fed}, {m->is_training, flag}};
    const braid_run_args args = {.feeds = feeds,
                                 .feed_count = 2,
                                 .fetches = &(braid_fetch){fetch, &got},
                                 .fetch_count = out ? 1 : 0,
                                 .targets = &target,
                                 .target_count = out ? 0 : 1};
    braid_session_run(m->s, &args, st);
    assert_ok(st);
    if (out) memcpy(out, braid_tensor_data(got), braid_tensor_bytes(got));
    braid_tensor_free(fed);
    braid_tensor_free(flag);
    braid_tensor_free(got);
}

static void make_input(float *x)
{
    for (int i = 0; i < SIZE; i++)
        x[i] = (float)(i * i * 3 % 17 - 8) / 5;
}

// ---- The formulas ----

static void moments_of(const form *f, const float *x, int c, double *mean, double *variance)
{
    *mean = *variance = 0;
    for (int i = 0; i < VALUES; i++)
        *mean += (double)x[place(f, i, c)] / VALUES;
    for (int i = 0; i < VALUES; i++)
        *variance += pow((double)x[place(f, i, c)] - *mean, 2) / VALUES;
}

static double normalized(double x, double mean, double variance, int c)
{
    return (x - mean) / sqrt(variance + epsilon) * gammas[c] + betas[c];
}

static double loss_of(const form *f, const float *x)
{
    double sum = 0;
    for (int c = 0; c < CHANNELS; c++) {
        double mean, variance;
        moments_of(f, x, c, &mean, &variance);
        for (int i = 0; i < VALUES; i++) {
            const int at = place(f, i, c);
            sum += pow(normalized((double)x[at], mean, variance, c), 2) * (at * 5 % 7 - 2);
        }
    }
    return sum;
}

static void training_normalizes_by_the_batch(void **state)
{
    (void)state;
    for (size_t k = 0; k < BD_COUNTOF(forms); k++) {
        const form *f = &forms[k];
        model m = make(f, true);
        m.s = evaluate_open(m.g);
        float x[SIZE], y[SIZE], means[CHANNELS], variances[CHANNELS];
        make_input(x);
        run(&m, x, true, m.y, NULL, y);
        for (int i = 0; i < 2; i++) // two updates of the averages
            run(&m, x, true, BRAID_NONE, m.update, NULL);
        run(&m, x, true, m.average_mean, NULL, means);
        run(&m, x, true, m.average_variance, NULL, variances);
        for (int c = 0; c < CHANNELS; c++) {
            double mean, variance;
            moments_of(f, x, c, &mean, &variance);
            for (int i = 0; i < VALUES; i++)
                assert_float_equal((double)y[place(f, i, c)],
                                   normalized((double)x[place(f, i, c)], mean, variance, c), 1e-5);
            if (f->fused) variance = variance * VALUES / (VALUES - 1);
            const double left = momentum * momentum;
            assert_float_equal((double)means[c], left * 0.25 + (1 - left) * mean, 1e-5);
            assert_float_equal((double)variances[c], left * 2 + (1 - left) * variance, 1e-5);
        }
        evaluate_close(m.s, m.g);
    }
}

static void inference_normalizes_by_the_moving_averages(void **state)
{
    (void)state;
    for (size_t k = 0; k < BD_COUNTOF(forms); k++) {
        const form *f = &forms[k];
        model m = make(f, false);
        m.s = evaluate_open(m.g);
        int count;
        (void)braid_collection(m.g, BRAID_UPDATE_OPS, &count);
        assert_int_equal(count, f->by_tensor ? 2 : 0);
        float x[SIZE], y[SIZE], means[CHANNELS];
        make_input(x);
        run(&m, x, false, BRAID_NONE, m.update, NULL);
        run(&m, x, false, m.average_mean, NULL, means);
        run(&m, x, false, m.y, NULL, y);
        for (int c = 0; c < CHANNELS; c++) {
            assert_float_equal((double)means[c], 0.25, 0);
            for (int i = 0; i < VALUES; i++)
                assert_float_equal((double)y[place(f, i, c)],
                                   normalized((double)x[place(f, i, c)], 0.25, 2, c), 1e-5);
        }
        evaluate_close(m.s, m.g);
    }
}

static void gradients_agree_with_finite_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < BD_COUNTOF(forms); k++) {
        model m = make(&forms[k], true);
        m.s = evaluate_open(m.g);
        float x[SIZE], got[SIZE];
        make_input(x);
        run(&m, x, true, m.gradient, NULL, got);
        for (int i = 0; i < SIZE; i++) {
            float up[SIZE], down[SIZE];
            memcpy(up, x, sizeof x);
            memcpy(down, x, sizeof x);
            up[i] += 1e-3f;
            down[i] -= 1e-3f;
            const double want =
                (loss_of(m.form, up) - loss_of(m.form, down)) / ((double)up[i] - (double)down[i]);
            assert_float_equal((double)got[i], want, 1e-3 * (1 + fabs(want)));
        }
        evaluate_close(m.s, m.g);
    }
}

static void variables_are_named_as_in_tensorflow(void **state)
{
    (void)state;
    static const char *const variables[] = {"batch_normalization/gamma",
                                            "batch_normalization/beta",
                                            "batch_normalization/moving_mean",
                                            "batch_normalization/moving_variance",
                                            "batch_normalization_1/moving_mean",
                                            "batch_normalization_1/moving_variance",
                                            "bn/gamma",
                                            "bn/moving_mean",
                                            "bn/moving_variance"};
    static const char *const trained[] = {"batch_normalization/gamma", "batch_normalization/beta"};
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 8, 8, 3));
    braid_layers_batch_normalization(g, x, NULL);
    braid_layers_batch_normalization(
        g, x, &(braid_batch_normalization_options){.no_center = true, .no_scale = true});
    braid_batch_normalization_options o = {
        .name = "bn", .no_center = true, .untrained = true, .training = true, .reuse = BRAID_AUTO_REUSE};
    for (int i = 0; i < 2; i++) // shared the second time
        braid_layers_batch_normalization(g, x, &o);
    int count;
    const braid_out *found = braid_collection(g, BRAID_GLOBAL_VARIABLES, &count);
    assert_int_equal(count, BD_COUNTOF(variables));
    for (int i = 0; i < count; i++)
        assert_string_equal(braid_op_name(found[i].op), variables[i]);
    found = braid_collection(g, BRAID_TRAINABLE_VARIABLES, &count);
    assert_int_equal(count, BD_COUNTOF(trained));
    for (int i = 0; i < count; i++)
        assert_string_equal(braid_op_name(found[i].op), trained[i]);
    found = braid_collection(g, BRAID_UPDATE_OPS, &count);
    assert_int_equal(count, 4);
    assert_string_equal(braid_op_name(found[0].op), "bn/AssignMovingAvg");
    assert_string_equal(braid_op_name(found[1].op), "bn/AssignMovingAvg_1");
    braid_graph_free(g);
}

static void wrong_options_are_errors(void **state)
{
    (void)state;
    static const char *const says[] = {
        "Layer 'batch_normalization': its input 'x' must have at least two dimensions and a known number of "
        "channels",
        "Layer 'batch_normalization': a momentum of 1 and an epsilon of 0.001"};
    for (int i = 0; i < 2; i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 4));
        const braid_batch_normalization_options o = {.axis = i ? 0 : 2, .momentum = i ? 1 : 0};
        assert_null(braid_layers_batch_normalization(g, x, &o).op);
        braid_graph_status(g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, says[i]);
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_normalizes_by_the_batch),
        cmocka_unit_test(inference_normalizes_by_the_moving_averages),
        cmocka_unit_test(gradients_agree_with_finite_differences),
        cmocka_unit_test(variables_are_named_as_in_tensorflow),
        cmocka_unit_test(wrong_options_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
