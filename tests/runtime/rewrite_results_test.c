// Rewritten graphs compute what they compute as they were built, with each rewrite alone and with all: random graphs of pure
// ops, and steps of training, to the last bit.
#include "base/random.h"
#include "runtime/testing/test_graph.h"
#include <braid/braid.h>

static braid_out vector(braid_graph *g, int64_t n)
{
    braid_tensor *t = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(n), NULL);
    for (int64_t i = 0; i < n; i++)
        bd_tensor_f32(t)[i] = (float)i;
    return tg_const(g, NULL, t);
}

// ---- Random graphs ----

enum {
    ROWS = 5,
    COLS = 70, // more than a vector register, and not a multiple of one
    VALUES_MAX = 60,
    FETCHES = 4
};

// A random graph of pure ops over matrices [ROWS, COLS], rows [COLS] and scalars, with control edges here and there.
typedef struct random_graph {
    braid_graph *g;
    bd_rng rng;
    braid_out x;
    braid_out values[VALUES_MAX];
    int count;
} random_graph;

static int draw(random_graph *r, int below)
{
    return (int)(bd_rng_next(&r->rng) % (uint64_t)below);
}

static braid_out any_value(random_graph *r)
{
    return r->values[draw(r, r->count)];
}

static braid_out random_constant(random_graph *r)
{
    static const float numbers[] = {0, 1, -1, 0.5f, 3, -0.1f};
    if (draw(r, 2)) return tg_float(r->g, NULL, numbers[draw(r, BD_COUNTOF(numbers))]);
    braid_tensor *t =
        braid_tensor_new(BRAID_FLOAT, draw(r, 2) ? BRAID_SHAPE(ROWS, COLS) : BRAID_SHAPE(COLS), NULL);
    for (int64_t i = 0; i < bd_tensor_count(t); i++)
        bd_tensor_f32(t)[i] = (float)draw(r, 8) - 4;
    return tg_const(r->g, NULL, t);
}

static braid_out bounded(random_graph *r, braid_out x) // so that numbers stay numbers
{
    return tg2(r->g, "Minimum", NULL, tg2(r->g, "Maximum", NULL, x, tg_float(r->g, NULL, -20)),
               tg_float(r->g, NULL, 20));
}

static braid_out
random_product(random_graph *r) // [ROWS, COLS] [COLS, COLS], perhaps with a bias and an activation
{
    static const char *const activations[] = {"Relu", "Relu6", "Tanh", "Sigmoid", "Neg"};
    braid_tensor *w = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(COLS, COLS), NULL);
    for (int64_t i = 0; i < bd_tensor_count(w); i++)
        bd_tensor_f32(w)[i] = (float)(draw(r, 9) - 4) / 64;
    braid_out matrix = tg2(r->g, "Add", NULL, r->x, any_value(r));
    braid_out y = tg2(r->g, "MatMul", NULL, matrix, tg_const(r->g, NULL, w));
    if (draw(r, 2)) y = tg2(r->g, "BiasAdd", NULL, y, vector(r->g, COLS));
    return draw(r, 2) ? tg1(r->g, activations[draw(r, BD_COUNTOF(activations))], NULL, y) : y;
}

static braid_out random_node(random_graph *r)
{
    static const char *const unary[] = {"Neg",  "Abs",      "Square", "Tanh",        "Sigmoid",
                                        "Relu", "Identity", "Floor",  "StopGradient"};
    static const char *const binary[] = {
        "Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"};
    switch (draw(r, 8)) {
    case 0: return random_constant(r);
    case 1:
    case 2: return bounded(r, tg1(r->g, unary[draw(r, BD_COUNTOF(unary))], NULL, any_value(r)));
    case 3:
    case 4:
    case 5:
        return bounded(r, tg2(r->g, binary[draw(r, BD_COUNTOF(binary))], NULL, any_value(r), any_value(r)));
    case 6: return bounded(r, random_product(r));
    default:
        return tg_identity_after(
            r->g, NULL, any_value(r),
            tg_after(r->g, "NoOp", NULL, 2, (braid_op *[]){any_value(r).op, any_value(r).op}));
    }
}

static void build_random(random_graph *r, uint64_t seed)
{
    *r = (random_graph){.g = braid_graph_new(), .rng = bd_rng_init(seed)};
    r->values[r->count++] = r->x = tg_placeholder(r->g, "x", BRAID_FLOAT);
    while (r->count < VALUES_MAX) {
        braid_out next = random_node(r);
        r->values[r->count++] = next;
    }
}

static void fetch_random(const random_graph *r, unsigned disabled, const braid_tensor *x,
                         braid_tensor *out[FETCHES])
{
    BD_STATUS(st);
    braid_graph_status(r->g, st);
    assert_ok(st);
    braid_session *s = braid_session_open(
        r->g, &(braid_session_options){.disabled_rewrites = disabled, .inter_op_threads = 2}, st);
    assert_ok(st);
    braid_feed feed = {r->x, x};
    braid_fetch fetches[FETCHES];
    for (int i = 0; i < FETCHES; i++)
        fetches[i] = (braid_fetch){r->values[VALUES_MAX - 1 - 3 * i], &out[i]};
    const braid_run_args args = {.feeds = &feed, .feed_count = 1, .fetches = fetches, .fetch_count = FETCHES};
    braid_session_run(s, &args, st);
    assert_ok(st);
    braid_session_close(s, NULL);
}

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

static void random_graphs_give_the_same_with_each_rewrite(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        random_graph r;
        build_random(&r, seed);
        braid_tensor *x = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(ROWS, COLS), NULL), *plain[FETCHES];
        for (int64_t i = 0; i < bd_tensor_count(x); i++)
            bd_tensor_f32(x)[i] = (float)draw(&r, 1000) / 100 - 5;
        fetch_random(&r, BRAID_REWRITE_ALL, x, plain);
        for (size_t k = 0; k < BD_COUNTOF(each_rewrite); k++) {
            braid_tensor *out[FETCHES];
            fetch_random(&r, BRAID_REWRITE_ALL & ~each_rewrite[k], x, out);
            for (int i = 0; i < FETCHES; i++) {
                if (memcmp(plain[i]->data, out[i]->data, bd_tensor_bytes(plain[i])))
                    print_message("seed %d, rewrite %u, fetch %d\n", (int)seed, each_rewrite[k], i);
                assert_same_tensor(plain[i], out[i]);
                braid_tensor_free(out[i]);
            }
        }
        for (int i = 0; i < FETCHES; i++)
            braid_tensor_free(plain[i]);
        braid_tensor_free(x);
        braid_graph_free(r.g);
    }
}

// ---- Training ----

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
        cmocka_unit_test(random_graphs_give_the_same_with_each_rewrite),
        cmocka_unit_test(training_goes_the_same_way_with_each_rewrite),
    };
    return BD_RUN_TESTS(tests);
}
