// Candidate samplers, and the losses against sampled classes compared with a computation in plain C.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include <braid/candidate_sampling.h>
#include <braid/session.h>
#include <braid/variable_scope.h>
#include <math.h>

enum {
    BATCH = 3,
    TRUE = 2,
    DIM = 4,
    CLASSES = 7,
    SAMPLED = 5
};

typedef struct values {
    float x[BATCH * DIM], w[CLASSES * DIM], b[CLASSES];
} values;

static const int64_t labels[BATCH * TRUE] = {0, 4, 2, 2, 6, 1};
static const int64_t drawn[SAMPLED] = {4, 1, 3, 0, 5};
static const float true_counts[BATCH * TRUE] = {0.9f, 0.3f, 0.5f, 0.5f, 0.2f, 0.7f};
static const float drawn_counts[SAMPLED] = {0.3f, 0.7f, 0.4f, 0.9f, 0.25f};

static values some_values(void)
{
    values v;
    for (int i = 0; i < BATCH * DIM; i++)
        v.x[i] = (float)sin(1.3 * i);
    for (int i = 0; i < CLASSES * DIM; i++)
        v.w[i] = (float)cos(0.7 * i);
    for (int i = 0; i < CLASSES; i++)
        v.b[i] = 0.1f * (float)i - 0.2f;
    return v;
}

// ---- The definition ----

static double logit(const values *v, int row, int64_t c, float expected)
{
    double sum = (double)v->b[c] - log((double)expected);
    for (int i = 0; i < DIM; i++)
        sum += (double)v->x[row * DIM + i] * (double)v->w[c * DIM + i];
    return sum;
}

static bool is_hit(int row, int64_t c)
{
    return labels[row * TRUE] == c || labels[row * TRUE + 1] == c;
}

static double logistic(double x, double label)
{
    return fmax(x, 0) - x * label + log1p(exp(-fabs(x)));
}

static double want_nce(const values *v, int row, const int64_t *classes, const float *of_true,
                       const float *of_drawn, bool removes)
{
    double sum = 0;
    for (int i = 0; i < TRUE; i++)
        sum += logistic(logit(v, row, labels[row * TRUE + i], of_true[row * TRUE + i]), 1.0 / TRUE);
    for (int i = 0; i < SAMPLED; i++)
        if (!removes || !is_hit(row, classes[i])) sum += logistic(logit(v, row, classes[i], of_drawn[i]), 0);
    return sum;
}

static double want_softmax(const values *v, int row, const int64_t *classes, const float *of_true,
                           const float *of_drawn, bool removes)
{
    double total = 0, sum = 0, all[TRUE];
    for (int i = 0; i < TRUE; i++)
        total += exp(all[i] = logit(v, row, labels[row * TRUE + i], of_true[row * TRUE + i]));
    for (int i = 0; i < SAMPLED; i++)
        if (!removes || !is_hit(row, classes[i])) total += exp(logit(v, row, classes[i], of_drawn[i]));
    for (int i = 0; i < TRUE; i++)
        sum += (log(total) - all[i]) / TRUE;
    return sum;
}

// ---- The graph ----

static braid_out constant(braid_graph *g, braid_dtype dtype, braid_shape shape, const void *data)
{
    braid_tensor *t = braid_tensor_from(dtype, shape, data, NULL);
    braid_out out = braid_const(g, NULL, t);
    braid_tensor_free(t);
    return out;
}

static void run(braid_session *s, const braid_fetch *fetches, int count)
{
    BD_STATUS(st);
    braid_session_run(s, &(braid_run_args){.fetches = fetches, .fetch_count = count}, st);
    assert_ok(st);
}

static const float *floats(const braid_tensor *t)
{
    return braid_tensor_data(t);
}

// A loss with given candidates of tables that are values.
static braid_sampled_loss fixed_loss(braid_graph *g, const values *v)
{
    return (braid_sampled_loss){
        .weights = {.read = constant(g, BRAID_FLOAT, BRAID_SHAPE(CLASSES, DIM), v->w)},
        .biases = {.read = constant(g, BRAID_FLOAT, BRAID_SHAPE(CLASSES), v->b)},
        .labels = constant(g, BRAID_INT64, BRAID_SHAPE(BATCH, TRUE), labels),
        .inputs = constant(g, BRAID_FLOAT, BRAID_SHAPE(BATCH, DIM), v->x),
        .num_sampled = SAMPLED,
        .num_classes = CLASSES,
        .candidates = {constant(g, BRAID_INT64, BRAID_SHAPE(SAMPLED), drawn),
                       constant(g, BRAID_FLOAT, BRAID_SHAPE(BATCH, TRUE), true_counts),
                       constant(g, BRAID_FLOAT, BRAID_SHAPE(SAMPLED), drawn_counts)}};
}

