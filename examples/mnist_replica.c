// Distributed MNIST training with parameter servers and between-graph replication: a network with one hidden layer, its
// variables on the parameter servers, trained by all workers asynchronously.
//
//     braid run --ps 1 --workers 2 mnist_replica
//
// or by hand, one command each, with the same --ps_hosts and --worker_hosts:
//
//     mnist_replica --job_name=ps --task_index=0
//     mnist_replica --job_name=worker --task_index=0
//     mnist_replica --job_name=worker --task_index=1
#include <braid/braid.h>

#include "first_step.h"
#include "flags.h"
#include "mnist.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2

static const char about[] =
    "Trains a network with one hidden layer on images of digits, on a cluster of parameter servers and workers.\n"
    "Which task this process is comes from --job_name and --task_index, or from TF_CONFIG in the environment\n"
    "(`braid run` sets it).";

// TensorFlow's flags and their defaults.
static struct {
    const char *data_dir, *job_name, *ps_hosts, *worker_hosts, *log_dir;
    int64_t task_index, num_gpus, replicas_to_aggregate, hidden_units, train_steps, batch_size;
    double learning_rate;
    bool sync_replicas, existing_servers, log_device_placement, greedy_placement;
} flags = {.data_dir = "",
           .job_name = "",
           .ps_hosts = "localhost:2222",
           .worker_hosts = "localhost:2223,localhost:2224",
           .log_dir = "",
           .task_index = -1,
           .hidden_units = 100,
           .train_steps = 200,
           .batch_size = 100,
           .learning_rate = 0.01};

static flag flag_list[] = {
    {"data_dir", FLAG_STRING, &flags.data_dir,
     "Directory with MNIST's idx files, plain or gzipped. Empty: digits that the program makes itself.", 0},
    {"train_steps", FLAG_INT, &flags.train_steps, "Number of (global) training steps.", 0},
    {"batch_size", FLAG_INT, &flags.batch_size, "Images in a step of one worker.", 0},
    {"learning_rate", FLAG_FLOAT, &flags.learning_rate, "Learning rate of Adam.", 0},
    {"hidden_units", FLAG_INT, &flags.hidden_units,
     "Units of the hidden layer. 0: no hidden layer (softmax regression).", 0},
    {"job_name", FLAG_STRING, &flags.job_name, "This process' job: ps or worker.", 0},
    {"task_index", FLAG_INT, &flags.task_index, "Its number there. Worker 0 initializes the variables.", 0},
    {"ps_hosts", FLAG_STRING, &flags.ps_hosts, "Comma-separated host:port of the parameter servers.", 0},
    {"worker_hosts", FLAG_STRING, &flags.worker_hosts, "Comma-separated host:port of the workers.", 0},
    {"existing_servers", FLAG_BOOL, &flags.existing_servers,
     "Use the server that already runs at this worker's address and start none.", 0},
    {"num_gpus", FLAG_INT, &flags.num_gpus, "GPUs of each machine. Only 0 in this version.", 0},
    {"sync_replicas", FLAG_BOOL, &flags.sync_replicas, "Synchronous training. Not in this version.", 0},
    {"replicas_to_aggregate", FLAG_INT, &flags.replicas_to_aggregate,
     "Gradients to collect for a synchronous step. Not in this version.", 0},
    {"log_dir", FLAG_STRING, &flags.log_dir,
     "Directory for checkpoints and summaries. Not in this version: nothing is written.", 0},
    {"greedy_placement", FLAG_BOOL, &flags.greedy_placement,
     "Deal variables to the parameter server with the fewest bytes, and not in turn.", 0},
    {"log_device_placement", FLAG_BOOL, &flags.log_device_placement, "Log where each node runs.", 0},
};

// ---- Flags and the task ----

static int usage_error(const char *message)
{
    fprintf(stderr, "mnist_replica: %s\n", message);
    return EXIT_USAGE;
}

static int check_flags(void)
{
    if (flags.sync_replicas)
        return usage_error(
            "--sync_replicas is not there yet: this version trains asynchronously; leave the flag out");
    if (flags.replicas_to_aggregate != 0)
        return usage_error(
            "--replicas_to_aggregate is not there yet: it belongs to --sync_replicas; leave it out");
    if (flags.num_gpus != 0) return usage_error("this version computes on CPUs only: --num_gpus=0");
    if (flags.batch_size < 1 || flags.batch_size > 100000)
        return usage_error("--batch_size must be 1 to 100000");
    if (flags.hidden_units < 0 || flags.hidden_units > 100000)
        return usage_error("--hidden_units must be 0 to 100000");
    if (flags.train_steps < 1) return usage_error("--train_steps must be at least 1");
    if (!(flags.learning_rate > 0)) return usage_error("--learning_rate must be more than 0");
    if (*flags.log_dir)
        fprintf(stderr,
                "--log_dir: this version writes no checkpoints and summaries yet; nothing goes to %s\n",
                flags.log_dir);
    return 0;
}

