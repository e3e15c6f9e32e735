// The networks of the benchmarks: for each its batch, its products and its loss.
#ifndef BD_BENCH_MODELS_H
#define BD_BENCH_MODELS_H

#include "session.h"

// ---- MNIST: 784-100-10 ----

enum {
    BENCH_MNIST_BATCH = 100,
    BENCH_MNIST_HIDDEN = 100
};

// The loss as mnist_replica writes it, a sum over the batch.
static inline braid_out bench_mnist_loss(braid_graph *g, braid_out x, braid_out labels)
{
    enum {
        HIDDEN = BENCH_MNIST_HIDDEN
    };
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
    return braid_neg(g, braid_reduce_sum(g, braid_mul(g, labels, log_y)));
}

// ---- The deep MNIST network: 5x5x32, pool, 5x5x64, pool, 1024 with dropout, 10 ----

enum {
    BENCH_CNN_BATCH = 50,
    BENCH_CNN_UNITS = 1024
};

static inline braid_out bench_weight(braid_graph *g, braid_shape shape)
{
    return braid_variable_new(g, NULL, braid_truncated_normal(g, shape, 0, 0.1f), true).read;
}

static inline braid_out bench_bias(braid_graph *g, int64_t size)
{
    return braid_variable_new(g, NULL, braid_full(g, NULL, BRAID_FLOAT, BRAID_SHAPE(size), 0.1), true).read;
}

// [batch, side, side, in] to [batch, side / 2, side / 2, out].
static inline braid_out bench_conv_and_pool(braid_graph *g, braid_out x, int64_t in, int64_t out)
{
    braid_out features = braid_conv2d(g, x, bench_weight(g, BRAID_SHAPE(5, 5, in, out)), 1, BRAID_SAME);
    return braid_max_pool(g, braid_relu(g, braid_bias_add(g, features, bench_bias(g, out))), 2, 2,
                          BRAID_SAME);
}

static inline braid_out bench_cnn_loss(braid_graph *g, braid_out images, braid_out labels)
{
    enum {
        UNITS = BENCH_CNN_UNITS
    };
    braid_out x = braid_reshape(g, images, BRAID_SHAPE(-1, 28, 28, 1));
    x = bench_conv_and_pool(g, x, 1, 32);
    x = braid_flatten(g, bench_conv_and_pool(g, x, 32, 64));
    x = braid_relu(
        g, braid_xw_plus_b(g, x, bench_weight(g, BRAID_SHAPE(7 * 7 * 64, UNITS)), bench_bias(g, UNITS)));
    x = braid_dropout(g, x, braid_const_float(g, NULL, 0.5f));
    x = braid_xw_plus_b(g, x, bench_weight(g, BRAID_SHAPE(UNITS, BENCH_CLASSES)),
                        bench_bias(g, BENCH_CLASSES));
    return braid_reduce_mean(g, braid_softmax_cross_entropy(g, x, labels));
}

#endif
