// Batch renormalization: outputs, averages and gradients of several steps against the formulas.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include <braid/layers.h>
#include <braid/session.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    BATCH = 5,
    CHANNELS = 2,
    SIZE = BATCH * CHANNELS,
    STEPS = 4
};

static const double momentum = 0.8, renorm_momentum = 0.6, epsilon = 0.01, gamma_of_all = 1.5,
                    beta_of_all = -0.5;
static const double rmin = 0.9, rmax = 1.25, dmax = 0.2;

// Which form of the layer is built.
typedef struct form {
    bool channels_first, resource, by_tensor, clipped, no_affine;
} form;

static const form forms[] = {
    {.clipped = false}, {.clipped = true},   {.channels_first = true, .clipped = true},
    {.resource = true}, {.by_tensor = true}, {.resource = true, .by_tensor = true},
    {.no_affine = true}};

// ---- The layer ----

typedef struct model {
    braid_graph *g;
    braid_session *s;
    braid_out x, is_training; // placeholders
    braid_out y, gradient;    // the gradient of a sum of y times weights
    braid_op *update;
} model;

// The place of element `i` of channel `c`.
static int place(const form *f, int i, int c)
{
    return f->channels_first ? c + i * CHANNELS
                             : i * CHANNELS + c; // [BATCH, CHANNELS, 1, 1] or [BATCH, CHANNELS]
}

static double weight_of(int at)
{
    return at * 5 % 7 - 2;
}

static braid_out weights(braid_graph *g, braid_shape shape)
{
    float values[SIZE];
    for (int i = 0; i < SIZE; i++)
        values[i] = (float)weight_of(i);
    braid_tensor *t = braid_tensor_from(BRAID_FLOAT, shape, values, NULL);
    const braid_out out = braid_const(g, NULL, t);
    braid_tensor_free(t);
    return out;
}

static model make(const form *f)
{
    model m = {.g = braid_graph_new()};
    braid_graph *g = m.g;
    const braid_shape shape =
        f->channels_first ? BRAID_SHAPE(BATCH, CHANNELS, 1, 1) : BRAID_SHAPE(BATCH, CHANNELS);
    m.x = braid_placeholder(g, "x", BRAID_FLOAT, shape);
    m.is_training = braid_placeholder(g, "is_training", BRAID_BOOL, BRAID_SCALAR);
    braid_batch_normalization_options o = {.training = !f->by_tensor,
                                           .is_training = f->by_tensor ? m.is_training : BRAID_NONE,
                                           .axis = 1,
                                           .momentum = (float)momentum,
                                           .epsilon = (float)epsilon,
                                           .renorm = true,
                                           .renorm_momentum = (float)renorm_momentum,
                                           .no_scale = f->no_affine,
                                           .no_center = f->no_affine,
                                           .gamma_initializer = braid_constant_initializer(gamma_of_all),
                                           .beta_initializer = braid_constant_initializer(beta_of_all)};
    if (f->clipped) {
        o.renorm_rmin = braid_const_float(g, NULL, (float)rmin);
        o.renorm_rmax = braid_const_float(g, NULL, (float)rmax);
        o.renorm_dmax = braid_const_float(g, NULL, (float)dmax);
    }
    const braid_variable_kind kind = f->resource ? BRAID_KIND_RESOURCE : BRAID_KIND_REFERENCE;
    (void)braid_push_variable_scope(g, "m", &(braid_variable_scope_options){.kind = kind});
    m.y = braid_layers_batch_normalization(g, m.x, &o);
    braid_pop_variable_scope(g);
    const braid_out loss = braid_reduce_sum(g, braid_mul(g, braid_square(g, m.y), weights(g, shape)));
    braid_gradients(g, &loss, 1, &m.x, 1, NULL, &m.gradient);
    braid_push_update_ops(g);
    m.update = braid_no_op(g, "updated");
    braid_pop_control(g);
    m.s = evaluate_open(m.g);
    return m;
}

