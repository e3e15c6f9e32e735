// Strategies in one process: the same training as on one device, and what becomes of variables and values.
#include "base/testing/test.h"

#include "base/alloc.h"
#include <braid/braid.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    ROWS = 8,
    WIDTH = 3,
    STEPS = 5
};

static const char *const devices[] = {"/cpu:0", "/cpu:1"};

static braid_session *open_session(braid_graph *g)
{
    BD_STATUS(st);
    braid_op *const init[] = {braid_global_variables_initializer(g), braid_local_variables_initializer(g)};
    braid_graph_status(g, st);
    assert_ok(st);
    braid_session *s = braid_session_open(g, &(braid_session_options){.cpu_devices = 2}, st);
    assert_ok(st);
    for (int i = 0; i < 2; i++)
        braid_session_run(s, &(braid_run_args){.targets = &init[i], .target_count = 1}, st);
    assert_ok(st);
    return s;
}

static void close_session(braid_session *s, braid_graph *g)
{
    BD_STATUS(st);
    braid_session_close(s, st);
    assert_ok(st);
    braid_graph_free(g);
}

static void run(braid_session *s, braid_op *target)
{
    BD_STATUS(st);
    braid_session_run(s, &(braid_run_args){.targets = &target, .target_count = 1}, st);
    assert_ok(st);
}

static void expect(braid_session *s, braid_out fetch, const float *want, int count)
{
    BD_STATUS(st);
    braid_tensor *got = NULL;
    braid_session_run(s, &(braid_run_args){.fetches = &(braid_fetch){fetch, &got}, .fetch_count = 1}, st);
    assert_ok(st);
    assert_int_equal(braid_tensor_num_elements(got), count);
    for (int i = 0; i < count; i++)
        if (!(fabsf(((float *)braid_tensor_data(got))[i] - want[i]) <= 2e-6f * (1 + fabsf(want[i]))))
            fail_msg("element %d is %.9g, not %.9g", i, (double)((float *)braid_tensor_data(got))[i],
                     (double)want[i]);
    braid_tensor_free(got);
}

// ---- Training ----

typedef struct inputs {
    braid_per_replica x;
} inputs;

// A regression with a layer, whose variables come from braid_variable_get, and a variable of its own.
static braid_out model(const braid_replica *replica, void *arg)
{
    const inputs *in = arg;
    braid_graph *g = replica->graph;
    const braid_out x = in->x.values[replica->local];
    const braid_variable w =
        braid_variable_get(g, "w", BRAID_FLOAT, BRAID_SHAPE(WIDTH, 1), braid_constant_initializer(0.5), true);
    const braid_variable b = braid_variable_new(g, "b", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(1)), true);
    const braid_out y = braid_xw_plus_b(g, x, w.read, b.read);
    return braid_reduce_mean(g, braid_square(g, y));
}

static braid_out batch(braid_graph *g)
{
    braid_tensor *t = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(ROWS, WIDTH), NULL);
    for (int i = 0; i < ROWS * WIDTH; i++)
        ((float *)braid_tensor_data(t))[i] = sinf((float)i);
    const braid_out x = braid_const(g, "x", t);
    braid_tensor_free(t);
    return x;
}

typedef braid_strategy *(*make_fn)(braid_graph *g);

static braid_strategy *one_device(braid_graph *g)
{
    return braid_one_device_strategy(g, devices[1]);
}
static braid_strategy *mirrored(braid_graph *g)
{
    return braid_mirrored_strategy(g, devices, 2);
}
static braid_strategy *central(braid_graph *g)
{
    return braid_central_storage_strategy(g, devices, 2, NULL);
}

static void read_floats(braid_session *s, braid_out fetch, float *values, int count)
{
    BD_STATUS(st);
    braid_tensor *got = NULL;
    braid_session_run(s, &(braid_run_args){.fetches = &(braid_fetch){fetch, &got}, .fetch_count = 1}, st);
    assert_ok(st);
    memcpy(values, braid_tensor_data(got), (size_t)count * sizeof *values);
    braid_tensor_free(got);
}

