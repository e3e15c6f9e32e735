// Metrics over thresholds: counts, shares, and what is reached at a given sensitivity or specificity.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include <braid/metrics.h>
#include <string.h>

enum {
    SIZE = 6,
    THRESHOLDS = 3
};

static const double labels[SIZE] = {0, 1, 1, 0, 1, 0};
static const double predictions[SIZE] = {0.1, 0.8, 0.3, 0.6, 0.9, 0.45};
static const double weights[SIZE] = {1, 2, 0.5, 3, 1, 0};
static const float thresholds[THRESHOLDS] = {0.2f, 0.5f, 0.85f};

typedef struct inputs {
    braid_graph *g;
    braid_out labels, predictions, weights;
} inputs;

static inputs make_inputs(void)
{
    inputs in = {.g = braid_graph_new()};
    in.labels = evaluate_const(in.g, BRAID_BOOL, BRAID_SHAPE(2, 3), labels);
    in.predictions = evaluate_const(in.g, BRAID_FLOAT, BRAID_SHAPE(2, 3), predictions);
    in.weights = evaluate_const(in.g, BRAID_FLOAT, BRAID_SHAPE(2, 3), weights);
    return in;
}

// The weights of the values with this label that are above the threshold, or are not.
static double counted(double threshold, bool label, bool above, bool weighted)
{
    double sum = 0;
    for (int i = 0; i < SIZE; i++)
        if ((labels[i] != 0) == label && (predictions[i] > threshold) == above)
            sum += weighted ? weights[i] : 1;
    return sum;
}

static void counts_and_shares_are_vectors_over_the_thresholds(void **state)
{
    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        const inputs in = make_inputs();
        const braid_metric_options o = {.weights = weighted ? in.weights : BRAID_NONE};
        const braid_metric made[] = {
            braid_metric_true_positives_at_thresholds(in.g, in.labels, in.predictions, thresholds, THRESHOLDS,
                                                      &o),
            braid_metric_false_positives_at_thresholds(in.g, in.labels, in.predictions, thresholds,
                                                       THRESHOLDS, &o),
            braid_metric_true_negatives_at_thresholds(in.g, in.labels, in.predictions, thresholds, THRESHOLDS,
                                                      &o),
            braid_metric_false_negatives_at_thresholds(in.g, in.labels, in.predictions, thresholds,
                                                       THRESHOLDS, &o),
            braid_metric_precision_at_thresholds(in.g, in.labels, in.predictions, thresholds, THRESHOLDS, &o),
            braid_metric_recall_at_thresholds(in.g, in.labels, in.predictions, thresholds, THRESHOLDS, &o)};
        braid_session *s = evaluate_open(in.g);
        for (int batch = 1; batch <= 2; batch++) { // the same one twice
            double want[BD_COUNTOF(made)][THRESHOLDS];
            for (int i = 0; i < THRESHOLDS; i++) {
                const double t = (double)thresholds[i];
                const double tp = counted(t, true, true, weighted), fp = counted(t, false, true, weighted);
                const double tn = counted(t, false, false, weighted), fn = counted(t, true, false, weighted);
                const double all[] = {tp * batch, fp * batch,     tn * batch,
                                      fn * batch, tp / (tp + fp), tp / (tp + fn)};
                for (size_t k = 0; k < BD_COUNTOF(made); k++)
                    want[k][i] = all[k];
            }
            for (size_t k = 0; k < BD_COUNTOF(made); k++) {
                expect_evaluates(s, made[k].update, want[k], THRESHOLDS);
                expect_evaluates(s, made[k].value, want[k], THRESHOLDS);
            }
        }
        evaluate_close(s, in.g);
    }
}

