// Threads, mutexes, conditions, one-time initialization and events, over the platform.
#ifndef BD_BASE_THREAD_H
#define BD_BASE_THREAD_H

#include "base/check.h"
#include "base/clock.h"
#include "base/platform.h"
#include <stdatomic.h>

// ---- Mutex: not recursive; lock and unlock by the same thread ----

#define BD_MUTEX_INIT                                                                                        \
    {                                                                                                        \
        .native = PTHREAD_MUTEX_INITIALIZER, .other = NULL                                                   \
    }

static inline void bd_mutex_init(bd_mutex *m)
{
    bd_platform_current->mutex_init(m);
}

static inline void bd_mutex_fini(bd_mutex *m)
{
    bd_platform_current->mutex_fini(m);
}

static inline void bd_mutex_lock(bd_mutex *m)
{
    if (bd_platform_is_posix()) {
        int rc = pthread_mutex_lock(&m->native);
        BD_ASSERT(rc == 0);
    } else {
        bd_platform_current->mutex_lock(m);
    }
}

// True when the lock was taken. Never blocks.
static inline bool bd_mutex_trylock(bd_mutex *m)
{
    return bd_platform_current->mutex_trylock(m);
}

static inline void bd_mutex_unlock(bd_mutex *m)
{
    if (bd_platform_is_posix()) {
        int rc = pthread_mutex_unlock(&m->native);
        BD_ASSERT(rc == 0);
    } else {
        bd_platform_current->mutex_unlock(m);
    }
}

// ---- Condition ----

#define BD_COND_INIT                                                                                         \
    {                                                                                                        \
        .native = PTHREAD_COND_INITIALIZER, .other = NULL                                                    \
    }

static inline void bd_cond_init(bd_cond *c)
{
    bd_platform_current->cond_init(c);
}

static inline void bd_cond_fini(bd_cond *c)
{
    bd_platform_current->cond_fini(c);
}

static inline void bd_cond_signal(bd_cond *c)
{
    bd_platform_current->cond_signal(c);
}

static inline void bd_cond_broadcast(bd_cond *c)
{
    bd_platform_current->cond_broadcast(c);
}

// Waits with `m` held; may wake spuriously, so call it in a loop that tests the condition. A comment at the
// call states the other events that end the wait (cancellation, close).
static inline void bd_cond_wait(bd_cond *c, bd_mutex *m)
{
    (void)bd_platform_current->cond_wait_until(c, m, BD_FOREVER);
}

// The same with a deadline (bd_now_ns); true when it has passed.
static inline bool bd_cond_wait_until(bd_cond *c, bd_mutex *m, int64_t deadline_ns)
{
    return bd_platform_current->cond_wait_until(c, m, deadline_ns);
}

// ---- Thread ----

// Starts a thread that runs fn(arg). `name` (copied; the system shows its first 15 bytes) appears in
// debuggers. ResourceExhausted when the system gives no more threads. The thread blocks all signals, which
// stay with the program's own threads.
static inline braid_code bd_thread_start(bd_thread *t, const char *name, bd_thread_fn fn, void *arg,
                                         braid_status *st)
{
    return bd_platform_current->thread_start(t, name, fn, arg, st);
}

// Waits until the thread has ended. Exactly once for each thread that was started, not by the thread itself.
static inline void bd_thread_join(bd_thread *t)
{
    bd_platform_current->thread_join(t);
}

// In place of a join, by the thread itself. Not in simulations.
static inline void bd_thread_detach(bd_thread *t)
{
    bd_platform_current->thread_detach(t);
}

// Processors that this process may run on, at least 1.
static inline int bd_cpu_count(void)
{
    return bd_platform_current->cpu_count();
}

// ---- One-time initialization ----

typedef struct bd_once {
    bd_mutex mu;
    atomic_bool done;
} bd_once;

#define BD_ONCE_INIT                                                                                         \
    {                                                                                                        \
        .mu = BD_MUTEX_INIT, .done = false                                                                   \
    }

// Runs fn(arg) if no call on this bd_once has yet; returns when it has run. fn must not use the same bd_once.
void bd_once_run(bd_once *once, void (*fn)(void *arg), void *arg);

// ---- Event: something that happens once, and threads that wait for it ----

typedef struct bd_event {
    bd_mutex mu;
    bd_cond cond;
    atomic_bool set;
} bd_event;

void bd_event_init(bd_event *e);
// A thread that has returned from a wait with "set" may end the event's life, also while bd_event_set has not
// returned.
void bd_event_fini(bd_event *e);
void bd_event_set(bd_event *e); // again is harmless
void bd_event_wait(bd_event *e);
// True when the event is set, false when the deadline passed first.
bool bd_event_wait_until(bd_event *e, int64_t deadline_ns);
// Never blocks. Writes before bd_event_set are visible when this is true.
bool bd_event_is_set(bd_event *e);

#endif
