// The network of mnist_replica, 784-100-10, trained by an algorithm that the program names.
#include "scheme.h"

#include "mnist.h"
#include "mnist_task.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *algorithm;
    int64_t hidden_units, period, staleness, backup_workers, threads;
    double rho, momentum, compression_fraction;
    const char *compression, *worker_rates;
} flags = {.compression = "none",
           .compression_fraction = 0.01,
           .hidden_units = 100,
           .staleness = -1,
           .backup_workers = -1,
           .threads = 1,
           .momentum = -1};

// --algorithm is the last, for programs that have it.
static flag flag_list[] = {
    {"hidden_units", FLAG_INT, &flags.hidden_units, "Units of the hidden layer.", 0},
    {"period", FLAG_INT, &flags.period, "Steps of a worker between two exchanges. 0: the algorithm's.", 0},
    {"staleness", FLAG_INT, &flags.staleness, "Of bounded_staleness: the maximum. -1: the algorithm's.", 0},
    {"backup_workers", FLAG_INT, &flags.backup_workers,
     "Of backup_workers: how many may be late. -1: one, where there are several workers.", 0},
    {"worker_rates", FLAG_STRING, &flags.worker_rates,
     "Learning rates of worker 0, 1 and so on: 0.6,0.4. Workers beyond have --learning_rate.", 0},
    {"threads", FLAG_INT, &flags.threads, "Of hogwild in a single process: how many threads train.", 0},
    {"rho", FLAG_FLOAT, &flags.rho, "Of elastic averaging: the elasticity. 0: the algorithm's.", 0},
    {"momentum", FLAG_FLOAT, &flags.momentum, "Of eamsgd. -1: the algorithm's.", 0},
    {"compression", FLAG_STRING, &flags.compression,
     "Compresses gradients on their way to the parameter servers: none, half, bfloat16 or top_k.", 0},
    {"compression_fraction", FLAG_FLOAT, &flags.compression_fraction,
     "Of top_k: the part of the elements that is sent.", 0},
    {"algorithm", FLAG_STRING, &flags.algorithm, "How the workers share the variables; --list names all.", 0},
};
#define FLAG_COUNT ((int)(sizeof flag_list / sizeof flag_list[0]))

// The next rate of a list, of which `*list` is what comes after it; 0 after the last, -1 for no rate.
static double next_rate(const char **list)
{
    if (!**list) return 0;
    char *end;
    const double rate = strtod(*list, &end);
    const bool is_rate = end > *list && (!*end || (*end == ',' && end[1])) && rate > 0 && rate < 1e6;
    *list = *end == ',' ? end + 1 : end;
    return is_rate ? rate : -1;
}

static const char *check_flags(void)
{
    double rate;
    for (const char *rest = flags.worker_rates; (rate = next_rate(&rest));)
        if (rate < 0) return "--worker_rates must be numbers above 0 with commas in between";
    if (flags.staleness < -1) return "--staleness must be -1 or more";
    if (flags.backup_workers < -1) return "--backup_workers must be -1 or more";
    if (!(flags.rho >= 0)) return "--rho must be 0 or more";
    if (!(flags.momentum == -1 || (flags.momentum >= 0 && flags.momentum < 1)))
        return "--momentum must be -1, or 0 or more and below 1";
    if (flags.threads < 1 || flags.threads > 1000) return "--threads must be 1 to 1000";
    if (flags.threads > 1 && strcmp(flags.algorithm, "hogwild") != 0)
        return "--threads is for the algorithm hogwild";
    if (flags.hidden_units < 1 || flags.hidden_units > 100000) return "--hidden_units must be 1 to 100000";
    if (flags.period < 0 || flags.period > 1000000) return "--period must be 0 to 1000000";
    return NULL;
}

// ---- The algorithm ----

// Each worker has a directory of summaries of its own; NULL: none.
static const char *summary_dir(int worker)
{
    static char dir[1024];
    if (!*mnist_task_flags.log_dir) return NULL;
    snprintf(dir, sizeof dir, "%s/worker-%d", mnist_task_flags.log_dir, worker);
    return dir;
}

static float learning_rate_of(int worker)
{
    const char *rest = flags.worker_rates;
    double rate = next_rate(&rest);
    for (int i = 0; i < worker && rate > 0; i++)
        rate = next_rate(&rest);
    return (float)(rate > 0 ? rate : mnist_task_flags.learning_rate);
}

