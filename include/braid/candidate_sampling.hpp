// Training with many classes for C++ (C++17, over candidate_sampling.h, which describes it). Include
// braid.hpp.
//
//     auto losses = braid::nce_loss(weights, biases, next_words, x, 64, words);
#ifndef BRAID_CANDIDATE_SAMPLING_HPP
#define BRAID_CANDIDATE_SAMPLING_HPP

#include <braid/candidate_sampling.h>
#include <braid/graph.hpp>

namespace braid
{

/// Classes drawn by a sampler.
struct candidates {
    output sampled, true_expected_count, sampled_expected_count;
    candidates(const braid_candidates &raw)
        : sampled(raw.sampled), true_expected_count(raw.true_expected_count),
          sampled_expected_count(raw.sampled_expected_count)
    {
    }
    operator braid_candidates() const
    {
        return {sampled, true_expected_count, sampled_expected_count};
    }
};

namespace detail
{

/// Options of a sampler with the members that must be given.
inline braid_sampler_options sampler(braid_sampler_options options, const output &true_classes,
                                     int64_t num_sampled, int64_t range_max)
{
    options.true_classes = true_classes;
    options.num_sampled = num_sampled;
    options.range_max = range_max;
    return options;
}

using sampler_fn = braid_candidates (*)(braid_graph *, const braid_sampler_options *);

inline candidates draw(sampler_fn fn, const braid_sampler_options &options, here at)
{
    braid_graph *g = output(options.true_classes).graph();
    return build(g, at, [&] { return fn(g, &options); });
}

} // namespace detail

// ---- Samplers of `num_sampled` classes in [0, range_max) ----
//
// `options` have what else there is: with_replacement, the seed, the name.

inline candidates log_uniform_candidate_sampler(const output &true_classes, int64_t num_sampled,
                                                int64_t range_max, const braid_sampler_options &options = {},
                                                here at = here::now())
{
    return detail::draw(::braid_log_uniform_candidate_sampler,
                        detail::sampler(options, true_classes, num_sampled, range_max), at);
}
inline candidates uniform_candidate_sampler(const output &true_classes, int64_t num_sampled,
                                            int64_t range_max, const braid_sampler_options &options = {},
                                            here at = here::now())
{
    return detail::draw(::braid_uniform_candidate_sampler,
                        detail::sampler(options, true_classes, num_sampled, range_max), at);
}
inline candidates learned_unigram_candidate_sampler(const output &true_classes, int64_t num_sampled,
                                                    int64_t range_max,
                                                    const braid_sampler_options &options = {},
                                                    here at = here::now())
{
    return detail::draw(::braid_learned_unigram_candidate_sampler,
                        detail::sampler(options, true_classes, num_sampled, range_max), at);
}
/// In proportion to the weights of the classes, to the power of `distortion`.
inline candidates fixed_unigram_candidate_sampler(const output &true_classes, int64_t num_sampled,
                                                  int64_t range_max, const std::vector<float> &unigrams,
                                                  float distortion = 1,
                                                  const braid_sampler_options &options = {},
                                                  here at = here::now())
{
    braid_unigrams weights{};
    weights.unigrams = unigrams.data();
    weights.unigram_count = detail::count_of(unigrams);
    weights.distortion = distortion;
    const braid_sampler_options all = detail::sampler(options, true_classes, num_sampled, range_max);
    braid_graph *g = true_classes.graph();
    return detail::build(g, at, [&] { return ::braid_fixed_unigram_candidate_sampler(g, &all, &weights); });
}

// ---- Losses: [batch] ----

namespace detail
{

using sampled_loss_fn = braid_out (*)(braid_graph *, const braid_sampled_loss *);

/// The classes, and what they are compared with.
struct sampled_classes {
    const variable &weights, &biases;
    const output &labels, &inputs;
    int64_t num_sampled, num_classes;
};

inline output sampled_loss(sampled_loss_fn fn, const sampled_classes &of, braid_sampled_loss loss, here at)
{
    loss.weights = of.weights;
    loss.biases = of.biases;
    loss.labels = of.labels;
    loss.inputs = of.inputs;
    loss.num_sampled = of.num_sampled;
    loss.num_classes = of.num_classes;
    return build(of.inputs.graph(), at, [&] { return fn(of.inputs.graph(), &loss); });
}

} // namespace detail

/// `labels` [batch, num_true] against `num_sampled` of the classes; `options` has the members from `name` on.
inline output nce_loss(const variable &weights, const variable &biases, const output &labels,
                       const output &inputs, int64_t num_sampled, int64_t num_classes,
                       const braid_sampled_loss &options = {}, here at = here::now())
{
    return detail::sampled_loss(::braid_nce_loss, {weights, biases, labels, inputs, num_sampled, num_classes},
                                options, at);
}
inline output sampled_softmax_loss(const variable &weights, const variable &biases, const output &labels,
                                   const output &inputs, int64_t num_sampled, int64_t num_classes,
                                   const braid_sampled_loss &options = {}, here at = here::now())
{
    return detail::sampled_loss(::braid_sampled_softmax_loss,
                                {weights, biases, labels, inputs, num_sampled, num_classes}, options, at);
}

} // namespace braid
#endif
