// Plots by cairo, which is loaded when a plot is drawn: the program starts without it.
#include "plot.h"

#include "base/alloc.h"
#include "base/check.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libcairo.so.2"

enum {
    PANEL_WIDTH = 520,
    PANEL_HEIGHT = 420,
    LEFT = 64,
    RIGHT = 16,
    TOP = 36,
    BOTTOM = 52,
    LEGEND_WIDTH = 190,
    TICKS_MAX = 6
};

// ---- The library ----

typedef struct cairo {
    void *library;
    void *(*image_surface_create)(int format, int width, int height);
    void *(*create)(void *surface);
    int (*surface_write_to_png)(void *surface, const char *path);
    const char *(*status_to_string)(int status);
    void (*surface_destroy)(void *surface);
    void (*destroy)(void *cr);
    void (*set_source_rgb)(void *cr, double r, double g, double b);
    void (*set_line_width)(void *cr, double width);
    void (*move_to)(void *cr, double x, double y);
    void (*line_to)(void *cr, double x, double y);
    void (*rectangle)(void *cr, double x, double y, double width, double height);
    void (*stroke)(void *cr);
    void (*fill)(void *cr);
    void (*paint)(void *cr);
    void (*save)(void *cr);
    void (*restore)(void *cr);
    void (*rotate)(void *cr, double angle);
    void (*translate)(void *cr, double x, double y);
    void (*clip)(void *cr);
    void (*reset_clip)(void *cr);
    void (*set_font_size)(void *cr, double size);
    void (*show_text)(void *cr, const char *text);
} cairo;

#define FORMAT_RGB24 1

static bool load(cairo *c)
{
    c->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!c->library) return false;
    const struct {
        void *function;
        const char *name;
    } functions[] = {
        {&c->image_surface_create, "cairo_image_surface_create"},
        {&c->create, "cairo_create"},
        {&c->surface_write_to_png, "cairo_surface_write_to_png"},
        {&c->status_to_string, "cairo_status_to_string"},
        {&c->surface_destroy, "cairo_surface_destroy"},
        {&c->destroy, "cairo_destroy"},
        {&c->set_source_rgb, "cairo_set_source_rgb"},
        {&c->set_line_width, "cairo_set_line_width"},
        {&c->move_to, "cairo_move_to"},
        {&c->line_to, "cairo_line_to"},
        {&c->rectangle, "cairo_rectangle"},
        {&c->stroke, "cairo_stroke"},
        {&c->fill, "cairo_fill"},
        {&c->paint, "cairo_paint"},
        {&c->save, "cairo_save"},
        {&c->restore, "cairo_restore"},
        {&c->rotate, "cairo_rotate"},
        {&c->translate, "cairo_translate"},
        {&c->clip, "cairo_clip"},
        {&c->reset_clip, "cairo_reset_clip"},
        {&c->set_font_size, "cairo_set_font_size"},
        {&c->show_text, "cairo_show_text"},
    };
    for (size_t i = 0; i < BD_COUNTOF(functions); i++) {
        void *found = dlsym(c->library, functions[i].name);
        if (!found) return false;
        memcpy(functions[i].function, &found, sizeof found);
    }
    return true;
}

// ---- Axes ----

typedef struct axis {
    double min, max; // of the values, or of their logarithms (base 10)
    bool is_log;
} axis;

static bool is_shown(const axis *a, double value)
{
    return isfinite(value) && (!a->is_log || value > 0);
}

static double scaled(const axis *a, double value)
{
    return a->is_log ? log10(value) : value;
}

static axis axis_of(const bd_plot_panel *p, bool is_x)
{
    axis a = {.min = INFINITY, .max = -INFINITY, .is_log = is_x ? p->log_x : p->log_y};
    for (int i = 0; i < p->count; i++) {
        for (size_t k = 0; k < p->lines[i].count; k++) {
            const double value = is_x ? p->lines[i].x[k] : p->lines[i].y[k];
            if (!is_shown(&a, value)) continue;
            a.min = fmin(a.min, scaled(&a, value));
            a.max = fmax(a.max, scaled(&a, value));
        }
    }
    if (!(a.min <= a.max)) a.min = 0, a.max = 1;
    if (!a.is_log && a.min > 0) a.min = 0;
    if (a.max - a.min < 1e-12) a.max = a.min + 1;
    return a;
}

