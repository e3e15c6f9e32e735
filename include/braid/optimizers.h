// Optimizers: nodes that compute gradients and update variables with them.
//
//     braid_optimizer *opt = braid_adam(graph, 0.01f);
//     braid_op *train = braid_minimize(opt, loss, braid_global_step(graph));
//
// Nodes and slot variables have TensorFlow's names ("Adam/update_hid_w/ApplyAdam", "hid_w/Adam", "beta1_power"), so that
// graphs and checkpoints can be exchanged. Errors are the graph's. An optimizer belongs to its graph and lives as long.
#ifndef BRAID_OPTIMIZERS_H
#define BRAID_OPTIMIZERS_H

#include <braid/graph.h>

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
} braid_adam_options;

/// TensorFlow's defaults: 0.001, 0.9, 0.999, 1e-8, no locking.
BRAID_API braid_adam_options braid_adam_defaults(void);
BRAID_API braid_optimizer *braid_adam_with(braid_graph *graph, const braid_adam_options *options);

// ---- Using one ----

typedef struct braid_grad_and_var {
    braid_out grad; ///< op NULL: `loss` does not depend on the variable
    braid_out var;  ///< a reference
} braid_grad_and_var;

/// Builds the gradients of `loss` and their application, and counts `global_step` up after it (op NULL: no counting).
/// Returns the node to run for a step.
BRAID_API braid_op *braid_minimize(braid_optimizer *optimizer, braid_out loss, braid_out global_step);

/// Builds the gradients of `loss` by `count` variables (references; NULL: all trainable ones) and returns them, with
/// their number in `*result_count`. Owned by the optimizer, valid until the next call.
BRAID_API const braid_grad_and_var *braid_compute_gradients(braid_optimizer *optimizer, braid_out loss,
                                                            const braid_out *vars, int count,
                                                            int *result_count);

/// Builds the updates. Pairs without a gradient are left out; the graph fails when that is all.
BRAID_API braid_op *braid_apply_gradients(braid_optimizer *optimizer,
                                          const braid_grad_and_var *grads_and_vars, int count,
                                          braid_out global_step);

/// The slot variable `slot` ("m", "v") that the optimizer keeps for a variable; op NULL when there is none.
BRAID_API braid_out braid_optimizer_slot(const braid_optimizer *optimizer, braid_out var, const char *slot);

// ---- Making one ----

/// What an optimizer does, in the order in which braid_apply_gradients calls it. Members marked optional may be NULL.
typedef struct braid_optimizer_type {
    const char *name; ///< "Adam": the name scope of its nodes and the name of its slots
    /// Makes slot variables (braid_optimizer_make_slot). Optional.
    void (*create_slots)(braid_optimizer *optimizer, const braid_out *vars, int count);
    /// Makes constants and the like, inside the optimizer's name scope. Optional.
    void (*prepare)(braid_optimizer *optimizer);
    /// Makes the update of one variable and returns its node; runs in the scope update_VAR, colocated with `var`.
    braid_op *(*apply)(braid_optimizer *optimizer, braid_out grad, braid_out var);
    /// Makes updates that come once a step, after `updates`, and returns the node that groups everything, called
    /// `name`. Optional: the group of `updates`.
    braid_op *(*finish)(braid_optimizer *optimizer, braid_op *const *updates, int count, const char *name);
} braid_optimizer_type;

/// Makes an optimizer of a type (which must outlive the graph) with a copy of `state` (`size` bytes) for its functions.
BRAID_API braid_optimizer *braid_optimizer_new(braid_graph *graph, const braid_optimizer_type *type,
                                               const void *state, size_t size);
BRAID_API braid_graph *braid_optimizer_graph(const braid_optimizer *optimizer);
BRAID_API void *braid_optimizer_state(braid_optimizer *optimizer);
/// Makes slot variable `slot` for `var`: zeros of its type and shape, named VAR/OPTIMIZER and placed beside it.
BRAID_API braid_out braid_optimizer_make_slot(braid_optimizer *optimizer, braid_out var, const char *slot);

#ifdef __cplusplus
}
#endif
#endif
