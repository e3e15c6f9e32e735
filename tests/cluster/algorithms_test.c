// Training algorithms with several workers on a cluster: what is known of each of them.
// labels: concurrent
#include "base/alloc.h"
#include "support/test_cluster.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WORKERS_MAX = 4,
    SIZE = 5
};

// Worker i minimizes |x - a_i|^2 / 2 with a target a_i of its own, which may change from step to step.
typedef struct worker {
    test_cluster *cluster;
    int index;
    braid_graph *g;
    braid_algorithm *algorithm;
    braid_variable x;
    braid_out target, centre, step, clocks;
    braid_op *train;
    braid_monitored_session *s;
    // of a thread
    bd_thread thread;
    const char *name;
    braid_algorithm_options options;
    int64_t last_step;
    bool has_own_target; // that of batch `index`, in all steps
    float values[SIZE];  // of the centre, at the end
    float copy[SIZE];    // of the worker's own, at the end
    braid_code code;
    bool ok;
} worker;

static void build(worker *w, const char *name, const braid_algorithm_options *options)
{
    braid_graph *g = w->g = braid_graph_new();
    char device[32];
    snprintf(device, sizeof device, "/job:worker/task:%d", w->index);
    braid_push_device_setter(
        g, braid_replica_device_setter(g, w->cluster->spec,
                                       &(braid_device_setter_options){.worker_device = device}));
    w->algorithm = braid_algorithm_new(g, name, options);
    w->step = braid_global_step(g);
    braid_push_algorithm(g, w->algorithm);
    w->x = braid_variable_new(g, "x", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(SIZE)), true);
    braid_pop_algorithm(g);
    w->target = braid_placeholder(g, "target", BRAID_FLOAT, BRAID_SHAPE(SIZE));
    const braid_out square = braid_square(g, braid_sub(g, w->x.read, w->target));
    const braid_out loss = braid_mul(g, braid_reduce_sum(g, square), braid_const_float(g, NULL, 0.5f));
    w->train = braid_algorithm_minimize(w->algorithm, loss, w->step);
    w->centre = braid_variable_find((braid_out){braid_graph_find(g, "x"), 0}).read;
}

static void open_session(worker *w, int64_t last_step)
{
    char own[32];
    snprintf(own, sizeof own, "/job:worker/task:%d", w->index);
    const char *const filters[] = {"/job:ps", own};
    w->s = braid_monitored_session_open(
        w->g, &(braid_session_config){.session = {.server = test_server(w->cluster, "worker", w->index),
                                                  .device_filters = filters,
                                                  .device_filter_count = 2},
                                      .is_chief = w->index == 0,
                                      .hooks = BRAID_HOOKS(braid_algorithm_sync_hook(w->algorithm),
                                                           braid_algorithm_hook(w->algorithm),
                                                           braid_stop_at_step(last_step))});
}

static float target_of(int batch, int k)
{
    return sinf((float)(batch * SIZE + k));
}

static void step(worker *w, int batch)
{
    float target[SIZE];
    for (int k = 0; k < SIZE; k++)
        target[k] = target_of(batch, k);
    braid_tensor *fed = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(SIZE), target, NULL);
    braid_run(w->s, BRAID_FEED({w->target, fed}), NULL, w->train);
    braid_tensor_free(fed);
}

static void read_out(worker *w, braid_out out, float values[SIZE])
{
    braid_tensor *value = NULL;
    if (braid_evaluate(w->s, NULL, BRAID_FETCH({out, &value}))) return;
    memcpy(values, braid_tensor_data(value), SIZE * sizeof *values);
    braid_tensor_free(value);
}

static void read_centre(worker *w, float values[SIZE])
{
    read_out(w, w->centre, values);
}

static braid_algorithm_options options_of(const char *name, int workers, int index)
{
    braid_algorithm_options o = braid_algorithm_defaults(name);
    o.num_workers = workers;
    o.worker = index;
    o.is_chief = index == 0;
    return o;
}

