// Synchronous training on a cluster: n workers compute what one process computes with an n-fold batch.
// labels: concurrent
#include "base/alloc.h"
#include "support/test_cluster.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WORKERS_MAX = 3,
    BATCHES_MAX = 2 * WORKERS_MAX, // of an update
    UPDATES = 20,
    BATCH = 6,
    FEATURES = 4,
    IDS = 3, // rows of the table; each batch uses each of them
    WIDTH = 2,
    VALUES = FEATURES + IDS * WIDTH
};

// y = x w + the sum of a row of the table; the loss is the mean of (y - wanted)^2.
typedef struct model {
    braid_graph *g;
    braid_out x, ids, wanted, loss, step;
    braid_variable w, table;
} model;

// For a worker of a cluster, or, without one, for one process.
static model model_make(const test_cluster *cluster, int index)
{
    model m = {.g = braid_graph_new()};
    braid_graph *g = m.g;
    if (cluster) {
        char device[32];
        snprintf(device, sizeof device, "/job:worker/task:%d", index);
        braid_push_device_setter(
            g, braid_replica_device_setter(g, cluster->spec,
                                           &(braid_device_setter_options){.worker_device = device}));
    }
    m.step = braid_global_step(g);
    m.w = braid_variable_new(g, "w", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(FEATURES, 1)), true);
    m.table = braid_variable_new(g, "table", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(IDS, WIDTH)), true);
    m.x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, FEATURES));
    m.ids = braid_placeholder(g, "ids", BRAID_INT32, BRAID_SHAPE(-1));
    m.wanted = braid_placeholder(g, "wanted", BRAID_FLOAT, BRAID_SHAPE(-1));
    const braid_out rows = braid_embedding_lookup(g, m.table.ref, m.ids);
    const braid_out ones = braid_ones(g, BRAID_FLOAT, BRAID_SHAPE(WIDTH, 1));
    const braid_out y = braid_add(g, braid_matmul(g, m.x, m.w.read), braid_matmul(g, rows, ones));
    const braid_out error = braid_sub(g, braid_reshape(g, y, BRAID_SHAPE(-1)), m.wanted);
    m.loss = braid_reduce_mean(g, braid_square(g, error));
    return m;
}

// ---- Batches: the examples [first, first + count) of an endless sequence ----

typedef struct batch {
    braid_tensor *x, *ids, *wanted;
} batch;

static batch batch_make(int first, int count)
{
    float x[BATCHES_MAX * BATCH * FEATURES], wanted[BATCHES_MAX * BATCH];
    int32_t ids[BATCHES_MAX * BATCH];
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < FEATURES; k++)
            x[i * FEATURES + k] = sinf((float)((first + i) * FEATURES + k));
        ids[i] = (first + i) % IDS;
        wanted[i] = 2 * x[i * FEATURES] - x[i * FEATURES + 1] + (float)ids[i];
    }
    return (batch){braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(count, FEATURES), x, NULL),
                   braid_tensor_from(BRAID_INT32, BRAID_SHAPE(count), ids, NULL),
                   braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(count), wanted, NULL)};
}

static void train_on(braid_monitored_session *s, const model *m, braid_op *train, int first, int count)
{
    const batch b = batch_make(first, count);
    braid_run(s, BRAID_FEED({m->x, b.x}, {m->ids, b.ids}, {m->wanted, b.wanted}), NULL, train);
    braid_tensor_free(b.x);
    braid_tensor_free(b.ids);
    braid_tensor_free(b.wanted);
}

// Stores w and the table.
static void read_values(braid_monitored_session *s, const model *m, float values[VALUES])
{
    braid_tensor *w = NULL, *table = NULL;
    if (braid_evaluate(s, NULL, BRAID_FETCH({m->w.read, &w}, {m->table.read, &table}))) return;
    memcpy(values, braid_tensor_data(w), FEATURES * sizeof *values);
    memcpy(values + FEATURES, braid_tensor_data(table), IDS * WIDTH * sizeof *values);
    braid_tensor_free(w);
    braid_tensor_free(table);
}

static braid_optimizer *make_optimizer(braid_graph *g)
{
    return braid_momentum(g, 0.05f, 0.5f);
}

