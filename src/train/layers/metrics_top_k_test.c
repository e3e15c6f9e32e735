// Metrics of the k best predictions against sets of labels, dense and sparse.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include <braid/metrics.h>
#include <math.h>

// Three rows of five classes. The best three of each, in order: 1 3 0; 4 2 0; 2 0 3.
enum {
    ROWS = 3,
    CLASSES = 5
};

static const double scores[ROWS * CLASSES] = {
    0.3, 0.9, 0.1, 0.5, 0.2, 0.4, 0.1, 0.6, 0.2, 0.8, 0.7, 0.1, 0.8, 0.5, 0.2,
};
static const double row_weights[ROWS] = {1, 0.5, 2};

// Sets of labels {0, 3}, {1}, {2, 3, 4}.
static braid_sparse sparse_labels(braid_graph *g)
{
    static const double indices[] = {0, 0, 0, 1, 1, 0, 2, 0, 2, 1, 2, 2}, values[] = {0, 3, 1, 2, 3, 4};
    static const double shape[] = {ROWS, 3};
    return (braid_sparse){evaluate_const(g, BRAID_INT64, BRAID_SHAPE(6, 2), indices),
                          evaluate_const(g, BRAID_INT64, BRAID_SHAPE(6), values),
                          evaluate_const(g, BRAID_INT64, BRAID_SHAPE(2), shape)};
}

// Sets {0, 3}, {1, 4}, {2, 3}.
static braid_sparse dense_labels(braid_graph *g)
{
    static const double values[] = {0, 3, 1, 4, 2, 3};
    return (braid_sparse){.values = evaluate_const(g, BRAID_INT32, BRAID_SHAPE(ROWS, 2), values)};
}

static braid_out predictions_of(braid_graph *g)
{
    return evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(ROWS, CLASSES), scores);
}

typedef braid_metric (*metric_fn)(braid_graph *g, braid_sparse labels, braid_out predictions, int k,
                                  const braid_metric_options *options);

static void expect_metric(metric_fn metric, int k, bool sparse, bool weighted, int class_id, double want)
{
    braid_graph *g = braid_graph_new();
    const braid_metric_options o = {
        .weights = weighted ? evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(ROWS), row_weights) : BRAID_NONE,
        .has_class = class_id >= 0,
        .class_id = class_id};
    const braid_metric m = metric(g, sparse ? sparse_labels(g) : dense_labels(g), predictions_of(g), k, &o);
    braid_session *s = evaluate_open(g);
    for (int i = 0; i < 2; i++) { // the same batch twice leaves the share as it is
        expect_evaluates(s, m.update, &want, 1);
        expect_evaluates(s, m.value, &want, 1);
    }
    evaluate_close(s, g);
}

static void precision_is_the_share_of_predictions_that_are_labels(void **state)
{
    (void)state;
    // Sparse, k 2: the hits are 3; none; 2. k 3: 3 and 0; none; 2 and 3.
    expect_metric(braid_metric_precision_at_k, 2, true, false, -1, 2.0 / 6);
    expect_metric(braid_metric_precision_at_k, 3, true, false, -1, 4.0 / 9);
    expect_metric(braid_metric_precision_at_k, 3, true, true, -1, (2 + 2 * 2) / (3 + 1.5 + 6));
    // Dense, k 2: 3; 4; 2.
    expect_metric(braid_metric_precision_at_k, 2, false, false, -1, 3.0 / 6);
    // Class 0 is among the best three of each row, and a label of the first.
    expect_metric(braid_metric_precision_at_k, 3, true, false, 0, 1.0 / 3);
    expect_metric(braid_metric_precision_at_k, 3, false, true, 0, 1 / 3.5);
    expect_metric(braid_metric_precision_at_k, 1, true, false, 0, NAN); // never predicted
}

static void recall_is_the_share_of_labels_that_are_predicted(void **state)
{
    (void)state;
    expect_metric(braid_metric_recall_at_k, 2, true, false, -1, 2.0 / 6);
    expect_metric(braid_metric_recall_at_k, 3, true, false, -1, 4.0 / 6);
    expect_metric(braid_metric_recall_at_k, 3, true, true, -1, (2 + 2 * 2) / (2 + 0.5 + 6));
    expect_metric(braid_metric_recall_at_k, 2, false, false, -1, 3.0 / 6);
    // Class 3 is a label of the first and the last row, and among the best two of the first.
    expect_metric(braid_metric_recall_at_k, 2, true, false, 3, 1.0 / 2);
    expect_metric(braid_metric_recall_at_k, 2, false, true, 3, 1.0 / 3);
}

