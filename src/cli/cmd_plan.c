// `braid plan`: how many parameter servers and workers a program wants, and where its limit is.
#include "cluster_model.h"
#include "command.h"
#include "flags.h"
#include "trial.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include <braid/algorithms.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 100 // that are simulated, of each worker
};

// A parameter server more must make so much more of the rate, and a worker must be worth so much of one
// alone.
#define GAIN_MIN 1.1
#define EFFICIENCY_MIN 0.5

typedef struct planning {
    const char *compute, *model, *bandwidth, *latency, *spread, *algorithm, *output;
    int64_t max_ps, max_workers;
    char **program;
    bd_cluster_costs costs;
    bd_cluster_plan plan;
} planning;

static bd_flags_result parse(planning *p, int argc, char **argv)
{
    const bd_flag table[] = {
        {"algorithm", BD_FLAG_STRING, &p->algorithm, 0, "NAME",
         "how workers share the variables (default synchronous)"},
        {"compute", BD_FLAG_STRING, &p->compute, 0, "SECONDS",
         "what a worker takes for a gradient (default: measured)"},
        {"model", BD_FLAG_STRING, &p->model, 0, "BYTES",
         "size of all variables, with K, M or G (default: measured)"},
        {"bandwidth", BD_FLAG_STRING, &p->bandwidth, 0, "BYTES",
         "a task's network moves in a second (default: measured, or 1G)"},
        {"latency", BD_FLAG_STRING, &p->latency, 0, "SECONDS", "one way, between tasks (default 0.0001)"},
        {"spread", BD_FLAG_STRING, &p->spread, 0, "PART",
         "by which times of workers differ from step to step (default 0.1)"},
        {"max-ps", BD_FLAG_INT, &p->max_ps, 1, "N", "the most parameter servers (default 16)"},
        {"max-workers", BD_FLAG_INT, &p->max_workers, 1, "N", "the most workers (default 64)"},
        {"output", BD_FLAG_STRING, &p->output, 0, "DIR",
         "where the trial of PROGRAM writes its log (default plan)"},
    };
    const bd_flags flags = {
        "braid plan", "[OPTIONS] [PROGRAM ARGS...]",
        "Tells how fast a program trains on more parameter servers and workers, how stale updates get, and\n"
        "what limits it, by a simulation of the cluster. What a gradient takes and how large the model is\n"
        "are measured by a trial of PROGRAM, with one worker and one parameter server on this machine, or\n"
        "are given. PROGRAM takes --algorithm=NAME and uses braid_algorithm_hook.\n\n"
        "Example:\n"
        "  braid plan mnist_algorithm --train_steps=1000\n"
        "  braid plan --compute 0.2 --model 100M --bandwidth 1.2G --algorithm asynchronous",
        table, sizeof table / sizeof *table};
    int rest;
    const bd_flags_result result = bd_flags_parse(&flags, argc, argv, &rest);
    if (result == BD_FLAGS_OK) p->program = argv + rest;
    return result;
}

// ---- Numbers ----

// A positive number with K, M or G (powers of 1000) behind it. NULL text leaves the value as it is.
static bool read_number(const char *flag, const char *text, double *value)
{
    if (!text) return true;
    char *number = bd_strdup(text);
    const size_t len = strlen(number);
    double scale = 1;
    const char *const units = "KMG", *unit = len ? strchr(units, number[len - 1]) : NULL;
    if (unit) {
        scale = pow(1000, (double)(unit - units + 1));
        number[len - 1] = '\0';
    }
    double read = 0;
    const bool ok = bd_parse_double(number, &read) && read > 0 && isfinite(read);
    if (ok) *value = read * scale;
    if (!ok) fprintf(stderr, "braid plan: --%s %s: not a positive number\n", flag, text);
    bd_free(number);
    return ok;
}

// Measures what is not given. Returns an exit code.
static int measure(planning *p)
{
    bd_curve curve = {0};
    char *const *program = p->program;
    const bd_trial trial = {
        .ps = 1, .workers = 1, .algorithm = "asynchronous", .program = program, .dir = p->output};
    fprintf(stderr, "braid plan: trying %s with one worker and one parameter server\n", program[0]);
    char *error = bd_trial_run(&trial, &curve);
    if (!error) bd_trial_costs(&curve, &p->costs);
    if (error) fprintf(stderr, "braid plan: %s: %s\n", program[0], error);
    const int code = error ? 1 : 0;
    bd_free(error);
    bd_curve_fini(&curve);
    return code;
}