// The cluster, from flags if they say which task this is, else from TF_CONFIG. NULL on an error.
static braid_cluster *find_cluster(const char **job, int *index, braid_status *status)
{
    if (*flags.job_name) {
        *job = flags.job_name;
        *index = (int)flags.task_index;
        if (flags.task_index < 0)
            braid_status_set(status, BRAID_INVALID_ARGUMENT, "--job_name needs --task_index");
        else
            return braid_cluster_from_hosts(flags.ps_hosts, flags.worker_hosts, status);
        return NULL;
    }
    if (!getenv("TF_CONFIG")) {
        braid_status_set(
            status, BRAID_INVALID_ARGUMENT,
            "which task is this? Give --job_name=worker --task_index=0 (and the like), or start it "
            "with: braid run --ps 1 --workers 2 mnist_replica");
        return NULL;
    }
    braid_cluster *cluster = braid_cluster_from_env(status);
    *job = cluster ? braid_cluster_this_job(cluster) : NULL;
    *index = cluster ? braid_cluster_this_task(cluster) : 0;
    if (!*job) *job = "worker";
    return cluster;
}

// ---- The model ----

typedef struct model {
    braid_out images, labels; // placeholders
    braid_out probabilities;  // [batch, 10]
    braid_out loss;
    braid_op *train;
} model;

static braid_variable weights(braid_graph *g, const char *name, int64_t in, int64_t out)
{
    float stddev = (float)(1.0 / sqrt((double)in));
    return braid_variable_new(g, name, braid_truncated_normal(g, BRAID_SHAPE(in, out), 0, stddev), true);
}

static braid_variable biases(braid_graph *g, const char *name, int64_t units)
{
    return braid_variable_new(g, name, braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(units)), true);
}

static model build_model(braid_graph *g)
{
    model m;
    braid_tensor *zero = braid_tensor_int32(0);
    braid_variable global_step = braid_variable_of(g, "global_step", zero, false);
    braid_tensor_free(zero);

    int64_t units = flags.hidden_units;
    braid_variable hid_w, hid_b;
    if (units > 0) {
        hid_w = weights(g, "hid_w", MNIST_PIXELS, units);
        hid_b = biases(g, "hid_b", units);
    }
    braid_variable sm_w = weights(g, "sm_w", units > 0 ? units : MNIST_PIXELS, MNIST_CLASSES);
    braid_variable sm_b = biases(g, "sm_b", MNIST_CLASSES);

    m.images = braid_placeholder(g, NULL, BRAID_FLOAT, BRAID_SHAPE(-1, MNIST_PIXELS));
    m.labels = braid_placeholder(g, NULL, BRAID_FLOAT, BRAID_SHAPE(-1, MNIST_CLASSES));
    braid_out features = m.images;
    if (units > 0) features = braid_relu(g, braid_xw_plus_b(g, m.images, hid_w.read, hid_b.read));
    m.probabilities = braid_softmax(g, braid_xw_plus_b(g, features, sm_w.read, sm_b.read));

    braid_out log_likely = braid_log(g, braid_clip_by_value(g, m.probabilities, 1e-10, 1.0));
    m.loss = braid_neg(g, braid_reduce_sum(g, braid_mul(g, m.labels, log_likely)));
    m.train = braid_minimize(braid_adam(g, (float)flags.learning_rate), m.loss, global_step.ref);
    return m;
}

// ---- Training and testing ----

static int best_class(const float *probabilities)
{
    int best = 0;
    for (int i = 1; i < MNIST_CLASSES; i++) {
        if (probabilities[i] > probabilities[best]) best = i;
    }
    return best;
}

