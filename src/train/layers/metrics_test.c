// Streaming metrics: their values over several runs, against counts made here; their variables.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include "train/testing/small_model.h"
#include <braid/metrics.h>
#include <braid/session.h>
#include <braid/variables.h>
#include <math.h>

enum {
    SIZE = 4,
    BATCHES = 3
};

static const float labels[BATCHES][SIZE] = {{0, 1, 1, 0}, {1, 1, 0, 0}, {0, 1, 0, 1}};
static const float predictions[BATCHES][SIZE] = {
    {0.1f, 0.8f, 0.3f, 0.6f}, {0.9f, 0.2f, 0.45f, 0.05f}, {0.7f, 0.55f, 0.35f, 0.95f}};
static const float weights[BATCHES][SIZE] = {{1, 2, 0.5f, 3}, {0, 1, 1, 2}, {1, 0.25f, 4, 1}};

typedef struct problem {
    braid_graph *g;
    braid_out labels, predictions, weights;
    braid_session *s;
} problem;

static problem make(void)
{
    problem p = {.g = braid_graph_new()};
    p.labels = braid_placeholder(p.g, "labels", BRAID_FLOAT, BRAID_SHAPE(-1));
    p.predictions = braid_placeholder(p.g, "predictions", BRAID_FLOAT, BRAID_SHAPE(-1));
    p.weights = braid_placeholder(p.g, "weights", BRAID_FLOAT, BRAID_SHAPE(-1));
    return p;
}

// A scalar, as a double; batch -1 feeds nothing.
static double run(const problem *p, braid_out fetch, int batch)
{
    BD_STATUS(st);
    braid_tensor *fed[3] = {NULL, NULL, NULL}, *got = NULL;
    const float *const values[3] = {labels[batch < 0 ? 0 : batch], predictions[batch < 0 ? 0 : batch],
                                    weights[batch < 0 ? 0 : batch]};
    for (int i = 0; i < 3; i++)
        fed[i] = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(SIZE), values[i], NULL);
    const braid_feed feeds[3] = {{p->labels, fed[0]}, {p->predictions, fed[1]}, {p->weights, fed[2]}};
    braid_session_run(p->s,
                      &(braid_run_args){.feeds = feeds,
                                        .feed_count = batch < 0 ? 0 : 3,
                                        .fetches = &(braid_fetch){fetch, &got},
                                        .fetch_count = 1},
                      st);
    assert_ok(st);
    for (int i = 0; i < 3; i++)
        braid_tensor_free(fed[i]);
    assert_int_equal(braid_tensor_num_elements(got), 1);
    const double value = braid_tensor_dtype(got) == BRAID_DOUBLE
                             ? *(const double *)braid_tensor_data(got)
                             : (double)*(const float *)braid_tensor_data(got);
    braid_tensor_free(got);
    return value;
}

// ---- What the metrics must be, over the batches so far ----

// The sums over elements: of the weights, of the weighted errors, and of the weights of each kind.
typedef struct sums {
    double weight, equal, square, absolute, below;
    double kind[2][2]; // by label and prediction
} sums;

// A prediction is positive above 0.5.
static void add_batch(sums *sum, int batch, bool weighted)
{
    for (int i = 0; i < SIZE; i++) {
        const double y = (double)labels[batch][i], x = (double)predictions[batch][i];
        const double w = weighted ? (double)weights[batch][i] : 1;
        sum->weight += w;
        sum->equal += w * ((x > 0.5) == (y > 0.5));
        sum->square += w * (x - y) * (x - y);
        sum->absolute += w * fabs(x - y);
        sum->below += w * (x < 0.4);
        sum->kind[y > 0.5][x > 0.5] += w;
    }
}

enum {
    MEAN_SQUARE,
    ROOT,
    ABSOLUTE,
    BELOW,
    ACCURACY,
    TP,
    FP,
    TN,
    FN,
    PRECISION,
    RECALL,
    METRICS
};

static void metrics_wanted(const sums *s, double want[METRICS])
{
    want[MEAN_SQUARE] = s->square / s->weight;
    want[ROOT] = sqrt(s->square / s->weight);
    want[ABSOLUTE] = s->absolute / s->weight;
    want[BELOW] = s->below / s->weight;
    want[ACCURACY] = s->equal / s->weight;
    want[TP] = s->kind[1][1];
    want[FP] = s->kind[0][1];
    want[TN] = s->kind[0][0];
    want[FN] = s->kind[1][0];
    want[PRECISION] = s->kind[1][1] / (s->kind[1][1] + s->kind[0][1]);
    want[RECALL] = s->kind[1][1] / (s->kind[1][1] + s->kind[1][0]);
}

