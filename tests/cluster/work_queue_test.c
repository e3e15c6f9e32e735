// Work queues of a cluster: the shares of a worker that dies are trained by another, and those that are
// finished outlive the parameter server.
// labels: concurrent
#include "base/alloc.h"
#include "io/testing/temp_dir.h"
#include "support/test_cluster.h"
#include <string.h>

static test_network network; // of the group that runs

#define SHARES 8
#define STEPS_A_SHARE 3

typedef struct fixture {
    test_cluster *cluster;
    char *dir;
} fixture;

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    f->cluster = test_cluster_new(network, 1, 3);
    f->dir = bd_temp_dir_new();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    test_cluster_free(f->cluster);
    bd_temp_dir_free(f->dir);
    bd_free(f);
    return 0;
}

// A worker's program: each step adds 1 to the element of `seen` that belongs to its share.
typedef struct worker {
    braid_graph *graph;
    braid_work_queue *work;
    braid_out seen;
    braid_op *train;
    braid_monitored_session *session;
} worker;

static braid_out int64_zeros(braid_graph *g, int64_t count)
{
    braid_tensor *zeros = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(count), NULL);
    memset(braid_tensor_data(zeros), 0, (size_t)count * sizeof(int64_t));
    const braid_out ref = braid_variable_of(g, "seen", zeros, false).ref;
    braid_tensor_free(zeros);
    return ref;
}

static braid_iterator share_iterator(braid_graph *g, const worker *w)
{
    const braid_out number = braid_work_queue_number(w->work);
    const braid_dataset one = braid_dataset_from_tensors(g, &number, 1);
    return braid_make_initializable_iterator(g, braid_dataset_repeat(g, one, STEPS_A_SHARE), NULL);
}

static void open_worker(worker *w, fixture *f, int index)
{
    static const char *const filters[] = {"/job:ps"};
    *w = (worker){.graph = braid_graph_new()};
    braid_graph *g = w->graph;
    braid_push_device(g, PS);
    w->work =
        braid_work_queue_new(g, NULL, SHARES, &(braid_work_queue_options){.num_epochs = 1, .in_order = true});
    w->seen = int64_zeros(g, SHARES);
    const braid_out step = braid_global_step(g);
    braid_pop_device(g);
    const braid_iterator it = share_iterator(g, w);
    braid_out share;
    braid_iterator_get_next(g, it, &share);
    braid_tensor *one = braid_tensor_int64(1);
    const braid_out added = braid_const(g, NULL, one);
    braid_tensor_free(one);
    braid_op *seen = braid_op_add(g, "ScatterAdd", NULL, (braid_out[]){w->seen, share, added}, 3);
    braid_push_control(g, &seen, 1);
    w->train = braid_assign_add(g, step, added).op;
    braid_pop_control(g);
    w->session = braid_monitored_session_open(
        g, &(braid_session_config){.session = {.server = test_server(f->cluster, "worker", index),
                                               .device_filters = filters,
                                               .device_filter_count = 1},
                                   .is_chief = index == 0,
                                   .checkpoint_dir = f->dir,
                                   .save_checkpoint_steps = 1,
                                   .hooks = BRAID_HOOKS(braid_work_queue_hook(w->work, it))});
}

static void step(worker *w, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(braid_run(w->session, NULL, NULL, w->train), BRAID_OK);
}

static int steps_left(worker *w)
{
    int count = 0;
    while (!braid_should_stop(w->session))
        count += braid_run(w->session, NULL, NULL, w->train) == BRAID_OK;
    return count;
}

static void read_counts(worker *w, braid_out out, int64_t counts[SHARES])
{
    braid_tensor *value = NULL;
    assert_int_equal(braid_evaluate(w->session, NULL, BRAID_FETCH({out, &value})), BRAID_OK);
    memcpy(counts, braid_tensor_data(value), SHARES * sizeof *counts);
    braid_tensor_free(value);
}

static void close_worker(worker *w, braid_code code)
{
    assert_int_equal(braid_monitored_session_close(w->session), code);
    braid_graph_free(w->graph);
}

static void the_share_of_a_worker_that_dies_is_trained_by_another(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    worker chief, lost;
    open_worker(&chief, f, 0);
    open_worker(&lost, f, 1);
    step(&chief, 1);                                            // share 0 is begun
    step(&lost, STEPS_A_SHARE + 1);                             // share 1 is finished, share 2 begun
    braid_server_stop(test_server(f->cluster, "worker", 1), 0); // says nothing to the others
    assert_int_equal(steps_left(&chief), STEPS_A_SHARE * (SHARES - 1) - 1); // waits until share 2 is free
    int64_t seen[SHARES], finished[SHARES];
    read_counts(&chief, chief.seen, seen);
    read_counts(&chief, braid_work_queue_finished(chief.work), finished);
    for (int i = 0; i < SHARES; i++) {
        assert_int_equal(finished[i], 1);
        assert_int_equal(seen[i], STEPS_A_SHARE + (i == 2)); // its step before the death counts, too
    }
    close_worker(&chief, BRAID_OK);
    BD_STATUS(why);
    bd_fail(why, BRAID_INTERNAL, "it is dead");
    braid_monitored_session_fail(lost.session, why);
    close_worker(&lost, BRAID_INTERNAL);
}

static void a_worker_that_comes_late_takes_of_what_is_left(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    worker chief, late;
    open_worker(&chief, f, 0);
    step(&chief, 2 * STEPS_A_SHARE + 1); // shares 0 and 1 are finished, share 2 begun
    open_worker(&late, f, 2);
    step(&late, STEPS_A_SHARE + 1); // share 3 is finished, share 4 begun
    close_worker(&late, BRAID_OK);  // leaves
    assert_int_equal(steps_left(&chief), 2 + STEPS_A_SHARE * 4);
    close_worker(&chief, BRAID_OK);
}

static void an_epoch_goes_on_after_the_parameter_server_was_restarted(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    worker chief;
    open_worker(&chief, f, 0);
    step(&chief, 2 * STEPS_A_SHARE + 1);
    test_kill(f->cluster, "ps", 0);
    test_start(f->cluster, "ps", 0, NULL);
    steps_left(&chief);
    int64_t seen[SHARES], finished[SHARES];
    read_counts(&chief, chief.seen, seen);
    read_counts(&chief, braid_work_queue_finished(chief.work), finished);
    for (int i = 0; i < SHARES; i++) {
        assert_int_equal(finished[i], 1);
        assert_in_range(seen[i], STEPS_A_SHARE, 2 * STEPS_A_SHARE); // again, when it was not finished
    }
    close_worker(&chief, BRAID_OK);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_share_of_a_worker_that_dies_is_trained_by_another),
        TEST(a_worker_that_comes_late_takes_of_what_is_left),
        TEST(an_epoch_goes_on_after_the_parameter_server_was_restarted),
    };
    int failed = 0;
    for (network = TEST_GRPC; network <= TEST_IN_PROCESS; network++)
        failed +=
            _cmocka_run_group_tests(network == TEST_GRPC ? "work queues over gRPC" : "work queues in process",
                                    tests, sizeof tests / sizeof tests[0], NULL, NULL);
    return failed;
}