// ---- Workers in threads ----

// Step i of worker w uses the batch i n + w.
static void work(void *arg)
{
    worker *w = arg;
    build(w, w->name, &w->options);
    open_session(w, w->last_step);
    for (int i = 0; !braid_should_stop(w->s); i++)
        step(w, w->has_own_target ? w->index : i * w->options.num_workers + w->index);
    read_centre(w, w->values);
    read_out(w, w->x.read, w->copy);
    w->code = braid_monitored_session_close(w->s);
}

static void train_together(worker *all, const worker *like, int workers)
{
    test_cluster *c = test_cluster_new(TEST_IN_PROCESS, 1, workers);
    test_start_all(c, NULL);
    BD_STATUS(st);
    for (int i = 0; i < workers; i++) {
        all[i] = *like;
        all[i].cluster = c;
        all[i].index = all[i].options.worker = i;
        all[i].options.num_workers = workers;
        all[i].options.is_chief = i == 0;
        if (bd_thread_start(&all[i].thread, "worker", work, &all[i], st)) fail_msg("%s", st->message);
    }
    for (int i = 0; i < workers; i++)
        bd_thread_join(&all[i].thread);
    for (int i = 0; i < workers; i++)
        assert_int_equal(all[i].code, BRAID_OK);
    test_cluster_free(c);
}

static void free_graphs(worker *all, int workers)
{
    for (int i = 0; i < workers; i++)
        braid_graph_free(all[i].g);
}

// ---- Synchronous algorithms ----

// SGD in one process with the batches of n workers as one.
static void train_alone(int workers, int updates, float x[SIZE])
{
    memset(x, 0, SIZE * sizeof *x);
    for (int i = 0; i < updates; i++) {
        float mean[SIZE] = {0};
        for (int w = 0; w < workers; w++)
            for (int k = 0; k < SIZE; k++)
                mean[k] += (x[k] - target_of(i * workers + w, k)) / (float)workers;
        for (int k = 0; k < SIZE; k++)
            x[k] -= 0.1f * mean[k];
    }
}

// With a period of 1, the mean of one gradient of each worker, or of the copies after a step, is the same.
static void n_workers_in_step_equal_one_process_with_an_n_fold_batch(void **state)
{
    (void)state;
    static const char *const names[] = {"synchronous", "synchronous_rates", "backup_workers", "sagn",
                                        "model_averaging"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        worker all[3];
        float alone[SIZE];
        train_alone(3, 15, alone);
        worker like = {.name = names[i], .options = braid_algorithm_defaults(names[i]), .last_step = 15};
        like.options.period = 1;
        train_together(all, &like, 3);
        for (int k = 0; k < SIZE; k++)
            if (!(fabsf(all[0].values[k] - alone[k]) < 1e-5f))
                fail_msg("%s: %.7g is not %.7g", names[i], (double)all[0].values[k], (double)alone[k]);
        free_graphs(all, 3);
    }
}

// ---- Asynchronous algorithms, with steps in a given order ----

// Opens sessions for workers in this thread.
static test_cluster *open_all(worker *all, const char *name, int workers, int period, float learning_rate)
{
    test_cluster *c = test_cluster_new(TEST_IN_PROCESS, 1, workers);
    test_start_all(c, NULL);
    for (int i = 0; i < workers; i++) {
        all[i] = (worker){.cluster = c, .index = i};
        braid_algorithm_options o = options_of(name, workers, i);
        if (period) o.period = period;
        if (learning_rate > 0) o.learning_rate = learning_rate;
        build(&all[i], name, &o);
        open_session(&all[i], 1000000);
    }
    return c;
}

// The chief last: it gathers what the others report.
static void close_all(test_cluster *c, worker *all, int workers)
{
    for (int i = workers; i-- > 0;)
        assert_int_equal(braid_monitored_session_close(all[i].s), BRAID_OK);
    free_graphs(all, workers);
    test_cluster_free(c);
}

