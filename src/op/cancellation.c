// Cancellation tokens.
//
// A token is live, then cancelled, once. The thread that cancels it takes the hooks off one by one and runs
// them with no lock held. A child is a hook of its parent, and holds a reference to it.
//
// Invariants:
//  1. `why` is written before `cancelled` is set and never again; a thread that sees `cancelled` may read it
//     without the lock.
//  2. A hook is on the list, or running, or done. The token does not touch a hook after its fn has begun,
//     except to compare its address, so fn may free it.
//  3. Only one thread runs hooks of a token: `running` is the current one.
//  4. bd_cancellation_remove returns false only when fn has returned, unless it is called from within that
//     fn.
#include "op/cancellation.h"

#include "base/slab.h"
#include "base/thread.h"

struct bd_cancellation {
    atomic_int refs;
    atomic_bool cancelled;
    bd_mutex mu;
    bd_cond ran;                   // the hook that was running has returned
    braid_status why;              // guarded by mu until cancelled is set
    bd_cancel_hook *hooks, **tail; // in order of their adding; guarded by mu
    const bd_cancel_hook *running; // guarded by mu
    const void *runner;            // thread that runs hooks; guarded by mu
    bd_cancellation *parent;       // owned reference; NULL
    bd_cancel_hook parent_hook;
};

enum {
    HOOK_OFF = 0,
    HOOK_ON_LIST = 1
};

// Its address identifies the thread. (mold misplaces a segment of a single byte)
static _Thread_local void *this_thread;

// Takes a reference unless the last one is gone.
static bool try_ref(bd_cancellation *c)
{
    int refs = atomic_load_explicit(&c->refs, memory_order_relaxed);
    while (refs > 0) {
        if (atomic_compare_exchange_weak_explicit(&c->refs, &refs, refs + 1, memory_order_acq_rel,
                                                  memory_order_relaxed))
            return true;
    }
    return false;
}

static void parent_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    bd_cancellation *c = BD_CONTAINER_OF(hook, bd_cancellation, parent_hook);
    if (!try_ref(c)) return; // being freed: that waits for us in bd_cancellation_remove
    bd_cancellation_cancel(c, why);
    bd_cancellation_unref(c);
}

bd_cancellation *bd_cancellation_new(bd_cancellation *parent)
{
    bd_cancellation *c = bd_slab_alloc(sizeof *c);
    atomic_init(&c->refs, 1);
    bd_mutex_init(&c->mu);
    bd_cond_init(&c->ran);
    c->tail = &c->hooks;
    if (!parent) return c;
    c->parent = bd_cancellation_ref(parent);
    c->parent_hook.fn = parent_cancelled;
    if (!bd_cancellation_add(parent, &c->parent_hook)) bd_cancellation_cancel(c, &parent->why);
    return c;
}

bd_cancellation *bd_cancellation_ref(bd_cancellation *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

static void destroy(bd_cancellation *c)
{
    if (c->parent) {
        bd_cancellation_remove(c->parent, &c->parent_hook);
        bd_cancellation_unref(c->parent);
    }
    BD_ASSERT(!c->hooks); // a hook outlives its token
    bd_status_fini(&c->why);
    bd_cond_fini(&c->ran);
    bd_mutex_fini(&c->mu);
    bd_slab_free(c);
}

void bd_cancellation_unref(bd_cancellation *c)
{
    if (c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1) destroy(c);
}

static void take_off_locked(bd_cancellation *c, bd_cancel_hook *hook)
{
    *hook->link = hook->next;
    if (hook->next)
        hook->next->link = hook->link;
    else
        c->tail = hook->link;
    hook->next = NULL;
    hook->link = NULL;
    hook->state = HOOK_OFF;
}

static void run_hooks_locked(bd_cancellation *c)
{
    c->runner = &this_thread;
    for (bd_cancel_hook *hook; (hook = c->hooks);) {
        take_off_locked(c, hook);
        c->running = hook;
        bd_mutex_unlock(&c->mu);
        hook->fn(hook, &c->why);
        bd_mutex_lock(&c->mu);
        c->running = NULL;
        bd_cond_broadcast(&c->ran);
    }
}

void bd_cancellation_cancel(bd_cancellation *c, const braid_status *why)
{
    BD_ASSERT(why->code != BRAID_OK);
    bd_cancellation_ref(c); // a hook may drop the caller's
    bd_mutex_lock(&c->mu);
    if (!atomic_load_explicit(&c->cancelled, memory_order_relaxed)) {
        bd_status_copy(&c->why, why);
        atomic_store_explicit(&c->cancelled, true, memory_order_release);
        run_hooks_locked(c);
    }
    bd_mutex_unlock(&c->mu);
    bd_cancellation_unref(c);
}

bool bd_cancellation_is_cancelled(const bd_cancellation *c)
{
    return c && atomic_load_explicit(&c->cancelled, memory_order_acquire);
}

braid_code bd_cancellation_status(const bd_cancellation *c, braid_status *st)
{
    if (!bd_cancellation_is_cancelled(c)) return BRAID_OK;
    return bd_status_copy(st, &c->why);
}

bool bd_cancellation_add(bd_cancellation *c, bd_cancel_hook *hook)
{
    bd_mutex_lock(&c->mu);
    bool is_live = !atomic_load_explicit(&c->cancelled, memory_order_relaxed);
    hook->next = NULL;
    hook->link = NULL;
    hook->state = HOOK_OFF;
    if (is_live) {
        hook->link = c->tail;
        *c->tail = hook;
        c->tail = &hook->next;
        hook->state = HOOK_ON_LIST;
    }
    bd_mutex_unlock(&c->mu);
    return is_live;
}

bool bd_cancellation_remove(bd_cancellation *c, bd_cancel_hook *hook)
{
    bd_mutex_lock(&c->mu);
    bool was_on_list = hook->state == HOOK_ON_LIST;
    if (was_on_list) {
        take_off_locked(c, hook);
    } else if (c->runner != &this_thread) {
        // Ends when fn returns, which must not block.
        while (c->running == hook)
            bd_cond_wait(&c->ran, &c->mu);
    }
    bd_mutex_unlock(&c->mu);
    return was_on_list;
}
