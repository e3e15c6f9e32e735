// What the master does, for those who watch it: the steps in progress of its sessions, and counts of those
// that have ended.
#include "cluster/master/master_internal.h"
#include <string.h>

#define MS INT64_C(1000000)

const int64_t bd_step_class_bounds_ns[BD_STEP_CLASSES - 1] = {
    MS / 10, MS / 4,   MS / 2,    MS,        5 * MS / 2, 5 * MS,      10 * MS,
    50 * MS, 250 * MS, 1000 * MS, 5000 * MS, 30000 * MS, 300000 * MS,
};

void bd_master_list_step_locked(bd_master_session *s, bd_listed_step *step)
{
    step->step.begin_ns = bd_now_ns();
    if (!step->step.id) step->step.id = bd_master_draw_step_id_locked(s);
    step->next = &s->steps;
    step->prev = s->steps.prev;
    step->prev->next = step;
    s->steps.prev = step;
}

static void count(bd_master *m, int64_t ns, bool has_failed)
{
    int class = 0;
    while (class < BD_STEP_CLASSES - 1 && ns > bd_step_class_bounds_ns[class])
        class ++;
    atomic_fetch_add_explicit(&m->step_classes[class], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->steps_ns, ns, memory_order_relaxed);
    if (has_failed) atomic_fetch_add_explicit(&m->steps_failed, 1, memory_order_relaxed);
}

void bd_master_unlist_step(bd_master_session *s, bd_listed_step *step, bool has_failed)
{
    bd_mutex_lock(&s->mu);
    step->prev->next = step->next;
    step->next->prev = step->prev;
    s->steps_done += step->is_counted;
    s->steps_failed += step->is_counted && has_failed;
    bd_mutex_unlock(&s->mu);
    if (step->is_counted) count(s->master, bd_now_ns() - step->step.begin_ns, has_failed);
}

bd_step_counts bd_master_step_counts(const bd_master *m)
{
    bd_step_counts c = {.failed = atomic_load_explicit(&m->steps_failed, memory_order_relaxed),
                        .total_ns = atomic_load_explicit(&m->steps_ns, memory_order_relaxed)};
    for (int i = 0; i < BD_STEP_CLASSES; i++)
        c.classes[i] = atomic_load_explicit(&m->step_classes[i], memory_order_relaxed);
    return c;
}

static void watch_session(bd_master_session *s, void (*fn)(void *arg, const bd_watched_session *s), void *arg)
{
    bd_watched_step oldest[BD_WATCHED_STEPS_MAX];
    bd_watched_session out = {.handle = s->handle,
                              .owner = bd_caller_name(&s->owner),
                              .created_ns = s->created_ns,
                              .oldest = oldest};
    bd_mutex_lock(&s->mu);
    out.steps = s->steps_done;
    out.failed = s->steps_failed;
    for (const bd_listed_step *step = s->steps.next; step != &s->steps; step = step->next) {
        if (out.oldest_count < BD_WATCHED_STEPS_MAX) oldest[out.oldest_count++] = step->step;
        out.running++;
    }
    bd_mutex_unlock(&s->mu);
    fn(arg, &out);
}

void bd_master_watch_sessions(bd_master *m, void (*fn)(void *arg, const bd_watched_session *s), void *arg)
{
    size_t pos = 0;
    void *session;
    bd_mutex_lock(&m->mu);
    while (bd_map_next(&m->sessions, &pos, NULL, &session))
        watch_session(session, fn, arg);
    bd_mutex_unlock(&m->mu);
}