static void train_in_turn(const char *name, int period, float values[SIZE])
{
    worker all[2];
    test_cluster *c = open_all(all, name, 2, period, 0);
    for (int i = 0; i < 20; i++)
        step(&all[i % 2], i);
    read_centre(&all[0], values);
    close_all(c, all, 2);
}

static void downpour_and_agn_with_a_period_of_one_are_the_same_update(void **state)
{
    (void)state;
    float downpour[SIZE], agn[SIZE];
    train_in_turn("downpour_sgd", 1, downpour);
    train_in_turn("agn", 1, agn);
    assert_memory_equal(downpour, agn, sizeof agn);
}

// One worker at a time: asynchronous SGD then reads what the worker before has written, and so does DOWNPOUR
// after a pull.
static void downpour_with_a_period_of_one_equals_asynchronous_sgd(void **state)
{
    (void)state;
    worker one[1];
    float async[SIZE], downpour[SIZE];
    test_cluster *c = open_all(one, "asynchronous", 1, 0, 0);
    for (int i = 0; i < 20; i++)
        step(&one[0], i);
    read_centre(&one[0], async);
    close_all(c, one, 1);
    c = open_all(one, "downpour_sgd", 1, 1, 0);
    for (int i = 0; i < 20; i++)
        step(&one[0], i);
    read_centre(&one[0], downpour);
    close_all(c, one, 1);
    assert_memory_equal(downpour, async, sizeof async);
}

// When n workers take turns, n - 1 updates of others lie between two exchanges of a worker.
static void workers_that_take_turns_have_a_staleness_of_n_minus_one(void **state)
{
    (void)state;
    enum {
        ROUNDS = 10
    };
    worker all[WORKERS_MAX];
    test_cluster *c = open_all(all, "downpour_sgd", WORKERS_MAX, 1, 0);
    for (int i = 0; i < ROUNDS * WORKERS_MAX; i++)
        step(&all[i % WORKERS_MAX], i);
    for (int i = 0; i < WORKERS_MAX; i++) {
        const braid_worker_report *r;
        assert_int_equal(braid_algorithm_reports(all[i].algorithm, &r), 1);
        assert_int_equal(r->updates, ROUNDS);
        // In the first round worker i has read the centre before all, and i updates came before its own.
        assert_int_equal(r->staleness[WORKERS_MAX - 1], ROUNDS - (i < WORKERS_MAX - 1));
        assert_int_equal(r->max_staleness, WORKERS_MAX - 1);
    }
    close_all(c, all, WORKERS_MAX);
}

// The second worker's updates come after one of the first: tau is 1, and they count for half.
static void dynsgd_divides_updates_by_their_staleness_plus_one(void **state)
{
    (void)state;
    worker all[2];
    float got[SIZE];
    test_cluster *c = open_all(all, "dynsgd", 2, 1, 0);
    step(&all[0], 0);
    step(&all[1], 1);
    read_centre(&all[1], got);
    for (int k = 0; k < SIZE; k++)
        assert_float_equal(got[k], 0.1f * target_of(0, k) + 0.1f * target_of(1, k) / 2, 1e-6f);
    close_all(c, all, 2);
}

// ---- Elastic averaging ----

// Each worker's target is one for all steps: alone it would end there.
static void the_centre_of_elastic_averaging_converges_to_the_mean(void **state)
{
    (void)state;
    worker all[2];
    test_cluster *c = open_all(all, "aeasgd", 2, 4, 0);
    for (int i = 0; i < 2 * 4 * 100; i++)
        step(&all[i % 2], i % 2);
    float centre[SIZE];
    read_centre(&all[0], centre);
    for (int k = 0; k < SIZE; k++)
        assert_float_equal(centre[k], (target_of(0, k) + target_of(1, k)) / 2, 0.15f);
    close_all(c, all, 2);
}

