// A training step of the MNIST network (784-100-10, batch 100), one thread: `mnist_bench sgd|adam [MODE]`.
//
//   (none)   in this process
//   cluster  the variables on a parameter server, a process of its own
//   grpc     as cluster, over gRPC without shared memory
//   tls      as cluster, over TLS without shared memory
//   copied   the same with two processes of the parameter server: a step ends when both have its updates
//   two      the same with two workers; the time is that of a step of both together
//   memory   as cluster; answers with the peak memory of the parameter server
//   worker   the second worker, started by "two": `worker CLUSTER`
#include "cluster.h"
#include "peer.h"

enum {
    BATCH = 100,
    HIDDEN = 100
};

// ---- The graph ----

static void build(braid_graph *g, const char *optimizer, bench_step *b)
{
    bench_feed_digits(g, BATCH, b);
    braid_out x = b->feeds[0].out, labels = b->feeds[1].out;
    braid_variable hid_w = braid_variable_new(
        g, "hid_w", braid_truncated_normal(g, BRAID_SHAPE(BENCH_PIXELS, HIDDEN), 0, 1.0f / 28), true);
    braid_variable hid_b =
        braid_variable_new(g, "hid_b", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(HIDDEN)), true);
    braid_variable sm_w = braid_variable_new(
        g, "sm_w", braid_truncated_normal(g, BRAID_SHAPE(HIDDEN, BENCH_CLASSES), 0, 0.1f), true);
    braid_variable sm_b =
        braid_variable_new(g, "sm_b", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(BENCH_CLASSES)), true);
    braid_out hidden = braid_relu(g, braid_xw_plus_b(g, x, hid_w.read, hid_b.read));
    braid_out y = braid_softmax(g, braid_xw_plus_b(g, hidden, sm_w.read, sm_b.read));
    braid_out log_y = braid_log(g, braid_clip_by_value(g, y, 1e-10, 1.0));
    braid_out loss = braid_neg(g, braid_reduce_sum(g, braid_mul(g, labels, log_y)));
    braid_optimizer *opt =
        !strcmp(optimizer, "sgd") ? braid_gradient_descent(g, 0.01f) : braid_adam(g, 0.01f);
    b->target = braid_minimize(opt, loss, braid_global_step(g));
}

// ---- What is measured ----

// Both workers do the steps at the same time.
static void serve_two(bench_peer *other, bench_step *b)
{
    char line[64];
    for (long steps; bench_next(&steps);) {
        double begin = bench_now_ns();
        fprintf(other->in, "go %ld\n", steps);
        fflush(other->in);
        for (long i = 0; i < steps; i++)
            bench_step_run(b);
        bench_peer_line(other, line, sizeof line);
        bench_answer((bench_now_ns() - begin) / (2.0 * (double)steps));
    }
    bench_peer_end(other);
}

static void serve_memory(pid_t ps, bench_step *b)
{
    for (long steps; bench_next(&steps);) {
        for (long i = 0; i < steps; i++)
            bench_step_run(b);
        bench_answer(bench_peak_bytes(ps));
    }
}

int main(int argc, char **argv)
{
    bench_check(argc >= 2 && argc <= 4, "usage", "mnist_bench sgd|adam [cluster|grpc|tls|copied|two|memory]");
    const char *mode = argc > 2 ? argv[2] : "";
    const bool is_second = !strcmp(mode, "worker"), is_chief = *mode && !is_second,
               is_two = !strcmp(mode, "two");
    char json[160] = "";
    bench_step b = {0};
    bench_peer other = {0};
    pid_t ps = 0, copy = 0;
    braid_server *server = NULL;
    braid_graph *g = braid_graph_new();
    if (is_second) snprintf(json, sizeof json, "%s", argc > 3 ? argv[3] : "");
    const bool is_tls = !strcmp(mode, "tls");
    if (is_tls) bench_use_certificates();
    if (is_tls || !strcmp(mode, "grpc")) bench_use_grpc();
    if (is_chief) {
        const bool is_copied = !strcmp(mode, "copied");
        bench_cluster_json(is_two ? 2 : 1, is_copied, json, sizeof json);
        ps = bench_start_ps(argv[0], json, "0");
        if (is_copied) copy = bench_start_ps(argv[0], json, "1");
    }
    // Before the session is opened: that waits until all tasks are there.
    if (is_two) other = bench_peer_start((char *[]){argv[0], argv[1], "worker", json, NULL});
    if (*json) server = bench_start_worker(json, is_second, g);
    build(g, argv[1], &b);
    braid_op *init = braid_global_variables_initializer(g);
    b.session = bench_open(g, server, 0);
    if (!is_second) bench_run(b.session, NULL, 0, init);
    if (is_two)
        serve_two(&other, &b);
    else if (!strcmp(mode, "memory"))
        serve_memory(ps, &b);
    else
        bench_serve(bench_step_run, &b, 1);
    braid_session_close(b.session, NULL);
    braid_server_free(server);
    if (ps) waitpid(ps, NULL, 0);
    if (copy) waitpid(copy, NULL, 0);
    return 0;
}