static void build_metrics(const problem *p, const braid_metric_options *o, braid_metric made[METRICS])
{
    braid_graph *g = p->g;
    braid_out x = p->predictions, y = p->labels, one = braid_round(g, x);
    made[MEAN_SQUARE] = braid_metric_mean_squared_error(g, y, x, o);
    made[ROOT] = braid_metric_root_mean_squared_error(g, y, x, o);
    made[ABSOLUTE] = braid_metric_mean_absolute_error(g, y, x, o);
    made[BELOW] = braid_metric_percentage_below(g, x, 0.4, o);
    made[ACCURACY] = braid_metric_accuracy(g, y, one, o);
    made[TP] = braid_metric_true_positives(g, y, one, o);
    made[FP] = braid_metric_false_positives(g, y, one, o);
    made[TN] = braid_metric_true_negatives(g, y, one, o);
    made[FN] = braid_metric_false_negatives(g, y, one, o);
    made[PRECISION] = braid_metric_precision(g, y, one, o);
    made[RECALL] = braid_metric_recall(g, y, one, o);
}

static void metrics_add_up_over_runs(void **state)
{
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        problem p = make();
        braid_metric made[METRICS];
        const braid_metric_options o = {.weights = weighted ? p.weights : BRAID_NONE};
        build_metrics(&p, &o, made);
        p.s = evaluate_open(p.g);
        sums sum = {0};
        for (int i = 0; i < METRICS; i++)
            assert_float_equal(run(&p, made[i].value, -1), 0, 0);
        for (int batch = 0; batch < BATCHES; batch++) {
            double want[METRICS];
            add_batch(&sum, batch, weighted);
            metrics_wanted(&sum, want);
            for (int i = 0; i < METRICS; i++) {
                assert_float_equal(run(&p, made[i].update, batch), want[i], 1e-6);
                assert_float_equal(run(&p, made[i].value, -1), want[i], 1e-6);
            }
        }
        evaluate_close(p.s, p.g);
    }
}

// The share of the pairs of a positive and a negative value whose order is right: the area under the curve,
// as long as thresholds separate all values.
static double rank_share(int batches, bool weighted)
{
    double right = 0, all = 0;
    for (int i = 0; i < batches * SIZE; i++) {
        for (int k = 0; k < batches * SIZE; k++) {
            if (labels[i / SIZE][i % SIZE] < 0.5f || labels[k / SIZE][k % SIZE] > 0.5f) continue;
            const double w =
                weighted ? (double)weights[i / SIZE][i % SIZE] * (double)weights[k / SIZE][k % SIZE] : 1;
            right += w * (predictions[i / SIZE][i % SIZE] > predictions[k / SIZE][k % SIZE]);
            all += w;
        }
    }
    return right / all;
}

static void the_area_under_the_curve_is_the_share_of_ordered_pairs(void **state)
{
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        problem p = make();
        const braid_metric_options o = {.weights = weighted ? p.weights : BRAID_NONE};
        braid_metric auc = braid_metric_auc(p.g, p.labels, p.predictions, 0, &o);
        p.s = evaluate_open(p.g);
        for (int batch = 0; batch < BATCHES; batch++)
            assert_float_equal(run(&p, auc.update, batch), rank_share(batch + 1, weighted), 1e-5);
        assert_float_equal(run(&p, auc.value, -1), rank_share(BATCHES, weighted), 1e-5);
        evaluate_close(p.s, p.g);
    }
}

static void mean_iou_is_the_mean_over_the_classes_seen(void **state)
{
    (void)state;
    problem p = make();
    // Classes 0 and 1 of three are seen.
    braid_metric iou = braid_metric_mean_iou(p.g, p.labels, braid_round(p.g, p.predictions), 3, NULL);
    p.s = evaluate_open(p.g);
    sums sum = {0};
    for (int batch = 0; batch < BATCHES; batch++) {
        add_batch(&sum, batch, false);
        const double wrong = sum.kind[0][1] + sum.kind[1][0];
        const double want =
            (sum.kind[0][0] / (sum.kind[0][0] + wrong) + sum.kind[1][1] / (sum.kind[1][1] + wrong)) / 2;
        assert_float_equal(run(&p, iou.update, batch), want, 1e-12);
    }
    evaluate_close(p.s, p.g);
}

