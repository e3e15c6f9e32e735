// A training step of the MNIST network (784-100-10, batch 100), one thread: `mnist_bench sgd|adam [MODE]`.
//
//   (none)   in this process
//   cluster  the variables on a parameter server, a process of its own, over gRPC
//   two      the same with two workers; the time is that of a step of both together
//   memory   as cluster, and answers with the most bytes that the parameter server has held
//   worker   the second worker, started by "two": `worker CLUSTER`
#include "cluster.h"
#include "peer.h"

enum {
    BATCH = 100,
    PIXELS = 784,
    HIDDEN = 100,
    CLASSES = 10
};

typedef struct bench {
    braid_session *session;
    braid_feed feeds[2];
    braid_op *train;
} bench;

static void step(void *arg)
{
    bench *b = arg;
    bench_run(b->session, b->feeds, 2, b->train);
}

// ---- The graph and its data ----

static void build(braid_graph *g, const char *optimizer, bench *b)
{
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, PIXELS));
    braid_out labels = braid_placeholder(g, "labels", BRAID_FLOAT, BRAID_SHAPE(-1, CLASSES));
    braid_variable hid_w = braid_variable_new(
        g, "hid_w", braid_truncated_normal(g, BRAID_SHAPE(PIXELS, HIDDEN), 0, 1.0f / 28), true);
    braid_variable hid_b =
        braid_variable_new(g, "hid_b", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(HIDDEN)), true);
    braid_variable sm_w =
        braid_variable_new(g, "sm_w", braid_truncated_normal(g, BRAID_SHAPE(HIDDEN, CLASSES), 0, 0.1f), true);
    braid_variable sm_b =
        braid_variable_new(g, "sm_b", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(CLASSES)), true);
    braid_out hidden = braid_relu(g, braid_xw_plus_b(g, x, hid_w.read, hid_b.read));
    braid_out y = braid_softmax(g, braid_xw_plus_b(g, hidden, sm_w.read, sm_b.read));
    braid_out log_y = braid_log(g, braid_clip_by_value(g, y, 1e-10, 1.0));
    braid_out loss = braid_neg(g, braid_reduce_sum(g, braid_mul(g, labels, log_y)));
    braid_optimizer *opt =
        !strcmp(optimizer, "sgd") ? braid_gradient_descent(g, 0.01f) : braid_adam(g, 0.01f);
    b->train = braid_minimize(opt, loss, braid_global_step(g));

    braid_tensor *images = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(BATCH, PIXELS), NULL);
    braid_tensor *one_hot = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(BATCH, CLASSES), NULL);
    float *pixels = braid_tensor_data(images), *classes = braid_tensor_data(one_hot);
    srand(1);
    for (int i = 0; i < BATCH * PIXELS; i++)
        pixels[i] = (float)rand() / (float)RAND_MAX;
    for (int i = 0; i < BATCH * CLASSES; i++)
        classes[i] = i % CLASSES == i / CLASSES % CLASSES;
    b->feeds[0] = (braid_feed){x, images};
    b->feeds[1] = (braid_feed){labels, one_hot};
}

// ---- What is measured ----

// Both workers do the steps at the same time.
static void serve_two(char **argv, const char *json, bench *b)
{
    bench_peer other = bench_peer_start((char *[]){argv[0], argv[1], "worker", (char *)json, NULL});
    char line[64];
    for (long steps; bench_next(&steps);) {
        double begin = bench_now_ns();
        fprintf(other.in, "go %ld\n", steps);
        fflush(other.in);
        for (long i = 0; i < steps; i++)
            step(b);
        bench_peer_line(&other, line, sizeof line);
        bench_answer((bench_now_ns() - begin) / (2.0 * (double)steps));
    }
    bench_peer_end(&other);
}

static void serve_memory(pid_t ps, bench *b)
{
    for (long steps; bench_next(&steps);) {
        for (long i = 0; i < steps; i++)
            step(b);
        bench_answer(bench_peak_bytes(ps));
    }
}

int main(int argc, char **argv)
{
    bench_check(argc >= 2 && argc <= 4, "usage", "mnist_bench sgd|adam [cluster|two|memory]");
    const char *mode = argc > 2 ? argv[2] : "";
    const bool is_second = !strcmp(mode, "worker"), is_chief = *mode && !is_second;
    char json[128] = "";
    bench b = {0};
    pid_t ps = 0;
    braid_server *server = NULL;
    braid_graph *g = braid_graph_new();
    if (is_second) snprintf(json, sizeof json, "%s", argc > 3 ? argv[3] : "");
    if (is_chief) {
        bench_cluster_json(!strcmp(mode, "two") ? 2 : 1, json, sizeof json);
        ps = bench_start_ps(argv[0], json);
    }
    if (*json) server = bench_start_worker(json, is_second, g);
    build(g, argv[1], &b);
    braid_op *init = braid_global_variables_initializer(g);
    b.session = bench_open(g, server);
    if (!is_second) bench_run(b.session, NULL, 0, init);
    if (!strcmp(mode, "two"))
        serve_two(argv, json, &b);
    else if (!strcmp(mode, "memory"))
        serve_memory(ps, &b);
    else
        bench_serve(step, &b, 1);
    braid_session_close(b.session, NULL);
    braid_server_free(server);
    if (ps) waitpid(ps, NULL, 0);
    return 0;
}
