// The model of a cluster (cli/cluster_model.h) against a real one: from the costs of one worker and one
// parameter server, each a process, it tells the rates of two to four workers.
// labels: slow
// timeout: 300
// slots: 3
#include "cli/cluster_model.h"
#include "support/paced_worker.h"
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WORKERS_MAX = 4,
    WARM_UP = 5,
    GRADIENT_US = 20000, // that a worker waits, so that not the processors are the limit
    ROUNDS = 3
};

// All tasks share the processors of this machine, with other work: forecasts may be off by this factor.
#define BAND 1.5

// ---- Processes ----

static int pace(const void *arg, int worker, int64_t step)
{
    (void)worker, (void)step;
    return *(const int *)arg;
}

// What worker 0 has seen.
typedef struct seen {
    double rate;        // updates a second
    double own, server; // seconds of the processors for a step of the worker
} seen;

static seen look_at(const paced_worker *w)
{
    const paced_sample *from = &w->samples[WARM_UP], *to = &w->samples[w->count - 2];
    const double steps = w->count - 2 - WARM_UP;
    return (seen){.rate = paced_worker_rate(w, WARM_UP),
                  .own = (double)(to->own_ns - from->own_ns) * 1e-9 / steps,
                  .server = (double)(to->server_ns - from->server_ns) * 1e-9 / steps};
}

static void serve(test_cluster *c, int result)
{
    BD_STATUS(st);
    close(result); // so that it ends when the workers have
    braid_server *server = test_start(c, "ps", 0, NULL);
    _exit(braid_server_join(server, st) ? 1 : 0);
}

static void work(const paced_worker *how, int result)
{
    static paced_worker w;
    w = *how;
    test_start(w.cluster, "worker", w.index, NULL);
    paced_worker_run(&w);
    const seen s = w.index == 0 ? look_at(&w) : (seen){0};
    const bool is_told = w.index != 0 || write(result, &s, sizeof s) == sizeof s;
    braid_server_free(test_server(w.cluster, "worker", w.index));
    _exit(is_told && w.code == BRAID_OK ? 0 : 1);
}

static void await(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

// Trains with workers that take `us` microseconds for a gradient.
static seen train(const char *algorithm, int workers, int us, int64_t updates)
{
    int result[2];
    pid_t pids[WORKERS_MAX + 1];
    test_cluster *c = test_cluster_new(TEST_GRPC, 1, workers);
    assert_int_equal(pipe(result), 0);
    if ((pids[workers] = fork()) == 0) serve(c, result[1]);
    paced_worker w = {.cluster = c,
                      .algorithm = algorithm,
                      .workers = workers,
                      .last_step = updates,
                      .pace = pace,
                      .pace_arg = &us};
    assert_int_equal(clock_getcpuclockid(pids[workers], &w.server_clock), 0);
    for (w.index = 0; w.index < workers; w.index++)
        if ((pids[w.index] = fork()) == 0) work(&w, result[1]);
    close(result[1]);
    seen s = {0};
    assert_int_equal(read(result[0], &s, sizeof s), sizeof s);
    for (int i = 0; i <= workers; i++)
        await(pids[i]);
    close(result[0]);
    test_cluster_free(c);
    return s;
}

// ---- Rates ----

// Other work on the machine only ever makes a run slower: the fastest of some counts.
static double best_rate(const char *algorithm, int workers, int us, int64_t updates)
{
    double best = 0;
    for (int i = 0; i < ROUNDS; i++)
        best = fmax(best, train(algorithm, workers, us, updates).rate);
    return best;
}

// The costs of one worker that computes nothing. A step is a pull and a push: two requests. What neither
// process works is the way between them, four times.
static bd_cluster_costs measure(const char *algorithm)
{
    double own = INFINITY, server = INFINITY, step = INFINITY;
    for (int i = 0; i < ROUNDS; i++) {
        const seen s = train(algorithm, 1, 0, 1000);
        own = fmin(own, s.own);
        server = fmin(server, s.server);
        step = fmin(step, 1 / s.rate);
    }
    const bd_cluster_costs c = {.compute = GRADIENT_US * 1e-6,
                                .worker_request = own / 2,
                                .ps_request = server / 2,
                                .latency = fmax(0, step - own - server) / 4};
    print_message("%s: a request costs a worker %.0f us and a parameter server %.0f us; one way %.0f us\n",
                  algorithm, c.worker_request * 1e6, c.ps_request * 1e6, c.latency * 1e6);
    return c;
}

static void check_rates(const char *algorithm)
{
    const bd_cluster_costs costs = measure(algorithm);
    print_message("%8s %20s %20s\n", "workers", "measured updates/s", "predicted updates/s");
    for (int n = 1; n <= WORKERS_MAX; n *= 2) {
        bd_cluster_plan plan;
        assert_true(bd_cluster_plan_of(algorithm, n, &plan));
        const double want = bd_cluster_simulate(&costs, &plan, 400, 1).updates;
        const double got = best_rate(algorithm, n, GRADIENT_US, (int64_t)want);
        print_message("%8d %20.0f %20.0f\n", n, got, want);
        if (!(got < want * BAND && got > want / BAND))
            fail_msg("%s, %d workers: %.0f updates a second, but %.0f are predicted", algorithm, n, got,
                     want);
    }
}

static void synchronous_workers_have_the_predicted_rate(void **state)
{
    (void)state;
    check_rates("synchronous");
}

static void asynchronous_workers_have_the_predicted_rate(void **state)
{
    (void)state;
    check_rates("asynchronous");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synchronous_workers_have_the_predicted_rate),
        cmocka_unit_test(asynchronous_workers_have_the_predicted_rate),
    };
    return cmocka_run_group_tests_name("forecasts", tests, NULL, NULL);
}
