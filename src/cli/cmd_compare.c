// `braid compare`: trains a program by several algorithms and shows their curves side by side.
#include "command.h"
#include "compare_simulated.h"
#include "curves.h"
#include "flags.h"
#include "plot.h"
#include "trial.h"

#include "base/alloc.h"
#include "base/check.h"
#include <braid/algorithms.h>
#include <braid/event_writer.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OUTPUT_DEFAULT "compare"

typedef struct comparison {
    int64_t ps, workers;
    const char *algorithms; // with commas in between; NULL: all
    const char *output;
    bool simulates;
    char **program; // with its arguments, up to NULL
    BD_ARRAY(bd_curve) curves;
    int failed; // runs
} comparison;

static bd_flags_result parse(comparison *c, int argc, char **argv)
{
    const bd_flag table[] = {
        {"ps", BD_FLAG_INT, &c->ps, 1, "N", "parameter servers (default 1)"},
        {"workers", BD_FLAG_INT, &c->workers, 1, "N", "workers (default 2)"},
        {"algorithms", BD_FLAG_STRING, &c->algorithms, 0, "NAMES",
         "the algorithms to compare, with commas in between (default: all)"},
        {"simulate", BD_FLAG_BOOL, &c->simulates, 0, NULL,
         "train once, with one worker, and simulate 1 to 1,000 workers"},
        {"output", BD_FLAG_STRING, &c->output, 0, "DIR", "where files are written (default compare)"},
    };
    const bd_flags flags = {
        "braid compare", "[OPTIONS] PROGRAM [ARGS...]",
        "Trains PROGRAM by several algorithms of distributed training, one after the other on a cluster of\n"
        "the same size, and shows their losses side by side: over steps, over time and over bytes moved.\n"
        "PROGRAM takes --algorithm=NAME, which is added to its arguments, and uses braid_algorithm_hook.\n\n"
        "Prints a table; writes DIR/loss.png, DIR/curves.csv, and for each algorithm DIR/NAME/log and an\n"
        "event file for TensorBoard. With --simulate it prints steps a second, waiting time and staleness on\n"
        "clusters of all sizes, and writes DIR/simulated.png.\n\n"
        "Example:\n"
        "  braid compare --algorithms synchronous,downpour,eamsgd mnist_algorithm --train_steps=4000",
        table, sizeof table / sizeof *table};
    int rest;
    const bd_flags_result result = bd_flags_parse(&flags, argc, argv, &rest);
    if (result != BD_FLAGS_OK) return result;
    c->program = argv + rest;
    if (rest < argc) return BD_FLAGS_OK;
    fprintf(stderr, "braid compare: PROGRAM is missing. See 'braid compare --help'.\n");
    return BD_FLAGS_ERROR;
}

// ---- The algorithms ----

static bool is_algorithm(const char *name)
{
    for (int i = 0; braid_algorithm_at(i); i++)
        if (strcmp(braid_algorithm_at(i)->name, name) == 0) return true;
    return false;
}

static void add_name(comparison *c, const char *name)
{
    const bd_curve curve = {.name = bd_strdup(name)};
    bd_array_push(&c->curves, curve);
}

// Returns whether all names are known.
static bool find_algorithms(comparison *c)
{
    for (int i = 0; !c->algorithms && braid_algorithm_at(i); i++)
        add_name(c, braid_algorithm_at(i)->name);
    char *names = bd_strdup(c->algorithms ? c->algorithms : ""), *rest = NULL;
    bool ok = true;
    for (char *name = strtok_r(names, ",", &rest); name && ok; name = strtok_r(NULL, ",", &rest)) {
        ok = is_algorithm(name);
        if (ok)
            add_name(c, name);
        else
            fprintf(stderr, "braid compare: there is no algorithm '%s'; docs/algorithms.md has all.\n", name);
    }
    bd_free(names);
    return ok;
}

// ---- A run ----

// A curve without points has failed.
static void run_one(comparison *c, bd_curve *curve)
{
    char *dir = bd_asprintf("%s/%s", c->output, curve->name);
    const bd_trial trial = {.ps = (int)c->ps,
                            .workers = (int)c->workers,
                            .algorithm = curve->name,
                            .program = c->program,
                            .dir = dir};
    char *error = bd_trial_run(&trial, curve);
    if (error) fprintf(stderr, "braid compare: %s: %s\n", curve->name, error);
    if (curve->points.len == 0) c->failed++;
    bd_free(error);
    bd_free(dir);
}

