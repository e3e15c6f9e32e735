// A training step of the deep MNIST convolutional network (5x5x32, pool, 5x5x64, pool, 1024 with dropout, 10;
// batch 50; Adam), one thread, in this process.
#include "session.h"

enum {
    BATCH = 50,
    UNITS = 1024
};

static braid_out weight(braid_graph *g, braid_shape shape)
{
    return braid_variable_new(g, NULL, braid_truncated_normal(g, shape, 0, 0.1f), true).read;
}

static braid_out bias(braid_graph *g, int64_t size)
{
    return braid_variable_new(g, NULL, braid_full(g, NULL, BRAID_FLOAT, BRAID_SHAPE(size), 0.1), true).read;
}

// [batch, side, side, in] to [batch, side / 2, side / 2, out].
static braid_out conv_and_pool(braid_graph *g, braid_out x, int64_t in, int64_t out)
{
    braid_out features = braid_conv2d(g, x, weight(g, BRAID_SHAPE(5, 5, in, out)), 1, BRAID_SAME);
    return braid_max_pool(g, braid_relu(g, braid_bias_add(g, features, bias(g, out))), 2, 2, BRAID_SAME);
}

static void build(braid_graph *g, bench_step *b)
{
    bench_feed_digits(g, BATCH, b);
    braid_out x = braid_reshape(g, b->feeds[0].out, BRAID_SHAPE(-1, 28, 28, 1));
    x = conv_and_pool(g, x, 1, 32);
    x = braid_flatten(g, conv_and_pool(g, x, 32, 64));
    x = braid_relu(g, braid_xw_plus_b(g, x, weight(g, BRAID_SHAPE(7 * 7 * 64, UNITS)), bias(g, UNITS)));
    x = braid_dropout(g, x, braid_const_float(g, NULL, 0.5f));
    x = braid_xw_plus_b(g, x, weight(g, BRAID_SHAPE(UNITS, BENCH_CLASSES)), bias(g, BENCH_CLASSES));
    braid_out loss = braid_reduce_mean(g, braid_softmax_cross_entropy(g, x, b->feeds[1].out));
    b->target = braid_minimize(braid_adam(g, 1e-4f), loss, braid_global_step(g));
}

int main(void)
{
    bench_step b = {0};
    braid_graph *g = braid_graph_new();
    build(g, &b);
    braid_op *init = braid_global_variables_initializer(g);
    b.session = bench_open(g, NULL, 0);
    bench_run(b.session, NULL, 0, init);
    bench_serve(bench_step_run, &b, 1);
    braid_session_close(b.session, NULL);
    braid_graph_free(g);
    return 0;
}