// Trains and stores w and b of the centre, of which mirrors, where they are, have the same bits.
static void train(make_fn make, float values[WIDTH + 1])
{
    braid_graph *g = braid_graph_new();
    braid_strategy *strategy = make(g);
    braid_push_strategy(g, strategy);
    inputs in = {braid_strategy_split(strategy, batch(g))};
    const braid_out step = braid_global_step(g);
    const braid_per_replica losses = braid_strategy_run(strategy, model, &in);
    braid_op *op = braid_strategy_minimize(strategy, braid_adam(g, 0.1f), losses, step);
    braid_pop_strategy(g);
    braid_session *s = open_session(g);
    for (int i = 0; i < STEPS; i++)
        run(s, op);
    read_floats(s, braid_graph_find_out(g, "w/read"), values, WIDTH);
    read_floats(s, braid_graph_find_out(g, "b/read"), values + WIDTH, 1);
    const braid_out mirror = braid_graph_find_out(g, "w/replica_1/read");
    assert_int_equal(mirror.op != NULL, make == mirrored);
    if (mirror.op) {
        float copy[WIDTH];
        read_floats(s, mirror, copy, WIDTH);
        assert_memory_equal(copy, values, sizeof copy);
        assert_string_equal(braid_op_requested_device(braid_graph_find(g, "w/replica_1")), "/device:CPU:1");
    }
    int count;
    braid_collection(g, BRAID_TRAINABLE_VARIABLES, &count);
    assert_int_equal(count, 2);
    close_session(s, g);
}

static void all_strategies_train_as_one_device_with_the_whole_batch(void **state)
{
    (void)state;
    float want[WIDTH + 1];
    train(one_device, want);
    assert_true(fabsf(want[0] - 0.5f) > 0.1f);
    static const make_fn others[] = {mirrored, central};
    for (int k = 0; k < 2; k++) {
        float got[WIDTH + 1];
        train(others[k], got);
        for (int i = 0; i <= WIDTH; i++)
            if (!(fabsf(got[i] - want[i]) < 1e-5f))
                fail_msg("strategy %d: %d is %.9g, not %.9g", k, i, (double)got[i], (double)want[i]);
    }
}

// ---- Layers and scopes ----

static braid_out layers(const braid_replica *replica, void *arg)
{
    const inputs *in = arg;
    braid_graph *g = replica->graph;
    const braid_out hidden = braid_dense(g, NULL, in->x.values[replica->local], 4);
    return braid_reduce_mean(g, braid_dense(g, NULL, hidden, 1));
}

static void layers_have_the_names_of_the_first_replica(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_strategy *strategy = mirrored(g);
    braid_push_strategy(g, strategy);
    inputs in = {braid_strategy_split(strategy, batch(g))};
    braid_strategy_run(strategy, layers, &in);
    braid_pop_strategy(g);
    assert_int_equal(braid_graph_status(g, NULL), BRAID_OK);
    static const char *const names[] = {"dense/kernel", "dense_1/bias", "dense/kernel/replica_1",
                                        "dense_1/bias/replica_1"};
    for (size_t i = 0; i < BD_COUNTOF(names); i++)
        if (!braid_graph_find(g, names[i])) fail_msg("there is no %s", names[i]);
    assert_null(braid_graph_find(g, "dense_2/kernel"));
    braid_graph_free(g);
}

// ---- Values ----

static braid_out numbered(const braid_replica *replica, void *arg)
{
    (void)arg;
    return braid_full(replica->graph, NULL, BRAID_FLOAT, BRAID_SHAPE(1), replica->id + 1);
}

