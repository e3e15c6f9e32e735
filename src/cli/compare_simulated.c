// The table and the plot of a simulated comparison.
#include "compare_simulated.h"

#include "compare_show.h"
#include "plot.h"
#include "simulated_training.h"

#include "base/alloc.h"
#include "base/check.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const int sizes[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};

enum {
    SIZES = BD_COUNTOF(sizes),
    PANELS = 4,
    GRADIENTS = 200,       // of each worker at least, in rounds of a period,
    GRADIENTS_ALL = 20000, // and of all workers together
    ROUNDS_MIN = 50
};

#define GOAL 0.01 // of the first loss
#define BOUNDED "bounded_staleness"

// The sizes whose losses are shown.
static bool is_shown(int workers)
{
    return workers == 10 || workers == 100 || workers == 1000;
}

// What an algorithm does on clusters of all sizes.
typedef struct simulated {
    double x[SIZES]; // workers
    // Steps a second, waiting in percent, mean staleness, seconds to the goal (0: not reached).
    double y[PANELS][SIZES];
    bd_curve curves[SIZES]; // empty where they are not shown
} simulated;

static bd_cluster_plan plan_of(const char *algorithm, int workers, int ps)
{
    bd_cluster_plan plan;
    BD_ASSERT(bd_cluster_plan_of(algorithm, workers, &plan));
    plan.ps = ps;
    return plan;
}

static bd_simulated_result simulate(const bd_cluster_costs *costs, const char *algorithm,
                                    const bd_cluster_plan *plan, bd_curve *curve)
{
    const int gradients = bd_max(GRADIENTS, GRADIENTS_ALL / plan->workers);
    bd_simulated_training t = {.algorithm = algorithm,
                               .costs = costs,
                               .plan = plan,
                               .problem = bd_quadratic_default(),
                               .rounds = bd_max(gradients / plan->period, ROUNDS_MIN),
                               .seed = 1};
    t.goal = GOAL * bd_quadratic_first_loss(&t.problem);
    return bd_simulate_training(&t, curve);
}

static void simulate_size(simulated *out, int i, const bd_cluster_costs *costs, const char *algorithm, int ps)
{
    const bd_cluster_plan plan = plan_of(algorithm, sizes[i], ps);
    bd_curve curve = {0};
    const bd_simulated_result r = simulate(costs, algorithm, &plan, &curve);
    out->x[i] = sizes[i];
    out->y[0][i] = r.forecast.steps;
    out->y[1][i] = 100 * r.forecast.waiting;
    out->y[2][i] = r.forecast.mean_staleness;
    out->y[3][i] = r.to_goal;
    curve.name = bd_strdup(algorithm);
    out->curves[i] = curve;
}

static void print(const simulated *all, const char *const *algorithms, int count)
{
    static const char *const titles[] = {"Steps a second of all workers", "Waiting, percent",
                                         "Mean staleness",
                                         "Seconds to a hundredth of the first loss (-: not reached)"};
    static const char *const formats[] = {" %9.0f", " %9.1f", " %9.1f", " %9.3g"};
    for (int panel = 0; panel < PANELS; panel++) {
        printf("%s%s\n%-18s", panel ? "\n" : "", titles[panel], "workers");
        for (int i = 0; i < (int)SIZES; i++)
            printf(" %9d", sizes[i]);
        printf("\n");
        for (int a = 0; a < count; a++) {
            printf("%-18s", algorithms[a]);
            for (int i = 0; i < (int)SIZES; i++)
                if (panel == PANELS - 1 && all[a].y[panel][i] == 0)
                    printf(" %9s", "-");
                else
                    printf(formats[panel], all[a].y[panel][i]);
            printf("\n");
        }
    }
}

// ---- The bound of bounded staleness: a longer one ends waiting, and costs gradients ----

static void print_bound(const bd_cluster_costs *costs, int workers, int bound, int ps)
{
    bd_cluster_plan plan = plan_of(BOUNDED, workers, ps);
    plan.staleness = bound;
    bd_curve curve = {0};
    const bd_simulated_result r = simulate(costs, BOUNDED, &plan, &curve);
    printf("%8d %8d %9.1f %10.1f ", workers, bound, 100 * r.forecast.waiting, r.forecast.mean_staleness);
    if (r.to_goal > 0)
        printf("%9.0f %9.3g\n", r.steps_to_goal, r.to_goal);
    else
        printf("%9s %9s\n", "-", "-");
    bd_curve_fini(&curve);
}

