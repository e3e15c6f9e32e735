// Losses: their values, gradients, weights and reductions, and the collections that they go to.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include <braid/losses.h>
#include <braid/session.h>
#include <math.h>

enum {
    ROWS = 2,
    COLS = 3,
    SIZE = ROWS * COLS
};

static const float predictions[SIZE] = {0.2f, 0.9f, 0.4f, 0.7f, 0.1f, 0.6f};
static const float labels[SIZE] = {0, 1, 0, 1, 0, 1};
static const float weights[SIZE] = {1, 2, 0, 0.5f, 3, 0};

static braid_out constant(braid_graph *g, const float *values, braid_shape shape)
{
    braid_tensor *t = braid_tensor_from(BRAID_FLOAT, shape, values, NULL);
    braid_out out = braid_const(g, NULL, t);
    braid_tensor_free(t);
    return out;
}

// Runs `fetch` with x fed [SIZE] of `shape`; the caller frees the tensor.
static braid_tensor *evaluate_fed(braid_session *s, braid_out fetch, braid_out x, const float *values,
                                  braid_shape shape)
{
    BD_STATUS(st);
    braid_tensor *fed = braid_tensor_from(BRAID_FLOAT, shape, values, NULL), *got = NULL;
    const braid_feed feed = {x, fed};
    braid_session_run(
        s,
        &(braid_run_args){
            .feeds = &feed, .feed_count = 1, .fetches = &(braid_fetch){fetch, &got}, .fetch_count = 1},
        st);
    assert_ok(st);
    braid_tensor_free(fed);
    return got;
}

static double scalar(braid_session *s, braid_out fetch, braid_out x, const float *values, braid_shape shape)
{
    braid_tensor *got = evaluate_fed(s, fetch, x, values, shape);
    assert_int_equal(braid_tensor_num_elements(got), 1);
    const double value = (double)*(const float *)braid_tensor_data(got);
    braid_tensor_free(got);
    return value;
}

// ---- Values and gradients of each loss ----

typedef braid_out (*build_fn)(braid_graph *g, braid_out labels, braid_out predictions,
                              const braid_loss_options *o);

static braid_out huber(braid_graph *g, braid_out l, braid_out p, const braid_loss_options *o)
{
    return braid_loss_huber(g, l, p, 0.25f, o);
}

static braid_out log_loss(braid_graph *g, braid_out l, braid_out p, const braid_loss_options *o)
{
    return braid_loss_log(g, l, p, 1e-3f, o);
}

static braid_out sigmoid(braid_graph *g, braid_out l, braid_out p, const braid_loss_options *o)
{
    return braid_loss_sigmoid_cross_entropy(g, l, p, 0, o);
}

static braid_out smoothed_sigmoid(braid_graph *g, braid_out l, braid_out p, const braid_loss_options *o)
{
    return braid_loss_sigmoid_cross_entropy(g, l, p, 0.2f, o);
}

static double want_absolute(double y, double x)
{
    return fabs(x - y);
}

static double want_square(double y, double x)
{
    return (x - y) * (x - y);
}

static double want_huber(double y, double x)
{
    const double e = fabs(x - y);
    return e <= 0.25 ? e * e / 2 : 0.25 * 0.25 / 2 + 0.25 * (e - 0.25);
}

static double want_log(double y, double x)
{
    return -y * log(x + 1e-3) - (1 - y) * log(1 - x + 1e-3);
}

static double want_hinge(double y, double x)
{
    return fmax(0, 1 - (2 * y - 1) * x);
}

static double want_sigmoid(double y, double x)
{
    const double p = 1 / (1 + exp(-x));
    return -y * log(p) - (1 - y) * log(1 - p);
}

static double want_smoothed_sigmoid(double y, double x)
{
    return want_sigmoid(y * 0.8 + 0.1, x);
}

// The weighted sum, as the double that the definition gives, by the number of weights that are not zero.
static double want_loss(double (*of)(double, double), const float *x)
{
    double sum = 0, count = 0;
    for (int i = 0; i < SIZE; i++) {
        sum += (double)weights[i] * of((double)labels[i], (double)x[i]);
        count += weights[i] != 0;
    }
    return sum / count;
}