// The distance of ticks: 1, 2 or 5 times a power of ten.
static double tick_distance(const axis *a)
{
    const double rough = (a->max - a->min) / TICKS_MAX;
    const double power = pow(10, floor(log10(rough)));
    const double times = rough / power;
    const double nice = power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
    return nice;
}

// ---- Drawing ----

typedef struct drawing {
    cairo *c;
    void *cr;
    double left, top, width, height; // of the panel's plot
    axis x, y;
} drawing;

static const double colours[][3] = {
    {0.12, 0.47, 0.71}, {1.00, 0.50, 0.05}, {0.17, 0.63, 0.17}, {0.84, 0.15, 0.16},
    {0.58, 0.40, 0.74}, {0.55, 0.34, 0.29}, {0.89, 0.47, 0.76}, {0.50, 0.50, 0.50},
    {0.74, 0.74, 0.13}, {0.09, 0.75, 0.81}, {0.10, 0.10, 0.10}, {0.55, 0.83, 0.78},
    {0.99, 0.71, 0.38}, {0.40, 0.20, 0.00}, {0.00, 0.30, 0.15}, {0.90, 0.70, 0.90}};

static void set_colour(const drawing *d, int i)
{
    const double *rgb = colours[i % (int)BD_COUNTOF(colours)];
    d->c->set_source_rgb(d->cr, rgb[0], rgb[1], rgb[2]);
}

static double at_x(const drawing *d, double x)
{
    return d->left + (scaled(&d->x, x) - d->x.min) / (d->x.max - d->x.min) * d->width;
}

static double at_y(const drawing *d, double y)
{
    return d->top + d->height - (scaled(&d->y, y) - d->y.min) / (d->y.max - d->y.min) * d->height;
}

static void text(const drawing *d, double x, double y, const char *words)
{
    d->c->move_to(d->cr, x, y);
    d->c->show_text(d->cr, words);
}

static void line(const drawing *d, double x1, double y1, double x2, double y2)
{
    d->c->move_to(d->cr, x1, y1);
    d->c->line_to(d->cr, x2, y2);
    d->c->stroke(d->cr);
}

static void draw_tick(const drawing *d, double value, bool is_x)
{
    char label[32];
    const axis *a = is_x ? &d->x : &d->y;
    const double of = a->is_log ? pow(10, value) : value;
    snprintf(label, sizeof label, fabs(of) >= 1e6 ? "%.0e" : "%.6g", of);
    const double width = 6.0 * (double)strlen(label);
    const double x = at_x(d, of), y = at_y(d, of);
    d->c->set_source_rgb(d->cr, 0.85, 0.85, 0.85);
    if (is_x)
        line(d, x, d->top, x, d->top + d->height);
    else
        line(d, d->left, y, d->left + d->width, y);
    d->c->set_source_rgb(d->cr, 0.2, 0.2, 0.2);
    if (is_x)
        text(d, x - width / 2, d->top + d->height + 15, label);
    else
        text(d, d->left - width - 6, y + 4, label);
}

// On a logarithmic axis at 1, 2 and 5 times the powers of ten, or at the powers where these are many.
static void draw_log_ticks(const drawing *d, const axis *a, bool is_x)
{
    static const double steps[] = {1, 2, 5};
    const int count = a->max - a->min > 4 ? 1 : (int)BD_COUNTOF(steps);
    for (int power = (int)floor(a->min); power <= (int)floor(a->max); power++) {
        for (int i = 0; i < count; i++) {
            const double t = power + log10(steps[i]);
            if (t >= a->min && t <= a->max) draw_tick(d, t, is_x);
        }
    }
}

static void draw_ticks(const drawing *d, bool is_x)
{
    const axis *a = is_x ? &d->x : &d->y;
    if (a->is_log) {
        draw_log_ticks(d, a, is_x);
        return;
    }
    const double distance = tick_distance(a);
    const int first = (int)ceil(a->min / distance), last = (int)floor(a->max / distance + 1e-6);
    for (int i = first; i <= last; i++)
        draw_tick(d, i * distance, is_x);
}

