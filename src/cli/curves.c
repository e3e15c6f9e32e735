// Reading and adding up the curves of workers.
#include "curves.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/curve_file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A line of a worker's file.
typedef struct line {
    int worker;
    double at; // seconds since 1970
    bd_curve_point is;
} line;

typedef BD_ARRAY(line) line_list;

static bool parse(const char *text, line *l)
{
    double numbers[BD_CURVE_COLUMN_COUNT];
    const char *at = text;
    for (int i = 0; i < BD_CURVE_COLUMN_COUNT; i++) {
        char *end;
        numbers[i] = strtod(at, &end);
        if (end == at || *end != (i < BD_CURVE_COLUMN_COUNT - 1 ? ',' : '\n')) return false;
        at = end + 1;
    }
    l->at = numbers[0];
    l->is = (bd_curve_point){.steps = numbers[1],
                             .updates = numbers[2],
                             .dropped = numbers[3],
                             .bytes = numbers[4],
                             .waiting = numbers[5],
                             .staleness = numbers[6],
                             .loss = numbers[7]};
    return true;
}

// A last line without its end is of a worker that was killed.
static char *read_worker(line_list *lines, const char *dir, int worker)
{
    char *path = bd_asprintf("%s/worker-%d.csv", dir, worker), *error = NULL;
    FILE *f = fopen(path, "re");
    if (!f) {
        error = bd_asprintf("%s: %s (does the program use braid_algorithm_hook?)", path, strerror(errno));
    } else {
        char text[512];
        for (int n = 1; !error && fgets(text, sizeof text, f) && strchr(text, '\n'); n++) {
            line l = {.worker = worker};
            const bool is_right = n > 1 ? parse(text, &l) : strcmp(text, BD_CURVE_COLUMNS "\n") == 0;
            if (!is_right) error = bd_asprintf("%s: line %d is malformed", path, n);
            if (n > 1 && !error) bd_array_push(lines, l);
        }
        fclose(f);
    }
    bd_free(path);
    return error;
}

static int by_time(const void *a, const void *b)
{
    const double x = ((const line *)a)->at, y = ((const line *)b)->at;
    return x < y ? -1 : x > y;
}

static bd_curve_point sum_of(const bd_curve_point *latest, const bool *is_there, int workers, double seconds)
{
    bd_curve_point sum = {.seconds = seconds};
    int there = 0;
    for (int i = 0; i < workers; i++) {
        const bd_curve_point *p = &latest[i];
        if (!is_there[i]) continue;
        there++;
        sum.steps += p->steps;
        sum.updates += p->updates;
        sum.dropped += p->dropped;
        sum.bytes += p->bytes;
        sum.waiting += p->waiting;
        sum.staleness += p->staleness;
        sum.loss += p->loss;
    }
    sum.staleness /= there;
    sum.loss /= there;
    return sum;
}

static void add_up(bd_curve *c, const line_list *lines, int workers)
{
    bd_curve_point *latest = bd_calloc((size_t)workers, sizeof *latest);
    bool *is_there = bd_calloc((size_t)workers, sizeof *is_there);
    for (size_t i = 0; i < lines->len; i++) {
        const line *l = &lines->items[i];
        latest[l->worker] = l->is;
        is_there[l->worker] = true;
        const bd_curve_point sum = sum_of(latest, is_there, workers, l->at - lines->items[0].at);
        bd_array_push(&c->points, sum);
    }
    bd_free(latest);
    bd_free(is_there);
}

char *bd_curve_read(bd_curve *c, const char *dir, int workers)
{
    line_list lines = {0};
    char *error = NULL;
    for (int i = 0; i < workers && !error; i++)
        error = read_worker(&lines, dir, i);
    if (!error && lines.len == 0) error = bd_asprintf("%s: the curves are empty", dir);
    if (!error && lines.items) {
        qsort(lines.items, lines.len, sizeof *lines.items, by_time);
        add_up(c, &lines, workers);
    }
    bd_array_free(&lines);
    return error;
}

void bd_curve_fini(bd_curve *c)
{
    bd_free(c->name);
    bd_array_free(&c->points);
}

double bd_curve_smooth(const bd_curve *c, size_t i)
{
    const size_t half = c->points.len / 40;
    const size_t from = i > half ? i - half : 0, to = i + half < c->points.len ? i + half : c->points.len - 1;
    double sum = 0;
    for (size_t k = from; k <= to; k++)
        sum += c->points.items[k].loss;
    return sum / (double)(to - from + 1);
}

const bd_curve_point *bd_curve_reaches(const bd_curve *c, double loss)
{
    size_t i = c->points.len - 1;
    while (i > 0 && bd_curve_smooth(c, i - 1) <= loss)
        i--;
    return &c->points.items[i];
}
