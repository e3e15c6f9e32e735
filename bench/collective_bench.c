// Steps of TASKS processes that meet in sums, each with a session of its own:
//
//   collective_bench TASKS BYTES      a step only reduces: all get the sum of variables of BYTES
//   collective_bench TASKS mnist|cnn  a synchronous training step (Adam), each with a batch of its own
#include "cluster.h"
#include "models.h"
#include <signal.h>
#include <sys/prctl.h>

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

// This program as another task: `collective_bench TASKS WHAT JSON TASK`.
static pid_t start_task(char **own, const char *json, int task)
{
    extern char **environ;
    char number[16];
    snprintf(number, sizeof number, "%d", task);
    char *argv[] = {own[0], own[1], own[2], (char *)json, number, NULL};
    pid_t pid;
    bench_check(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0, own[0],
                "cannot be started");
    return pid;
}

static braid_out read_variable(const braid_replica *replica, void *arg)
{
    int32_t count = *(const int32_t *)arg;
    const braid_out fill[] = {braid_const_int32s(replica->graph, NULL, &count, 1),
                              braid_const_float(replica->graph, NULL, (float)(replica->id + 1))};
    const braid_out first = braid_output(braid_op_add(replica->graph, "Fill", NULL, fill, 2), 0);
    return braid_variable_resource(replica->graph, NULL, first, true).read;
}

static braid_op *build_sum(braid_graph *g, braid_strategy *strategy, int32_t count)
{
    const braid_per_replica values = braid_strategy_run(strategy, read_variable, &count);
    braid_op *const sums[] = {braid_strategy_reduce(strategy, BRAID_REDUCE_SUM, values).op};
    return braid_group(g, "step", sums, 1);
}

static braid_out mnist_loss(const braid_replica *replica, void *arg)
{
    const bench_step *b = arg;
    return bench_mnist_loss(replica->graph, b->feeds[0].out, b->feeds[1].out);
}

static braid_out cnn_loss(const braid_replica *replica, void *arg)
{
    const bench_step *b = arg;
    return bench_cnn_loss(replica->graph, b->feeds[0].out, b->feeds[1].out);
}

static braid_op *build_training(braid_graph *g, braid_strategy *strategy, bool is_cnn, bench_step *b)
{
    bench_feed_digits(g, is_cnn ? BENCH_CNN_BATCH : BENCH_MNIST_BATCH, b);
    const braid_per_replica losses = braid_strategy_run(strategy, is_cnn ? cnn_loss : mnist_loss, b);
    return braid_strategy_minimize(strategy, braid_adam(g, 1e-4f), losses, BRAID_NONE);
}

static bool trains(const char *what)
{
    return !strcmp(what, "mnist") || !strcmp(what, "cnn");
}

static bench_step build(const braid_cluster *cluster, braid_server *server, int task, const char *what)
{
    braid_status *st = braid_status_new();
    braid_graph *g = braid_graph_new();
    braid_strategy *strategy = braid_multi_worker_mirrored_strategy(g, cluster, "worker", task);
    braid_push_strategy(g, strategy);
    bench_step b = {0};
    b.target = trains(what) ? build_training(g, strategy, !strcmp(what, "cnn"), &b)
                            : build_sum(g, strategy, (int32_t)(atol(what) / 4));
    braid_op *init = braid_global_variables_initializer(g);
    braid_pop_strategy(g);
    bench_check(!braid_graph_status(g, st), "graph", braid_status_message(st));
    const braid_session_options options = {.inter_op_threads = 1,
                                           .intra_op_threads = 1,
                                           .server = server,
                                           .collective_leader = braid_strategy_leader(strategy)};
    b.session = braid_session_open(g, &options, st);
    bench_check(b.session != NULL, "session", braid_status_message(st));
    braid_status_free(st);
    bench_run(b.session, NULL, 0, init);
    return b;
}

static int run_task(const char *json, int task, const char *what)
{
    braid_status *st = braid_status_new();
    braid_cluster *cluster = braid_cluster_from_json(json, st);
    bench_check(cluster != NULL, "cluster", braid_status_message(st));
    braid_server *server =
        braid_server_start(cluster, "worker", task, &(braid_server_options){.inter_op_threads = 1}, st);
    bench_check(server != NULL, "server", braid_status_message(st));
    bench_step b = build(cluster, server, task, what);
    braid_status_free(st);
    if (task == 0) return bench_serve(bench_step_run, &b, 1);
    for (;;) // as many steps as task 0 runs, which kills this process at the end
        bench_step_run(&b);
}

int main(int argc, char **argv)
{
    const int tasks = argc == 3 || argc == 5 ? atoi(argv[1]) : 0;
    const char *what = tasks ? argv[2] : "";
    bench_check(tasks >= 2 && tasks <= TASKS_MAX && (trains(what) || atol(what) >= 4), "usage",
                "collective_bench TASKS BYTES|mnist|cnn");
    if (argc == 5) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return run_task(argv[3], atoi(argv[4]), what);
    }
    char json[512];
    cluster_json(tasks, json, sizeof json);
    pid_t children[TASKS_MAX] = {0};
    for (int i = 1; i < tasks; i++)
        children[i] = start_task(argv, json, i);
    const int code = run_task(json, 0, what);
    for (int i = 1; i < tasks; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    return code;
}