static void draw_axes(const drawing *d, const bd_plot_panel *p)
{
    const cairo *c = d->c;
    c->set_font_size(d->cr, 11);
    c->set_line_width(d->cr, 1);
    draw_ticks(d, true);
    draw_ticks(d, false);
    c->set_source_rgb(d->cr, 0, 0, 0);
    c->rectangle(d->cr, d->left, d->top, d->width, d->height);
    c->stroke(d->cr);
    c->set_font_size(d->cr, 14);
    text(d, d->left, d->top - 12, p->title);
    c->set_font_size(d->cr, 12);
    text(d, d->left + d->width / 2 - 3 * (double)strlen(p->x_label), d->top + d->height + 38, p->x_label);
    c->save(d->cr);
    c->translate(d->cr, d->left - 48, d->top + d->height / 2 + 3 * (double)strlen(p->y_label));
    c->rotate(d->cr, -M_PI / 2);
    text(d, 0, 0, p->y_label);
    c->restore(d->cr);
}

static void draw_line(const drawing *d, const bd_plot_line *l)
{
    bool is_down = false;
    for (size_t k = 0; k < l->count; k++) {
        if (!is_shown(&d->x, l->x[k]) || !is_shown(&d->y, l->y[k])) continue;
        (is_down ? d->c->line_to : d->c->move_to)(d->cr, at_x(d, l->x[k]), at_y(d, l->y[k]));
        is_down = true;
    }
    d->c->stroke(d->cr);
}

static void draw_panel(cairo *c, void *cr, const bd_plot_panel *p, int index)
{
    const drawing d = {.c = c,
                       .cr = cr,
                       .left = index * PANEL_WIDTH + LEFT,
                       .top = TOP,
                       .width = PANEL_WIDTH - LEFT - RIGHT,
                       .height = PANEL_HEIGHT - TOP - BOTTOM,
                       .x = axis_of(p, true),
                       .y = axis_of(p, false)};
    draw_axes(&d, p);
    c->rectangle(cr, d.left, d.top, d.width, d.height);
    c->clip(cr);
    c->set_line_width(cr, 1.6);
    for (int i = 0; i < p->count; i++) {
        set_colour(&d, i);
        draw_line(&d, &p->lines[i]);
    }
    c->reset_clip(cr);
}

static void draw_legend(cairo *c, void *cr, const bd_plot_panel *p, int x)
{
    const drawing d = {.c = c, .cr = cr};
    c->set_font_size(cr, 12);
    c->set_line_width(cr, 3);
    for (int i = 0; i < p->count; i++) {
        const double y = TOP + 12 + 20 * i;
        set_colour(&d, i);
        line(&d, x + 8, y, x + 30, y);
        c->set_source_rgb(cr, 0, 0, 0);
        text(&d, x + 38, y + 4, p->lines[i].name);
    }
}

static char *draw(cairo *c, const char *path, const bd_plot_panel *panels, int count)
{
    void *surface = c->image_surface_create(FORMAT_RGB24, count * PANEL_WIDTH + LEGEND_WIDTH, PANEL_HEIGHT);
    void *cr = c->create(surface);
    c->set_source_rgb(cr, 1, 1, 1);
    c->paint(cr);
    for (int i = 0; i < count; i++)
        draw_panel(c, cr, &panels[i], i);
    draw_legend(c, cr, &panels[0], count * PANEL_WIDTH);
    const int status = c->surface_write_to_png(surface, path);
    char *error = status ? bd_asprintf("%s: %s", path, c->status_to_string(status)) : NULL;
    c->destroy(cr);
    c->surface_destroy(surface);
    return error;
}

char *bd_plot_png(const char *path, const bd_plot_panel *panels, int count)
{
    cairo c = {0};
    char *error = load(&c) ? draw(&c, path, panels, count)
                           : bd_asprintf("no plot is drawn: %s cannot be loaded: install cairo (Debian: "
                                         "apt-get install libcairo2)",
                                         LIBRARY);
    if (c.library) dlclose(c.library);
    return error;
}
