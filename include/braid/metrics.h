// Streaming metrics over many runs (tf.metrics).
//
//     braid_metric accuracy = braid_metric_accuracy(graph, labels, predictions, NULL);
//     ... run accuracy.update for each batch, then fetch accuracy.value
//
// A metric keeps its sums in local variables (NAME/total, NAME/count ...) in the collections
// BRAID_LOCAL_VARIABLES and BRAID_METRIC_VARIABLES: braid_local_variables_initializer, which monitored
// sessions run, sets them to zero, and checkpoints leave them out. Errors are the graph's (graph.h). Weights
// are as for losses (losses.h): weights of 0 leave values out.
#ifndef BRAID_METRICS_H
#define BRAID_METRICS_H

#include <braid/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The name of TensorFlow's collection of the variables of metrics.
#define BRAID_METRIC_VARIABLES "metric_variables"

/// A metric: two outputs of one type and shape. The ops of both are NULL when the graph has failed.
typedef struct braid_metric {
    braid_out value;  ///< the metric of all batches so far; 0 before the first one
    braid_out update; ///< adds this run's batch; then the metric
} braid_metric;

/// Options of a metric; all zero (or NULL): weights of 1.
typedef struct braid_metric_options {
    braid_out weights; ///< op NULL: 1
    const char *name;  ///< the scope of the nodes and variables; NULL: the name of the function in tf.metrics
    bool has_class;    ///< precision and recall at k: of the class `class_id` alone
    int64_t class_id;
} braid_metric_options;

// ---- Means: float scalars ----

/// The mean of `values` of any shape and number type.
BRAID_API braid_metric braid_metric_mean(braid_graph *graph, braid_out values,
                                         const braid_metric_options *options);
/// The share of predictions that equal their label; predictions are cast to the type of the labels.
BRAID_API braid_metric braid_metric_accuracy(braid_graph *graph, braid_out labels, braid_out predictions,
                                             const braid_metric_options *options);
/// The mean of (predictions - labels)^2, its root, and the mean of |predictions - labels|.
BRAID_API braid_metric braid_metric_mean_squared_error(braid_graph *graph, braid_out labels,
                                                       braid_out predictions,
                                                       const braid_metric_options *options);
BRAID_API braid_metric braid_metric_root_mean_squared_error(braid_graph *graph, braid_out labels,
                                                            braid_out predictions,
                                                            const braid_metric_options *options);
BRAID_API braid_metric braid_metric_mean_absolute_error(braid_graph *graph, braid_out labels,
                                                        braid_out predictions,
                                                        const braid_metric_options *options);
/// The mean of |predictions - labels| / normalizer, which counts as 0 where the normalizer is 0; all of one
/// shape.
BRAID_API braid_metric braid_metric_mean_relative_error(braid_graph *graph, braid_out labels,
                                                        braid_out predictions, braid_out normalizer,
                                                        const braid_metric_options *options);
/// 1 - the mean of the inner products along `axis` (negative: from the end): the cosine distance of vectors
/// of length 1. Weights have size 1 along the axis.
BRAID_API braid_metric braid_metric_mean_cosine_distance(braid_graph *graph, braid_out labels,
                                                         braid_out predictions, int axis,
                                                         const braid_metric_options *options);
/// The mean over the runs of each element of `values`, whose shape is fully known: a float tensor of that
/// shape.
BRAID_API braid_metric braid_metric_mean_tensor(braid_graph *graph, braid_out values,
                                                const braid_metric_options *options);
/// The share of `values` below `threshold`.
BRAID_API braid_metric braid_metric_percentage_below(braid_graph *graph, braid_out values, double threshold,
                                                     const braid_metric_options *options);
/// The share of rows of `predictions` [batch, classes], float, whose `labels` [batch], int32 or int64, are
/// among the `k` largest (recall at k with one label a row). Named "recall_at_k".
BRAID_API braid_metric braid_metric_top_k_accuracy(braid_graph *graph, braid_out labels,
                                                   braid_out predictions, int k,
                                                   const braid_metric_options *options);

// ---- Binary classes: labels and predictions of one shape, cast to bool ----

/// The sums of the weights of the values of each kind.
BRAID_API braid_metric braid_metric_true_positives(braid_graph *graph, braid_out labels,
                                                   braid_out predictions,
                                                   const braid_metric_options *options);
BRAID_API braid_metric braid_metric_false_positives(braid_graph *graph, braid_out labels,
                                                    braid_out predictions,
                                                    const braid_metric_options *options);
BRAID_API braid_metric braid_metric_true_negatives(braid_graph *graph, braid_out labels,
                                                   braid_out predictions,
                                                   const braid_metric_options *options);
BRAID_API braid_metric braid_metric_false_negatives(braid_graph *graph, braid_out labels,
                                                    braid_out predictions,
                                                    const braid_metric_options *options);
/// True positives by all positive predictions, and by all positive labels; 0 when there are none.
BRAID_API braid_metric braid_metric_precision(braid_graph *graph, braid_out labels, braid_out predictions,
                                              const braid_metric_options *options);
BRAID_API braid_metric braid_metric_recall(braid_graph *graph, braid_out labels, braid_out predictions,
                                           const braid_metric_options *options);