typedef braid_out (*build_fn)(braid_graph *, const braid_sampled_loss *);
typedef double (*want_fn)(const values *, int, const int64_t *, const float *, const float *, bool);

static void check_values(build_fn build, want_fn want, braid_accidental_hits hits, bool removes)
{
    const values v = some_values();
    braid_graph *g = braid_graph_new();
    braid_sampled_loss loss = fixed_loss(g, &v);
    loss.accidental_hits = hits;
    const braid_out losses = build(g, &loss);
    braid_session *s = evaluate_open(g);
    braid_tensor *got = NULL;
    run(s, &(braid_fetch){losses, &got}, 1);
    assert_int_equal(braid_tensor_num_elements(got), BATCH);
    for (int i = 0; i < BATCH; i++)
        assert_float_equal((double)floats(got)[i], want(&v, i, drawn, true_counts, drawn_counts, removes),
                           1e-5);
    braid_tensor_free(got);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void losses_are_those_of_their_definitions_with_and_without_hits(void **state)
{
    (void)state;
    check_values(braid_nce_loss, want_nce, BRAID_HITS_DEFAULT, false);
    check_values(braid_nce_loss, want_nce, BRAID_HITS_REMOVE, true);
    check_values(braid_sampled_softmax_loss, want_softmax, BRAID_HITS_DEFAULT, true);
    check_values(braid_sampled_softmax_loss, want_softmax, BRAID_HITS_KEEP, false);
}

// ---- Gradients ----

static double total(want_fn want, const values *v, bool removes)
{
    double sum = 0;
    for (int i = 0; i < BATCH; i++)
        sum += want(v, i, drawn, true_counts, drawn_counts, removes);
    return sum;
}

static void check_gradient(const float *got, float *at, int count, want_fn want, const values *v,
                           bool removes)
{
    for (int i = 0; i < count; i++) {
        const float x = at[i];
        at[i] = x + 1e-2f;
        double step = (double)at[i];
        double change = total(want, v, removes);
        at[i] = x - 1e-2f;
        step -= (double)at[i];
        change -= total(want, v, removes);
        at[i] = x;
        assert_float_equal((double)got[i], change / step, 2e-4);
    }
}

static void check_gradients(build_fn build, want_fn want, bool removes)
{
    values v = some_values();
    braid_graph *g = braid_graph_new();
    braid_sampled_loss loss = fixed_loss(g, &v);
    const braid_out sum = braid_reduce_sum(g, build(g, &loss));
    const braid_out xs[3] = {loss.inputs, loss.weights.read, loss.biases.read};
    braid_out grads[3];
    braid_gradients(g, &sum, 1, xs, 3, NULL, grads);
    braid_session *s = evaluate_open(g);
    braid_tensor *got[3] = {NULL};
    run(s, (braid_fetch[]){{grads[0], &got[0]}, {grads[1], &got[1]}, {grads[2], &got[2]}}, 3);
    check_gradient(floats(got[0]), v.x, BATCH * DIM, want, &v, removes);
    check_gradient(floats(got[1]), v.w, CLASSES * DIM, want, &v, removes);
    check_gradient(floats(got[2]), v.b, CLASSES, want, &v, removes);
    for (int i = 0; i < 3; i++)
        braid_tensor_free(got[i]);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void gradients_are_those_of_the_definitions(void **state)
{
    (void)state;
    check_gradients(braid_nce_loss, want_nce, false);
    check_gradients(braid_sampled_softmax_loss, want_softmax, true);
}

// ---- Tables on parameter servers ----

static braid_variable variable(braid_graph *g, const char *name, braid_shape shape, const float *data,
                               int parts, braid_variable_kind kind)
{
    braid_variable_options o = {.initial_value = constant(g, BRAID_FLOAT, shape, data), .kind = kind};
    if (parts) o.partitioner = braid_fixed_size_partitioner(parts, 0);
    return braid_variable_get_with(g, name, &o);
}

// The candidates are drawn in the run: fetched beside the losses, they tell what these are.
static void check_tables(int parts, braid_variable_kind kind)
{
    const values v = some_values();
    braid_graph *g = braid_graph_new();
    braid_sampled_loss loss = fixed_loss(g, &v);
    loss.weights = variable(g, "w", BRAID_SHAPE(CLASSES, DIM), v.w, parts, kind);
    loss.biases = variable(g, "b", BRAID_SHAPE(CLASSES), v.b, parts, kind);
    loss.partition_strategy = BRAID_PARTITION_DIV;
    loss.candidates = (braid_candidates){0};
    const braid_out losses = braid_nce_loss(g, &loss);
    const char *const sampler = "nce_loss/LogUniformCandidateSampler";
    braid_op *node = braid_graph_find(g, sampler);
    assert_non_null(node);
    braid_session *s = evaluate_open(g);
    braid_tensor *got = NULL, *classes = NULL, *of_true = NULL, *of_drawn = NULL;
    run(s,
        (braid_fetch[]){{losses, &got},
                        {braid_output(node, 0), &classes},
                        {braid_output(node, 1), &of_true},
                        {braid_output(node, 2), &of_drawn}},
        4);
    for (int i = 0; i < BATCH; i++)
        assert_float_equal(
            (double)floats(got)[i],
            want_nce(&v, i, braid_tensor_data(classes), floats(of_true), floats(of_drawn), false), 1e-5);
    braid_tensor_free(got);
    braid_tensor_free(classes);
    braid_tensor_free(of_true);
    braid_tensor_free(of_drawn);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void tables_may_be_variables_of_both_kinds_whole_or_in_parts(void **state)
{
    (void)state;
    check_tables(0, BRAID_KIND_REFERENCE);
    check_tables(3, BRAID_KIND_REFERENCE);
    check_tables(3, BRAID_KIND_RESOURCE);
}

// ---- Samplers ----

typedef braid_candidates (*sampler_fn)(braid_graph *, const braid_sampler_options *);

static braid_candidates fixed_unigram(braid_graph *g, const braid_sampler_options *o)
{
    return braid_fixed_unigram_candidate_sampler(
        g, o, &(braid_unigrams){.unigrams = (const float[]){1, 0, 3}, .unigram_count = 3, .distortion = 1});
}

// With replacement, a class is expected num_sampled * probability times.
static void check_sampler(sampler_fn sampler, double want0, double want2)
{
    braid_graph *g = braid_graph_new();
    const int64_t classes[2] = {0, 2};
    const braid_candidates c = sampler(
        g, &(braid_sampler_options){.true_classes = constant(g, BRAID_INT64, BRAID_SHAPE(2, 1), classes),
                                    .num_sampled = SAMPLED,
                                    .range_max = 3,
                                    .with_replacement = true,
                                    .has_seed = true,
                                    .seed = 7});
    braid_session *s = evaluate_open(g);
    braid_tensor *expected = NULL, *sampled = NULL;
    run(s, (braid_fetch[]){{c.true_expected_count, &expected}, {c.sampled, &sampled}}, 2);
    assert_float_equal((double)floats(expected)[0], SAMPLED * want0, 1e-5);
    assert_float_equal((double)floats(expected)[1], SAMPLED * want2, 1e-5);
    for (int i = 0; i < SAMPLED; i++)
        assert_in_range(((const int64_t *)braid_tensor_data(sampled))[i], 0, 2);
    braid_tensor_free(expected);
    braid_tensor_free(sampled);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void samplers_draw_by_their_distributions(void **state)
{
    (void)state;
    check_sampler(braid_log_uniform_candidate_sampler, log(2) / log(4), log(4.0 / 3) / log(4));
    check_sampler(braid_uniform_candidate_sampler, 1.0 / 3, 1.0 / 3);
    check_sampler(braid_learned_unigram_candidate_sampler, 1.0 / 3, 1.0 / 3);
    check_sampler(fixed_unigram, 0.25, 0.75);
}

static void inputs_that_are_missing_or_of_another_shape_are_errors(void **state)
{
    (void)state;
    const struct {
        bool no_labels, flat_labels, no_samples;
        const char *message;
    } cases[] = {{true, false, false, "nce_loss: the labels are nothing"},
                 {false, true, false, "nce_loss: labels 'Const_7' and inputs 'Const_3' must be matrices"},
                 {false, false, true,
                  "LogUniformCandidateSampler: num_sampled and range_max must be positive: "
                  "they are 0 and 7"}};
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        BD_STATUS(st);
        const values v = some_values();
        braid_graph *g = braid_graph_new();
        braid_sampled_loss loss = fixed_loss(g, &v);
        loss.candidates = (braid_candidates){0};
        if (cases[i].no_labels) loss.labels = BRAID_NONE;
        if (cases[i].flat_labels) loss.labels = constant(g, BRAID_INT64, BRAID_SHAPE(BATCH), labels);
        if (cases[i].no_samples) loss.num_sampled = 0;
        assert_null(braid_nce_loss(g, &loss).op);
        braid_graph_status(g, st);
        assert_int_equal(braid_status_code(st), BRAID_INVALID_ARGUMENT);
        assert_non_null(strstr(braid_status_message(st), cases[i].message));
        braid_graph_free(g);
    }
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_fixed_unigram_candidate_sampler(g, &(braid_sampler_options){0}, &(braid_unigrams){0});
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "FixedUnigramCandidateSampler: needs either unigrams or a vocab_file");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_those_of_their_definitions_with_and_without_hits),
        cmocka_unit_test(gradients_are_those_of_the_definitions),
        cmocka_unit_test(tables_may_be_variables_of_both_kinds_whole_or_in_parts),
        cmocka_unit_test(samplers_draw_by_their_distributions),
        cmocka_unit_test(inputs_that_are_missing_or_of_another_shape_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
