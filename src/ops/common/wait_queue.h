// Wait queues: executions that wait on a resource, for elements of a queue or gradients of an accumulator.
//
// A resource has a wait queue with one or several waitlists. An execution that has to wait becomes a waiter
// in a waitlist and holds no thread. Each change of the resource serves the waiters at the heads of the lists
// that can proceed. A waiter ends exactly once: served, or cancelled with its step or with the container of
// the resource. Ended waiters are reused, so that waiting allocates nothing in the steady state.
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
    const char *cancelled;         // the name of its waitlist, when it was cancelled
    bool is_hooked;                // `hook` is to be taken back
    bd_cancel_hook hook;           // of the step
} bd_waiter;

typedef struct bd_wait_kind {
    size_t waiter_size; // of the resource's own struct
    // Serves waiters from the head of each waitlist while they can proceed, by bd_waiter_end_locked.
    void (*serve_locked)(bd_wait_queue *wait_queue);
    // The waiter is cancelled: returns the elements that it has taken from the resource. May be NULL.
    void (*give_back_locked)(bd_wait_queue *wait_queue, bd_waiter *w);
    // Called after the waiter has ended, without a lock: sets outputs unless the execution has failed, and
    // releases the waiter's resources.
    void (*finish)(bd_waiter *w);
    void (*destroy)(bd_waiter *w); // frees the memory of a reusable waiter; may be NULL
    // Called after each release of the lock, without it: work that serve_locked has left. May be NULL.
    void (*unlocked)(bd_wait_queue *wait_queue);
} bd_wait_kind;

struct bd_wait_queue {
    bd_mutex mu;
    const bd_wait_kind *kind;
    bd_resource *owner; // not owned: the room is a part of it
    bd_waiter *ended;   // guarded by mu: ended and not yet finished; the last one is first
    bd_waiter *spare;   // guarded by mu
    int spare_count;    // guarded by mu
};

void bd_wait_queue_init(bd_wait_queue *wait_queue, const bd_wait_kind *kind, bd_resource *owner);
void bd_wait_queue_fini(
    bd_wait_queue *wait_queue); // no waiter may be left: every waiter holds a reference to the owner

// Makes a waiter for this execution. The caller sets the fields of its own struct (which are as `finish` left
// them, zero at first) and then calls bd_wait.
bd_waiter *bd_waiter_new(bd_wait_queue *wait_queue, bd_op_ctx *c);
// Waits in a line. `w` and its execution are not the caller's any more.
void bd_wait(bd_waiter *w, bd_waitlist *line);

void bd_waiter_end_locked(bd_waiter *w);
// Moves a waiter to the end of another waitlist of its wait queue.
void bd_waiter_move_locked(bd_waiter *w, bd_waitlist *line);
// Ends all waiters of a waitlist as cancelled.
void bd_waitlist_cancel_locked(bd_wait_queue *wait_queue, bd_waitlist *line);

// Lock and unlock enclose every change of the resource. Unlock serves waiters that can proceed, and finishes
// them after releasing the lock. The caller holds a reference to the owner.
static inline void bd_wait_queue_lock(bd_wait_queue *wait_queue)
{
    bd_mutex_lock(&wait_queue->mu);
}
void bd_wait_queue_unlock(bd_wait_queue *wait_queue);

// The same for the function of a timer that belongs to the owner, which holds no reference: a thread of the
// step of waiter `w` serves, because that may take long. In a step without threads, this thread serves, and
// the owner may end. NULL: there is no waiter that could end, and this thread does no more than serve_locked.
void bd_wait_queue_unlock_timer(bd_wait_queue *wait_queue, const bd_waiter *w);

#endif
