// Losses with weights for C++ (C++17, over losses.h, which describes them). Include braid.hpp.
//
//     braid::losses::sparse_softmax_cross_entropy(labels, logits);
//     auto train = braid::adam(g).minimize(braid::losses::get_total_loss(g));
#ifndef BRAID_LOSSES_HPP
#define BRAID_LOSSES_HPP

#include <braid/graph.hpp>
#include <braid/losses.h>

namespace braid::losses
{

/// Weighs and reduces values of any shape.
inline output compute_weighted_loss(const output &values, const braid_loss_options &options = {},
                                    here at = here::now())
{
    return detail::build(values.graph(), at,
                         [&] { return ::braid_compute_weighted_loss(values.graph(), values, &options); });
}

// ---- Labels and predictions of one shape ----

inline output absolute_difference(const output &labels, const output &predictions,
                                  const braid_loss_options &options = {}, here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(g, at,
                         [&] { return ::braid_loss_absolute_difference(g, labels, predictions, &options); });
}
inline output mean_squared_error(const output &labels, const output &predictions,
                                 const braid_loss_options &options = {}, here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(g, at,
                         [&] { return ::braid_loss_mean_squared_error(g, labels, predictions, &options); });
}
/// Half the square of the error up to `delta`, linear beyond.
inline output huber_loss(const output &labels, const output &predictions, float delta = 1,
                         const braid_loss_options &options = {}, here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(g, at, [&] { return ::braid_loss_huber(g, labels, predictions, delta, &options); });
}
inline output log_loss(const output &labels, const output &predictions, float epsilon = 1e-7F,
                       const braid_loss_options &options = {}, here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(g, at, [&] { return ::braid_loss_log(g, labels, predictions, epsilon, &options); });
}
/// For labels 0 and 1.
inline output hinge_loss(const output &labels, const output &logits, const braid_loss_options &options = {},
                         here at = here::now())
{
    braid_graph *g = logits.graph();
    return detail::build(g, at, [&] { return ::braid_loss_hinge(g, labels, logits, &options); });
}
/// Of vectors of length 1 along `axis`.
inline output cosine_distance(const output &labels, const output &predictions, int axis,
                              const braid_loss_options &options = {}, here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(
        g, at, [&] { return ::braid_loss_cosine_distance(g, labels, predictions, axis, &options); });
}
inline output mean_pairwise_squared_error(const output &labels, const output &predictions,
                                          const braid_loss_options &options = {}, here at = here::now())
{
    braid_graph *g = predictions.graph();
    return detail::build(
        g, at, [&] { return ::braid_loss_mean_pairwise_squared_error(g, labels, predictions, &options); });
}
inline output sigmoid_cross_entropy(const output &labels, const output &logits, float label_smoothing = 0,
                                    const braid_loss_options &options = {}, here at = here::now())
{
    braid_graph *g = logits.graph();
    return detail::build(g, at, [&] {
        return ::braid_loss_sigmoid_cross_entropy(g, labels, logits, label_smoothing, &options);
    });
}

// ---- Classes ----

/// Against probabilities [batch, classes].
inline output softmax_cross_entropy(const output &labels, const output &logits, float label_smoothing = 0,
                                    const braid_loss_options &options = {}, here at = here::now())
{
    braid_graph *g = logits.graph();
    return detail::build(g, at, [&] {
        return ::braid_loss_softmax_cross_entropy(g, labels, logits, label_smoothing, &options);
    });
}
/// Against class numbers [...].
inline output sparse_softmax_cross_entropy(const output &labels, const output &logits,
                                           const braid_loss_options &options = {}, here at = here::now())
{
    braid_graph *g = logits.graph();
    return detail::build(
        g, at, [&] { return ::braid_loss_sparse_softmax_cross_entropy(g, labels, logits, &options); });
}

// ---- Sums ----

/// The sum of the losses so far.
inline output get_total_loss(braid_graph *g, bool add_regularization = true, here at = here::now())
{
    return detail::build(g, at, [&] { return ::braid_get_total_loss(g, add_regularization); });
}
inline output get_regularization_loss(braid_graph *g, here at = here::now())
{
    return detail::build(g, at, [&] { return ::braid_get_regularization_loss(g); });
}

} // namespace braid::losses
#endif
