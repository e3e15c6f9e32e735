// Strategies: a model that is built once for each of several replicas, on devices or tasks that train
// together (tf.distribute of TensorFlow 1.15).
//
//     braid_strategy *strategy = braid_mirrored_strategy(graph, devices, 2);
//     braid_push_strategy(graph, strategy);
//     braid_per_replica losses = braid_strategy_run(strategy, model, &inputs); // model, for each replica
//     braid_op *train = braid_strategy_minimize(strategy, optimizer, losses, step);
//     braid_pop_strategy(graph);
//
// The strategy decides where variables and other nodes are, and how many copies a variable has. A copy on a
// replica after the first is a mirror: a local variable that gets the value of the first copy, the centre,
// in each session. Global variables must be initialized (or restored) before local ones, in a run of their
// own, as monitored sessions do. Checkpoints have the centres only, so they fit the model without a strategy.
//
// Errors are the graph's. A strategy belongs to its graph and lives as long. What is returned in arrays
// belongs to the graph, too.
#ifndef BRAID_STRATEGY_H
#define BRAID_STRATEGY_H

#include <braid/device_setter.h>
#include <braid/optimizers.h>
#include <braid/variable_scope.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_strategy braid_strategy;

// ---- The strategies ----

/// Variables and nodes on one device, "/cpu:0" for example (OneDeviceStrategy).
BRAID_API braid_strategy *braid_one_device_strategy(braid_graph *graph, const char *device);

/// A replica on each of `count` devices of one process, which has a copy of each variable
/// (MirroredStrategy). InvalidArgument for no device, or one that is given twice.
BRAID_API braid_strategy *braid_mirrored_strategy(braid_graph *graph, const char *const *devices, int count);

/// A replica on each of `count` devices. Variables have one copy, on `variable_device` (NULL: "/cpu:0"), which
/// all replicas read (CentralStorageStrategy). Errors as above.
BRAID_API braid_strategy *braid_central_storage_strategy(braid_graph *graph, const char *const *devices,
                                                         int count, const char *variable_device);

/// A replica on `worker_device` ("/job:worker/task:1"), variables dealt to the parameter servers of the
/// cluster in turn. Workers train without waiting for each other (ParameterServerStrategy). InvalidArgument
/// for a cluster without parameter servers.
BRAID_API braid_strategy *braid_parameter_server_strategy(braid_graph *graph, const braid_cluster *cluster,
                                                          const char *worker_device);

/// A replica on each task of `job`, each with a graph and a session of its own and a copy of each variable.
/// Replicas meet in collectives, and so must build the same graph and run the same steps. First values are
/// those of task 0. `task` is this process's. The session must have braid_strategy_leader as its
/// collective_leader. A task keeps its session open until the others have ended their last step: closing it
/// takes away what they still have to fetch (MultiWorkerMirroredStrategy). InvalidArgument for a task that
/// the cluster lacks.
BRAID_API braid_strategy *braid_multi_worker_mirrored_strategy(braid_graph *graph,
                                                               const braid_cluster *cluster, const char *job,
                                                               int task);

/// For braid_session_options.collective_leader; NULL for strategies without collectives. The graph's.
BRAID_API const char *braid_strategy_leader(const braid_strategy *strategy);

/// From here on new nodes are where the strategy puts them, and new variables are its own. Undone by
/// braid_pop_strategy. One strategy at a time: another one makes the graph fail with FailedPrecondition.
BRAID_API void braid_push_strategy(braid_graph *graph, braid_strategy *strategy);
BRAID_API void braid_pop_strategy(braid_graph *graph);

/// The number of replicas that make an update together (num_replicas_in_sync), and of those that this graph
/// builds.
BRAID_API int braid_strategy_num_replicas(const braid_strategy *strategy);
BRAID_API int braid_strategy_num_local_replicas(const braid_strategy *strategy);

// ---- Building replicas ----

