// Multi-worker mirrored training on a cluster: each task has a graph, a session and a copy of the variables.
// labels: concurrent
#include "base/alloc.h"
#include "support/test_cluster.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WORKERS_MAX = 3,
    ROWS = 12, // of all workers
    WIDTH = 4,
    WIDE = 70000, // outputs: the matrix is large enough to be reduced part by part
    STEPS = 4
};

// Where the workers wait for each other before they close their sessions.
typedef struct meeting {
    bd_mutex mu;
    bd_cond all_here;
    int missing;
} meeting;

static void meet(meeting *m)
{
    bd_mutex_lock(&m->mu);
    if (--m->missing == 0) bd_cond_broadcast(&m->all_here);
    while (m->missing > 0)
        bd_cond_wait(&m->all_here, &m->mu);
    bd_mutex_unlock(&m->mu);
}

typedef struct worker {
    meeting *end;          // NULL: none
    test_cluster *cluster; // NULL: one device in this process
    int index, workers;
    bd_thread thread;
    float *values; // [WIDTH * WIDE]
    float sum[2], all[WORKERS_MAX];
    int64_t step;
    bool ok;
} worker;

// Rows of the batch that this worker has.
static braid_out batch(const worker *w, braid_graph *g)
{
    const int rows = ROWS / w->workers;
    braid_tensor *t = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(rows, WIDTH), NULL);
    for (int i = 0; i < rows * WIDTH; i++)
        ((float *)braid_tensor_data(t))[i] = sinf((float)(i + w->index * rows * WIDTH));
    const braid_out x = braid_const(g, "x", t);
    braid_tensor_free(t);
    return x;
}

static braid_out model(const braid_replica *replica, void *arg)
{
    braid_graph *g = replica->graph;
    const braid_out *x = arg;
    // Task i would begin with i + 1: all begin with the value of task 0.
    const braid_variable w = braid_variable_get(g, "w", BRAID_FLOAT, BRAID_SHAPE(WIDTH, WIDE),
                                                braid_constant_initializer((float)(replica->id + 1)), true);
    return braid_reduce_mean(g, braid_square(g, braid_matmul(g, *x, w.read)));
}

static braid_out numbered(const braid_replica *replica, void *arg)
{
    (void)arg;
    return braid_full(replica->graph, NULL, BRAID_FLOAT, BRAID_SHAPE(1), replica->id + 1);
}

static braid_strategy *strategy_of(const worker *w, braid_graph *g)
{
    return w->cluster ? braid_multi_worker_mirrored_strategy(g, w->cluster->spec, "worker", w->index)
                      : braid_one_device_strategy(g, "/cpu:0");
}

static braid_session *open_session(const worker *w, braid_graph *g, const braid_strategy *s, braid_status *st)
{
    const braid_session_options options = {.server = w->cluster ? test_server(w->cluster, "worker", w->index)
                                                                : NULL,
                                           .collective_leader = braid_strategy_leader(s),
                                           .operation_timeout_ms = PATIENCE_MS};
    return braid_session_open(g, &options, st);
}

static void take(braid_tensor *t, void *values, size_t size)
{
    if (!t) return;
    memcpy(values, braid_tensor_data(t), size);
    braid_tensor_free(t);
}

static braid_code train(worker *w, braid_session *s, braid_op *init, braid_op *op, const braid_out *fetches,
                        int count, braid_status *st)
{
    braid_session_run(s, &(braid_run_args){.targets = &init, .target_count = 1}, st);
    for (int i = 0; !st->code && i < STEPS; i++)
        braid_session_run(s, &(braid_run_args){.targets = &op, .target_count = 1}, st);
    braid_tensor *got[4] = {0};
    braid_fetch wanted[4];
    for (int i = 0; i < count; i++)
        wanted[i] = (braid_fetch){fetches[i], &got[i]};
    if (!st->code) braid_session_run(s, &(braid_run_args){.fetches = wanted, .fetch_count = count}, st);
    take(got[0], w->values, sizeof(float) * WIDTH * WIDE);
    take(got[1], &w->step, sizeof w->step);
    take(got[2], w->sum, sizeof(float));
    take(got[3], w->all, sizeof(float) * (size_t)w->workers);
    return st->code;
}

static void work(void *arg)
{
    worker *w = arg;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_strategy *strategy = strategy_of(w, g);
    braid_push_strategy(g, strategy);
    braid_out x = batch(w, g);
    const braid_out step = braid_global_step(g);
    const braid_per_replica losses = braid_strategy_run(strategy, model, &x);
    braid_op *op = braid_strategy_minimize(strategy, braid_momentum(g, 2, 0.9f), losses, step);
    const braid_per_replica ids = braid_strategy_run(strategy, numbered, NULL);
    const braid_out fetches[] = {braid_graph_find_out(g, "w/read"), braid_variable_find(step).read,
                                 braid_strategy_reduce(strategy, BRAID_REDUCE_SUM, ids),
                                 braid_strategy_gather(strategy, ids)};
    braid_op *init = braid_global_variables_initializer(g);
    braid_pop_strategy(g);
    braid_session *s = NULL;
    if (!braid_graph_status(g, st)) s = open_session(w, g, strategy, st);
    w->ok = s && !train(w, s, init, op, fetches, 4, st);
    if (!w->ok) fprintf(stderr, "worker %d: %s\n", w->index, st->message);
    if (w->end) meet(w->end);
    if (s) braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void expect_near(const float *got, const float *want, int index)
{
    for (int i = 0; i < WIDTH * WIDE; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]))))
            fail_msg("worker %d: element %d is %.9g, not %.9g", index, i, (double)got[i], (double)want[i]);
}

