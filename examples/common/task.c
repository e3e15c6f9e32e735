// The life of a task, from the environment to the exit code.
#include "task.h"

#include <stdio.h>
#include <string.h>

static braid_code run(task *t, braid_code (*work)(const task *t, braid_status *status), braid_status *status)
{
    if (braid_cluster_num_jobs(t->cluster) > 0) {
        t->server = braid_server_start(t->cluster, t->job, t->index, NULL, status);
        if (!t->server) return braid_status_code(status);
        braid_server_stop_on_signals(t->server);
    }
    if (strcmp(t->job, "ps") == 0) return braid_server_join(t->server, status); // until the workers are done
    const braid_code code = work(t, status);
    if (code && t->server) braid_server_failed(t->server);
    return code;
}

int task_main(const char *program, braid_code (*work)(const task *t, braid_status *status))
{
    braid_status *status = braid_status_new();
    task t = {.cluster = braid_cluster_from_env(status), .job = "worker"};
    if (t.cluster) {
        if (braid_cluster_this_job(t.cluster)) {
            t.job = braid_cluster_this_job(t.cluster);
            t.index = braid_cluster_this_task(t.cluster);
        }
        t.is_chief = braid_is_chief(t.cluster, t.job, t.index);
        const int workers = braid_cluster_num_tasks(t.cluster, "worker");
        t.num_workers = workers > 0 ? workers : 1;
        if (braid_cluster_num_jobs(t.cluster) > 0)
            snprintf(t.device, sizeof t.device, "/job:%.32s/task:%d", t.job, t.index);
        run(&t, work, status);
    }
    const braid_code code = braid_status_code(status);
    if (code) fprintf(stderr, "%s: %s\n", program, braid_status_message(status));
    braid_server_free(t.server);
    braid_cluster_free(t.cluster);
    braid_status_free(status);
    return braid_exit_code(code);
}

void task_place(const task *t, braid_graph *g)
{
    if (t->server)
        braid_push_device_setter(
            g, braid_replica_device_setter(g, t->cluster,
                                           &(braid_device_setter_options){.worker_device = t->device}));
}

braid_session_options task_session(const task *t)
{
    static const char *filters[2]; // a process is one task
    filters[0] = "/job:ps";
    filters[1] = t->device;
    return (braid_session_options){
        .server = t->server, .device_filters = filters, .device_filter_count = t->server ? 2 : 0};
}
