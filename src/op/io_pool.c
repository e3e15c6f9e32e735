// Work that blocks on the disk.
//
// An execution waits for its turn, then it is taken by a thread, or dropped by its step's cancellation:
// whichever comes first, by one exchange of `state`. The record is freed by the thread that finds it in the
// pool's queue, in both cases, after the step's hook is taken back; it holds a reference to the token, since
// a dropped execution's step may be over by then.
#include "op/io_pool.h"

#include "base/alloc.h"
#include "base/slab.h"
#include "base/thread.h"
#include "base/thread_pool.h"

// As many as keep a disk, or some servers of files, busy; they wait, most of the time.
#define BLOCKING_THREADS 4

struct bd_io_pool {
    atomic_int refs;
    bd_mutex mu;
    bd_thread_pool *pool; // guarded by mu until it is set; freed with the last reference
    bool has_ended;       // guarded by mu
};

static _Thread_local bool is_here;

typedef enum work_state {
    WORK_WAITS,
    WORK_TAKEN,
    WORK_DROPPED
} work_state;

typedef struct work {
    bd_op_ctx *c; // not ours once it was dropped
    void (*fn)(bd_op_ctx *c);
    bd_cancellation *token; // owned reference; NULL
    bd_cancel_hook hook;
    atomic_int state; // work_state
} work;

bd_io_pool *bd_io_pool_new(void)
{
    bd_io_pool *b = bd_calloc(1, sizeof *b);
    atomic_init(&b->refs, 1);
    bd_mutex_init(&b->mu);
    return b;
}

void bd_io_pool_free(bd_io_pool *b)
{
    if (!b) return;
    bd_mutex_lock(&b->mu);
    b->has_ended = true;
    bd_thread_pool *pool = b->pool;
    bd_mutex_unlock(&b->mu);
    if (pool) bd_thread_pool_stop(pool);
    bd_io_pool_unref(b);
}

bd_io_pool *bd_io_pool_ref(bd_io_pool *b)
{
    if (b) atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

// The owner's reference lasts until no thread runs any more, so that the last one is never dropped on a
// thread of the pool.
void bd_io_pool_unref(bd_io_pool *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
    bd_thread_pool_free(b->pool);
    bd_mutex_fini(&b->mu);
    bd_free(b);
}

bool bd_op_cancelled(bd_op_ctx *c)
{
    if (!c->step->cancellation || !bd_cancellation_is_cancelled(c->step->cancellation)) return false;
    bd_op_fail(c, BRAID_CANCELLED, "%s was cancelled", c->node->op_type);
    return true;
}

static void run_here(bd_op_ctx *c, void (*fn)(bd_op_ctx *c))
{
    if (!bd_op_cancelled(c)) fn(c);
    bd_op_done(c);
}

static bool change_state(work *w, work_state to)
{
    int from = WORK_WAITS;
    return atomic_compare_exchange_strong(&w->state, &from, to);
}

static void step_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    (void)why; // the executor knows
    work *w = BD_CONTAINER_OF(hook, work, hook);
    bd_op_ctx *c = w->c;
    if (!change_state(w, WORK_DROPPED)) return;
    bd_op_cancelled(c);
    bd_op_done(c);
}

static void do_work(void *arg)
{
    work *w = arg;
    is_here = true;
    bool is_mine = change_state(w, WORK_TAKEN);
    if (w->token) bd_cancellation_remove(w->token, &w->hook);
    bd_cancellation_unref(w->token);
    if (is_mine) run_here(w->c, w->fn);
    bd_free(w);
}

// NULL when the pool does not exist and no thread can be started.
static bd_thread_pool *pool_of(bd_io_pool *b)
{
    BD_STATUS(unwanted);
    if (!b) return NULL;
    bd_mutex_lock(&b->mu);
    if (!b->pool && !b->has_ended) bd_thread_pool_new("bd-disk", BLOCKING_THREADS, &b->pool, unwanted);
    bd_thread_pool *pool = b->pool;
    bd_mutex_unlock(&b->mu);
    return pool;
}

// Returns false when the token is cancelled already.
static bool hang_on_token(work *w, bd_cancellation *token)
{
    if (!token) return true;
    w->token = bd_cancellation_ref(token);
    if (bd_cancellation_add(token, &w->hook)) return true;
    bd_cancellation_unref(token);
    return false;
}

void bd_op_run_io(bd_op_ctx *c, void (*fn)(bd_op_ctx *c))
{
    bd_thread_pool *pool = pool_of(c->step->io_pool);
    if (!pool) {
        run_here(c, fn);
        return;
    }
    work *w = bd_calloc(1, sizeof *w);
    *w = (work){.c = c, .fn = fn, .hook.fn = step_cancelled};
    atomic_init(&w->state, WORK_WAITS);
    if (!hang_on_token(w, c->step->cancellation)) {
        bd_free(w);
        run_here(c, fn);
        return;
    }
    bool is_queued =
        bd_thread_pool_submit(pool, do_work, w); // also when it has been dropped: the pool's thread frees it
    BD_ASSERT(is_queued);                        // the pool is closed only when it is freed
}

typedef struct plain_work {
    void (*fn)(void *arg);
    void *arg;
} plain_work;

static void do_plain_work(void *arg)
{
    const plain_work w = *(plain_work *)arg;
    bd_slab_free(arg);
    is_here = true;
    w.fn(w.arg);
}

bool bd_io_pool_run(bd_io_pool *b, void (*fn)(void *arg), void *arg)
{
    bd_thread_pool *pool = pool_of(b);
    if (!pool) return false;
    plain_work *w = bd_slab_alloc_raw(sizeof *w);
    *w = (plain_work){fn, arg};
    if (bd_thread_pool_submit(pool, do_plain_work, w)) return true;
    bd_slab_free(w);
    return false;
}

int bd_io_pool_team_size(const bd_io_pool *b)
{
    return b ? bd_min(bd_cpu_count(), BLOCKING_THREADS) : 1;
}

bool bd_io_pool_is_here(void)
{
    return is_here;
}
