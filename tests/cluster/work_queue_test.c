// Work queues of a cluster: the shares of a worker that dies are trained by another, and those that are
// finished outlive the parameter server.
// labels: concurrent
#include "support/training.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static test_network network; // of the group that runs

#define SHARES 8
#define STEPS_A_SHARE 3

#define ELEMENTS (SHARES * STEPS_A_SHARE)

static int set_up(void **state)
{
    *state = test_training_new(network, 1, 3);
    return 0;
}

static int tear_down(void **state)
{
    test_training_free(*state);
    return 0;
}

// A worker's program: each step trains an element of the worker's share, which adds 1 to the element of `seen`.
typedef struct worker {
    braid_graph *graph;
    braid_work_queue *work;
    braid_out seen; // [ELEMENTS]
    braid_op *train;
    braid_monitored_session *session;
} worker;

static braid_out int64_const(braid_graph *g, int64_t value)
{
    braid_tensor *t = braid_tensor_int64(value);
    const braid_out out = braid_const(g, NULL, t);
    braid_tensor_free(t);
    return out;
}

static braid_out int64_zeros(braid_graph *g, int64_t count)
{
    braid_tensor *zeros = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(count), NULL);
    memset(braid_tensor_data(zeros), 0, (size_t)count * sizeof(int64_t));
    const braid_out ref = braid_variable_of(g, "seen", zeros, false).ref;
    braid_tensor_free(zeros);
    return ref;
}

// The elements of share i are the numbers from i * STEPS_A_SHARE on.
static void element_of(void *share, braid_graph *body, const braid_out *index, braid_out *element)
{
    const braid_out first = braid_mul(body, *(const braid_out *)share, int64_const(body, STEPS_A_SHARE));
    *element = braid_add(body, first, *index);
}

static braid_iterator share_iterator(braid_graph *g, const worker *w)
{
    braid_out share = braid_work_queue_number(w->work);
    const braid_dataset indices = braid_dataset_range(g, 0, STEPS_A_SHARE, 1);
    return braid_make_initializable_iterator(g, braid_dataset_map(g, indices, element_of, &share, 1, 0),
                                             NULL);
}

static void open_worker_on(worker *w, braid_server *server, int index, const char *dir)
{
    *w = (worker){.graph = braid_graph_new()};
    braid_graph *g = w->graph;
    braid_push_device(g, PS);
    w->work =
        braid_work_queue_new(g, NULL, SHARES, &(braid_work_queue_options){.num_epochs = 1, .in_order = true});
    w->seen = int64_zeros(g, ELEMENTS);
    const braid_out step = braid_global_step(g);
    braid_pop_device(g);
    const braid_iterator it = share_iterator(g, w);
    braid_out element;
    braid_iterator_get_next(g, it, &element);
    const braid_out one = int64_const(g, 1);
    braid_op *seen = braid_op_add(g, "ScatterAdd", NULL, (braid_out[]){w->seen, element, one}, 3);
    braid_push_control(g, &seen, 1);
    w->train = braid_assign_add(g, step, one).op;
    braid_pop_control(g);
    braid_session_config config = test_worker_config(server, index, dir);
    config.save_checkpoint_steps = 1;
    config.hooks = BRAID_HOOKS(braid_work_queue_hook(w->work, it));
    w->session = braid_monitored_session_open(g, &config);
}