// Of two labels 0 one is predicted, of three labels 1 two; class 2 has no labels.
static void mean_per_class_accuracy_is_a_mean_over_all_classes(void **state)
{
    (void)state;
    static const double classes[] = {0, 1, 1, 0, 1}, found[] = {0, 1, 0, 2, 1}, w[] = {1, 2, 3, 1, 1};
    for (int weighted = 0; weighted < 2; weighted++) {
        braid_graph *g = braid_graph_new();
        const braid_metric_options o = {
            .weights = weighted ? evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(5), w) : BRAID_NONE};
        const braid_metric m = braid_metric_mean_per_class_accuracy(
            g, evaluate_const(g, BRAID_INT32, BRAID_SHAPE(5), classes),
            evaluate_const(g, BRAID_INT64, BRAID_SHAPE(5), found), 3, &o);
        braid_session *s = evaluate_open(g);
        const double want = (1.0 / 2 + (weighted ? 3.0 / 6 : 2.0 / 3)) / 3;
        expect_evaluates(s, m.value, &(double){0}, 1);
        expect_evaluates(s, m.update, &want, 1);
        expect_evaluates(s, m.value, &want, 1);
        evaluate_close(s, g);
    }
}

static void relative_errors_are_divided_by_the_normalizer(void **state)
{
    (void)state;
    static const double y[] = {1, 2, 3, 4}, x[] = {2, 2, 1, 8}, by[] = {2, 5, 4, 0}, w[] = {1, 1, 2, 4};
    braid_graph *g = braid_graph_new();
    const braid_shape shape = BRAID_SHAPE(4);
    const braid_out labelled = evaluate_const(g, BRAID_FLOAT, shape, y);
    const braid_out predicted = evaluate_const(g, BRAID_FLOAT, shape, x);
    const braid_out normalizer = evaluate_const(g, BRAID_FLOAT, shape, by);
    const braid_metric_options o = {.weights = evaluate_const(g, BRAID_FLOAT, shape, w)};
    const braid_metric plain = braid_metric_mean_relative_error(g, labelled, predicted, normalizer, NULL);
    const braid_metric weighted = braid_metric_mean_relative_error(g, labelled, predicted, normalizer, &o);
    braid_session *s = evaluate_open(g);
    expect_evaluates(s, plain.update, &(double){(0.5 + 0 + 0.5 + 0) / 4}, 1);
    expect_evaluates(s, weighted.update, &(double){(0.5 + 2 * 0.5) / 8}, 1);
    expect_evaluates(s, weighted.value, &(double){(0.5 + 2 * 0.5) / 8}, 1);
    evaluate_close(s, g);
}

static void the_cosine_distance_is_that_of_vectors_along_an_axis(void **state)
{
    (void)state;
    static const double y[] = {1, 0, 0.6, 0.8}, x[] = {0, 1, 0.6, 0.8}, w[] = {1, 3};
    for (int axis = 1; axis >= -1; axis -= 2) {
        braid_graph *g = braid_graph_new();
        const braid_out labelled = evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(2, 2), y);
        const braid_out predicted = evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(2, 2), x);
        const braid_metric_options o = {.weights = evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(2, 1), w)};
        const braid_metric plain = braid_metric_mean_cosine_distance(g, labelled, predicted, axis, NULL);
        const braid_metric weighted = braid_metric_mean_cosine_distance(g, labelled, predicted, axis, &o);
        braid_session *s = evaluate_open(g);
        expect_evaluates(s, plain.update, &(double){(1 + 0) / 2.0}, 1);
        expect_evaluates(s, weighted.update, &(double){1.0 / 4}, 1);
        expect_evaluates(s, weighted.value, &(double){1.0 / 4}, 1);
        evaluate_close(s, g);
    }
}

static void mean_tensor_is_a_mean_of_each_element(void **state)
{
    (void)state;
    static const double w[] = {1, 0, 3};
    braid_graph *g = braid_graph_new();
    const braid_variable v = braid_variable_new(
        g, "v", evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(3), (double[]){1, 2, 4}), false);
    const braid_out twice = braid_assign_add(g, v.ref, v.ref); // 2 4 8, then 4 8 16
    const braid_metric plain = braid_metric_mean_tensor(g, twice, NULL);
    const braid_metric_options o = {.name = "mine",
                                    .weights = evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(3), w)};
    const braid_metric weighted = braid_metric_mean_tensor(g, v.read, &o);
    assert_non_null(braid_graph_find(g, "mean/total_tensor"));
    assert_non_null(braid_graph_find(g, "mine/count_tensor"));
    braid_session *s = evaluate_open(g);
    expect_evaluates(s, plain.update, (double[]){2, 4, 8}, 3);
    expect_evaluates(s, plain.update, (double[]){3, 6, 12}, 3);
    expect_evaluates(s, plain.value, (double[]){3, 6, 12}, 3);
    expect_evaluates(s, weighted.update, (double[]){4, 0, 16}, 3);
    evaluate_close(s, g);
}