static void check_loss(build_fn build, double (*of)(double, double))
{
    braid_graph *g = braid_graph_new();
    const braid_shape shape = BRAID_SHAPE(ROWS, COLS);
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, COLS)), grad;
    braid_out y = constant(g, labels, shape), w = constant(g, weights, shape);
    braid_out loss = build(g, y, x, &(braid_loss_options){.weights = w});
    braid_gradients(g, &loss, 1, &x, 1, NULL, &grad);
    braid_session *s = evaluate_open(g);
    assert_float_equal(scalar(s, loss, x, predictions, shape), want_loss(of, predictions), 2e-6);
    braid_tensor *got = evaluate_fed(s, grad, x, predictions, shape);
    for (int i = 0; i < SIZE; i++) {
        float up[SIZE], down[SIZE];
        memcpy(up, predictions, sizeof up);
        memcpy(down, predictions, sizeof down);
        up[i] += 1e-3f;
        down[i] -= 1e-3f;
        const double want = (want_loss(of, up) - want_loss(of, down)) / ((double)up[i] - (double)down[i]);
        assert_float_equal((double)((const float *)braid_tensor_data(got))[i], want, 1e-3 * (1 + fabs(want)));
    }
    braid_tensor_free(got);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void losses_and_their_gradients_are_those_of_their_formulas(void **state)
{
    (void)state;
    check_loss(braid_loss_absolute_difference, want_absolute);
    check_loss(braid_loss_mean_squared_error, want_square);
    check_loss(huber, want_huber);
    check_loss(log_loss, want_log);
    check_loss(braid_loss_hinge, want_hinge);
    check_loss(sigmoid, want_sigmoid);
    check_loss(smoothed_sigmoid, want_smoothed_sigmoid);
}

// The weighted sum over the rows of the mean over their three pairs.
static double want_pairwise(const float *x, const float *row_weights)
{
    double sum = 0;
    for (int row = 0; row < ROWS; row++) {
        for (int i = 0; i < COLS; i++) {
            for (int k = i + 1; k < COLS; k++) {
                const int a = row * COLS + i, b = row * COLS + k;
                const double error = ((double)x[a] - (double)x[b]) - ((double)labels[a] - (double)labels[b]);
                sum += (double)row_weights[row] * error * error / 3;
            }
        }
    }
    return sum;
}

static void pairwise_errors_are_means_over_the_pairs_of_a_row(void **state)
{
    (void)state;
    static const float rows[][ROWS] = {{1, 3}, {2, 0}, {0, 0}, {1, 1}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        braid_graph *g = braid_graph_new();
        const braid_shape shape = BRAID_SHAPE(ROWS, COLS);
        braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, COLS)), grad;
        const braid_loss_options o = {.weights =
                                          k == 3 ? BRAID_NONE : constant(g, rows[k], BRAID_SHAPE(ROWS, 1))};
        braid_out loss = braid_loss_mean_pairwise_squared_error(g, constant(g, labels, shape), x, &o);
        int count;
        assert_ptr_equal(braid_collection(g, BRAID_LOSSES, &count)->op, loss.op);
        braid_gradients(g, &loss, 1, &x, 1, NULL, &grad);
        braid_session *s = evaluate_open(g);
        assert_float_equal(scalar(s, loss, x, predictions, shape), want_pairwise(predictions, rows[k]), 2e-6);
        braid_tensor *got = evaluate_fed(s, grad, x, predictions, shape);
        for (int i = 0; i < SIZE; i++) {
            float up[SIZE], down[SIZE];
            memcpy(up, predictions, sizeof up);
            memcpy(down, predictions, sizeof down);
            up[i] += 1e-3f;
            down[i] -= 1e-3f;
            const double want = (want_pairwise(up, rows[k]) - want_pairwise(down, rows[k])) /
                                ((double)up[i] - (double)down[i]);
            assert_float_equal((double)((const float *)braid_tensor_data(got))[i], want, 1e-4);
        }
        braid_tensor_free(got);
        braid_session_close(s, NULL);
        braid_graph_free(g);
    }
}

static void a_cosine_distance_is_one_minus_the_product(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_shape shape = BRAID_SHAPE(ROWS, COLS);
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, shape);
    braid_out loss = braid_loss_cosine_distance(g, constant(g, labels, shape), x, -1, NULL);
    braid_session *s = evaluate_open(g);
    assert_float_equal(scalar(s, loss, x, predictions, shape), ((1 - 0.9) + (1 - 0.7 - 0.6)) / 2, 1e-6);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

// -log of the share of class `c` in row `row`.
static double want_softmax(int row, int c)
{
    double sum = 0;
    for (int i = 0; i < COLS; i++)
        sum += exp((double)predictions[row * COLS + i]);
    return -log(exp((double)predictions[row * COLS + c]) / sum);
}

