// A training step of the MNIST network (784-100-10, batch 100), one thread: `mnist_bench sgd|adam [MODE]`.
//
//   (none)   in this process
//   cluster  the variables on a parameter server, a process of its own
//   grpc     as cluster, over gRPC without shared memory
//   tls      as cluster, over TLS without shared memory
//   copied   the same with two processes of the parameter server: a step ends when both have its updates
//   memory   as cluster; answers with the peak memory of the parameter server
//   workers  WORKERS SERVERS: as cluster, with so many of both; the time is that of a step of all together
//   worker   a worker beside the first one, started by "workers": `worker INDEX CLUSTER`
#include "cluster.h"
#include "models.h"
#include "peer.h"

// ---- The graph ----

static void build(braid_graph *g, const char *optimizer, bench_step *b)
{
    bench_feed_digits(g, BENCH_MNIST_BATCH, b);
    const braid_out loss = bench_mnist_loss(g, b->feeds[0].out, b->feeds[1].out);
    braid_optimizer *opt =
        !strcmp(optimizer, "sgd") ? braid_gradient_descent(g, 0.01f) : braid_adam(g, 0.01f);
    b->target = braid_minimize(opt, loss, braid_global_step(g));
}

// ---- What is measured ----

// All workers do the steps at the same time.
static void serve_together(bench_peer *others, int count, bench_step *b)
{
    char line[64];
    for (long steps; bench_next(&steps);) {
        double begin = bench_now_ns();
        for (int i = 0; i < count; i++) {
            fprintf(others[i].in, "go %ld\n", steps);
            fflush(others[i].in);
        }
        for (long i = 0; i < steps; i++)
            bench_step_run(b);
        for (int i = 0; i < count; i++)
            bench_peer_line(&others[i], line, sizeof line);
        bench_answer((bench_now_ns() - begin) / ((1.0 + count) * (double)steps));
    }
    for (int i = 0; i < count; i++)
        bench_peer_end(&others[i]);
}

static void serve_memory(pid_t ps, bench_step *b)
{
    for (long steps; bench_next(&steps);) {
        for (long i = 0; i < steps; i++)
            bench_step_run(b);
        bench_answer(bench_peak_bytes(ps));
    }
}

// ---- The cluster ----

enum {
    TASKS_MAX = 16
};

typedef struct cluster {
    int workers, servers;
    char json[BENCH_CLUSTER_SIZE];
    pid_t ps[TASKS_MAX];          // of the parameter servers, or of the one and its replica
    bench_peer others[TASKS_MAX]; // the other workers
    braid_server *server;         // this process, if it is a task
} cluster;

// The processes of the cluster, of which this one is the first worker.
static void start_tasks(cluster *c, char **argv, bool is_copied)
{
    bench_cluster_json(c->workers, c->servers, is_copied, c->json, sizeof c->json);
    for (int i = 0; i < c->servers; i++)
        c->ps[i] = bench_start_ps(argv[0], c->json, i, "0");
    if (is_copied) c->ps[1] = bench_start_ps(argv[0], c->json, 0, "1");
    // Before the session is opened: that waits until all tasks are there.
    for (int i = 1; i < c->workers; i++) {
        char index[16];
        snprintf(index, sizeof index, "%d", i);
        c->others[i - 1] = bench_peer_start((char *[]){argv[0], argv[1], "worker", index, c->json, NULL});
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "";
    const bool has_numbers = !strcmp(mode, "workers"), is_other = !strcmp(mode, "worker"),
               is_chief = *mode && !is_other;
    cluster c = {.workers = has_numbers && argc == 5 ? atoi(argv[3]) : 1,
                 .servers = has_numbers && argc == 5 ? atoi(argv[4]) : 1};
    bench_check(argc >= 2 &&
                    argc == (has_numbers || is_other ? 5
                             : *mode                 ? 3
                                                     : 2) &&
                    c.workers >= 1 && c.workers <= TASKS_MAX && c.servers >= 1 && c.servers <= TASKS_MAX,
                "usage", "mnist_bench sgd|adam [cluster|grpc|tls|copied|memory|workers WORKERS SERVERS]");
    bench_step b = {0};
    braid_graph *g = braid_graph_new();
    if (is_other) snprintf(c.json, sizeof c.json, "%s", argv[4]);
    const bool is_tls = !strcmp(mode, "tls");
    if (is_tls) bench_use_certificates();
    if (is_tls || !strcmp(mode, "grpc")) bench_use_grpc();
    if (is_chief) start_tasks(&c, argv, !strcmp(mode, "copied"));
    if (*mode) c.server = bench_start_worker(c.json, is_other ? atoi(argv[3]) : 0, g);
    build(g, argv[1], &b);
    braid_op *init = braid_global_variables_initializer(g);
    b.session = bench_open(g, c.server, 0);
    if (!is_other) bench_run(b.session, NULL, 0, init);
    if (c.workers > 1)
        serve_together(c.others, c.workers - 1, &b);
    else if (!strcmp(mode, "memory"))
        serve_memory(c.ps[0], &b);
    else
        bench_serve(bench_step_run, &b, 1);
    braid_session_close(b.session, NULL);
    braid_server_free(c.server);
    for (int i = 0; i < TASKS_MAX; i++)
        if (c.ps[i]) waitpid(c.ps[i], NULL, 0);
    return 0;
}
