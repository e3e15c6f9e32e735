// Training in a simulated cluster: that the rules are the algorithms' equations, and that what the order of
// reads and updates does to them shows in the loss.
#include "base/testing/test.h"

#include "base/check.h"
#include "cli/simulated_training.h"
#include <braid/algorithms.h>
#include <math.h>
#include <string.h>

static const bd_cluster_costs costs = {.compute = 10e-3,
                                       .compute_spread = 0.1,
                                       .worker_request = 10e-6,
                                       .ps_request = 10e-6,
                                       .latency = 50e-6,
                                       .model_bytes = 1e6};

static bd_cluster_plan plan_of(const char *algorithm, int workers)
{
    bd_cluster_plan plan;
    assert_true(bd_cluster_plan_of(algorithm, workers, &plan));
    return plan;
}

static bd_simulated_result train(const char *algorithm, const bd_cluster_plan *plan, bd_quadratic problem,
                                 int rounds, bd_curve *curve)
{
    const bd_simulated_training t = {.algorithm = algorithm,
                                     .costs = &costs,
                                     .plan = plan,
                                     .problem = problem,
                                     .rounds = rounds,
                                     .seed = 1,
                                     .goal = 0.01 * bd_quadratic_first_loss(&problem)};
    return bd_simulate_training(&t, curve);
}

static bd_curve_point last_of(const bd_curve *c)
{
    return c->points.items[c->points.len - 1];
}

// ---- The equations, of one worker with T = 3 and the loss x^2 / 2, without noise ----

enum {
    PERIOD = 3,
    ROUNDS = 10
};

typedef struct element {
    double x, c, s, v, a, eta; // copy, centre, sum of gradients, momentum, Adagrad's accumulator, rate
} element;

static void sgd(element *e)
{
    e->s += e->x;
    e->x -= e->eta * e->x;
}

static void nesterov(element *e)
{
    const double g = e->x;
    e->v = 0.9 * e->v + g;
    e->x -= e->eta * (g + 0.9 * e->v);
}

static void exchange_sum(element *e)
{
    e->x = e->c -= e->eta * e->s;
}

static void exchange_mean(element *e)
{
    e->x = e->c -= e->eta * e->s / PERIOD;
}

static void exchange_adagrad(element *e)
{
    e->a += e->s * e->s;
    e->x = e->c -= e->eta * e->s / sqrt(e->a);
}

static void exchange_elastic(element *e)
{
    const double force = 0.9 * (e->x - e->c);
    e->x -= force;
    e->c += force;
}

static void exchange_average(element *e)
{
    e->c = e->x;
}

static const struct equations {
    const char *algorithm;
    void (*step)(element *e), (*exchange)(element *e);
} equations[] = {
    {"downpour", sgd, exchange_adagrad},
    {"downpour_sgd", sgd, exchange_sum},
    {"bounded_staleness", sgd, exchange_sum},
    {"dynsgd", sgd, exchange_sum},
    {"agn", sgd, exchange_mean},
    {"sagn", sgd, exchange_mean},
    {"aeasgd", sgd, exchange_elastic},
    {"easgd", sgd, exchange_elastic},
    {"eamsgd", nesterov, exchange_elastic},
    {"model_averaging", sgd, exchange_average},
};

static void one_worker_follows_the_equations(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(equations); i++) {
        const struct equations *of = &equations[i];
        bd_cluster_plan plan = plan_of(of->algorithm, 1);
        plan.period = PERIOD;
        bd_curve curve = {0};
        const bd_simulated_result r =
            train(of->algorithm, &plan, (bd_quadratic){.size = 1, .least_curvature = 1}, ROUNDS, &curve);
        element e = {.x = 1, .c = 1, .a = 0.1, .eta = r.learning_rate};
        for (int k = 0; k < ROUNDS; k++) {
            e.s = 0;
            for (int step = 0; step < PERIOD; step++)
                of->step(&e);
            of->exchange(&e);
        }
        const double want = e.c * e.c / 2, got = last_of(&curve).loss;
        if (!(fabs(got - want) <= 1e-4 * want + 1e-12))
            fail_msg("%s: the loss %g is not %g", of->algorithm, got, want);
        bd_curve_fini(&curve);
    }
}