static void print_bounds(const bd_cluster_costs *costs, int ps)
{
    static const int bounds[] = {0, 1, 2, 4, 8, 16};
    printf("\nThe bound of " BOUNDED ", with steps and seconds to a hundredth of the first loss\n"
           "%8s %8s %9s %10s %9s %9s\n",
           "workers", "bound", "waiting %", "staleness", "steps", "seconds");
    for (int i = 0; i < (int)SIZES; i++)
        for (size_t b = 0; b < BD_COUNTOF(bounds) && is_shown(sizes[i]); b++)
            print_bound(costs, sizes[i], bounds[b], ps);
}

static char *draw(const simulated *all, const char *const *algorithms, int count, const char *dir)
{
    static const char *const titles[] = {"Steps a second", "Waiting", "Staleness", "Time to a loss"};
    static const char *const labels[] = {"gradients a second of all workers", "percent of the workers' time",
                                         "updates", "seconds to 1 % of the first loss"};
    bd_plot_panel panels[PANELS];
    bd_plot_line *lines[PANELS];
    for (int p = 0; p < PANELS; p++) {
        lines[p] = bd_calloc((size_t)count, sizeof *lines[p]);
        for (int a = 0; a < count; a++)
            lines[p][a] = (bd_plot_line){algorithms[a], all[a].x, all[a].y[p], SIZES};
        panels[p] = (bd_plot_panel){.title = titles[p],
                                    .x_label = "workers",
                                    .y_label = labels[p],
                                    .log_x = true,
                                    .log_y = p != 1,
                                    .lines = lines[p],
                                    .count = count};
    }
    char *path = bd_asprintf("%s/simulated.png", dir), *error = bd_plot_png(path, panels, PANELS);
    if (!error) printf("\nThe curves: %s\n", path);
    for (int p = 0; p < PANELS; p++)
        bd_free(lines[p]);
    bd_free(path);
    return error;
}

// The losses on clusters of one size, as of real ones.
static char *show_losses(const simulated *all, int count, int size, const char *dir)
{
    char *path = bd_asprintf("%s/workers-%d", dir, sizes[size]);
    bd_curve *curves = bd_calloc((size_t)count, sizeof *curves);
    char *error = NULL;
    for (int a = 0; a < count; a++)
        curves[a] = all[a].curves[size];
    if (mkdir(path, 0777) && errno != EEXIST) error = bd_asprintf("%s: %s", path, strerror(errno));
    for (int a = 0; !error && a < count; a++) {
        char *sub = bd_asprintf("%s/%s", path, curves[a].name);
        if (mkdir(sub, 0777) && errno != EEXIST) error = bd_asprintf("%s: %s", sub, strerror(errno));
        bd_free(sub);
    }
    if (!error) {
        printf("\nA small problem on %d simulated workers\n", sizes[size]);
        bd_compare_show(&(bd_compared){curves, (size_t)count, sizes[size], path});
    }
    bd_free(curves);
    bd_free(path);
    return error;
}

static void fini(simulated *s)
{
    for (int i = 0; i < (int)SIZES; i++)
        bd_curve_fini(&s->curves[i]);
}

char *bd_compare_simulated(const bd_cluster_costs *costs, const char *const *algorithms, int count, int ps,
                           const char *dir)
{
    simulated *all = bd_calloc((size_t)count, sizeof *all);
    for (int a = 0; a < count; a++)
        for (int i = 0; i < (int)SIZES; i++)
            simulate_size(&all[a], i, costs, algorithms[a], ps);
    print(all, algorithms, count);
    for (int a = 0; a < count; a++)
        if (strcmp(algorithms[a], BOUNDED) == 0) print_bounds(costs, ps);
    char *error = draw(all, algorithms, count, dir);
    for (int i = 0; i < (int)SIZES && !error; i++)
        if (is_shown(sizes[i])) error = show_losses(all, count, i, dir);
    for (int a = 0; a < count; a++)
        fini(&all[a]);
    bd_free(all);
    return error;
}
