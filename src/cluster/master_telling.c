// Telling all tasks of a session or a reset one thing, and waiting for their answers.
//
// The end is the last answer; the deadline and the caller's token cancel the calls, so that a task that is
// stopped keeps nobody.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "cluster/master_internal.h"

typedef struct telling telling;

typedef struct told {
    telling *all;
    const bd_peer *peer;
    bool has_answered; // guarded by the mu of `all`
} told;

struct telling {
    bd_tell_options options;
    bd_master_done_fn fn;
    void *arg;
    bd_cancellation *cancellation; // below the caller's
    bd_timer_id deadline_timer;
    int64_t begin_ns;
    atomic_int refs; // one until the end, one for the timer, one for the function that begins
    bd_mutex mu;
    int pending;         // guarded by mu
    braid_status status; // guarded by mu
    int count;
    told *tasks; // [count]
};

static void unref(telling *t)
{
    if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1) return;
    bd_cancellation_unref(t->cancellation);
    bd_status_fini(&t->status);
    bd_mutex_fini(&t->mu);
    bd_free(t->tasks);
    bd_free(t);
}

static void answered(void *arg, const braid_status *st)
{
    told *task = arg;
    telling *t = task->all;
    bd_mutex_lock(&t->mu);
    task->has_answered = true;
    bd_status_update(&t->status, st);
    const bool is_last = --t->pending == 0;
    bd_mutex_unlock(&t->mu);
    if (!is_last) return;
    if (t->deadline_timer && bd_timer_cancel(t->options.timers, t->deadline_timer)) unref(t);
    t->fn(t->arg, &t->status);
    unref(t);
}

static void deadline_passed(void *arg)
{
    telling *t = arg;
    bd_strbuf missing = {0};
    bd_mutex_lock(&t->mu);
    for (int i = 0; i < t->count; i++)
        if (!t->tasks[i].has_answered)
            bd_strbuf_appendf(&missing, "%s%s", missing.len ? ", " : "", t->tasks[i].peer->label);
    bd_mutex_unlock(&t->mu);
    BD_STATUS(st);
    bd_fail(st, BRAID_DEADLINE_EXCEEDED, "%s waited %.1f s for %s", t->options.what,
            (double)(bd_now_ns() - t->begin_ns) / 1e9, bd_strbuf_str(&missing));
    bd_strbuf_fini(&missing);
    bd_cancellation_cancel(t->cancellation, st);
    unref(t);
}

void bd_master_tell(const bd_tell_options *o, bd_master_done_fn fn, void *arg)
{
    telling *t = bd_calloc(1, sizeof *t);
    t->options = *o;
    t->fn = fn;
    t->arg = arg;
    t->cancellation = bd_cancellation_new(o->cancellation);
    t->begin_ns = bd_now_ns();
    bd_mutex_init(&t->mu);
    t->count = t->pending = o->tasks->count;
    t->tasks = bd_calloc((size_t)t->count, sizeof *t->tasks);
    for (int i = 0; i < t->count; i++)
        t->tasks[i] = (told){.all = t, .peer = o->tasks->items[i].peer};
    atomic_init(&t->refs, 2);
    if (o->deadline_ns != BD_FOREVER) {
        atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
        t->deadline_timer = bd_timer_add(o->timers, o->deadline_ns, deadline_passed, t);
    }
    for (int i = 0; i < t->count; i++)
        o->tell(arg, t->tasks[i].peer->worker, t->cancellation, answered, &t->tasks[i]);
    unref(t);
}
