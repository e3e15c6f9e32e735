// Announcements within one process: what one thread says by key, and others wait for.
#ifndef BD_RUNTIME_LOCAL_NOTIFICATIONS_H
#define BD_RUNTIME_LOCAL_NOTIFICATIONS_H

#include "base/map.h"
#include "base/status.h"
#include "base/thread.h"

typedef struct bd_announced {
    bd_mutex mu;
    bd_cond changed;  // something was announced, or it has ended
    bool has_ended;   // guarded by mu
    bd_map announced; // guarded by mu: key -> number of times
} bd_announced;

void bd_announced_init(bd_announced *a);
void bd_announced_fini(bd_announced *a); // nobody waits

void bd_announced_add(bd_announced *a, const char *key);

// Waits until the key was announced more often than `seen` times; *generation is how often it was, also on an error.
// DeadlineExceeded after timeout_ms (0: never), Cancelled once it has ended.
braid_code bd_announced_wait(bd_announced *a, const char *key, int64_t seen, int64_t timeout_ms,
                             int64_t *generation, braid_status *st);

// Ends all waits, now and later.
void bd_announced_end(bd_announced *a);

#endif
