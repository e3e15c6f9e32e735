// A training step of the deep MNIST convolutional network (5x5x32, pool, 5x5x64, pool, 1024 with dropout, 10; batch 50; Adam), one
// thread, in this process.
#include "cluster.h"

enum {
    BATCH = 50,
    PIXELS = 784,
    UNITS = 1024,
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

static braid_out weight(braid_graph *g, braid_shape shape)
{
    return braid_variable_new(g, NULL, braid_truncated_normal(g, shape, 0, 0.1f), true).read;
}

static braid_out bias(braid_graph *g, int64_t size)
{
    return braid_variable_new(g, NULL, braid_full(g, NULL, BRAID_FLOAT, BRAID_SHAPE(size), 0.1), true).read;
}

static braid_out conv(braid_graph *g, braid_out x, braid_shape filter)
{
    braid_op_desc *d = braid_op_begin(g, "Conv2D", NULL);
    braid_op_input(d, x);
    braid_op_input(d, weight(g, filter));
    braid_op_attr_int_list(d, "strides", (int64_t[]){1, 1, 1, 1}, 4);
    braid_op_attr_string(d, "padding", "SAME");
    return braid_relu(g, braid_bias_add(g, braid_op_end_out(d), bias(g, filter.dims[3])));
}

static braid_out pool(braid_graph *g, braid_out x)
{
    braid_op_desc *d = braid_op_begin(g, "MaxPool", NULL);
    braid_op_input(d, x);
    braid_op_attr_int_list(d, "ksize", (int64_t[]){1, 2, 2, 1}, 4);
    braid_op_attr_int_list(d, "strides", (int64_t[]){1, 2, 2, 1}, 4);
    braid_op_attr_string(d, "padding", "SAME");
    return braid_op_end_out(d);
}

static braid_out reshape(braid_graph *g, braid_out x, const int32_t *dims, int count)
{
    braid_out inputs[] = {x, braid_const_int32s(g, NULL, dims, count)};
    return braid_output(braid_op_add(g, "Reshape", NULL, inputs, 2), 0);
}

static braid_out op(braid_graph *g, const char *type, braid_out x)
{
    return braid_output(braid_op_add(g, type, NULL, &x, 1), 0);
}

// tf.nn.dropout: what is kept is divided by the probability to keep it.
static braid_out dropout(braid_graph *g, braid_out x)
{
    braid_out keep = braid_const_float(g, NULL, 0.5f);
    braid_out uniform = braid_random_uniform(g, BRAID_SHAPE(BATCH, UNITS), 0, 1);
    braid_out mask = op(g, "Floor", braid_add(g, keep, uniform));
    return braid_mul(g, braid_div(g, x, keep), mask);
}

static void build(braid_graph *g, bench *b)
{
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, PIXELS));
    braid_out labels = braid_placeholder(g, "labels", BRAID_FLOAT, BRAID_SHAPE(-1, CLASSES));
    braid_out at = reshape(g, x, (int32_t[]){-1, 28, 28, 1}, 4);
    at = pool(g, conv(g, at, BRAID_SHAPE(5, 5, 1, 32)));
    at = pool(g, conv(g, at, BRAID_SHAPE(5, 5, 32, 64)));
    at = reshape(g, at, (int32_t[]){-1, 7 * 7 * 64}, 2);
    at = braid_relu(g, braid_xw_plus_b(g, at, weight(g, BRAID_SHAPE(7 * 7 * 64, UNITS)), bias(g, UNITS)));
    at = dropout(g, at);
    at = braid_xw_plus_b(g, at, weight(g, BRAID_SHAPE(UNITS, CLASSES)), bias(g, CLASSES));
    braid_out loss = braid_reduce_mean(g, braid_softmax_cross_entropy(g, at, labels));
    b->train = braid_minimize(braid_adam(g, 1e-4f), loss, braid_global_step(g));

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

int main(void)
{
    bench b = {0};
    braid_graph *g = braid_graph_new();
    build(g, &b);
    braid_op *init = braid_global_variables_initializer(g);
    b.session = bench_open(g, NULL);
    bench_run(b.session, NULL, 0, init);
    bench_serve(step, &b, 1);
    braid_session_close(b.session, NULL);
    braid_graph_free(g);
    return 0;
}
