// Work for threads that wait: see progress.h.
#include "base/progress.h"
#include "base/fork.h"
#include <sched.h>

// Moving average in 1/256.
#define SHORT_WAITS_ALL 256
#define SHORT_WAITS_MIN 64

// More are not polled by one thread.
#define POLLED_MAX 4

static bd_mutex mu = BD_MUTEX_INIT;
static bd_cond unused = BD_COND_INIT;
static bd_progress *first; // guarded by mu
static atomic_int count;

void bd_poll_history_note(bd_poll_history *h, int64_t waited_ns)
{
    h->short_waits += ((waited_ns < BD_POLL_NS ? SHORT_WAITS_ALL : 0) - h->short_waits) / 8;
}

bool bd_poll_history_pays(const bd_poll_history *h)
{
    return h->short_waits >= SHORT_WAITS_MIN;
}

// A child of fork has nothing that its parent polls.
static void forget_all(void)
{
    (void)bd_mutex_renew(&mu);
    first = NULL;
    atomic_store(&count, 0);
}

static void watch_forks(void *arg)
{
    (void)arg;
    bd_at_fork(NULL, NULL, forget_all);
}

void bd_progress_add(bd_progress *p)
{
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, watch_forks, NULL);
    bd_mutex_lock(&mu);
    p->users = 0;
    p->next = first;
    first = p;
    atomic_fetch_add(&count, 1);
    bd_mutex_unlock(&mu);
}

void bd_progress_remove(bd_progress *p)
{
    bd_mutex_lock(&mu);
    bd_progress **link = &first;
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    atomic_fetch_sub(&count, 1);
    while (p->users > 0) // ends: a thread polls for a short time
        bd_cond_wait(&unused, &mu);
    bd_mutex_unlock(&mu);
}

static int begin_all(bd_progress *polled[POLLED_MAX])
{
    int n = 0;
    bd_mutex_lock(&mu);
    for (bd_progress *p = first; p && n < POLLED_MAX; p = p->next) {
        p->users++;
        polled[n++] = p;
    }
    bd_mutex_unlock(&mu);
    for (int i = 0; i < n; i++)
        polled[i]->begin(polled[i]->arg);
    return n;
}

static void end_all(bd_progress *polled[POLLED_MAX], int n, bool is_done)
{
    for (int i = 0; i < n; i++)
        polled[i]->end(polled[i]->arg, is_done);
    bd_mutex_lock(&mu);
    for (int i = 0; i < n; i++)
        polled[i]->users--;
    bd_cond_broadcast(&unused);
    bd_mutex_unlock(&mu);
}

static void poll_until(const bd_wait *w, int64_t end_ns)
{
    bd_progress *polled[POLLED_MAX];
    const int n = begin_all(polled);
    bool is_over = w->is_over(w->arg);
    while (!is_over && bd_now_ns() < end_ns) {
        bool any = false;
        for (int i = 0; i < n; i++)
            any |= polled[i]->poll(polled[i]->arg);
        if (!any) sched_yield();
        is_over = w->is_over(w->arg);
    }
    end_all(polled, n, is_over);
}

void bd_wait_polling(const bd_wait *w)
{
    static _Thread_local bd_poll_history history;
    if (atomic_load_explicit(&count, memory_order_relaxed) == 0) {
        w->sleep(w->arg);
        return;
    }
    if (w->is_over(w->arg)) return;
    const int64_t start_ns = bd_now_ns();
    poll_until(w, bd_poll_history_pays(&history) ? start_ns + BD_POLL_NS : start_ns);
    w->sleep(w->arg);
    bd_poll_history_note(&history, bd_now_ns() - start_ns);
}

typedef struct event_wait {
    bd_event *event;
    int64_t deadline_ns;
} event_wait;

static bool is_set(void *arg)
{
    return bd_event_is_set(((const event_wait *)arg)->event);
}

static void sleep_until_set(void *arg)
{
    const event_wait *w = arg;
    (void)bd_event_wait_until(w->event, w->deadline_ns);
}

bool bd_event_wait_polling(bd_event *e, int64_t deadline_ns)
{
    event_wait w = {e, deadline_ns};
    bd_wait_polling(&(bd_wait){is_set, sleep_until_set, &w});
    return bd_event_wait_until(e, 0); // after its setter
}
