// Finds the devices of the tasks of a session.
//
// The finder asks each task (GetStatus) until it answers. The call waits until the address is reachable; if
// it breaks nevertheless, it is made again after a pause. `pending` counts the tasks that have neither
// answered nor failed; the thread that brings it to 0 makes the callback. A task that has answered is also
// compared (spec_check.h), when the caller wants it. While tasks are missing, a membership server is asked
// again and again which tasks are done: the process of such a task may have ended, and is not waited for. A
// task that only serves is. The first error (a wrong answer, the deadline, a
// cancellation) cancels the calls to the other tasks.
#include "cluster/membership/device_finder.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "graph/device_name.h"
#include <string.h>

#define PAUSE_MIN_MS 20
#define PAUSE_MAX_MS 200 // also the longest time that a cancellation may take
// After the first line about missing tasks comes another after this time, then after twice of it, and so on.
#define LOG_AGAIN_MS 10000
#define ASK_DONE_AGAIN_MS 1000

typedef struct finder finder;

typedef struct task_query {
    finder *f;
    int index; // in found.items
    bool has_answered;
    bool is_left_out;              // it is done: nothing is waited for any more
    bd_cancellation *cancellation; // a child of the finder's
    int64_t pause_ms;
} task_query;

struct finder {
    bd_timers *timers;
    const char *what;
    bd_find_fn fn;
    void *arg;
    bd_cancellation *cancellation; // a child of the caller's
    bd_spec_check *spec_check;     // NULL: none
    bd_membership *membership;     // NULL: none
    bool renames_devices;
    atomic_int refs; // one until the callback, one for each timer and DoneTasks
    bd_mutex mu;
    bd_found_tasks found; // guarded by mu
    task_query *queries;  // [query_count] guarded by mu
    int query_count;
    int pending;                                       // guarded by mu
    braid_status status;                               // guarded by mu
    bd_timer_id log_timer, done_timer, deadline_timer; // guarded by mu
    int64_t log_after_ms;
    int64_t begin_ns;
};

void bd_found_tasks_fini(bd_found_tasks *f)
{
    bd_arena_fini(&f->arena);
    *f = (bd_found_tasks){0};
}

// ---- Completion ----

static void unref(finder *f)
{
    if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1) return;
    for (int i = 0; i < f->query_count; i++)
        bd_cancellation_unref(f->queries[i].cancellation);
    bd_found_tasks_fini(&f->found);
    bd_cancellation_unref(f->cancellation);
    bd_status_fini(&f->status);
    bd_mutex_fini(&f->mu);
    bd_free(f->queries);
    bd_free(f);
}

static void end_timer(finder *f, bd_timer_id timer)
{
    if (timer && bd_timer_cancel(f->timers, timer)) unref(f);
}

static void drop_left_out_locked(finder *f)
{
    bd_found_tasks *found = &f->found;
    found->count = 0;
    for (int i = 0; i < f->query_count; i++)
        if (!f->queries[i].is_left_out) found->items[found->count++] = found->items[i];
}

// One task has answered, has failed or is left out. The last one makes the callback.
static void settle(finder *f)
{
    bd_mutex_lock(&f->mu);
    const bool is_last = --f->pending == 0;
    if (is_last) drop_left_out_locked(f);
    const bd_timer_id log_timer = f->log_timer, done_timer = f->done_timer;
    const bd_timer_id deadline_timer = f->deadline_timer;
    bd_mutex_unlock(&f->mu);
    if (!is_last) return;
    end_timer(f, log_timer);
    end_timer(f, done_timer);
    end_timer(f, deadline_timer);
    f->fn(f->arg, &f->found, &f->status);
    unref(f);
}

static void fail(finder *f, const braid_status *st)
{
    bd_mutex_lock(&f->mu);
    const bool is_first = f->status.code == BRAID_OK;
    if (is_first) bd_status_copy(&f->status, st);
    bd_mutex_unlock(&f->mu);
    if (is_first) bd_cancellation_cancel(f->cancellation, st);
}

// ---- Missing tasks: log and deadline ----

static char *list_missing_locked(const finder *f)
{
    bd_strbuf text = {0};
    for (int i = 0; i < f->query_count; i++)
        if (!f->queries[i].has_answered && !f->queries[i].is_left_out)
            bd_strbuf_appendf(&text, "%s%s", text.len ? ", " : "", f->found.items[i].peer->label);
    return bd_strbuf_take(&text);
}

static void log_wait(void *arg)
{
    finder *f = arg;
    bd_mutex_lock(&f->mu);
    char *missing = list_missing_locked(f);
    bd_mutex_unlock(&f->mu);
    if (missing[0])
        bd_info("%s still waits for %s, after %.0f s", f->what, missing,
                (double)(bd_now_ns() - f->begin_ns) / 1e9);
    bd_free(missing);
    bd_mutex_lock(&f->mu);
    f->log_after_ms = f->log_after_ms < LOG_AGAIN_MS ? LOG_AGAIN_MS : 2 * f->log_after_ms;
    const bool goes_on = f->pending > 0;
    if (goes_on) f->log_timer = bd_timer_add(f->timers, bd_deadline_after_ms(f->log_after_ms), log_wait, f);
    bd_mutex_unlock(&f->mu);
    if (!goes_on) unref(f);
}

