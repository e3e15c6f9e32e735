// Device setters: variables to the parameter servers, everything else to the worker (between-graph
// replication).
#ifndef BRAID_DEVICE_SETTER_H
#define BRAID_DEVICE_SETTER_H

#include <braid/cluster.h>
#include <braid/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How variables are dealt to the parameter servers.
typedef enum braid_ps_strategy {
    BRAID_PS_ROUND_ROBIN = 0, ///< in turn
    /// To the one with the fewest bytes so far (tf.contrib.training.GreedyLoadBalancingStrategy by
    /// byte_size_load_fn). Each part of a partitioned variable is dealt on its own.
    BRAID_PS_GREEDY = 1
} braid_ps_strategy;

/// All zero is the default of each.
typedef struct braid_device_setter_options {
    const char *worker_device; ///< NULL: "/job:worker"
    const char *ps_device;     ///< NULL: "/job:ps"; the task is filled in
    braid_ps_strategy strategy;
    const char *const
        *ps_ops; ///< op types that go to the parameter servers; NULL: Variable, VariableV2, VarHandleOp
    int ps_op_count;
} braid_device_setter_options;

typedef struct braid_device_setter braid_device_setter;

/// tf.train.replica_device_setter. While it is pushed, new nodes request the worker's device and new
/// variables a parameter server of `cluster`; the request of an inner scope takes precedence. In a cluster
/// without parameter servers it requests nothing. Options are copied. The setter is owned by the graph.
BRAID_API braid_device_setter *braid_replica_device_setter(braid_graph *graph, const braid_cluster *cluster,
                                                           const braid_device_setter_options *options);
/// Undone by braid_pop_device.
BRAID_API void braid_push_device_setter(braid_graph *graph, braid_device_setter *setter);

/// Bytes of all variables of the graph, slots included, that ask for the i-th parameter server of the
/// cluster.
BRAID_API int64_t braid_device_setter_bytes(const braid_device_setter *setter, int i);
/// Logs one line with the number of variables and bytes of each parameter server, slots included. Where one
/// has more than 1.25 times an even share of the bytes, it names the remedy.
BRAID_API void braid_device_setter_log(const braid_device_setter *setter);

#ifdef __cplusplus
}
#endif
#endif
