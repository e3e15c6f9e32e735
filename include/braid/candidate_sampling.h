// Training with many classes: candidate samplers, and the losses that compare the true classes with a sample
// of the others (tf.nn.nce_loss, tf.nn.sampled_softmax_loss).
//
//     braid_variable w = braid_variable_get(graph, "w", BRAID_FLOAT, BRAID_SHAPE(words, size), ...);
//     braid_variable b = braid_variable_get(graph, "b", BRAID_FLOAT, BRAID_SHAPE(words), ...);
//     braid_out losses =
//         braid_nce_loss(graph, &(braid_sampled_loss){.weights = w, .biases = b, .labels = next, .inputs = x,
//                                                     .num_sampled = 64, .num_classes = words});
//
// Classes are numbers from 0. Errors are the graph's (graph.h).
#ifndef BRAID_CANDIDATE_SAMPLING_H
#define BRAID_CANDIDATE_SAMPLING_H

#include <braid/ops.h>
#include <braid/variables.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- Samplers ----

/// Classes drawn by a sampler, the same for a whole batch.
typedef struct braid_candidates {
    braid_out sampled;             ///< [num_sampled], int64
    braid_out true_expected_count; ///< [batch, num_true], float: how often a true class is drawn on average
    braid_out sampled_expected_count; ///< [num_sampled], float: the same of the drawn classes
} braid_candidates;

/// What a sampler draws. `true_classes`, `num_sampled` and `range_max` must be given; the others may be zero.
typedef struct braid_sampler_options {
    braid_out true_classes; ///< [batch, num_true], int64, with a known `num_true`
    int64_t num_sampled;    ///< how many classes to draw
    int64_t range_max;      ///< draw from [0, range_max)
    bool with_replacement;  ///< a class may be drawn several times (unique=False)
    bool has_seed;          ///< else drawn by the graph's seed (braid_graph_set_seed)
    int64_t seed;
    const char *name; ///< NULL: the name of the sampler in TensorFlow
} braid_sampler_options;

/// Draws class k with probability log((k + 2) / (k + 1)) / log(range_max + 1), for classes in the order of
/// their frequency, the most frequent first.
BRAID_API braid_candidates braid_log_uniform_candidate_sampler(braid_graph *graph,
                                                               const braid_sampler_options *options);
/// Draws all classes with equal probability.
BRAID_API braid_candidates braid_uniform_candidate_sampler(braid_graph *graph,
                                                           const braid_sampler_options *options);
/// Draws classes in proportion to how often they were true classes so far, in the session that runs it.
BRAID_API braid_candidates braid_learned_unigram_candidate_sampler(braid_graph *graph,
                                                                   const braid_sampler_options *options);

/// The weights of a fixed unigram sampler: those of `unigrams` or of a file.
typedef struct braid_unigrams {
    const float *unigrams; ///< [unigram_count] the weights of the classes, from class `num_reserved_ids` on
    int unigram_count;
    const char *vocab_file;   ///< a file with a line for each class, which ends in a comma and the weight
    float distortion;         ///< the power to which weights are raised; 0 gives all classes the same
    int64_t num_reserved_ids; ///< the first classes are never drawn; they have no weight
    /// The sampler draws class k only where k % num_shards == shard; `num_shards` 0: all.
    int64_t num_shards, shard;
} braid_unigrams;

/// Draws classes in proportion to given weights, for example the words' counts with a distortion of 0.75
/// (Mikolov et al., NIPS 2013). Weights are copied.
BRAID_API braid_candidates braid_fixed_unigram_candidate_sampler(braid_graph *graph,
                                                                 const braid_sampler_options *options,
                                                                 const braid_unigrams *weights);

// ---- Losses ----

/// What happens when a drawn class is a true class of the example.
typedef enum braid_accidental_hits {
    BRAID_HITS_DEFAULT =
        0, ///< as in TensorFlow: braid_nce_loss keeps them, braid_sampled_softmax_loss does not
    BRAID_HITS_KEEP = 1,
    BRAID_HITS_REMOVE = 2 ///< its logit becomes so small that it does not count (remove_accidental_hits=True)
} braid_accidental_hits;

/// A loss against sampled classes. From `name` on, members may be zero.
typedef struct braid_sampled_loss {
    /// The weights [num_classes, dim] and biases [num_classes] of the classes: variables, partitioned or not,
    /// of which only the rows of the true and drawn classes are read and trained. Or any value: its `read`
    /// alone.
    braid_variable weights, biases;
    braid_out labels; ///< [batch, num_true], int64 or int32, with a known `num_true`: the true classes
    braid_out inputs; ///< [batch, dim], float
    int64_t num_sampled, num_classes;
    const char *name; ///< NULL: the name of the loss in TensorFlow
    /// Candidates for `labels`; none: those of the log-uniform sampler, without replacement.
    braid_candidates candidates;
    braid_accidental_hits accidental_hits;
    /// Which part has the row of a class; of partitioned variables BRAID_PARTITION_DIV.
    braid_partition_strategy partition_strategy;
    bool has_seed; ///< of the log-uniform sampler
    int64_t seed;
} braid_sampled_loss;

/// Noise-contrastive estimation (Gutmann and Hyvarinen 2010; Mnih and Teh 2012): the sum of the logistic
/// losses that tell the true classes, with labels of 1 / num_true, from the drawn ones, with labels of 0.
/// Returns [batch], to be averaged.
BRAID_API braid_out braid_nce_loss(braid_graph *graph, const braid_sampled_loss *loss);
/// The softmax cross entropy over the true and the drawn classes, an estimate of that over all classes (Jean
/// et al. 2014), for training only. Returns [batch].
BRAID_API braid_out braid_sampled_softmax_loss(braid_graph *graph, const braid_sampled_loss *loss);

#ifdef __cplusplus
}
#endif
#endif