// Runs with the input `x`, and updates the averages if `updates`; stores the output and the gradient.
static void run(const model *m, const float *x, bool training, bool updates, float *y, float *gradient)
{
    BD_STATUS(st);
    braid_tensor *fed = braid_tensor_from(BRAID_FLOAT, braid_out_shape(m->x), x, NULL);
    braid_tensor *flag = braid_tensor_bool(training), *got[2] = {NULL};
    const braid_feed feeds[] = {{m->x, fed}, {m->is_training, flag}};
    const braid_fetch fetches[] = {{m->y, &got[0]}, {m->gradient, &got[1]}};
    const braid_run_args args = {.feeds = feeds,
                                 .feed_count = 2,
                                 .fetches = fetches,
                                 .fetch_count = 2,
                                 .targets = &m->update,
                                 .target_count = updates};
    braid_session_run(m->s, &args, st);
    assert_ok(st);
    memcpy(y, braid_tensor_data(got[0]), SIZE * sizeof *y);
    memcpy(gradient, braid_tensor_data(got[1]), SIZE * sizeof *gradient);
    braid_tensor *const all[] = {fed, flag, got[0], got[1]};
    for (size_t i = 0; i < BD_COUNTOF(all); i++)
        braid_tensor_free(all[i]);
}

static void expect_variable(const model *m, const char *name, const double *want, int count)
{
    BD_STATUS(st);
    char full[100];
    snprintf(full, sizeof full, "m/batch_normalization/%s", name);
    braid_tensor *got = NULL;
    const braid_fetch fetch = {braid_variable_find(braid_graph_find_out(m->g, full)).read, &got};
    braid_session_run(m->s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    assert_ok(st);
    for (int i = 0; i < count; i++)
        assert_float_equal((double)((const float *)braid_tensor_data(got))[i], want[i], 1e-5);
    braid_tensor_free(got);
}

// ---- The formulas ----

typedef struct averages {
    double mean[CHANNELS], stddev[CHANNELS], weight;
    double moving_mean[CHANNELS], moving_variance[CHANNELS];
} averages;

// Of one channel of a batch.
typedef struct correction {
    double mean, stddev, r, d;
} correction;

static void make_input(int step, float *x)
{
    for (int i = 0; i < SIZE; i++)
        x[i] = (float)((i + 3 * step) * (i + 1) * 3 % 17 - 8) / (float)(5 - step);
}

static double clip(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

static void take_moments(const form *f, const float *x, int c, correction *k)
{
    double variance = 0;
    k->mean = 0;
    for (int i = 0; i < BATCH; i++)
        k->mean += (double)x[place(f, i, c)] / BATCH;
    for (int i = 0; i < BATCH; i++)
        variance += pow((double)x[place(f, i, c)] - k->mean, 2) / BATCH;
    k->stddev = sqrt(variance + epsilon);
}

static correction correct(const form *f, const averages *a, const float *x, int c)
{
    correction k;
    take_moments(f, x, c, &k);
    const double mean = a->mean[c] + (1 - a->weight) * k.mean;
    const double stddev = a->stddev[c] + (1 - a->weight) * k.stddev;
    k.r = k.stddev / stddev;
    k.d = (k.mean - mean) / stddev;
    if (f->clipped) k.r = clip(k.r, rmin, rmax);
    if (f->clipped) k.d = clip(k.d, -dmax, dmax);
    return k;
}

static void follow(double *average, double value, double by)
{
    *average = by * *average + (1 - by) * value;
}

static void update(averages *a, const correction *k)
{
    follow(&a->weight, 1, renorm_momentum);
    for (int c = 0; c < CHANNELS; c++) {
        follow(&a->mean[c], k[c].mean, renorm_momentum);
        follow(&a->stddev[c], k[c].stddev, renorm_momentum);
        follow(&a->moving_mean[c], a->mean[c] / a->weight, momentum);
        follow(&a->moving_variance[c], pow(a->stddev[c] / a->weight, 2) - epsilon, momentum);
    }
}

static double output(const form *f, double x, const correction *k)
{
    const double y = (x - k->mean) / k->stddev * k->r + k->d;
    return f->no_affine ? y : y * gamma_of_all + beta_of_all;
}

// The loss of another input, with the corrections of the first.
static double loss_of(const form *f, const float *x, const correction *ks)
{
    double sum = 0;
    for (int c = 0; c < CHANNELS; c++) {
        correction k = ks[c];
        take_moments(f, x, c, &k);
        for (int i = 0; i < BATCH; i++)
            sum += pow(output(f, (double)x[place(f, i, c)], &k), 2) * weight_of(place(f, i, c));
    }
    return sum;
}

static void expect_gradient(const form *f, const float *x, const correction *ks, const float *got)
{
    for (int i = 0; i < SIZE; i++) {
        float up[SIZE], down[SIZE];
        memcpy(up, x, sizeof up);
        memcpy(down, x, sizeof down);
        up[i] += 1e-3f;
        down[i] -= 1e-3f;
        const double want = (loss_of(f, up, ks) - loss_of(f, down, ks)) / ((double)up[i] - (double)down[i]);
        assert_float_equal((double)got[i], want, 1e-3 * (1 + fabs(want)));
    }
}

static void expect_averages(const model *m, const averages *a)
{
    expect_variable(m, "renorm_mean", a->mean, CHANNELS);
    expect_variable(m, "renorm_mean_weight", &a->weight, 1);
    expect_variable(m, "renorm_stddev", a->stddev, CHANNELS);
    expect_variable(m, "renorm_stddev_weight", &a->weight, 1);
    expect_variable(m, "moving_mean", a->moving_mean, CHANNELS);
    expect_variable(m, "moving_variance", a->moving_variance, CHANNELS);
}

// ---- Tests ----

static void train(const form *f, const model *m, averages *a, int step)
{
    float x[SIZE], y[SIZE], gradient[SIZE];
    correction ks[CHANNELS];
    make_input(step, x);
    for (int c = 0; c < CHANNELS; c++)
        ks[c] = correct(f, a, x, c);
    run(m, x, true, true, y, gradient);
    for (int c = 0; c < CHANNELS; c++)
        for (int i = 0; i < BATCH; i++) {
            const int at = place(f, i, c);
            assert_float_equal((double)y[at], output(f, (double)x[at], &ks[c]), 1e-4);
        }
    expect_gradient(f, x, ks, gradient);
    update(a, ks);
    expect_averages(m, a);
}

static void training_corrects_the_moments_of_the_batch(void **state)
{
    (void)state;
    for (size_t k = 0; k < BD_COUNTOF(forms); k++) {
        model m = make(&forms[k]);
        averages a = {.moving_variance = {1, 1}};
        for (int step = 0; step < STEPS; step++)
            train(&forms[k], &m, &a, step);
        evaluate_close(m.s, m.g);
    }
}

// Before the first training step too, when all weights are 0.
static void inference_uses_the_moving_averages_and_changes_nothing(void **state)
{
    (void)state;
    for (int resource = 0; resource < 2; resource++) {
        const form f = {.by_tensor = true, .clipped = true, .resource = resource};
        model m = make(&f);
        averages a = {.moving_variance = {1, 1}};
        float x[SIZE], y[SIZE], gradient[SIZE];
        for (int step = 0; step < 2; step++) {
            make_input(3, x);
            run(&m, x, false, true, y, gradient);
            for (int c = 0; c < CHANNELS; c++) {
                const correction k = {a.moving_mean[c], sqrt(a.moving_variance[c] + epsilon), 1, 0};
                for (int i = 0; i < BATCH; i++)
                    assert_float_equal((double)y[place(&f, i, c)], output(&f, (double)x[place(&f, i, c)], &k),
                                       1e-4);
            }
            expect_averages(&m, &a);
            train(&f, &m, &a, step);
        }
        evaluate_close(m.s, m.g);
    }
}

static void the_variables_are_there_in_inference_too(void **state)
{
    (void)state;
    static const char *const names[] = {"gamma",         "beta",
                                        "moving_mean",   "moving_variance",
                                        "renorm_mean",   "renorm_mean_weight",
                                        "renorm_stddev", "renorm_stddev_weight"};
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 4, 4, 3));
    braid_layers_batch_normalization(g, x, &(braid_batch_normalization_options){.renorm = true});
    int count;
    const braid_out *found = braid_collection(g, BRAID_GLOBAL_VARIABLES, &count);
    assert_int_equal(count, BD_COUNTOF(names));
    for (int i = 0; i < count; i++) {
        char name[100];
        snprintf(name, sizeof name, "batch_normalization/%s", names[i]);
        assert_string_equal(braid_op_name(found[i].op), name);
    }
    (void)braid_collection(g, BRAID_UPDATE_OPS, &count);
    assert_int_equal(count, 0);
    braid_graph_free(g);
}

static void a_wrong_momentum_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 4));
    const braid_batch_normalization_options o = {.renorm = true, .renorm_momentum = 1};
    assert_null(braid_layers_batch_normalization(g, x, &o).op);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "Layer 'batch_normalization': a momentum of renormalization of 1; it is in [0, 1)");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_corrects_the_moments_of_the_batch),
        cmocka_unit_test(inference_uses_the_moving_averages_and_changes_nothing),
        cmocka_unit_test(the_variables_are_there_in_inference_too),
        cmocka_unit_test(a_wrong_momentum_is_an_error),
    };
    return BD_RUN_TESTS(tests);
}
