// bd_parallel_for and teams: one kernel's loop over several threads.
//
// A counter deals out the pieces. The calling thread takes pieces like the helpers, so the loop ends even
// when no helper ever starts; it then waits only for pieces that a helper has begun. Late helpers find no
// piece and drop their reference to the job.
//
// A piece is done block by block, between which the loop may be interrupted (base/interrupt.h).
#include "base/account.h"
#include "base/interrupt.h"
#include "base/slab.h"
#include "base/thread.h"
#include "base/thread_pool.h"
#include "op/io_pool.h"
#include "op/kernel.h"

// More pieces than threads, so that a slow thread does not delay the others.
#define PIECES_PER_THREAD 4
// A block is this many grains: a grain is what is worth a thread, a block's time is far below 0.1 s.
#define GRAINS_PER_BLOCK 16

typedef struct job {
    void (*fn)(void *arg, int64_t from, int64_t to);
    void *arg;
    int64_t count, piece, piece_count, block;
    const atomic_bool *interrupt; // of the calling thread, as the account
    bd_account *account;          // a reference of the job's
    _Atomic int64_t next;         // piece to be taken
    _Atomic int64_t ended;        // pieces done
    atomic_int refs;
    bd_event done;
} job;

static void job_unref(job *j)
{
    if (atomic_fetch_sub_explicit(&j->refs, 1, memory_order_acq_rel) != 1) return;
    bd_event_fini(&j->done);
    bd_account_unref(j->account);
    bd_slab_free(j);
}

static void run_blocks(const job *j, int64_t from, int64_t to)
{
    for (int64_t at = from; at < to && !bd_interrupted(); at += j->block)
        j->fn(j->arg, at, bd_min(to, at + j->block));
}

static void take_pieces(job *j)
{
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (i >= j->piece_count) return;
        run_blocks(j, i * j->piece, bd_min(j->count, (i + 1) * j->piece));
        if (atomic_fetch_add_explicit(&j->ended, 1, memory_order_acq_rel) + 1 == j->piece_count)
            bd_event_set(&j->done);
    }
}

static void help(void *arg)
{
    job *j = arg;
    const bd_account_turn turn = bd_account_enter(j->account);
    const atomic_bool *before = bd_interrupt_set(j->interrupt); // it is there while a piece is not done
    take_pieces(j);
    bd_interrupt_set(before);
    bd_account_leave(turn);
    job_unref(j);
}

// Whose threads help: those of the one or the other, of which the caller is one.
typedef struct helpers {
    bd_thread_pool *pool;
    bd_io_pool *io_pool;
    int64_t threads; // with the caller
} helpers;

static int64_t count_threads(const bd_op_ctx *c)
{
    bd_thread_pool *pool = c->step ? c->step->pool : NULL;
    return pool ? bd_thread_pool_threads(pool) : 1;
}

static bool submit(const helpers *h, job *j)
{
    return h->pool ? bd_thread_pool_submit(h->pool, help, j) : bd_io_pool_run(h->io_pool, help, j);
}

static void run_with(const helpers *h, int64_t count, int64_t grain,
                     void (*fn)(void *arg, int64_t from, int64_t to), void *arg)
{
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    const int64_t threads = h->threads;
    int64_t pieces = bd_min(count / grain, threads * PIECES_PER_THREAD);
    const job whole = {.fn = fn,
                       .arg = arg,
                       .count = count,
                       .block = bd_interrupt_flag ? bd_min(grain, count) * GRAINS_PER_BLOCK : count,
                       .interrupt = bd_interrupt_flag};
    if (threads < 2 || pieces < 2) {
        run_blocks(&whole, 0, count);
        return;
    }
    job *j = bd_slab_alloc(sizeof *j);
    *j = whole;
    j->account = bd_account_ref(bd_account_current);
    j->piece = (count + pieces - 1) / pieces;
    j->piece_count = (count + j->piece - 1) / j->piece;
    const int64_t helper_count = bd_min(threads, j->piece_count) - 1;
    atomic_init(&j->refs, 1);
    bd_event_init(&j->done);
    for (int64_t i = 0; i < helper_count; i++) {
        atomic_fetch_add_explicit(&j->refs, 1, memory_order_relaxed);
        if (!submit(h, j)) job_unref(j);
    }
    take_pieces(j);
    bd_event_wait(&j->done); // for pieces that helpers have begun: fn does not wait
    job_unref(j);
}

void bd_parallel_for(bd_op_ctx *c, int64_t count, int64_t grain,
                     void (*fn)(void *arg, int64_t from, int64_t to), void *arg)
{
    const helpers h = {.pool = c->step ? c->step->pool : NULL, .threads = count_threads(c)};
    run_with(&h, count, grain, fn, arg);
}

// ---- Teams ----

typedef struct shared {
    void (*fn)(void *arg, int64_t i);
    void *arg;
} shared;

static void call_each(void *arg, int64_t from, int64_t to)
{
    const shared *s = arg;
    for (int64_t i = from; i < to; i++)
        s->fn(s->arg, i);
}

static void share(const bd_team *team, int64_t count, void (*fn)(void *arg, int64_t i), void *arg)
{
    const bd_op_team *t = BD_CONTAINER_OF(team, bd_op_team, base);
    bd_parallel_for(t->c, count, 1, call_each, &(shared){fn, arg});
}

bd_op_team bd_op_team_of(bd_op_ctx *c)
{
    return (bd_op_team){.base = {.threads = count_threads(c), .share = share}, .c = c};
}

static void share_io(const bd_team *team, int64_t count, void (*fn)(void *arg, int64_t i), void *arg)
{
    const bd_io_team *t = BD_CONTAINER_OF(team, bd_io_team, base);
    const helpers h = {.io_pool = t->pool, .threads = team->threads};
    run_with(&h, count, 1, call_each, &(shared){fn, arg});
}

bd_io_team bd_io_team_of(const bd_op_ctx *c)
{
    bd_io_pool *pool = c->step->io_pool;
    return (bd_io_team){.base = {.threads = bd_io_pool_team_size(pool), .share = share_io}, .pool = pool};
}
