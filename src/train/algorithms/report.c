// What a worker measures, its summaries, and how the chief gathers the numbers of all workers.
//
// Each worker puts its report into a queue beside the global step when it ends. The chief, whose server keeps
// the parameter servers alive, takes the reports of the others, and waits for them a few seconds at most: a
// worker that has died has none.
#include "train/algorithms/report.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "train/common/build.h"
#include <braid/ops.h>
#include <stdlib.h>

#define GATHER_MS 10000
#define SUMMARY_EVERY 100 // updates of the worker

enum {
    ROW_STALENESS = 10, // where the histogram begins
    ROW = ROW_STALENESS + BRAID_STALENESS_CLASSES
};

void train_report_fini(train_report *r)
{
    BD_STATUS(st);
    if (braid_event_writer_close(r->events, st)) bd_warn("%s", braid_status_message(st));
    r->events = NULL;
    bd_array_free(&r->all);
}

// ---- Measuring ----

void train_report_update(train_report *r, int64_t staleness)
{
    braid_worker_report *o = &r->own;
    if (staleness < 0) staleness = 0; // the global step has gone back meanwhile, to a checkpoint
    o->updates++;
    r->staleness_sum += (double)staleness;
    o->mean_staleness = r->staleness_sum / (double)o->updates;
    o->max_staleness = bd_max(o->max_staleness, staleness);
    o->staleness[bd_min(staleness, BRAID_STALENESS_CLASSES - 1)]++;
}

void train_report_step(train_report *r, double waiting)
{
    r->own.steps++;
    if (waiting > 0) r->own.waiting += waiting;
}

// ---- Summaries ----

void train_report_open(train_report *r, const char *dir)
{
    if (!dir || r->events) return;
    BD_STATUS(st);
    r->events = braid_event_writer_open(dir, st);
    if (!r->events) bd_warn("No summaries of the training algorithm: %s", braid_status_message(st));
}

bool train_report_wants_summaries(const train_report *r)
{
    return r->events && r->own.updates - r->events_at >= SUMMARY_EVERY;
}

void train_report_summaries(train_report *r, int64_t global_step)
{
    const braid_worker_report *o = &r->own;
    if (!r->events) return;
    r->events_at = o->updates;
    double classes[BRAID_STALENESS_CLASSES];
    for (int i = 0; i < BRAID_STALENESS_CLASSES; i++)
        classes[i] = i;
    BD_STATUS(unwanted); // the writer warns
    braid_event_writer_add_scalar(r->events, "algorithm/mean_staleness", (float)o->mean_staleness,
                                  global_step, unwanted);
    braid_event_writer_add_scalar(r->events, "algorithm/max_staleness", (float)o->max_staleness, global_step,
                                  unwanted);
    braid_event_writer_add_scalar(r->events, "algorithm/updates", (float)o->updates, global_step, unwanted);
    braid_event_writer_add_scalar(r->events, "algorithm/dropped", (float)o->dropped, global_step, unwanted);
    braid_event_writer_add_scalar(r->events, "algorithm/steps", (float)o->steps, global_step, unwanted);
    braid_event_writer_add_scalar(r->events, "algorithm/waiting_seconds", (float)o->waiting, global_step,
                                  unwanted);
    braid_event_writer_add_scalar(r->events, "algorithm/bytes", (float)o->bytes, global_step, unwanted);
    braid_event_writer_add_histogram(r->events, "algorithm/staleness", classes, o->staleness,
                                     BRAID_STALENESS_CLASSES, global_step, unwanted);
}

// ---- Gathering ----

void train_report_build(train_report *r, braid_graph *g, braid_out step)
{
    const braid_dtype dtype = BRAID_DOUBLE;
    const braid_shape shape = BRAID_SHAPE(ROW);
    (void)braid_push_name_scope(g, "report");
    r->row = braid_placeholder(g, "row", dtype, shape);
    braid_push_colocate(g, step.op);
    r->queue = braid_fifo_queue(g, &(braid_queue_options){.dtypes = &dtype,
                                                          .shapes = &shape,
                                                          .count = 1,
                                                          .name = "queue",
                                                          .shared_name = "algorithm_reports"});
    if (r->queue.handle.op) {
        r->put = braid_queue_enqueue(g, r->queue, &r->row);
        braid_queue_dequeue(g, r->queue, &r->next);
    }
    braid_pop_colocate(g);
    braid_pop_name_scope(g);
}

static void to_row(const braid_worker_report *o, double *row)
{
    const double numbers[ROW_STALENESS] = {o->worker,          (double)o->steps,  (double)o->updates,
                                           (double)o->dropped, o->mean_staleness, (double)o->max_staleness,
                                           (double)o->bytes,   o->seconds,        o->waiting};
    for (int i = 0; i < ROW_STALENESS; i++)
        row[i] = numbers[i];
    for (int i = 0; i < BRAID_STALENESS_CLASSES; i++)
        row[ROW_STALENESS + i] = (double)o->staleness[i];
}