static int find_costs(planning *p)
{
    bd_cluster_costs *c = &p->costs;
    *c = bd_cluster_costs_defaults();
    if (!*p->program && (!p->compute || !p->model)) {
        fprintf(stderr, "braid plan: give PROGRAM, to measure, or --compute and --model. See 'braid plan "
                        "--help'.\n");
        return BD_EXIT_USAGE;
    }
    if (*p->program && (!p->compute || !p->model)) {
        const int code = measure(p);
        if (code) return code;
    }
    const bool ok = read_number("compute", p->compute, &c->compute) &&
                    read_number("model", p->model, &c->model_bytes) &&
                    read_number("bandwidth", p->bandwidth, &c->bandwidth) &&
                    read_number("latency", p->latency, &c->latency) &&
                    read_number("spread", p->spread, &c->compute_spread);
    return ok ? 0 : BD_EXIT_USAGE;
}

// ---- The plan ----

static bd_cluster_forecast forecast(const planning *p, int ps, int workers)
{
    bd_cluster_plan plan = p->plan;
    plan.ps = ps;
    plan.workers = workers;
    return bd_cluster_simulate(&p->costs, &plan, ROUNDS, 1);
}

// More parameter servers while each makes the rate higher by a tenth.
static bd_cluster_forecast best_of(const planning *p, int *ps, int workers)
{
    bd_cluster_forecast best = forecast(p, *ps, workers);
    for (int more = *ps + 1; more <= p->max_ps; more++) {
        const bd_cluster_forecast f = forecast(p, more, workers);
        if (f.steps >= best.steps * pow(GAIN_MIN, more - *ps)) {
            best = f;
            *ps = more;
        }
    }
    return best;
}

// What keeps workers from computing.
static const char *limit_of(const bd_cluster_forecast *f)
{
    if (f->ps_busy > 0.9) return "the parameter servers are busy";
    if (f->waiting > 0.3) return "workers wait for each other or the network";
    return "workers compute";
}

static void print_costs(const planning *p)
{
    char *costs = bd_cluster_costs_text(&p->costs);
    printf("%s; %s.\n\n", costs, p->algorithm);
    bd_free(costs);
}

static void print_plan(const planning *p)
{
    int ps = 1, last_good = 1, ps_of_good = 1;
    double one = 0;
    bd_cluster_forecast of_good = {0};
    print_costs(p);
    printf("%8s %5s %12s %9s %10s %9s %10s   %s\n", "workers", "ps", "steps/s", "speed-up", "efficiency",
           "waiting", "staleness", "limit");
    for (int workers = 1; workers <= p->max_workers; workers *= 2) {
        const bd_cluster_forecast f = best_of(p, &ps, workers);
        if (workers == 1) one = f.steps;
        const double efficiency = one > 0 ? f.steps / one / workers : 0;
        printf("%8d %5d %12.1f %9.2f %8.0f %% %7.0f %% %10.2f   %s\n", workers, ps, f.steps,
               one > 0 ? f.steps / one : 0, 100 * efficiency, 100 * f.waiting, f.mean_staleness,
               limit_of(&f));
        if (efficiency < EFFICIENCY_MIN) continue;
        last_good = workers;
        ps_of_good = ps;
        of_good = f;
    }
    printf(
        "\nWorth it: up to %d worker%s with %d parameter server%s, %.1f steps a second: beyond, a worker adds\n"
        "less than half of what one alone does. There, %s.\n",
        last_good, last_good == 1 ? "" : "s", ps_of_good, ps_of_good == 1 ? "" : "s", of_good.steps,
        limit_of(&of_good));
}

static int plan_main(int argc, char **argv)
{
    planning p = {.max_ps = 16, .max_workers = 64, .algorithm = "synchronous", .output = "plan"};
    switch (parse(&p, argc, argv)) {
    case BD_FLAGS_HELP: return 0;
    case BD_FLAGS_ERROR: return BD_EXIT_USAGE;
    case BD_FLAGS_OK: break;
    }
    if (!bd_cluster_plan_of(p.algorithm, 1, &p.plan)) {
        bd_trial_refuse_algorithm("braid plan", p.algorithm);
        return BD_EXIT_USAGE;
    }
    const int code = find_costs(&p);
    if (!code) print_plan(&p);
    return code;
}

BD_COMMAND(plan) = {
    .name = "plan",
    .usage = "[OPTIONS] [PROGRAM ARGS...]",
    .summary = "tell how many parameter servers and workers a program wants",
    .main = plan_main,
};