static void average_precision_counts_the_ranks_of_hits(void **state)
{
    (void)state;
    // Sparse, k 3. Row 0, labels {0, 3}: hits at ranks 2 and 3, (1/2 + 2/3) / 2. Row 1: none. Row 2, labels
    // {2, 3, 4}: hits at ranks 1 and 3, (1 + 2/3) / 3.
    const double first = (1.0 / 2 + 2.0 / 3) / 2, last = (1 + 2.0 / 3) / 3;
    expect_metric(braid_metric_average_precision_at_k, 3, true, false, -1, (first + last) / 3);
    expect_metric(braid_metric_average_precision_at_k, 3, true, true, -1, (first + 2 * last) / 3.5);
    // Dense, k 1, one possible hit in each: row 1 and row 2 have it.
    expect_metric(braid_metric_average_precision_at_k, 1, false, false, -1, 2.0 / 3);
}

static void one_label_each_needs_no_dimension_of_its_own(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_sparse labels = {.values =
                                     evaluate_const(g, BRAID_INT64, BRAID_SHAPE(ROWS), (double[]){3, 1, 2})};
    const braid_metric m = braid_metric_recall_at_k(g, labels, predictions_of(g), 2, NULL);
    braid_session *s = evaluate_open(g);
    expect_evaluates(s, m.value, &(double){NAN}, 1);
    expect_evaluates(s, m.update, &(double){2.0 / 3}, 1);
    evaluate_close(s, g);
}

static void names_have_k_and_the_class(void **state)
{
    (void)state;
    static const char *const names[] = {"precision_at_2/true_positive_at_2",
                                        "precision_at_2/false_positive_at_2",
                                        "recall_at_3_class4/true_positive_at_3_class4",
                                        "recall_at_3_class4/false_negative_at_3_class4",
                                        "average_precision_at_2/max",
                                        "average_precision_at_2/total"};
    braid_graph *g = braid_graph_new();
    const braid_metric precision =
        braid_metric_precision_at_k(g, sparse_labels(g), predictions_of(g), 2, NULL);
    assert_string_equal(braid_op_name(precision.value.op), "precision_at_2");
    assert_string_equal(braid_op_name(precision.update.op), "precision_at_2/update");
    braid_metric_recall_at_k(g, sparse_labels(g), predictions_of(g), 3,
                             &(braid_metric_options){.has_class = true, .class_id = 4});
    braid_metric_average_precision_at_k(g, sparse_labels(g), predictions_of(g), 2, NULL);
    int count;
    const braid_out *vars = braid_collection(g, BRAID_METRIC_VARIABLES, &count);
    assert_int_equal(count, BD_COUNTOF(names));
    for (int i = 0; i < count; i++)
        assert_string_equal(braid_op_name(vars[i].op), names[i]);
    braid_graph_free(g);
}

static void wrong_arguments_are_errors(void **state)
{
    (void)state;
    static const char *const says[] = {
        "precision: k is 0",
        "recall: the labels are nothing",
        "average_precision: the predictions 'flat' must have a known rank, at least 2",
        "recall: the labels 'flat' must have the rank of the predictions 'deep' or one less",
    };
    for (size_t i = 0; i < BD_COUNTOF(says); i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        const braid_out flat = braid_placeholder(g, "flat", BRAID_FLOAT, BRAID_SHAPE(-1));
        const braid_out deep = braid_placeholder(g, "deep", BRAID_FLOAT, BRAID_SHAPE(-1, 3, 4));
        const braid_sparse labels = sparse_labels(g);
        switch (i) {
        case 0: braid_metric_precision_at_k(g, labels, predictions_of(g), 0, NULL); break;
        case 1: braid_metric_recall_at_k(g, (braid_sparse){.values = BRAID_NONE}, deep, 2, NULL); break;
        case 2: braid_metric_average_precision_at_k(g, labels, flat, 2, NULL); break;
        default: braid_metric_recall_at_k(g, (braid_sparse){.values = flat}, deep, 2, NULL);
        }
        braid_graph_status(g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, says[i]);
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precision_is_the_share_of_predictions_that_are_labels),
        cmocka_unit_test(recall_is_the_share_of_labels_that_are_predicted),
        cmocka_unit_test(average_precision_counts_the_ranks_of_hits),
        cmocka_unit_test(one_label_each_needs_no_dimension_of_its_own),
        cmocka_unit_test(names_have_k_and_the_class),
        cmocka_unit_test(wrong_arguments_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
