// A step that only reduces tensors: each of TASKS processes has a variable of BYTES, and all get the sum of
// them, over gRPC: `collective_bench TASKS BYTES`.
#include "cluster.h"
#include <signal.h>

enum {
    TASKS_MAX = 8
};

static void cluster_json(int tasks, char *json, size_t size)
{
    size_t len = (size_t)snprintf(json, size, "{\"worker\": [");
    for (int i = 0; i < tasks; i++)
        len +=
            (size_t)snprintf(json + len, size - len, "%s\"127.0.0.1:%d\"", i ? ", " : "", bench_free_port());
    snprintf(json + len, size - len, "]}");
}

// `braid server`, which lies beside the program `self`, for a task.
static pid_t start_task(const char *self, const char *json, int task)
{
    extern char **environ;
    char path[4096], number[16];
    const char *slash = strrchr(self, '/');
    snprintf(path, sizeof path, "%.*sbraid", slash ? (int)(slash - self + 1) : 0, self);
    snprintf(number, sizeof number, "%d", task);
    char *argv[] = {path, "server", "--cluster", (char *)json, "--job", "worker", "--task", number, NULL};
    pid_t pid;
    bench_check(posix_spawn(&pid, path, NULL, NULL, argv, environ) == 0, path, "cannot be started");
    return pid;
}

static braid_server *start_own(const char *json)
{
    braid_status *st = braid_status_new();
    braid_cluster *cluster = braid_cluster_from_json(json, st);
    bench_check(cluster != NULL, "cluster", braid_status_message(st));
    braid_server *server =
        braid_server_start(cluster, "worker", 0, &(braid_server_options){.inter_op_threads = 1}, st);
    bench_check(server != NULL, "server", braid_status_message(st));
    braid_cluster_free(cluster);
    braid_status_free(st);
    return server;
}

// The variable of a task, its sum with the others', and where that is used: at the task.
static braid_op *build_task(braid_graph *g, int task, int tasks, int32_t count, braid_op **init)
{
    char device[32];
    snprintf(device, sizeof device, "/job:worker/task:%d", task);
    braid_push_device(g, device);
    const braid_out fill[] = {braid_const_int32s(g, NULL, &count, 1),
                              braid_const_float(g, NULL, (float)(task + 1))};
    const braid_out first = braid_output(braid_op_add(g, "Fill", NULL, fill, 2), 0);
    const braid_variable v = braid_variable_resource(g, NULL, first, true);
    braid_op_desc *d = braid_op_begin(g, "CollectiveReduce", NULL);
    braid_op_input(d, v.read);
    braid_op_attr_int(d, "group_size", tasks);
    braid_op_attr_int(d, "group_key", 1);
    braid_op_attr_int(d, "instance_key", 1);
    braid_op_attr_string(d, "merge_op", "Add");
    braid_op_attr_string(d, "final_op", "Id");
    braid_op_attr_int_list(d, "subdiv_offsets", (int64_t[]){0}, 1);
    braid_op *sum = braid_op_end(d);
    braid_pop_device(g);
    *init = v.initializer;
    return sum;
}

int main(int argc, char **argv)
{
    const int tasks = argc == 3 ? atoi(argv[1]) : 0;
    const long bytes = argc == 3 ? atol(argv[2]) : 0;
    bench_check(tasks >= 2 && tasks <= TASKS_MAX && bytes >= 4, "usage", "collective_bench TASKS BYTES");
    char json[512];
    cluster_json(tasks, json, sizeof json);
    pid_t children[TASKS_MAX] = {0};
    for (int i = 1; i < tasks; i++)
        children[i] = start_task(argv[0], json, i);
    braid_graph *g = braid_graph_new();
    braid_server *server = start_own(json);
    braid_op *sums[TASKS_MAX], *inits[TASKS_MAX];
    for (int i = 0; i < tasks; i++)
        sums[i] = build_task(g, i, tasks, (int32_t)(bytes / 4), &inits[i]);
    braid_op *init = braid_group(g, "init", inits, tasks);
    bench_step b = {.target = braid_group(g, "step", sums, tasks)};
    b.session = bench_open(g, server, 0);
    bench_run(b.session, NULL, 0, init);
    bench_serve(bench_step_run, &b, 1);
    braid_session_close(b.session, NULL);
    braid_server_free(server);
    for (int i = 1; i < tasks; i++) {
        kill(children[i], SIGTERM);
        waitpid(children[i], NULL, 0);
    }
    return 0;
}
