// Losses: values by element, weighted and reduced, in TensorFlow's nodes.
#include <braid/losses.h>

#include "base/alloc.h"
#include "train/common/build.h"
#include "train/common/weights.h"
#include <string.h>

static const braid_loss_options no_options;

// ---- Weights and reductions ----

// 1 for each value whose weight is not zero, else 0.
static braid_out present(braid_graph *g, braid_out losses, braid_out weights)
{
    braid_out is_zero = train_op_number(g, "Equal", "Equal", weights, 0);
    braid_out zeros = train_node1(g, "ZerosLike", "zeros_like", weights);
    braid_out ones = train_node3(g, "Select", NULL, is_zero, zeros, braid_ones_like(g, weights));
    return train_broadcast_weights(g, ones, losses);
}

// The number of values whose weight is not zero.
static braid_out num_present(braid_graph *g, braid_out losses, braid_out weights)
{
    const char *scope = braid_push_name_scope(g, "num_present");
    braid_out count = train_sum_named(g, scope, present(g, losses, weights));
    braid_pop_name_scope(g);
    return count;
}

static braid_out num_elements(braid_graph *g, braid_out losses)
{
    (void)braid_push_name_scope(g, "num_elements");
    braid_out count = braid_cast(g, train_size_of(g, losses), BRAID_FLOAT);
    braid_pop_name_scope(g);
    return count;
}

static braid_out reduce(braid_graph *g, braid_out losses, braid_out weights, braid_reduction reduction)
{
    braid_out weighted = train_node2(g, "Mul", NULL, losses, weights);
    if (!weighted.op || reduction == BRAID_REDUCTION_NONE) return weighted;
    braid_out sum = train_sum_named(g, NULL, weighted), divisor;
    switch (reduction) {
    case BRAID_REDUCTION_SUM: return sum;
    case BRAID_REDUCTION_MEAN:
        divisor = train_sum_named(g, NULL, braid_mul(g, braid_ones_like(g, losses), weights));
        break;
    case BRAID_REDUCTION_SUM_BY_NONZERO_WEIGHTS: divisor = num_present(g, losses, weights); break;
    case BRAID_REDUCTION_SUM_OVER_BATCH_SIZE: divisor = num_elements(g, losses); break;
    default:
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Loss '%s': %d is no reduction", braid_op_name(sum.op),
                         (int)reduction);
        return BRAID_NONE;
    }
    return train_node2(g, "DivNoNan", "value", train_sum_named(g, NULL, sum), divisor);
}

// The weights of values, checked.
static braid_out weights_of(braid_graph *g, const char *what, braid_out losses, const braid_loss_options *o)
{
    braid_out weights = o->weights;
    if (!weights.op) weights = braid_const_float(g, "assert_broadcastable/weights", 1);
    return train_check_weights(g, what, weights, losses);
}

// Leaves the scope of a loss and collects it.
static braid_out add_loss(braid_graph *g, braid_out loss, const braid_loss_options *o)
{
    braid_pop_name_scope(g);
    const char *collection = o->collection ? o->collection : BRAID_LOSSES;
    if (loss.op && *collection) braid_collect(g, collection, loss);
    return loss;
}

// The loss of the values by element, in the current scope, which it pops.
static braid_out finish(braid_graph *g, const char *what, braid_out losses, const braid_loss_options *o)
{
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(losses));
    braid_out weights = weights_of(g, what, losses, o);
    losses = braid_cast(g, losses, BRAID_FLOAT);
    weights = braid_cast(g, weights, BRAID_FLOAT);
    braid_out loss = BRAID_NONE;
    if (losses.op && weights.op) loss = braid_cast(g, reduce(g, losses, weights, o->reduction), dtype);
    return add_loss(g, loss, o);
}

braid_out braid_compute_weighted_loss(braid_graph *g, braid_out losses, const braid_loss_options *o)
{
    if (!o) o = &no_options;
    if (!losses.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "weighted_loss: the losses are nothing");
        return BRAID_NONE;
    }
    (void)braid_push_name_scope(g, o->name ? o->name : "weighted_loss");
    return finish(g, "weighted_loss", losses, o);
}

// ---- Labels and predictions of one shape ----

