// Slow workers on a real cluster: how much faster training is with backup workers, or with bounded staleness,
// than when all wait for the slowest, compared with what the model of a cluster (cli/cluster_model.h) says
// for the same times to compute. Times under sanitizers would say nothing.
// labels: slow
// timeout: 300
// slots: 3
#include "cli/cluster_model.h"
#include "support/paced_worker.h"
#include <math.h>
#include <string.h>

enum {
    WORKERS = 4,
    BACKUP = 1,
    FAST_MS = 10,
    SLOW_MS = 40,
    WARM_UP = 4, // steps of the first worker that do not count
    ROUNDS = 3   // of which the fastest counts
};

// Ratios of rates are to be as predicted within this part: the machine may be busy with other work.
#define BAND 0.25

// ---- When a worker is slow ----

typedef enum slowness {
    NEVER, // and no time to compute at all
    ALWAYS_THE_LAST,
    IN_TURN, // at each step one of the workers
    KINDS
} slowness;

static int pace(const void *arg, int worker, int64_t step)
{
    const slowness slow = *(const slowness *)arg;
    const bool is_slow = slow == ALWAYS_THE_LAST ? worker == WORKERS - 1 : step % WORKERS == worker;
    return slow == NEVER ? 0 : 1000 * (is_slow ? SLOW_MS : FAST_MS);
}

static double compute_time(const void *arg, int worker, int64_t index, bd_rng *rng)
{
    (void)rng;
    return pace(arg, worker, index) * 1e-6;
}

// ---- What is measured ----

static void work(void *arg)
{
    paced_worker_run(arg);
}

// Updates a second.
static double train(const char *algorithm, slowness slow, int workers, int64_t updates)
{
    static paced_worker all[WORKERS];
    bd_thread threads[WORKERS];
    test_cluster *c = test_cluster_new(TEST_IN_PROCESS, 1, workers);
    test_start_all(c, NULL);
    BD_STATUS(st);
    for (int i = 0; i < workers; i++) {
        all[i] = (paced_worker){.cluster = c,
                                .algorithm = algorithm,
                                .index = i,
                                .workers = workers,
                                .backup = strcmp(algorithm, "backup_workers") == 0 ? BACKUP : 0,
                                .last_step = updates,
                                .pace = pace,
                                .pace_arg = &slow};
        if (bd_thread_start(&threads[i], "worker", work, &all[i], st)) fail_msg("%s", st->message);
    }
    for (int i = 0; i < workers; i++) {
        bd_thread_join(&threads[i]);
        assert_int_equal(all[i].code, BRAID_OK);
    }
    test_cluster_free(c);
    return paced_worker_rate(&all[0], WARM_UP);
}

// Other work on the machine only ever makes a run slower: the fastest of some counts.
static double measured(const char *algorithm, slowness slow, int64_t updates)
{
    double best = 0;
    for (int i = 0; i < ROUNDS; i++)
        best = fmax(best, train(algorithm, slow, WORKERS, updates));
    return best;
}

static double measured_synchronous(slowness slow)
{
    static double rates[KINDS];
    if (rates[slow] == 0) rates[slow] = measured("synchronous", slow, 25);
    return rates[slow];
}

// ---- What is predicted ----

// A step of one worker that computes nothing is two requests: a pull and a push. All of their time is taken
// for that of the parameter server, which is so for tasks that share a few processors.
static double request_time(void)
{
    static double request;
    if (request == 0) request = 1 / train("synchronous", NEVER, 1, 300) / 2;
    return request;
}

static double predicted(const char *algorithm, slowness slow)
{
    const bd_cluster_costs costs = {
        .ps_request = request_time(), .compute_time = compute_time, .compute_time_arg = &slow};
    bd_cluster_plan plan;
    assert_true(bd_cluster_plan_of(algorithm, WORKERS, &plan));
    if (strcmp(algorithm, "backup_workers") == 0) plan.backup = BACKUP;
    return bd_cluster_simulate(&costs, &plan, 200, 1).updates;
}

// ---- The tests ----

static void check(const char *what, double got, double want)
{
    print_message("%s: measured %.3g, predicted %.3g\n", what, got, want);
    if (!(got > want * (1 - BAND) && got < want * (1 + BAND)))
        fail_msg("%s: measured %.3g, but %.3g is predicted, and may be off by %.0f %%", what, got, want,
                 100 * BAND);
}

// How many times the updates of synchronous training an algorithm makes in the same time. `updates` take
// about a second.
static double check_gain(const char *algorithm, slowness slow, int64_t updates)
{
    const double plain = measured_synchronous(slow), gain = measured(algorithm, slow, updates) / plain;
    check("updates a second of synchronous training", plain, predicted("synchronous", slow));
    check(algorithm, gain, predicted(algorithm, slow) / predicted("synchronous", slow));
    return gain;
}

// Three of four gradients make an update: with ideal workers there would be four times the updates. Tokens
// that the slow worker leaves behind cost the others gradients.
static void a_backup_worker_makes_up_for_a_slow_worker_as_predicted(void **state)
{
    (void)state;
    assert_true(check_gain("backup_workers", ALWAYS_THE_LAST, 80) > 2);
}

static void a_backup_worker_makes_up_for_workers_that_are_slow_in_turn_as_predicted(void **state)
{
    (void)state;
    assert_true(check_gain("backup_workers", IN_TURN, 50) > 1.5);
}

// An update of bounded staleness is of one worker, one of synchronous training of all.
static void bounded_staleness_makes_up_for_workers_that_are_slow_in_turn_as_predicted(void **state)
{
    (void)state;
    assert_true(check_gain("bounded_staleness", IN_TURN, 200) > 1.5 * WORKERS);
}

static void bounded_staleness_cannot_make_up_for_a_worker_that_is_always_slow(void **state)
{
    (void)state;
    assert_true(check_gain("bounded_staleness", ALWAYS_THE_LAST, 120) < (1 + BAND) * WORKERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backup_worker_makes_up_for_a_slow_worker_as_predicted),
        cmocka_unit_test(a_backup_worker_makes_up_for_workers_that_are_slow_in_turn_as_predicted),
        cmocka_unit_test(bounded_staleness_makes_up_for_workers_that_are_slow_in_turn_as_predicted),
        cmocka_unit_test(bounded_staleness_cannot_make_up_for_a_worker_that_is_always_slow),
    };
    return cmocka_run_group_tests_name("slow workers", tests, NULL, NULL);
}