// Prints which part of the test images the model recognizes.
static void test(braid_monitored_session *s, const model *m, mnist *data)
{
    braid_status *status = braid_status_new();
    int count = mnist_test_count(data, status), right = 0;
    if (count < 0) braid_monitored_session_fail(s, status);
    for (int from = 0; from < count; from += 1000) {
        mnist_batch b = mnist_test_batch(data, from, 1000);
        braid_tensor *p;
        if (braid_evaluate(s, BRAID_FEED({m->images, b.images}), BRAID_FETCH({m->probabilities, &p}))) break;
        for (int i = 0; i < b.count; i++)
            right += best_class((float *)braid_tensor_data(p) + i * MNIST_CLASSES) == b.digits[i];
        braid_tensor_free(p);
    }
    if (count > 0 && !braid_monitored_session_status(s, NULL))
        printf("test accuracy: %.4f\n", (double)right / count);
    braid_status_free(status);
}

static int train(braid_cluster *cluster, const char *job, int index, braid_server *server, mnist *data)
{
    bool chief = braid_is_chief(cluster, job, index);
    char own_task[128], device[160], target[300];
    snprintf(own_task, sizeof own_task, "/job:%s/task:%d", job, index);
    snprintf(device, sizeof device, "%s/cpu:0", own_task);
    const char *address = braid_cluster_address(cluster, job, index);
    snprintf(target, sizeof target, "grpc://%s", address ? address : "");

    braid_graph *g = braid_graph_new();
    braid_device_setter *setter = braid_replica_device_setter(
        g, cluster,
        &(braid_device_setter_options){.worker_device = device,
                                       .ps_device = "/job:ps/cpu:0",
                                       .strategy =
                                           flags.greedy_placement ? BRAID_PS_GREEDY : BRAID_PS_ROUND_ROBIN});
    braid_push_device_setter(g, setter);
    model m = build_model(g);
    if (chief) braid_device_setter_log(setter);

    const char *const filters[] = {"/job:ps", own_task}; // other workers may come and go
    braid_monitored_session *s = braid_monitored_session_open(
        g,
        &(braid_session_config){.session = {.server = server,
                                            .target = flags.existing_servers ? target : NULL,
                                            .device_filters = filters,
                                            .device_filter_count = address ? 2 : 0,
                                            .allow_soft_placement = true,
                                            .log_device_placement = flags.log_device_placement && chief},
                                .is_chief = chief,
                                .hooks = BRAID_HOOKS(braid_stop_at_step(flags.train_steps), first_step_hook(),
                                                     braid_progress(m.loss, flags.train_steps))});
    while (!braid_should_stop(s)) {
        mnist_batch b = mnist_next_batch(data, (int)flags.batch_size);
        braid_run(s, BRAID_FEED({m.images, b.images}, {m.labels, b.labels}), NULL, m.train);
    }
    if (chief) test(s, &m, data);
    braid_code code = braid_monitored_session_close(s);
    braid_graph_free(g);
    return braid_exit_code(code);
}

static int fail(const braid_status *status)
{
    fprintf(stderr, "mnist_replica: %s\n", braid_status_message(status));
    return braid_status_code(status) == BRAID_INVALID_ARGUMENT ? EXIT_USAGE : 1;
}

static int run_task(braid_status *status)
{
    const char *job;
    int index;
    braid_cluster *cluster = find_cluster(&job, &index, status);
    if (!cluster) return fail(status);
    bool is_ps = strcmp(job, "ps") == 0, distributed = braid_cluster_num_jobs(cluster) > 0;
    mnist *data = is_ps ? NULL : mnist_open(flags.data_dir, (uint64_t)index, status);
    braid_server *server = NULL;
    if (distributed && !flags.existing_servers && !braid_status_code(status)) {
        server = braid_server_start(cluster, job, index, NULL, status);
        if (server) braid_server_stop_on_signals(server);
    }
    int exit_code = 0;
    if (braid_status_code(status))
        exit_code = fail(status);
    else if (!is_ps)
        exit_code = train(cluster, job, index, server, data);
    else if (server && braid_server_join(server, status)) // returns when the workers are done
        exit_code = fail(status);
    braid_server_free(server);
    mnist_close(data);
    braid_cluster_free(cluster);
    return exit_code;
}

int main(int argc, char **argv)
{
    switch (flags_parse(argc, argv, about, flag_list, sizeof flag_list / sizeof flag_list[0])) {
    case FLAGS_HELP: return 0;
    case FLAGS_ERROR: return EXIT_USAGE;
    case FLAGS_OK: break;
    }
    int usage = check_flags();
    if (usage) return usage;
    braid_status *status = braid_status_new();
    int exit_code = run_task(status);
    braid_status_free(status);
    return exit_code;
}