// A loss while it is built.
typedef struct loss_inputs {
    const char *what;
    const braid_loss_options *options;
    braid_out labels, predictions; // checked, of one floating-point type
} loss_inputs;

// Checks the inputs and enters the scope of the loss, which `finish` leaves. False: the graph has failed.
static bool begin(braid_graph *g, loss_inputs *l, const char *what, const braid_loss_options *options)
{
    l->what = what;
    l->options = options ? options : &no_options;
    if (!train_shapes_agree(g, what, l->labels, l->predictions)) return false;
    (void)braid_push_name_scope(g, l->options->name ? l->options->name : what);
    return true;
}

static bool begin_float(braid_graph *g, loss_inputs *l, const char *what, const braid_loss_options *options)
{
    if (!begin(g, l, what, options)) return false;
    l->predictions = braid_cast(g, l->predictions, BRAID_FLOAT);
    l->labels = braid_cast(g, l->labels, BRAID_FLOAT);
    return true;
}

braid_out braid_loss_absolute_difference(braid_graph *g, braid_out labels, braid_out predictions,
                                         const braid_loss_options *options)
{
    loss_inputs l = {.labels = labels, .predictions = predictions};
    if (!begin_float(g, &l, "absolute_difference", options)) return BRAID_NONE;
    braid_out error = train_node2(g, "Sub", NULL, l.predictions, l.labels);
    return finish(g, l.what, braid_abs(g, error), l.options);
}

braid_out braid_loss_mean_squared_error(braid_graph *g, braid_out labels, braid_out predictions,
                                        const braid_loss_options *options)
{
    loss_inputs l = {.labels = labels, .predictions = predictions};
    if (!begin_float(g, &l, "mean_squared_error", options)) return BRAID_NONE;
    braid_out square = train_node2(g, "SquaredDifference", NULL, l.predictions, l.labels);
    return finish(g, l.what, square, l.options);
}

// The linear part is |error| - quadratic and not max(|error| - delta, 0): its gradient at delta is 0, so that
// the two parts do not count double there.
braid_out braid_loss_huber(braid_graph *g, braid_out labels, braid_out predictions, float delta,
                           const braid_loss_options *options)
{
    loss_inputs l = {.labels = labels, .predictions = predictions};
    if (!begin_float(g, &l, "huber_loss", options)) return BRAID_NONE;
    braid_out error = braid_abs(g, train_node2(g, "Sub", NULL, l.predictions, l.labels));
    braid_out quadratic = train_op_number(g, "Minimum", "Minimum", error, (double)delta);
    braid_out linear = train_node2(g, "Sub", NULL, error, quadratic);
    braid_out half = braid_const_float(g, NULL, 0.5f);
    braid_out square = train_node2(g, "Mul", NULL, quadratic, quadratic);
    square = train_node2(g, "Mul", NULL, half, square);
    linear = train_number_op(g, "Mul", "Mul", (double)delta, linear);
    return finish(g, l.what, train_node2(g, "Add", NULL, square, linear), l.options);
}

braid_out braid_loss_log(braid_graph *g, braid_out labels, braid_out predictions, float epsilon,
                         const braid_loss_options *options)
{
    loss_inputs l = {.labels = labels, .predictions = predictions};
    if (!begin_float(g, &l, "log_loss", options)) return BRAID_NONE;
    braid_out log = braid_log(g, train_op_number(g, "Add", "add", l.predictions, (double)epsilon));
    braid_out of_true = braid_neg(g, train_node2(g, "Mul", NULL, l.labels, log));
    braid_out is_false = train_number_op(g, "Sub", "sub", 1, l.labels);
    braid_out rest = train_number_op(g, "Sub", "sub", 1, l.predictions);
    log = braid_log(g, train_op_number(g, "Add", "add", rest, (double)epsilon));
    braid_out of_false = train_node2(g, "Mul", NULL, is_false, log);
    return finish(g, l.what, braid_sub(g, of_true, of_false), l.options);
}

