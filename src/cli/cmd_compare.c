// `braid compare`: trains a program by several algorithms and shows their curves side by side.
#include "command.h"
#include "compare_show.h"
#include "compare_simulated.h"
#include "curves.h"
#include "flags.h"
#include "trial.h"

#include "base/alloc.h"
#include "base/check.h"
#include <braid/algorithms.h>
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
        "event file for TensorBoard. With --simulate it prints steps a second, waiting time, staleness\n"
        "and the time to a loss on clusters of all sizes, and writes DIR/simulated.png; for 10, 100 and\n"
        "1,000 workers it shows the losses of a small problem in the same way, in DIR/workers-N, and what\n"
        "bounds of bounded_staleness take.\n\n"
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
            bd_trial_refuse_algorithm("braid compare", name);
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
        char *text = bd_cluster_costs_text(&costs);
        printf("%s;\nparameter servers: %lld.\n\n", text, (long long)c->ps);
        bd_free(text);
        error = bd_compare_simulated(&costs, names.items, (int)names.len, (int)c->ps, c->output);
    }
    const int code = error ? 1 : 0;
    if (error) fprintf(stderr, "braid compare: %s\n", error);
    bd_free(error);
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
    if (c->failed < (int)c->curves.len)
        bd_compare_show(&(bd_compared){c->curves.items, c->curves.len, (int)c->workers, c->output});
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
