// Training goes the same way with each rewrite and with all as it goes in the graph as it was built, to the
// last bit.
#include "runtime/testing/test_graph.h"
#include <braid/braid.h>

static void assert_same_tensor(const braid_tensor *a, const braid_tensor *b)
{
    assert_true(bd_shape_equal(&a->shape, &b->shape));
    assert_memory_equal(a->data, b->data, bd_tensor_bytes(a));
}

static const unsigned each_rewrite[] = {BRAID_REWRITE_CONSTANT_FOLDING,
                                        BRAID_REWRITE_COMMON_SUBEXPRESSIONS,
                                        BRAID_REWRITE_DEPENDENCIES,
                                        BRAID_REWRITE_REMAPPING,
                                        BRAID_REWRITE_ELEMENTWISE,
                                        BRAID_REWRITE_UPDATES,
                                        BRAID_REWRITE_ALL};

enum {
    BATCH = 20,
    STEPS = 8,
    VARIABLES = 4
};

typedef struct network {
    braid_graph *g;
    braid_out x, labels, loss, variables[VARIABLES];
    braid_op *train, *init;
} network;

static network mnist_network(const char *optimizer)
{
    network n = {.g = braid_graph_new()};
    braid_graph *g = n.g;
    braid_graph_set_seed(g, 7);
    n.x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 784));
    n.labels = braid_placeholder(g, "labels", BRAID_FLOAT, BRAID_SHAPE(-1, 10));
    const braid_shape shapes[] = {BRAID_SHAPE(784, 30), BRAID_SHAPE(30), BRAID_SHAPE(30, 10),
                                  BRAID_SHAPE(10)};
    braid_variable v[VARIABLES];
    for (int i = 0; i < VARIABLES; i++) {
        braid_out start =
            i % 2 ? braid_zeros(g, BRAID_FLOAT, shapes[i]) : braid_truncated_normal(g, shapes[i], 0, 0.1f);
        v[i] = braid_variable_new(g, (const char *[]){"hid_w", "hid_b", "sm_w", "sm_b"}[i], start, true);
        n.variables[i] = v[i].read;
    }
    braid_out hidden = braid_relu(g, braid_xw_plus_b(g, n.x, v[0].read, v[1].read));
    braid_out y = braid_softmax(g, braid_xw_plus_b(g, hidden, v[2].read, v[3].read));
    braid_out log_y = braid_log(g, braid_clip_by_value(g, y, 1e-10, 1.0));
    n.loss = braid_neg(g, braid_reduce_sum(g, braid_mul(g, n.labels, log_y)));
    braid_optimizer *o =
        strcmp(optimizer, "adam") == 0 ? braid_adam(g, 0.01f) : braid_gradient_descent(g, 0.01f);
    n.train = braid_minimize(o, n.loss, braid_global_step(g));
    n.init = braid_global_variables_initializer(g);
    return n;
}

// The losses of some steps and the variables at the end.
static void train(const network *n, unsigned disabled, const braid_feed feeds[2], float losses[STEPS],
                  braid_tensor *variables[VARIABLES])
{
    BD_STATUS(st);
    braid_graph_status(n->g, st);
    assert_ok(st);
    braid_session *s = braid_session_open(
        n->g, &(braid_session_options){.disabled_rewrites = disabled, .inter_op_threads = 1}, st);
    assert_ok(st);
    braid_session_run(s, &(braid_run_args){.targets = &n->init, .target_count = 1}, st);
    assert_ok(st);
    for (int i = 0; i < STEPS; i++) {
        braid_tensor *loss;
        braid_fetch fetch = {n->loss, &loss};
        braid_session_run(s,
                          &(braid_run_args){.feeds = feeds,
                                            .feed_count = 2,
                                            .fetches = &fetch,
                                            .fetch_count = 1,
                                            .targets = &n->train,
                                            .target_count = 1},
                          st);
        assert_ok(st);
        losses[i] = bd_tensor_f32(loss)[0];
        braid_tensor_free(loss);
    }
    braid_fetch fetches[VARIABLES];
    for (int i = 0; i < VARIABLES; i++)
        fetches[i] = (braid_fetch){n->variables[i], &variables[i]};
    braid_session_run(s, &(braid_run_args){.fetches = fetches, .fetch_count = VARIABLES}, st);
    assert_ok(st);
    braid_session_close(s, NULL);
}

static void training_goes_the_same_way_with_each_rewrite(void **state)
{
    (void)state;
    for (int o = 0; o < 2; o++) {
        network n = mnist_network(o ? "adam" : "sgd");
        braid_tensor *x = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(BATCH, 784), NULL);
        braid_tensor *labels = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(BATCH, 10), NULL), *plain[VARIABLES];
        for (int i = 0; i < BATCH * 784; i++)
            bd_tensor_f32(x)[i] = (float)(i * 37 % 101) / 101;
        for (int i = 0; i < BATCH * 10; i++)
            bd_tensor_f32(labels)[i] = i % 10 == i / 10 % 10;
        const braid_feed feeds[] = {{n.x, x}, {n.labels, labels}};
        float expected[STEPS], losses[STEPS];
        train(&n, BRAID_REWRITE_ALL, feeds, expected, plain);
        assert_true(expected[STEPS - 1] < expected[0]);
        for (size_t k = 0; k < BD_COUNTOF(each_rewrite); k++) {
            braid_tensor *variables[VARIABLES];
            train(&n, BRAID_REWRITE_ALL & ~each_rewrite[k], feeds, losses, variables);
            assert_memory_equal(losses, expected, sizeof losses);
            for (int i = 0; i < VARIABLES; i++) {
                assert_same_tensor(variables[i], plain[i]);
                braid_tensor_free(variables[i]);
            }
        }
        for (int i = 0; i < VARIABLES; i++)
            braid_tensor_free(plain[i]);
        braid_tensor_free(x);
        braid_tensor_free(labels);
        braid_graph_free(n.g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_goes_the_same_way_with_each_rewrite),
    };
    return BD_RUN_TESTS(tests);
}
