// Optimizers: nodes that compute gradients and update variables with them.
//
//     braid_optimizer *opt = braid_adam(graph, 0.01f);
//     braid_op *train = braid_minimize(opt, loss, braid_global_step(graph));
//
// Nodes and slot variables have TensorFlow's names ("Adam/update_hid_w/ApplyAdam", "hid_w/Adam",
// "beta1_power"), so that graphs and checkpoints can be exchanged. Errors are the graph's. An optimizer
// belongs to its graph and lives as long.
#ifndef BRAID_OPTIMIZERS_H
#define BRAID_OPTIMIZERS_H

#include <braid/variables.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_optimizer braid_optimizer;

// ---- The optimizers ----

/// variable -= learning_rate * gradient.
BRAID_API braid_optimizer *braid_gradient_descent(braid_graph *graph, float learning_rate);

/// Adam (Kingma and Ba, ICLR 2015, the form before section 2.1) with beta1 0.9, beta2 0.999, epsilon 1e-8.
BRAID_API braid_optimizer *braid_adam(braid_graph *graph, float learning_rate);

typedef struct braid_adam_options {
    float learning_rate;
    float beta1, beta2; ///< decay of the two moments
    float epsilon;
    bool use_locking; ///< updates of one variable take turns
    /// Sparse gradients change their rows alone, also of the moments (LazyAdamOptimizer). AdaMax ignores it.
    bool lazy;
} braid_adam_options;

/// TensorFlow's defaults: 0.001, 0.9, 0.999, 1e-8, no locking.
BRAID_API braid_adam_options braid_adam_defaults(void);
BRAID_API braid_optimizer *braid_adam_with(braid_graph *graph, const braid_adam_options *options);

/// Momentum: accum = momentum * accum + gradient; variable -= learning_rate * accum.
BRAID_API braid_optimizer *braid_momentum(braid_graph *graph, float learning_rate, float momentum);

typedef struct braid_momentum_options {
    float learning_rate, momentum;
    /// The step is learning_rate * (gradient + momentum * accum) (Sutskever et al., ICML 2013).
    bool use_nesterov;
    bool use_locking;
} braid_momentum_options;

BRAID_API braid_optimizer *braid_momentum_with(braid_graph *graph, const braid_momentum_options *options);

/// Adagrad (Duchi et al., JMLR 2011): steps get smaller with the sum of squared gradients so far.
BRAID_API braid_optimizer *braid_adagrad(braid_graph *graph, float learning_rate);

typedef struct braid_adagrad_options {
    float learning_rate;
    float initial_accumulator; ///< where the sum of squared gradients begins; positive, else the graph fails
    bool use_locking;
} braid_adagrad_options;

/// TensorFlow's: accumulators begin at 0.1; a learning rate of 0.001.
BRAID_API braid_adagrad_options braid_adagrad_defaults(void);
BRAID_API braid_optimizer *braid_adagrad_with(braid_graph *graph, const braid_adagrad_options *options);

/// RMSProp (Tieleman and Hinton, 2012): steps are divided by a moving average of the gradient's size.
BRAID_API braid_optimizer *braid_rmsprop(braid_graph *graph, float learning_rate);

typedef struct braid_rmsprop_options {
    float learning_rate;
    float decay;    ///< of the moving averages
    float momentum; ///< part of the last step that is added to the next
    float epsilon;  ///< added to the average before its root is taken
    bool centered;  ///< by the gradient's variance instead of its square (Graves, 2013)
    bool use_locking;
} braid_rmsprop_options;

/// TensorFlow's: 0.001, 0.9, 0, 1e-10, not centered, no locking.
BRAID_API braid_rmsprop_options braid_rmsprop_defaults(void);
BRAID_API braid_optimizer *braid_rmsprop_with(braid_graph *graph, const braid_rmsprop_options *options);

