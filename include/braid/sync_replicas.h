// Synchronous training: replicas compute gradients of the same step, each of a batch of its own, and their
// mean makes one update.
//
//     braid_sync_replicas *sync = braid_sync_replicas_new(braid_adagrad(graph, 0.1f),
//         &(braid_sync_replicas_options){.replicas_to_aggregate = 2});
//     braid_op *train = braid_sync_replicas_minimize(sync, loss, braid_global_step(graph));
//     ... .hooks = BRAID_HOOKS(braid_sync_replicas_hook(sync, is_chief)) ...
//
// Gradients gather in accumulators beside the variables (Chen et al., Revisiting Distributed Synchronous SGD,
// 2016). The chief, in a thread of its hook, waits until there are enough, applies their means and hands out
// as many tokens as replicas go on. A replica's step ends when it has got its token, which is the number of
// the step that it begins; a gradient that comes too late is dropped. A replica that is gone is waited for,
// until it is started again, unless there are more than an update needs.
#ifndef BRAID_SYNC_REPLICAS_H
#define BRAID_SYNC_REPLICAS_H

#include <braid/monitored_session.h>
#include <braid/optimizers.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_sync_replicas braid_sync_replicas;

typedef struct braid_sync_replicas_options {
    int replicas_to_aggregate; ///< gradients that an update is the mean of
    /// How many replicas there are; 0: as many. With more, an update does not wait for the slowest; with
    /// fewer, each computes several gradients for an update.
    int total_num_replicas;
    const char *name; ///< the name scope; NULL: "sync_replicas"
} braid_sync_replicas_options;

/// tf.train.SyncReplicasOptimizer: `optimizer` applies the means. Belongs to the optimizer's graph and lives
/// as long.
BRAID_API braid_sync_replicas *braid_sync_replicas_new(braid_optimizer *optimizer,
                                                       const braid_sync_replicas_options *options);

/// Builds what a replica runs for a step and returns its node, once, for gradients of
/// braid_compute_gradients. `global_step` counts updates. Gradients of rows stay rows, on their way and in
/// the update: each row is the mean over the gradients that had it, as in TensorFlow; one that all had
/// becomes what the whole gradient would. The graph fails without a global step or when no pair has a
/// gradient.
BRAID_API braid_op *braid_sync_replicas_apply(braid_sync_replicas *sync,
                                              const braid_grad_and_var *grads_and_vars, int count,
                                              braid_out global_step);
/// The same with the gradients of `loss` by all trainable variables.
BRAID_API braid_op *braid_sync_replicas_minimize(braid_sync_replicas *sync, braid_out loss,
                                                 braid_out global_step);

/// The hook that each replica's monitored session needs; the chief's applies the updates. An error of an
/// update ends the chief's training. The others' updates end with the chief: their next step waits until
/// their session is closed.
BRAID_API braid_hook *braid_sync_replicas_hook(braid_sync_replicas *sync, bool is_chief);

#ifdef __cplusplus
}
#endif
#endif
