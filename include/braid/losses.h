// Losses with weights, and their collections (tf.losses).
//
//     braid_loss_sparse_softmax_cross_entropy(graph, labels, logits, NULL);
//     braid_op *train = braid_minimize(optimizer, braid_get_total_loss(graph, true), step);
//
// A loss computes a value for each element, multiplies it by its weight and reduces the values to a float
// scalar, which it adds to the collection "losses". Labels and predictions of other number types are cast to
// float. Errors are the graph's (graph.h): shapes of labels and predictions that do not agree, weights that
// cannot be broadcast.
//
// Weights are a scalar, or have the rank of the values with each dimension 1 or that of the values. The ranks
// must be known then; dimensions that are unknown are checked in each run.
#ifndef BRAID_LOSSES_H
#define BRAID_LOSSES_H

#include <braid/ops.h>
#include <braid/variable_scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The name of TensorFlow's collection of losses; that of regularization losses is in variable_scope.h.
#define BRAID_LOSSES "losses"

/// How the weighted values become one loss (tf.losses.Reduction). A quotient with divisor 0 is 0.
typedef enum braid_reduction {
    BRAID_REDUCTION_SUM_BY_NONZERO_WEIGHTS = 0, ///< their sum by the number of values whose weight is not 0
    BRAID_REDUCTION_NONE,                       ///< not at all: the loss has the shape of the values
    BRAID_REDUCTION_SUM,                        ///< their sum
    BRAID_REDUCTION_MEAN,                       ///< their sum by the sum of the weights
    BRAID_REDUCTION_SUM_OVER_BATCH_SIZE         ///< their sum by the number of values
} braid_reduction;

/// Options of a loss; all zero (or NULL): weights of 1, TensorFlow's reduction, the collection "losses".
typedef struct braid_loss_options {
    braid_out weights; ///< op NULL: 1
    braid_reduction reduction;
    const char *name;       ///< the name scope; NULL: the name of the function in tf.losses
    const char *collection; ///< NULL: BRAID_LOSSES; "": none
} braid_loss_options;

/// Weighs and reduces `losses` of any shape (tf.losses.compute_weighted_loss). Returns a value of their type.
BRAID_API braid_out braid_compute_weighted_loss(braid_graph *graph, braid_out losses,
                                                const braid_loss_options *options);

// ---- Labels and predictions of one shape ----

/// |predictions - labels|
BRAID_API braid_out braid_loss_absolute_difference(braid_graph *graph, braid_out labels,
                                                   braid_out predictions, const braid_loss_options *options);
/// (predictions - labels)^2
BRAID_API braid_out braid_loss_mean_squared_error(braid_graph *graph, braid_out labels, braid_out predictions,
                                                  const braid_loss_options *options);
/// Half the square of the error up to `delta` (TensorFlow's default is 1), linear beyond (Huber 1964).
BRAID_API braid_out braid_loss_huber(braid_graph *graph, braid_out labels, braid_out predictions, float delta,
                                     const braid_loss_options *options);
/// -labels log(predictions + epsilon) - (1 - labels) log(1 - predictions + epsilon); TensorFlow's epsilon is
/// 1e-7.
BRAID_API braid_out braid_loss_log(braid_graph *graph, braid_out labels, braid_out predictions, float epsilon,
                                   const braid_loss_options *options);
/// max(0, 1 - (2 labels - 1) logits), for labels 0 and 1.
BRAID_API braid_out braid_loss_hinge(braid_graph *graph, braid_out labels, braid_out logits,
                                     const braid_loss_options *options);
/// 1 - the inner product along `axis` (negative: from the end), which stays with size 1: the cosine distance
/// of vectors of length 1.
BRAID_API braid_out braid_loss_cosine_distance(braid_graph *graph, braid_out labels, braid_out predictions,
                                               int axis, const braid_loss_options *options);
/// For each element of the batch (the first dimension), the mean over the pairs of its values of
/// ((prediction - prediction') - (label - label'))^2, times its weight; their sum over the batch
/// (tf.losses.mean_pairwise_squared_error of TensorFlow 1.15). Weights are a scalar or [batch, 1, ...]. The
/// reduction of the options does not count.
BRAID_API braid_out braid_loss_mean_pairwise_squared_error(braid_graph *graph, braid_out labels,
                                                           braid_out predictions,
                                                           const braid_loss_options *options);
/// braid_sigmoid_cross_entropy. `label_smoothing` s > 0 moves labels towards 1/2: labels (1 - s) + s / 2.
BRAID_API braid_out braid_loss_sigmoid_cross_entropy(braid_graph *graph, braid_out labels, braid_out logits,
                                                     float label_smoothing,
                                                     const braid_loss_options *options);

// ---- Classes ----

/// braid_softmax_cross_entropy of [batch, classes], a value for each row. `label_smoothing` s > 0 moves
/// labels towards 1 / classes: labels (1 - s) + s / classes, and needs a known number of classes. No gradient
/// goes to the labels.
BRAID_API braid_out braid_loss_softmax_cross_entropy(braid_graph *graph, braid_out labels, braid_out logits,
                                                     float label_smoothing,
                                                     const braid_loss_options *options);
/// braid_sparse_softmax_cross_entropy: `logits` [..., classes] against class numbers `labels` [...], or [...,
/// 1]; a value for each label. Weights may have that last dimension of 1 too.
BRAID_API braid_out braid_loss_sparse_softmax_cross_entropy(braid_graph *graph, braid_out labels,
                                                            braid_out logits,
                                                            const braid_loss_options *options);

// ---- Sums ----

/// The sum of the losses collected so far, of the regularization losses too if `add_regularization`, a
/// scalar. The graph fails when there are none.
BRAID_API braid_out braid_get_total_loss(braid_graph *graph, bool add_regularization);
/// The sum of the regularization losses, 0 when there are none.
BRAID_API braid_out braid_get_regularization_loss(braid_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