/// FTRL-Proximal (McMahan et al., KDD 2013): with l1, weights become exactly zero.
BRAID_API braid_optimizer *braid_ftrl(braid_graph *graph, float learning_rate);

typedef struct braid_ftrl_options {
    float learning_rate;
    /// How steps shrink with the sum of squared gradients; 0: not at all; never positive.
    float learning_rate_power;
    float initial_accumulator; ///< where that sum begins; positive
    float l1, l2;              ///< strengths of regularization; not negative
    bool use_locking;
} braid_ftrl_options;

/// TensorFlow's: 0.001, -0.5, 0.1, no regularization, no locking. The graph fails for options out of range.
BRAID_API braid_ftrl_options braid_ftrl_defaults(void);
BRAID_API braid_optimizer *braid_ftrl_with(braid_graph *graph, const braid_ftrl_options *options);

/// Adadelta (Zeiler, 2012): steps have the size of the last updates, divided by that of the gradients.
BRAID_API braid_optimizer *braid_adadelta(braid_graph *graph, float learning_rate);

typedef struct braid_adadelta_options {
    float learning_rate;
    float rho;     ///< decay of the moving averages
    float epsilon; ///< added to both averages before their roots are taken
    bool use_locking;
} braid_adadelta_options;

/// TensorFlow's: 0.001, 0.95, 1e-8, no locking.
BRAID_API braid_adadelta_options braid_adadelta_defaults(void);
BRAID_API braid_optimizer *braid_adadelta_with(braid_graph *graph, const braid_adadelta_options *options);

/// AdaMax (Kingma and Ba, ICLR 2015, section 7.1): Adam with the maximum norm. The epsilon is added to the
/// norm.
BRAID_API braid_optimizer *braid_adamax(braid_graph *graph, float learning_rate);
BRAID_API braid_optimizer *braid_adamax_with(braid_graph *graph, const braid_adam_options *options);

typedef struct braid_proximal_options {
    float learning_rate;
    float initial_accumulator; ///< positive; TensorFlow's is 0.1. Gradient descent has none.
    float l1, l2;              ///< strengths of regularization
    bool use_locking;
} braid_proximal_options;

/// Gradient descent, then a proximal step (Duchi and Singer, NIPS 2009).
BRAID_API braid_optimizer *braid_proximal_gradient_descent(braid_graph *graph,
                                                           const braid_proximal_options *options);
/// Adagrad, then a proximal step. The graph fails unless the initial accumulator is positive.
BRAID_API braid_optimizer *braid_proximal_adagrad(braid_graph *graph, const braid_proximal_options *options);
/// Adagrad with dual averaging (Duchi et al., JMLR 2011). Needs the global step, which the training counts
/// up.
BRAID_API braid_optimizer *braid_adagrad_da(braid_graph *graph, braid_out global_step,
                                            const braid_proximal_options *options);

// ---- Using one ----

/// Takes the learning rate from a float scalar, such as a decay (learning_rate_decay.h), instead of the
/// number that the optimizer was made with. Before its updates are built.
BRAID_API void braid_optimizer_set_learning_rate(braid_optimizer *optimizer, braid_out learning_rate);
/// Places gradient nodes that are built from now on with the nodes that they differentiate
/// (colocate_gradients_with_ops): each task of a model whose layers are on several tasks then computes the
/// gradients of its own layers. Otherwise they ask for the device of the scope in which they are built.
BRAID_API void braid_optimizer_colocate_gradients(braid_optimizer *optimizer, bool colocate);

typedef struct braid_grad_and_var {
    braid_out grad; ///< op NULL: `loss` does not depend on the variable
    braid_out var;  ///< a reference or a handle
    /// op NULL: `grad` is dense. Else the gradient is sparse (tf.IndexedSlices, see braid_gradient of
    /// graph.h): `grad` holds rows [n, ...], and these are their indices [n], with duplicates allowed. Sparse
    /// gradients arise for variables that are read by gathering rows only. Updates change these rows alone,
    /// except Adam's, which changes all.
    braid_out indices;
    braid_out dense_shape; ///< of all of the gradient, with `indices`
} braid_grad_and_var;

