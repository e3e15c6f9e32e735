// Streaming metrics for C++ (C++17, over metrics.h, which describes them). Include braid.hpp.
//
//     auto accuracy = braid::metrics::accuracy(labels, predictions);
//     ... run accuracy.update for each batch, then fetch accuracy.value
#ifndef BRAID_METRICS_HPP
#define BRAID_METRICS_HPP

#include <braid/graph.hpp>
#include <braid/metrics.h>

namespace braid
{

/// The metric of all batches so far, and the output that adds a batch and is the metric then.
struct metric {
    output value, update;
    metric(const braid_metric &raw) : value(raw.value), update(raw.update) {}
};

namespace detail
{

using metric_fn = braid_metric (*)(braid_graph *, braid_out, braid_out, const braid_metric_options *);
using thresholds_fn = braid_metric (*)(braid_graph *, braid_out, braid_out, const float *, int,
                                       const braid_metric_options *);
using top_k_fn = braid_metric (*)(braid_graph *, braid_sparse, braid_out, int, const braid_metric_options *);

inline metric make_metric(metric_fn fn, const output &labels, const output &predictions,
                          const braid_metric_options &options, here at)
{
    braid_graph *g = predictions.graph();
    return build(g, at, [&] { return fn(g, labels, predictions, &options); });
}

inline metric make_metric(thresholds_fn fn, const output &labels, const output &predictions,
                          const std::vector<float> &thresholds, const braid_metric_options &options, here at)
{
    braid_graph *g = predictions.graph();
    return build(
        g, at, [&] { return fn(g, labels, predictions, thresholds.data(), count_of(thresholds), &options); });
}

inline metric make_metric(top_k_fn fn, const braid_sparse &labels, const output &predictions, int k,
                          const braid_metric_options &options, here at)
{
    braid_graph *g = predictions.graph();
    return build(g, at, [&] { return fn(g, labels, predictions, k, &options); });
}

} // namespace detail

namespace metrics
{

// ---- Means ----

/// Of values of any shape and number type.
inline metric mean(const output &values, const braid_metric_options &options = {}, here at = here::now())
{
    braid_graph *g = values.graph();
    return detail::build(g, at, [&] { return ::braid_metric_mean(g, values, &options); });
}
/// The share of predictions that equal their label.
inline metric accuracy(const output &labels, const output &predictions,
                       const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_accuracy, labels, predictions, options, at);
}
inline metric mean_squared_error(const output &labels, const output &predictions,
                                 const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_mean_squared_error, labels, predictions, options, at);
}
inline metric root_mean_squared_error(const output &labels, const output &predictions,
                                      const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_root_mean_squared_error, labels, predictions, options, at);
}
inline metric mean_absolute_error(const output &labels, const output &predictions,
                                  const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_mean_absolute_error, labels, predictions, options, at);
}
/// The mean of |predictions - labels| / normalizer.
inline metric mean_relative_error(const output &labels, const output &predictions, const output &normalizer,
                                  const braid_metric_options &options = {}, here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(g, at, [&] {
        return ::braid_metric_mean_relative_error(g, labels, predictions, normalizer, &options);
    });
}
/// Of vectors of length 1 along `axis`.
inline metric mean_cosine_distance(const output &labels, const output &predictions, int axis,
                                   const braid_metric_options &options = {}, here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(
        g, at, [&] { return ::braid_metric_mean_cosine_distance(g, labels, predictions, axis, &options); });
}
/// The mean of each element.
inline metric mean_tensor(const output &values, const braid_metric_options &options = {},
                          here at = here::now())
{
    braid_graph *g = values.graph();
    return detail::build(g, at, [&] { return ::braid_metric_mean_tensor(g, values, &options); });
}
/// The share of values below the threshold.
inline metric percentage_below(const output &values, double threshold,
                               const braid_metric_options &options = {}, here at = here::now())
{
    braid_graph *g = values.graph();
    return detail::build(g, at,
                         [&] { return ::braid_metric_percentage_below(g, values, threshold, &options); });
}
/// The share of rows of [batch, classes] whose label is among the `k` largest.
inline metric top_k_accuracy(const output &labels, const output &predictions, int k,
                             const braid_metric_options &options = {}, here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(g, at,
                         [&] { return ::braid_metric_top_k_accuracy(g, labels, predictions, k, &options); });
}

// ---- Binary classes ----

