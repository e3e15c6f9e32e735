// Executions that wait on a resource: a queue's elements, an accumulator's gradients.
//
// A resource has a room with one or several lines. An execution that cannot be served stands in a line as a
// waiter and holds no thread; whoever changes the resource serves those whose turn has come. A waiter ends
// exactly once: served, or cancelled with its step or with the container of the resource. Waiters are kept
// for the next ones, so that waiting costs no allocation in the steady state.
#ifndef BD_OPS_COMMON_WAIT_QUEUE_H
#define BD_OPS_COMMON_WAIT_QUEUE_H

#include "op/kernel.h"

typedef struct bd_wait_queue bd_wait_queue;

typedef struct bd_waitlist {
    const char *what;               // "Dequeue", for messages
    struct bd_waiter *first, *last; // guarded by the room's mu
} bd_waitlist;

// First member of a resource's own waiters.
typedef struct bd_waiter {
    bd_wait_queue *wait_queue;
    bd_op_ctx *c;                  // of the kernel; its error may be set while the waiter is in line
    bd_waitlist *line;             // guarded by mu; NULL once it has ended
    struct bd_waiter *next, *prev; // in its line, among the ended or the spare ones
    const char *cancelled;         // what of its line, when it ended by being cancelled
    bool is_hooked;                // `hook` is to be taken back
    bd_cancel_hook hook;           // of the step
} bd_waiter;

typedef struct bd_wait_kind {
    size_t waiter_size; // of the resource's own struct
    // Serves from the head of each line who can be served, in turn: bd_waiter_end_locked.
    void (*serve_locked)(bd_wait_queue *wait_queue);
    // The waiter is cancelled: takes back what it holds of the resource. May be NULL.
    void (*give_back_locked)(bd_wait_queue *wait_queue, bd_waiter *w);
    // The waiter has ended: sets outputs unless the execution has
    // failed, and lets go of what the waiter holds. With no lock held.
    void (*finish)(bd_waiter *w);
    void (*destroy)(bd_waiter *w); // frees what a spare waiter keeps; may be NULL
} bd_wait_kind;

struct bd_wait_queue {
    bd_mutex mu;
    const bd_wait_kind *kind;
    bd_resource *owner; // not owned: the room is a part of it
    bd_waiter *ended;   // guarded by mu: ended, not yet finished; the last one to end comes first
    bd_waiter *spare;   // guarded by mu
    int spare_count;    // guarded by mu
};

void bd_wait_queue_init(bd_wait_queue *wait_queue, const bd_wait_kind *kind, bd_resource *owner);
void bd_wait_queue_fini(
    bd_wait_queue *wait_queue); // nobody waits: every waiter holds a reference to the owner

// A waiter for this execution. The caller sets the fields of its own struct (which are as `finish` left them,
// zero at first) and then calls bd_wait.
bd_waiter *bd_waiter_new(bd_wait_queue *wait_queue, bd_op_ctx *c);
// Waits in a line. `w` and its execution are not the caller's any more.
void bd_wait(bd_waiter *w, bd_waitlist *line);

void bd_waiter_end_locked(bd_waiter *w);
// Ends everybody in a line as cancelled.
void bd_waitlist_cancel_locked(bd_wait_queue *wait_queue, bd_waitlist *line);

// Around every change of the resource. Unlocking serves who can be served, and finishes them with the lock
// released. The caller holds a reference to the owner.
static inline void bd_wait_queue_lock(bd_wait_queue *wait_queue)
{
    bd_mutex_lock(&wait_queue->mu);
}
void bd_wait_queue_unlock(bd_wait_queue *wait_queue);

#endif
