// Writing curves.
#include "train/algorithms/curve.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/curve_file.h"
#include "base/log.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_MICROS 20000

struct train_curve {
    FILE *file;
    char *path;
    double loss_sum; // since the last line
    int64_t losses;
    int64_t last_micros;
};

train_curve *train_curve_open(int worker)
{
    const char *dir = getenv(BD_CURVES_VARIABLE);
    if (!dir || !*dir) return NULL;
    train_curve *c = bd_calloc(1, sizeof *c);
    c->path = bd_asprintf("%s/worker-%d.csv", dir, worker);
    c->file = fopen(c->path, "we");
    if (c->file) {
        fprintf(c->file, "%s\n", BD_CURVE_COLUMNS);
        return c;
    }
    bd_warn("%s=%s: no curve is written: %s: %s", BD_CURVES_VARIABLE, dir, c->path, strerror(errno));
    bd_free(c->path);
    bd_free(c);
    return NULL;
}

static void write_line(train_curve *c, const braid_worker_report *r)
{
    c->last_micros = bd_wall_micros();
    if (!c->losses) return;
    fprintf(c->file, "%.6f,%lld,%lld,%lld,%lld,%.6f,%.4f,%.7g\n", (double)c->last_micros / 1e6,
            (long long)r->steps, (long long)r->updates, (long long)r->dropped, (long long)r->bytes,
            r->waiting, r->mean_staleness, c->loss_sum / (double)c->losses);
    c->loss_sum = 0;
    c->losses = 0;
}

void train_curve_step(train_curve *c, const braid_worker_report *report, double loss)
{
    c->loss_sum += loss;
    c->losses++;
    if (bd_wall_micros() - c->last_micros >= EVERY_MICROS) write_line(c, report);
}

void train_curve_close(train_curve *c, const braid_worker_report *report)
{
    if (!c) return;
    write_line(c, report);
    const bool failed = ferror(c->file) != 0;
    if (fclose(c->file) || failed)
        bd_warn("%s: the curve could not be written: %s", c->path, strerror(errno));
    bd_free(c->path);
    bd_free(c);
}
