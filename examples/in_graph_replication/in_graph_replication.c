// In-graph replication: one client builds one graph for all workers, each of which has a tower of it.
//
//     braid run --ps 1 --workers 2 in_graph_replication
//
// Worker 0 is the client. The other workers run no training loop: their servers compute the towers that the
// client's graph has placed on them. (In between-graph replication, as in word2vec.c, each worker builds a
// graph of its own.)
#include "client.h"
#include "towers.h"

#include <stdio.h>

#define STEPS 150

// Variables go to the parameter servers, all else of a tower to its worker.
static void push_device(braid_graph *g, int tower, void *arg)
{
    const braid_cluster *cluster = *(const braid_cluster **)arg;
    char device[64];
    snprintf(device, sizeof device, "/job:worker/task:%d/cpu:0",
             braid_cluster_task_index(cluster, "worker", tower));
    braid_push_device_setter(
        g, braid_replica_device_setter(g, cluster, &(braid_device_setter_options){.worker_device = device}));
}

static braid_code train(const braid_cluster *cluster, braid_server *server)
{
    braid_graph *g = braid_graph_new();
    push_device(g, 0, &cluster); // of what belongs to no tower
    const towers t = towers_build(g, braid_cluster_num_tasks(cluster, "worker"), push_device, &cluster);
    braid_pop_device(g);
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){
               .session.server = server,
               .is_chief = true,
               .hooks = BRAID_HOOKS(braid_stop_at_step(STEPS), braid_progress(t.loss, STEPS))});
    towers_train(&t, s);
    const braid_code code = braid_monitored_session_close(s);
    braid_graph_free(g);
    return code;
}

int main(void)
{
    return client_main("in_graph_replication", NULL, train);
}
