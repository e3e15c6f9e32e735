// Timers: a heap of deadlines and one thread that sleeps until the first.
//
// States of a timer: waiting (in heap and `by_id`) -> running (`running_id`) -> gone; or waiting -> gone by
// cancel. Every transition is made under mu; the thread that removes it from `by_id` decides between running
// and cancelled.
#include "base/timer.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "base/map.h"
#include "base/thread.h"

struct timer {
    int64_t deadline_ns;
    bd_timer_id id; // grows with every timer, so it also orders equal deadlines
    void (*fn)(void *arg);
    void *arg;
    size_t position; // in the heap
    struct timer *next_free;
};

struct bd_timers {
    bd_mutex mu;
    bd_cond changed;               // the first deadline, or `stopping`
    bd_cond finished;              // a function has returned
    BD_ARRAY(struct timer *) heap; // guarded by mu; a parent is not later than its children
    bd_imap by_id;                 // guarded by mu: waiting timers
    struct timer *free_list;       // guarded by mu
    bd_timer_id last_id;           // guarded by mu
    bd_timer_id running_id;        // guarded by mu; 0: none
    bool stopping;                 // guarded by mu
    bool frees_itself;             // the thread does it, when it ends; guarded by mu
    bd_thread thread;
};

// The service of this thread.
static _Thread_local const bd_timers *own_service;

// ---- Heap ----

static bool earlier(const struct timer *a, const struct timer *b)
{
    return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns : a->id < b->id;
}

static void place(bd_timers *t, size_t position, struct timer *timer)
{
    t->heap.items[position] = timer;
    timer->position = position;
}

static void sift_up(bd_timers *t, size_t i)
{
    struct timer *timer = t->heap.items[i];
    for (; i > 0 && earlier(timer, t->heap.items[(i - 1) / 2]); i = (i - 1) / 2) {
        place(t, i, t->heap.items[(i - 1) / 2]);
    }
    place(t, i, timer);
}

static void sift_down(bd_timers *t, size_t i)
{
    struct timer *timer = t->heap.items[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= t->heap.len) break;
        if (child + 1 < t->heap.len && earlier(t->heap.items[child + 1], t->heap.items[child])) child++;
        if (!earlier(t->heap.items[child], timer)) break;
        place(t, i, t->heap.items[child]);
        i = child;
    }
    place(t, i, timer);
}

// Removes a waiting timer from heap and map; its memory goes to the free list.
static void remove_locked(bd_timers *t, struct timer *timer)
{
    size_t hole = timer->position;
    struct timer *last = t->heap.items[--t->heap.len];
    if (last != timer) {
        place(t, hole, last);
        sift_down(t, hole);
        sift_up(t, last->position);
    }
    bd_imap_remove(&t->by_id, timer->id);
    timer->next_free = t->free_list;
    t->free_list = timer;
}

// ---- Thread ----

static void fini(bd_timers *t)
{
    while (t->heap.len)
        remove_locked(t, t->heap.items[t->heap.len - 1]);
    while (t->free_list) {
        struct timer *next = t->free_list->next_free;
        bd_free(t->free_list);
        t->free_list = next;
    }
    bd_array_free(&t->heap);
    bd_imap_fini(&t->by_id);
    bd_cond_fini(&t->changed);
    bd_cond_fini(&t->finished);
    bd_mutex_fini(&t->mu);
    bd_free(t);
}

// Runs the first timer, with the lock released meanwhile.
static void run_first_locked(bd_timers *t)
{
    struct timer *first = t->heap.items[0];
    void (*fn)(void *) = first->fn;
    void *arg = first->arg;
    t->running_id = first->id;
    remove_locked(t, first);
    bd_mutex_unlock(&t->mu);
    fn(arg);
    bd_mutex_lock(&t->mu);
    t->running_id = 0;
    bd_cond_broadcast(&t->finished);
}

static void timers_main(void *arg)
{
    bd_timers *t = arg;
    own_service = t;
    bd_mutex_lock(&t->mu);
    while (!t->stopping) {
        int64_t deadline = t->heap.len ? t->heap.items[0]->deadline_ns : BD_FOREVER;
        if (deadline != BD_FOREVER && deadline <= bd_now_ns())
            run_first_locked(t);
        else
            bd_cond_wait_until(&t->changed, &t->mu, deadline); // ended also by add, cancel and free
    }
    const bool frees_itself = t->frees_itself;
    bd_mutex_unlock(&t->mu);
    if (frees_itself) fini(t);
}

// ---- Interface ----

braid_code bd_timers_new(bd_timers **out, braid_status *st)
{
    *out = NULL;
    bd_timers *t = bd_calloc(1, sizeof *t);
    bd_mutex_init(&t->mu);
    bd_cond_init(&t->changed);
    bd_cond_init(&t->finished);
    braid_code code = bd_thread_start(&t->thread, "timers", timers_main, t, st);
    if (code) {
        fini(t);
        return code;
    }
    *out = t;
    return BRAID_OK;
}

void bd_timers_free(bd_timers *t)
{
    if (!t) return;
    const bool is_own = own_service == t;
    bd_mutex_lock(&t->mu);
    t->stopping = true;
    t->frees_itself = is_own;
    bd_cond_signal(&t->changed);
    bd_mutex_unlock(&t->mu);
    if (is_own) {
        bd_thread_detach(&t->thread);
        return;
    }
    bd_thread_join(&t->thread);
    fini(t);
}

static struct timer *new_timer_locked(bd_timers *t)
{
    struct timer *timer = t->free_list;
    if (timer)
        t->free_list = timer->next_free;
    else
        timer = bd_malloc(sizeof *timer);
    return timer;
}

bd_timer_id bd_timer_add(bd_timers *t, int64_t deadline_ns, void (*fn)(void *arg), void *arg)
{
    bd_mutex_lock(&t->mu);
    struct timer *timer = new_timer_locked(t);
    bd_timer_id id = ++t->last_id;
    *timer = (struct timer){.deadline_ns = deadline_ns, .id = id, .fn = fn, .arg = arg};
    bd_array_push(&t->heap, timer);
    sift_up(t, t->heap.len - 1);
    bd_imap_put(&t->by_id, id, timer);
    if (t->heap.items[0] == timer) bd_cond_signal(&t->changed);
    bd_mutex_unlock(&t->mu);
    return id;
}

bool bd_timer_cancel(bd_timers *t, bd_timer_id id)
{
    bd_mutex_lock(&t->mu);
    struct timer *timer = bd_imap_get(&t->by_id, id);
    if (timer) remove_locked(t, timer);
    bd_mutex_unlock(&t->mu);
    return timer != NULL;
}

bool bd_timer_cancel_wait(bd_timers *t, bd_timer_id id)
{
    if (bd_timer_cancel(t, id)) return true;
    if (own_service == t) return false;
    bd_mutex_lock(&t->mu);
    while (t->running_id == id)
        bd_cond_wait(&t->finished, &t->mu); // ended when the function returns
    bd_mutex_unlock(&t->mu);
    return false;
}