inline metric true_positives(const output &labels, const output &predictions,
                             const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_true_positives, labels, predictions, options, at);
}
inline metric false_positives(const output &labels, const output &predictions,
                              const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_false_positives, labels, predictions, options, at);
}
inline metric true_negatives(const output &labels, const output &predictions,
                             const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_true_negatives, labels, predictions, options, at);
}
inline metric false_negatives(const output &labels, const output &predictions,
                              const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_false_negatives, labels, predictions, options, at);
}
inline metric precision(const output &labels, const output &predictions,
                        const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_precision, labels, predictions, options, at);
}
inline metric recall(const output &labels, const output &predictions,
                     const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_recall, labels, predictions, options, at);
}
/// The area under the ROC curve of probabilities.
inline metric auc(const output &labels, const output &predictions, int num_thresholds = 0,
                  const braid_metric_options &options = {}, here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(
        g, at, [&] { return ::braid_metric_auc(g, labels, predictions, num_thresholds, &options); });
}

// ---- Binary classes at thresholds of probabilities: a vector with a number for each ----

inline metric true_positives_at_thresholds(const output &labels, const output &predictions,
                                           const std::vector<float> &thresholds,
                                           const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_true_positives_at_thresholds, labels, predictions, thresholds,
                               options, at);
}
inline metric false_positives_at_thresholds(const output &labels, const output &predictions,
                                            const std::vector<float> &thresholds,
                                            const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_false_positives_at_thresholds, labels, predictions, thresholds,
                               options, at);
}
inline metric true_negatives_at_thresholds(const output &labels, const output &predictions,
                                           const std::vector<float> &thresholds,
                                           const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_true_negatives_at_thresholds, labels, predictions, thresholds,
                               options, at);
}
inline metric false_negatives_at_thresholds(const output &labels, const output &predictions,
                                            const std::vector<float> &thresholds,
                                            const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_false_negatives_at_thresholds, labels, predictions, thresholds,
                               options, at);
}
inline metric precision_at_thresholds(const output &labels, const output &predictions,
                                      const std::vector<float> &thresholds,
                                      const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_precision_at_thresholds, labels, predictions, thresholds,
                               options, at);
}
inline metric recall_at_thresholds(const output &labels, const output &predictions,
                                   const std::vector<float> &thresholds,
                                   const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_recall_at_thresholds, labels, predictions, thresholds, options,
                               at);
}
/// 0 thresholds: TensorFlow's 200.
inline metric sensitivity_at_specificity(const output &labels, const output &predictions, double specificity,
                                         int num_thresholds = 0, const braid_metric_options &options = {},
                                         here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(g, at, [&] {
        return ::braid_metric_sensitivity_at_specificity(g, labels, predictions, specificity, num_thresholds,
                                                         &options);
    });
}
/// 0 thresholds: TensorFlow's 200.
inline metric specificity_at_sensitivity(const output &labels, const output &predictions, double sensitivity,
                                         int num_thresholds = 0, const braid_metric_options &options = {},
                                         here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(g, at, [&] {
        return ::braid_metric_specificity_at_sensitivity(g, labels, predictions, sensitivity, num_thresholds,
                                                         &options);
    });
}

// ---- Classes ----

/// The mean over the classes of intersection by union.
inline metric mean_iou(const output &labels, const output &predictions, int num_classes,
                       const braid_metric_options &options = {}, here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(
        g, at, [&] { return ::braid_metric_mean_iou(g, labels, predictions, num_classes, &options); });
}
/// The mean over the classes of the share of their labels that are predicted.
inline metric mean_per_class_accuracy(const output &labels, const output &predictions, int num_classes,
                                      const braid_metric_options &options = {}, here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(g, at, [&] {
        return ::braid_metric_mean_per_class_accuracy(g, labels, predictions, num_classes, &options);
    });
}

// ---- The k best classes against sets of labels: sparse ones, or a dense output ----

inline metric precision_at_k(const braid_sparse &labels, const output &predictions, int k,
                             const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_precision_at_k, labels, predictions, k, options, at);
}
inline metric precision_at_k(const output &labels, const output &predictions, int k,
                             const braid_metric_options &options = {}, here at = here::now())
{
    return precision_at_k(braid_sparse{{}, labels, {}}, predictions, k, options, at);
}
inline metric recall_at_k(const braid_sparse &labels, const output &predictions, int k,
                          const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_recall_at_k, labels, predictions, k, options, at);
}
inline metric recall_at_k(const output &labels, const output &predictions, int k,
                          const braid_metric_options &options = {}, here at = here::now())
{
    return recall_at_k(braid_sparse{{}, labels, {}}, predictions, k, options, at);
}
inline metric average_precision_at_k(const braid_sparse &labels, const output &predictions, int k,
                                     const braid_metric_options &options = {}, here at = here::now())
{
    return detail::make_metric(::braid_metric_average_precision_at_k, labels, predictions, k, options, at);
}
inline metric average_precision_at_k(const output &labels, const output &predictions, int k,
                                     const braid_metric_options &options = {}, here at = here::now())
{
    return average_precision_at_k(braid_sparse{{}, labels, {}}, predictions, k, options, at);
}

} // namespace metrics
} // namespace braid
#endif