/// The area under the ROC curve, by the trapezoidal rule over `num_thresholds` thresholds in [0, 1] (at least
/// 2; 0: TensorFlow's 200). `predictions` are probabilities, `labels` are cast to bool.
BRAID_API braid_metric braid_metric_auc(braid_graph *graph, braid_out labels, braid_out predictions,
                                        int num_thresholds, const braid_metric_options *options);

// ---- Binary classes at thresholds ----
//
// A prediction, a probability, is positive above the threshold; labels are cast to bool. The metrics are
// vectors [count] over `thresholds` [count]. As in TensorFlow, the scope of the counts of true positives is
// "true_positives", and so on.

/// The sums of the weights of the values of each kind.
BRAID_API braid_metric braid_metric_true_positives_at_thresholds(braid_graph *graph, braid_out labels,
                                                                 braid_out predictions,
                                                                 const float *thresholds, int count,
                                                                 const braid_metric_options *options);
BRAID_API braid_metric braid_metric_false_positives_at_thresholds(braid_graph *graph, braid_out labels,
                                                                  braid_out predictions,
                                                                  const float *thresholds, int count,
                                                                  const braid_metric_options *options);
BRAID_API braid_metric braid_metric_true_negatives_at_thresholds(braid_graph *graph, braid_out labels,
                                                                 braid_out predictions,
                                                                 const float *thresholds, int count,
                                                                 const braid_metric_options *options);
BRAID_API braid_metric braid_metric_false_negatives_at_thresholds(braid_graph *graph, braid_out labels,
                                                                  braid_out predictions,
                                                                  const float *thresholds, int count,
                                                                  const braid_metric_options *options);
/// True positives by all positive predictions, and by all positive labels; 0 when there are none. As in
/// TensorFlow, divisors are larger by 1e-7.
BRAID_API braid_metric braid_metric_precision_at_thresholds(braid_graph *graph, braid_out labels,
                                                            braid_out predictions, const float *thresholds,
                                                            int count, const braid_metric_options *options);
BRAID_API braid_metric braid_metric_recall_at_thresholds(braid_graph *graph, braid_out labels,
                                                         braid_out predictions, const float *thresholds,
                                                         int count, const braid_metric_options *options);
/// The sensitivity (recall of the positive labels) at that of `num_thresholds` thresholds in [0, 1] (at least
/// 2; 0: TensorFlow's 200) whose specificity (recall of the negative labels) is nearest to `specificity`; and
/// the reverse. Scalars.
BRAID_API braid_metric braid_metric_sensitivity_at_specificity(braid_graph *graph, braid_out labels,
                                                               braid_out predictions, double specificity,
                                                               int num_thresholds,
                                                               const braid_metric_options *options);
BRAID_API braid_metric braid_metric_specificity_at_sensitivity(braid_graph *graph, braid_out labels,
                                                               braid_out predictions, double sensitivity,
                                                               int num_thresholds,
                                                               const braid_metric_options *options);

// ---- Classes ----

/// The mean over the classes seen of intersection by union of labels and predictions, class numbers below
/// `num_classes` of one shape (tf.metrics.mean_iou), from a confusion matrix. Unlike TensorFlow's, `update`
/// gives the metric and not that matrix. double.
BRAID_API braid_metric braid_metric_mean_iou(braid_graph *graph, braid_out labels, braid_out predictions,
                                             int num_classes, const braid_metric_options *options);
/// The mean over all classes of the share of the labels of each class that are predicted, 0 for a class
/// without labels (tf.metrics.mean_per_class_accuracy). Unlike TensorFlow's, `update` gives the metric and
/// not the shares. Named "mean_accuracy"; float.
BRAID_API braid_metric braid_metric_mean_per_class_accuracy(braid_graph *graph, braid_out labels,
                                                            braid_out predictions, int num_classes,
                                                            const braid_metric_options *options);

// ---- The k best classes against sets of labels ----
//
// `predictions` [..., classes], of a known rank of at least 2, are scores; the k largest are the predicted
// classes. `labels` are sets of class numbers along the last dimension: sparse, [..., any number], int64; or
// dense, [..., number] or [...] for one label each, int32 or int64: `labels.values` alone, with `indices` of
// BRAID_NONE. Weights have the shape [...]. The names and variables are "precision_at_3",
// "precision_at_3/true_positive_at_3" and so on. double. As in TensorFlow, `value` is not a number before the
// first labels.

/// The share of the predicted classes that are labels, and of the labels that are predicted.
BRAID_API braid_metric braid_metric_precision_at_k(braid_graph *graph, braid_sparse labels,
                                                   braid_out predictions, int k,
                                                   const braid_metric_options *options);
BRAID_API braid_metric braid_metric_recall_at_k(braid_graph *graph, braid_sparse labels,
                                                braid_out predictions, int k,
                                                const braid_metric_options *options);
/// The mean over the sets of: the sum of the precisions at the ranks of the predicted labels, divided by the
/// number of labels or k, whichever is less. 0 before the first set. Of all classes.
BRAID_API braid_metric braid_metric_average_precision_at_k(braid_graph *graph, braid_sparse labels,
                                                           braid_out predictions, int k,
                                                           const braid_metric_options *options);

#ifdef __cplusplus
}
#endif
#endif
