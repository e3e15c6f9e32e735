// The convolutional network of TensorFlow's MNIST tutorial for experts, with dropout, trained by all workers
// asynchronously: two convolutions with pooling, a dense layer of 1024 units, and one for the ten digits.
//
//     braid run --ps 1 --workers 2 deep_mnist --data_dir=DIR
//
// or by hand, as mnist_replica.
#include <braid/braid.h>

#include "mnist.h"
#include "mnist_task.h"

static double keep_prob = 0.5;

static flag flag_list[] = {
    {"keep_prob", FLAG_FLOAT, &keep_prob,
     "Part of the dense layer that dropout keeps while training. 1: all.", 0},
};

// ---- The model ----

enum {
    KERNEL = 5, // height and width of the convolutions
    FILTERS_1 = 32,
    FILTERS_2 = 64,
    POOLED_SIDE = MNIST_SIDE / 4, // after two poolings by 2
    DENSE_UNITS = 1024
};

static braid_variable weights(braid_graph *g, braid_shape shape)
{
    return braid_variable_new(g, NULL, braid_truncated_normal(g, shape, 0, 0.1f), true);
}

// A little above zero, so that no unit of a ReLU begins dead.
static braid_variable biases(braid_graph *g, int64_t units)
{
    braid_out tenths = braid_full(g, NULL, BRAID_FLOAT, BRAID_SHAPE(units), 0.1);
    return braid_variable_new(g, NULL, tenths, true);
}

// [batch, side, side, in] to [batch, side / 2, side / 2, out].
static braid_out conv_and_pool(braid_graph *g, braid_out x, int64_t in, int64_t out)
{
    braid_variable w = weights(g, BRAID_SHAPE(KERNEL, KERNEL, in, out)), b = biases(g, out);
    braid_out features = braid_add(g, braid_conv2d(g, x, w.read, 1, BRAID_SAME), b.read);
    return braid_max_pool(g, braid_relu(g, features), 2, 2, BRAID_SAME);
}

static mnist_model build_model(braid_graph *g, int workers, int worker)
{
    (void)workers, (void)worker; // they do not wait for each other
    mnist_model m = mnist_model_new(g);
    braid_out x = braid_reshape(g, m.images, BRAID_SHAPE(-1, MNIST_SIDE, MNIST_SIDE, 1));
    x = conv_and_pool(g, x, 1, FILTERS_1);
    x = conv_and_pool(g, x, FILTERS_1, FILTERS_2);

    int64_t flat = POOLED_SIDE * POOLED_SIDE * FILTERS_2;
    braid_variable w = weights(g, BRAID_SHAPE(flat, DENSE_UNITS)), b = biases(g, DENSE_UNITS);
    x = braid_relu(g, braid_add(g, braid_matmul(g, braid_flatten(g, x), w.read), b.read));
    m.keep_in_training = keep_prob;
    m.keep_prob = braid_placeholder(g, NULL, BRAID_FLOAT, BRAID_SHAPE_UNKNOWN);
    x = braid_dropout(g, x, m.keep_prob);
    w = weights(g, BRAID_SHAPE(DENSE_UNITS, MNIST_CLASSES));
    b = biases(g, MNIST_CLASSES);
    m.scores = braid_add(g, braid_matmul(g, x, w.read), b.read);

    m.loss = braid_reduce_mean(g, braid_softmax_cross_entropy(g, m.scores, m.labels));
    braid_out step = braid_global_step(g);
    m.train = braid_minimize(braid_adam(g, (float)mnist_task_flags.learning_rate), m.loss, step);
    return m;
}

// ---- The program ----

static const char *check_flags(void)
{
    return keep_prob > 0 && keep_prob <= 1 ? NULL : "--keep_prob must be more than 0 and at most 1";
}

static const mnist_program program = {
    .name = "deep_mnist",
    .about =
        "Trains a convolutional network on images of digits, on a cluster of parameter servers and workers.",
    .train_steps = 120,
    .batch_size = 100,
    .learning_rate = 0.001,
    .flags = flag_list,
    .flag_count = sizeof flag_list / sizeof flag_list[0],
    .device = "",
    .check = check_flags,
    .build = build_model,
    .test_batch = 200,
};

int main(int argc, char **argv)
{
    return mnist_main(&program, argc, argv);
}
