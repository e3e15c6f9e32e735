// Programs of one client: worker 0 builds a graph for all tasks and runs its steps.
#include "client.h"

#include <stdio.h>
#include <string.h>

#define OVER "the client is done" // the notification to the other workers

// A session without a graph, to notify and to be notified by.
static braid_session *open_empty(braid_server *server, braid_graph *g, braid_status *status)
{
    static const char *const filters[] = {"/job:ps"};
    const braid_session_options options = {
        .server = server, .device_filters = filters, .device_filter_count = 1};
    return braid_session_open(g, &options, status);
}

static braid_code run_client(const braid_cluster *cluster, braid_server *server, client_train_fn train,
                             braid_status *status)
{
    braid_code code = train(cluster, server);
    braid_graph *g = braid_graph_new();
    braid_session *s = open_empty(server, g, status);
    if (s) braid_session_notify(s, OVER, status);
    braid_session_close(s, NULL);
    braid_graph_free(g);
    return code ? code : braid_status_code(status);
}

// Serves until the client is done, or gone for good.
static braid_code serve(braid_server *server, braid_status *status)
{
    int64_t generation;
    braid_graph *g = braid_graph_new();
    braid_session *s = open_empty(server, g, status);
    if (s) braid_session_wait_notification(s, &(braid_notification_wait){.key = OVER}, &generation, status);
    braid_session_close(s, NULL);
    braid_graph_free(g);
    return braid_status_code(status);
}

static braid_code run_task(const braid_cluster *cluster, braid_server *server, client_train_fn train,
                           braid_status *status)
{
    if (strcmp(braid_cluster_this_job(cluster), "worker") != 0) return braid_server_join(server, status);
    if (braid_server_is_chief(server)) return run_client(cluster, server, train, status);
    return serve(server, status);
}

int client_main(const char *name, const braid_server_options *options, client_train_fn train)
{
    braid_status *status = braid_status_new();
    braid_cluster *cluster = braid_cluster_from_env(status);
    const char *job = cluster ? braid_cluster_this_job(cluster) : NULL;
    braid_server *server = NULL;
    int exit_code = 1;
    if (job) server = braid_server_start(cluster, job, braid_cluster_this_task(cluster), options, status);
    if (cluster && !job) fprintf(stderr, "usage: braid run --ps 1 --workers 2 %s\n", name);
    if (server) {
        braid_server_stop_on_signals(server);
        exit_code = braid_exit_code(run_task(cluster, server, train, status));
    }
    if (braid_status_code(status)) fprintf(stderr, "%s: %s\n", name, braid_status_message(status));
    braid_server_free(server);
    braid_cluster_free(cluster);
    braid_status_free(status);
    return exit_code;
}
