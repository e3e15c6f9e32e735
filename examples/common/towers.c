// Data parallelism in one graph: towers that share variables and average their gradients.
#include "towers.h"

#include "mnist.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    HIDDEN = 100,
    BATCH_OF_TOWER = 50,
    VARIABLES = 4,
    TOWERS_MAX = 64
};

// ---- The network ----

typedef struct tower {
    braid_out loss, accuracy;
    braid_grad_and_var grads[VARIABLES];
} tower;

// The first tower makes the variables; the others get the same ones.
static braid_out network(braid_graph *g, braid_out images)
{
    braid_push_variable_scope(g, "network", &(braid_variable_scope_options){.reuse = BRAID_AUTO_REUSE});
    const braid_out hidden = braid_relu(g, braid_dense(g, "hidden", images, HIDDEN));
    const braid_out logits = braid_dense(g, "output", hidden, MNIST_CLASSES);
    braid_pop_variable_scope(g);
    return logits;
}

static tower build_tower(braid_graph *g, braid_optimizer *optimizer, braid_out images, braid_out labels)
{
    tower t = {0};
    const braid_out logits = network(g, images);
    t.loss = braid_reduce_mean(g, braid_softmax_cross_entropy(g, logits, labels));
    const braid_out right = braid_equal(g, braid_argmax(g, logits, 1), braid_argmax(g, labels, 1));
    t.accuracy = braid_reduce_mean(g, braid_cast(g, right, BRAID_FLOAT));
    int count;
    const braid_grad_and_var *grads = braid_compute_gradients(optimizer, t.loss, NULL, 0, &count);
    for (int i = 0; i < count && i < VARIABLES; i++)
        t.grads[i] = grads[i];
    return t;
}

static braid_out mean(braid_graph *g, const braid_out *values, int count)
{
    return braid_div(g, braid_add_n(g, values, count), braid_const_float(g, NULL, (float)count));
}

// The gradients of a variable, one from each tower, are averaged beside the variable.
static void average(braid_graph *g, const tower *all, int count, braid_grad_and_var grads[VARIABLES])
{
    for (int v = 0; v < VARIABLES; v++) {
        braid_out values[TOWERS_MAX];
        grads[v] = all[0].grads[v];
        for (int k = 0; k < count; k++)
            values[k] = all[k].grads[v].grad;
        braid_push_colocate(g, grads[v].var.op);
        grads[v].grad = mean(g, values, count);
        braid_pop_colocate(g);
    }
}

towers towers_build(braid_graph *g, int count, towers_push_fn push, void *arg)
{
    towers t = {.count = count < TOWERS_MAX ? count : TOWERS_MAX};
    t.images = braid_placeholder(g, "images", BRAID_FLOAT, BRAID_SHAPE(-1, MNIST_PIXELS));
    t.labels = braid_placeholder(g, "labels", BRAID_FLOAT, BRAID_SHAPE(-1, MNIST_CLASSES));
    braid_out images[TOWERS_MAX], labels[TOWERS_MAX], losses[TOWERS_MAX], accuracies[TOWERS_MAX];
    braid_split(g, t.images, 0, images, t.count);
    braid_split(g, t.labels, 0, labels, t.count);
    braid_optimizer *optimizer = braid_adam(g, 0.005F);
    tower all[TOWERS_MAX];
    for (int k = 0; k < t.count; k++) {
        char name[32];
        snprintf(name, sizeof name, "tower_%d", k);
        braid_push_name_scope(g, name);
        push(g, k, arg);
        all[k] = build_tower(g, optimizer, images[k], labels[k]);
        braid_pop_device(g);
        braid_pop_name_scope(g);
        losses[k] = all[k].loss;
        accuracies[k] = all[k].accuracy;
    }
    t.loss = mean(g, losses, t.count);
    t.accuracy = mean(g, accuracies, t.count);
    braid_grad_and_var grads[VARIABLES];
    average(g, all, t.count, grads);
    t.train = braid_apply_gradients(optimizer, grads, VARIABLES, braid_global_step(g));
    return t;
}

// ---- Training ----

static void print_accuracy(const towers *t, braid_monitored_session *s, mnist *data)
{
    const mnist_batch b = mnist_test_batch(data, 0, 1000 / t->count * t->count);
    braid_tensor *accuracy;
    if (braid_evaluate(s, BRAID_FEED({t->images, b.images}, {t->labels, b.labels}),
                       BRAID_FETCH({t->accuracy, &accuracy})))
        return;
    printf("accuracy: %.3f\n", (double)*(float *)braid_tensor_data(accuracy));
    braid_tensor_free(accuracy);
}

// For each device the ops that took the most time in a step.
static void print_devices(const braid_run_metadata *step)
{
    char *text = braid_run_metadata_summary(step, 3, NULL);
    if (text) printf("%s", text);
    free(text);
}

void towers_train(const towers *t, braid_monitored_session *s)
{
    braid_status *status = braid_status_new();
    mnist *data = mnist_open(NULL, 1, status);
    braid_run_metadata *step = braid_run_metadata_new(); // of the third step, which is traced
    for (int i = 1; data && !braid_should_stop(s); i++) {
        const mnist_batch b = mnist_next_batch(data, BATCH_OF_TOWER * t->count);
        braid_run_with_options(s, BRAID_FEED({t->images, b.images}, {t->labels, b.labels}), NULL, t->train,
                               &(braid_run_options){.metadata = i == 3 ? step : NULL});
    }
    if (mnist_test_count(data, status) > 0) print_accuracy(t, s, data);
    print_devices(step);
    braid_run_metadata_free(step);
    mnist_close(data);
    braid_status_free(status);
}
