// Notifications within one process.
#include "runtime/local_notifications.h"

#include "base/clock.h"

void bd_local_notifications_init(bd_local_notifications *a)
{
    *a = (bd_local_notifications){0};
    bd_mutex_init(&a->mu);
    bd_cond_init(&a->changed);
}

void bd_local_notifications_fini(bd_local_notifications *a)
{
    bd_map_fini(&a->notified);
    bd_cond_fini(&a->changed);
    bd_mutex_fini(&a->mu);
}

void bd_local_notifications_notify(bd_local_notifications *a, const char *key)
{
    bd_mutex_lock(&a->mu);
    uintptr_t count = (uintptr_t)bd_map_get(&a->notified, key);
    bd_map_put(&a->notified, key, (void *)(count + 1));
    bd_cond_broadcast(&a->changed);
    bd_mutex_unlock(&a->mu);
}

static braid_code wait_locked(bd_local_notifications *a, const char *key, int64_t seen, int64_t timeout_ms,
                              int64_t *generation, braid_status *st)
{
    int64_t deadline = timeout_ms > 0 ? bd_deadline_after_ms(timeout_ms) : BD_FOREVER;
    bool is_late = false;
    for (;;) {
        *generation = (int64_t)(uintptr_t)bd_map_get(&a->notified, key);
        if (*generation > seen) return BRAID_OK;
        if (a->has_ended) return bd_fail(st, BRAID_CANCELLED, "Session has been closed.");
        if (is_late) {
            return bd_fail(st, BRAID_DEADLINE_EXCEEDED, "No notification of '%s' arrived within %lld ms", key,
                           (long long)timeout_ms);
        }
        is_late = bd_cond_wait_until(&a->changed, &a->mu, deadline);
    }
}

braid_code bd_local_notifications_wait(bd_local_notifications *a, const char *key, int64_t seen,
                                       int64_t timeout_ms, int64_t *generation, braid_status *st)
{
    bd_mutex_lock(&a->mu);
    braid_code code = wait_locked(a, key, seen, timeout_ms, generation, st);
    bd_mutex_unlock(&a->mu);
    return code;
}

void bd_local_notifications_end(bd_local_notifications *a)
{
    bd_mutex_lock(&a->mu);
    a->has_ended = true;
    bd_cond_broadcast(&a->changed);
    bd_mutex_unlock(&a->mu);
}
