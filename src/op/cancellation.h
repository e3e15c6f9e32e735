// Cancellation tokens tell a waiting operation that its result is not needed any more.
//
// Tokens form a tree: a step's token is the child of its session's; cancelling a parent cancels its children.
// A token is cancelled at most once, with a status that is the reason.
#ifndef BD_OP_CANCELLATION_H
#define BD_OP_CANCELLATION_H

#include "base/status.h"
#include <stdint.h>

typedef struct bd_cancellation bd_cancellation;

// Makes a token with count 1. It is cancelled with its parent (NULL: none), at once if the parent is
// cancelled already.
bd_cancellation *bd_cancellation_new(bd_cancellation *parent);
bd_cancellation *bd_cancellation_ref(bd_cancellation *c);
void bd_cancellation_unref(bd_cancellation *c);

// Cancels with `why` (copied; not OK). The callbacks run on this thread in
// the order of their adding, with no lock held. Later calls have no effect.
void bd_cancellation_cancel(bd_cancellation *c, const braid_status *why);

// NULL is never cancelled: kernels that run while a graph is built have no token.
bool bd_cancellation_is_cancelled(const bd_cancellation *c);
// Copies why, if cancelled; returns its code, BRAID_OK if not.
braid_code bd_cancellation_status(const bd_cancellation *c, braid_status *st);

// A registered callback, in the caller's memory until it has run or bd_cancellation_remove has returned.
typedef struct bd_cancel_hook {
    void (*fn)(struct bd_cancel_hook *hook, const braid_status *why);
    struct bd_cancel_hook *next, **link; // of the token
    int state;                           // of the token
} bd_cancel_hook;

// Registers `hook` (fn set): fn runs once when the token is cancelled. Returns false when it is cancelled
// already: fn does not run.
bool bd_cancellation_add(bd_cancellation *c, bd_cancel_hook *hook);
// Removes the hook. Returns true if fn has not run and never will. Returns false if it has run; if it is
// running on another thread, this waits until it is over (so never call it with a lock held that fn takes; fn
// must not block).
bool bd_cancellation_remove(bd_cancellation *c, bd_cancel_hook *hook);

#endif
