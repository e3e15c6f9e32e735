// Synchronous training: replicas compute gradients of the same step on different batches, and the mean of
// their gradients makes one update.
//
//     braid_sync_replicas *sync = braid_sync_replicas_new(braid_adagrad(graph, 0.1f),
//         &(braid_sync_replicas_options){.replicas_to_aggregate = 2});
//     braid_op *train = braid_sync_replicas_minimize(sync, loss, braid_global_step(graph));
//     ... .hooks = BRAID_HOOKS(braid_sync_replicas_hook(sync, is_chief)) ...
//
// Gradients are collected in accumulators beside the variables (Chen et al., Revisiting Distributed
// Synchronous SGD, 2016). A thread of the chief's hook waits until there are enough gradients, applies their
// means, and enqueues one token for each replica. A replica's step ends when the replica has dequeued a
// token, which holds the number of the next step; a gradient that is late is dropped. When a replica dies,
// the others wait until it is restarted, or is gone for good, unless there are backup replicas.
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
    /// The number of replicas; 0: replicas_to_aggregate. With more, an update does not wait for the slowest
    /// (backup replicas); with fewer, each replica computes several gradients for an update.
    int total_num_replicas;
    const char *name; ///< the name scope; NULL: "sync_replicas"
} braid_sync_replicas_options;

/// tf.train.SyncReplicasOptimizer: `optimizer` applies the means. Belongs to the optimizer's graph and lives
/// as long.
BRAID_API braid_sync_replicas *braid_sync_replicas_new(braid_optimizer *optimizer,
                                                       const braid_sync_replicas_options *options);

/// Builds the training step of a replica from the gradients of braid_compute_gradients, once, and returns its
/// node. `global_step` counts updates. Sparse gradients stay sparse in accumulators and updates: each row is
/// the mean over the gradients that contain it, as in TensorFlow; so a row that all gradients contain becomes
/// the mean of the dense gradient. The graph fails without a global step or when no pair has a gradient.
BRAID_API braid_op *braid_sync_replicas_apply(braid_sync_replicas *sync,
                                              const braid_grad_and_var *grads_and_vars, int count,
                                              braid_out global_step);
/// The same with the gradients of `loss` by all trainable variables.
BRAID_API braid_op *braid_sync_replicas_minimize(braid_sync_replicas *sync, braid_out loss,
                                                 braid_out global_step);

/// Makes the hook that the monitored session of each replica needs; the chief's hook applies the updates. An
/// error of an update is one of the chief's session. When the chief starts anew, the other replicas open new
/// sessions. When the chief is done, or fewer replicas than replicas_to_aggregate are left because others are
/// done, training ends without an error. When they are gone for good, it ends with an error that names them.
BRAID_API braid_hook *braid_sync_replicas_hook(braid_sync_replicas *sync, bool is_chief);

#ifdef __cplusplus
}
#endif
#endif