// Synchronous elastic averaging is deterministic, so its limit is exact. Let q = (1 - eta)^tau: in tau steps
// a copy's distance from its target a_i shrinks to q of what it was. The mean m of the copies and the centre
// c then have the distances from the mean of the targets
//
//     m' = (1 - alpha) q m + alpha c,   c' = n alpha q m + (1 - n alpha) c
//
// where eta = 0.1, tau = 4, alpha = 0.3 and n = 3 give the largest eigenvalue 0.74 and, after 100 exchanges,
// 0.74^100 < 1e-12: both have come to 0. What is left is rounding. The operations of a period and an exchange
// make at most 8 errors of 2^-24, half a unit in the last place of values up to 1, and the errors of all
// exchanges add up to at most 1 / (1 - 0.74) < 4 times those of one. A copy ends where its pull to a_i and
// that to the mean are in balance: (1 - alpha)(1 - q) / (1 - (1 - alpha) q) of the way from the mean to a_i.
static void the_centre_of_synchronous_elastic_averaging_is_the_mean_of_the_optima(void **state)
{
    (void)state;
    const float tolerance = 4 * 8 / (float)(1 << 24), alpha = 0.3f, q = powf(0.9f, 4);
    worker all[3];
    worker like = {.name = "easgd",
                   .options = braid_algorithm_defaults("easgd"),
                   .last_step = 100,
                   .has_own_target = true};
    like.options.period = 4;
    like.options.rho = 3;
    train_together(all, &like, 3);
    const float way = (1 - alpha) * (1 - q) / (1 - (1 - alpha) * q);
    for (int k = 0; k < SIZE; k++) {
        const float mean = (target_of(0, k) + target_of(1, k) + target_of(2, k)) / 3;
        assert_float_equal(all[0].values[k], mean, tolerance);
        for (int i = 0; i < 3; i++)
            assert_float_equal(all[i].copy[k], mean + way * (target_of(i, k) - mean), tolerance);
    }
    free_graphs(all, 3);
}

// ---- Bounded staleness ----

typedef struct race {
    bd_mutex mu;
    int64_t most; // by which a worker was ahead of the slowest when it began a step
    bool wrong;
} race;

typedef struct racer {
    worker w;
    race *race;
    int steps;
} racer;

// The clocks when a worker begins a step: its own, and the slowest.
static void look(racer *r)
{
    braid_tensor *value = NULL;
    const braid_out clocks = {braid_graph_find(r->w.g, "bounded_staleness/clocks/read"), 0};
    if (braid_evaluate(r->w.s, NULL, BRAID_FETCH({clocks, &value}))) return;
    const int64_t *c = braid_tensor_data(value);
    int64_t least = c[0];
    for (int i = 1; i < r->w.options.num_workers; i++)
        least = c[i] < least ? c[i] : least;
    const int64_t ahead = c[r->w.index] - least;
    bd_mutex_lock(&r->race->mu);
    if (ahead > r->race->most) r->race->most = ahead;
    if (ahead > r->w.options.staleness) r->race->wrong = true;
    bd_mutex_unlock(&r->race->mu);
    braid_tensor_free(value);
}

static void run_race(void *arg)
{
    racer *r = arg;
    build(&r->w, "bounded_staleness", &r->w.options);
    open_session(&r->w, 1000000);
    for (int i = 0; i < r->steps && !braid_should_stop(r->w.s); i++) {
        look(r);
        // The last worker is slow.
        for (int k = 0; r->w.index == r->w.options.num_workers - 1 && k < 20; k++)
            read_centre(&r->w, r->w.values);
        step(&r->w, i);
    }
    r->w.code = braid_monitored_session_close(r->w.s);
}