static braid_algorithm_options options_of(int workers, int worker)
{
    braid_algorithm_options o = braid_algorithm_defaults(flags.algorithm);
    o.num_workers = workers;
    o.worker = worker;
    o.is_chief = worker == 0;
    o.summary_dir = summary_dir(worker);
    o.learning_rate = learning_rate_of(worker);
    if (flags.backup_workers >= 0)
        o.backup_workers = (int)flags.backup_workers;
    else if (strcmp(flags.algorithm, "backup_workers") == 0 && workers > 1)
        o.backup_workers = 1;
    o.compression = (braid_compression_options){flags.compression, flags.compression_fraction};
    if (flags.period) o.period = (int)flags.period;
    if (flags.staleness >= 0) o.staleness = (int)flags.staleness;
    if (flags.rho > 0) o.rho = (float)flags.rho;
    if (flags.momentum >= 0) o.momentum = (float)flags.momentum;
    return o;
}

static bool is_synchronous(void)
{
    const braid_algorithm_info *info;
    for (int i = 0; (info = braid_algorithm_at(i)); i++)
        if (strcmp(info->name, flags.algorithm) == 0) return info->is_synchronous;
    return false;
}

// The global step counts updates of the shared variables: as many as --train_steps steps of all workers make.
static int64_t last_step(const braid_algorithm_options *o)
{
    int64_t steps = mnist_task_flags.train_steps / (o->period > 0 ? o->period : 1);
    if (is_synchronous() && o->num_workers > o->backup_workers) steps /= o->num_workers - o->backup_workers;
    return steps > 1 ? steps : 1;
}

// ---- The model ----

static braid_variable weights(braid_graph *g, const char *name, int64_t in, int64_t out)
{
    const float stddev = (float)(1.0 / sqrt((double)in));
    return braid_variable_new(g, name, braid_truncated_normal(g, BRAID_SHAPE(in, out), 0, stddev), true);
}

static braid_variable biases(braid_graph *g, const char *name, int64_t units)
{
    return braid_variable_new(g, name, braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(units)), true);
}

static mnist_model build_model(braid_graph *g, int workers, int worker)
{
    braid_graph_set_seed(g, 1); // the first values are the same for all algorithms
    mnist_model m = mnist_model_new(g);
    const braid_out global_step = braid_global_step(g);
    const braid_algorithm_options o = options_of(workers, worker);
    m.algorithm = braid_algorithm_new(g, flags.algorithm, &o);
    m.last_step = last_step(&o);
    m.threads = (int)flags.threads;

    braid_push_algorithm(g, m.algorithm); // the variables made from here on are the algorithm's
    const braid_variable hid_w = weights(g, "hid_w", MNIST_PIXELS, flags.hidden_units);
    const braid_variable hid_b = biases(g, "hid_b", flags.hidden_units);
    const braid_variable sm_w = weights(g, "sm_w", flags.hidden_units, MNIST_CLASSES);
    const braid_variable sm_b = biases(g, "sm_b", MNIST_CLASSES);
    braid_pop_algorithm(g);

    const braid_out hidden = braid_relu(g, braid_xw_plus_b(g, m.images, hid_w.read, hid_b.read));
    const braid_out logits = braid_xw_plus_b(g, hidden, sm_w.read, sm_b.read);
    m.scores = braid_softmax(g, logits);
    m.loss = braid_reduce_mean(g, braid_softmax_cross_entropy(g, logits, m.labels));
    m.train = braid_algorithm_minimize(m.algorithm, m.loss, global_step);
    return m;
}

int scheme_main(const scheme *s, int argc, char **argv)
{
    flags.algorithm = s->algorithm ? s->algorithm : "asynchronous";
    flags.rho = s->rho;
    flags.period = s->period;
    flags.worker_rates = s->worker_rates ? s->worker_rates : "";
    const mnist_program program = {
        .name = s->name,
        .about = s->about,
        .train_steps = s->train_steps,
        .batch_size = 100,
        .learning_rate = s->learning_rate,
        .flags = flag_list,
        .flag_count = s->algorithm ? FLAG_COUNT - 1 : FLAG_COUNT,
        .device = "/cpu:0",
        .check = check_flags,
        .build = build_model,
        .test_batch = 1000,
    };
    return mnist_main(&program, argc, argv);
}
