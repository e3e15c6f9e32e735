// The model of a training cluster: what must hold of it. published_curves_test.c has what it says of clusters
// of the literature.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "cli/cluster_model.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

// Workers that compute for 10 ms, on parameter servers that cost little.
static const bd_cluster_costs cheap = {.compute = 10e-3,
                                       .compute_spread = 0.1,
                                       .worker_request = 10e-6,
                                       .ps_request = 10e-6,
                                       .latency = 50e-6,
                                       .bandwidth = 1e10,
                                       .model_bytes = 1e5};

static bd_cluster_forecast simulate(const bd_cluster_costs *costs, bd_cluster_plan plan)
{
    if (!plan.period) plan.period = 1;
    if (!plan.ps) plan.ps = 1;
    return bd_cluster_simulate(costs, &plan, 400, 1);
}

static void check_near(double got, double want, double part, const char *what)
{
    if (!(fabs(got - want) <= part * fabs(want))) fail_msg("%s: %g is not near %g", what, got, want);
}

static void equal_seeds_give_equal_forecasts(void **state)
{
    (void)state;
    const bd_cluster_plan plan = {.ps = 2, .workers = 7, .period = 2};
    const bd_cluster_forecast a = bd_cluster_simulate(&cheap, &plan, 50, 7),
                              b = bd_cluster_simulate(&cheap, &plan, 50, 7);
    assert_true(a.steps == b.steps && a.mean_staleness == b.mean_staleness && a.round == b.round);
}

static void n_equal_asynchronous_workers_have_a_staleness_of_n_minus_one(void **state)
{
    (void)state;
    for (int n = 2; n <= 64; n *= 2) {
        const bd_cluster_forecast f = simulate(&cheap, (bd_cluster_plan){.workers = n});
        check_near(f.mean_staleness, n - 1, 0.05, "mean staleness");
    }
}

static void bounded_staleness_never_exceeds_the_bound(void **state)
{
    (void)state;
    bd_cluster_costs costs = cheap;
    costs.worker_spread = 0.3;
    for (int s = 0; s < 6; s++) {
        const bd_cluster_plan plan = {.workers = 8, .coordination = BD_BOUNDED_STALENESS, .staleness = s};
        assert_int_equal(simulate(&costs, plan).max_lead, s);
    }
}

static void a_bound_of_zero_is_as_fast_as_synchronous(void **state)
{
    (void)state;
    bd_cluster_costs costs = cheap;
    costs.compute_spread = 0.3;
    const double bounded =
        simulate(&costs, (bd_cluster_plan){.workers = 8, .coordination = BD_BOUNDED_STALENESS}).steps;
    const double together =
        simulate(&costs, (bd_cluster_plan){.workers = 8, .coordination = BD_SYNCHRONOUS}).steps;
    check_near(bounded, together, 0.03, "steps a second");
}

// A worker that is at times ten times as slow holds all others up, but not with a backup worker or a bound.
static void backup_workers_and_a_bound_help_against_stragglers(void **state)
{
    (void)state;
    bd_cluster_costs costs = cheap;
    costs.straggle_probability = 0.02;
    costs.straggle = 0.1;
    const bd_cluster_plan all = {.workers = 8, .coordination = BD_SYNCHRONOUS};
    const bd_cluster_plan backup = {.workers = 8, .coordination = BD_SYNCHRONOUS, .backup = 1};
    const bd_cluster_plan bound = {.workers = 8, .coordination = BD_BOUNDED_STALENESS, .staleness = 4};
    const double plain = simulate(&costs, all).steps;
    assert_true(simulate(&costs, backup).steps > 1.25 * plain);
    assert_true(simulate(&costs, bound).steps > 1.25 * plain);
}

// When the parameter server is the limit, its time for a round is what counts, and more of them help.
static void a_busy_parameter_server_bounds_the_rate(void **state)
{
    (void)state;
    bd_cluster_costs costs = cheap;
    costs.model_bytes = 1e8; // 10 ms a pull, and a push
    const bd_cluster_forecast one = simulate(&costs, (bd_cluster_plan){.workers = 16});
    check_near(one.steps, 1 / 20e-3, 0.02, "steps a second");
    check_near(one.ps_busy, 1, 0.01, "busy");
    const bd_cluster_forecast four = simulate(&costs, (bd_cluster_plan){.workers = 16, .ps = 4});
    check_near(four.steps, 4 / 20e-3, 0.02, "steps a second of four");
}

static void longer_periods_move_fewer_bytes_in_the_same_steps(void **state)
{
    (void)state;
    bd_cluster_costs costs = cheap;
    costs.model_bytes = 1e8;
    const bd_cluster_forecast f = simulate(&costs, (bd_cluster_plan){.workers = 4, .period = 20});
    check_near(f.steps, 4 * 20 / (20 * 10e-3 + 20e-3 + 2e-3), 0.1, "steps a second");
    check_near(f.updates, f.steps / 20, 0.01, "updates");
}