/// A value of each replica that this graph builds (PerReplica).
typedef struct braid_per_replica {
    const braid_out *values; ///< [count]; NULL when the graph has failed
    int count;
} braid_per_replica;

/// The replica that is being built (ReplicaContext).
typedef struct braid_replica {
    braid_strategy *strategy;
    braid_graph *graph;
    int local; ///< index into the values of braid_per_replica
    int id;    ///< among all replicas: replica_id_in_sync_group
} braid_replica;

/// Builds the model of one replica and returns its result, such as the loss.
typedef braid_out (*braid_replica_fn)(const braid_replica *replica, void *arg);

/// Calls `fn` for each replica of this graph, with the replica's device pushed (experimental_run_v2). Each
/// call must make the same variables in the same order: those of later replicas are the copies. The strategy
/// must be pushed, else the graph fails with FailedPrecondition.
BRAID_API braid_per_replica braid_strategy_run(braid_strategy *strategy, braid_replica_fn fn, void *arg);

/// Divides a batch into equal parts along its first axis, one for each replica of this graph. Graph or run
/// fail when the batch cannot be divided.
BRAID_API braid_per_replica braid_strategy_split(braid_strategy *strategy, braid_out batch);
/// The same value for each replica of this graph; of task 0 where there are several tasks, with a fully known
/// shape.
BRAID_API braid_per_replica braid_strategy_broadcast(braid_strategy *strategy, braid_out value);

// ---- Values of all replicas ----

typedef enum braid_reduce_kind {
    BRAID_REDUCE_SUM = 0,
    BRAID_REDUCE_MEAN = 1
} braid_reduce_kind;

/// The sum or mean of the values of all replicas, of all tasks, in the order of their ids (strategy.reduce
/// without an axis). Of a number type; between tasks float, half, double, int32 or int64.
BRAID_API braid_out braid_strategy_reduce(braid_strategy *strategy, braid_reduce_kind kind,
                                          braid_per_replica value);
/// The values of all replicas, of all tasks, one after another along the first axis. Between tasks they have
/// one shape, fully known.
BRAID_API braid_out braid_strategy_gather(braid_strategy *strategy, braid_per_replica value);

// ---- Variables ----

typedef enum braid_assign_kind {
    BRAID_ASSIGN = 0,
    BRAID_ASSIGN_ADD = 1,
    BRAID_ASSIGN_SUB = 2
} braid_assign_kind;

/// The copy that `replica` has of a variable (the `ref` that was made in replica 0).
BRAID_API braid_out braid_strategy_local(const braid_replica *replica, braid_out ref);

/// What it means that each replica assigns its value to `ref`, the variable of replica 0; returns the node to
/// run. A variable that is synchronized on writing gets the values as its aggregation puts them together, in
/// all copies; with BRAID_AGGREGATE_NONE and several replicas the graph fails with InvalidArgument. One that
/// is synchronized on reading gets each replica's value in that replica's copy.
BRAID_API braid_op *braid_strategy_assign(braid_strategy *strategy, braid_out ref, braid_per_replica value,
                                          braid_assign_kind kind);

/// The value of a variable outside of replicas: of one that is synchronized on reading, what its aggregation
/// makes of all copies (BRAID_AGGREGATE_NONE: InvalidArgument); of any other, the value of its copies.
BRAID_API braid_out braid_strategy_read(braid_strategy *strategy, braid_out ref);

/// Builds a training step from the loss of each replica, and returns its node: the mean over all replicas of
/// the gradients of the trainable variables is applied to all copies. With losses that are means over a
/// replica's part of a batch it equals a step of one replica with the whole batch, to rounding. Gradients of
/// rows are made dense where there are several replicas. `global_step` (op NULL: none) is counted up once.
BRAID_API braid_op *braid_strategy_minimize(braid_strategy *strategy, braid_optimizer *optimizer,
                                            braid_per_replica losses, braid_out global_step);

#ifdef __cplusplus
}
#endif
#endif