/// Builds the gradients of `loss` and their application, and counts `global_step` up after it (op NULL: no
/// counting). Returns the node to run for a step.
BRAID_API braid_op *braid_minimize(braid_optimizer *optimizer, braid_out loss, braid_out global_step);

/// Builds the gradients of `loss` by `count` variables (references; NULL: all trainable ones) and returns
/// them, with their number in `*result_count`. Owned by the optimizer, valid until the next call.
BRAID_API const braid_grad_and_var *braid_compute_gradients(braid_optimizer *optimizer, braid_out loss,
                                                            const braid_out *vars, int count,
                                                            int *result_count);

/// Builds the updates. Pairs without a gradient are left out; the graph fails when that is all.
BRAID_API braid_op *braid_apply_gradients(braid_optimizer *optimizer,
                                          const braid_grad_and_var *grads_and_vars, int count,
                                          braid_out global_step);

/// Returns the slot variable `slot` ("m", "v", "momentum", "accumulator", "rms", "linear"; see each
/// optimizer's file) of a variable; the op is NULL when there is none.
BRAID_API braid_out braid_optimizer_slot(const braid_optimizer *optimizer, braid_out var, const char *slot);

// ---- Making one ----

/// The functions of an optimizer, in the order in which braid_apply_gradients calls them. Members marked
/// optional may be NULL.
typedef struct braid_optimizer_type {
    const char *name; ///< "Adam": the name scope of its nodes and the name of its slots
    /// Makes slot variables (braid_optimizer_make_slot). Optional.
    void (*create_slots)(braid_optimizer *optimizer, const braid_out *vars, int count);
    /// Makes constants and the like, inside the optimizer's name scope. Optional.
    void (*prepare)(braid_optimizer *optimizer);
    /// Makes the update of one variable and returns its node; runs in the scope update_VAR, colocated with
    /// `var`.
    braid_op *(*apply)(braid_optimizer *optimizer, braid_out grad, braid_out var);
    /// Adds the update for a sparse gradient: rows [n, ...] and their indices [n], which are unique unless
    /// `sums_duplicates`. Optional: without it `apply` gets the dense gradient.
    braid_op *(*apply_sparse)(braid_optimizer *optimizer, braid_out rows, braid_out indices, braid_out var);
    /// apply_sparse accepts duplicate indices and sums their rows.
    bool sums_duplicates;
    /// Adds the updates that happen once in each step, after `updates`, and returns the node `name` that
    /// groups all of them. Optional: the default is the group of `updates`.
    braid_op *(*finish)(braid_optimizer *optimizer, braid_op *const *updates, int count, const char *name);
} braid_optimizer_type;

/// Makes an optimizer of a type (which must outlive the graph) with a copy of `state` (`size` bytes) for its
/// functions.
BRAID_API braid_optimizer *braid_optimizer_new(braid_graph *graph, const braid_optimizer_type *type,
                                               const void *state, size_t size);
BRAID_API braid_graph *braid_optimizer_graph(const braid_optimizer *optimizer);
BRAID_API void *braid_optimizer_state(braid_optimizer *optimizer);
/// Makes the slot variable `slot` for `var`, of its type and shape, named VAR/OPTIMIZER and colocated with
/// it; returns the existing one if there is one.
BRAID_API braid_out braid_optimizer_make_slot(braid_optimizer *optimizer, braid_out var, const char *slot,
                                              braid_initializer initializer);
/// The same with a first value, of a known shape.
BRAID_API braid_out braid_optimizer_make_slot_from(braid_optimizer *optimizer, braid_out var,
                                                   const char *slot, braid_out initial_value);

#ifdef __cplusplus
}
#endif
#endif
