// Waiters of a wait queue. A waiter is made, is listed in a waitlist, has ended, is finished, and becomes
// spare.
// 1. It leaves its waitlist once, under the lock of the wait queue. The thread that removes it adds it to the
//    ended waiters.
// 2. The thread that releases the lock finishes the ended waiters. Before that it removes the waiter's hook
//    from the step's cancellation, which waits for a running hook. That hook sees that its waiter has left
//    the list and returns at once, so the wait is short and no two threads wait for each other.
// 3. A waiter holds a reference to the resource until it is finished.
#include "ops/common/wait_queue.h"

#include "base/alloc.h"
#include "base/thread_pool.h"

#define SPARE_MAX 16 // waiters kept: as many as steps usually wait at the same time

void bd_wait_queue_init(bd_wait_queue *wait_queue, const bd_wait_kind *kind, bd_resource *owner)
{
    *wait_queue = (bd_wait_queue){.kind = kind, .owner = owner};
    bd_mutex_init(&wait_queue->mu);
}

static void free_waiter(const bd_wait_kind *kind, bd_waiter *w)
{
    if (kind->destroy) kind->destroy(w);
    bd_free(w);
}

void bd_wait_queue_fini(bd_wait_queue *wait_queue)
{
    BD_ASSERT(!wait_queue->ended);
    for (bd_waiter *w; (w = wait_queue->spare);) {
        wait_queue->spare = w->next;
        free_waiter(wait_queue->kind, w);
    }
    bd_mutex_fini(&wait_queue->mu);
}

bd_waiter *bd_waiter_new(bd_wait_queue *wait_queue, bd_op_ctx *c)
{
    bd_mutex_lock(&wait_queue->mu);
    bd_waiter *w = wait_queue->spare;
    if (w) {
        wait_queue->spare = w->next;
        wait_queue->spare_count--;
    }
    bd_mutex_unlock(&wait_queue->mu);
    if (!w) w = bd_calloc(1, wait_queue->kind->waiter_size);
    bd_resource_ref(wait_queue->owner);
    w->wait_queue = wait_queue;
    w->c = c;
    w->line = NULL;
    w->next = w->prev = NULL;
    w->cancelled = NULL;
    w->is_hooked = false;
    return w;
}

// ---- Lines ----

static void enter_locked(bd_waiter *w, bd_waitlist *line)
{
    w->line = line;
    w->prev = line->last;
    *(line->last ? &line->last->next : &line->first) = w;
    line->last = w;
}

static void leave_locked(bd_waiter *w)
{
    bd_waitlist *line = w->line;
    *(w->prev ? &w->prev->next : &line->first) = w->next;
    *(w->next ? &w->next->prev : &line->last) = w->prev;
    w->line = NULL;
    w->next = w->prev = NULL;
}

void bd_waiter_move_locked(bd_waiter *w, bd_waitlist *line)
{
    leave_locked(w);
    enter_locked(w, line);
}

void bd_waiter_end_locked(bd_waiter *w)
{
    leave_locked(w);
    w->next = w->wait_queue->ended;
    w->wait_queue->ended = w;
}

static void cancel_locked(bd_waiter *w)
{
    BD_ASSERT(w->line);
    w->cancelled = w->line->what;
    if (w->wait_queue->kind->give_back_locked) w->wait_queue->kind->give_back_locked(w->wait_queue, w);
    bd_waiter_end_locked(w);
}

void bd_waitlist_cancel_locked(bd_wait_queue *wait_queue, bd_waitlist *line)
{
    (void)wait_queue;
    while (line->first)
        cancel_locked(line->first);
}

// ---- Ending ----

static void keep(bd_wait_queue *wait_queue, bd_waiter *w)
{
    bd_mutex_lock(&wait_queue->mu);
    bool has_room = wait_queue->spare_count < SPARE_MAX;
    if (has_room) {
        w->next = wait_queue->spare;
        wait_queue->spare = w;
        wait_queue->spare_count++;
    }
    bd_mutex_unlock(&wait_queue->mu);
    if (!has_room) free_waiter(wait_queue->kind, w);
}