static void top_k_accuracy_looks_at_the_k_largest(void **state)
{
    (void)state;
    static const float scores[] = {0.1f, 0.5f, 0.4f, 0.6f, 0.3f, 0.1f};
    static const int32_t classes[] = {2, 2};
    problem p = make();
    braid_tensor *x = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(2, 3), scores, NULL);
    braid_tensor *y = braid_tensor_from(BRAID_INT32, BRAID_SHAPE(2), classes, NULL);
    braid_metric top =
        braid_metric_top_k_accuracy(p.g, braid_const(p.g, NULL, y), braid_const(p.g, NULL, x), 2, NULL);
    braid_tensor_free(x);
    braid_tensor_free(y);
    p.s = evaluate_open(p.g);
    assert_float_equal(run(&p, top.update, -1), 0.5, 0);
    evaluate_close(p.s, p.g);
}

static void the_variables_are_local_and_named_as_in_tensorflow(void **state)
{
    (void)state;
    static const char *const names[] = {"accuracy/total",
                                        "accuracy/count",
                                        "precision/true_positives/count",
                                        "precision/false_positives/count",
                                        "mine/total",
                                        "mine/count"};
    problem p = make();
    braid_metric_accuracy(p.g, p.labels, p.labels, NULL);
    braid_metric_precision(p.g, p.labels, p.labels, NULL);
    braid_metric_mean(p.g, p.labels, &(braid_metric_options){.name = "mine"});
    int locals, metrics, globals;
    (void)braid_collection(p.g, BRAID_GLOBAL_VARIABLES, &globals);
    (void)braid_collection(p.g, BRAID_LOCAL_VARIABLES, &locals);
    const braid_out *vars = braid_collection(p.g, BRAID_METRIC_VARIABLES, &metrics);
    assert_int_equal(globals, 0);
    assert_int_equal(locals, BD_COUNTOF(names));
    assert_int_equal(metrics, BD_COUNTOF(names));
    for (size_t i = 0; i < BD_COUNTOF(names); i++)
        assert_string_equal(braid_op_name(vars[i].op), names[i]);
    braid_graph_free(p.g);
}

static void monitored_sessions_initialize_them(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_metric mean = braid_metric_mean(m.graph, braid_const_float(m.graph, NULL, 3), NULL);
    braid_monitored_session *s = small_model_open(&m, NULL);
    for (int i = 0; i < 2; i++) {
        braid_tensor *value = NULL;
        assert_int_equal(braid_evaluate(s, NULL, BRAID_FETCH({mean.update, &value})), BRAID_OK);
        assert_float_equal(*(const float *)braid_tensor_data(value), 3, 0);
        braid_tensor_free(value);
    }
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
}

static void wrong_arguments_are_errors(void **state)
{
    (void)state;
    BD_STATUS(st);
    problem p = make();
    braid_metric_accuracy(p.g, p.labels, braid_placeholder(p.g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 2)), NULL);
    braid_graph_status(p.g, st);
    assert_error(
        st, BRAID_INVALID_ARGUMENT,
        "accuracy: labels and predictions must have one shape: 'labels' has shape [?], 'x' has shape "
        "[?,2]");
    braid_graph_free(p.g);
    p = make();
    assert_null(braid_metric_auc(p.g, p.labels, p.labels, 1, NULL).update.op);
    braid_graph_status(p.g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "auc: 1 thresholds; 2 to 1000000 are possible");
    braid_graph_free(p.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_add_up_over_runs),
        cmocka_unit_test(the_area_under_the_curve_is_the_share_of_ordered_pairs),
        cmocka_unit_test(mean_iou_is_the_mean_over_the_classes_seen),
        cmocka_unit_test(mean_per_class_accuracy_is_a_mean_over_all_classes),
        cmocka_unit_test(relative_errors_are_divided_by_the_normalizer),
        cmocka_unit_test(the_cosine_distance_is_that_of_vectors_along_an_axis),
        cmocka_unit_test(mean_tensor_is_a_mean_of_each_element),
        cmocka_unit_test(top_k_accuracy_looks_at_the_k_largest),
        cmocka_unit_test(the_variables_are_local_and_named_as_in_tensorflow),
        cmocka_unit_test(monitored_sessions_initialize_them),
        cmocka_unit_test(wrong_arguments_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
