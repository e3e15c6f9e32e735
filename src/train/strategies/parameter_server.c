// ParameterServerStrategy: one replica in each worker's graph, variables on the parameter servers. Updates of
// several workers do not wait for each other.
#include "train/strategies/strategy.h"

braid_strategy *braid_parameter_server_strategy(braid_graph *g, const braid_cluster *cluster,
                                                const char *worker_device)
{
    braid_strategy *s = train_strategy_new(g, "parameter server strategy", &worker_device, 1);
    s->replicas.shares = true;
    if (braid_cluster_num_tasks(cluster, "ps") < 1) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "A parameter server strategy needs a cluster with a job 'ps'; without one, a "
                         "multi-worker mirrored strategy trains on the workers alone");
        return s;
    }
    const braid_device_setter_options options = {.worker_device = worker_device};
    s->setter = braid_replica_device_setter(g, cluster, &options);
    return s;
}
