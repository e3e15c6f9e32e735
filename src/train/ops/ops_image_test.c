// Images, dropout and reshaping: TensorFlow's node names, shapes, and the elements that dropout keeps. (A
// test in examples/common compares the model of deep_mnist with a recorded one.)
#include "base/testing/test.h"

#include "graph/graph.h"
#include "train/testing/graph_text.h"
#include <braid/layers.h>
#include <braid/session.h>
#include <math.h>

static void windows_have_the_shapes_of_tensorflow(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 28, 30, 3));
    braid_out filter = braid_ones(g, BRAID_FLOAT, BRAID_SHAPE(5, 4, 3, 16));
    const struct {
        braid_out out;
        braid_shape shape;
    } rows[] = {
        {braid_conv2d(g, x, filter, 1, BRAID_SAME), BRAID_SHAPE(-1, 28, 30, 16)},
        {braid_conv2d(g, x, filter, 2, BRAID_VALID), BRAID_SHAPE(-1, 12, 14, 16)},
        {braid_max_pool(g, x, 3, 2, BRAID_SAME), BRAID_SHAPE(-1, 14, 15, 3)},
        {braid_avg_pool(g, x, 3, 2, BRAID_VALID), BRAID_SHAPE(-1, 13, 14, 3)},
        {braid_flatten(g, x), BRAID_SHAPE(-1, 28 * 30 * 3)},
        {braid_reshape(g, x, BRAID_SHAPE(-1, 84, 10)), BRAID_SHAPE(-1, 84, 10)},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++)
        assert_true(braid_shape_equal(braid_out_shape(rows[i].out), rows[i].shape));
    expect_graph(g, "x = Placeholder\n"
                    "ones = Const\n"
                    "Conv2D = Conv2D x:0 ones:0\n"
                    "Conv2D_1 = Conv2D x:0 ones:0\n"
                    "MaxPool = MaxPool x:0\n"
                    "AvgPool = AvgPool x:0\n"
                    "Reshape/shape = Const\n"
                    "Reshape = Reshape x:0 Reshape/shape:0\n"
                    "Reshape_1/shape = Const\n"
                    "Reshape_1 = Reshape x:0 Reshape_1/shape:0\n");
    braid_graph_free(g);
}

static void a_convolution_layer_is_that_of_tf_layers(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 28, 28, 3));
    braid_out y = braid_conv2d_layer(g, NULL, x, 16, 5, 2, BRAID_SAME);
    assert_true(braid_shape_equal(braid_out_shape(y), BRAID_SHAPE(-1, 14, 14, 16)));
    expect_nodes(g, "conv2d/convolution",
                 "conv2d/convolution/Shape = Const\n"
                 "conv2d/convolution/dilation_rate = Const\n"
                 "conv2d/convolution = Conv2D x:0 conv2d/kernel/read:0\n");
    expect_nodes(g, "conv2d/BiasAdd", "conv2d/BiasAdd = BiasAdd conv2d/convolution:0 conv2d/bias/read:0\n");
    const braid_tensor *max =
        bd_node_attr_tensor(braid_graph_find(g, "conv2d/kernel/Initializer/random_uniform/max"), "value");
    assert_float_equal(*(const float *)braid_tensor_data((braid_tensor *)max),
                       (float)sqrt(6.0 / (5 * 5 * (3 + 16))), 1e-7f);
    braid_graph_free(g);
}

static void dropout_keeps_the_mean(void **state)
{
    (void)state;
    enum {
        COUNT = 20000
    };
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out keep_prob = braid_placeholder(g, "keep_prob", BRAID_FLOAT, BRAID_SCALAR);
    braid_out y = braid_dropout(g, braid_full(g, "x", BRAID_FLOAT, BRAID_SHAPE(COUNT), 3), keep_prob);
    assert_string_equal(braid_op_name(y.op), "dropout/mul");
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    static const float probabilities[] = {1, 0.25f, 0.5f};
    for (int i = 0; i < 3; i++) {
        float p = probabilities[i];
        braid_tensor *fed = braid_tensor_float(p), *t;
        braid_session_run(s,
                          &(braid_run_args){.feeds = &(braid_feed){keep_prob, fed},
                                            .feed_count = 1,
                                            .fetches = &(braid_fetch){y, &t},
                                            .fetch_count = 1},
                          st);
        assert_ok(st);
        const float *values = braid_tensor_data(t);
        int kept = 0;
        for (int k = 0; k < COUNT; k++) {
            if (values[k] != 0) assert_float_equal(values[k], 3 / p, 1e-6f);
            kept += values[k] != 0;
        }
        // Five standard deviations of the number kept.
        assert_true(fabs(kept - (double)p * COUNT) <= 5 * sqrt((double)p * (1 - (double)p) * COUNT));
        braid_tensor_free(fed);
        braid_tensor_free(t);
    }
    braid_session_close(s, st);
    braid_graph_free(g);
}

static void unknown_shapes_are_errors(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const char *const says[] = {"Flatten of 'x': all its dimensions but the first",
                                       "Layer 'conv2d': its input 'x' must be"};
    for (int i = 0; i < 2; i++) {
        braid_graph *g = braid_graph_new();
        braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 28, 28, -1));
        if (i == 0) braid_flatten(g, x);
        if (i == 1) braid_conv2d_layer(g, NULL, x, 16, 5, 2, BRAID_SAME);
        braid_graph_status(g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, says[i]);
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_have_the_shapes_of_tensorflow),
        cmocka_unit_test(a_convolution_layer_is_that_of_tf_layers),
        cmocka_unit_test(dropout_keeps_the_mean),
        cmocka_unit_test(unknown_shapes_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