static void open_worker(worker *w, test_training *f, int index)
{
    open_worker_on(w, test_server(f->cluster, "worker", index), index, f->dir);
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

static void read_counts(worker *w, braid_out out, int64_t *counts, size_t count)
{
    braid_tensor *value = NULL;
    assert_int_equal(braid_evaluate(w->session, NULL, BRAID_FETCH({out, &value})), BRAID_OK);
    assert_int_equal(braid_tensor_num_elements(value), count);
    memcpy(counts, braid_tensor_data(value), count * sizeof *counts);
    braid_tensor_free(value);
}

static void close_worker(worker *w, braid_code code)
{
    test_worker_close(w->session, w->graph, code);
}

// Each share is finished, and each element was trained once; element `again` twice.
static void expect_all_trained(worker *w, int again)
{
    int64_t seen[ELEMENTS], finished[SHARES];
    read_counts(w, w->seen, seen, ELEMENTS);
    read_counts(w, braid_work_queue_finished(w->work), finished, SHARES);
    for (int i = 0; i < SHARES; i++)
        assert_int_equal(finished[i], 1);
    for (int i = 0; i < ELEMENTS; i++)
        assert_int_equal(seen[i], i == again ? 2 : 1);
}

static void the_share_of_a_worker_that_dies_is_trained_by_another(void **state)
{
    test_training *f = *state;
    test_start_all(f->cluster, NULL);
    worker chief, lost;
    open_worker(&chief, f, 0);
    open_worker(&lost, f, 1);
    step(&chief, 1);                                            // share 0 is begun
    step(&lost, STEPS_A_SHARE + 1);                             // share 1 is finished, share 2 begun
    braid_server_stop(test_server(f->cluster, "worker", 1), 0); // says nothing to the others
    assert_int_equal(steps_left(&chief), STEPS_A_SHARE * (SHARES - 1) - 1); // waits until share 2 is free
    expect_all_trained(&chief, 2 * STEPS_A_SHARE); // the step before the death counts, too
    close_worker(&chief, BRAID_OK);
    BD_STATUS(why);
    bd_fail(why, BRAID_INTERNAL, "it is dead");
    braid_monitored_session_fail(lost.session, why);
    close_worker(&lost, BRAID_INTERNAL);
}

static void a_worker_that_comes_late_takes_of_what_is_left(void **state)
{
    test_training *f = *state;
    test_start_all(f->cluster, NULL);
    worker chief, late;
    open_worker(&chief, f, 0);
    step(&chief, 2 * STEPS_A_SHARE + 1); // shares 0 and 1 are finished, share 2 begun
    open_worker(&late, f, 2);
    step(&late, STEPS_A_SHARE + 1); // share 3 is finished, share 4 begun
    close_worker(&late, BRAID_OK);  // leaves
    assert_int_equal(steps_left(&chief), 2 + STEPS_A_SHARE * 4);
    expect_all_trained(&chief, 4 * STEPS_A_SHARE);
    close_worker(&chief, BRAID_OK);
}

static void an_epoch_goes_on_after_the_parameter_server_was_restarted(void **state)
{
    test_training *f = *state;
    test_start_all(f->cluster, NULL);
    worker chief;
    open_worker(&chief, f, 0);
    step(&chief, 2 * STEPS_A_SHARE + 1);
    test_kill(f->cluster, "ps", 0);
    test_start(f->cluster, "ps", 0, NULL);
    steps_left(&chief);
    int64_t seen[ELEMENTS], finished[SHARES];
    read_counts(&chief, chief.seen, seen, ELEMENTS);
    read_counts(&chief, braid_work_queue_finished(chief.work), finished, SHARES);
    for (int i = 0; i < SHARES; i++)
        assert_int_equal(finished[i], 1);
    for (int i = 0; i < ELEMENTS; i++)
        assert_in_range(seen[i], 1, 2); // again, when its share was not finished
    close_worker(&chief, BRAID_OK);
}

// ---- A worker in a process of its own ----

// The program of the process: trains `steps` elements, says so by a byte on its output, and waits until its
// input ends, which it does not live to see.
static int run_process(char **argv)
{
    BD_STATUS(st);
    const char *ps_hosts = argv[0], *worker_hosts = argv[1], *dir = argv[2];
    const int index = atoi(argv[3]), steps = atoi(argv[4]);
    braid_cluster *cluster = braid_cluster_from_hosts(ps_hosts, worker_hosts, st);
    braid_server *server = cluster ? braid_server_start(cluster, "worker", index, NULL, st) : NULL;
    if (!server) {
        fprintf(stderr, "worker %d: %s\n", index, braid_status_message(st));
        return 1;
    }
    worker w;
    open_worker_on(&w, server, index, dir);
    for (int i = 0; i < steps; i++)
        if (braid_run(w.session, NULL, NULL, w.train)) return 1;
    char byte = 0;
    return write(STDOUT_FILENO, &byte, 1) == 1 && read(STDIN_FILENO, &byte, 1) == 0 ? 0 : 1;
}

// The addresses of a job, separated by commas.
static void hosts_of(const test_cluster *c, const char *job, int count, char *hosts, size_t size)
{
    hosts[0] = 0;
    for (int i = 0; i < count; i++) {
        const size_t len = strlen(hosts);
        snprintf(hosts + len, size - len, "%s%s", i ? "," : "", braid_cluster_address(c->spec, job, i));
    }
}

typedef struct process {
    pid_t pid;
    int in, out; // ends of its input and its output
} process;

static process start_process(const test_training *f, int index, int steps)
{
    char ps[256], workers[256], numbers[2][12];
    snprintf(numbers[0], sizeof numbers[0], "%d", index);
    snprintf(numbers[1], sizeof numbers[1], "%d", steps);
    hosts_of(f->cluster, "ps", 1, ps, sizeof ps);
    hosts_of(f->cluster, "worker", 3, workers, sizeof workers);
    char *argv[] = {"work_queue_test", "--worker", ps, workers, f->dir, numbers[0], numbers[1], NULL};
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    process p = {.in = in[1], .out = out[0]};
    assert_int_equal(posix_spawn(&p.pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    return p;
}

// Waits until the process has trained its steps, and kills it.
static void kill_process(process p)
{
    char byte;
    struct pollfd ready = {.fd = p.out, .events = POLLIN};
    const bool has_trained = poll(&ready, 1, PATIENCE_MS) == 1 && read(p.out, &byte, 1) == 1;
    int status;
    assert_int_equal(kill(p.pid, SIGKILL), 0);
    assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
    close(p.in);
    close(p.out);
    assert_true(has_trained);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void the_share_of_a_process_that_is_killed_is_trained_by_another(void **state)
{
    test_training *f = *state;
    if (network != TEST_GRPC) skip(); // a process of its own has no in-process network
    test_start(f->cluster, "ps", 0, NULL);
    test_start(f->cluster, "worker", 0, NULL);
    worker chief;
    open_worker(&chief, f, 0);
    step(&chief, 1); // share 0 is begun
    // Share 1 is finished, share 2 begun.
    kill_process(start_process(f, 1, STEPS_A_SHARE + 1));
    assert_int_equal(steps_left(&chief), STEPS_A_SHARE * (SHARES - 1) - 1);
    expect_all_trained(&chief, 2 * STEPS_A_SHARE);
    close_worker(&chief, BRAID_OK);
}

int main(int argc, char **argv)
{
    if (argc == 7 && strcmp(argv[1], "--worker") == 0) return run_process(argv + 2);
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_share_of_a_worker_that_dies_is_trained_by_another),
        TEST(the_share_of_a_process_that_is_killed_is_trained_by_another),
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