// ---- Missing tasks that are done ----

// Ends the call to the task, which then settles it. A task that has answered GetStatus lives.
static void leave_out(task_query *q, const bd_done_notice *tasks, int count)
{
    finder *f = q->f;
    const bd_peer *peer = NULL;
    bd_mutex_lock(&f->mu);
    if (f->pending > 0 && !q->is_left_out) { // afterwards what was found is the callback's
        const bd_found_task *task = &f->found.items[q->index];
        q->is_left_out = task->device_count == 0 && bd_done_notices_have(tasks, count, task->peer);
        if (q->is_left_out) peer = task->peer;
    }
    bd_mutex_unlock(&f->mu);
    if (!peer) return;
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "%s is done with its work", peer->label);
    bd_info("%s goes on without %s: it is done with its work", f->what, peer->label);
    bd_cancellation_cancel(q->cancellation, why);
}

static void ask_done(void *arg);

static void done_known(void *arg, const bd_done_notice *tasks, int count)
{
    finder *f = arg;
    for (int i = 0; i < f->query_count; i++)
        leave_out(&f->queries[i], tasks, count);
    bd_mutex_lock(&f->mu);
    const bool goes_on = f->pending > 0;
    if (goes_on)
        f->done_timer = bd_timer_add(f->timers, bd_deadline_after_ms(ASK_DONE_AGAIN_MS), ask_done, f);
    bd_mutex_unlock(&f->mu);
    if (!goes_on) unref(f);
}

static void ask_done(void *arg)
{
    finder *f = arg;
    bd_membership_ask_done(f->membership, f->cancellation, done_known, f);
}

static void deadline_passed(void *arg)
{
    finder *f = arg;
    BD_STATUS(st);
    bd_mutex_lock(&f->mu);
    char *missing = list_missing_locked(f);
    bd_mutex_unlock(&f->mu);
    bd_fail(st, BRAID_DEADLINE_EXCEEDED, "%s waited %.1f s for %s", f->what,
            (double)(bd_now_ns() - f->begin_ns) / 1e9, missing);
    bd_free(missing);
    fail(f, st);
    unref(f);
}

// ---- Asking ----

static void ask(void *arg);

static void keep_devices_locked(finder *f, bd_found_task *task, const bd_device_info *devices, int count)
{
    bd_arena *arena = &f->found.arena;
    task->devices = BD_ARENA_ARRAY(arena, bd_device_info, (size_t)count);
    task->device_count = count;
    for (int i = 0; i < count; i++) {
        task->devices[i] = devices[i];
        const char *name = devices[i].name;
        const char *of_task = name + bd_task_name_len(name, strlen(name));
        char *renamed = f->renames_devices ? bd_asprintf("%s%s", task->peer->task, of_task) : NULL;
        task->devices[i].name = bd_arena_strdup(arena, renamed ? renamed : name);
        bd_free(renamed);
        task->devices[i].type = bd_arena_strdup(arena, devices[i].type);
    }
}

// The names are those of a task, whichever it is.
static braid_code check_names(const bd_peer *peer, const bd_device_info *devices, int count, braid_status *st)
{
    bd_device_name name;
    for (int i = 0; i < count; i++) {
        BD_STATUS(unwanted);
        const char *text = devices[i].name;
        if (bd_device_name_parse(text, &name, unwanted) ||
            strncmp(text + bd_task_name_len(text, strlen(text)), "/device:", strlen("/device:")) != 0)
            return bd_fail(st, BRAID_INTERNAL, "%s has a device of the name %.256s", peer->label, text);
    }
    return BRAID_OK;
}

static braid_code check_devices(const finder *f, const bd_peer *peer, const bd_device_info *devices,
                                int count, braid_status *st)
{
    if (count == 0) return bd_fail(st, BRAID_INTERNAL, "%s has no devices", peer->label);
    if (f->renames_devices) return check_names(peer, devices, count, st);
    const size_t len = strlen(peer->task);
    for (int i = 0; i < count; i++)
        if (strncmp(devices[i].name, peer->task, len) != 0 || devices[i].name[len] != '/')
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "The server at %s is not /job:%s/task:%d: it has the device %s", peer->address,
                           peer->job, peer->index, devices[i].name);
    return BRAID_OK;
}

static void pause_and_ask(task_query *q)
{
    finder *f = q->f;
    q->pause_ms = bd_min(bd_max(q->pause_ms * 2, PAUSE_MIN_MS), PAUSE_MAX_MS);
    bd_timer_add(f->timers, bd_deadline_after_ms(q->pause_ms), ask, q);
}