// ---- What is shown ----

static const bd_curve_point *last_of(const bd_curve *c)
{
    return &c->points.items[c->points.len - 1];
}

// The loss that all algorithms reach: the largest of their last ones.
static double common_loss(const comparison *c)
{
    double most = 0;
    for (size_t i = 0; i < c->curves.len; i++) {
        const bd_curve *curve = &c->curves.items[i];
        if (!curve->points.len) continue;
        const double last = bd_curve_smooth(curve, curve->points.len - 1);
        if (last > most) most = last;
    }
    return most;
}

static void print_table(const comparison *c)
{
    const double loss = common_loss(c);
    printf("%-18s %8s %8s %8s %8s %9s %9s %8s   to loss %.3g: %7s %8s %8s\n", "algorithm", "steps", "updates",
           "dropped", "seconds", "MB", "staleness", "waiting", loss, "steps", "seconds", "MB");
    for (size_t i = 0; i < c->curves.len; i++) {
        const bd_curve *curve = &c->curves.items[i];
        if (!curve->points.len) continue;
        const bd_curve_point *p = last_of(curve), *to = bd_curve_reaches(curve, loss);
        printf("%-18s %8.0f %8.0f %8.0f %8.2f %9.1f %9.2f %6.0f %%                  %7.0f %8.2f %8.1f\n",
               curve->name, p->steps, p->updates, p->dropped, p->seconds, p->bytes / 1e6, p->staleness,
               p->seconds > 0 ? 100 * p->waiting / (p->seconds * (double)c->workers) : 0, to->steps,
               to->seconds, to->bytes / 1e6);
    }
}

static char *write_csv(const comparison *c)
{
    char *path = bd_asprintf("%s/curves.csv", c->output), *error = NULL;
    FILE *f = fopen(path, "we");
    if (f) fprintf(f, "algorithm,seconds,steps,updates,bytes,loss\n");
    for (size_t i = 0; f && i < c->curves.len; i++) {
        const bd_curve *curve = &c->curves.items[i];
        for (size_t k = 0; k < curve->points.len; k++) {
            const bd_curve_point *p = &curve->points.items[k];
            fprintf(f, "%s,%.6f,%.0f,%.0f,%.0f,%.7g\n", curve->name, p->seconds, p->steps, p->updates,
                    p->bytes, bd_curve_smooth(curve, k));
        }
    }
    if (!f || fclose(f)) error = bd_asprintf("%s: %s", path, strerror(errno));
    bd_free(path);
    return error;
}

// The loss over steps, over milliseconds and over megabytes: the axis of an event file is an integer.
static void write_events(const comparison *c, const bd_curve *curve, braid_status *st)
{
    char *dir = bd_asprintf("%s/%s", c->output, curve->name);
    braid_event_writer *w = braid_event_writer_open(dir, st);
    for (size_t k = 0; w && k < curve->points.len && !braid_status_code(st); k++) {
        const bd_curve_point *p = &curve->points.items[k];
        const float loss = (float)bd_curve_smooth(curve, k);
        braid_event_writer_add_scalar(w, "loss/over_steps", loss, (int64_t)p->steps, st);
        braid_event_writer_add_scalar(w, "loss/over_milliseconds", loss, (int64_t)(p->seconds * 1e3), st);
        braid_event_writer_add_scalar(w, "loss/over_megabytes", loss, (int64_t)(p->bytes / 1e6), st);
        braid_event_writer_add_scalar(w, "staleness", (float)p->staleness, (int64_t)p->steps, st);
    }
    braid_event_writer_close(w, st);
    bd_free(dir);
}

// One axis of all curves.
static double value_of(const bd_curve *c, size_t k, int axis)
{
    const bd_curve_point *p = &c->points.items[k];
    switch (axis) {
    case 0: return p->steps;
    case 1: return p->seconds;
    case 2: return p->bytes / 1e6;
    default: return bd_curve_smooth(c, k);
    }
}

static double *values_of(const bd_curve *c, int axis)
{
    double *values = bd_calloc(c->points.len + 1, sizeof *values);
    for (size_t k = 0; k < c->points.len; k++)
        values[k] = value_of(c, k, axis);
    return values;
}