static void no_worker_is_ahead_by_more_than_the_bound(void **state)
{
    (void)state;
    for (int bound = 0; bound < 4; bound++) {
        race shared = {0};
        bd_mutex_init(&shared.mu);
        racer all[3];
        test_cluster *c = test_cluster_new(TEST_IN_PROCESS, 2, 3);
        test_start_all(c, NULL);
        BD_STATUS(st);
        for (int i = 0; i < 3; i++) {
            all[i] = (racer){.w = {.cluster = c, .index = i}, .race = &shared, .steps = 40};
            all[i].w.options = options_of("bounded_staleness", 3, i);
            all[i].w.options.staleness = bound;
            if (bd_thread_start(&all[i].w.thread, "racer", run_race, &all[i], st))
                fail_msg("%s", st->message);
        }
        for (int i = 0; i < 3; i++)
            bd_thread_join(&all[i].w.thread);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(all[i].w.code, BRAID_OK);
            braid_graph_free(all[i].w.g);
        }
        test_cluster_free(c);
        bd_mutex_fini(&shared.mu);
        assert_false(shared.wrong);
        assert_true(bound == 0 || shared.most > 0); // the fast workers have gone ahead
    }
}

// ---- Reports ----

static void the_chief_gathers_the_reports_of_all_workers(void **state)
{
    (void)state;
    worker all[3];
    const worker like = {
        .name = "asynchronous", .options = braid_algorithm_defaults("asynchronous"), .last_step = 60};
    train_together(all, &like, 3);
    const braid_worker_report *r;
    assert_int_equal(braid_algorithm_reports(all[0].algorithm, &r), 3);
    int64_t updates = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(r[i].worker, i);
        assert_true(r[i].bytes > 0 || r[i].steps == 0);
        updates += r[i].updates;
    }
    assert_true(updates >= 60 && updates <= 63); // each worker may have been in the middle of a step
    free_graphs(all, 3);
}

// The bytes of the tensors of 60 steps of a worker, of which each sends a gradient of SIZE floats.
static int64_t bytes_with(const char *method)
{
    worker one;
    worker like = {
        .name = "asynchronous", .options = braid_algorithm_defaults("asynchronous"), .last_step = 60};
    like.options.compression = (braid_compression_options){method, 1.0 / SIZE};
    train_together(&one, &like, 1);
    const braid_worker_report *r;
    assert_int_equal(braid_algorithm_reports(one.algorithm, &r), 1);
    assert_int_equal(r->steps, 60);
    const int64_t bytes = r->bytes;
    free_graphs(&one, 1);
    return bytes;
}

static void compressed_gradients_are_sent_in_fewer_bytes(void **state)
{
    (void)state;
    const int64_t whole = bytes_with("none");
    assert_int_equal(whole - bytes_with("half"), 60 * SIZE * 2);
    assert_int_equal(whole - bytes_with("bfloat16"), 60 * SIZE * 2);
    assert_int_equal(whole - bytes_with("top_k"), 60 * (SIZE * 4 - 8)); // one element and its position
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n_workers_in_step_equal_one_process_with_an_n_fold_batch),
        cmocka_unit_test(downpour_and_agn_with_a_period_of_one_are_the_same_update),
        cmocka_unit_test(downpour_with_a_period_of_one_equals_asynchronous_sgd),
        cmocka_unit_test(workers_that_take_turns_have_a_staleness_of_n_minus_one),
        cmocka_unit_test(dynsgd_divides_updates_by_their_staleness_plus_one),
        cmocka_unit_test(the_centre_of_elastic_averaging_converges_to_the_mean),
        cmocka_unit_test(the_centre_of_synchronous_elastic_averaging_is_the_mean_of_the_optima),
        cmocka_unit_test(no_worker_is_ahead_by_more_than_the_bound),
        cmocka_unit_test(the_chief_gathers_the_reports_of_all_workers),
        cmocka_unit_test(compressed_gradients_are_sent_in_fewer_bytes),
    };
    return cmocka_run_group_tests_name("training algorithms on a cluster", tests, NULL, NULL);
}
