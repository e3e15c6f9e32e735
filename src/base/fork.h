// What a child of fork finds: the thread that forked, alone. A lock that another thread held stays locked.
#ifndef BD_BASE_FORK_H
#define BD_BASE_FORK_H

#include "base/platform.h"

// The number of forks between the process that called this first and this one: a child's differs from its
// parent's.
unsigned bd_fork_count(void);

// From now on each fork calls `before`, and then `in_parent` and `in_child`, on the thread that forks. NULL:
// nothing is called. A mutex that `before` locks is never locked by a thread that holds another such mutex.
void bd_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));

// From now on a fork waits for the mutex, so that no other thread holds it in a child. For mutexes that are
// held shortly, by threads that hold no other one of these.
void bd_mutex_across_forks(bd_mutex *mu);

// In a child, before the fork returns: makes a mutex that another thread held a free one. Returns whether one
// did: what it guards may be half changed.
bool bd_mutex_renew(bd_mutex *mu);

#endif