static void workers_train_as_one(void **state, int workers)
{
    test_cluster *c = test_cluster_new(*(test_network *)*state, 0, workers);
    test_start_all(c, NULL);
    worker one = {.workers = 1, .values = bd_calloc(WIDTH * WIDE, sizeof(float))};
    work(&one);
    assert_true(one.ok);
    assert_true(fabsf(one.values[0] - 1) > 1e-5f);
    worker w[WORKERS_MAX];
    meeting end = {.missing = workers};
    bd_mutex_init(&end.mu);
    bd_cond_init(&end.all_here);
    BD_STATUS(st);
    for (int i = 0; i < workers; i++) {
        w[i] = (worker){.end = &end,
                        .cluster = c,
                        .index = i,
                        .workers = workers,
                        .values = bd_calloc(WIDTH * WIDE, sizeof(float))};
        assert_int_equal(bd_thread_start(&w[i].thread, "worker", work, &w[i], st), BRAID_OK);
    }
    for (int i = 0; i < workers; i++)
        bd_thread_join(&w[i].thread);
    for (int i = 0; i < workers; i++) {
        assert_true(w[i].ok);
        expect_near(w[i].values, one.values, i);
        assert_memory_equal(w[i].values, w[0].values, sizeof(float) * WIDTH * WIDE);
        assert_int_equal(w[i].step, STEPS);
        assert_float_equal(w[i].sum[0], workers * (workers + 1) / 2, 0);
        for (int k = 0; k < workers; k++)
            assert_float_equal(w[i].all[k], k + 1, 0);
    }
    for (int i = 0; i < workers; i++)
        bd_free(w[i].values);
    bd_cond_fini(&end.all_here);
    bd_mutex_fini(&end.mu);
    bd_free(one.values);
    test_cluster_free(c);
}

static void two_workers_train_as_one_with_the_whole_batch(void **state)
{
    workers_train_as_one(state, 2);
}

static void three_workers_train_as_one_with_the_whole_batch(void **state)
{
    workers_train_as_one(state, 3);
}

static void a_task_must_be_in_the_cluster(void **state)
{
    test_cluster *c = test_cluster_new(*(test_network *)*state, 0, 2);
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_multi_worker_mirrored_strategy(g, c->spec, "worker", 2);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "The cluster has no task 2 of job 'worker': it has 2");
    braid_graph_free(g);
    g = braid_graph_new();
    braid_parameter_server_strategy(g, c->spec, "/job:worker/task:0");
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "needs a cluster with a job 'ps'");
    braid_graph_free(g);
    test_cluster_free(c);
}

// ---- Parameter servers ----

static void variables_of_the_parameter_server_strategy_are_there(void **state)
{
    test_cluster *c = test_cluster_new(*(test_network *)*state, 1, 1);
    test_start_all(c, NULL);
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_strategy *strategy = braid_parameter_server_strategy(g, c->spec, "/job:worker/task:0");
    worker w = {.cluster = c, .workers = 1, .values = bd_calloc(WIDTH * WIDE, sizeof(float))};
    braid_push_strategy(g, strategy);
    braid_out x = batch(&w, g);
    const braid_per_replica losses = braid_strategy_run(strategy, model, &x);
    braid_op *op = braid_strategy_minimize(strategy, braid_momentum(g, 2, 0.9f), losses, BRAID_NONE);
    braid_op *init = braid_global_variables_initializer(g);
    braid_pop_strategy(g);
    assert_string_equal(braid_op_requested_device(braid_graph_find(g, "w")), "/job:ps/task:0");
    assert_string_equal(braid_op_requested_device(losses.values[0].op), "/job:worker/task:0");
    braid_session *s = open_session(&w, g, strategy, st);
    assert_int_equal(st->code, BRAID_OK);
    const braid_out fetch = braid_graph_find_out(g, "w/read");
    train(&w, s, init, op, &fetch, 1, st);
    assert_int_equal(st->code, BRAID_OK);
    worker one = {.workers = 1, .values = bd_calloc(WIDTH * WIDE, sizeof(float))};
    work(&one);
    expect_near(w.values, one.values, 0);
    bd_free(one.values);
    bd_free(w.values);
    braid_session_close(s, NULL);
    braid_graph_free(g);
    test_cluster_free(c);
}

int main(void)
{
    static test_network network = TEST_GRPC;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(two_workers_train_as_one_with_the_whole_batch, &network),
        cmocka_unit_test_prestate(three_workers_train_as_one_with_the_whole_batch, &network),
        cmocka_unit_test_prestate(a_task_must_be_in_the_cluster, &network),
        cmocka_unit_test_prestate(variables_of_the_parameter_server_strategy_are_there, &network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
