// Learning rates that change with the global step (tf.train.exponential_decay and others).
//
//     braid_out rate = braid_exponential_decay(graph, 0.1f, step, 1000, 0.96f, true);
//     braid_optimizer *opt = braid_gradient_descent(graph, 0);
//     braid_optimizer_set_learning_rate(opt, rate);
//
// `global_step` is a variable (braid_global_step) or any integer scalar. The results are float scalars.
// Errors are the graph's.
#ifndef BRAID_LEARNING_RATE_DECAY_H
#define BRAID_LEARNING_RATE_DECAY_H

#include <braid/graph.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// learning_rate * decay_rate ^ (global_step / decay_steps); with `staircase` the quotient is rounded down.
BRAID_API braid_out braid_exponential_decay(braid_graph *graph, float learning_rate, braid_out global_step,
                                            int64_t decay_steps, float decay_rate, bool staircase);
/// learning_rate * e ^ (-decay_rate * global_step / decay_steps); `staircase` as above.
BRAID_API braid_out braid_natural_exp_decay(braid_graph *graph, float learning_rate, braid_out global_step,
                                            int64_t decay_steps, float decay_rate, bool staircase);
/// learning_rate / (1 + decay_rate * global_step / decay_steps); `staircase` as above.
BRAID_API braid_out braid_inverse_time_decay(braid_graph *graph, float learning_rate, braid_out global_step,
                                             int64_t decay_steps, float decay_rate, bool staircase);
/// From learning_rate to end_learning_rate in decay_steps steps, along (1 - step / decay_steps) ^ power. With
/// `cycle`, decay_steps grows to its next multiple each time it is reached.
BRAID_API braid_out braid_polynomial_decay(braid_graph *graph, float learning_rate, braid_out global_step,
                                           int64_t decay_steps, float end_learning_rate, float power,
                                           bool cycle);
/// Half a cosine from learning_rate to alpha * learning_rate in decay_steps steps (Loshchilov and Hutter,
/// SGDR, ICLR 2017, without restarts).
BRAID_API braid_out braid_cosine_decay(braid_graph *graph, float learning_rate, braid_out global_step,
                                       int64_t decay_steps, float alpha);
/// Cosines from learning_rate to alpha * learning_rate, one after another (SGDR with restarts). The first one
/// takes first_decay_steps steps. Each takes t_mul times the steps of the one before (at least 1; by default
/// 2 in TensorFlow) and begins at m_mul times its learning rate (default 1).
BRAID_API braid_out braid_cosine_decay_restarts(braid_graph *graph, float learning_rate,
                                                braid_out global_step, int64_t first_decay_steps, float t_mul,
                                                float m_mul, float alpha);
/// learning_rate * ((alpha + 1 - u) * (1 + cos(2 pi num_periods u)) / 2 + beta), where u grows from 0 to 1 in
/// decay_steps steps (Bello et al., ICML 2017). TensorFlow's defaults are 0.5, 0 and 0.001.
BRAID_API braid_out braid_linear_cosine_decay(braid_graph *graph, float learning_rate, braid_out global_step,
                                              int64_t decay_steps, float num_periods, float alpha,
                                              float beta);
/// Options of the noisy decay; all zero (or NULL), and each member that is 0: TensorFlow's defaults.
typedef struct braid_noisy_linear_cosine_options {
    float initial_variance; ///< 0: 1
    float variance_decay;   ///< 0: 0.55
    float num_periods;      ///< 0: 0.5
    float alpha;
    float beta; ///< 0: 0.001
} braid_noisy_linear_cosine_options;

/// braid_linear_cosine_decay with noise on the linear part: learning_rate * ((alpha + 1 - u + e) * (1 + cos(2
/// pi num_periods u)) / 2 + beta). Each run draws e anew, normally distributed with mean 0 and variance
/// initial_variance / (1 + step) ^ variance_decay, where the step stays at decay_steps; seeded by
/// braid_graph_set_seed.
BRAID_API braid_out braid_noisy_linear_cosine_decay(braid_graph *graph, float learning_rate,
                                                    braid_out global_step, int64_t decay_steps,
                                                    const braid_noisy_linear_cosine_options *options);
/// values[0] up to and including step boundaries[0], then values[1] up to boundaries[1], and so on:
/// `boundaries` [count] increase, `values` [count + 1].
BRAID_API braid_out braid_piecewise_constant(braid_graph *graph, braid_out global_step,
                                             const int64_t *boundaries, const float *values, int count);

#ifdef __cplusplus
}
#endif
#endif
