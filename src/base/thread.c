// One-time initialization and events, from mutexes and conditions.
#include "base/thread.h"

void bd_once_run(bd_once *once, void (*fn)(void *arg), void *arg)
{
    if (atomic_load_explicit(&once->done, memory_order_acquire)) return;
    bd_mutex_lock(&once->mu);
    if (!atomic_load_explicit(&once->done, memory_order_relaxed)) {
        fn(arg);
        atomic_store_explicit(&once->done, true, memory_order_release);
    }
    bd_mutex_unlock(&once->mu);
}

void bd_event_init(bd_event *e)
{
    bd_mutex_init(&e->mu);
    bd_cond_init(&e->cond);
    atomic_init(&e->set, false);
}

void bd_event_fini(bd_event *e)
{
    bd_cond_fini(&e->cond);
    bd_mutex_fini(&e->mu);
}

void bd_event_set(bd_event *e)
{
    // Set and broadcast under the lock: a waiter that sees the event set gets the lock only when this is
    // over, and may then end the event's life.
    bd_mutex_lock(&e->mu);
    atomic_store_explicit(&e->set, true, memory_order_release);
    bd_cond_broadcast(&e->cond);
    bd_mutex_unlock(&e->mu);
}

void bd_event_wait(bd_event *e)
{
    (void)bd_event_wait_until(e, BD_FOREVER);
}

bool bd_event_wait_until(bd_event *e, int64_t deadline_ns)
{
    bd_mutex_lock(&e->mu);
    bool late = false;
    while (!atomic_load_explicit(&e->set, memory_order_relaxed) && !late) {
        late = bd_cond_wait_until(&e->cond, &e->mu, deadline_ns);
    }
    bool set = atomic_load_explicit(&e->set, memory_order_relaxed);
    bd_mutex_unlock(&e->mu);
    return set;
}

bool bd_event_is_set(bd_event *e)
{
    return atomic_load_explicit(&e->set, memory_order_acquire);
}