// An update of the stale gradient h x of tau updates before is stable for eta h < 2 sin(pi / (4 tau + 2)).
static void stale_gradients_need_a_lower_learning_rate(void **state)
{
    (void)state;
    bd_quadratic problem = bd_quadratic_default();
    problem.noise = 0;
    for (int n = 1; n <= 64; n *= 8) {
        const bd_cluster_plan plan = plan_of("asynchronous", n);
        bd_curve curve = {0};
        const bd_simulated_result r = train("asynchronous", &plan, problem, 4000 / n + 100, &curve);
        const double bound = 2 * sin(M_PI / (4 * (n - 1) + 2));
        assert_true(r.to_goal > 0);
        assert_true(n == 1 ? r.learning_rate > 0.39 : r.learning_rate < 1.1 * bound);
        bd_curve_fini(&curve);
    }
}

// The gradients of a worker that is always late are never used.
static void dropped_gradients_do_not_move_the_centre(void **state)
{
    (void)state;
    bd_cluster_plan plan = plan_of("backup_workers", 4);
    plan.backup = 1;
    bd_curve curve = {0};
    const bd_simulated_result r = train("backup_workers", &plan, bd_quadratic_default(), 200, &curve);
    const bd_curve_point p = last_of(&curve);
    assert_true(r.forecast.dropped > 0.1);
    assert_true(p.dropped > 0);
    assert_true(p.steps == 3 * p.updates);
    bd_curve_fini(&curve);
}

static void longer_periods_move_fewer_bytes_for_a_step(void **state)
{
    (void)state;
    double bytes[2];
    for (int i = 0; i < 2; i++) {
        bd_cluster_plan plan = plan_of("downpour_sgd", 8);
        plan.period = i ? 10 : 1;
        bd_curve curve = {0};
        (void)train("downpour_sgd", &plan, bd_quadratic_default(), 1000 / plan.period, &curve);
        bytes[i] = last_of(&curve).bytes / last_of(&curve).steps;
        bd_curve_fini(&curve);
    }
    assert_true(fabs(bytes[0] / bytes[1] - 10) < 0.5);
}

// Older gradients cost steps, also at the best learning rate for them.
static void a_longer_bound_ends_waiting_and_costs_steps(void **state)
{
    (void)state;
    bd_simulated_result short_bound, long_bound;
    bd_cluster_plan plan = plan_of("bounded_staleness", 100);
    for (int i = 0; i < 2; i++) {
        bd_curve curve = {0};
        plan.staleness = i ? 8 : 0;
        *(i ? &long_bound : &short_bound) =
            train("bounded_staleness", &plan, bd_quadratic_default(), 500, &curve);
        bd_curve_fini(&curve);
    }
    assert_true(long_bound.forecast.waiting < 0.7 * short_bound.forecast.waiting);
    assert_true(short_bound.steps_to_goal > 0);
    assert_true(long_bound.steps_to_goal > 2 * short_bound.steps_to_goal);
}

static void all_algorithms_come_to_the_goal_with_four_workers(void **state)
{
    (void)state;
    for (int i = 0; braid_algorithm_at(i); i++) {
        const char *name = braid_algorithm_at(i)->name;
        const bd_cluster_plan plan = plan_of(name, 4);
        bd_curve curve = {0};
        if (train(name, &plan, bd_quadratic_default(), 12000 / plan.period, &curve).to_goal == 0)
            fail_msg("%s does not come to the goal", name);
        bd_curve_fini(&curve);
    }
}

static void equal_seeds_give_equal_curves(void **state)
{
    (void)state;
    const bd_cluster_plan plan = plan_of("eamsgd", 5);
    bd_curve a = {0}, b = {0};
    (void)train("eamsgd", &plan, bd_quadratic_default(), 50, &a);
    (void)train("eamsgd", &plan, bd_quadratic_default(), 50, &b);
    assert_int_equal(a.points.len, b.points.len);
    assert_memory_equal(a.points.items, b.points.items, a.points.len * sizeof *a.points.items);
    bd_curve_fini(&a);
    bd_curve_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_worker_follows_the_equations),
        cmocka_unit_test(stale_gradients_need_a_lower_learning_rate),
        cmocka_unit_test(dropped_gradients_do_not_move_the_centre),
        cmocka_unit_test(longer_periods_move_fewer_bytes_for_a_step),
        cmocka_unit_test(a_longer_bound_ends_waiting_and_costs_steps),
        cmocka_unit_test(all_algorithms_come_to_the_goal_with_four_workers),
        cmocka_unit_test(equal_seeds_give_equal_curves),
    };
    return cmocka_run_group_tests_name("training in a simulated cluster", tests, NULL, NULL);
}
