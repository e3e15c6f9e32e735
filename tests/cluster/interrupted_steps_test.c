// A server frees its processor of steps that are over their time or cancelled, and stops in time whatever
// runs.
// labels: concurrent
// timeout: 120
#include "base/clock.h"
#include "support/test_cluster.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SIDE = 9000, // a product of such matrices takes 10 s and more
    STEP_TIMEOUT_MS = 300,
    // Far more than a step needs to end, far less than the product: of the clock or, since the machine may be
    // busy with other work, of the processor.
    SOON_MS = 2500,
    CONVOLVING_S = 2 // of the processor, before the signal
};

static int set_up(void **state)
{
    test_cluster *c = test_cluster_new(TEST_GRPC, 1, 1);
    test_start_all(c, &(braid_server_options){.inter_op_threads = 1});
    *state = c;
    return 0;
}

static int tear_down(void **state)
{
    test_cluster_free(*state);
    return 0;
}

// A product of two matrices, on the parameter server.
static braid_op *long_product(braid_graph *g)
{
    braid_tensor *dims = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(2), NULL);
    ((int32_t *)braid_tensor_data(dims))[0] = ((int32_t *)braid_tensor_data(dims))[1] = SIDE;
    braid_op_desc *d = braid_op_begin(g, "Const", "dims");
    braid_op_attr_type(d, "dtype", BRAID_INT32);
    braid_op_attr_tensor(d, "value", dims);
    braid_op_device(d, PS);
    braid_tensor_free(dims);
    const braid_out size = braid_op_end_out(d);
    const braid_out x = NODE(g, "Fill", "x", PS, size, test_const(g, "one", PS, 1));
    return NODE(g, "MatMul", "product", PS, x, x).op;
}

static void wait_ms(int64_t ms)
{
    bd_event never;
    bd_event_init(&never);
    bd_event_wait_until(&never, bd_deadline_after_ms(ms));
    bd_event_fini(&never);
}

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void a_step_over_its_time_frees_the_processor(void **state)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op *product = long_product(g);
    braid_session *s = test_remote_session(*state, g, "worker", 0, NULL, st);
    assert_non_null(s);
    test_run_status(s, product, STEP_TIMEOUT_MS, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "");
    const double begin = processor_seconds();
    wait_ms(1000);
    assert_true(processor_seconds() - begin < 0.5);
    BD_STATUS(closed);
    braid_session_close(s, closed);
    braid_graph_free(g);
}

typedef struct running {
    braid_session *session;
    braid_op *product;
    braid_code code;
} running;

static void run(void *arg)
{
    running *r = arg;
    BD_STATUS(st);
    r->code = test_run_status(r->session, r->product, PATIENCE_MS, st);
}

static void a_server_stops_while_a_kernel_runs(void **state)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    running r = {.product = long_product(g)};
    bd_thread thread;
    r.session = test_session(*state, g, "worker", 0, NULL, st);
    assert_non_null(r.session);
    test_run_status(r.session, r.product, STEP_TIMEOUT_MS, st); // its first step prepares the graph
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "");
    BD_STATUS(started);
    bd_thread_start(&thread, "step", run, &r, started);
    assert_int_equal(started->code, BRAID_OK);
    wait_ms(STEP_TIMEOUT_MS); // the product has begun by then
    const int64_t soon_ns = bd_deadline_after_ms(SOON_MS);
    const double begin = processor_seconds();
    braid_server_stop(test_server(*state, "ps", 0), 0);
    assert_true(bd_now_ns() < soon_ns || processor_seconds() - begin < SOON_MS / 1e3);
    bd_thread_join(&thread);
    assert_int_not_equal(r.code, BRAID_OK);
    BD_STATUS(closed);
    braid_session_close(r.session, closed);
    braid_graph_free(g);
}

// ---- A process of its own, whose kernel is one call of a library ----

extern char **environ;

// A convolution of some 30 s, which is one call because it is of one image, and needs little memory.
static braid_out long_convolution(braid_graph *g)
{
    const braid_out x = braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(1, 256, 256, 256));
    const braid_out w = braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(15, 15, 256, 256));
    return braid_conv2d(g, x, w, 1, BRAID_SAME);
}

static void end(union sigval unused)
{
    (void)unused;
    close(1);
    kill(getpid(), SIGTERM);
}

// Closes its standard output once the convolution runs, and sends itself the signal.
static int convolve(void)
{
    BD_STATUS(st);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = end};
    braid_server *server = braid_server_start_local(NULL, st);
    // The process takes this time of the processor only in the convolution.
    const struct itimerspec convolving = {.it_value.tv_sec = CONVOLVING_S};
    if (!server || timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) ||
        timer_settime(timer, 0, &convolving, NULL))
        return 1;
    braid_server_stop_on_signals(server);
    braid_graph *g = braid_graph_new();
    braid_op *y = long_convolution(g).op;
    braid_session *s = braid_session_open(g, &(braid_session_options){.server = server}, st);
    if (s) test_run_status(s, y, PATIENCE_MS * 4, st);
    return 2;
}

static void a_signal_ends_a_process_in_three_seconds(void **state)
{
    (void)state;
    const char *sanitizer = getenv("BRAID_SANITIZE");
    if (sanitizer && strstr(sanitizer, "thread")) skip(); // the process ends by the signal there
    pid_t pid;
    int status, ends[2];
    char byte, *argv[] = {"interrupted_steps_test", "convolve", NULL};
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0); // it is closed
    close(ends[0]);
    const int64_t soon_ns = bd_deadline_after_ms(5000);
    struct rusage use;
    assert_int_equal(wait4(pid, &status, 0, &use), pid);
    assert_true(bd_now_ns() < soon_ns || use.ru_utime.tv_sec + use.ru_stime.tv_sec < CONVOLVING_S + 5);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "convolve") == 0) return convolve();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_step_over_its_time_frees_the_processor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_server_stops_while_a_kernel_runs, set_up, tear_down),
        cmocka_unit_test(a_signal_ends_a_process_in_three_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
