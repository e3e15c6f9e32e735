// The table, the numbers, the event files and the picture of a comparison.
#include "compare_show.h"

#include "plot.h"

#include "base/alloc.h"
#include <braid/event_writer.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const bd_curve_point *last_of(const bd_curve *c)
{
    return &c->points.items[c->points.len - 1];
}

// The loss that all algorithms reach that come below the loss they began with: the largest of their last
// ones.
static double common_loss(const bd_compared *c)
{
    double most = 0;
    for (size_t i = 0; i < c->count; i++) {
        const bd_curve *curve = &c->curves[i];
        if (!curve->points.len) continue;
        const double last = bd_curve_smooth(curve, curve->points.len - 1);
        if (last > most && last < curve->points.items[0].loss) most = last;
    }
    return most;
}

static void print_row(const bd_compared *c, const bd_curve *curve, double loss)
{
    const bd_curve_point *p = last_of(curve), *to = bd_curve_reaches(curve, loss);
    printf("%-18s %8.0f %8.0f %8.0f %8.2f %9.1f %9.2f %6.0f %%                  ", curve->name, p->steps,
           p->updates, p->dropped, p->seconds, p->bytes / 1e6, p->staleness,
           p->seconds > 0 ? 100 * p->waiting / (p->seconds * (double)c->workers) : 0);
    if (bd_curve_smooth(curve, curve->points.len - 1) <= loss)
        printf("%7.0f %8.2f %8.1f\n", to->steps, to->seconds, to->bytes / 1e6);
    else
        printf("%7s %8s %8s\n", "-", "-", "-");
}

static void print_table(const bd_compared *c)
{
    const double loss = common_loss(c);
    printf("%-18s %8s %8s %8s %8s %9s %9s %8s   to loss %.3g: %7s %8s %8s\n", "algorithm", "steps", "updates",
           "dropped", "seconds", "MB", "staleness", "waiting", loss, "steps", "seconds", "MB");
    for (size_t i = 0; i < c->count; i++)
        if (c->curves[i].points.len) print_row(c, &c->curves[i], loss);
}

static char *write_csv(const bd_compared *c)
{
    char *path = bd_asprintf("%s/curves.csv", c->dir), *error = NULL;
    FILE *f = fopen(path, "we");
    if (f) fprintf(f, "algorithm,seconds,steps,updates,bytes,loss,staleness\n");
    for (size_t i = 0; f && i < c->count; i++) {
        const bd_curve *curve = &c->curves[i];
        for (size_t k = 0; k < curve->points.len; k++) {
            const bd_curve_point *p = &curve->points.items[k];
            fprintf(f, "%s,%.6f,%.0f,%.0f,%.0f,%.7g,%.4g\n", curve->name, p->seconds, p->steps, p->updates,
                    p->bytes, bd_curve_smooth(curve, k), p->staleness);
        }
    }
    if (!f || fclose(f)) error = bd_asprintf("%s: %s", path, strerror(errno));
    bd_free(path);
    return error;
}

// The loss over steps, over milliseconds and over megabytes: the axis of an event file is an integer.
static void write_events(const bd_compared *c, const bd_curve *curve, braid_status *st)
{
    char *dir = bd_asprintf("%s/%s", c->dir, curve->name);
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

typedef enum quantity {
    STEPS,
    SECONDS,
    MEGABYTES,
    STALENESS,
    LOSS
} quantity;

static double value_of(const bd_curve *c, size_t k, quantity what)
{
    const bd_curve_point *p = &c->points.items[k];
    switch (what) {
    case STEPS: return p->steps;
    case SECONDS: return p->seconds;
    case MEGABYTES: return p->bytes / 1e6;
    case STALENESS: return p->staleness;
    case LOSS: break;
    }
    return bd_curve_smooth(c, k);
}

static double *values_of(const bd_curve *c, quantity what)
{
    double *values = bd_calloc(c->points.len + 1, sizeof *values);
    for (size_t k = 0; k < c->points.len; k++)
        values[k] = value_of(c, k, what);
    return values;
}

static char *draw(const bd_compared *c)
{
    static const struct {
        const char *title, *x_label, *y_label;
        quantity x, y;
    } shown[] = {{"Loss over steps", "steps of all workers", "training loss", STEPS, LOSS},
                 {"Loss over time", "seconds", "training loss", SECONDS, LOSS},
                 {"Loss over bytes moved", "MB", "training loss", MEGABYTES, LOSS},
                 {"Mean staleness so far", "steps of all workers", "updates of others", STEPS, STALENESS}};
    enum {
        PANELS = sizeof shown / sizeof *shown
    };
    bd_plot_panel panels[PANELS];
    bd_plot_line *lines[PANELS];
    const int count = (int)c->count;
    for (int n = 0; n < PANELS; n++) {
        lines[n] = bd_calloc((size_t)count, sizeof *lines[n]);
        for (int i = 0; i < count; i++) {
            const bd_curve *curve = &c->curves[i];
            lines[n][i] = (bd_plot_line){curve->name, values_of(curve, shown[n].x),
                                         values_of(curve, shown[n].y), curve->points.len};
        }
        panels[n] = (bd_plot_panel){.title = shown[n].title,
                                    .x_label = shown[n].x_label,
                                    .y_label = shown[n].y_label,
                                    .log_y = shown[n].y == LOSS,
                                    .lines = lines[n],
                                    .count = count};
    }
    char *path = bd_asprintf("%s/loss.png", c->dir), *error = bd_plot_png(path, panels, PANELS);
    if (!error) printf("\nThe curves: %s\n", path);
    for (int n = 0; n < PANELS; n++) {
        for (int i = 0; i < count; i++) {
            bd_free((void *)lines[n][i].x);
            bd_free((void *)lines[n][i].y);
        }
        bd_free(lines[n]);
    }
    bd_free(path);
    return error;
}

static void complain(char *error)
{
    if (error) fprintf(stderr, "braid compare: %s\n", error);
    bd_free(error);
}

void bd_compare_show(const bd_compared *c)
{
    print_table(c);
    complain(write_csv(c));
    for (size_t i = 0; i < c->count; i++) {
        braid_status *st = braid_status_new();
        if (c->curves[i].points.len) write_events(c, &c->curves[i], st);
        if (braid_status_code(st)) fprintf(stderr, "braid compare: %s\n", braid_status_message(st));
        braid_status_free(st);
    }
    complain(draw(c));
}
