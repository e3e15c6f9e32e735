// The table and the plot of a simulated comparison.
#include "compare_simulated.h"

#include "plot.h"

#include "base/alloc.h"
#include "base/check.h"
#include <stdio.h>

static const int sizes[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};

enum {
    SIZES = BD_COUNTOF(sizes),
    PANELS = 3,
    GRADIENTS = 200 // of each worker, in rounds of a period
};

// What an algorithm does on clusters of all sizes.
typedef struct simulated {
    double x[SIZES];         // workers
    double y[PANELS][SIZES]; // steps a second, waiting in percent, mean staleness
} simulated;

static void simulate(simulated *out, const bd_cluster_costs *costs, const char *algorithm, int ps)
{
    for (int i = 0; i < (int)SIZES; i++) {
        bd_cluster_plan plan;
        BD_ASSERT(bd_cluster_plan_of(algorithm, sizes[i], &plan));
        plan.ps = ps;
        const int rounds = GRADIENTS / plan.period > 20 ? GRADIENTS / plan.period : 20;
        const bd_cluster_forecast f = bd_cluster_simulate(costs, &plan, rounds, 1);
        out->x[i] = sizes[i];
        out->y[0][i] = f.steps;
        out->y[1][i] = 100 * f.waiting;
        out->y[2][i] = f.mean_staleness;
    }
}

static void print(const simulated *all, const char *const *algorithms, int count)
{
    static const char *const titles[] = {"Steps a second of all workers", "Waiting, percent",
                                         "Mean staleness"};
    for (int panel = 0; panel < PANELS; panel++) {
        printf("%s%s\n%-18s", panel ? "\n" : "", titles[panel], "workers");
        for (int i = 0; i < (int)SIZES; i++)
            printf(" %9d", sizes[i]);
        printf("\n");
        for (int a = 0; a < count; a++) {
            printf("%-18s", algorithms[a]);
            for (int i = 0; i < (int)SIZES; i++)
                printf(panel ? " %9.1f" : " %9.0f", all[a].y[panel][i]);
            printf("\n");
        }
    }
}

static char *draw(const simulated *all, const char *const *algorithms, int count, const char *dir)
{
    static const char *const titles[] = {"Steps a second", "Waiting", "Staleness"};
    static const char *const labels[] = {"gradients a second of all workers", "percent of the workers' time",
                                         "updates"};
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

char *bd_compare_simulated(const bd_cluster_costs *costs, const char *const *algorithms, int count, int ps,
                           const char *dir)
{
    simulated *all = bd_calloc((size_t)count, sizeof *all);
    for (int a = 0; a < count; a++)
        simulate(&all[a], costs, algorithms[a], ps);
    print(all, algorithms, count);
    char *error = draw(all, algorithms, count, dir);
    bd_free(all);
    return error;
}
