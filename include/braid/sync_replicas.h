// Synchronous training: replicas compute gradients of the same step on different batches, and the mean of
// their gradients makes one update.
//
//     braid_sync_replicas *sync = braid_sync_replicas_new(braid_adagrad(graph, 0.1f),
//         &(braid_sync_replicas_options){.replicas_to_aggregate = 2});
//     braid_op *train = braid_sync_replicas_minimize(sync, loss, braid_global_step(graph));
//     ... .hooks = BRAID_HOOKS(braid_sync_replicas_hook(sync, is_chief, -1)) ...
//
// Gradients are collected in accumulators beside the variables (Chen et al., Revisiting Distributed
// Synchronous SGD, 2016). A thread of the chief's hook waits until there are enough gradients, applies their
// means, and enqueues one token for each replica. A replica's step ends when the replica has dequeued a
// token, which holds the number of the next step; a gradient that is late is dropped. When a replica dies,
// the others wait until it is restarted, or is gone for good, unless there are backup replicas.
//
// Deterministic mode: an update has the same gradients, added in the same order, in each run. Two runs with
// the same seeds and batches then give the same variables, bit for bit. To this end gradients are added in
// the order of the replicas and not of their arrival, each replica gives the same number of gradients to an
// update, and has a queue of tokens of its own. The servers must be Braid's.
#ifndef BRAID_SYNC_REPLICAS_H
#define BRAID_SYNC_REPLICAS_H

#include <braid/monitored_session.h>
#include <braid/moving_average.h>
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
    /// Deterministic mode. replicas_to_aggregate must be a multiple of total_num_replicas: backup replicas
    /// would make the gradients of an update depend on their timing.
    bool deterministic;
    /// For deterministic mode and counts_dropped: the index of this replica, 0 to total_num_replicas - 1.
    int replica;
    bool counts_dropped; ///< for braid_sync_replicas_num_dropped
    /// The chief updates these averages after each update; of the same graph. NULL: none.
    braid_moving_average *variable_averages;
    const braid_out *variables_to_average; ///< NULL: all trainable variables
    int variables_to_average_count;
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

/// The number of stale gradients, an int32 scalar: how many gradients of the replicas have been dropped since
/// the parameter servers started, because their step was over. A step of a replica counts as one, whatever
/// the number of variables. Adds its nodes at the first call, after the training step is built; the graph
/// fails before. On servers other than Braid's the value has no meaning.
BRAID_API braid_out braid_sync_replicas_num_stale(braid_sync_replicas *sync);

/// How many of them are this replica's, with counts_dropped; likewise.
BRAID_API braid_out braid_sync_replicas_num_dropped(braid_sync_replicas *sync);

/// Makes the hook that the monitored session of each replica needs; the chief's hook applies the updates and
/// logs at the end how many gradients were stale. `num_tokens` is the number of tokens that the chief hands
/// out before the first update, as in TensorFlow's make_session_run_hook: -1: replicas_to_aggregate, so that
/// a fast replica need not wait for the others in its first steps; 0: none (strict), possible if each replica
/// computes at most one gradient for an update. It is at least replicas_to_aggregate - total_num_replicas,
/// else the graph fails. Deterministic mode is strict: -1 is that minimum, and other numbers are refused. An
/// error of an update is one of the chief's session. When the chief starts anew, the other replicas open new
/// sessions. When the chief is done, or fewer replicas than replicas_to_aggregate are left because others are
/// done, training ends without an error. When they are gone for good, it ends with an error that names them.
/// When the chief is gone for good and total_num_replicas is above replicas_to_aggregate, the first of the
/// other workers takes its place (braid_monitored_session_is_chief): its session applies the updates and does
/// the chief's other work, until the chief comes back.
BRAID_API braid_hook *braid_sync_replicas_hook(braid_sync_replicas *sync, bool is_chief, int num_tokens);

#ifdef __cplusplus
}
#endif
#endif