static char *draw(const comparison *c)
{
    static const char *const titles[] = {"Loss over steps", "Loss over time", "Loss over bytes moved"};
    static const char *const labels[] = {"steps of all workers", "seconds", "MB"};
    enum {
        PANELS = 3
    };
    bd_plot_panel panels[PANELS];
    bd_plot_line *lines[PANELS];
    const int count = (int)c->curves.len;
    for (int axis = 0; axis < PANELS; axis++) {
        lines[axis] = bd_calloc((size_t)count, sizeof *lines[axis]);
        for (int i = 0; i < count; i++) {
            const bd_curve *curve = &c->curves.items[i];
            lines[axis][i] = (bd_plot_line){curve->name, values_of(curve, axis), values_of(curve, PANELS),
                                            curve->points.len};
        }
        panels[axis] = (bd_plot_panel){.title = titles[axis],
                                       .x_label = labels[axis],
                                       .y_label = "training loss",
                                       .log_y = true,
                                       .lines = lines[axis],
                                       .count = count};
    }
    char *path = bd_asprintf("%s/loss.png", c->output), *error = bd_plot_png(path, panels, PANELS);
    if (!error) printf("\nThe curves: %s\n", path);
    for (int axis = 0; axis < PANELS; axis++) {
        for (int i = 0; i < count; i++) {
            bd_free((void *)lines[axis][i].x);
            bd_free((void *)lines[axis][i].y);
        }
        bd_free(lines[axis]);
    }
    bd_free(path);
    return error;
}

static void complain(char *error)
{
    if (error) fprintf(stderr, "braid compare: %s\n", error);
    bd_free(error);
}

static void show(const comparison *c)
{
    print_table(c);
    complain(write_csv(c));
    for (size_t i = 0; i < c->curves.len; i++) {
        braid_status *st = braid_status_new();
        if (c->curves.items[i].points.len) write_events(c, &c->curves.items[i], st);
        if (braid_status_code(st)) fprintf(stderr, "braid compare: %s\n", braid_status_message(st));
        braid_status_free(st);
    }
    complain(draw(c));
}

// ---- The command ----

static int simulate(comparison *c)
{
    bd_curve curve = {0};
    char *dir = bd_asprintf("%s/trial", c->output);
    const bd_trial trial = {
        .ps = 1, .workers = 1, .algorithm = "asynchronous", .program = c->program, .dir = dir};
    char *error = bd_trial_run(&trial, &curve);
    BD_ARRAY(const char *) names = {0};
    for (size_t i = 0; i < c->curves.len; i++)
        bd_array_push(&names, c->curves.items[i].name);
    if (!error) {
        bd_cluster_costs costs = bd_cluster_costs_defaults();
        bd_trial_costs(&curve, &costs);
        printf(
            "A gradient takes %.3g ms, the model has %.3g MB, a parameter server moves %.3g MB/s; %lld of\n"
            "them.\n\n",
            costs.compute * 1e3, costs.model_bytes / 1e6, costs.bandwidth / 1e6, (long long)c->ps);
        error = bd_compare_simulated(&costs, names.items, (int)names.len, (int)c->ps, c->output);
    }
    const int code = error ? 1 : 0;
    complain(error);
    bd_array_free(&names);
    bd_curve_fini(&curve);
    bd_free(dir);
    return code;
}

static int compare(comparison *c)
{
    if (mkdir(c->output, 0777) && errno != EEXIST) {
        fprintf(stderr, "braid compare: %s: %s\n", c->output, strerror(errno));
        return 1;
    }
    if (c->simulates) return simulate(c);
    for (size_t i = 0; i < c->curves.len; i++) {
        fprintf(stderr, "braid compare: %s (%zu of %zu)\n", c->curves.items[i].name, i + 1, c->curves.len);
        run_one(c, &c->curves.items[i]);
    }
    if (c->failed < (int)c->curves.len) show(c);
    return c->failed ? 1 : 0;
}

static int compare_main(int argc, char **argv)
{
    comparison c = {.ps = 1, .workers = 2, .output = OUTPUT_DEFAULT};
    switch (parse(&c, argc, argv)) {
    case BD_FLAGS_HELP: return 0;
    case BD_FLAGS_ERROR: return BD_EXIT_USAGE;
    case BD_FLAGS_OK: break;
    }
    const int code = find_algorithms(&c) ? compare(&c) : BD_EXIT_USAGE;
    for (size_t i = 0; i < c.curves.len; i++)
        bd_curve_fini(&c.curves.items[i]);
    bd_array_free(&c.curves);
    return code;
}

BD_COMMAND(compare) = {
    .name = "compare",
    .usage = "[OPTIONS] PROGRAM [ARGS...]",
    .summary = "train by several algorithms and show their curves side by side",
    .main = compare_main,
};
