// Trains the network of mnist_replica by any of the algorithms of distributed training, and ends with a table
// of what each worker did: steps, updates, staleness, bytes moved, waiting time.
//
//     braid run --ps 1 --workers 2 mnist_algorithm --algorithm=easgd
//     mnist_algorithm --list
#include <braid/braid.h>

#include "mnist.h"
#include "mnist_task.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct {
    const char *algorithm;
    int64_t hidden_units, period, staleness, backup_workers;
    double rho, momentum;
} flags = {.algorithm = "asynchronous", .hidden_units = 100, .staleness = -1, .rho = -1, .momentum = -1};

static flag flag_list[] = {
    {"algorithm", FLAG_STRING, &flags.algorithm, "How the workers share the variables; --list names all.", 0},
    {"hidden_units", FLAG_INT, &flags.hidden_units, "Units of the hidden layer.", 0},
    {"period", FLAG_INT, &flags.period, "Steps of a worker between two exchanges. 0: the algorithm's.", 0},
    {"staleness", FLAG_INT, &flags.staleness, "Of bounded_staleness: the maximum. -1: the algorithm's.", 0},
    {"backup_workers", FLAG_INT, &flags.backup_workers,
     "Of backup_workers: how many of the workers may be late.", 0},
    {"rho", FLAG_FLOAT, &flags.rho, "Of elastic averaging: the elasticity. -1: the algorithm's.", 0},
    {"momentum", FLAG_FLOAT, &flags.momentum, "Of eamsgd. -1: the algorithm's.", 0},
};

static const char *check_flags(void)
{
    if (flags.hidden_units < 1 || flags.hidden_units > 100000) return "--hidden_units must be 1 to 100000";
    if (flags.period < 0 || flags.period > 1000000) return "--period must be 0 to 1000000";
    return NULL;
}

static braid_algorithm *make_algorithm(braid_graph *g, int workers, int worker)
{
    braid_algorithm_options o = braid_algorithm_defaults(flags.algorithm);
    o.num_workers = workers;
    o.worker = worker;
    o.is_chief = worker == 0;
    o.learning_rate = (float)mnist_task_flags.learning_rate;
    o.backup_workers = (int)flags.backup_workers;
    if (flags.period) o.period = (int)flags.period;
    if (flags.staleness >= 0) o.staleness = (int)flags.staleness;
    if (flags.rho >= 0) o.rho = (float)flags.rho;
    if (flags.momentum >= 0) o.momentum = (float)flags.momentum;
    return braid_algorithm_new(g, flags.algorithm, &o);
}

// The global step counts updates of the shared variables: as many as --train_steps steps of all workers make.
static int64_t last_step(int workers)
{
    int64_t steps = mnist_task_flags.train_steps;
    const int64_t period = flags.period ? flags.period : braid_algorithm_defaults(flags.algorithm).period;
    for (int i = 0; braid_algorithm_at(i); i++)
        if (strcmp(braid_algorithm_at(i)->name, flags.algorithm) == 0 &&
            braid_algorithm_at(i)->is_synchronous)
            steps /= workers - flags.backup_workers;
    return period > 0 && steps > period ? steps / period : 1;
}

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
    mnist_model m = mnist_model_new(g);
    braid_graph_set_seed(g, 1); // the first values are the same for all algorithms
    const braid_out global_step = braid_global_step(g);
    m.algorithm = make_algorithm(g, workers, worker);
    m.last_step = last_step(workers);

    braid_push_algorithm(g, m.algorithm);
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

static const mnist_program program = {
    .name = "mnist_algorithm",
    .about = "Trains a network with one hidden layer on images of digits by one of many algorithms.",
    .train_steps = 2000,
    .batch_size = 100,
    .learning_rate = 0.1,
    .flags = flag_list,
    .flag_count = sizeof flag_list / sizeof flag_list[0],
    .device = "/cpu:0",
    .check = check_flags,
    .build = build_model,
    .test_batch = 1000,
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (int i = 0; braid_algorithm_at(i); i++)
            printf("%-18s %s\n", braid_algorithm_at(i)->name, braid_algorithm_at(i)->about);
        return 0;
    }
    return mnist_main(&program, argc, argv);
}