static void values_are_reduced_gathered_and_broadcast(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_strategy *s = mirrored(g);
    assert_int_equal(braid_strategy_num_replicas(s), 2);
    braid_push_strategy(g, s);
    const braid_per_replica v = braid_strategy_run(s, numbered, NULL);
    const braid_out sum = braid_strategy_reduce(s, BRAID_REDUCE_SUM, v),
                    mean = braid_strategy_reduce(s, BRAID_REDUCE_MEAN, v), all = braid_strategy_gather(s, v),
                    again = braid_strategy_gather(s, braid_strategy_broadcast(s, mean));
    braid_pop_strategy(g);
    braid_session *session = open_session(g);
    expect(session, sum, (float[]){3}, 1);
    expect(session, mean, (float[]){1.5f}, 1);
    expect(session, all, (float[]){1, 2}, 2);
    expect(session, again, (float[]){1.5f, 1.5f}, 2);
    close_session(session, g);
}

// ---- Synchronization and aggregation ----

static braid_out variable_of(const braid_replica *replica, void *arg)
{
    const braid_variable v = braid_variable_get_with(replica->graph, "v", arg);
    return v.ref;
}

static braid_variable_options options_of(braid_synchronization sync, braid_aggregation aggregation)
{
    return (braid_variable_options){.initializer = braid_constant_initializer(10),
                                    .untrained = true,
                                    .synchronization = sync,
                                    .aggregation = aggregation};
}

static void replicas_assign_as_the_variable_aggregates(void **state)
{
    (void)state;
    // The replicas give 1 and 2.
    static const struct {
        braid_synchronization sync;
        braid_aggregation aggregation;
        braid_assign_kind kind;
        float first, second, all;
    } cases[] = {
        {BRAID_SYNC_ON_WRITE, BRAID_AGGREGATE_SUM, BRAID_ASSIGN, 3, 3, 3},
        {BRAID_SYNC_AUTO, BRAID_AGGREGATE_MEAN, BRAID_ASSIGN, 1.5f, 1.5f, 1.5f},
        {BRAID_SYNC_AUTO, BRAID_AGGREGATE_MEAN, BRAID_ASSIGN_ADD, 11.5f, 11.5f, 11.5f},
        {BRAID_SYNC_AUTO, BRAID_AGGREGATE_SUM, BRAID_ASSIGN_SUB, 7, 7, 7},
        {BRAID_SYNC_AUTO, BRAID_AGGREGATE_ONLY_FIRST_REPLICA, BRAID_ASSIGN, 1, 1, 1},
        {BRAID_SYNC_ON_READ, BRAID_AGGREGATE_SUM, BRAID_ASSIGN, 1, 2, 3},
        {BRAID_SYNC_ON_READ, BRAID_AGGREGATE_MEAN, BRAID_ASSIGN_ADD, 11, 12, 11.5f},
        {BRAID_SYNC_ON_READ, BRAID_AGGREGATE_ONLY_FIRST_REPLICA, BRAID_ASSIGN, 1, 2, 1},
    };
    for (size_t k = 0; k < 2 * BD_COUNTOF(cases); k++) {
        const size_t i = k / 2;
        braid_graph *g = braid_graph_new();
        braid_strategy *s = mirrored(g);
        braid_push_strategy(g, s);
        braid_variable_options o = options_of(cases[i].sync, cases[i].aggregation);
        o.shape = BRAID_SHAPE(1);
        o.kind = k % 2 ? BRAID_KIND_RESOURCE : BRAID_KIND_REFERENCE;
        const braid_per_replica refs = braid_strategy_run(s, variable_of, &o);
        braid_op *assign =
            braid_strategy_assign(s, refs.values[0], braid_strategy_run(s, numbered, NULL), cases[i].kind);
        const braid_out all = braid_strategy_read(s, refs.values[0]);
        braid_pop_strategy(g);
        braid_session *session = open_session(g);
        run(session, assign);
        expect(session, braid_variable_find(refs.values[0]).read, &cases[i].first, 1);
        expect(session, braid_variable_find(refs.values[1]).read, &cases[i].second, 1);
        expect(session, all, &cases[i].all, 1);
        close_session(session, g);
    }
}

// ---- Errors ----

static void expect_failed(braid_graph *g, braid_code code, const char *message)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_error(st, code, message);
    braid_graph_free(g);
}