static void softmax_losses_take_classes_as_rows_or_numbers(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_shape shape = BRAID_SHAPE(ROWS, COLS);
    const float one_hot[SIZE] = {0, 1, 0, 0, 0, 1};
    const int32_t numbers[ROWS] = {1, 2};
    const float row_weights[ROWS] = {1, 3};
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, shape), y = constant(g, one_hot, shape);
    braid_out w = constant(g, row_weights, BRAID_SHAPE(ROWS));
    braid_out column = constant(g, row_weights, BRAID_SHAPE(ROWS, 1));
    braid_tensor *t = braid_tensor_from(BRAID_INT32, BRAID_SHAPE(ROWS, 1), numbers, NULL);
    braid_out classes = braid_const(g, NULL, t);
    braid_tensor_free(t);

    const braid_loss_options o = {.weights = w};
    braid_out plain = braid_loss_softmax_cross_entropy(g, y, x, 0, &o);
    braid_out smoothed = braid_loss_softmax_cross_entropy(g, y, x, 0.3f, &o);
    braid_out sparse =
        braid_loss_sparse_softmax_cross_entropy(g, classes, x, &(braid_loss_options){.weights = column});
    braid_session *s = evaluate_open(g);
    const double want = (want_softmax(0, 1) + 3 * want_softmax(1, 2)) / 2;
    double rest = 0; // what smoothing adds: a third of 0.3 for each class
    for (int i = 0; i < COLS; i++)
        rest += 0.1 * (want_softmax(0, i) + 3 * want_softmax(1, i)) / 2;
    assert_float_equal(scalar(s, plain, x, predictions, shape), want, 2e-6);
    assert_float_equal(scalar(s, sparse, x, predictions, shape), want, 2e-6);
    assert_float_equal(scalar(s, smoothed, x, predictions, shape), 0.7 * want + rest, 2e-6);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void a_sequence_of_classes_has_a_loss_for_each(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_shape shape = BRAID_SHAPE(1, ROWS, COLS);
    const int32_t numbers[ROWS] = {1, 2};
    braid_tensor *t = braid_tensor_from(BRAID_INT32, BRAID_SHAPE(1, ROWS), numbers, NULL);
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, -1, COLS));
    braid_out loss = braid_loss_sparse_softmax_cross_entropy(
        g, braid_const(g, NULL, t), x, &(braid_loss_options){.reduction = BRAID_REDUCTION_NONE});
    braid_tensor_free(t);
    braid_session *s = evaluate_open(g);
    braid_tensor *got = evaluate_fed(s, loss, x, predictions, shape);
    assert_true(braid_shape_equal(braid_tensor_shape(got), BRAID_SHAPE(1, ROWS)));
    for (int i = 0; i < ROWS; i++)
        assert_float_equal((double)((const float *)braid_tensor_data(got))[i], want_softmax(i, numbers[i]),
                           2e-6);
    braid_tensor_free(got);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

// ---- Weights and reductions ----

static void reductions_divide_by_what_their_names_say(void **state)
{
    (void)state;
    static const struct {
        braid_reduction reduction;
        double want; // of losses 1, 2, 3 in both rows with weights 2 and 0
    } rows[] = {
        {BRAID_REDUCTION_SUM, 12},
        {BRAID_REDUCTION_MEAN, 12.0 / 6},
        {BRAID_REDUCTION_SUM_BY_NONZERO_WEIGHTS, 12.0 / 3},
        {BRAID_REDUCTION_SUM_OVER_BATCH_SIZE, 12.0 / 6},
    };
    static const float values[SIZE] = {1, 2, 3, 1, 2, 3}, row_weights[ROWS] = {2, 0};
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        braid_graph *g = braid_graph_new();
        braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, COLS));
        braid_out w = constant(g, row_weights, BRAID_SHAPE(ROWS, 1));
        braid_out loss = braid_compute_weighted_loss(
            g, x, &(braid_loss_options){.weights = w, .reduction = rows[i].reduction});
        braid_session *s = evaluate_open(g);
        assert_float_equal(scalar(s, loss, x, values, BRAID_SHAPE(ROWS, COLS)), rows[i].want, 1e-6);
        braid_session_close(s, NULL);
        braid_graph_free(g);
    }
}

