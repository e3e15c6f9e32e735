// Exporters: which evaluations of a model export it.
#include "base/alloc.h"
#include "base/array.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "train/estimator/estimator.h"
#include <dirent.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEP_DEFAULT 5

// ---- Old exports ----

static void remove_all(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char *inner = bd_asprintf("%s/%s", path, entry->d_name);
        if (unlink(inner)) remove_all(inner);
        bd_free(inner);
    }
    if (dir) closedir(dir);
    rmdir(path);
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void remove_old(const char *export_path, int keep)
{
    BD_ARRAY(int64_t) exports = {0};
    DIR *dir = opendir(export_path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        int64_t number;
        if (bd_parse_int64(entry->d_name, &number)) bd_array_push(&exports, number);
    }
    if (dir) closedir(dir);
    if (exports.len) qsort(exports.items, exports.len, sizeof *exports.items, compare_numbers);
    for (size_t i = 0; i + (size_t)keep < exports.len; i++) {
        char *path = bd_asprintf("%s/%lld", export_path, (long long)exports.items[i]);
        remove_all(path);
        bd_free(path);
    }
    bd_array_free(&exports);
}

static braid_code export_now(const braid_exporter *x, braid_estimator *e, const char *export_path,
                             const char *checkpoint_path, braid_status *st)
{
    const braid_export_options options = {.checkpoint_path = checkpoint_path};
    char *path = braid_estimator_export_saved_model(e, export_path, x->input, &options, st);
    if (path && x->exports_to_keep >= 0)
        remove_old(export_path, x->exports_to_keep ? x->exports_to_keep : KEEP_DEFAULT);
    bd_free(path);
    return st->code;
}

// ---- The exporters ----

static braid_code export_final(const braid_exporter *x, braid_estimator *e, const char *export_path,
                               const char *checkpoint_path, const braid_evaluation *evaluation, bool is_final,
                               braid_status *st)
{
    (void)evaluation;
    return is_final ? export_now(x, e, export_path, checkpoint_path, st) : BRAID_OK;
}

static braid_code export_latest(const braid_exporter *x, braid_estimator *e, const char *export_path,
                                const char *checkpoint_path, const braid_evaluation *evaluation,
                                bool is_final, braid_status *st)
{
    (void)evaluation, (void)is_final;
    return export_now(x, e, export_path, checkpoint_path, st);
}

// The smallest loss so far is in a file beside the exports, for later runs.
static double read_best(const char *path)
{
    FILE *file = fopen(path, "re");
    double best = DBL_MAX;
    if (file && fscanf(file, "%lf", &best) != 1) best = DBL_MAX;
    if (file) fclose(file);
    return best;
}

static void write_best(const char *path, double loss)
{
    FILE *file = fopen(path, "we");
    const bool failed = !file || fprintf(file, "%.17g\n", loss) < 0;
    if ((file && fclose(file)) || failed) bd_warn("Cannot write '%s'", path);
}

static braid_code export_best(const braid_exporter *x, braid_estimator *e, const char *export_path,
                              const char *checkpoint_path, const braid_evaluation *evaluation, bool is_final,
                              braid_status *st)
{
    (void)is_final;
    double loss;
    if (!braid_evaluation_get(evaluation, "loss", &loss)) return BRAID_OK;
    char *path = bd_asprintf("%s/best_loss", export_path);
    if (loss < read_best(path) && !export_now(x, e, export_path, checkpoint_path, st)) write_best(path, loss);
    bd_free(path);
    return st->code;
}

braid_exporter braid_final_exporter(const char *name, braid_serving_input input)
{
    return (braid_exporter){.name = name, .input = input, .export_model = export_final};
}

braid_exporter braid_latest_exporter(const char *name, braid_serving_input input)
{
    return (braid_exporter){.name = name, .input = input, .export_model = export_latest};
}

braid_exporter braid_best_exporter(const char *name, braid_serving_input input)
{
    return (braid_exporter){.name = name, .input = input, .export_model = export_best};
}
