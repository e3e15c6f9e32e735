// Distributed MNIST training with parameter servers and between-graph replication: a network with one hidden
// layer, its variables on the parameter servers, trained by all workers asynchronously or, with
// --sync_replicas, in step.
//
//     braid run --ps 1 --workers 2 mnist_replica
//
// or by hand, one command each, with the same --ps_hosts and --worker_hosts:
//
//     mnist_replica --job_name=ps --task_index=0
//     mnist_replica --job_name=worker --task_index=0
//     mnist_replica --job_name=worker --task_index=1
#include <braid/braid.h>

#include "mnist.h"
#include "mnist_task.h"
#include <math.h>
#include <string.h>

#define VARIABLES_MAX 4

// TensorFlow's flags and their defaults; the others are in mnist_task.c.
static struct {
    int64_t hidden_units, num_gpus, replicas_to_aggregate;
    bool sync_replicas, deterministic;
    const char *compression;
    double compression_fraction;
} flags = {.hidden_units = 100, .compression = "none", .compression_fraction = 0.01};

static flag flag_list[] = {
    {"hidden_units", FLAG_INT, &flags.hidden_units,
     "Units of the hidden layer. 0: no hidden layer (softmax regression).", 0},
    {"num_gpus", FLAG_INT, &flags.num_gpus, "GPUs of each machine. Only 0 in this version.", 0},
    {"sync_replicas", FLAG_BOOL, &flags.sync_replicas,
     "Train in step: an update is by the mean of several workers' gradients.", 0},
    {"replicas_to_aggregate", FLAG_INT, &flags.replicas_to_aggregate,
     "Gradients that an update of --sync_replicas is the mean of. 0: one of each worker.", 0},
    {"deterministic", FLAG_BOOL, &flags.deterministic,
     "With --sync_replicas: equal runs give equal variables, bit for bit. Not with backup workers.", 0},
    {"compression", FLAG_STRING, &flags.compression,
     "Compresses gradients on their way to the parameter servers: none, half, bfloat16 or top_k.", 0},
    {"compression_fraction", FLAG_FLOAT, &flags.compression_fraction,
     "Of top_k: the part of the elements that is sent.", 0},
};

// Returns the error of the flags, or NULL.
static const char *check_flags(void)
{
    if (flags.replicas_to_aggregate != 0 && !flags.sync_replicas)
        return "--replicas_to_aggregate belongs to --sync_replicas";
    if (flags.deterministic && !flags.sync_replicas) return "--deterministic belongs to --sync_replicas";
    if (flags.replicas_to_aggregate < 0 || flags.replicas_to_aggregate > 100000)
        return "--replicas_to_aggregate must be 0 to 100000";
    if (flags.num_gpus != 0) return "this version computes on CPUs only: --num_gpus=0";
    if (flags.hidden_units < 0 || flags.hidden_units > 100000) return "--hidden_units must be 0 to 100000";
    return NULL;
}

// ---- The model ----

static braid_variable weights(braid_graph *g, const char *name, int64_t in, int64_t out)
{
    float stddev = (float)(1.0 / sqrt((double)in));
    return braid_variable_new(g, name, braid_truncated_normal(g, BRAID_SHAPE(in, out), 0, stddev), true);
}

static braid_variable biases(braid_graph *g, const char *name, int64_t units)
{
    return braid_variable_new(g, name, braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(units)), true);
}

// The gradients of all variables, compressed. Returns their number.
static int build_gradients(braid_graph *g, const mnist_model *m, braid_optimizer *opt,
                           braid_grad_and_var pairs[VARIABLES_MAX])
{
    int count;
    const braid_grad_and_var *computed = braid_compute_gradients(opt, m->loss, NULL, 0, &count);
    if (count == 0 || count > VARIABLES_MAX) return 0;
    memcpy(pairs, computed, (size_t)count * sizeof *pairs);
    const braid_compression_options how = {flags.compression, flags.compression_fraction};
    braid_compress_gradients(g, &how, pairs, count);
    return count;
}

static void build_training(braid_graph *g, mnist_model *m, braid_out global_step, int workers, int worker)
{
    braid_optimizer *adam = braid_adam(g, (float)mnist_task_flags.learning_rate);
    braid_grad_and_var pairs[VARIABLES_MAX];
    const int count = build_gradients(g, m, adam, pairs);
    if (!flags.sync_replicas) {
        m->train = braid_apply_gradients(adam, pairs, count, global_step);
        return;
    }
    const int asked = (int)flags.replicas_to_aggregate;
    m->sync = braid_sync_replicas_new(
        adam, &(braid_sync_replicas_options){.replicas_to_aggregate = asked ? asked : workers,
                                             .total_num_replicas = workers,
                                             .name = "mnist_sync_replicas",
                                             .deterministic = flags.deterministic,
                                             .replica = worker});
    m->train = braid_sync_replicas_apply(m->sync, pairs, count, global_step);
}

static mnist_model build_model(braid_graph *g, int workers, int worker)
{
    if (flags.deterministic) braid_graph_set_seed(g, 1); // of the initial values
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

    mnist_model m = mnist_model_new(g);
    braid_out features = m.images;
    if (units > 0) features = braid_relu(g, braid_xw_plus_b(g, m.images, hid_w.read, hid_b.read));
    m.scores = braid_softmax(g, braid_xw_plus_b(g, features, sm_w.read, sm_b.read));

    braid_out log_likely = braid_log(g, braid_clip_by_value(g, m.scores, 1e-10, 1.0));
    m.loss = braid_neg(g, braid_reduce_sum(g, braid_mul(g, m.labels, log_likely)));
    build_training(g, &m, global_step.ref, workers, worker);
    return m;
}

// ---- The program ----

static const mnist_program program = {
    .name = "mnist_replica",
    .about =
        "Trains a network with one hidden layer on images of digits, on a cluster of parameter servers and workers.",
    .train_steps = 200,
    .batch_size = 100,
    .learning_rate = 0.01,
    .flags = flag_list,
    .flag_count = sizeof flag_list / sizeof flag_list[0],
    .device = "/cpu:0",
    .check = check_flags,
    .build = build_model,
    .test_batch = 1000,
};

int main(int argc, char **argv)
{
    return mnist_main(&program, argc, argv);
}
