// Sends one request to all tasks of a session or a reset, and waits for the answers.
//
// The fanout ends with the last answer. The deadline and the caller's token cancel the calls, so that a
// stopped task cannot block it. It logs once which tasks have not answered after a while.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cluster/master/master_internal.h"

typedef struct fanout fanout;

typedef struct target {
    fanout *all;
    const bd_peer *peer;
    bool has_answered; // guarded by the mu of `all`
} target;

struct fanout {
    bd_fanout_options options;
    bd_master_done_fn fn;
    void *arg;
    bd_cancellation *cancellation; // below the caller's
    bd_timer_id log_timer, deadline_timer;
    int64_t begin_ns;
    atomic_int refs; // one until the end, one for each timer, one for the function that begins
    bd_mutex mu;
    int pending;         // guarded by mu
    braid_status status; // guarded by mu
    int count;
    target *tasks; // [count]
};

static void unref(fanout *t)
{
    if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) return;
    bd_cancellation_unref(t->cancellation);
    bd_status_fini(&t->status);
    bd_mutex_fini(&t->mu);
    bd_free(t->tasks);
    bd_free(t);
}

static void end_timer(fanout *t, bd_timer_id timer)
{
    if (timer && bd_timer_cancel(t->options.timers, timer)) unref(t);
}

static void answered(void *arg, const braid_status *st)
{
    target *task = arg;
    fanout *t = task->all;
    bd_mutex_lock(&t->mu);
    task->has_answered = true;
    bd_status_update(&t->status, st);
    const bool is_last = --t->pending == 0;
    bd_mutex_unlock(&t->mu);
    if (!is_last) return;
    end_timer(t, t->log_timer);
    end_timer(t, t->deadline_timer);
    t->fn(t->arg, &t->status);
    unref(t);
}

static char *list_missing(fanout *t)
{
    bd_strbuf missing = {0};
    bd_mutex_lock(&t->mu);
    for (int i = 0; i < t->count; i++)
        if (!t->tasks[i].has_answered)
            bd_strbuf_appendf(&missing, "%s%s", missing.len ? ", " : "", t->tasks[i].peer->label);
    bd_mutex_unlock(&t->mu);
    return bd_strbuf_take(&missing);
}

static void log_wait(void *arg)
{
    fanout *t = arg;
    char *missing = list_missing(t);
    if (missing[0]) bd_info("%s still waits for the answer of %s", t->options.what, missing);
    bd_free(missing);
    unref(t);
}

static void deadline_passed(void *arg)
{
    fanout *t = arg;
    char *missing = list_missing(t);
    BD_STATUS(st);
    bd_fail(st, BRAID_DEADLINE_EXCEEDED, "%s waited %.1f s for %s", t->options.what,
            (double)(bd_now_ns() - t->begin_ns) / 1e9, missing);
    bd_free(missing);
    bd_cancellation_cancel(t->cancellation, st);
    unref(t);
}

static bd_timer_id start_timer(fanout *t, int64_t deadline_ns, void (*fn)(void *arg))
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return bd_timer_add(t->options.timers, deadline_ns, fn, t);
}

void bd_master_fanout(const bd_fanout_options *o, bd_master_done_fn fn, void *arg)
{
    fanout *t = bd_calloc(1, sizeof *t);
    t->options = *o;
    t->fn = fn;
    t->arg = arg;
    t->cancellation = bd_cancellation_new(o->cancellation);
    t->begin_ns = bd_now_ns();
    bd_mutex_init(&t->mu);
    t->count = t->pending = o->tasks->count;
    t->tasks = bd_calloc((size_t)t->count, sizeof *t->tasks);
    for (int i = 0; i < t->count; i++)
        t->tasks[i] = (target){.all = t, .peer = o->tasks->items[i].peer};
    atomic_init(&t->refs, 2);
    if (t->count > 1)
        t->log_timer = start_timer(t, bd_deadline_after_ms(BD_LOG_WAIT_AFTER_MS),
                                   log_wait); // the own task answers at once
    if (o->deadline_ns != BD_FOREVER) t->deadline_timer = start_timer(t, o->deadline_ns, deadline_passed);
    for (int i = 0; i < t->count; i++)
        o->send(arg, t->tasks[i].peer->worker, t->cancellation, answered, &t->tasks[i]);
    unref(t);
}