static void compared(void *arg, const braid_status *from)
{
    task_query *q = arg;
    finder *f = q->f;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (st->code) bd_status_prefix(st, "%s: ", f->what);
    if (st->code) fail(f, st);
    bd_mutex_lock(&f->mu);
    q->has_answered = true;
    bd_mutex_unlock(&f->mu);
    settle(f);
}

static void answered(void *arg, const bd_device_info *devices, int count, const braid_status *from)
{
    task_query *q = arg;
    finder *f = q->f;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (st->code == BRAID_UNAVAILABLE && !bd_cancellation_is_cancelled(q->cancellation)) {
        pause_and_ask(q);
        return;
    }
    const bd_peer *peer = f->found.items[q->index].peer;
    if (!st->code) check_devices(f, peer, devices, count, st);
    bd_mutex_lock(&f->mu);
    const bool is_left_out = q->is_left_out;
    if (!is_left_out && !st->code) keep_devices_locked(f, &f->found.items[q->index], devices, count);
    bd_mutex_unlock(&f->mu);
    if (is_left_out || st->code) {
        if (!is_left_out) fail(f, st);
        settle(f);
        return;
    }
    if (f->spec_check)
        bd_spec_check_peer(f->spec_check, peer, q->cancellation, compared, q);
    else
        compared(q, st);
}

static void ask(void *arg)
{
    task_query *q = arg;
    bd_worker *w = q->f->found.items[q->index].peer->worker;
    w->ops->get_status(w, true, q->cancellation, answered, q);
}

// ---- Start ----

static braid_code parse_filters(const bd_find_options *o, bd_device_name *filters, braid_status *st)
{
    for (int i = 0; i < o->filter_count; i++)
        if (bd_device_name_parse(o->filters[i], &filters[i], st)) {
            bd_status_prefix(st, "device_filters: ");
            return st->code;
        }
    return BRAID_OK;
}

static bool is_wanted(const bd_peer *peer, const bd_device_name *filters, int count)
{
    if (peer->is_self || count == 0) return true;
    BD_STATUS(unwanted);
    bd_device_name task;
    if (bd_device_name_parse(peer->task, &task, unwanted)) return false;
    for (int i = 0; i < count; i++) {
        bd_device_name both = task;
        if (bd_device_name_intersect(&both, &filters[i], false)) return true;
    }
    return false;
}

static void choose_tasks(finder *f, const bd_find_options *o, const bd_device_name *filters)
{
    const bd_peers *peers = o->peers;
    f->found.items = BD_ARENA_ARRAY(&f->found.arena, bd_found_task, (size_t)peers->count);
    f->queries = bd_calloc((size_t)peers->count, sizeof *f->queries);
    for (int i = 0; i < peers->count; i++) {
        if (!is_wanted(&peers->items[i], filters, o->filter_count)) continue;
        f->queries[f->found.count] = (task_query){
            .f = f, .index = f->found.count, .cancellation = bd_cancellation_new(f->cancellation)};
        f->found.items[f->found.count++].peer = &peers->items[i];
    }
    f->pending = f->query_count = f->found.count;
}

static void start_timers(finder *f, const bd_find_options *o)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    f->log_after_ms = BD_LOG_WAIT_AFTER_MS;
    f->log_timer = bd_timer_add(f->timers, bd_deadline_after_ms(f->log_after_ms), log_wait, f);
    if (o->membership) {
        atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
        f->done_timer = bd_timer_add(f->timers, bd_deadline_after_ms(ASK_DONE_AGAIN_MS), ask_done, f);
    }
    if (o->deadline_ns == BD_FOREVER) return;
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    f->deadline_timer = bd_timer_add(f->timers, o->deadline_ns, deadline_passed, f);
}

void bd_find_devices(const bd_find_options *o, bd_find_fn fn, void *arg)
{
    BD_STATUS(st);
    bd_device_name *filters = bd_calloc((size_t)o->filter_count, sizeof *filters);
    if (parse_filters(o, filters, st)) {
        bd_free(filters);
        fn(arg, NULL, st);
        return;
    }
    finder *f = bd_calloc(1, sizeof *f);
    f->timers = o->timers;
    f->what = o->what;
    f->fn = fn;
    f->arg = arg;
    f->cancellation = bd_cancellation_new(o->cancellation);
    f->spec_check = o->spec_check;
    f->membership = o->membership;
    f->renames_devices = o->renames_devices;
    f->begin_ns = bd_now_ns();
    atomic_init(&f->refs, 2); // until the callback, and of this function
    bd_mutex_init(&f->mu);
    choose_tasks(f, o, filters);
    bd_free(filters);
    if (f->pending > 1) start_timers(f, o); // the server's own task answers at once
    const int count = f->found.count;
    for (int i = 0; i < count; i++)
        ask(&f->queries[i]);
    unref(f);
}