static void what_replicas_assign_needs_an_aggregation(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_strategy *s = mirrored(g);
    braid_push_strategy(g, s);
    braid_variable_options o = options_of(BRAID_SYNC_AUTO, BRAID_AGGREGATE_NONE);
    const braid_per_replica refs = braid_strategy_run(s, variable_of, &o);
    braid_strategy_assign(s, refs.values[0], refs, BRAID_ASSIGN);
    expect_failed(g, BRAID_INVALID_ARGUMENT, "You must specify an aggregation method to update");
}

static void unsuitable_variables_are_refused(void **state)
{
    (void)state;
    static const struct {
        braid_synchronization sync;
        braid_aggregation aggregation;
        const char *message;
    } cases[] = {
        {BRAID_SYNC_NONE, BRAID_AGGREGATE_SUM, "`NONE` variable synchronization mode is not supported"},
        {(braid_synchronization)7, BRAID_AGGREGATE_SUM, "Invalid variable synchronization mode: 7"},
        {BRAID_SYNC_AUTO, (braid_aggregation)7, "Invalid variable aggregation mode: 7"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        braid_strategy *s = mirrored(g);
        braid_push_strategy(g, s);
        braid_variable_options o = options_of(cases[i].sync, cases[i].aggregation);
        braid_strategy_run(s, variable_of, &o);
        expect_failed(g, BRAID_INVALID_ARGUMENT, cases[i].message);
    }
}

static braid_out unlike(const braid_replica *replica, void *arg)
{
    const int *count = arg;
    braid_graph *g = replica->graph;
    for (int i = 0; i < count[replica->local]; i++)
        braid_variable_new(g, NULL, braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(2)), true);
    return braid_const_float(g, NULL, 1);
}

static void replicas_must_make_the_same_variables(void **state)
{
    (void)state;
    static const int fewer[] = {2, 1}, more[] = {1, 2};
    static const int *const counts[] = {fewer, more};
    static const char *const messages[] = {"Replica 1 has not made variable 'Variable_1'",
                                           "which replica 0 has not made"};
    for (int i = 0; i < 2; i++) {
        braid_graph *g = braid_graph_new();
        braid_strategy *s = mirrored(g);
        braid_push_strategy(g, s);
        braid_strategy_run(s, unlike, (void *)counts[i]);
        expect_failed(g, BRAID_INVALID_ARGUMENT, messages[i]);
    }
}

static void a_strategy_needs_distinct_devices(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_strategy(g, braid_mirrored_strategy(g, (const char *[]){"/cpu:0", "/cpu:0"}, 2));
    expect_failed(g, BRAID_INVALID_ARGUMENT, "Device /cpu:0 is given twice to a mirrored strategy");
    g = braid_graph_new();
    braid_push_strategy(g, braid_central_storage_strategy(g, NULL, 0, NULL));
    expect_failed(g, BRAID_INVALID_ARGUMENT, "A central storage strategy needs at least one device");
}

static void replicas_are_built_within_their_strategy(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_strategy_run(mirrored(g), numbered, NULL);
    expect_failed(g, BRAID_FAILED_PRECONDITION, "Replicas are built while their strategy is pushed");
    g = braid_graph_new();
    braid_push_strategy(g, mirrored(g));
    braid_push_strategy(g, mirrored(g));
    expect_failed(g, BRAID_FAILED_PRECONDITION, "A strategy is pushed already");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_strategies_train_as_one_device_with_the_whole_batch),
        cmocka_unit_test(layers_have_the_names_of_the_first_replica),
        cmocka_unit_test(values_are_reduced_gathered_and_broadcast),
        cmocka_unit_test(replicas_assign_as_the_variable_aggregates),
        cmocka_unit_test(what_replicas_assign_needs_an_aggregation),
        cmocka_unit_test(unsuitable_variables_are_refused),
        cmocka_unit_test(replicas_must_make_the_same_variables),
        cmocka_unit_test(a_strategy_needs_distinct_devices),
        cmocka_unit_test(replicas_are_built_within_their_strategy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
