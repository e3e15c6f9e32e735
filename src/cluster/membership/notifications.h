// Notifications by key: one task notifies, all others may wait for it ("the variables are initialized").
#ifndef BD_CLUSTER_MEMBERSHIP_NOTIFICATIONS_H
#define BD_CLUSTER_MEMBERSHIP_NOTIFICATIONS_H

#include "cluster/membership/membership.h"

typedef struct bd_notifications bd_notifications;

typedef struct bd_notifications_env {
    const bd_peers *peers;
    bd_timers *timers;
    bd_cancellation *cancellation; // of the server
    bd_membership *membership;
    int64_t gone_timeout_ms;
} bd_notifications_env;

// The objects that `env` points to must outlive the notifications.
bd_notifications *bd_notifications_new(const bd_notifications_env *env);
void bd_notifications_free(bd_notifications *n); // as bd_membership_free

// `generation` is greater after each notification of the key, and above 0. Called once, on any thread,
// without a lock.
typedef void (*bd_generation_fn)(void *arg, int64_t generation, const braid_status *st);

// Notifies a key: here if this task owns the notifications or `forward` is false, else at the owner.
// ResourceExhausted for too many or too long keys; Unavailable naming the task that cannot be reached.
void bd_notifications_notify(bd_notifications *n, const char *key, bool forward,
                             bd_cancellation *cancellation, bd_generation_fn fn, void *arg);

typedef struct bd_notification_wait {
    const char *key;
    int64_t seen;  // an earlier generation; 0: wait for any notification; -1: return at once
    int min_tasks; // see braid_notification_wait, as for successors and leads
    bool successors, leads;
    const char *job; // the task that waits; NULL or empty: this one
    int task;
    bool forward; // wait at the owner if that is another task
    int64_t deadline_ns;
    bd_cancellation *cancellation;
} bd_notification_wait;

// Waits until the generation of the key is above `seen`. The wait also ends when the owner of the
// notifications has restarted since that generation, or, with `seen`, when the task leads and did not, or the
// reverse. ResourceExhausted for too many waits or too long keys;
// DeadlineExceeded; Cancelled; Unavailable when the owner or the chief is gone for good, or too few tasks are
// left; FailedPrecondition when the chief is done, or too few tasks are left because others are done. Errors
// name the tasks.
void bd_notifications_wait(bd_notifications *n, const bd_notification_wait *options, bd_generation_fn fn,
                           void *arg);

// Call it after each change of the membership: ends the waits that no notification can reach any more.
void bd_notifications_check(bd_notifications *n);

#endif