// ---- One process ----

static void train_alone(int batch_size, float values[VALUES])
{
    model m = model_make(NULL, 0);
    braid_op *train = braid_minimize(make_optimizer(m.g), m.loss, m.step);
    braid_monitored_session *s = braid_monitored_session_open(m.g, NULL);
    for (int i = 0; i < UPDATES; i++)
        train_on(s, &m, train, i * batch_size, batch_size);
    read_values(s, &m, values);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.g);
}

// ---- A cluster ----

typedef struct worker {
    test_cluster *cluster;
    int index, workers, share; // share: batches of each worker for an update
    bd_thread thread;
    float values[VALUES]; // at the end
    braid_code code;
} worker;

static void work(void *arg)
{
    worker *w = arg;
    model m = model_make(w->cluster, w->index);
    const int batches = w->workers * w->share; // of an update
    braid_sync_replicas *sync = braid_sync_replicas_new(
        make_optimizer(m.g), &(braid_sync_replicas_options){.replicas_to_aggregate = batches,
                                                            .total_num_replicas = w->workers,
                                                            .deterministic = true,
                                                            .replica = w->index});
    braid_op *train = braid_sync_replicas_minimize(sync, m.loss, m.step);
    const bool is_chief = w->index == 0;
    braid_monitored_session *s = braid_monitored_session_open(
        m.g, &(braid_session_config){.session.server = test_server(w->cluster, "worker", w->index),
                                     .is_chief = is_chief,
                                     .hooks = BRAID_HOOKS(braid_sync_replicas_hook(sync, is_chief, -1),
                                                          braid_stop_at_step(UPDATES))});
    for (int i = 0; !braid_should_stop(s); i++) {
        const int batch_index = i / w->share * batches + w->index * w->share + i % w->share;
        train_on(s, &m, train, batch_index * BATCH, BATCH);
    }
    read_values(s, &m, w->values);
    w->code = braid_monitored_session_close(s);
    braid_graph_free(m.g);
}

static void train_together(int ps, int workers, int share, float values[VALUES])
{
    test_cluster *c = test_cluster_new(TEST_IN_PROCESS, ps, workers);
    test_start_all(c, NULL);
    worker all[WORKERS_MAX];
    BD_STATUS(st);
    for (int i = workers; i-- > 0;) {
        all[i] = (worker){.cluster = c, .index = i, .workers = workers, .share = share};
        if (bd_thread_start(&all[i].thread, "worker", work, &all[i], st)) fail_msg("%s", st->message);
    }
    for (int i = 0; i < workers; i++)
        bd_thread_join(&all[i].thread);
    for (int i = 0; i < workers; i++) {
        assert_int_equal(all[i].code, BRAID_OK);
        assert_memory_equal(all[i].values, all[0].values, sizeof all[i].values);
    }
    memcpy(values, all[0].values, sizeof all[0].values);
    test_cluster_free(c);
}

// ---- Tests ----

static const struct setting {
    int ps, workers, share;
} settings[] = {{1, 2, 1}, {2, 3, 1}, {1, 2, 2}, {1, 3, 2}};

// To rounding: the gradients are added in another order.
static void workers_in_step_equal_one_process_with_a_larger_batch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const struct setting *of = &settings[i];
        float alone[VALUES], together[VALUES];
        train_alone(of->workers * of->share * BATCH, alone);
        train_together(of->ps, of->workers, of->share, together);
        for (int k = 0; k < VALUES; k++)
            assert_float_equal(together[k], alone[k], 1e-5f);
        assert_true(alone[0] > 0.5f && alone[VALUES - 1] > 0.1f); // it learns both variables
    }
}

static void equal_runs_give_equal_bits(void **state)
{
    (void)state;
    float first[VALUES], again[VALUES];
    train_together(2, 3, 2, first);
    for (int i = 0; i < 3; i++) {
        train_together(2, 3, 2, again);
        assert_memory_equal(first, again, sizeof first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_in_step_equal_one_process_with_a_larger_batch),
        cmocka_unit_test(equal_runs_give_equal_bits),
    };
    return cmocka_run_group_tests_name("synchronous training on a cluster", tests, NULL, NULL);
}