braid_out braid_loss_hinge(braid_graph *g, braid_out labels, braid_out logits,
                           const braid_loss_options *options)
{
    loss_inputs l = {.labels = labels, .predictions = logits};
    if (!begin_float(g, &l, "hinge_loss", options)) return BRAID_NONE;
    braid_out ones = braid_ones_like(g, l.labels);
    braid_out sign = train_node2(g, "Sub", NULL, train_number_op(g, "Mul", "mul", 2, l.labels), ones);
    braid_out margin = train_node2(g, "Mul", NULL, sign, l.predictions);
    return finish(g, l.what, braid_relu(g, train_node2(g, "Sub", NULL, ones, margin)), l.options);
}

braid_out braid_loss_cosine_distance(braid_graph *g, braid_out labels, braid_out predictions, int axis,
                                     const braid_loss_options *options)
{
    loss_inputs l = {.labels = labels, .predictions = predictions};
    if (!begin_float(g, &l, "cosine_distance_loss", options)) return BRAID_NONE;
    braid_out product = train_node2(g, "Mul", NULL, l.predictions, l.labels);
    braid_out sum = braid_reduce(g, "Sum", product, &(int32_t){axis}, 1, true);
    return finish(g, l.what, train_number_op(g, "Sub", "sub", 1, sum), l.options);
}

// The sums over all dimensions but the first, which keep size 1.
static braid_out sum_rows(braid_graph *g, braid_out x)
{
    int32_t axes[BRAID_RANK_MAX];
    const int rank = braid_out_shape(x).rank;
    for (int i = 1; i < rank; i++)
        axes[i - 1] = i;
    return braid_reduce(g, "Sum", x, axes, rank - 1, true);
}

// 2 x / divisor, and 0 for a divisor of 0 or less.
static braid_out twice_by(braid_graph *g, braid_out x, braid_out divisor)
{
    const braid_out limited = train_op_number(g, "Maximum", "Maximum", divisor, 0);
    return train_number_op(g, "Mul", "mul", 2, train_node2(g, "DivNoNan", "value", x, limited));
}

// The mean over the pairs of n values of their squared difference is 2 (sum of squares) / (n - 1) -
// 2 (sum)^2 / (n (n - 1)).
braid_out braid_loss_mean_pairwise_squared_error(braid_graph *g, braid_out labels, braid_out predictions,
                                                 const braid_loss_options *options)
{
    loss_inputs l = {.labels = labels, .predictions = predictions};
    if (!begin_float(g, &l, "mean_pairwise_squared_error", options)) return BRAID_NONE;
    const braid_out diffs = train_node2(g, "Sub", NULL, l.predictions, l.labels);
    const braid_out weights = braid_cast(g, weights_of(g, l.what, diffs, l.options), BRAID_FLOAT);
    if (diffs.op && braid_out_shape(diffs).rank < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: the rank of '%s' must be known and not 0", l.what,
                         braid_op_name(predictions.op));
    if (braid_graph_status(g, NULL)) return BRAID_NONE;
    const braid_out squares = sum_rows(g, braid_square(g, diffs));
    (void)braid_push_name_scope(g, "num_present");
    const braid_out count = sum_rows(g, present(g, diffs, weights));
    braid_pop_name_scope(g);
    const braid_out less = train_op_number(g, "Sub", "sub", count, 1);
    const braid_out term1 = twice_by(g, squares, less);
    const braid_out sum = braid_square(g, sum_rows(g, diffs));
    const braid_out term2 = twice_by(g, sum, train_node2(g, "Mul", NULL, count, less));
    const braid_out weighted = train_node2(g, "Mul", NULL, braid_sub(g, term1, term2), weights);
    const braid_out loss = train_sum_named(g, NULL, weighted);
    const braid_out is_any = train_op_number(g, "Greater", "Greater", train_sum_named(g, NULL, count), 0);
    const braid_out zero = train_node1(g, "ZerosLike", "zeros_like", loss);
    return add_loss(g, train_node3(g, "Select", "value", is_any, loss, zero), l.options);
}

// labels (1 - smoothing) + smoothing * to
static braid_out smooth(braid_graph *g, braid_out labels, float smoothing, double to)
{
    labels = train_op_number(g, "Mul", "mul", labels, 1 - (double)smoothing);
    return train_op_number(g, "Add", "add", labels, (double)smoothing * to);
}