static void weights_of_zero_give_a_loss_and_gradients_of_zero(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_shape shape = BRAID_SHAPE(ROWS, COLS);
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, shape), grad;
    braid_out loss = braid_loss_mean_squared_error(
        g, constant(g, labels, shape), x, &(braid_loss_options){.weights = braid_const_float(g, NULL, 0)});
    braid_gradients(g, &loss, 1, &x, 1, NULL, &grad);
    braid_session *s = evaluate_open(g);
    assert_float_equal(scalar(s, loss, x, predictions, shape), 0, 0);
    braid_tensor *got = evaluate_fed(s, grad, x, predictions, shape);
    for (int i = 0; i < SIZE; i++)
        assert_float_equal(((const float *)braid_tensor_data(got))[i], 0, 0);
    braid_tensor_free(got);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void weights_of_another_shape_are_errors(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(ROWS, COLS));
    braid_out w = braid_placeholder(g, "w", BRAID_FLOAT, BRAID_SHAPE(ROWS));
    braid_loss_absolute_difference(g, x, x, &(braid_loss_options){.weights = w});
    braid_graph_status(g, st);
    assert_error(
        st, BRAID_INVALID_ARGUMENT,
        "absolute_difference: weights must be a scalar, or have the known rank of the values and "
        "dimensions that are equal or 1: 'w' has shape [2], 'absolute_difference/Abs' has shape [2,3]");
    braid_graph_free(g);

    g = braid_graph_new();
    x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 1));
    w = constant(g, weights, BRAID_SHAPE(SIZE, 1)); // the product would have six rows
    braid_out loss = braid_compute_weighted_loss(g, x, &(braid_loss_options){.weights = w});
    braid_session *s = evaluate_open(g);
    braid_tensor *fed = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(1, 1), predictions, NULL), *got = NULL;
    const braid_feed feed = {x, fed};
    const braid_fetch fetch = {loss, &got};
    const braid_run_args args = {.feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1};
    assert_int_equal(braid_session_run(s, &args, st), BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(braid_status_message(st), "weighted_loss/assert_broadcastable"));
    braid_tensor_free(fed);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void labels_of_another_shape_are_errors(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 1));
    braid_out y = braid_placeholder(g, "y", BRAID_FLOAT, BRAID_SHAPE(-1));
    braid_loss_mean_squared_error(g, y, x, NULL);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "mean_squared_error: labels and predictions must have one shape: 'y' has shape [?], 'x' has "
                 "shape [?,1]");
    braid_graph_free(g);
    g = braid_graph_new();
    braid_loss_huber(g, BRAID_NONE, braid_const_float(g, NULL, 1), 1, NULL);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "huber_loss: the labels are nothing");
    braid_graph_free(g);
}

// ---- Collections ----

static void the_total_loss_sums_losses_and_regularization(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_shape shape = BRAID_SHAPE(ROWS, COLS);
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, shape);
    braid_compute_weighted_loss(g, braid_ones(g, BRAID_FLOAT, shape), NULL);
    braid_compute_weighted_loss(g, x, &(braid_loss_options){.reduction = BRAID_REDUCTION_SUM});
    braid_compute_weighted_loss(g, x, &(braid_loss_options){.collection = ""});
    const braid_regularizer l1 = braid_l1_regularizer(0.5f), l2 = braid_l2_regularizer(0.1f);
    braid_collect(g, BRAID_REGULARIZATION_LOSSES, l1.build(&l1, g, x));
    braid_collect(g, BRAID_REGULARIZATION_LOSSES, l2.build(&l2, g, x));
    braid_out data = braid_get_total_loss(g, false), all = braid_get_total_loss(g, true);
    braid_out penalty = braid_get_regularization_loss(g);
    assert_string_equal(braid_op_name(all.op), "total_loss_1");
    braid_session *s = evaluate_open(g);
    double sum = 0, squares = 0;
    for (int i = 0; i < SIZE; i++) {
        sum += (double)predictions[i];
        squares += (double)predictions[i] * (double)predictions[i];
    }
    const double want = 0.5 * sum + 0.1 * squares / 2;
    assert_float_equal(scalar(s, data, x, predictions, shape), 1 + sum, 1e-6);
    assert_float_equal(scalar(s, penalty, x, predictions, shape), want, 1e-6);
    assert_float_equal(scalar(s, all, x, predictions, shape), 1 + sum + want, 1e-6);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void a_total_without_losses_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    assert_string_equal(braid_op_type(braid_get_regularization_loss(g).op), "Const");
    assert_null(braid_get_total_loss(g, true).op);
    braid_graph_status(g, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "total_loss: no loss was collected");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_their_gradients_are_those_of_their_formulas),
        cmocka_unit_test(pairwise_errors_are_means_over_the_pairs_of_a_row),
        cmocka_unit_test(a_cosine_distance_is_one_minus_the_product),
        cmocka_unit_test(softmax_losses_take_classes_as_rows_or_numbers),
        cmocka_unit_test(a_sequence_of_classes_has_a_loss_for_each),
        cmocka_unit_test(reductions_divide_by_what_their_names_say),
        cmocka_unit_test(weights_of_zero_give_a_loss_and_gradients_of_zero),
        cmocka_unit_test(weights_of_another_shape_are_errors),
        cmocka_unit_test(labels_of_another_shape_are_errors),
        cmocka_unit_test(the_total_loss_sums_losses_and_regularization),
        cmocka_unit_test(a_total_without_losses_is_an_error),
    };
    return BD_RUN_TESTS(tests);
}
