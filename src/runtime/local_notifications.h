// Notifications within one process: one thread notifies by key, others wait.
#ifndef BD_RUNTIME_LOCAL_NOTIFICATIONS_H
#define BD_RUNTIME_LOCAL_NOTIFICATIONS_H

#include "base/map.h"
#include "base/status.h"
#include "base/thread.h"

typedef struct bd_local_notifications {
    bd_mutex mu;
    bd_cond changed; // signalled after a notification and at the end
    bool has_ended;  // guarded by mu
    bd_map notified; // guarded by mu: key -> number of times
} bd_local_notifications;

void bd_local_notifications_init(bd_local_notifications *a);
void bd_local_notifications_fini(bd_local_notifications *a); // no thread waits

void bd_local_notifications_notify(bd_local_notifications *a, const char *key);

// Waits until the key has more than `seen` notifications; *generation is their number, also on an error.
// DeadlineExceeded after timeout_ms (0: no limit), Cancelled after bd_local_notifications_end.
braid_code bd_local_notifications_wait(bd_local_notifications *a, const char *key, int64_t seen,
                                       int64_t timeout_ms, int64_t *generation, braid_status *st);

// Ends all waits, now and later.
void bd_local_notifications_end(bd_local_notifications *a);

#endif