braid_out braid_loss_sigmoid_cross_entropy(braid_graph *g, braid_out labels, braid_out logits,
                                           float label_smoothing, const braid_loss_options *options)
{
    loss_inputs l = {.labels = labels, .predictions = logits};
    if (!begin(g, &l, "sigmoid_cross_entropy_loss", options)) return BRAID_NONE;
    l.labels = braid_cast(g, l.labels, train_base_dtype(braid_out_dtype(l.predictions)));
    if (label_smoothing > 0) l.labels = smooth(g, l.labels, label_smoothing, 0.5);
    return finish(g, l.what, train_sigmoid_cross_entropy(g, "xentropy", l.predictions, l.labels), l.options);
}

// ---- Classes ----

braid_out braid_loss_softmax_cross_entropy(braid_graph *g, braid_out labels, braid_out logits,
                                           float label_smoothing, const braid_loss_options *options)
{
    loss_inputs l = {.labels = labels, .predictions = logits};
    if (!begin(g, &l, "softmax_cross_entropy_loss", options)) return BRAID_NONE;
    l.labels = braid_cast(g, l.labels, train_base_dtype(braid_out_dtype(l.predictions)));
    const braid_shape shape = braid_out_shape(l.predictions);
    if (label_smoothing > 0 && (shape.rank < 1 || shape.dims[shape.rank - 1] < 1))
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "%s: label smoothing needs a known number of classes, the last dimension of '%s'",
                         l.what, braid_op_name(logits.op));
    else if (label_smoothing > 0)
        l.labels = smooth(g, l.labels, label_smoothing, 1.0 / (double)shape.dims[shape.rank - 1]);
    l.labels = train_node1(g, "StopGradient", "labels_stop_gradient", l.labels);
    (void)braid_push_name_scope(g, "xentropy");
    braid_out losses = braid_softmax_cross_entropy(g, l.predictions, l.labels);
    braid_pop_name_scope(g);
    return finish(g, l.what, losses, l.options);
}

braid_out braid_loss_sparse_softmax_cross_entropy(braid_graph *g, braid_out labels, braid_out logits,
                                                  const braid_loss_options *options)
{
    static const char what[] = "sparse_softmax_cross_entropy_loss";
    if (!labels.op || !logits.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: the %s are nothing", what,
                         labels.op ? "logits" : "labels");
        return BRAID_NONE;
    }
    braid_loss_options o = options ? *options : no_options;
    (void)braid_push_name_scope(g, o.name ? o.name : what);
    const int rank = braid_out_shape(logits).rank - 1;
    labels = train_squeeze_last(g, labels, rank);
    if (o.weights.op) o.weights = train_squeeze_last(g, o.weights, rank);
    (void)braid_push_name_scope(g, "xentropy");
    braid_out losses = braid_sparse_softmax_cross_entropy(g, logits, labels);
    braid_pop_name_scope(g);
    return finish(g, what, losses, &o);
}

// ---- Sums ----

static braid_out add_all(braid_graph *g, const char *name, const braid_out *values, int count)
{
    return count == 1 ? braid_identity(g, name, values[0]) : train_add_n(g, name, values, count);
}

braid_out braid_get_regularization_loss(braid_graph *g)
{
    int count;
    const braid_out *losses = braid_collection(g, BRAID_REGULARIZATION_LOSSES, &count);
    if (count == 0) return braid_const_float(g, "total_regularization_loss", 0);
    return add_all(g, "total_regularization_loss", losses, count);
}

braid_out braid_get_total_loss(braid_graph *g, bool add_regularization)
{
    int count, more = 0;
    const braid_out *losses = braid_collection(g, BRAID_LOSSES, &count), *others = NULL;
    if (add_regularization) others = braid_collection(g, BRAID_REGULARIZATION_LOSSES, &more);
    if (count + more == 0) {
        braid_graph_fail(g, BRAID_FAILED_PRECONDITION, "total_loss: no loss was collected");
        return BRAID_NONE;
    }
    braid_out *all = bd_calloc((size_t)count + (size_t)more, sizeof *all);
    if (count) memcpy(all, losses, (size_t)count * sizeof *all);
    if (more) memcpy(all + count, others, (size_t)more * sizeof *all);
    braid_out total = add_all(g, "total_loss", all, count + more);
    bd_free(all);
    return total;
}