static void finish(bd_waiter *w)
{
    bd_wait_queue *wait_queue = w->wait_queue;
    bd_resource *owner = wait_queue->owner;
    bd_op_ctx *c = w->c;
    if (w->is_hooked) bd_cancellation_remove(c->step->cancellation, &w->hook);
    if (w->cancelled) bd_op_fail(c, BRAID_CANCELLED, "%s operation was cancelled", w->cancelled);
    wait_queue->kind->finish(w);
    keep(wait_queue, w);
    bd_resource_unref(owner); // the room may be gone now
    bd_op_done(c);
}

void bd_wait_queue_unlock(bd_wait_queue *wait_queue)
{
    void (*unlocked)(bd_wait_queue *) = wait_queue->kind->unlocked;
    wait_queue->kind->serve_locked(wait_queue);
    bd_waiter *last = wait_queue->ended, *first = NULL;
    wait_queue->ended = NULL;
    bd_mutex_unlock(&wait_queue->mu);
    for (bd_waiter *w; (w = last);) { // in the order in which they ended
        last = w->next;
        w->next = first;
        first = w;
    }
    for (bd_waiter *w; (w = first);) {
        first = w->next;
        finish(w);
    }
    if (unlocked) unlocked(wait_queue);
}

static void serve(void *arg)
{
    bd_wait_queue *wait_queue = arg;
    bd_resource *owner = wait_queue->owner;
    bd_wait_queue_lock(wait_queue);
    bd_wait_queue_unlock(wait_queue);
    bd_resource_unref(owner);
}

void bd_wait_queue_unlock_timer(bd_wait_queue *wait_queue, const bd_waiter *w)
{
    bd_thread_pool *pool = w ? w->c->step->pool : NULL; // it is there as long as the waiter
    if (!w) {
        wait_queue->kind->serve_locked(wait_queue);
        BD_ASSERT(!wait_queue->ended);
        bd_mutex_unlock(&wait_queue->mu);
        return;
    }
    bd_resource *owner = bd_resource_ref(wait_queue->owner);
    if (!pool) {
        bd_wait_queue_unlock(wait_queue);
        bd_resource_unref(owner); // perhaps the last reference: the timers are freed by their own thread
        return;
    }
    if (!bd_thread_pool_submit(pool, serve, wait_queue)) bd_resource_unref(owner);
    bd_mutex_unlock(&wait_queue->mu);
}

static void step_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    (void)why; // the executor knows
    bd_waiter *w = BD_CONTAINER_OF(hook, bd_waiter, hook);
    bd_wait_queue *wait_queue = w->wait_queue;
    bd_mutex_lock(&wait_queue->mu);
    if (!w->line) { // the thread that removed the waiter from its list waits for this hook
        bd_mutex_unlock(&wait_queue->mu);
        return;
    }
    w->is_hooked = false; // the hook is running and will not run again
    cancel_locked(w);
    bd_resource *owner = bd_resource_ref(wait_queue->owner);
    bd_wait_queue_unlock(wait_queue);
    bd_resource_unref(owner);
}

void bd_wait(bd_waiter *w, bd_waitlist *line)
{
    bd_wait_queue *wait_queue = w->wait_queue;
    bd_cancellation *token = w->c->step->cancellation;
    bd_resource *owner = bd_resource_ref(wait_queue->owner);
    bd_mutex_lock(&wait_queue->mu);
    enter_locked(w, line);
    if (token && bd_cancellation_is_cancelled(token)) {
        cancel_locked(w);
    } else {
        wait_queue->kind->serve_locked(wait_queue);
        w->hook.fn = step_cancelled;
        if (w->line && token) {
            w->is_hooked = bd_cancellation_add(token, &w->hook);
            if (!w->is_hooked) cancel_locked(w);
        }
    }
    bd_wait_queue_unlock(wait_queue);
    bd_resource_unref(owner);
}