static braid_worker_report of_row(const double *row)
{
    braid_worker_report o = {.worker = (int)row[0],
                             .steps = (int64_t)row[1],
                             .updates = (int64_t)row[2],
                             .dropped = (int64_t)row[3],
                             .mean_staleness = row[4],
                             .max_staleness = (int64_t)row[5],
                             .bytes = (int64_t)row[6],
                             .seconds = row[7],
                             .waiting = row[8]};
    for (int i = 0; i < BRAID_STALENESS_CLASSES; i++)
        o.staleness[i] = (int64_t)row[ROW_STALENESS + i];
    return o;
}

braid_code train_report_send(train_report *r, braid_session *s, braid_status *st)
{
    if (!r->put) return BRAID_OK;
    double row[ROW];
    to_row(&r->own, row);
    braid_tensor *value = braid_tensor_from(BRAID_DOUBLE, BRAID_SHAPE(ROW), row, NULL);
    const braid_feed feed = {r->row, value};
    braid_session_run(
        s, &(braid_run_args){.feeds = &feed, .feed_count = 1, .targets = &r->put, .target_count = 1}, st);
    braid_tensor_free(value);
    return st->code;
}

static int by_worker(const void *a, const void *b)
{
    return ((const braid_worker_report *)a)->worker - ((const braid_worker_report *)b)->worker;
}

// A worker that was restarted may have sent two: the later one counts.
static void note(train_report *r, const braid_worker_report *of)
{
    for (size_t i = 0; i < r->all.len; i++) {
        if (r->all.items[i].worker != of->worker) continue;
        r->all.items[i] = *of;
        return;
    }
    bd_array_push(&r->all, *of);
    qsort(r->all.items, r->all.len, sizeof *r->all.items, by_worker);
}

int train_report_note_own(train_report *r)
{
    note(r, &r->own);
    return (int)r->all.len;
}

static braid_code take_next(const train_report *r, braid_session *s, int64_t deadline,
                            braid_worker_report *out, braid_status *st)
{
    braid_tensor *value = NULL;
    braid_fetch fetch = {r->next, &value};
    const braid_run_args args = {
        .fetches = &fetch, .fetch_count = 1, .timeout_ms = bd_max(1, bd_deadline_left_ms(deadline))};
    if (braid_session_run(s, &args, st)) return st->code;
    *out = of_row(braid_tensor_data(value));
    braid_tensor_free(value);
    return BRAID_OK;
}

// Reports of workers that have died are not there; training is over, so that is no error.
void train_report_gather(train_report *r, braid_session *s, int num_workers)
{
    train_report_note_own(r);
    const int64_t deadline = bd_deadline_after_ms(GATHER_MS);
    BD_STATUS(st);
    while (r->next.op && (int)r->all.len < num_workers) {
        braid_worker_report of = {0};
        if (take_next(r, s, deadline, &of, st)) break;
        if (of.worker != r->own.worker) note(r, &of);
    }
    if (st->code)
        bd_warn("Only %d of %d workers have told what they did: %s", (int)r->all.len, num_workers,
                braid_status_message(st));
}

// ---- The table ----

static void add_row(bd_strbuf *text, const braid_worker_report *o)
{
    const double seconds = o->seconds > 0 ? o->seconds : 1;
    bd_strbuf_appendf(text, "\n  %6d %9lld %9lld %8lld %10.2f %5lld %10.1f %9.2f %8.0f %%", o->worker,
                      (long long)o->steps, (long long)o->updates, (long long)o->dropped, o->mean_staleness,
                      (long long)o->max_staleness, (double)o->bytes / 1e6, o->seconds,
                      100 * o->waiting / seconds);
}

// The updates of all workers by their staleness: in classes, of which those without an update are left out.
static void add_histogram(bd_strbuf *text, const train_report *r)
{
    static const int begins[] = {0, 1, 2, 3, 4, 8, 16, 32, BRAID_STALENESS_CLASSES};
    enum {
        SHOWN = BD_COUNTOF(begins) - 1
    };
    double updates[SHOWN] = {0}, sum = 0;
    for (size_t i = 0; i < r->all.len; i++)
        for (int c = 0; c < SHOWN; c++)
            for (int s = begins[c]; s < begins[c + 1]; s++)
                updates[c] += (double)r->all.items[i].staleness[s];
    for (int c = 0; c < SHOWN; c++)
        sum += updates[c];
    if (updates[0] == sum) return;
    const char *before = "\n  staleness of updates: ";
    for (int c = 0; c < SHOWN; c++) {
        if (updates[c] == 0) continue;
        bd_strbuf_appendf(text, "%s%d", before, begins[c]);
        if (c == SHOWN - 1)
            bd_strbuf_append(text, " and more");
        else if (begins[c + 1] > begins[c] + 1)
            bd_strbuf_appendf(text, " to %d", begins[c + 1] - 1);
        bd_strbuf_appendf(text, ": %.1f %%", 100 * updates[c] / sum);
        before = ", ";
    }
}

void train_report_log(const train_report *r, const char *name)
{
    bd_strbuf text = {0};
    bd_strbuf_appendf(&text,
                      "%s:\n  worker     steps   updates  dropped  staleness   max         MB   seconds  "
                      " waiting",
                      name);
    for (size_t i = 0; i < r->all.len; i++)
        add_row(&text, &r->all.items[i]);
    add_histogram(&text, r);
    bd_info("%s", bd_strbuf_str(&text));
    bd_strbuf_fini(&text);
}