// Worker 0 takes 40 ms for each gradient, the others 10.
static double one_is_slow(const void *arg, int worker, int64_t index, bd_rng *rng)
{
    (void)arg, (void)index, (void)rng;
    return worker == 0 ? 40e-3 : 10e-3;
}

// In 40 ms three workers compute twelve gradients and the slow one computes one. Each update makes four
// tokens and each gradient takes one, so that there are at most 13/4 updates in that time, not 4: when a
// worker takes a token that the slow one has left, its gradient is for an update that has been made.
static void tokens_that_a_slow_worker_leaves_cost_the_others_gradients(void **state)
{
    (void)state;
    const bd_cluster_costs costs = {.compute_time = one_is_slow};
    const bd_cluster_plan plan = {.workers = 4, .backup = 1, .coordination = BD_SYNCHRONOUS};
    const bd_cluster_forecast f = simulate(&costs, plan);
    assert_true(f.updates > 2.9 / 40e-3 && f.updates < 1.001 * 13 / 4 / 40e-3);
    check_near(f.dropped, 1 - 3 / 4.0, 0.03, "the dropped part");
}

// One worker moves no more than its own network does, however many parameter servers there are.
static void a_worker_is_bounded_by_its_own_network(void **state)
{
    (void)state;
    bd_cluster_costs costs = cheap;
    costs.model_bytes = 1e8; // 10 ms a pull, and a push
    check_near(simulate(&costs, (bd_cluster_plan){.ps = 16, .workers = 1}).steps, 1 / 30e-3, 0.03, "steps");
}

// Transfers share the network: all four workers send at once, so that the update is made when all gradients
// have come, also the one that is dropped.
static void a_dropped_gradient_slows_those_that_come_with_it(void **state)
{
    (void)state;
    bd_cluster_costs costs = cheap;
    costs.model_bytes = 1e8; // 10 ms a pull, and a push
    const bd_cluster_plan all = {.workers = 3, .coordination = BD_SYNCHRONOUS};
    const bd_cluster_plan backup = {.workers = 4, .coordination = BD_SYNCHRONOUS, .backup = 1};
    check_near(simulate(&costs, all).between, 30e-3 + 10e-3 + 30e-3, 0.02, "seconds of a step of three");
    check_near(simulate(&costs, backup).between, 40e-3 + 10e-3 + 40e-3, 0.02, "with a backup worker");
}

// A worker that is allowed to be three rounds ahead pulls once in a while.
static void bounded_staleness_pulls_only_when_the_model_is_too_old(void **state)
{
    (void)state;
    bd_cluster_costs costs = cheap;
    costs.model_bytes = 1e8;
    const double each = simulate(&costs, (bd_cluster_plan){.workers = 2}).steps;
    const bd_cluster_plan bounded = {.workers = 2, .coordination = BD_BOUNDED_STALENESS, .staleness = 3};
    assert_true(simulate(&costs, bounded).steps > 1.2 * each);
}

static void costs_are_told_in_a_line(void **state)
{
    (void)state;
    bd_cluster_costs costs = {.compute = 1.5e-3, .model_bytes = 318040, .bandwidth = 1.25e9};
    char *text = bd_cluster_costs_text(&costs);
    assert_string_equal(text,
                        "A gradient takes 1.5 ms, the model has 0.318 MB, a task's network moves 1250 MB/s");
    bd_free(text);
    costs.bandwidth = 0; // a trial whose steps waited for no byte
    text = bd_cluster_costs_text(&costs);
    assert_non_null(strstr(text, "no step waits for the network, which is taken for unlimited"));
    bd_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_seeds_give_equal_forecasts),
        cmocka_unit_test(n_equal_asynchronous_workers_have_a_staleness_of_n_minus_one),
        cmocka_unit_test(bounded_staleness_never_exceeds_the_bound),
        cmocka_unit_test(a_bound_of_zero_is_as_fast_as_synchronous),
        cmocka_unit_test(backup_workers_and_a_bound_help_against_stragglers),
        cmocka_unit_test(a_busy_parameter_server_bounds_the_rate),
        cmocka_unit_test(longer_periods_move_fewer_bytes_in_the_same_steps),
        cmocka_unit_test(tokens_that_a_slow_worker_leaves_cost_the_others_gradients),
        cmocka_unit_test(a_worker_is_bounded_by_its_own_network),
        cmocka_unit_test(a_dropped_gradient_slows_those_that_come_with_it),
        cmocka_unit_test(bounded_staleness_pulls_only_when_the_model_is_too_old),
        cmocka_unit_test(costs_are_told_in_a_line),
    };
    return cmocka_run_group_tests_name("model of a training cluster", tests, NULL, NULL);
}
