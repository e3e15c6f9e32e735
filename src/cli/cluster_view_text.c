// A view of a cluster as text.
//
// A table is made of cells; each column is as wide as its widest cell, but for the last one, which is free.
// What comes from other processes is printed as ASCII, so that no name can command the terminal.
#include "base/strbuf.h"
#include "cluster_view.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLUMNS_MAX 10
#define SLOW_MS 10000 // a step that is in progress for longer is marked
#define HANDLE_SHOWN 8
#define SESSIONS_SHOWN 40
#define STEPS_SHOWN 40

// ---- Tables ----

typedef struct row {
    char *cells[COLUMNS_MAX];
    bd_line_style style;
} row;

typedef struct table {
    int columns;
    BD_ARRAY(row) rows; // the first has the names of the columns
} table;

static void make_printable(char *text)
{
    for (char *c = text; *c; c++)
        if (*c < 0x20 || *c > 0x7e) *c = '?';
}

static void set(row *r, int column, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void set(row *r, int column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    r->cells[column] = bd_vasprintf(format, args);
    va_end(args);
}

static table table_of(const char *const *names, int columns)
{
    table t = {.columns = columns};
    row head = {.style = BD_LINE_HEAD};
    for (int i = 0; i < columns; i++)
        set(&head, i, "%s", names[i]);
    bd_array_push(&t.rows, head);
    return t;
}

static void add_line(bd_view_lines *out, char *text, bd_line_style style)
{
    make_printable(text);
    bd_array_push(out, (bd_view_line){text, style});
}

static void add_row(const table *t, const row *r, const int *widths, bd_view_lines *out)
{
    bd_strbuf line = {0};
    for (int i = 0; i < t->columns; i++) {
        const char *cell = r->cells[i] ? r->cells[i] : "-";
        if (i == t->columns - 1)
            bd_strbuf_append(&line, cell);
        else
            bd_strbuf_appendf(&line, "%-*s  ", widths[i], cell);
    }
    while (line.len && line.data[line.len - 1] == ' ')
        line.data[--line.len] = 0;
    add_line(out, bd_strbuf_take(&line), r->style);
}

static void finish(table *t, bd_view_lines *out)
{
    int widths[COLUMNS_MAX] = {0};
    for (size_t r = 0; r < t->rows.len; r++)
        for (int i = 0; i < t->columns; i++) {
            const char *cell = t->rows.items[r].cells[i];
            const int width = cell ? (int)strlen(cell) : 1;
            if (width > widths[i]) widths[i] = width;
        }
    for (size_t r = 0; r < t->rows.len; r++) {
        add_row(t, &t->rows.items[r], widths, out);
        for (int i = 0; i < t->columns; i++)
            bd_free(t->rows.items[r].cells[i]);
    }
    bd_array_free(&t->rows);
}

// ---- Numbers ----

static char *bytes_text(double bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1000;
        unit++;
    }
    snprintf(text, size, unit && bytes < 9.95 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

static char *time_text(int64_t ms, char *text, size_t size)
{
    const long long s = ms / 1000;
    if (s < 60)
        snprintf(text, size, "%.1f s", (double)ms / 1e3);
    else if (s < 3600)
        snprintf(text, size, "%lldm%02llds", s / 60, s % 60);
    else if (s < 86400)
        snprintf(text, size, "%lldh%02lldm", s / 3600, s / 60 % 60);
    else
        snprintf(text, size, "%lldd%02lldh", s / 86400, s / 3600 % 24);
    return text;
}

static void set_bytes(row *r, int column, double bytes)
{
    char text[32];
    set(r, column, "%s", bytes_text(bytes, text, sizeof text));
}

static void set_time(row *r, int column, int64_t ms)
{
    char text[32];
    set(r, column, "%s", time_text(ms, text, sizeof text));
}

// Seconds between the two descriptions of the same process; 0: there are no two.
static double interval(const bd_viewed_task *t)
{
    if (!t->now || !t->before || t->now->incarnation != t->before->incarnation) return 0;
    const int64_t ms = t->now->uptime_ms - t->before->uptime_ms;
    return ms > 0 ? (double)ms / 1e3 : 0;
}

static double rate(const bd_viewed_task *t, uint64_t now, uint64_t before)
{
    const double seconds = interval(t);
    return seconds > 0 && now >= before ? (double)(now - before) / seconds : 0;
}

static void set_rate(row *r, int column, const bd_viewed_task *t, uint64_t now, uint64_t before)
{
    const double per_second = rate(t, now, before);
    if (interval(t) > 0) set(r, column, per_second < 99.95 ? "%.1f" : "%.0f", per_second);
}

// ---- Tasks ----

// What the others know of a task: the worst, since only those who watch it know anything.
static braid_task_state known_state(const bd_cluster_view *v, const bd_viewed_task *of)
{
    braid_task_state state = BRAID_TASK_UNKNOWN;
    for (int i = 0; i < v->count; i++) {
        const braid_task_description *d = v->tasks[i].now;
        for (int t = 0; d && t < d->task_count; t++)
            if (d->tasks[t].index == of->index && strcmp(d->tasks[t].job, of->job) == 0 &&
                d->tasks[t].state > state)
                state = d->tasks[t].state;
    }
    return state;
}

static void show_answer(row *r, const bd_viewed_task *t, bool is_done)
{
    const braid_task_description *d = t->now, *b = t->before ? t->before : t->now;
    char bytes[32];
    set(r, 2, "%s", is_done ? "done" : d->is_serving ? "serving" : "standby");
    set_time(r, 3, d->uptime_ms);
    set_bytes(r, 4, (double)d->resident_bytes);
    const double seconds = interval(t);
    if (seconds > 0)
        set(r, 5, "%.0f%%", fmax(0, (d->processor_seconds - b->processor_seconds) / seconds * 100));
    set(r, 6, "%lld, %s", (long long)d->variable_count,
        bytes_text((double)d->variable_bytes, bytes, sizeof bytes));
    set_rate(r, 7, t, d->executions_ended, b->executions_ended);
    if (seconds > 0) set_bytes(r, 8, rate(t, d->sent_bytes, b->sent_bytes));
    if (seconds > 0) set_bytes(r, 9, rate(t, d->received_bytes, b->received_bytes));
}

static bool is_done(const bd_cluster_view *v, const bd_viewed_task *t)
{
    return known_state(v, t) == BRAID_TASK_DONE;
}

// The reason needs the room of the other columns.
static void show_silence(const bd_cluster_view *v, const bd_viewed_task *t, const int *widths,
                         bd_view_lines *out)
{
    const braid_task_state state = known_state(v, t);
    row r = {.style = BD_LINE_BAD};
    set(&r, 0, "%s: %s",
        state == BRAID_TASK_UNKNOWN || state == BRAID_TASK_CONNECTED ? "unreachable"
                                                                     : braid_task_state_name(state),
        braid_status_message(t->status));
    add_line(out, bd_asprintf("%-*s  %-*s  %s", widths[0], t->name, widths[1], t->address, r.cells[0]),
             r.style);
    bd_free(r.cells[0]);
}

static void show_tasks(const bd_cluster_view *v, bd_view_lines *out)
{
    static const char *const names[] = {"TASK", "ADDRESS",   "STATE",  "UP",     "MEMORY",
                                        "CPU",  "VARIABLES", "RUNS/S", "SENT/S", "RECEIVED/S"};
    table t = table_of(names, COLUMNS_MAX);
    int widths[2] = {4, 7};
    for (int i = 0; i < v->count; i++) {
        const bd_viewed_task *task = &v->tasks[i];
        widths[0] = (int)bd_max(widths[0], (int64_t)strlen(task->name));
        widths[1] = (int)bd_max(widths[1], (int64_t)strlen(task->address));
    }
    for (int i = 0; i < v->count; i++) {
        const bd_viewed_task *task = &v->tasks[i];
        row r = {0};
        if (!task->now) continue;
        set(&r, 0, "%-*s", widths[0], task->name);
        set(&r, 1, "%-*s", widths[1], task->address);
        show_answer(&r, task, is_done(v, task));
        bd_array_push(&t.rows, r);
    }
    finish(&t, out);
    for (int i = 0; i < v->count; i++)
        if (!v->tasks[i].now) show_silence(v, &v->tasks[i], widths, out);
}

// ---- Sessions ----

static const braid_described_session *find_session(const braid_task_description *d, const char *handle)
{
    for (int i = 0; d && i < d->session_count; i++)
        if (strcmp(d->sessions[i].handle, handle) == 0) return &d->sessions[i];
    return NULL;
}

static void show_session(table *t, const bd_viewed_task *task, const braid_described_session *s)
{
    const braid_described_session *before = find_session(task->before, s->handle);
    row r = {0};
    set(&r, 0, "%.*s", HANDLE_SHOWN, s->handle);
    set(&r, 1, "%s", task->name);
    set_time(&r, 2, s->age_ms);
    set(&r, 3, "%llu", (unsigned long long)s->steps_ended);
    if (before) set_rate(&r, 4, task, s->steps_ended, before->steps_ended);
    set(&r, 5, "%llu", (unsigned long long)s->steps_failed);
    set(&r, 6, "%d", s->steps_running);
    set(&r, 7, "%s", s->owner);
    bd_array_push(&t->rows, r);
}

static void show_sessions(const bd_cluster_view *v, bd_view_lines *out)
{
    static const char *const names[] = {"SESSION", "MASTER", "AGE",     "STEPS",
                                        "STEPS/S", "FAILED", "RUNNING", "OWNER"};
    table t = table_of(names, 8);
    int open = 0;
    for (int i = 0; i < v->count; i++) {
        const braid_task_description *d = v->tasks[i].now;
        for (int s = 0; d && s < d->session_count && t.rows.len <= SESSIONS_SHOWN; s++)
            show_session(&t, &v->tasks[i], &d->sessions[s]);
        if (d) open += d->sessions_open;
    }
    const int hidden = open - (int)t.rows.len + 1;
    add_line(out, bd_strdup(""), BD_LINE_PLAIN);
    finish(&t, out);
    if (hidden > 0) add_line(out, bd_asprintf("and %d more sessions", hidden), BD_LINE_PLAIN);
}

// ---- Steps in progress ----

// Either a part of a step on a task that executes it, or the step itself at its master when no task does.
typedef struct seen {
    const bd_viewed_task *task;
    const braid_running_step *step;
    bool is_execution;
} seen;

typedef BD_ARRAY(seen) seen_steps;

static bool is_executed(const bd_cluster_view *v, int64_t id)
{
    for (int i = 0; i < v->count; i++) {
        const braid_task_description *d = v->tasks[i].now;
        for (int e = 0; d && e < d->execution_count; e++)
            if (d->executions[e].id == id) return true;
    }
    return false;
}

static int by_age(const void *a, const void *b)
{
    const int64_t x = ((const seen *)a)->step->age_ms, y = ((const seen *)b)->step->age_ms;
    return x < y ? 1 : x > y ? -1 : 0;
}

static seen_steps collect_steps(const bd_cluster_view *v)
{
    seen_steps all = {0};
    for (int i = 0; i < v->count; i++) {
        const bd_viewed_task *t = &v->tasks[i];
        for (int e = 0; t->now && e < t->now->execution_count; e++)
            bd_array_push(&all, (seen){t, &t->now->executions[e], true});
        for (int s = 0; t->now && s < t->now->step_count; s++)
            if (!is_executed(v, t->now->steps[s].id))
                bd_array_push(&all, (seen){t, &t->now->steps[s], false});
    }
    if (all.len > 1) qsort(all.items, all.len, sizeof *all.items, by_age);
    return all;
}

static void show_steps(const bd_cluster_view *v, bd_view_lines *out)
{
    static const char *const names[] = {"IN PROGRESS", "TASK", "STEP", "SESSION", "WAITS FOR"};
    seen_steps all = collect_steps(v);
    table t = table_of(names, 5);
    for (size_t i = 0; i < all.len && i < STEPS_SHOWN; i++) {
        const seen *s = &all.items[i];
        row r = {.style = s->step->age_ms > SLOW_MS ? BD_LINE_SLOW : BD_LINE_PLAIN};
        set_time(&r, 0, s->step->age_ms);
        set(&r, 1, "%s", s->task->name);
        set(&r, 2, "%016llx", (unsigned long long)s->step->id);
        set(&r, 3, "%.*s", HANDLE_SHOWN, s->step->session);
        if (!s->is_execution)
            set(&r, 4, "(its master plans it, or a task that does not answer runs it)");
        else if (s->step->waits_for[0])
            set(&r, 4, "%s", s->step->waits_for);
        else
            set(&r, 4, "(computes)");
        bd_array_push(&t.rows, r);
    }
    add_line(out, bd_strdup(""), BD_LINE_PLAIN);
    finish(&t, out);
    if (all.len > STEPS_SHOWN)
        add_line(out, bd_asprintf("and %zu more", all.len - STEPS_SHOWN), BD_LINE_PLAIN);
    bd_array_free(&all);
}

// ---- All ----

void bd_cluster_view_show(const bd_cluster_view *v, bd_view_lines *out)
{
    show_tasks(v, out);
    show_sessions(v, out);
    show_steps(v, out);
}

typedef struct sums {
    int sessions, running;
    double steps_per_second;
    int64_t oldest_ms;
} sums;

static sums sum(const bd_cluster_view *v)
{
    sums s = {0};
    for (int i = 0; i < v->count; i++) {
        const bd_viewed_task *t = &v->tasks[i];
        if (!t->now) continue;
        s.sessions += t->now->sessions_open;
        s.running += t->now->steps_running;
        if (t->before) s.steps_per_second += rate(t, t->now->steps_ended, t->before->steps_ended);
        for (int at = 0; at < t->now->step_count; at++)
            s.oldest_ms = bd_max(s.oldest_ms, t->now->steps[at].age_ms);
    }
    return s;
}

void bd_cluster_view_log(const bd_cluster_view *v, bd_view_lines *out)
{
    const sums s = sum(v);
    char now[32], oldest[32];
    const time_t seconds = time(NULL);
    struct tm local;
    strftime(now, sizeof now, "%Y-%m-%d %H:%M:%S", localtime_r(&seconds, &local));
    add_line(
        out,
        bd_asprintf(
            "%s %d of %d tasks answer, %d sessions, %.1f steps/s, %d steps in progress, the oldest for %s",
            now, bd_cluster_view_answers(v), v->count, s.sessions, s.steps_per_second, s.running,
            time_text(s.oldest_ms, oldest, sizeof oldest)),
        BD_LINE_PLAIN);
    for (int i = 0; i < v->count; i++) {
        const bd_viewed_task *t = &v->tasks[i];
        if (!t->now)
            add_line(out, bd_asprintf("%s %s: %s", now, t->name, braid_status_message(t->status)),
                     BD_LINE_BAD);
    }
}

void bd_view_lines_fini(bd_view_lines *lines)
{
    for (size_t i = 0; i < lines->len; i++)
        bd_free(lines->items[i].text);
    bd_array_free(lines);
}
