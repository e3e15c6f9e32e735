// A training step of the MNIST network (784-100-10, batch 100), one thread: `mnist_bench sgd|adam [cluster]`.
//
// Alone it runs in this process; with "cluster" the variables are on a parameter server, a process of its own, over gRPC.
#include "bench.h"
#include <arpa/inet.h>
#include <braid/braid.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void run_op(braid_session *session, const braid_feed *feeds, int feed_count, braid_op *op)
{
    braid_status *st = braid_status_new();
    const braid_run_args args = {.feeds = feeds, .feed_count = feed_count, .targets = &op, .target_count = 1};
    braid_code code = braid_session_run(session, &args, st);
    bench_check(!code, "run", braid_status_message(st));
    braid_status_free(st);
}

static void step(void *arg)
{
    bench *b = arg;
    run_op(b->session, b->feeds, 2, b->train);
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

// ---- The cluster ----

static int free_port(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t len = sizeof address;
    bench_check(fd >= 0 && !bind(fd, (struct sockaddr *)&address, len) &&
                    !getsockname(fd, (struct sockaddr *)&address, &len),
                "port", "none free");
    close(fd);
    return ntohs(address.sin_port);
}

// Starts `braid server`, which lies beside this program, for the parameter server.
static pid_t start_ps(const char *self, const char *cluster)
{
    char path[4096];
    const char *slash = strrchr(self, '/');
    snprintf(path, sizeof path, "%.*sbraid", slash ? (int)(slash - self + 1) : 0, self);
    char *argv[] = {path, "server", "--cluster", (char *)cluster, "--job", "ps", "--task", "0", NULL};
    extern char **environ;
    pid_t pid;
    bench_check(posix_spawn(&pid, path, NULL, NULL, argv, environ) == 0, path, "cannot be started");
    return pid;
}

int main(int argc, char **argv)
{
    bench_check(argc >= 2 && argc <= 3, "usage", "mnist_bench sgd|adam [cluster]");
    braid_status *st = braid_status_new();
    bench b = {0};
    pid_t ps = 0;
    braid_server *server = NULL;
    braid_graph *g = braid_graph_new();
    braid_session_options options = {.inter_op_threads = 1, .intra_op_threads = 1};
    if (argc == 3) {
        char json[128];
        snprintf(json, sizeof json, "{\"ps\": [\"127.0.0.1:%d\"], \"worker\": [\"127.0.0.1:%d\"]}",
                 free_port(), free_port());
        ps = start_ps(argv[0], json);
        braid_cluster *cluster = braid_cluster_from_json(json, st);
        server = braid_server_start(cluster, "worker", 0, &(braid_server_options){.inter_op_threads = 1}, st);
        bench_check(server != NULL, "server", braid_status_message(st));
        options.server = server;
        braid_push_device_setter(g, braid_replica_device_setter(g, cluster, NULL));
        braid_cluster_free(cluster);
    }
    build(g, argv[1], &b);
    braid_op *init = braid_global_variables_initializer(g);
    bench_check(!braid_graph_status(g, st), "graph", braid_status_message(st));
    b.session = braid_session_open(g, &options, st);
    bench_check(b.session != NULL, "session", braid_status_message(st));
    run_op(b.session, NULL, 0, init);
    int code = bench_serve(step, &b, 1);
    braid_session_close(b.session, NULL);
    braid_server_free(server);
    if (ps) waitpid(ps, NULL, 0);
    return code;
}