// With the five thresholds 0-, .25, .5, .75 and 1+ the sensitivities are 1, 1, 2/3, 2/3 and 0.
// The specificities are 0, 1/3, 2/3, 1 and 1.
static void sensitivity_and_specificity_are_those_of_the_nearest_threshold(void **state)
{
    (void)state;
    static const struct {
        double wanted, sensitivity_at, specificity_at;
    } rows[] = {{0.9, 2.0 / 3, 1.0 / 3}, // specificity 1 first at .75; sensitivity 1 last at .25
                {0.6, 2.0 / 3, 1},       // specificity 2/3 at .5; sensitivity 2/3 last at .75
                {0, 1, 1}};
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        const inputs in = make_inputs();
        const braid_metric sensitivity =
            braid_metric_sensitivity_at_specificity(in.g, in.labels, in.predictions, rows[i].wanted, 5, NULL);
        const braid_metric specificity =
            braid_metric_specificity_at_sensitivity(in.g, in.labels, in.predictions, rows[i].wanted, 5, NULL);
        braid_session *s = evaluate_open(in.g);
        expect_evaluates(s, sensitivity.value, &(double){0}, 1);
        expect_evaluates(s, sensitivity.update, &rows[i].sensitivity_at, 1);
        expect_evaluates(s, specificity.update, &rows[i].specificity_at, 1);
        expect_evaluates(s, sensitivity.value, &rows[i].sensitivity_at, 1);
        expect_evaluates(s, specificity.value, &rows[i].specificity_at, 1);
        evaluate_close(s, in.g);
    }
}

static void variables_and_results_are_named_as_in_tensorflow(void **state)
{
    (void)state;
    static const char *const names[] = {"precision_at_thresholds/true_positives",
                                        "precision_at_thresholds/false_positives",
                                        "false_negatives/false_negatives",
                                        "sensitivity_at_specificity/true_positives",
                                        "sensitivity_at_specificity/false_negatives",
                                        "sensitivity_at_specificity/true_negatives",
                                        "sensitivity_at_specificity/false_positives"};
    const inputs in = make_inputs();
    const braid_metric precision =
        braid_metric_precision_at_thresholds(in.g, in.labels, in.predictions, thresholds, 3, NULL);
    assert_string_equal(braid_op_name(precision.value.op), "precision_at_thresholds/precision_value");
    assert_string_equal(braid_op_name(precision.update.op), "precision_at_thresholds/precision_update_op");
    braid_metric_false_negatives_at_thresholds(in.g, in.labels, in.predictions, thresholds, 3, NULL);
    const braid_metric near =
        braid_metric_sensitivity_at_specificity(in.g, in.labels, in.predictions, 0.5, 0, NULL);
    assert_string_equal(braid_op_name(near.value.op), "sensitivity_at_specificity/value");
    int count;
    const braid_out *vars = braid_collection(in.g, BRAID_METRIC_VARIABLES, &count);
    assert_int_equal(count, BD_COUNTOF(names));
    for (int i = 0; i < 3; i++)
        assert_string_equal(braid_op_name(vars[i].op), names[i]);
    assert_int_equal(braid_out_shape(vars[count - 1]).dims[0], 200);
    braid_graph_free(in.g);
}

static void wrong_arguments_are_errors(void **state)
{
    (void)state;
    static const char *const says[] = {
        "true_positives: 0 thresholds; 1 to 1000000 are possible",
        "recall_at_thresholds: 0 thresholds; 1 to 1000000 are possible",
        "specificity_at_sensitivity: 1.5 is not in [0, 1]",
        "sensitivity_at_specificity: 1 thresholds; 2 to 1000000 are possible",
    };
    for (size_t i = 0; i < BD_COUNTOF(says); i++) {
        BD_STATUS(st);
        const inputs in = make_inputs();
        const braid_out y = in.labels, x = in.predictions;
        switch (i) {
        case 0: braid_metric_true_positives_at_thresholds(in.g, y, x, thresholds, 0, NULL); break;
        case 1: braid_metric_recall_at_thresholds(in.g, y, x, NULL, 3, NULL); break;
        case 2: braid_metric_specificity_at_sensitivity(in.g, y, x, 1.5, 0, NULL); break;
        default: braid_metric_sensitivity_at_specificity(in.g, y, x, 0.5, 1, NULL);
        }
        braid_graph_status(in.g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, says[i]);
        braid_graph_free(in.g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_shares_are_vectors_over_the_thresholds),
        cmocka_unit_test(sensitivity_and_specificity_are_those_of_the_nearest_threshold),
        cmocka_unit_test(variables_and_results_are_named_as_in_tensorflow),
        cmocka_unit_test(wrong_arguments_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
